"""Quantiles of the columns of an array, also of weighted rows."""

import numpy as np

# Columns that are sorted at a time, as rows of a copy: NumPy sorts what lies side by side
# several times faster than it selects across rows.
BLOCK_COLUMNS = 128
# Forgives rounding of sums of weights.
SLACK = 1e-12


def column_medians(values, weights=None):
    """Return the medians of the columns, shape (n,); a row of weight k counts k times."""
    return column_quantiles(values, (0.5,), weights)[0]


def column_quantiles(values, levels, weights=None):
    """Return quantiles of the columns; a row of weight k counts k times.

    They are the mean of the first value that reaches the level and the first that passes
    it, as the median of an even number of values is.

    Parameters
    ----------
    values : ndarray of shape (N, n)
    levels : sequence of float
    weights : ndarray of shape (N,), optional

    Returns
    -------
    quantiles : ndarray of shape (len(levels), n)
    """
    found = np.empty((len(levels), values.shape[1]))
    ranks = None if weights is not None else ranks_of(levels, len(values))
    for start in range(0, values.shape[1], BLOCK_COLUMNS):
        block = slice(start, start + BLOCK_COLUMNS)
        columns = values[:, block].T.astype(np.float64)
        if weights is None:
            columns.sort(axis=1)
            found[:, block] = columns[:, ranks].mean(axis=2).T
        else:
            found[:, block] = weighted_quantiles(columns, levels, weights)
    return found


def ranks_of(levels, n_values):
    """Return the places of both values of each level among sorted ones, shape (levels, 2)."""
    part = np.array(levels) * n_values
    low, high = np.ceil(part * (1.0 - SLACK)) - 1.0, np.floor(part * (1.0 + SLACK))
    return np.stack([low, high], axis=1).astype(int)


def weighted_quantiles(columns, levels, weights):
    """Return the quantiles of the rows of `columns` of shape (n, N), shape (levels, n)."""
    order = np.argsort(columns, axis=1, kind="stable")
    ordered = np.take_along_axis(columns, order, axis=1)
    cumulative = np.cumsum(weights[order], axis=1)
    total, each = cumulative[:, -1:], np.arange(len(columns))
    found = []
    for level in levels:
        low = np.argmax(cumulative >= level * total * (1.0 - SLACK), axis=1)
        high = np.argmax(cumulative > level * total * (1.0 + SLACK), axis=1)
        found.append(0.5 * (ordered[each, low] + ordered[each, high]))
    return np.array(found)
