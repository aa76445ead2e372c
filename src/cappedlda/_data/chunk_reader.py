"""Chunks of rows as a source gives them, each checked against the first."""

from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import _get_feature_names, column_or_1d

from cappedlda._data.kinds import float_type
from cappedlda._validation import (
    check_readable,
    check_text,
    encode,
    not_finite,
    refuse_missing_labels,
)


class Chunk(NamedTuple):
    """A chunk of rows, as a source may give it; a tuple of the first two or three will do."""

    X: Any
    y: Any
    sample_weight: Any = None
    name: str | None = None  # what errors call it, for example the name of its file


class ChunkReader:
    """Reads chunks, and checks each against the first.

    They come from `make_chunks`, which returns a fresh iterable of chunks. It may have a method
    `read_labels`, which returns an iterable of the same chunks with None for X.
    """

    def __init__(self, make_chunks):
        if not isinstance(make_chunks, Callable):
            raise TypeError(
                f"make_chunks is a {type(make_chunks).__name__}; give a function that returns an "
                "iterator of (X, y) or (X, y, sample_weight); a list of chunks is passed as "
                "`lambda: chunks`."
            )
        self._make_chunks = make_chunks
        self._first = {}  # what is known of the first chunk
        self.example = None  # begin of the first chunk, (0 or 1, n), for its features

    def __iter__(self):
        """Yield chunks with checked shapes and types, those without rows left out."""
        for number, chunk in enumerate(self._make_chunks()):
            chunk = self._checked(number, chunk)
            if len(chunk.X):
                yield chunk

    def labels(self):
        """Yield chunks whose labels and weights are checked, without X if the source can."""
        read = getattr(self._make_chunks, "read_labels", None)
        if read is None:
            yield from self
            return
        for number, chunk in enumerate(read()):
            chunk = self._checked_labels(_as_chunk(number, chunk))
            if len(chunk.y):
                yield chunk
        if self.example is None:
            with closing(iter(self)) as chunks:  # a source may have begun to read more
                next(chunks, None)

    def not_finite(self, name, row, values):
        names = self._first.get("feature names")
        return not_finite(values, f"its row {row}", names, f"X of {name}")

    def _checked(self, number, chunk):
        chunk = _as_chunk(number, chunk)
        source, name = chunk.X, chunk.name
        check_readable(source, f"X of {name}")
        if self.example is None:
            check_text(source)
        X = np.asarray(source)
        if X.ndim != 2:
            raise ValueError(f"X of {name} has {X.ndim} dimensions; give rows and columns.")
        chunk = self._checked_labels(chunk._replace(X=X), len(X))
        if self.example is None:
            if X.shape[1] == 0:
                raise ValueError(f"X of {name} has no features; a fit needs at least 1.")
            self.dtype = float_type(X.dtype, f"X of {name}")
            self.example = source[:1] if hasattr(source, "shape") else X[:1]
        names = None if X is source else _get_feature_names(source)
        names = None if names is None else [*names]
        self._compare(
            name, {"n_features": X.shape[1], "dtype": str(X.dtype), "feature names": names}
        )
        return chunk

    def _checked_labels(self, chunk, n_rows=None):
        name = chunk.name
        check_readable(chunk.y, f"y of {name}")
        y, weight = _column(chunk.y), _column(chunk.sample_weight)
        n_rows = len(y) if n_rows is None else n_rows
        for what, length in (("y", y), ("sample_weight", weight)):
            if length is not None and len(length) != n_rows:
                raise ValueError(f"{what} of {name} has {len(length)} entries for {n_rows} rows.")
        kind = {"i": "integers", "u": "integers", "f": "numbers"}.get(y.dtype.kind, "O")
        given = "none" if weight is None else "given"
        self._compare(name, {"type of y": kind, "sample_weight": given})
        refuse_missing_labels(y, f"y of {name}")
        return chunk._replace(y=y, sample_weight=_checked_weight(name, weight))

    def _compare(self, name, kinds):
        """Check that a chunk is like the first one, of which the kinds are kept."""
        for what, kind in kinds.items():
            if kind != self._first.setdefault(what, kind):
                raise ValueError(
                    f"{name} has {what} {kind}, but the first one has {self._first[what]}; "
                    "make all chunks alike."
                )


def _as_chunk(number, chunk):
    """Return what a source has given as a chunk, with the name that errors call it by."""
    if not isinstance(chunk, tuple) or not 2 <= len(chunk) <= len(Chunk._fields):
        raise TypeError(
            f"chunk {number} is a {type(chunk).__name__}; give a tuple (X, y) or "
            "(X, y, sample_weight)."
        )
    chunk = Chunk(*chunk)
    name = f"chunk {number}" if chunk.name is None else f"chunk {number} ({chunk.name})"
    return chunk._replace(name=name)


def _column(values):
    """Return labels or weights, if there are any, as an array of shape (rows,)."""
    if values is None or (isinstance(values, np.ndarray) and values.ndim == 1):
        return values  # what follows takes longer than a pass over a small chunk
    return column_or_1d(np.asarray(values))  # perhaps of another library, such as torch


def _checked_weight(name, weight):
    if weight is None:
        return None
    if weight.dtype.kind not in "fiub":
        raise TypeError(f"sample_weight of {name} has the type {weight.dtype}; give real numbers.")
    weight = np.ascontiguousarray(weight, np.float64)
    if not np.all((weight >= 0.0) & (weight < np.inf)):
        raise ValueError(f"sample_weight of {name} has negative or infinite entries.")
    return weight


def labels_and_codes(chunk):
    if chunk.y.dtype.kind == "f" and not np.array_equal(chunk.y, np.round(chunk.y)):
        raise ValueError(f"y of {chunk.name} has numbers that are not labels; give classes.")
    try:
        return encode(chunk.y)
    except TypeError as error:  # by the sort
        raise ValueError(
            f"y of {chunk.name} has labels of several types, as {chunk.y[0]!r}, which have no "
            "order; make them all words or all integers."
        ) from error
