"""Plain discriminant analysis from class moments, with exact leave-one-out distances.

Without row x of weight u in class i, of weight N_i and mean m_i, that mean is m_i - (nu - 1) h and
the pooled scatter is S - u nu h h', where h = x - m_i and nu = N_i / (N_i - u): a change of rank
one. So the distances of all rows from all classes, each row left out of its own fit, cost
hardly more than the distances themselves (Sherman and Morrison).
"""

from dataclasses import dataclass

import numpy as np

from cappedlda._regime import REGIME
from cappedlda._solvers import linalg
from cappedlda._solvers.frame import freedom_of
from cappedlda._solvers.plain import FLAT
from cappedlda._solvers.shrinkage import oas_shrinkage, shrinkage_ridge

# 1 - leverage of a row without which its class has no spread: a row that is alone in a direction.
LEAST_REST = 1e-6


@dataclass
class ClassMoments:
    """Weight, sums and scatter of rows about given centres; moments of disjoint rows add up.

    Attributes
    ----------
    weights : ndarray of shape (c,)
    sums : ndarray of shape (c, n)
    scatter : ndarray of shape (n, n)
    """

    weights: np.ndarray
    sums: np.ndarray
    scatter: np.ndarray

    @classmethod
    def of(cls, deviations, codes, weights, n_classes):
        """Return the moments of deviations of shape (N, n) from the centres of their classes."""
        weighted = deviations * weights[:, None]
        sums = np.zeros((n_classes, deviations.shape[1]))
        np.add.at(sums, codes, weighted)
        return cls(np.bincount(codes, weights, n_classes), sums, weighted.T @ deviations)

    def __add__(self, other):
        return ClassMoments(
            self.weights + other.weights, self.sums + other.sums, self.scatter + other.scatter
        )

    def centred(self):
        """Return the means of the classes and the scatter about them."""
        means = self.sums / np.maximum(self.weights, np.finfo(float).tiny)[:, None]
        return means, self.scatter - self.sums.T @ means


class PlainLDA:
    """Linear discriminant analysis on rows of which only the moments are known.

    Parameters
    ----------
    moments : ClassMoments
    centres : ndarray of shape (c, n)
        About which the moments were taken.
    n_features : int, optional
        Of which the coordinates are a rotation, if these are fewer.
    regime : Regime
    """

    def __init__(self, moments, centres, n_features=None, regime=REGIME):
        moves, scatter = moments.centred()
        n, total = n_features or len(scatter), moments.weights.sum()
        self._weights = moments.weights
        self._freedom = freedom_of(total, len(centres))
        trace = scatter.trace()
        ridge = shrinkage_ridge(oas_shrinkage(scatter, n, self._freedom, regime), trace, n)
        np.einsum("ii->i", scatter)[...] += ridge if trace > 0.0 else 1.0
        # What is flat within the classes has no influence; see `plain`.
        self._T = linalg.range_whitener(scatter / self._freedom, FLAT[scatter.dtype])
        self._means = (centres + moves) @ self._T

    def distances(self, rows, codes, left_out):
        """Return the squared distances of rows from all classes, shape (N, c).

        Parameters
        ----------
        rows : ndarray of shape (N, n)
        codes : ndarray of shape (N,)
        left_out : ndarray of shape (N,)
            Weight by which each row is left out of the fit: 0 for rows that were not in it.
        """
        Z, M = rows @ self._T, self._means
        squares = np.einsum("ij,ij->i", Z, Z)[:, None] - 2.0 * Z @ M.T
        squares += np.einsum("ij,ij->i", M, M)
        (inside,) = np.nonzero(left_out)
        own, u = codes[inside], left_out[inside]
        weights = self._weights[own]
        nu = weights / np.maximum(weights - u, LEAST_REST * weights)
        H = Z[inside] - M[own]
        leverage = np.einsum("ij,ij->i", H, H)
        products = np.einsum("ij,ij->i", Z[inside], H)[:, None] - H @ M.T
        at = np.arange(len(inside)), own
        products[at] = nu * leverage
        found = squares[inside]
        found[at] = nu**2 * leverage
        share = u * nu / self._freedom
        rest = np.maximum(1.0 - share * leverage, LEAST_REST)
        squares[inside] = found + (share / rest)[:, None] * products**2
        return squares
