"""A last look at the training rows: what is flagged, what is left out, and a sample."""

import numpy as np

from cappedlda._cli.outliers import explained, only_left_out

MOST_SAMPLED = 20_000  # rows in pictures and cross-validation
MOST_LISTED = 200  # unusual rows in a report


class Survey:
    """Counts by class, the most outlying rows, and a sample of all rows.

    Attributes
    ----------
    n_rows : int
    rows, flagged, left_out : ndarray of shape (n_classes,)
        How many rows each class has, how many of them are unusual, and how many the fit leaves
        out.
    n_only_left_out : int
        Rows that are left out without being flagged.
    n_listed : int
        Rows that are flagged or left out.
    listed : dict of str to ndarray
        Of these the most outlying ones, the most outlying first: the columns of
        `CappedLDA.explain`, with features by number.
    X, y, crossed : ndarray
        The sample, all rows if they are few, and which of them are left out.
    """

    def __init__(self, model, data, progress):
        self.n_rows = data.n_rows
        self.rows = np.zeros(len(model.classes_), dtype=np.int64)
        self.flagged = np.zeros_like(self.rows)
        self.left_out = np.zeros_like(self.rows)
        self.n_only_left_out = 0
        self.n_listed = 0
        self.listed = {}
        rng = np.random.default_rng(0)
        share = MOST_SAMPLED / data.n_rows
        sample = []
        blocks = progress.count(data.blocks(), "Looking at all rows", lambda block: len(block[0]))
        for index, X, y in blocks:
            self.rows += self._counts(model, y)
            found = explained(model, X, y)
            self.flagged += self._counts(model, found["class"][found["flagged"]])
            self.left_out += self._counts(model, found["class"][found["left_out"]])
            self.n_only_left_out += int(only_left_out(found).sum())
            self.n_listed += len(found["row"])
            self._list({**found, "row": index[found["row"]]})
            crossed = np.zeros(len(y), bool)
            crossed[found["row"]] = found["left_out"]
            chosen = slice(None) if share >= 1.0 else rng.random(len(y)) < share
            sample.append((X[chosen], y[chosen], crossed[chosen]))
        self.X, self.y, self.crossed = (
            np.concatenate(parts) for parts in zip(*sample, strict=True)
        )

    def _counts(self, model, labels):
        codes = np.searchsorted(model.classes_, labels)
        return np.bincount(codes, minlength=len(self.rows))

    def _list(self, found):
        """Keep the most outlying rows of those that are listed and some more."""
        joined = {
            name: np.concatenate([self.listed[name], column]) if self.listed else column
            for name, column in found.items()
        }
        order = np.argsort(-joined["outlyingness"], kind="stable")[:MOST_LISTED]
        self.listed = {name: column[order] for name, column in joined.items()}
