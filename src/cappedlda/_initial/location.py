"""The centre of a class: that of the smallest ball with half of its points."""

import numpy as np

from cappedlda._initial.quantiles import column_medians
from cappedlda._kernels import start as start_kernels
from cappedlda._regime import REGIME

# Where to look for the smallest ball with half of a class, and how many of the balls, the smallest
# ones, are worth a step; FAST-MCD keeps as many.
BALLS = 30
BEST_BALLS = 10
BALL_STEPS = 2


class DensePoints:
    """The centred and scaled rows of a class, for `separated_part` and `minimum_volume_ball`.

    Parameters
    ----------
    points : ndarray of shape (N, n)
    squares : ndarray of shape (N,)
        Their squared norms.
    weight : ndarray of shape (N,) or None
    regime : Regime
    """

    def __init__(self, points, squares, weight, regime=REGIME):
        self.n_features = points.shape[1]
        self._points = points
        self._columns = points.T
        self.squares = squares
        self.weight = weight
        self.regime = regime

    def chosen(self, rows):
        """Return some points, shape (k, n)."""
        return self._points.take(rows, axis=0)

    def products(self, centres):
        """Return the products with centres of shape (k, n), shape (k, N)."""
        return centres.dot(self._columns)

    def sums(self, shares):
        """Return the sums weighted by shares of shape (k, N), shape (k, n)."""
        return shares.dot(self._points)

    def median(self, inside):
        """Return the median of the points of a mask, shape (n,)."""
        weight = None if self.weight is None else self.weight[inside]
        return column_medians(self._points.compress(inside, axis=0), weight)


def too_few(points):
    """Return whether points are too few to have a part that is clearly the larger one."""
    total = len(points.squares) if points.weight is None else points.weight.sum()
    return total < points.regime.least_class_weight


def minimum_volume_ball(points):
    """Return the median of the half of the points that lies in the smallest ball.

    It is the minimum volume ellipsoid of Rousseeuw (1985), restricted to balls.

    Several points serve as first centres of balls that hold half of the points; the centres of
    the smallest ones then move to the means of their halves. Unlike the medians of the features,
    which a cloud of outliers draws to itself, this stays with the larger part. Few points have no
    part that is clearly the larger one: there it is the origin, their median.
    """
    if too_few(points):
        return np.zeros_like(points.chosen([0])[0])
    chosen = np.empty(BALLS, np.intp)
    # Equal norms are ordered by the points themselves, not by where they stand in X.
    order = np.lexsort((points.products(probe(points))[0], points.squares))
    balls = points.chosen(chosen[: start_kernels.spread_ranks(order, points.weight, chosen)])
    for _ in range(BALL_STEPS):
        shares, totals, radii = nearest_halves(points, balls)
        best = radii.argsort(kind="stable")[:BEST_BALLS]
        balls = points.sums(shares[best])
        balls /= totals[best, None]
    shares, _, radii = nearest_halves(points, balls)
    return points.median(shares[radii.argmin()] > 0.0)


def probe(points):
    """Return a direction in which different points hardly ever have the same place."""
    return np.cos(np.arange(1.0, points.n_features + 1.0))[None]


def nearest_halves(points, centres):
    """Return the shares of points in the nearer half from each centre, and the squared radii.

    Returns
    -------
    shares : ndarray of shape (k, N)
        Their weights, and 0 outside.
    totals, radii : ndarray of shape (k,)
    """
    shares, totals, radii = points.products(centres), np.empty(len(centres)), np.empty(len(centres))
    start_kernels.nearest_halves(shares, points.squares, points.weight, centres, radii, totals)
    return shares, totals, radii
