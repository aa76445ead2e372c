"""Plain discriminant analysis from class moments, with exact leave-one-out distances.

Without row x of weight u in class i, of weight N_i and mean m_i, that mean is m_i - (nu - 1) h and
the pooled scatter is S - u nu h h', where h = x - m_i and nu = N_i / (N_i - u): a change of rank
one. So the distances of all rows from all classes, each row left out of its own fit, cost
hardly more than the distances themselves (Sherman and Morrison).
"""

import numpy as np

from cappedlda._kernels import loo
from cappedlda._metrics import linalg
from cappedlda._metrics.plain import FLAT
from cappedlda._metrics.shrinkage import shrinkage_ridge

# 1 - leverage of a row that is alone in a direction: without it there is no spread.
LEAST_REST = 1e-6


class PlainLDA:
    """Linear discriminant analysis on rows of which only the moments are known.

    They are moments of deviations from the centres (c, n), perhaps in a rotation of `n_features`.
    `unit` (n,) replaces unsuitable units of the moments. The type of the rows decides what is
    rounding.
    """

    def __init__(
        self, moments, centres, n_features=None, unit=None, shrinkage=0.0, dtype=np.float64
    ):
        self._moves, scatter = moments.centred(unit)
        n = n_features or len(scatter)
        self._weights = moments.weights
        self.freedom = moments.freedom  # of the covariance
        trace, ridge = scatter.trace(), 0.0
        if shrinkage > 0.0 or not trace > 0.0:
            ridge = shrinkage_ridge(shrinkage, trace, n) if trace > 0.0 else 1.0
            np.einsum("ii->i", scatter)[...] += ridge
        scatter /= self.freedom
        # What is flat within the classes has no influence; see `plain`.
        T = linalg.triangular_whitener(scatter, FLAT[np.dtype(dtype)], ridge / self.freedom)
        self._T = T if unit is None else T / unit[:, None]
        means = centres + self._moves
        self._middle = means.sum(axis=0) / len(means)
        means -= self._middle  # otherwise their differences would be mostly rounding
        self._images = means @ self._T
        self._directions = self._T @ self._images.T

    def distances(self, rows, left_out):
        """Return the squared distances of rows from all classes, shape (k, c).

        The k rows are `Pieces` of deviations from the centres, perhaps `between` others. `left_out`
        (N,) is the weight that each row has in the fit, and 0 for rows outside it.
        """
        distances = np.empty((len(left_out), len(self._weights)))
        # With more classes than rows, not for each pair of classes.
        by_row = len(self._weights) > len(left_out)
        rows.fill(
            loo.left_out_distances,
            rows.X,
            rows.codes,
            self._moves,
            self._T,
            self._directions,
            self._between(rows.codes if by_row else slice(None)),
            by_row,
            left_out,
            self._weights,
            self.freedom,
            LEAST_REST,
            distances,
        )
        return distances[rows.span]

    def _between(self, classes):
        """Return the squared distances of the means of some classes from all."""
        sizes = np.square(self._images).sum(axis=1)
        return sizes[classes, None] + sizes - 2.0 * (self._images[classes] @ self._images.T)

    def linear_scores(self):
        """Return coefficients (n, c) and offsets (c,) of minus half the squared distances.

        They hold for rows outside the fit, up to a number that is the same for all classes.
        """
        offsets = -0.5 * np.square(self._images).sum(axis=1) - self._middle @ self._directions
        return self._directions, offsets

    @property
    def whitener(self):
        """Rows times it have unit covariance within the classes, shape (n, m)."""
        return self._T[:, self._T.any(axis=0)]

    def distances_off_plane(self, deviations, codes, left_out):
        """Return the squared distances of rows from the plane through the means, shape (N,).

        The plane is the discriminant space. A squared distance from a class is the sum of this one
        and the one in the discriminant space. The deviations (N, n) are from the centres.
        """
        axes = plane_axes(self._images)
        if axes.shape[1] == self.whitener.shape[1]:  # the plane is the whole space
            return np.zeros(len(codes))
        weights = self._weights[codes]
        nu = weights / np.maximum(weights - left_out, LEAST_REST * weights)
        H = (deviations - self._moves[codes]) @ self._T
        inside = H @ axes
        H -= inside @ axes.T
        # Without the row, the mean of its class moves, and the plane turns about the other means.
        # `tilt` is how much a point of the plane, given along its axes, moves with it.
        places = self._images @ axes
        tilt = (places / np.einsum("ij,ij->j", places, places))[codes]
        turn = 1.0 - (nu - 1.0) * np.einsum("ij,ij->i", tilt, inside)
        squares = np.einsum("ij,ij->i", H, H) / np.maximum(turn**2, LEAST_REST)
        longer = (nu - 1.0) ** 2 * np.einsum("ij,ij->i", tilt, tilt)
        share = left_out * nu / self.freedom
        return nu**2 * squares / np.maximum(1.0 + (longer - share) * squares, LEAST_REST)


def plane_axes(means):
    """Return the orthonormal principal axes of points of shape (c, m), shape (m, r)."""
    return linalg.orthonormal((means - means.mean(axis=0)).T, linalg.RANK_CUTOFF)
