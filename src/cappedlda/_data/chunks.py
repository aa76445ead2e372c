"""Rows that come in chunks, from a function that gives them anew for each pass.

Chunks are cut again into the slabs of `ArrayRows`, so that the result does not depend on
how they were cut, bit for bit.
"""

from bisect import bisect
from functools import cache
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from cappedlda._data.array import ArrayRows, joined
from cappedlda._data.base import Rows, first_not_finite, ranks_among, sum_in_order
from cappedlda._data.chunk_cache import CachedReader
from cappedlda._data.chunk_reader import ChunkReader, labels_and_codes, not_finite
from cappedlda._data.columns import Columns
from cappedlda._data.jobs import weights_inside
from cappedlda._data.samples import BorderJob
from cappedlda._data.threads import ordered_map
from cappedlda._kernels import checksums
from cappedlda._regime import REGIME
from cappedlda._validation import check_class_weights, check_classes, known_codes, weight_unit

# Every pass checks one group of the rows, in turn, the first and the last one all groups.
GROUPS = 4


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
        self._n_features = n_features

    def add(self, first, X, codes, sample_weight):
        """Add a C-ordered block of rows, of which the first one has a number."""
        words = X.view(np.uint32)
        weights = np.empty(0) if sample_weight is None else sample_weight
        checksums.add_checksums(
            words,
            _factors(self._n_features)[: words.shape[1]],
            weights.view(np.uint64),
            codes,
            self.checksums,
            first,
            self.group,
        )
        self.counts += np.bincount(codes, minlength=len(self.counts))
        self.weights += sums_of_bits(sample_weight, codes, len(self.counts))

    def like(self):
        """Return the fingerprint of no rows, to be added to this one."""
        return SourceFingerprint(len(self.counts), self._n_features, self.group)

    def __iadd__(self, other):
        self.counts += other.counts
        self.weights += other.weights
        self.checksums += other.checksums
        return self


@cache
def _factors(n_features):
    """Return two odd factors for each number of a row: one of 64 bits is two words."""
    random = np.random.default_rng(0)
    return random.integers(1 << 32, size=2 * n_features, dtype=np.uint32) | 1


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

    def fill(self, rows):
        """Copy rows here."""
        if isinstance(rows.X, Columns):
            rows.X.copy_to(self.X)
        else:
            self.X[...] = rows.X
        self.codes[...] = rows.codes
        if self.sample_weight is not None:
            self.sample_weight[...] = rows.sample_weight


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
    cache : Path or None
        Folder where the rows are kept after they were read once.

    Attributes
    ----------
    classes : ndarray of shape (c,)
    example : array-like
        Begin of the first chunk.
    """

    def __init__(self, make_chunks, classes=None, n_jobs=1, regime=REGIME, cache=None):
        self.regime = regime
        if cache is None:
            self._reader = ChunkReader(make_chunks)
        else:
            self._reader = CachedReader(make_chunks, cache, regime)
        self.n_jobs = n_jobs
        known = None if classes is None else np.unique(classes)
        if known is not None:
            check_classes(known, "classes")
        self._survey(known)
        self.n_classes = len(self.classes)
        self.shape = (int(self._counts.sum()), self.example.shape[1])
        self.dtype = self._reader.dtype
        self._checksums = None  # of the first pass that reads X
        self._origins = []  # of the rows in that pass: first row and name of each chunk
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
        for chunk in self._reader.labels():
            labels, codes = labels_and_codes(chunk)
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
        """Yield chunks as slabs of any length."""
        n_rows = 0
        for number, chunk in enumerate(self._reader):
            if self._checksums is None:
                self._origins.append((n_rows, chunk.name))
            n_rows += len(chunk.X)
            codes = known_codes(chunk.y, self.classes, f"y of {chunk.name}")
            weight = chunk.sample_weight
            weight = weight if self._weight_unit == 1.0 else weight * self._weight_unit
            yield Slab(number, chunk.X, codes, weight)

    def _slabs(self):
        """Yield slabs as `ArrayRows` would cut them."""
        step, number, slab, filled = self.slab_rows, 0, None, 0
        for chunk in self._chunks():
            start, end = 0, len(chunk.X)
            while start < end:
                some = min(step - filled, end - start)
                rows = chunk.part(start, start + some)
                if some == step and self._may_stay(chunk.X):
                    slab = rows
                else:
                    slab = slab or self._memory(step, chunk)
                    slab.part(filled, filled + some).fill(rows)
                filled, start = filled + some, start + some
                if filled == step:
                    yield slab._replace(number=number)
                    slab, filled, number = None, 0, number + 1
        if filled:
            yield slab.part(0, filled)._replace(number=number)

    def _may_stay(self, X):
        """Return whether a slab can be worked on where it is, in the memory of its source.

        With one thread it is done with before the source is asked for more; with several the
        source might use its memory again, unless nobody can write to it.
        """
        if isinstance(X, Columns) or X.dtype != self.dtype or not X.flags.c_contiguous:
            return False
        return self.n_jobs == 1 or _is_read_only(X)

    def _memory(self, step, rows):
        """Return memory for a slab of such rows."""
        if self._spare:
            return self._spare.pop()
        X, codes = np.empty((step, self.shape[1]), self.dtype), np.empty(step, np.int32)
        return Slab(0, X, codes, None if rows.sample_weight is None else np.empty(step))

    def _results(self, job):
        """Yield what a job returns for each slab."""

        def run_job(slab):
            return job(slab.X, slab.codes, self._weights_of(slab))

        return self._passed(run_job, zip(self._slabs()), isinstance(job, BorderJob))

    def _passed(self, work, items, complete=False):
        """Yield what `work(slab, ...)` returns for each item, and check the rows at the end."""
        first_pass, total = self._checksums is None, self._next_fingerprint(complete)

        def run(item):
            slab, begin, part = item[0], item[0].number * self.slab_rows, total.like()
            if first_pass:
                self._check_finite(slab.X, begin)
            part.add(begin, *slab[1:])
            result = work(*item)
            if slab.X.flags.owndata:
                self._spare.append(slab)
            return part, result

        for part, result in self.watched(ordered_map(run, items, self.n_jobs)):
            total += part
            yield result
        self._recognise(total)

    def _check_finite(self, X, begin):
        """Check the numbers of rows that begin with some row of the source."""
        bad = first_not_finite(X)
        if bad is not None:
            origin = bisect(self._origins, begin + bad, key=itemgetter(0)) - 1
            first, name = self._origins[origin]
            raise not_finite(name, begin + bad - first)

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

        def ranked():
            seen = np.zeros(self.n_classes, int)
            for slab in self._slabs():
                counts = self._array_rows(slab).class_counts
                yield slab, ranks_among(ranks, seen, counts)
                seen += counts

        return self._gathered(lambda slab, here: self._array_rows(slab).pick(here), ranked())

    def load(self):
        """Return all rows in memory."""

        def copied(slab):
            return self._array_rows(slab).take(np.arange(len(slab.codes)))

        return self._gathered(copied, zip(self._slabs()))

    def _array_rows(self, slab):
        _, X, codes, weight = slab
        return ArrayRows(X, codes, self.n_classes, weight, regime=self.regime)

    def _gathered(self, copied, items):
        """Return the rows that are copied from each slab."""
        return joined(list(self._passed(copied, items)), self.n_classes, self.n_jobs)


def _is_read_only(X):
    """Return whether nobody can write to an array: it is in a file, or its owner, like that."""
    while isinstance(X, np.ndarray) and not X.flags.writeable:
        if isinstance(X, np.memmap) or X.flags.owndata:
            return True
        X = X.base
    return False
