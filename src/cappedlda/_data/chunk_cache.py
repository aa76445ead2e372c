"""A cache of chunks: rows are read from their source once, then from files without a name."""

import os
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile, gettempdir

import numpy as np

from cappedlda._data.base import first_not_finite, slices_of
from cappedlda._data.chunk_reader import Chunk, labels_and_codes
from cappedlda._util.files import FULL

SLABS = 8  # of a chunk of a mapped file, most of which are then read where they are


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


def kept_in_files(reader, folder, regime):
    """Read all chunks of a reader once, and return a source of the same rows.

    The system removes its files at the end of the process, at the latest.
    """
    codes_of, labels, n_rows, weight = {}, [], 0, None
    with ExitStack() as stack:
        # Without a buffer: what is in one when the disk is full is written again at the end.
        files = [stack.enter_context(TemporaryFile(dir=folder, buffering=0)) for _ in range(3)]
        for chunk in reader:
            X = np.ascontiguousarray(chunk.X, reader.dtype)
            bad, weight = first_not_finite(X), chunk.sample_weight
            if bad is not None:
                raise reader.not_finite(chunk.name, bad, X[bad])
            here, codes = labels_and_codes(chunk)
            labels.append(here[[label not in codes_of for label in here]])
            known = [codes_of.setdefault(label, len(codes_of)) for label in here]
            columns = X, np.array(known, np.int32)[codes], weight
            for file, values in zip(files, columns, strict=True):
                if values is not None:
                    write(file, values, folder)
            n_rows += len(X)
        if n_rows == 0:
            return list
        types = (reader.dtype, X.shape[1:]), (np.int32, ()), (np.float64, ())
        maps = [
            np.memmap(file, dtype, "r", shape=(n_rows, *width))
            for file, (dtype, width) in zip(files[: 2 + (weight is not None)], types, strict=False)
        ]
    labels, step = np.concatenate(labels), SLABS * regime.slab_rows(X.shape[1])

    def chunks():
        for rows in slices_of(n_rows, step):
            X, codes, *weight = (part[rows] for part in maps)
            yield Chunk(X, labels[codes], *weight)

    return chunks


def write(file, values, folder):
    """Write numbers; an error says what to do about a full disk."""
    left = memoryview(values).cast("B")
    try:
        while left:
            left = left[file.write(left) :]
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise OSError(
            error.errno,
            f"{os.strerror(error.errno)}: the rows of make_chunks() do not fit into a cache "
            f"in {folder}; name a folder with more room, cache=FOLDER, or use cache=False",
        ) from error
