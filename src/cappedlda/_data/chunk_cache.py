"""A cache of chunks: rows are read from their source once, and then from a file of their own."""

import os
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile, gettempdir

import numpy as np

from cappedlda._data.base import first_not_finite, slices_of
from cappedlda._data.chunk_reader import Chunk, ChunkReader, labels_and_codes
from cappedlda._data.columns import copy_rows
from cappedlda._regime import REGIME
from cappedlda._util.files import FULL
from cappedlda._validation import known_codes

SLABS = 8  # of a chunk, which are then read where they are
PIECE_BYTES = 1 << 19  # of rows that are written at a time, and stay in L2 meanwhile


def cache_folder(cache):
    """Return the folder for a cache, None for no cache; see `CappedLDA.fit_chunks`."""
    if cache is False:
        return None
    if cache is True:
        return Path(gettempdir())
    if not isinstance(cache, str | os.PathLike):
        raise TypeError(f"cache={cache!r} must be True, False or the name of a folder.")
    if not Path(cache).is_dir():
        raise ValueError(f"cache={str(cache)!r} is not a folder; make it, or use cache=True.")
    return Path(cache)


class CachedReader(ChunkReader):
    """Reads chunks from their source the first time, and then what it has kept of them.

    The files have no name: the system removes them with the reader, or with the process,
    however that ends. Their folder has room for all rows.
    """

    def __init__(self, make_chunks, folder, regime=REGIME):
        super().__init__(make_chunks)
        self._folder = folder
        self._regime = regime
        self._kept = None  # maps of the rows, their codes and their weights
        self._labels = None  # what the codes stand for

    def labels(self):
        """Yield whole chunks: the first time they are kept."""
        return iter(self)

    def __iter__(self):
        """Yield chunks with checked shapes and types."""
        return self._read() if self._kept is None else self._read_kept()

    def codes(self, chunk, classes):
        """Return the codes of the labels of a chunk that was kept, which has codes of its own."""
        return known_codes(self._labels, classes)[chunk.y]

    def _read(self):
        """Yield the chunks of the source, and keep them if they are read to the end."""
        codes_of, labels, n_rows = {}, [], 0
        with ExitStack() as files:
            X, codes, weights = (self._file(files) for _ in range(3))
            for chunk in super().__iter__():
                self._write_rows(X, chunk)
                here, codes_here = labels_and_codes(chunk)
                labels.append(here[[label not in codes_of for label in here]])
                known = [codes_of.setdefault(label, len(codes_of)) for label in here]
                self._write(codes, np.array(known)[codes_here], np.int32)
                if chunk.sample_weight is not None:
                    self._write(weights, chunk.sample_weight, np.float64)
                n_rows += len(chunk.y)
                yield chunk
            if n_rows:
                self._labels = np.concatenate(labels)
                shape, weighted = (n_rows, self.example.shape[1]), chunk.sample_weight is not None
                self._kept = (
                    np.memmap(X, self.dtype, "r", shape=shape),
                    np.memmap(codes, np.int32, "r", shape=n_rows),
                    np.memmap(weights, np.float64, "r", shape=n_rows) if weighted else None,
                )

    def _read_kept(self):
        """Yield what was kept, in chunks of whole slabs, with codes for labels."""
        X, codes, weights = self._kept
        step = SLABS * self._regime.slab_rows(X.shape[1])
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            weight = None if weights is None else weights[rows]
            name = f"cached rows from {start}"
            yield Chunk(X[rows], codes[rows], weight, name)

    def _write_rows(self, file, chunk):
        """Check the numbers of a chunk, and write them piece by piece."""
        n_features = chunk.X.shape[1]
        step = max(1, PIECE_BYTES // (n_features * self.dtype.itemsize))
        memory = np.empty((step, n_features), self.dtype)
        for piece in slices_of(len(chunk.X), step):
            rows = memory[: piece.stop - piece.start]
            copy_rows(chunk.X[piece], rows)
            bad = first_not_finite(rows)
            if bad is not None:
                raise self.not_finite(chunk.name, piece.start + bad, rows[bad])
            self._write(file, rows, self.dtype)

    def _file(self, files):
        # Without a buffer: what is in one when the disk is full is written again at the end.
        return files.enter_context(TemporaryFile(dir=self._folder, buffering=0))

    def _write(self, file, values, dtype):
        """Write numbers; a disk that is full is an error that says what to do."""
        left = memoryview(np.ascontiguousarray(values, dtype)).cast("B")
        try:
            while left:
                left = left[file.write(left) :]
        except OSError as error:
            if error.errno not in FULL:
                raise
            raise OSError(
                error.errno,
                f"{os.strerror(error.errno)}: the rows of make_chunks() do not fit into a cache "
                f"in {self._folder}; name a folder with more room, cache=FOLDER, or use "
                "cache=False",
            ) from error
