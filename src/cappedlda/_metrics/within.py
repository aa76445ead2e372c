"""The covariance of rows about the means of their classes."""

from dataclasses import dataclass, replace

import numpy as np

from cappedlda._metrics import linalg


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

    @np.errstate(over="ignore", invalid="ignore")
    def full(self):
        """Return the matrix of shape (n, n) in raw features."""
        if self.basis is None:
            return self.matrix * self.scale * self.scale[:, None]
        # By a root: rounding must not leave it asymmetric, or with negative variances.
        values, vectors = linalg.eigh(self.matrix)
        root = self.basis @ (vectors * np.sqrt(np.maximum(values, 0.0)))
        root *= self.scale[:, None]
        return root @ root.T
