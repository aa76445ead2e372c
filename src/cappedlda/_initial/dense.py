"""The initial estimate of rows in an array: units, a C-step, and the growth of the support."""

from collections import deque
from functools import partial
from typing import NamedTuple

import numpy as np

from cappedlda._data.jobs import histograms_of
from cappedlda._data.threads import shared_threads
from cappedlda._initial.separation import LEAST_INSIDE, separated_part
from cappedlda._initial.standardize import in_units, medians_and_scale, row_pieces
from cappedlda._kernels import initial as initial_kernels
from cappedlda._metrics.linalg import not_definite
from cappedlda._rules.fences import REACH, SETTLED, least_fence, update_caps
from cappedlda._rules.rule import gate_caps

# Least variance, in robust units, of a feature, and of one that is mostly constant.
VARIANCE_FLOOR = 0.1
SPARSE_VARIANCE_FLOOR = 1.0
GROWTH_STEPS = 20
MIN_SHRINKAGE = 1e-4


class InitialEstimate(NamedTuple):
    """A robust (or plain) first estimate of each class."""

    centres: np.ndarray  # (c, n)
    scale: np.ndarray  # (n,), unit of each feature
    support: np.ndarray  # (N,), bool, rows to begin with
    # (n,), least deviation of each feature when rows are measured, so that a value that the
    # support happens to lack is not infinitely far.
    least: np.ndarray | None = None

    @classmethod
    def plain(cls, rows, scale):
        """Return the class means, with every row in the support."""
        return cls(rows.class_means(), scale, np.ones(rows.shape[0], dtype=bool))

    def in_deviations(self, rows):
        """Return the estimate in units of deviations in the support, which have a lower bound.

        A covariance that is shrunk in these units keeps the variances of the features.
        """
        weights, squares = rows.row_weights * self.support, np.zeros(rows.shape[1])
        for k in range(rows.n_classes):
            (own,) = np.nonzero((rows.codes == k) & (weights > 0.0))
            if len(own):
                X = (rows.X[own] - self.centres[k]) / self.scale
                X -= np.average(X, axis=0, weights=weights[own])
                squares += weights[own] @ np.square(X, out=X)
        variances = np.maximum(squares / weights.sum(), VARIANCE_FLOOR)
        return self._replace(scale=self.scale * np.sqrt(variances))


def plain_estimate(rows):
    """Return class means and pooled scales, with every row in the support."""
    return InitialEstimate.plain(rows, medians_and_scale(rows)[1])


def robust_estimate(rows):
    """Return class medians, pooled scales and the support, which outliers cannot spoil."""
    regime, (n_rows, n) = rows.regime, rows.shape
    n_jobs = rows.n_jobs if n_rows * n >= regime.threaded_elements else 1
    rows = rows.with_features(np.ascontiguousarray(rows.X, np.float64))
    many = rows.class_weights.sum() >= regime.covariance_rows_per_feature * n
    apart = None
    with shared_threads(n_jobs) as map_:
        if many:
            medians, scale, sparse = medians_and_scale(rows, map_)
        else:
            apart, (medians, scale, sparse) = rows_apart(rows, map_)
        floor = np.where(sparse, SPARSE_VARIANCE_FLOOR, VARIANCE_FLOOR)
        scaled, squares = in_units(rows, medians, scale, map_)
        norms = np.sqrt(squares / n)
        if many:
            dtype = np.float32 if n >= regime.single_features else np.float64
            pieces = Pieces(rows.with_features(scaled), map_, dtype)
            support = grow_support(pieces, *c_step(pieces, norms, floor), floor)
        else:
            histograms = histograms_of(norms, rows.codes, rows.n_classes, rows.sample_weight)
            support = (norms <= gate_caps(histograms, n, regime)[rows.codes]) & ~apart
    return InitialEstimate(medians, scale, support, np.sqrt(floor) * scale)


def rows_apart(rows, map_=map):
    """Return which rows lie apart from the larger part of their class, and units without them.

    Such rows inflate the units in which they are looked for. So the units are computed again
    without them, until no more are found.
    """
    apart = np.zeros(rows.shape[0], dtype=bool)
    weights = np.ones(len(apart)) if rows.sample_weight is None else rows.sample_weight
    while True:
        units = medians, scale, _ = medians_and_scale(
            rows.take(~apart) if apart.any() else rows, map_
        )
        found = np.zeros_like(apart)
        for k, total in enumerate(rows.class_weights):
            (own,) = np.nonzero((rows.codes == k) & ~apart & (weights > 0.0))
            held = weights[own].sum()
            if held < max(rows.regime.least_class_weight, LEAST_INSIDE * total):
                continue
            points = (rows.X[own] - medians[k]) / scale
            found[own] = separated_part(points, weights[own], LEAST_INSIDE * total)
        if not found.any():
            return apart, units
        apart |= found


def concentrated_support(rows, units, reach):
    """Return the support of rows with few features: a C-step from the medians, then growth.

    The growth ends at a fence of the given reach.
    """
    medians, scale, _ = units
    scaled, squares = in_units(rows, medians, scale)
    floor = np.full(rows.shape[1], VARIANCE_FLOOR)
    pieces = Pieces(rows.with_features(scaled))
    return grow_support(pieces, *c_step(pieces, np.sqrt(squares), floor), floor, reach)


