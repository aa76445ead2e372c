"""A last look at the training rows: what is flagged, what is left out, and a sample."""

from typing import NamedTuple

import numpy as np

MOST_SAMPLED = 20_000  # rows in pictures and cross-validation
MOST_LISTED = 200  # unusual rows in a report


class Unusual(NamedTuple):
    """A row that is flagged or left out: what it is, looks like, and what is unusual about it."""

    row: int
    label: object
    looks_like: object
    outlyingness: float
    left_out: bool
    feature: int
    value: float


class Survey:
    """Counts by class, the most outlying rows, and a sample of all rows.

    Attributes
    ----------
    n_rows : int
    rows, flagged, left_out : ndarray of shape (n_classes,)
        How many rows each class has, how many of them are unusual, and how many the fit leaves
        out.
    n_listed : int
        Rows that are flagged or left out.
    listed : list of Unusual
        Of these the most outlying ones, the most outlying first.
    X, y : ndarray
        The sample: all rows if they are few.
    """

    def __init__(self, model, data, progress):
        self.n_rows = data.n_rows
        self.rows = np.zeros(len(model.classes_), dtype=np.int64)
        self.flagged = np.zeros_like(self.rows)
        self.left_out = np.zeros_like(self.rows)
        self.n_listed = 0
        rng = np.random.default_rng(0)
        share = MOST_SAMPLED / data.n_rows
        worst, sample = [], []
        blocks = progress.count(data.blocks(), "Looking at all rows", lambda block: len(block[0]))
        for index, X, y in blocks:
            codes = np.searchsorted(model.classes_, y)
            ratio = model.outlyingness(X, y)
            flagged, left_out = ratio > 1.0, left_out_rows(model, X, y, ratio)
            for counts, which in ((self.flagged, flagged), (self.left_out, left_out)):
                counts += np.bincount(codes[which], minlength=len(counts))
            self.rows += np.bincount(codes, minlength=len(self.rows))
            out = flagged | left_out
            self.n_listed += int(out.sum())
            block = ratio, index, X, codes, left_out
            worst = most_outlying([*worst, tuple(array[out] for array in block)])
            chosen = slice(None) if share >= 1.0 else rng.random(len(y)) < share
            sample.append((X[chosen], y[chosen]))
        self.X, self.y = (np.concatenate(parts) for parts in zip(*sample, strict=True))
        self.listed = describe(model, worst, self.X, self.y)


def left_out_rows(model, X, y, ratio):
    """Return which rows the fit leaves out, given their labels and their outlyingness."""
    if not hasattr(model, "leave_out_level_"):
        return ratio > 1.0  # earlier versions left out what they flagged
    measured = [samples.left_out for samples in model.measure_chunks(lambda: [(X, y)])]
    return np.concatenate([np.empty(0, bool), *measured])


def most_outlying(parts):
    """Return the rows of largest ratio as one part, the largest first."""
    joined = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    order = np.argsort(-joined[0], kind="stable")[:MOST_LISTED]
    return [tuple(array[order] for array in joined)]


def describe(model, worst, X, y):
    """Return the unusual rows with the feature that is farthest off in each."""
    ((ratio, index, rows, codes, left_out),) = worst
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
        Unusual(
            int(index[i]),
            model.classes_[codes[i]].item(),
            guesses[i].item(),
            float(ratio[i]),
            bool(left_out[i]),
            int(features[i]),
            float(rows[i, features[i]]),
        )
        for i in range(len(index))
    ]
