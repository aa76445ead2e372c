"""The covariance of rows about the means of their classes."""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class WithinCovariance:
    """Pooled covariance of some rows about the means of their classes.

    It is scale * (basis @ matrix @ basis.T) * scale, where rows and columns are multiplied.

    Attributes
    ----------
    matrix : ndarray of shape (m, m)
        In scaled features, or in coordinates of the space that few rows span.
    scale : ndarray of shape (n,)
    weight : ndarray of shape (c,)
        Weight of the rows of each class.
    basis : ndarray of shape (n, m) or None
        Orthonormal; None is the identity.
    """

    matrix: np.ndarray
    scale: np.ndarray
    weight: np.ndarray
    basis: np.ndarray | None = None

    @classmethod
    def of(cls, record, scale):
        """Return that of the rows that a record of equal weights (q = 2) kept."""
        matrix = record.scatter / (2.0 * record.kept_weight or 1.0)
        return cls(matrix, scale, record.kept[:, 1].copy())

    def lifted(self, basis, scale):
        """Return the covariance of raw features, from that of coordinates."""
        return replace(self, basis=basis * self.scale, scale=scale)

    def full(self):
        """Return the matrix of shape (n, n) in raw features."""
        inner = self.matrix
        if self.basis is not None:
            inner = self.basis @ inner @ self.basis.T
        return inner * self.scale * self.scale[:, None]
