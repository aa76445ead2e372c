"""A last look at the training rows: what is flagged, what is left out, and a sample."""

import numpy as np

from cappedlda._cli.limits import LIMITS
from cappedlda._cli.outliers import explained, only_left_out


class Survey:
    """Counts by class, the most outlying rows, and a sample of all rows."""

    def __init__(self, model, reader, data, progress):
        from pandas import concat

        self.n_rows = data.n_rows
        self.rows = np.zeros(len(model.classes_), dtype=np.int64)  # of each class
        self.flagged = np.zeros_like(self.rows)
        self.left_out = np.zeros_like(self.rows)
        self.n_only_left_out = 0  # without being flagged
        self.n_listed = 0  # rows that are flagged or left out
        listed, sample = [], []
        rng = np.random.default_rng(0)
        share = LIMITS.sampled_rows / data.n_rows
        blocks = progress.count(data.blocks(), "Looking at all rows", lambda block: len(block[0]))
        for index, X, y in blocks:
            found = explained(model, reader, X, y)
            self.rows += self._counts(model, y)
            self.flagged += self._counts(model, found["class"][found["flagged"]])
            self.left_out += self._counts(model, found["class"][found["left_out"]])
            self.n_only_left_out += int(only_left_out(found).sum())
            self.n_listed += len(found)
            crossed = np.zeros(len(y), bool)
            crossed[found["row"]] = found["left_out"]
            listed.append(most_outlying(found.assign(row=index[found["row"]])))
            chosen = slice(None) if share >= 1.0 else rng.random(len(y)) < share
            sample.append((X[chosen], y[chosen], crossed[chosen]))
        # Of these the most outlying, as `CappedLDA.explain` gives them.
        self.listed = most_outlying(concat(listed))
        # The sample, all rows if they are few, and which of them are left out.
        self.X, self.y, self.crossed = (
            np.concatenate(parts) for parts in zip(*sample, strict=True)
        )

    def _counts(self, model, labels):
        codes = np.searchsorted(model.classes_, labels)
        return np.bincount(codes, minlength=len(self.rows))


def most_outlying(found):
    """Return the most outlying rows of an explanation, the most outlying first."""
    return found.sort_values("outlyingness", ascending=False, kind="stable")[: LIMITS.listed_rows]
