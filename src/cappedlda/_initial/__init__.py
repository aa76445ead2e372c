"""The sample that large data are fitted on first, and its robust initial estimate.

The estimate is centres, scale, and the support to begin with:

1. `standardize`: class medians, and the median absolute deviation of each feature.
2. `dense`: a C-step as in FAST-MCD, then the support grows as in BACON.

`sparse` does the first step for sparse rows, which need no covariance.
"""

import numpy as np

from cappedlda._data.sparse import SparseRows
from cappedlda._initial import dense, sparse
from cappedlda._validation import check_seed


def initial_estimate(rows, robust):
    """Return the initial estimate of rows in memory, robust or plain."""
    kind = sparse if isinstance(rows, SparseRows) else dense
    return (kind.robust_estimate if robust else kind.plain_estimate)(rows)


def stratified_sample(rows, random_state):
    """Return a stratified sample of rows in memory, and further rows that are not in it.

    The fit converges on the sample; a few passes over all rows finish it. Every class gives its
    share, and at least `sample_rows_per_class` rows if it has them. Rows of zero weight are not
    drawn. The sample is None if all rows should be used. With so many features that directions
    overfit the sample, about as many further rows are drawn in the same read, otherwise None.
    """
    regime, counts, n = rows.regime, rows.class_counts, rows.shape[1]
    total = counts.sum()
    size = max(regime.least_sample_rows, regime.sample_rows_per_class * rows.n_classes)
    if total < regime.sample_worthwhile * size:
        return None, None
    shares = np.round(counts * (size / total)).astype(int)
    shares = np.minimum(counts, np.maximum(regime.sample_rows_per_class, shares))
    overfits = n > regime.overfit * shares.sum()
    both = np.minimum(counts, 2 * shares) if overfits else shares
    random_state = check_seed(random_state)
    picked = rows.pick([drawn(*draw, random_state) for draw in zip(counts, both, strict=True)])
    return divided(picked, shares, both) if overfits else (picked, None)


def divided(rows, shares, counts):
    """Return the share of each class out of its `counts` rows, evenly spaced, and the others.

    The others are None if the shares are all rows.
    """
    chosen = np.zeros(len(rows.codes), bool)
    by_class, start = np.argsort(rows.codes, kind="stable"), 0
    for share, count in zip(shares.tolist(), counts.tolist(), strict=True):
        chosen[by_class[start + np.arange(share) * count // share]] = True
        start += count
    others = np.flatnonzero(~chosen)
    return rows.take(np.flatnonzero(chosen)), rows.take(others) if len(others) else None


def drawn(count, share, random_state):
    """Return `share` different numbers below `count`, ascending.

    A few out of many are drawn by trial, in a time that does not grow with `count`.
    """
    if share > count // 2:
        return np.sort(random_state.permutation(count)[:share])
    chosen = np.empty(0, dtype=np.int64)
    while len(chosen) < share:
        more = random_state.randint(count, size=share - len(chosen), dtype=np.int64)
        chosen = np.sort(np.concatenate([chosen, more]))
        chosen = chosen[np.diff(chosen, prepend=-1) > 0]
    return chosen
