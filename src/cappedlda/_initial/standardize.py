"""Robust units: class medians, and a scale of each feature."""

from collections import deque
from functools import partial

import numpy as np

from cappedlda._kernels import initial as initial_kernels
from cappedlda._kernels import selection

MAD_TO_SIGMA = 1.4826
# If the quantile of the absolute deviations at this level exceeds WIDEST_TAIL times their median,
# the feature is discrete. Its unit is then raised, by a factor of at most MOST_RAISED.
WIDER_LEVEL = 0.7
WIDEST_TAIL = 3.0
MOST_RAISED = 10.0
# Largest usual deviation of a mostly constant feature, in its unit.
FARTHEST_USUAL = 3.0
# Deviations are cut off here, in robust units, so that their powers stay finite.
FARTHEST = 1e6


def row_pieces(n_rows, n, regime):
    """Return where pieces of the rows begin and end, whatever the number of threads."""
    count = n_rows // (regime.piece_rows_per_feature * n)
    count = min(n_rows * n // regime.piece_elements, count, regime.most_pieces)
    count -= count % 2  # so that neither of two threads waits for the other
    if count < 2:
        return [0], [n_rows]
    ends = [n_rows * k // count for k in range(count + 1)]
    return ends[:-1], ends[1:]


def in_units(rows, centres, scale, map_=map, farthest=FARTHEST, order=None):
    """Return deviations (N, n) from the class centres in units of the scale, and squared norms.

    Deviations are cut off at `farthest`. The norms have the shape (N,). `map_` is `map`, or the
    same on threads. `order` takes some of the rows, or all in another order.
    """
    n_rows, n = (rows.shape[0] if order is None else len(order)), rows.shape[1]
    scaled, squares = np.empty((n_rows, n)), np.empty(n_rows)
    given = rows.X, rows.codes, order, centres, scale, farthest
    fill = partial(initial_kernels.scaled_rows, *given, scaled, squares)
    deque(map_(fill, *row_pieces(n_rows, n, rows.regime)), maxlen=0)
    return scaled, squares


def medians_and_scale(rows, map_=map):
    """Return class medians, a robust scale of each feature, and which features are sparse.

    The scale is the pooled median absolute deviation, raised where it sees only one level of a
    discrete feature. In a sparse feature more than half of the deviations are zero, and the scale
    comes from the others. A feature that is constant within the classes gets the spread of its
    class medians, and a constant feature gets 1.
    """
    centres, (median, wider) = medians_and_deviations(rows, (0.5, WIDER_LEVEL), map_)
    wider /= WIDEST_TAIL
    scale = MAD_TO_SIGMA * np.maximum(median, np.minimum(wider, MOST_RAISED * median))
    sparse = scale <= 0.0
    if sparse.any():
        deviations = np.abs(rows.X[:, sparse] - centres[:, sparse][rows.codes])
        scale[sparse] = [scale_of_others(d, rows.sample_weight) for d in deviations.T]
        scale = np.where(scale > 0.0, scale, np.ptp(centres, axis=0))
        scale[scale <= 0.0] = 1.0
    return centres, scale, sparse


def medians_and_deviations(rows, levels, map_=map):
    """Return the median of each class, and quantiles of the absolute deviations from it.

    The rows are sorted by class. The quantiles (levels, n) are those of all classes together.
    """
    n, order, weights = rows.shape[1], rows.class_order(), rows.sample_weight
    medians, quantiles = np.empty((rows.n_classes, n)), np.empty((len(levels), n))
    weights = None if weights is None else weights[order]
    X, levels = rows.X.astype(np.float64, copy=False), np.array(levels, float)
    given = X, order, rows.class_ends(), weights, levels
    fill = partial(selection.medians_and_deviations, *given, medians, quantiles)
    step = -(-n // (rows.regime.column_blocks * BLOCK_COLUMNS)) * BLOCK_COLUMNS
    begins = range(0, n, step)
    deque(map_(fill, begins, [*begins[1:], n]), maxlen=0)
    return medians, quantiles


def scale_of_others(deviations, weights):
    """Return the unit of a feature from its nonzero deviations, or 0 if there are none."""
    weights = np.ones(len(deviations)) if weights is None else weights
    some = (deviations > 0.0) & (weights > 0.0)
    if not some.any():
        return 0.0
    shared = are_shared(deviations[some], weights[some])
    if shared.any():
        some[some] = shared
    share = weights[some].sum() / weights.sum()
    return sparse_unit(column_medians(deviations[some, None], weights[some])[0], share)


def are_shared(values, counts):
    """Return which values occur more than once: levels of a discrete feature, not errors.

    `counts` is how often each value counts.
    """
    _, groups = np.unique(values, return_inverse=True)
    return np.bincount(groups, counts)[groups] > 2.0 * (1.0 - 1e-9)


def sparse_unit(size, share):
    """Return the unit of a feature in which a share of the rows deviates by `size`, others by 0.

    It is the root mean square, but large enough that the usual deviation `size` is not far off.
    """
    return size * np.maximum(np.sqrt(share), 1.0 / FARTHEST_USUAL)


# Columns that are read at a time.
BLOCK_COLUMNS = selection.BLOCK_COLUMNS


def column_medians(values, weights=None):
    """Return the medians of the columns, shape (n,); a row of weight k counts k times."""
    return column_quantiles(values, (0.5,), weights)[0]


def column_quantiles(values, levels, weights=None):
    """Return quantiles of the columns; a row of weight k counts k times.

    They are the mean of the first value that reaches the level and the first that passes
    it, as the median of an even number of values is. Their shape is (levels, n).
    """
    found = np.empty((len(levels), values.shape[1]))
    values = values.astype(np.float64, copy=False)
    selection.column_quantiles(values, weights, np.array(levels), found)
    return found
