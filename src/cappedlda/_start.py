"""Where the solver starts: a first look at a sample of the rows that outliers cannot spoil.

A part of a class that lies apart from the larger part is left out. The nearer half of the
rest of every class, by distances that know the scale of each feature, is taken for good.
Its covariance gives better distances, these a better half, a few times over; then the half
grows until the next row is too far off.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from cappedlda._concentration import concentrated, row_pieces
from cappedlda._cutoffs.gate import gate_caps
from cappedlda._data.jobs import histograms_of
from cappedlda._data.threads import in_turn, shared_threads
from cappedlda._kernels import selection, start_kernels
from cappedlda._points import ArrayPoints, densest_centre, far_part
from cappedlda._quantiles import BLOCK_COLUMNS
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

# Threads for fewer numbers would cost more than they save: of 5000 rows, 50 features were too
# few for a gain on two cores, and 256 were enough also of 2000 rows.
THREADED_ELEMENTS = 400_000
MOST_COLUMN_BLOCKS = 8

MAD_TO_SIGMA = 1.4826
# The quantile of the absolute deviations at this level is at most so many times their
# median, or the median is of a discrete feature: then it is raised, at most so many times.
WIDER_LEVEL = 0.7
WIDEST_TAIL = 3.0
MOST_RAISED = 10.0
# Covariances of all features need several rows per feature.
ROWS_PER_FEATURE = 4
# A half that hardly grows has closed in on a tight cluster: do not trust it.
STUCK_SHARE = 0.55
# Least variance, in robust units, of a feature, and of one that is mostly constant.
VARIANCE_FLOOR = 0.1
SPARSE_VARIANCE_FLOOR = 1.0
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
    with shared_threads(rows.n_jobs if rows.X.size >= THREADED_ELEMENTS else 1) as each:
        rows, order = rows.by_class()
        units_of, classes_of = partial(medians_and_scale, each=each), partial(points_of, each=each)
        apart, units, classes = without_far_parts(rows, units_of, classes_of, each)
        medians, scale, sparse = units
        moves = np.array(each(densest_centre, classes))
        del classes  # as many numbers as the rows have
        scaled, squares = in_units(rows, medians, scale, moves, each)
        norms = np.sqrt(squares / rows.shape[1])
        kept = None
        if rows.class_weights.sum() >= ROWS_PER_FEATURE * rows.shape[1]:
            floor = np.where(sparse, SPARSE_VARIANCE_FLOOR, VARIANCE_FLOOR)
            kept = concentrated(rows.with_features(scaled), norms, floor, each) & ~apart
            if weight_in(rows, kept) < STUCK_SHARE * weight_in(rows, ~apart):
                kept = None
    if kept is None:
        histograms = histograms_of(norms, rows.codes, rows.n_classes, rows.sample_weight)
        kept = (norms <= gate_caps(histograms)[rows.codes]) & ~apart
    unordered = np.empty_like(kept)
    unordered[order] = kept
    return FirstLook(medians + moves * scale, scale, unordered)


def weight_in(rows, chosen):
    """Return the weight of the rows of a mask."""
    return np.count_nonzero(chosen) if rows.sample_weight is None else rows.sample_weight @ chosen


def in_units(rows, centres, scale, moves=None, each=in_turn):
    """Return the deviations of rows from the centres of their classes over the scale.

    Parameters
    ----------
    rows : ArrayRows
    centres : ndarray of shape (c, n)
    scale : ndarray of shape (n,)
    moves : ndarray of shape (c, n), optional
        Of the centres, in units of the scale, after far deviations were cut off.
    each : callable
        As `in_turn`, perhaps on threads.

    Returns
    -------
    scaled : ndarray of shape (N, n)
    squares : ndarray of shape (N,)
        Their squared norms.
    """
    scaled, squares = np.empty(rows.shape), np.empty(rows.shape[0])

    def fill(first, stop):
        units = centres, scale, FARTHEST, moves
        start_kernels.scaled_rows(first, stop, rows.X, rows.codes, *units, scaled, squares)

    each(fill, *row_pieces(*rows.shape))
    return scaled, squares


def points_of(rows, centres, scale, each=in_turn):
    """Return the points of each class, given rows class by class; see `ArrayPoints`."""
    scaled, squares = in_units(rows, centres, scale, each=each)
    weight = rows.sample_weight
    return [
        ArrayPoints(scaled[part], squares[part], None if weight is None else weight[part])
        for part in rows.class_slices()
    ]


def without_far_parts(rows, units_of, points_of, each=in_turn):
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
    each : callable
        As `in_turn`, perhaps on threads.

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
        far = np.concatenate(each(far_part, classes, least))
        if not far.any():
            return apart, units, classes
        by_class = np.flatnonzero(~apart)[np.argsort(others.codes, kind="stable")]
        apart[by_class[far]] = True


def medians_and_scale(rows, each=in_turn):
    """Return class medians, a robust scale of each feature, and which features are sparse.

    The scale is the pooled median absolute deviation, raised where it sees only one level
    of a discrete feature; for sparse features, of which more than half of the deviations
    are zero, the root mean square; 1 for constant ones.
    """
    rows, _ = rows.by_class()
    centres, (median, wider) = medians_and_deviations(rows, (0.5, WIDER_LEVEL), each)
    wider /= WIDEST_TAIL
    scale = MAD_TO_SIGMA * np.maximum(median, np.minimum(wider, MOST_RAISED * median))
    sparse = scale <= 0.0
    if sparse.any():
        deviations = np.abs(rows.X[:, sparse] - centres[:, sparse][rows.codes])
        scale[sparse] = root_mean_square(deviations, rows.sample_weight)
        scale[scale <= 0.0] = 1.0
    return centres, scale, sparse


def class_medians(rows):
    """Return the median of each class, shape (c, n)."""
    return medians_and_deviations(rows.by_class()[0], ())[0]


def medians_and_deviations(rows, levels, each=in_turn):
    """Return the median of each class, and quantiles of the absolute deviations from it.

    Parameters
    ----------
    rows : ArrayRows
        Class by class.
    levels : sequence of float
    each : callable
        As `in_turn`, perhaps on threads.

    Returns
    -------
    medians : ndarray of shape (c, n)
    quantiles : ndarray of shape (len(levels), n)
        Of all classes together.
    """
    n = rows.shape[1]
    medians, quantiles = np.empty((rows.n_classes, n)), np.empty((len(levels), n))
    levels, ends = np.array(levels, float), rows.class_ends()

    def fill(first):
        columns = first, min(first + step, n)
        given = rows.X, ends, rows.sample_weight, levels
        selection.medians_and_deviations(*columns, *given, medians, quantiles)

    step = -(-n // (MOST_COLUMN_BLOCKS * BLOCK_COLUMNS)) * BLOCK_COLUMNS
    each(fill, range(0, n, step))
    return medians, quantiles


def root_mean_square(values, weights):
    """Return the root mean square of the columns, safe for huge and tiny numbers."""
    largest = np.maximum(values.max(axis=0), np.finfo(float).tiny)
    return largest * np.sqrt(np.average(np.square(values / largest), axis=0, weights=weights))
