"""A last look at the training rows: what was kept, what was rejected, and a sample."""

from typing import NamedTuple

import numpy as np

MOST_SAMPLED = 20_000  # rows in pictures and cross-validation
MOST_LISTED = 200  # rejected rows in a report


class Rejected(NamedTuple):
    """A rejected row: its number, class, what it looks like, and what is unusual about it."""

    row: int
    label: object
    looks_like: object
    outlyingness: float
    feature: int
    value: float


class Survey:
    """Counts by class, the most outlying rows, and a sample of all rows.

    Attributes
    ----------
    n_rows : int
    rows, rejected : ndarray of shape (n_classes,)
        How many rows each class has, and how many of them were rejected.
    listed : list of Rejected
        The most outlying first.
    X, y : ndarray
        The sample: all rows if they are few.
    """

    def __init__(self, model, data, progress):
        self.n_rows = data.n_rows
        self.rows = np.zeros(len(model.classes_), dtype=np.int64)
        self.rejected = np.zeros_like(self.rows)
        rng = np.random.default_rng(0)
        share = MOST_SAMPLED / data.n_rows
        worst, sample = [], []
        blocks = progress.count(data.blocks(), "Looking at all rows", lambda block: len(block[0]))
        for index, X, y in blocks:
            codes = np.searchsorted(model.classes_, y)
            ratio = model.outlyingness(X, y)
            out = ratio > 1.0
            self.rows += np.bincount(codes, minlength=len(self.rows))
            self.rejected += np.bincount(codes[out], minlength=len(self.rows))
            worst = most_outlying([*worst, (ratio[out], index[out], X[out], codes[out])])
            chosen = slice(None) if share >= 1.0 else rng.random(len(y)) < share
            sample.append((X[chosen], y[chosen]))
        self.X, self.y = (np.concatenate(parts) for parts in zip(*sample, strict=True))
        self.listed = describe(model, worst, self.X, self.y)


def most_outlying(parts):
    """Return the rows of largest ratio as one part, the largest first."""
    joined = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    order = np.argsort(-joined[0], kind="stable")[:MOST_LISTED]
    return [tuple(array[order] for array in joined)]


def describe(model, worst, X, y):
    """Return the rejected rows with the feature that is farthest off in each."""
    ((ratio, index, rows, codes),) = worst
    if not len(index):
        return []
    codes_of_sample = np.searchsorted(model.classes_, y)
    kept = model.outlyingness(X, y) <= 1.0
    spread = np.std(X[kept] - model.means_[codes_of_sample[kept]], axis=0)
    # A feature that does not vary is unusual wherever it differs.
    spread = np.maximum(spread, np.finfo(float).tiny)
    with np.errstate(over="ignore"):
        features = np.argmax(np.abs(rows - model.means_[codes]) / spread, axis=1)
    guesses = model.predict(rows)
    return [
        Rejected(
            int(index[i]),
            model.classes_[codes[i]].item(),
            guesses[i].item(),
            float(ratio[i]),
            int(features[i]),
            float(rows[i, features[i]]),
        )
        for i in range(len(index))
    ]
