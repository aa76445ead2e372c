"""Where the solver starts: a first look at a sample of the rows that outliers cannot spoil.

A part of a class that lies apart from the larger part is left out. The nearer half of the
rest of every class, by distances that know the scale of each feature, is taken for good.
Its covariance gives better distances, these a better half, a few times over; then the half
grows until the next row is too far off.
"""

from typing import NamedTuple

import numpy as np

from cappedlda import _linalg
from cappedlda._epsilon import (
    GATE_REACH,
    MIN_CLASS_WEIGHT,
    beyond_gap,
    gate_caps,
    grown_caps,
    nearer_half,
)
from cappedlda._passes import histograms_of
from cappedlda._quantiles import column_medians, column_quantiles
from cappedlda._record import Query
from cappedlda._validation import check_seed

# The first look and the first convergence use a stratified sample when there are several
# times as many rows; a few passes over all rows finish the fit. The sample is a small share
# of the rows, so that it costs less than these passes, within limits: fewer rows, also per
# feature, would not start well, and more hardly better.
SAMPLE_SHARE = 0.02
SAMPLE_ROWS = 2000
SAMPLE_ROWS_PER_FEATURE = 6
MOST_SAMPLE_ROWS = 5000
SAMPLE_ROWS_PER_CLASS = 50
SAMPLE_WORTHWHILE = 4

MAD_TO_SIGMA = 1.4826
# The quantile of the absolute deviations at this level is at most so many times their
# median, or the median is of a discrete feature: then it is raised, at most so many times.
WIDER_LEVEL = 0.7
WIDEST_TAIL = 3.0
MOST_RAISED = 10.0
# Steps towards the direction in which a class is widest.
DIRECTION_STEPS = 4
# Where to look for the smallest ball with half of a class.
BALLS = 30
BALL_STEPS = 2
CONCENTRATION_STEPS = 3
MAX_GROWTH = 20
# Covariances of all features need several rows per feature.
ROWS_PER_FEATURE = 4
# A half that hardly grows has closed in on a tight cluster: do not trust it.
STUCK_SHARE = 0.55
# Least variance, in robust units, of a feature, and of one that is mostly constant.
VARIANCE_FLOOR = 0.1
SPARSE_VARIANCE_FLOOR = 1.0
MIN_SHRINKAGE = 1e-4
# Deviations are cut off here, in robust units: far enough, and their powers stay finite.
FARTHEST = 1e6


class FirstLook(NamedTuple):
    """What the start knows.

    Attributes
    ----------
    centres : ndarray of shape (c, n)
    scale : ndarray of shape (n,)
        Unit of each feature.
    kept : ndarray of shape (N,), bool
        Rows to begin with.
    """

    centres: np.ndarray
    scale: np.ndarray
    kept: np.ndarray


def stratified_sample(rows, random_state):
    """Return a stratified sample of rows in memory, or None if all rows should be used.

    Every class gives its share, and at least `SAMPLE_ROWS_PER_CLASS` rows where it has them.
    Rows of no weight are not drawn.
    """
    counts = rows.class_counts
    size = max(SAMPLE_SHARE * counts.sum(), SAMPLE_ROWS_PER_FEATURE * rows.shape[1])
    size = min(size, MOST_SAMPLE_ROWS)
    size = max(size, SAMPLE_ROWS, SAMPLE_ROWS_PER_CLASS * rows.n_classes)
    if counts.sum() < SAMPLE_WORTHWHILE * size:
        return None
    shares = np.round(counts * (size / counts.sum())).astype(int)
    shares = np.minimum(counts, np.maximum(SAMPLE_ROWS_PER_CLASS, shares))
    random_state = check_seed(random_state)
    draws = zip(counts, shares, strict=True)
    return rows.pick([drawn(count, share, random_state) for count, share in draws])


def drawn(count, share, random_state):
    """Return so many different numbers below `count`, ascending.

    Few of many are drawn by trial, in a time that does not grow with `count`.
    """
    if share > count // 2:
        return np.sort(random_state.permutation(count)[:share])
    chosen = np.empty(0, dtype=np.int64)
    while len(chosen) < share:
        more = random_state.randint(count, size=share - len(chosen), dtype=np.int64)
        chosen = np.unique(np.concatenate([chosen, more]))
    return chosen


def plain_look(rows):
    """Return class means and pooled scales, with every row kept."""
    _, scale, _ = medians_and_scale(rows)
    return FirstLook(rows.class_means(), scale, np.ones(rows.shape[0], dtype=bool))


def robust_look(rows):
    """Return class centres, pooled scales and the rows that a robust start keeps."""
    apart, (medians, scale, sparse), classes = without_far_parts(rows, medians_and_scale, points_of)
    scaled = in_units(rows, medians, scale)
    moves = np.stack([densest_centre(points) for points in classes])
    centres = medians + moves * scale
    scaled -= moves[rows.codes]
    norms = np.sqrt(np.einsum("ij,ij->i", scaled, scaled) / scaled.shape[1])
    histograms = histograms_of(norms, rows.codes, rows.n_classes, rows.sample_weight)
    near = (norms <= gate_caps(histograms)[rows.codes]) & ~apart
    if rows.class_weights.sum() < ROWS_PER_FEATURE * rows.shape[1]:
        return FirstLook(centres, scale, near)
    floor = np.where(sparse, SPARSE_VARIANCE_FLOOR, VARIANCE_FLOOR)
    kept = concentrated(rows.with_features(scaled), norms, floor) & ~apart
    weight = np.ones(rows.shape[0]) if rows.sample_weight is None else rows.sample_weight
    stuck = weight[kept].sum() < STUCK_SHARE * weight[~apart].sum()
    return FirstLook(centres, scale, near if stuck else kept)


