"""Rows that come in chunks, from a function that gives them anew for each pass.

Chunks are cut again into the slabs of `ArrayRows`, so that the result does not depend on
how they were cut, bit for bit.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import _get_feature_names, column_or_1d

from cappedlda._data.array import ArrayRows, joined
from cappedlda._data.base import Rows, first_not_finite, ranks_among, sum_in_order
from cappedlda._data.factory import check_missing_labels, float_type
from cappedlda._data.jobs import weights_inside
from cappedlda._data.samples import BorderJob
from cappedlda._data.threads import ordered_map
from cappedlda._kernels import checksums
from cappedlda._regime import REGIME
from cappedlda._validation import (
    check_class_weights,
    check_classes,
    encode,
    known_codes,
    weight_unit,
)

# A slab is copied in this number of pieces, so that checksums are made from the cache.
PIECES = 16
# Every pass checks one group of the rows, in turn, the first and the last one all groups.
GROUPS = 4


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
        X, y, weight = np.asarray(chunk.X), _column(chunk.y), _column(chunk.sample_weight)
        if X.ndim != 2:
            raise ValueError(f"X of {name} has {X.ndim} dimensions; give rows and columns.")
        for what, length in (("y", y), ("sample_weight", weight)):
            if length is not None and len(length) != len(X):
                raise ValueError(f"{what} of {name} has {len(length)} entries for {len(X)} rows.")
        self._compare(name, chunk.X, X, y, weight)
        check_missing_labels(y, f"y of {name}")
        if weight is not None:
            if weight.dtype.kind not in "fiub":
                raise TypeError(
                    f"sample_weight of {name} has the type {weight.dtype}; give real numbers."
                )
            weight = np.ascontiguousarray(weight, np.float64)
            if not np.all((weight >= 0.0) & (weight < np.inf)):
                raise ValueError(f"sample_weight of {name} has negative or infinite entries.")
        return Chunk(X, y, weight, name)

    def _compare(self, name, source, X, y, weight):
        """Take the first chunk for the example, and check that others are like it."""
        kinds = {
            "n_features": X.shape[1],
            "dtype": str(X.dtype),
            "feature names": _names(source),
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


def _column(values):
    """Return labels or weights, if there are any, as an array of shape (rows,)."""
    if values is None or (isinstance(values, np.ndarray) and values.ndim == 1):
        return values  # what follows takes longer than a pass over a small chunk
    return column_or_1d(values)


def _names(X):
    names = None if isinstance(X, np.ndarray) else _get_feature_names(X)
    return None if names is None else [*names]


class SourceFingerprint:
    """What rows are recognised by: for each class their number, and checksums.

    The rows fall into groups, each of which has checksums of its own; a pass that has other
    things to do looks at one of the groups only.

    Parameters
    ----------
    n_classes, n_features : int
    group : int
        The one to look at, or -1 for all.
    """

    def __init__(self, n_classes, n_features, group=-1):
        self.counts = np.zeros(n_classes, int)
        self.weights = np.zeros(n_classes, np.uint64)
        self.checksums = np.zeros((GROUPS, n_classes), np.uint64)
        self.group = group
        random = np.random.default_rng(0)  # two factors for numbers of 64 bits
        self._factors = random.integers(1 << 32, size=2 * n_features, dtype=np.uint32) | 1
        self._n_rows = 0

    def add(self, X, codes, sample_weight):
        """Add a C-ordered block of rows."""
        words = X.view(np.uint32)
        weights = np.empty(0) if sample_weight is None else sample_weight
        checksums.add_checksums(
            words,
            self._factors[: words.shape[1]],
            weights.view(np.uint64),
            codes,
            self.checksums,
            self._n_rows,
            self.group,
        )
        self.counts += np.bincount(codes, minlength=len(self.counts))
        self.weights += sums_of_bits(sample_weight, codes, len(self.counts))
        self._n_rows += len(codes)


def sums_of_bits(sample_weight, codes, n_classes):
    """Return checksums of the weights of each class, which do not depend on their order."""
    sums = np.zeros(n_classes, np.uint64)
    if sample_weight is not None:
        np.add.at(sums, codes, sample_weight.view(np.uint64))
    return sums


class Slab(NamedTuple):
    """Rows to be worked on, and their number among the slabs; or memory for them."""

    number: int
    X: np.ndarray
    codes: np.ndarray
    sample_weight: np.ndarray | None

    def part(self, start, stop):
        """Return some of the rows."""
        weight = None if self.sample_weight is None else self.sample_weight[start:stop]
        return Slab(self.number, self.X[start:stop], self.codes[start:stop], weight)

    def filled(self, rows):
        """Copy rows here."""
        for memory, values in zip(self[1:], rows[1:], strict=True):
            if memory is not None:
                memory[...] = values
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
    regime : Regime

    Attributes
    ----------
    classes : ndarray of shape (c,)
    example : array-like
        Begin of the first chunk.
    """

    def __init__(self, make_chunks, classes=None, n_jobs=1, regime=REGIME):
        self.regime = regime
        self._reader = ChunkReader(make_chunks)
        self.n_jobs = n_jobs
        known = None if classes is None else np.unique(classes)
        if known is not None:
            check_classes(known, "classes")
        self._survey(known)
        self.n_classes = len(self.classes)
        self.shape = (int(self._counts.sum()), self.example.shape[1])
        self.dtype = self._reader.dtype
        self._checksums = None  # of the first pass that reads X
        self._n_passes = 0
        self._spare = []  # memory of slabs that are done with
        self._gate = None
        self._inside = {}  # what it said: a bit for each row, by the number of the slab

    @property
    def example(self):
        """Begin of the first chunk."""
        return self._reader.example

    def _survey(self, known):
        """Read all labels once, for the classes and their weights."""
        seen, new_labels = {}, []
        for chunk in self._reader:
            labels, codes = _labels_and_codes(chunk)
            if known is not None:
                known_codes(labels, known, f"y of {chunk.name}")
            new_labels.append(labels[[label not in seen for label in labels]])
            weight = chunk.sample_weight
            drawable = codes if weight is None else codes[weight > 0.0]
            columns = (
                np.bincount(codes, minlength=len(labels)),
                sums_of_bits(weight, codes, len(labels)),
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
        counts, bits, drawable, weights = zip(*(seen[i] for i in self.classes), strict=True)
        self._counts, self.class_counts = np.array(counts), np.array(drawable)
        self._weights = np.array([total % 2**64 for total in bits], np.uint64)
        self.class_weights = np.array(weights, float)
        check_class_weights(self.class_weights, self.classes)
        self._weight_unit = weight_unit(self.class_weights.sum(), self.class_counts.sum())
        self.class_weights *= self._weight_unit

    def _chunks(self):
        """Yield chunks as slabs of any length; the first pass checks their numbers."""
        for number, chunk in enumerate(self._reader):
            if self._checksums is None:
                _check_values(chunk)
            codes = known_codes(chunk.y, self.classes, f"y of {chunk.name}")
            weight = chunk.sample_weight
            weight = weight if self._weight_unit == 1.0 else weight * self._weight_unit
            yield Slab(number, chunk.X, codes, weight)

    def _slabs(self, fingerprint):
        """Yield slabs as `ArrayRows` would cut them, and note their fingerprint."""
        step, number, slab, filled = self.slab_rows, 0, None, 0
        for chunk in self._chunks():
            start, end = 0, len(chunk.X)
            while start < end:
                if filled == 0 and end - start >= step and self._may_stay(chunk.X):
                    slab = chunk.part(start, start + step)
                    fingerprint.add(*slab[1:])
                    some = step
                else:
                    some = min(step - filled, end - start, -(-step // PIECES))
                    slab = slab or self._memory(step, chunk)
                    rows = slab.part(filled, filled + some)
                    fingerprint.add(*rows.filled(chunk.part(start, start + some))[1:])
                filled, start = filled + some, start + some
                if filled == step:
                    yield slab._replace(number=number)
                    slab, filled, number = None, 0, number + 1
        if filled:
            yield slab.part(0, filled)._replace(number=number)

    def _may_stay(self, X):
        """Return whether a slab can be worked on where it is, in the memory of its source.

        With one thread it is done with before the source is asked for more; with several the
        source might use its memory again, but for a file that can only be read.
        """
        safe = self.n_jobs == 1 or _is_read_only_file(X)
        return safe and X.flags.c_contiguous and X.dtype == self.dtype

    def _memory(self, step, rows):
        """Return memory for a slab of such rows."""
        if self._spare:
            return self._spare.pop()
        X, codes = np.empty((step, self.shape[1]), self.dtype), np.empty(step, np.int32)
        return Slab(0, X, codes, None if rows.sample_weight is None else np.empty(step))

    def _results(self, job):
        """Yield what a job returns for each slab, and check the rows at the end."""

        def run_slab(slab):
            result = job(slab.X, slab.codes, self._weights_of(slab))
            if slab.X.flags.owndata:
                self._spare.append(slab)
            return result

        fingerprint = self._next_fingerprint(isinstance(job, BorderJob))
        yield from self.watched(ordered_map(run_slab, self._slabs(fingerprint), self.n_jobs))
        self._recognise(fingerprint)

    def _weights_of(self, slab):
        """Return the weights of the rows of a slab, 0 for those outside the gate."""
        if self._gate is None:
            return slab.sample_weight
        if slab.number not in self._inside:
            self._inside[slab.number] = np.packbits(self._gate.contains(slab.X, slab.codes))
        inside = np.unpackbits(self._inside[slab.number], count=len(slab.codes))
        return weights_inside(inside, slab.sample_weight)

    def _next_fingerprint(self, complete):
        """Return a fingerprint for a pass: of all groups of rows, or of the next one."""
        self._n_passes += 1
        complete = complete or self._checksums is None
        group = -1 if complete else self._n_passes % GROUPS
        return SourceFingerprint(self.n_classes, self.shape[1], group)

    def _recognise(self, fingerprint):
        """Check that the rows of a pass are those of the first."""
        if self._checksums is None:
            self._checksums = fingerprint.checksums
            if self._weight_unit != 1.0:
                self._weights = fingerprint.weights
        some = (
            slice(None)
            if fingerprint.group < 0
            else slice(fingerprint.group, fingerprint.group + 1)
        )
        for what, now, before in (
            ("number", fingerprint.counts, self._counts),
            ("sum of the weights, as bits,", fingerprint.weights, self._weights),
            (
                "checksum",
                fingerprint.checksums[some].sum(axis=0),
                self._checksums[some].sum(axis=0),
            ),
        ):
            if not np.array_equal(now, before):
                i = int(np.argmax(now != before))
                raise ValueError(
                    f"make_chunks() gives other rows than in the first pass: the {what} of those "
                    f"of class {self.classes[i]} is {now[i]}, and was {before[i]}; it must give "
                    "the same rows each time."
                )

    def reduce(self, job):
        """Return the sum of what a job returns for each slab; see `Rows`.

        Rows outside the gate have no weight.
        """
        return sum_in_order(self._results(job))

    def within_gate(self, level):
        """Return the rows with those beyond a multiple of the gate out of every sum."""
        rows = super().within_gate(level)
        rows._gate, rows.gate, rows._inside = rows.gate, None, {}  # a job would evaluate it anew
        return rows

    def pick(self, ranks):
        """Return some rows in memory; see `Rows`."""
        seen = np.zeros(self.n_classes, int)

        def picked(rows):
            nonlocal seen
            counts = rows.class_counts
            here, seen = ranks_among(ranks, seen, counts), seen + counts
            return rows.pick(here)

        return self._gathered(picked)

    def load(self):
        """Return all rows in memory."""
        return self._gathered(lambda rows: rows.take(slice(None)))

    def _gathered(self, copied):
        """Return the rows that are copied from each slab."""
        fingerprint, parts = self._next_fingerprint(complete=False), []
        step = self.regime.slab_rows(self.shape[1])
        for chunk in self._chunks():
            for start in range(0, len(chunk.X), step):
                _, X, codes, weight = chunk.part(start, start + step)
                X = np.ascontiguousarray(X, self.dtype)
                fingerprint.add(X, codes, weight)
                parts.append(
                    copied(ArrayRows(X, codes, self.n_classes, weight, regime=self.regime))
                )
        self._recognise(fingerprint)
        return joined(parts, self.n_classes, self.n_jobs)


def _is_read_only_file(X):
    """Return whether an array is mapped from a file and cannot be written to."""
    while isinstance(X, np.ndarray) and not X.flags.writeable:
        if isinstance(X, np.memmap):
            return True
        X = X.base
    return False


def _labels_and_codes(chunk):
    """Return the labels of a chunk, and the code of each row among them."""
    if chunk.y.dtype.kind == "f" and not np.array_equal(chunk.y, np.round(chunk.y)):
        raise ValueError(f"y of {chunk.name} has numbers that are no labels; give classes.")
    try:
        return encode(chunk.y)
    except TypeError as error:  # by the sort
        raise ValueError(
            f"y of {chunk.name} has labels of several types, as {chunk.y[0]!r}, which have no "
            "order; make them all words or all integers."
        ) from error


def _check_values(chunk):
    """Check the numbers of a chunk."""
    bad = None if chunk.X.dtype.kind in "iub" else first_not_finite(chunk.X)
    if bad is not None:
        raise ValueError(
            f"X of {chunk.name} contains NaN or infinity, first in its row {bad}; remove or "
            "impute such rows."
        )
