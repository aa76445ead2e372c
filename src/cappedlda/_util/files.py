"""Files: written whole or not at all; .npy, .npz and Parquet opened, and never unpickled."""

import errno
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import numpy as np

# What the system says when a file cannot grow; it does not say which file.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

PARQUET_BUFFER = 1 << 20  # bytes of a column that are read at a time

OTHER = "it is damaged, or is not a file of plain arrays"


@contextmanager
def replacing(path):
    """Give a name to write to; what is written takes the place of the file if all goes well.

    If anything goes wrong, an older file of that name stays as it was. A link is followed, so
    that it stays a link. What is not a file, for example a device, is written to directly.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        yield target
        return
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield temporary
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except OSError as error:
        if error.errno in FULL or error.filename in (temporary, str(temporary)):
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


class ArrayFileError(ValueError):
    """A damaged file of NumPy, or, if it is `foreign`, one that is no file of plain arrays."""

    def __init__(self, path, reason, foreign=False):
        super().__init__(f"{path} cannot be read: {'' if foreign else 'it is damaged: '}{reason}.")
        self.reason = reason
        self.foreign = foreign


def read_npz(path, names=None, check=None):
    """Return arrays of an .npz file, all or some; `check` may first refuse its `ZipFile`."""
    with _opened_npz(path) as archive:
        if check is not None:
            check(archive.zip)
        wanted = archive.files if names is None else [n for n in names if n in archive.files]
        arrays = {name: archive[name] for name in wanted}
        if not all(isinstance(array, np.ndarray) for array in arrays.values()):
            raise ArrayFileError(path, "it is not an archive of arrays alone", foreign=True)
        return arrays


def npz_names(path):
    with _opened_npz(path) as archive:
        return archive.files


def map_npy(path):
    with _named(path):
        return _of_kind(path, np.load(path, mmap_mode="r", allow_pickle=False), np.ndarray)


@contextmanager
def _opened_npz(path):
    # NumPy would leave a damaged file open.
    with open(path, "rb") as file, _named(path):
        found = np.load(file, allow_pickle=False)
        with _of_kind(path, found, np.lib.npyio.NpzFile) as archive:
            yield archive


def _of_kind(path, found, kind):
    if not isinstance(found, kind):
        raise ArrayFileError(path, OTHER, foreign=True)
    return found


@contextmanager
def _named(path):
    """Turn whatever is wrong with a file into an error that names it."""
    try:
        yield
    except (ArrayFileError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    # What zip, zlib and NumPy raise for a damaged file is no fixed list.
    except Exception as error:
        if "pickle" in str(error):  # what NumPy advises, and nobody should do
            raise ArrayFileError(path, OTHER, foreign=True) from None
        reason = " ".join(str(error).split()) or "it ends too early"
        raise ArrayFileError(path, reason.rstrip(".")) from error


def open_parquet(path):
    """Return a `ParquetFile` that reads small buffers: row groups may be a million rows."""
    from pyarrow import lib, parquet

    try:
        return parquet.ParquetFile(path, pre_buffer=False, buffer_size=PARQUET_BUFFER)
    except lib.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{path} cannot be read as Parquet: {reason}") from None


def arrow_to_numpy(column):
    """Return a column of Arrow as an array of NumPy; categories become their values."""
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    return column.to_numpy(zero_copy_only=False)