def c_step(pieces, distances, variance_floor):
    """Return the nearer half of every class, and the distances of all rows from it.

    This is the C-step of FAST-MCD (Rousseeuw and Van Driessen, Technometrics 1999) with a pooled
    and shrunk covariance. More steps before the growth do not improve accuracy. The result
    includes caps (c,): the largest of the given distances in the support of each class.
    """
    caps = update_caps(pieces.histograms(distances), None).halves
    support = np.zeros(len(distances), bool)
    pieces.sample.keep_within(caps, distances, support)
    return support, shrunk_distances(pieces, support, variance_floor), caps


def grow_support(pieces, support, distances, caps, variance_floor, reach=REACH):
    """Return the support, grown until the next row lies beyond the reach of a fence.

    Rows within a fence of the support join it, and all are measured anew, as in BACON (Billor,
    Hadi and Velleman, Computational Statistics & Data Analysis 2000).
    """
    support, settled = support.copy(), SETTLED * len(support)
    limits = {"regime": pieces.regime, "least": least_fence(pieces.shape[1])}
    for _ in range(GROWTH_STEPS):
        caps = update_caps(pieces.histograms(distances), caps, reach, **limits).caps
        if pieces.sample.keep_within(caps, distances, support) <= settled:
            break
        distances = shrunk_distances(pieces, support, variance_floor)
    return support


def shrunk_distances(pieces, support, variance_floor):
    """Return Mahalanobis distances of all rows from the support of their class.

    The covariance is that of the support, shrunk by the Ledoit-Wolf amount. A row of the support
    has shaped the covariance and would look too near, so its distance is the leave-one-out one.
    """
    distances, limits = np.empty(len(support)), (variance_floor, MIN_SHRINKAGE)
    if pieces.are_few:
        if not pieces.sample.shrunk_distances(support, *limits, pieces.n_classes, distances):
            raise not_definite()
        return distances
    per_class, centres, covariance = pieces.moments(support)
    total = initial_kernels.centre_moments(per_class, centres, covariance)
    fourth = sum(pieces.map(pieces.sample.fourth_moment, support, centres))
    shrinkage = initial_kernels.shrunk_whitener(covariance, fourth, total, *limits)
    if shrinkage < 0.0:
        raise not_definite()
    W, leverage = np.ascontiguousarray(covariance, pieces.dtype), (1.0 - shrinkage) / total
    left_out = W, leverage, per_class, distances
    pieces.fill(pieces.sample.fill_distances, support, centres, *left_out)
    return distances


class Pieces:
    """Rows cut into pieces that do not depend on the number of threads.

    The rows are C-ordered float64, and are multiplied in `dtype`. `map_` is `map`, or the same on
    threads.
    """

    def __init__(self, rows, map_=map, dtype=np.float64):
        self.dtype = dtype
        self.X, self.shape, self.codes, self.regime = rows.X, rows.shape, rows.codes, rows.regime
        self.sample = initial_kernels.Sample(rows.X, rows.codes, rows.sample_weight)
        counted = {"n_classes": rows.n_classes, "sample_weight": rows.sample_weight}
        self.histograms = partial(histograms_of, codes=rows.codes, **counted)
        self.n_classes = rows.n_classes
        self._map = map_
        self.span, self._bounds = slice(None), row_pieces(*rows.shape, rows.regime)
        self._last = None  # the support, and its moments
        self._are_large = self.shape[0] * self.shape[1] ** 2 >= self.regime.changed_products
        one = len(self._bounds[0]) == 1
        self.are_few = one and dtype == np.float64 and not self._are_large

    def between(self, first, stop):
        """Return pieces of a range of the rows."""
        part = object.__new__(Pieces)
        vars(part).update(vars(self))
        part.span = slice(first, stop)
        bounds = row_pieces(stop - first, self.shape[1], self.regime)
        part._bounds = [[first + row for row in rows] for rows in bounds]
        return part

    def map(self, kernel, *given):
        """Return the results of a kernel that takes `given` and the bounds of each piece."""
        return self._map(partial(kernel, *given), *self._bounds)

    def fill(self, kernel, *given):
        """Let a kernel fill some of the arrays given, piece by piece."""
        deque(self.map(kernel, *given), maxlen=0)

    def moments(self, support):
        """Return weight and sums of the support in each class, and the upper triangle of squares.

        Large moments that are known for an earlier support are updated by the rows that come and
        go.
        """
        if not self._are_large:
            return self.sums(support)
        sums = None if self._last is None else self._changed(*self._last, support)
        self._last = support.copy(), self.sums(support) if sums is None else sums
        return tuple(array.copy() for array in self._last[1])

    def _changed(self, last, sums, support):
        """Return the sums updated for another support, or None if rounding would dominate."""
        gone, new = self.sums(last & ~support), self.sums(support & ~last)
        if 2.0 * gone[2].trace() > sums[2].trace():
            return None
        return tuple(a - b + c for a, b, c in zip(sums, gone, new, strict=True))

    def sums(self, support):
        """Return the same as `moments`, computed from scratch."""
        pieces, c, n = len(self._bounds[0]), self.n_classes, self.shape[1]
        weights, sums = np.zeros((pieces, c)), np.zeros((pieces, c, n))
        scatter = np.zeros((pieces, n, n), self.dtype)
        add = partial(self.sample.add_moments, support)
        deque(self._map(add, *self._bounds, weights, sums, scatter), maxlen=0)
        if pieces == 1:
            return weights[0], sums[0], scatter[0].astype(np.float64, copy=False)
        return tuple(part.sum(axis=0, dtype=np.float64) for part in (weights, sums, scatter))
