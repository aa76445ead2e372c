"""The initial estimate of rows with very many features, without a dense copy and covariances.

The results are those of `dense`. Most medians of a sparse feature are zero, as its number of
entries shows. Features with other medians are made dense, in blocks.
"""

import numpy as np

from cappedlda._initial import standardize
from cappedlda._initial.dense import InitialEstimate
from cappedlda._initial.standardize import FARTHEST, are_shared, sparse_unit
from cappedlda._rules.rule import gate_caps


def plain_estimate(rows):
    """Return class means and pooled scales, with every row in the support."""
    return InitialEstimate.plain(rows, medians_and_scale(rows)[1])


def robust_estimate(rows):
    """Return class medians, pooled scales and the support, which outliers cannot spoil."""
    medians, scale = medians_and_scale(rows)
    norms, histograms = rows.clipped(medians, FARTHEST * scale).norms(medians, scale)
    support = norms <= gate_caps(histograms, rows.shape[1], rows.regime)[rows.codes]
    return InitialEstimate(medians, scale, support)


def medians_and_scale(rows):
    """Return class medians and a robust scale of each feature, as in `standardize`."""
    medians = np.zeros((rows.n_classes, rows.shape[1]))
    scale = sparse_unit(*entry_medians(rows))
    for block in busy_features(rows):
        medians[:, block], scale[block], _ = standardize.medians_and_scale(rows.columns(block))
    return medians, np.where(scale > 0.0, scale, 1.0)


def entry_medians(rows):
    """Return the median size of the nonzero entries of each feature, and their share of the weight.

    If several rows share a size, only shared sizes count. Both are 0 for a feature without entries.
    """
    n_rows, n = rows.shape
    _, lengths = rows.entries(slice(0, n_rows))
    features = rows.X.indices
    weights = np.ones(n_rows) if rows.sample_weight is None else rows.sample_weight
    sizes, spread = np.abs(rows.X.data).astype(np.float64), np.repeat(weights, lengths)
    (some,) = np.nonzero((sizes > 0.0) & (spread > 0.0))
    order = some[np.lexsort((sizes[some], features[some]))]
    features, sizes, spread = features[order], sizes[order], spread[order]
    values = np.cumsum((np.diff(features, prepend=-1) != 0) | (np.diff(sizes, prepend=0.0) != 0.0))
    shared = are_shared(values, spread)
    counted = shared | ~np.isin(features, features[shared])
    features, sizes, spread = features[counted], sizes[counted], spread[counted]
    below, totals = np.cumsum(spread), np.bincount(features, spread, n)
    (there,) = np.nonzero(totals)
    targets = (np.cumsum(totals) - 0.5 * totals)[there]
    medians = np.zeros(n)
    # The mean of the first size that reaches the half and the first that passes it.
    for side in ("left", "right"):
        medians[there] += 0.5 * sizes[np.searchsorted(below, targets, side)]
    return medians, totals / weights.sum()


def busy_features(rows):
    """Yield, in blocks, the features with an entry in half or more of some class.

    All others have a median of zero in every class, and a median deviation of zero.
    """
    half = 0.5 * rows.class_weights[:, None] * (1.0 - 1e-9)
    (busy,) = np.nonzero(np.any(rows.stored_weights() >= half, axis=0))
    n_blocks = -(-len(busy) * rows.shape[0] // rows.regime.slab_elements)
    yield from np.array_split(busy, n_blocks) if n_blocks else ()
