"""Training data: in memory, mapped from a file, or read anew in each pass."""

import numpy as np

from cappedlda._cli.formats import as_slice
from cappedlda._cli.limits import LIMITS

MOST_CLASSES = 0.5  # per row: more of them are not classes
BLOCK_ROWS = 50_000


class InMemory:
    """Rows as arrays, or as an array mapped from a file; `index` has their numbers there."""

    def __init__(self, index, X, y):
        self._index, self.X, self.y = index, X, y
        self.n_rows = len(y)

    def fit(self, model):
        return model.fit(self.X, self.y)

    def blocks(self):
        for start in range(0, self.n_rows, BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            yield self._index[rows], np.asarray(self.X[rows]), self.y[rows]


class Streamed:
    """Rows read from the file in every pass, by a reader that has read them once already."""

    X = None  # not in memory

    def __init__(self, reader, progress):
        self._reader = reader
        self._progress = progress
        self._labels = reader.labels.values()
        self._n_passes = 0
        self.n_rows = reader.n_rows - reader.n_skipped

    def fit(self, model):
        return model.fit_chunks(self._chunks, classes=self._labels)

    def _chunks(self):
        self._n_passes += 1
        title = f"Pass {self._n_passes}"
        for rows in self._progress.count(self._reader, title):
            yield rows.X, self._labels[rows.codes]

    def blocks(self):
        for rows in self._reader:
            yield rows.kept.index, rows.X, self._labels[rows.codes]


def read_training(reader, progress):
    """Read and check all rows, and return them as `InMemory` or `Streamed`."""
    table = reader.table
    columns = None if table.array is None else as_slice(reader.recipe.numbers)
    mapped = isinstance(columns, slice) and reader.recipe.plain and not reader.skip_missing
    blocks, n_bytes = [], 0
    for rows in progress.count(reader, f"Reading {table.label}"):
        n_bytes += 0 if mapped else rows.X.nbytes
        if n_bytes > LIMITS.training_bytes:
            blocks.clear()
        else:
            blocks.append((rows.kept.index, rows.codes, *([] if mapped else [rows.X])))
    check_classes(reader)
    if n_bytes > LIMITS.training_bytes:
        return Streamed(reader, progress)
    numbers, codes, *X = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    X = table.array[:, columns] if mapped else X[0]
    return InMemory(numbers, X, reader.labels.values()[codes])


def check_classes(reader):
    names, n_rows = reader.labels.names(), reader.n_rows - reader.n_skipped
    if len(names) == 1:
        raise reader.label_error(f"there is only one class, {names[0]!r}; give at least two.")
    if len(names) > MOST_CLASSES * n_rows:
        wanted = "give a column with a class for each row, and several rows for each class"
        found = f"there are {len(names)} different labels in {n_rows} rows"
        raise reader.label_error(f"{found}; {wanted}.")
