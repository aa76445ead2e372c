"""Rows that come in chunks, from a function that gives them anew for each pass.

Chunks are cut again into the slabs of `ArrayRows`, so that the result does not depend on
how they were cut, bit for bit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import _get_feature_names, column_or_1d

from cappedlda._inputs import float_type
from cappedlda._rows import ArrayRows, Rows, added_up, first_not_finite, rows_of_ranks, slab_rows
from cappedlda._threads import ordered_map
from cappedlda._validation import check_class_weights, check_classes, known_codes

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, with bits everywhere


class Chunk(NamedTuple):
    """A chunk of rows, as a source may give it; a tuple of the first two or three will do.

    Attributes
    ----------
    X : array-like of shape (rows, n_features)
    y : array-like of shape (rows,)
    sample_weight : array-like of shape (rows,) or None
    name : str or None
        What errors call it, for example the name of its file.
    """

    X: Any
    y: Any
    sample_weight: Any = None
    name: str | None = None


class ChunkReader:
    """Reads chunks, and checks each against the first.

    Parameters
    ----------
    make_chunks : callable
        Returns a fresh iterable of chunks.

    Attributes
    ----------
    example : array-like of shape (0 or 1, n)
        Begin of the first chunk, for its features.
    dtype : dtype
        In which the rows are worked with.
    """

    def __init__(self, make_chunks):
        if not isinstance(make_chunks, Callable):
            raise TypeError(
                f"make_chunks is a {type(make_chunks).__name__}; give a function that returns an "
                "iterator of (X, y) or (X, y, sample_weight); a list of chunks is passed as "
                "`lambda: chunks`."
            )
        self._make_chunks = make_chunks
        self.example = None

    def __iter__(self):
        """Yield chunks with checked shapes and types, those without rows left out."""
        for number, chunk in enumerate(self._make_chunks()):
            chunk = self._checked(number, chunk)
            if len(chunk.X):
                yield chunk

    def _checked(self, number, chunk):
        if not isinstance(chunk, tuple) or not 2 <= len(chunk) <= 4:
            raise TypeError(
                f"chunk {number} is a {type(chunk).__name__}; give a tuple (X, y) or "
                "(X, y, sample_weight)."
            )
        chunk = Chunk(*chunk)
        name = f"chunk {number}" if chunk.name is None else f"chunk {number} ({chunk.name})"
        X, y = np.asarray(chunk.X), column_or_1d(chunk.y)
        weight = None if chunk.sample_weight is None else column_or_1d(chunk.sample_weight)
        if X.ndim != 2:
            raise ValueError(f"X of {name} has {X.ndim} dimensions; give rows and columns.")
        for what, length in (("y", y), ("sample_weight", weight)):
            if length is not None and len(length) != len(X):
                raise ValueError(f"{what} of {name} has {len(length)} entries for {len(X)} rows.")
        self._compare(name, chunk.X, X, y, weight)
        if weight is not None:
            weight = weight.astype(np.float64)
            if not np.all((weight >= 0.0) & (weight < np.inf)):
                raise ValueError(f"sample_weight of {name} has negative or infinite entries.")
        return Chunk(X, y, weight, name)

    def _compare(self, name, source, X, y, weight):
        """Take the first chunk for the example, and check that others are like it."""
        kinds = {
            "n_features": X.shape[1],
            "dtype": str(X.dtype),
            "feature names": None if (names := _get_feature_names(source)) is None else [*names],
            "type of y": {"i": "integers", "u": "integers", "f": "numbers"}.get(y.dtype.kind, "O"),
            "sample_weight": "none" if weight is None else "given",
        }
        if self.example is None:
            if X.shape[1] == 0:
                raise ValueError(f"X of {name} has no features; a fit needs at least 1.")
            self.dtype = float_type(X.dtype, f"X of {name}")
            self.example = source[:1] if hasattr(source, "shape") else X[:1]
            self._kinds = kinds
        for what, kind in kinds.items():
            if kind != self._kinds[what]:
                raise ValueError(
                    f"{name} has {what} {kind}, but the first one has {self._kinds[what]}; "
                    "make all chunks alike."
                )


@dataclass
class Tally:
    """What rows are recognised by: for each class their number and a checksum; additive."""

    counts: np.ndarray
    checksums: np.ndarray

    @classmethod
    def of(cls, X, codes, sample_weight, n_classes):
        """Return the tally of a C-ordered block of rows."""
        bits = X.view(np.uint64 if X.dtype == np.float64 else np.uint32)
        sums = bits.sum(axis=1, dtype=np.uint64)
        if sample_weight is not None:
            sums += sample_weight.view(np.uint64) * MULTIPLIER
        checksums = np.zeros(n_classes, np.uint64)
        np.add.at(checksums, codes, sums)
        return cls(np.bincount(codes, minlength=n_classes), checksums)

    def __iadd__(self, other):
        self.counts += other.counts
        self.checksums += other.checksums
        return self


class ChunkRows(Rows):
    """Rows that come in chunks.

    Parameters
    ----------
    make_chunks : callable
        Returns a fresh iterable of chunks for each pass.
    classes : array-like, optional
        All labels there are; another one is an error. None takes those of a first pass.
    n_jobs : int
        Threads.

    Attributes
    ----------
    classes : ndarray of shape (c,)
    example : array-like
        Begin of the first chunk.
    """

    def __init__(self, make_chunks, classes=None, n_jobs=1):
        self._reader = ChunkReader(make_chunks)
        self.n_jobs = n_jobs
        self._survey(None if classes is None else np.unique(classes))
        self.n_classes = len(self.classes)
        self.shape = (int(self._tally.counts.sum()), self.example.shape[1])
        self.dtype = self._reader.dtype

    @property
    def example(self):
        """Begin of the first chunk."""
        return self._reader.example

    def _survey(self, known):
        """Read all rows once, for the classes, their weights, and the checks."""
        seen, new_labels = {}, []
        for chunk in self._reader:
            _check_values(chunk)
            labels, codes = np.unique(chunk.y, return_inverse=True)
            if known is not None:
                known_codes(labels, known, f"y of {chunk.name}")
            new_labels.append(labels[[label not in seen for label in labels]])
            X, weight = np.ascontiguousarray(chunk.X, self._reader.dtype), chunk.sample_weight
            tally = Tally.of(X, codes, weight, len(labels))
            drawable = codes if weight is None else codes[weight > 0.0]
            columns = (
                tally.counts,
                tally.checksums,
                np.bincount(drawable, minlength=len(labels)),
                np.bincount(codes, weight, len(labels)),
            )
            for label, *row in zip(labels, *(column.tolist() for column in columns), strict=True):
                seen[label] = [a + b for a, b in zip(row, seen.get(label, [0] * 4), strict=True)]
        if not seen:
            raise ValueError("make_chunks() gave no rows; give rows of two or more classes.")
        self.classes = np.unique(np.concatenate(new_labels))
        if known is not None and len(known) > len(seen):
            missing = np.setdiff1d(known, self.classes).tolist()
            raise ValueError(f"classes={known.tolist()} has {missing}, of which there is no row.")
        check_classes(self.classes)
        counts, checksums, drawable, weights = zip(*(seen[i] for i in self.classes), strict=True)
        checksums = np.array([checksum % 2**64 for checksum in checksums], np.uint64)
        self._tally = Tally(np.array(counts), checksums)
        self.class_counts, self.class_weights = np.array(drawable), np.array(weights, float)
        check_class_weights(self.class_weights, self.classes)

    def _slabs(self):
        """Yield X, codes and weights of slabs, as `ArrayRows` would cut them."""
        n = self.shape[1]
        step = slab_rows(n)
        slab, filled = None, 0
        for chunk in self._reader:
            codes, start = known_codes(chunk.y, self.classes, f"y of {chunk.name}"), 0
            while start < len(codes):
                if slab is None:  # always a copy: a source may use its memory again
                    weight = None if chunk.sample_weight is None else np.empty(step)
                    slab = np.empty((step, n), self.dtype), np.empty(step, np.int32), weight
                some = min(step - filled, len(codes) - start)
                for part, values in zip(slab, (chunk.X, codes, chunk.sample_weight), strict=True):
                    if part is not None:
                        part[filled : filled + some] = values[start : start + some]
                filled, start = filled + some, start + some
                if filled == step:
                    yield slab
                    slab, filled = None, 0
        if filled:
            yield tuple(None if part is None else part[:filled] for part in slab)

    def _results(self, job):
        """Yield what a job returns for each slab, and check the rows at the end."""

        def run_slab(slab):
            return job(*slab), Tally.of(*slab, self.n_classes)

        total = Tally(np.zeros_like(self._tally.counts), np.zeros_like(self._tally.checksums))
        for result, tally in ordered_map(run_slab, self._slabs(), self.n_jobs):
            total += tally
            yield result
        for what, now, before in (
            ("number", total.counts, self._tally.counts),
            ("checksum", total.checksums, self._tally.checksums),
        ):
            if not np.array_equal(now, before):
                i = int(np.argmax(now != before))
                raise ValueError(
                    f"make_chunks() gives other rows than in the first pass: the {what} of those "
                    f"of class {self.classes[i]} is {now[i]}, and was {before[i]}; it must give "
                    "the same rows each time."
                )

    def reduce(self, job):
        """Return the sum of what a job returns for each slab."""
        return added_up(self._results(job))

    def pick(self, ranks):
        """Return some rows in memory; see `Rows`."""
        seen = np.zeros(self.n_classes, int)
        parts = []
        for X, codes, weight in self._results(lambda *slab: slab):
            drawable = np.arange(len(X)) if weight is None else np.flatnonzero(weight > 0.0)
            counts = np.bincount(codes[drawable], minlength=self.n_classes)
            here = [
                r[(r >= a) & (r < b)] - a
                for r, a, b in zip(ranks, seen, seen + counts, strict=True)
            ]
            seen += counts
            chosen = drawable[rows_of_ranks(codes[drawable], here)]
            parts.append((X[chosen], codes[chosen], None if weight is None else weight[chosen]))
        return self._joined(parts)

    def load(self):
        """Return all rows in memory."""
        return self._joined(self._results(lambda *slab: slab))

    def _joined(self, parts):
        X, codes, weight = zip(*parts, strict=True)
        weight = None if weight[0] is None else np.concatenate(weight)
        return ArrayRows(
            np.concatenate(X), np.concatenate(codes), self.n_classes, weight, self.n_jobs
        )


def _check_values(chunk):
    """Check the numbers and labels of a chunk."""
    bad = None if chunk.X.dtype.kind in "iub" else first_not_finite(chunk.X)
    if bad is not None:
        raise ValueError(
            f"X of {chunk.name} contains NaN or infinity, first in its row {bad}; remove or "
            "impute such rows."
        )
    if chunk.y.dtype.kind == "f" and not np.array_equal(chunk.y, np.round(chunk.y)):
        raise ValueError(f"y of {chunk.name} has numbers that are no labels; give classes.")
