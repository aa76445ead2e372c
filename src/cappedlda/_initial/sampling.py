"""The stratified sample that large data are fitted on first."""

import numpy as np

from cappedlda._validation import check_seed


def stratified_sample(rows, random_state):
    """Return a stratified sample of rows in memory, or None if all rows should be used.

    The initial estimate and the first convergence need no more; a few passes over all rows
    finish the fit. Every class gives its share, and at least `sample_rows_per_class` rows where
    it has them. Rows of no weight are not drawn.
    """
    regime, counts = rows.regime, rows.class_counts
    total = counts.sum()
    size = max(regime.sample_share * total, regime.sample_rows_per_feature * rows.shape[1])
    size = min(size, regime.most_sample_rows)
    size = max(size, regime.least_sample_rows, regime.sample_rows_per_class * rows.n_classes)
    if total < regime.sample_worthwhile * size:
        return None
    shares = np.round(counts * (size / total)).astype(int)
    shares = np.minimum(counts, np.maximum(regime.sample_rows_per_class, shares))
    random_state = check_seed(random_state)
    draws = zip(counts, shares, strict=True)
    return rows.pick([drawn(count, share, random_state) for count, share in draws])


def drawn(count, share, random_state):
    """Return `share` different numbers below `count`, ascending.

    Few of many are drawn by trial, in a time that does not grow with `count`.
    """
    if share > count // 2:
        return np.sort(random_state.permutation(count)[:share])
    chosen = np.empty(0, dtype=np.int64)
    while len(chosen) < share:
        more = random_state.randint(count, size=share - len(chosen), dtype=np.int64)
        chosen = np.sort(np.concatenate([chosen, more]))
        chosen = chosen[np.diff(chosen, prepend=-1) > 0]
    return chosen
