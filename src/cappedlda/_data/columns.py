"""Rows that are stored column by column, as Arrow does it."""

import numpy as np

from cappedlda._kernels import selection
from cappedlda._util.files import arrow_to_numpy
from cappedlda._validation import FLOATS


class Columns:
    """Rows in columns, of which slices are copied to where C-ordered rows are needed.

    The frame is a `pyarrow.Table` of shape (0 or 1, n), for the names of the columns.
    """

    ndim = 2

    def __init__(self, frame, columns, n_rows):
        self.frame = frame
        self.shape = (n_rows, len(columns))
        self.dtype = np.result_type(*columns) if columns else np.dtype(float)
        self._columns, self._first = columns, 0  # the first row
        self._alike = all(
            column.dtype == self.dtype and column.flags.c_contiguous for column in columns
        )

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
        start, stop, step = rows.indices(len(self))
        if step != 1:
            raise ValueError(f"rows are in slices without a step, not in {rows}.")
        some = object.__new__(Columns)
        vars(some).update(vars(self), shape=(max(stop - start, 0), self.shape[1]))
        some._first += start
        return some

    def copy_to(self, out):
        """Copy the rows to a C-ordered array of shape (rows, n), float32 or float64."""
        columns, first = self._columns, self._first
        if not (self._alike and self.dtype == out.dtype):
            rows, first = slice(first, first + len(self)), 0
            columns = [np.ascontiguousarray(column[rows], out.dtype) for column in columns]
        selection.copy_columns(columns, first, out)

    def __array__(self, dtype=None, copy=None):
        """Return the rows as a C-ordered array."""
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        rows = np.empty(self.shape, dtype)
        if rows.size and dtype in FLOATS:
            self.copy_to(rows)
        elif rows.size:
            for k, column in enumerate(self._columns):
                rows[:, k] = column[self._first : self._first + len(self)]
        return rows


def copy_rows(X, out):
    """Copy rows, in columns or not, to a C-ordered array of shape (rows, n), n > 0."""
    if isinstance(X, Columns):
        X.copy_to(out)
    else:
        out[...] = X
