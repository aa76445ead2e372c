"""Rows that are stored column by column, as Arrow does it."""

import numpy as np

from cappedlda._data.base import slices_of
from cappedlda._files import arrow_to_numpy

# Columns are copied this many numbers at a time, which stay in L2 until all rows are whole.
PIECE_NUMBERS = 1 << 15


class Columns:
    """Rows in columns, of which slices are copied to where C-ordered rows are needed.

    Parameters
    ----------
    frame : pyarrow.Table of shape (0 or 1, n)
        For the names of the columns.
    columns : list of n ndarray of shape (rows,)
    n_rows : int
    """

    ndim = 2

    def __init__(self, frame, columns, n_rows):
        self.frame = frame
        self._columns = columns
        self.shape = (n_rows, len(columns))
        self.dtype = np.result_type(*columns) if columns else np.dtype(float)

    @classmethod
    def of_batch(cls, batch):
        """Return the rows of a `pyarrow.RecordBatch`; its numbers are not copied."""
        import pyarrow as pa

        frame = pa.Table.from_batches([batch.slice(0, 1)])
        return cls(frame, [arrow_to_numpy(column) for column in batch.columns], batch.num_rows)

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, rows):
        """Return some rows, by a slice."""
        n_rows = len(range(*rows.indices(len(self))))
        return Columns(self.frame, [column[rows] for column in self._columns], n_rows)

    def copy_to(self, out):
        """Copy the rows to an array of shape (rows, n)."""
        for rows in slices_of(len(self), max(1, PIECE_NUMBERS // self.shape[1])):
            piece = out[rows]
            for j, column in enumerate(self._columns):
                piece[:, j] = column[rows]

    def __array__(self, dtype=None, copy=None):
        """Return the rows as a C-ordered array."""
        rows = np.empty(self.shape, self.dtype if dtype is None else dtype)
        self.copy_to(rows)
        return rows