def in_units(rows, centres, scale):
    """Return the deviations of rows from the centres of their classes over the scale."""
    scaled = centres[rows.codes]
    np.subtract(rows.X, scaled, out=scaled)
    scaled /= scale
    return np.clip(scaled, -FARTHEST, FARTHEST, out=scaled)


def points_of(rows, centres, scale):
    """Return the points of each class; see `ArrayPoints`."""
    scaled = rows.with_features(in_units(rows, centres, scale))
    return [ArrayPoints(*points) for points in scaled.classes()]


def without_far_parts(rows, units_of, points_of):
    """Find the rows that lie apart from the larger part of their class.

    They inflate the units of the features, in which they are looked for: without them the
    units are taken again, until no more are found.

    Parameters
    ----------
    rows : ArrayRows
    units_of : callable
        Returns centres and scale of rows, and perhaps more.
    points_of : callable
        Returns the points of each class, given rows, centres and scale.

    Returns
    -------
    apart : ndarray of shape (N,), bool
    units : tuple
        What `units_of` returns for the others.
    classes : list
        Their points.
    """
    apart = np.zeros(rows.shape[0], dtype=bool)
    least = 0.5 * rows.class_weights
    while True:
        others = rows.take(~apart) if apart.any() else rows
        units = units_of(others)
        classes = points_of(others, *units[:2])
        far = np.concatenate([far_part(*part) for part in zip(classes, least, strict=True)])
        if not far.any():
            return apart, units, classes
        by_class = np.flatnonzero(~apart)[np.argsort(others.codes, kind="stable")]
        apart[by_class[far]] = True


def far_part(points, least):
    """Return which points lie beyond a wide gap in the direction in which they spread most.

    At least the weight `least` stays. The norms of rows of many features hide a cloud that a
    single direction shows. That direction comes from the points seen as directions
    themselves, so that a few that are far off have no more influence than others.
    """
    squares = points.squares()
    weight = np.ones(len(squares)) if points.weight is None else points.weight
    none = np.zeros(len(squares), dtype=bool)
    if weight.sum() < MIN_CLASS_WEIGHT:
        return none
    inverse = np.divide(1.0, np.sqrt(squares), out=np.zeros_like(squares), where=squares > 0.0)
    shares = weight * inverse
    direction = points.sums(shares[None])
    for _ in range(DIRECTION_STEPS):
        images = inverse * points.products(direction)[0]
        images -= weight @ images / weight.sum()
        direction = points.sums((shares * images)[None])
    length = np.linalg.norm(direction)
    if length == 0.0:
        return none
    return beyond_gap(points.products(direction / length)[0], weight, least)


class ArrayPoints:
    """The centred and scaled rows of a class, as `densest_centre` asks for them.

    Parameters
    ----------
    points : ndarray of shape (N, n)
    weight : ndarray of shape (N,) or None
    """

    def __init__(self, points, weight):
        self._points = points
        self.weight = weight

    def squares(self):
        """Return the squared norms, shape (N,)."""
        return np.einsum("ij,ij->i", self._points, self._points)

    def chosen(self, rows):
        """Return some points, shape (k, n)."""
        return self._points[rows]

    def products(self, centres):
        """Return the products with centres of shape (k, n), shape (k, N)."""
        return centres @ self._points.T

    def sums(self, shares):
        """Return the sums weighted by shares of shape (k, N), shape (k, n)."""
        return shares @ self._points

    def median(self, rows):
        """Return the median of some points, shape (n,)."""
        weight = None if self.weight is None else self.weight[rows]
        return column_medians(self._points[rows], weight)


def densest_centre(points):
    """Return the median of the half of the points that lies in the smallest ball.

    Several points serve as first centres of balls that hold half of the points; the
    centres then move to the means of their halves. Unlike the medians of the features,
    which a cloud of outliers draws to itself, this stays with the larger part. Few points
    have no part that is clearly the larger one: there it is the origin, their median.
    """
    norms, weight = points.squares(), points.weight
    order = np.argsort(norms, kind="stable")
    ranks = np.cumsum(np.ones(len(norms)) if weight is None else weight[order])
    if ranks[-1] < MIN_CLASS_WEIGHT:
        return np.zeros_like(points.chosen([0])[0])
    levels = (np.arange(BALLS) + 0.5) / BALLS * ranks[-1]
    balls = points.chosen(order[np.unique(np.searchsorted(ranks, levels))])
    for _ in range(BALL_STEPS):
        halves = nearest_half(points, norms, balls)[0]
        share = halves if weight is None else halves * weight
        balls = points.sums(share) / share.sum(axis=1, keepdims=True)
    halves, radii = nearest_half(points, norms, balls)
    return points.median(halves[np.argmin(radii)])


