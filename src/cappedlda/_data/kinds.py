"""What kind of input X is, and the rows that a fit makes of it."""

import threading
from contextlib import nullcontext

import numpy as np
from scipy import sparse

from cappedlda._data.array import ArrayRows, check_file
from cappedlda._data.base import slices_of
from cappedlda._data.sparse import SparseRows, canonical, check_entries
from cappedlda._regime import REGIME
from cappedlda._validation import (
    FLOATS,
    check_enough_rows,
    check_labels,
    check_readable,
    check_structure,
    check_training_data,
    check_weights,
    columns_of,
)


def kind_of(X):
    """Return what X is: "array", "frame", "sparse", "sliced", "dask" or "spark".

    A "frame" is in memory, "sliced" is read from where it is by slices of rows, and "array" is
    whatever NumPy makes an array of. What has no rows to read is an error.
    """
    if type(X) is np.ndarray:
        return "array"
    if library_of(X) == "pyspark":
        return "spark"
    if is_dask(X):
        return "dask"
    check_readable(X, "X")
    if sparse.issparse(X):
        return "sparse"
    if is_read_by_slices(X):
        return "sliced"
    return "frame" if hasattr(X, "columns") else "array"


def library_of(X):
    """Return the name of the library that made X, which need not be imported for that."""
    return type(X).__module__.partition(".")[0]


def is_dask(X):
    return library_of(X) == "dask"


def is_dask_frame(X):
    return is_dask(X) and hasattr(X, "to_dask_array") and hasattr(X, "columns")


def is_read_by_slices(X):
    """Return whether X is an array that is not in memory as numbers of floating point.

    That is all with a shape, a NumPy dtype and slices of rows, as datasets of h5py and zarr have,
    and memory maps of other numbers, which would be converted as a whole.
    """
    if isinstance(X, np.ndarray):
        return isinstance(X, np.memmap) and X.ndim == 2 and X.dtype not in FLOATS
    return (
        isinstance(getattr(X, "dtype", None), np.dtype)
        and len(getattr(X, "shape", ())) == 2
        and hasattr(X, "__getitem__")
        and not hasattr(X, "iloc")  # a frame is sliced by names
        and not sparse.issparse(X)
    )


def index_of(X):
    """Return the names of the rows of a frame that has some, or None."""
    return X.index if hasattr(X, "iloc") else None


def is_polars(X):
    return library_of(X) == "polars"


def training_rows(estimator, X, y, sample_weight, n_jobs, regime=REGIME):
    """Return checked rows and the sorted classes, for whatever X is.

    Numbers that are not finite are found by `check_finite`, or the first pass of a robust fit.
    """
    kind = kind_of(X)
    if kind == "dask":
        from cappedlda._data import dask as dask_rows

        return dask_rows.rows_from_dask(X, y, sample_weight, regime)
    if kind == "spark":
        from cappedlda._data import spark as spark_rows

        return spark_rows.rows_from_spark(X, y, sample_weight, regime)
    names = [name for name, _ in columns_of(X)] if kind == "frame" else None
    if kind == "sliced":
        X = SlicedArray(X, regime)
        check_shape(X.shape)
        codes, classes = check_labels(estimator, y, X)
    else:
        check_file(X)
        if kind == "sparse":
            check_structure(X)
        X, codes, classes = check_training_data(estimator, X, y, "csr", finite=False)
        if kind == "sparse":
            check_entries(X)
    weights = check_weights(sample_weight, X, codes, classes)
    rows = rows_of(X, codes, len(classes), weights, n_jobs, regime)
    rows.feature_names, rows.class_names = names, classes
    check_enough_rows(rows.class_weights)
    return rows, classes


def rows_of(X, codes, n_classes, sample_weight=None, n_jobs=1, regime=REGIME):
    kind = ArrayRows
    if sparse.issparse(X):
        X, many = canonical(X), X.shape[1] > regime.most_dense_features
        kind, X = (SparseRows, X) if many else (ArrayRows, SlicedArray(X, regime))
    return kind(X, codes, n_classes, sample_weight, n_jobs, regime)


def check_shape(shape):
    for size, least, what in zip(shape, (2, 1), ("rows", "features"), strict=True):
        if size < least:
            raise ValueError(f"X has {size} {what}; a fit needs at least {least}.")


def blocks_of(X, y=None, regime=REGIME):
    """Yield the slabs of an array that is read by slices, and the labels of their rows."""
    X = SlicedArray(X, regime)
    if y is not None and len(y) != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows and y has {len(y)}; give one label per row.")
    for rows in slices_of(X.shape[0], regime.slab_rows(max(X.shape[1], 1))):
        yield X[rows], None if y is None else y[rows]


def float_type(dtype, name="X"):
    if dtype.kind not in "fiub":
        raise TypeError(f"{name} has the type {dtype}; give real numbers.")
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


class SlicedArray:
    """An array or CSR matrix that is read by slices of rows, as C-ordered floating point."""

    def __init__(self, source, regime=REGIME):
        self._source = source  # (N, n), with `shape`, `dtype` and slices of rows
        self._regime = regime
        self.shape = tuple(source.shape)
        self.dtype = float_type(source.dtype)
        # Readers of files need not be safe for threads; memory maps are.
        self._lock = nullcontext() if isinstance(source, np.ndarray) else threading.Lock()

    def __matmul__(self, other):
        return self._source @ other

    def __getitem__(self, rows):
        """Return rows: those of a slice, or those that an array of indices chooses."""
        if sparse.issparse(self._source):
            return self._source[rows].toarray()
        if isinstance(rows, slice):
            check_file(self._source)
            with self._lock:
                return np.ascontiguousarray(self._source[rows], dtype=self.dtype)
        rows = np.arange(self.shape[0])[rows]
        chosen = np.empty((len(rows), self.shape[1]), self.dtype)
        order = np.argsort(rows, kind="stable")
        step = self._regime.slab_rows(self.shape[1])
        slabs, starts = np.unique(rows[order] // step, return_index=True)
        for slab, here in zip(slabs, np.split(order, starts[1:]), strict=True):
            chosen[here] = self[slab * step : (slab + 1) * step][rows[here] - slab * step]
        return chosen
