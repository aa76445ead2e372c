"""Quantiles of the columns of an array, also of weighted rows."""

import numpy as np

from cappedlda._kernels import selection

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
