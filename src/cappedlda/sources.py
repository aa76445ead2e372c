"""Sources of chunks for `CappedLDA.fit_chunks`: folders of .npy, .npz and Parquet files.

A source is a callable without arguments that returns a fresh iterator of chunks. A fit learns the
classes from its method `read_labels`, which returns chunks without X. Files are read in the order
of their names, and nothing is ever unpickled.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

from cappedlda._data.chunk_cache import SLABS
from cappedlda._data.chunk_reader import Chunk
from cappedlda._data.threads import read_ahead
from cappedlda._regime import REGIME
from cappedlda._util.files import arrow_to_numpy, map_npy, npz_names, open_parquet, read_npz

__all__ = ["Chunk", "NpyFolder", "NpzFolder", "ParquetFolder"]


class _Folder:
    """Chunks that a subclass reads from files."""

    _paths: Any  # () -> files, or groups of files
    _read: Any  # (files, with_X=True) -> iterator of chunks

    def __call__(self) -> Iterator[Chunk]:
        """Return an iterator of chunks."""
        return self._read(self._paths())

    def read_labels(self) -> Iterator[Chunk]:
        """Return an iterator of chunks without X, reading only the labels."""
        return self._read(self._paths(), with_X=False)


@dataclass(frozen=True)
class NpyFolder(_Folder):
    """Chunks from pairs of .npy files, one with rows and one with their labels.

    The files are mapped, not loaded, so each may be larger than memory.

    Parameters
    ----------
    folder : str or path-like
    X, y : str, default ``"X*.npy"``, ``"y*.npy"``
        Patterns of the file names. Files are paired in the order of their names.
    sample_weight : str, default=None
        Pattern of the files of weights, if there are any.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.sources import NpyFolder
    >>> X, y = load_wine(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as name:
    ...     for part, rows in enumerate(np.array_split(np.arange(len(y)), 3)):
    ...         np.save(Path(name) / f"X{part}.npy", X[rows])
    ...         np.save(Path(name) / f"y{part}.npy", y[rows])
    ...     lda = CappedLDA().fit_chunks(NpyFolder(name))
    >>> lda.scalings_.shape
    (13, 2)
    """

    folder: str | PathLike[str]
    X: str = "X*.npy"
    y: str = "y*.npy"
    sample_weight: str | None = None

    def _paths(self):
        """Return the files that belong together."""
        patterns = _given(self.X, self.y, self.sample_weight)
        files = [_files(self.folder, pattern) for pattern in patterns]
        if len({len(some) for some in files}) > 1:
            found = ", ".join(f"{len(f)} {p}" for f, p in zip(files, patterns, strict=True))
            raise ValueError(f"The folder {self.folder} has {found}; give as many of each.")
        return list(zip(*files, strict=True))

    @staticmethod
    def _read(files, with_X=True):
        for paths in files:
            if not with_X:
                yield Chunk(None, *map(_mapped, paths[1:]))._replace(name=paths[1].name)
                continue
            arrays = [_mapped(path) for path in paths]
            n_rows, name = len(arrays[0]), paths[0].name
            if any(len(array) != n_rows for array in arrays):
                found = ", ".join(f"{p.name} {len(a)}" for p, a in zip(paths, arrays, strict=True))
                raise ValueError(f"Files that belong together differ in their rows: {found}.")
            step = SLABS * REGIME.slab_rows(arrays[0].shape[1]) if arrays[0].ndim == 2 else n_rows
            for start in range(0, n_rows, step):
                X, y, *weight = (array[start : start + step] for array in arrays)
                yield Chunk(X, y, *(weight or [None]), f"{name}, from row {start}")


@dataclass(frozen=True)
class NpzFolder(_Folder):
    """Chunks from .npz files, each with rows and their labels, loaded one file at a time.

    Parameters
    ----------
    folder : str or path-like
    X, y : str, default="X", "y"
        Names of the arrays in each file.
    sample_weight : str, default=None
        Name of the array of weights, if there is one.
    pattern : str, default ``"*.npz"``
        Pattern of the file names.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.sources import NpzFolder
    >>> X, y = load_wine(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as name:
    ...     np.savez(f"{name}/part0.npz", X=X[::2], y=y[::2])
    ...     np.savez(f"{name}/part1.npz", X=X[1::2], y=y[1::2])
    ...     lda = CappedLDA().fit_chunks(NpzFolder(name))
    >>> lda.scalings_.shape
    (13, 2)
    """

    folder: str | PathLike[str]
    X: str = "X"
    y: str = "y"
    sample_weight: str | None = None
    pattern: str = "*.npz"

    def _paths(self):
        return _files(self.folder, self.pattern)

    def _read(self, paths, with_X=True):
        keys = _given(self.y, self.sample_weight, self.X if with_X else None)
        return (self._load(path, keys) for path in paths)

    def _load(self, path, keys):
        arrays = read_npz(path, keys)
        if missing := [key for key in keys if key not in arrays]:
            raise ValueError(f"{path} has the arrays {npz_names(path)}, but not {missing}.")
        if self.X in arrays:
            arrays[self.X].flags.writeable = False  # nobody else has it: need not be copied
        return Chunk(*map(arrays.get, (self.X, self.y, self.sample_weight)), path.name)


@dataclass(frozen=True)
class ParquetFolder(_Folder):
    """Chunks from Parquet files, read in batches of rows; needs pyarrow.

    A thread reads two batches ahead. The column names become the feature names.

    Parameters
    ----------
    path : str or path-like
        A file, or a folder of files.
    target : str
        Column of the labels.
    features : sequence of str, default=None
        Columns of the features; None takes all others.
    sample_weight : str, default=None
        Column of weights, if there is one.
    batch_rows : int, default=65536
        Largest number of rows of a chunk.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.sources import ParquetFolder
    >>> frame = load_wine(as_frame=True).frame
    >>> with tempfile.TemporaryDirectory() as name:
    ...     frame[:100].to_parquet(f"{name}/part0.parquet")
    ...     frame[100:].to_parquet(f"{name}/part1.parquet")
    ...     lda = CappedLDA().fit_chunks(ParquetFolder(name, "target"))
    >>> lda.scalings_.shape
    (13, 2)
    """

    path: str | PathLike[str]
    target: str
    features: Sequence[str] | None = None
    sample_weight: str | None = None
    batch_rows: int = 65536

    def __call__(self) -> Iterator[Chunk]:
        """Return an iterator of chunks."""
        return read_ahead(super().__call__())

    def _paths(self):
        if find_spec("pyarrow") is None:
            raise ImportError("ParquetFolder needs pyarrow; pip install pyarrow.")
        path = Path(self.path)
        return [path] if path.is_file() else _files(path, "*.parquet")

    def _read(self, paths, with_X=True):
        from pyarrow import Table

        others = _given(self.target, self.sample_weight)
        for path in paths:
            with open_parquet(path) as file:
                names = self._features(path, file.schema_arrow.names)
                columns = [*names, *others] if with_X else others
                batches = file.iter_batches(self.batch_rows, columns=columns)
                for number, batch in enumerate(batches):
                    X = Table.from_batches([batch.select(names)]) if with_X else None
                    y, *weight = (arrow_to_numpy(batch.column(column)) for column in others)
                    yield Chunk(X, y, *(weight or [None]), f"{path.name}, batch {number}")

    def _features(self, path, names):
        wanted = _given(self.target, *(self.features or []), self.sample_weight)
        if missing := [name for name in wanted if name not in names]:
            raise ValueError(f"The file {path} has the columns {names}, but not {missing}.")
        if self.features is not None:
            return list(self.features)
        return [name for name in names if name not in (self.target, self.sample_weight)]


def _given(*names):
    return [name for name in names if name is not None]


def _files(folder, pattern):
    paths = sorted(Path(folder).glob(pattern))
    if not paths:
        raise FileNotFoundError(f"The folder {folder} has no file {pattern}.")
    return paths


def _mapped(path):
    array = map_npy(path)
    if array.ndim == 0:
        raise ValueError(f"The file {path} holds a single number; give an array of rows.")
    return array
