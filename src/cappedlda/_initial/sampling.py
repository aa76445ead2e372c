"""The stratified sample that large data are fitted on first."""

import numpy as np

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
