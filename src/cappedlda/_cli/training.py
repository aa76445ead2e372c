"""Training data: in memory, mapped from a file, or read anew in each pass."""

import numpy as np

from cappedlda._cli.tables import ArrayTable, as_slice

MOST_BYTES = 2**30  # that are read into memory
BLOCK_ROWS = 50_000


class InMemory:
    """Rows as arrays, or as an array that is mapped from a file.

    Parameters
    ----------
    index : ndarray of shape (n_rows,)
        The numbers of the rows in the file.
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
    """

    def __init__(self, index, X, y):
        self._index, self._X, self._y = index, X, y
        self.n_rows = len(y)

    def fit(self, model):
        """Fit a model to the rows."""
        return model.fit(self._X, self._y)

    def blocks(self):
        """Yield numbers, features and labels of some rows at a time."""
        for start in range(0, self.n_rows, BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            yield self._index[rows], np.asarray(self._X[rows]), self._y[rows]


def read_training(reader, progress):
    """Read and check all rows, and return them as a model can be fitted to them.

    Parameters
    ----------
    reader : RowReader
    progress : Progress
    """
    table = reader.table
    mapped = isinstance(table, ArrayTable) and isinstance(as_slice(reader.features), slice)
    index, X, codes = [], [], []
    title = f"Reading {table.label}"
    for rows in progress.count(reader, title, lambda rows: len(rows.numbers)):
        index.append(rows.numbers)
        codes.append(rows.codes)
        if not mapped or reader.n_skipped:
            X.append(rows.X)
    if not codes or not sum(map(len, codes)):
        raise ValueError(f"{table.label} has no rows.")
    y = reader.labels.values()[np.concatenate(codes)]
    if mapped and not reader.n_skipped:
        return InMemory(np.arange(len(y)), table.array[:, as_slice(reader.features)], y)
    return InMemory(np.concatenate(index), np.concatenate(X), y)
