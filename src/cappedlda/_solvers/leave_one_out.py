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
    shrinkage : float, optional
        Of the scatter; None is the one that few rows have.

    Attributes
    ----------
    whitener : ndarray of shape (n, m)
        Rows times it have unit covariance within the classes.
    freedom : float
        Degrees of freedom of that covariance.
    """

    def __init__(self, moments, centres, n_features=None, regime=REGIME, shrinkage=None):
        moves, scatter = moments.centred()
        n, total = n_features or len(scatter), moments.weights.sum()
        self._weights = moments.weights
        self.freedom = freedom_of(total, len(centres))
        trace = scatter.trace()
        if shrinkage is None:
            shrinkage = oas_shrinkage(scatter, n, self.freedom, regime)
        ridge = shrinkage_ridge(shrinkage, trace, n)
        np.einsum("ii->i", scatter)[...] += ridge if trace > 0.0 else 1.0
        # What is flat within the classes has no influence; see `plain`.
        self.whitener = linalg.range_whitener(scatter / self.freedom, FLAT[scatter.dtype])
        self._means = (centres + moves) @ self.whitener

    def distances(self, rows, codes, left_out):
        """Return the squared distances of rows from all classes, shape (N, c).

        Parameters
        ----------
        rows : ndarray of shape (N, n)
        codes : ndarray of shape (N,)
        left_out : ndarray of shape (N,)
            Weight by which each row is left out of the fit: 0 for rows that were not in it.
        """
        Z, M = rows @ self.whitener, self._means
        squares = np.einsum("ij,ij->i", Z, Z)[:, None] - 2.0 * Z @ M.T
        squares += np.einsum("ij,ij->i", M, M)
        (inside,) = np.nonzero(left_out)
        own, u = codes[inside], left_out[inside]
        nu, share = self._changes(own, u)
        H = Z[inside] - M[own]
        leverage = np.einsum("ij,ij->i", H, H)
        products = np.einsum("ij,ij->i", Z[inside], H)[:, None] - H @ M.T
        at = np.arange(len(inside)), own
        products[at] = nu * leverage
        found = squares[inside]
        found[at] = nu**2 * leverage
        rest = np.maximum(1.0 - share * leverage, LEAST_REST)
        squares[inside] = found + (share / rest)[:, None] * products**2
        return squares

    def distances_off_plane(self, rows, codes, left_out):
        """Return the squared distances of rows from the plane through the means, shape (N,).

        The plane is that of the discriminant space: a squared distance from a class is this one
        and the one in the discriminant space together. Parameters are those of `distances`.
        """
        axes, coordinates = self._plane()
        nu, share = self._changes(codes, left_out)
        H = rows @ self.whitener - self._means[codes]
        inside = H @ axes
        H -= inside @ axes.T
        # Without the row the plane turns with the mean of its class, about the other means; `tilt`
        # is how much a point of the plane, given along its axes, turns with it.
        tilt = (coordinates / np.einsum("ij,ij->j", coordinates, coordinates))[codes]
        turn = 1.0 - (nu - 1.0) * np.einsum("ij,ij->i", tilt, inside)
        squares = np.einsum("ij,ij->i", H, H) / np.maximum(turn**2, LEAST_REST)
        longer = (nu - 1.0) ** 2 * np.einsum("ij,ij->i", tilt, tilt)
        return nu**2 * squares / np.maximum(1.0 + (longer - share) * squares, LEAST_REST)

    def _plane(self):
        """Return the axes of the plane through the whitened means, and the means along them.

        Returns
        -------
        axes : ndarray of shape (m, r)
            Orthonormal: the principal axes of the means.
        coordinates : ndarray of shape (c, r)
            About the mean of the means; its columns are orthogonal.
        """
        axes = plane_axes(self._means)
        return axes, (self._means - self._means.mean(axis=0)) @ axes

    def _changes(self, codes, left_out):
        """Return nu and u nu / freedom for weights u of rows that are left out of their class."""
        weights = self._weights[codes]
        nu = weights / np.maximum(weights - left_out, LEAST_REST * weights)
        return nu, left_out * nu / self.freedom


def plane_axes(means):
    """Return the orthonormal principal axes of points of shape (c, m), shape (m, r)."""
    axes, sizes, _ = np.linalg.svd((means - means.mean(axis=0)).T, full_matrices=False)
    return axes[:, sizes > linalg.RANK_CUTOFF * sizes[0]]
