"""What kind of input X is: asked here, and nowhere else."""

import numpy as np
from scipy import sparse

from cappedlda._validation import FLOATS, check_readable


def kind_of(X):
    """Return what X is: "array", "frame", "sparse", "sliced", "dask" or "spark".

    A "frame" is a table in memory, "sliced" is read from where it is by slices of rows, and
    "array" is whatever NumPy makes an array of. What has no rows to read is an error.
    """
    if type(X) is np.ndarray:
        return "array"
    if is_dask(X):
        return "dask"
    if is_spark(X):
        return "spark"
    check_readable(X, "X")
    if sparse.issparse(X):
        return "sparse"
    if is_read_by_slices(X):
        return "sliced"
    return "frame" if hasattr(X, "columns") else "array"


def is_spark(X):
    """Return whether X is something of pyspark; does not import it."""
    return type(X).__module__.partition(".")[0] == "pyspark"


def is_dask(X):
    """Return whether X is a collection of dask; does not import it."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def is_dask_frame(X):
    """Return whether X is a frame of dask: columns with names, in partitions."""
    return is_dask(X) and hasattr(X, "to_dask_array") and hasattr(X, "columns")


def is_read_by_slices(X):
    """Return whether X is an array that is not in memory as numbers of floating point.

    Such are datasets of h5py and zarr, and all that has a shape, a NumPy dtype and
    slices of rows; and memory maps of other numbers, which would be converted as a whole.
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
    """Return whether X is a frame of polars; does not import it."""
    return type(X).__module__.partition(".")[0] == "polars"