def nearest_half(points, norms, centres):
    """Return which points are in the nearer half from each centre, and the squared radii."""
    squares = norms - 2.0 * points.products(centres)
    squares += np.einsum("ij,ij->i", centres, centres)[:, None]
    radii = column_medians(squares.T, points.weight)
    return squares <= radii[:, None], radii


def medians_and_scale(rows):
    """Return class medians, a robust scale of each feature, and which features are sparse.

    The scale is the pooled median absolute deviation, raised where it sees only one level
    of a discrete feature; for sparse features, of which more than half of the deviations
    are zero, the root mean square; 1 for constant ones.
    """
    centres = class_medians(rows)
    deviations = centres[rows.codes]
    np.abs(np.subtract(rows.X, deviations, out=deviations), out=deviations)
    median, wider = column_quantiles(deviations, (0.5, WIDER_LEVEL), rows.sample_weight)
    wider /= WIDEST_TAIL
    scale = MAD_TO_SIGMA * np.maximum(median, np.minimum(wider, MOST_RAISED * median))
    sparse = scale <= 0.0
    if sparse.any():
        scale[sparse] = root_mean_square(deviations[:, sparse], rows.sample_weight)
    return centres, np.where(scale > 0.0, scale, 1.0), sparse


def class_medians(rows):
    """Return the median of each class, shape (c, n)."""
    return np.stack([column_medians(X, weight) for X, weight in rows.classes()])


def root_mean_square(values, weights):
    """Return the root mean square of the columns, safe for huge and tiny numbers."""
    largest = np.maximum(values.max(axis=0), np.finfo(float).tiny)
    return largest * np.sqrt(np.average(np.square(values / largest), axis=0, weights=weights))


def concentrated(rows, distances, variance_floor):
    """Return which rows grow from the most concentrated half of every class.

    Parameters
    ----------
    rows : ArrayRows
        Of centred and scaled features.
    distances : ndarray of shape (N,)
        To begin with.
    variance_floor : ndarray of shape (n,)
    """

    def histograms(distances):
        return histograms_of(distances, rows.codes, rows.n_classes, rows.sample_weight)

    kept = None
    for _ in range(CONCENTRATION_STEPS):
        caps = nearer_half(histograms(distances))
        nearer = distances <= caps[rows.codes]
        if kept is not None and np.array_equal(nearer, kept):
            break
        kept = nearer
        distances = shrunk_distances(rows, kept, variance_floor)
    for _ in range(MAX_GROWTH):
        caps = grown_caps(histograms(distances), caps, GATE_REACH).caps
        grown = distances <= caps[rows.codes]
        if np.array_equal(grown, kept):
            break
        kept = grown
        distances = shrunk_distances(rows, kept, variance_floor)
    return kept


def shrunk_distances(rows, kept, variance_floor):
    """Return Mahalanobis distances of all rows from the kept rows of their class.

    The covariance is that of the kept rows, shrunk as far as Ledoit and Wolf advise. A
    kept row would look nearer than others because it has shaped the covariance: its
    distance is what it would be had it been left out.
    """
    inside = rows.reweighted(kept)
    origin, unit = np.zeros((rows.n_classes, rows.shape[1])), np.ones(rows.shape[1])
    record = inside.run(Query.of_all_rows(origin, unit))
    centres = record.recentre(origin, unit)
    per_class = record.kept[:, 1]
    total = per_class.sum()
    covariance = record.scatter / (2.0 * total)
    lengths = rows.norms(centres, unit)[0] ** 2 * len(unit)
    shrinkage = ledoit_wolf(lengths, inside.sample_weight, covariance)
    diagonal = covariance.reshape(-1)[:: len(unit) + 1]
    mean_variance = diagonal.mean()
    np.maximum(diagonal, variance_floor, out=diagonal)
    covariance *= 1.0 - shrinkage
    diagonal += shrinkage * max(mean_variance, MIN_SHRINKAGE)
    squares = rows.distances(_linalg.whitening(covariance), centres) ** 2
    leverage = np.minimum((1.0 - shrinkage) * squares / total, 0.99)
    own = per_class / np.maximum(per_class - 1.0, 0.5 * per_class + 1e-300)
    return np.sqrt(np.where(kept, squares / (1.0 - leverage) * own[rows.codes] ** 2, squares))


def ledoit_wolf(lengths, weight, covariance):
    """Return the shrinkage towards a multiple of the identity that Ledoit and Wolf advise.

    Parameters
    ----------
    lengths : ndarray of shape (N,)
        Squared, of the centred rows.
    weight : ndarray of shape (N,)
    covariance : ndarray of shape (n, n)
    """
    total = weight.sum()
    size = np.vdot(covariance, covariance)
    spread = size - np.trace(covariance) ** 2 / len(covariance)
    error = weight @ lengths**2 / total**2 - size / total
    return float(np.clip(error / spread, MIN_SHRINKAGE, 1.0)) if spread > 0 else 1.0
