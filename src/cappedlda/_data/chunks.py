"""Rows that come in chunks, from a function that gives them anew for each pass.

Chunks are cut again into the slabs of `ArrayRows`, so that the result does not depend on
how they were cut, bit for bit.
"""

from bisect import bisect
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from cappedlda._data.array import ArrayRows, joined
from cappedlda._data.base import Rows, first_not_finite, ranks_among, sum_in_order
from cappedlda._data.chunk_cache import CachedReader
from cappedlda._data.chunk_reader import ChunkReader, labels_and_codes
from cappedlda._data.columns import Columns, copy_rows
from cappedlda._data.fingerprint import SourceFingerprint, check_same, checksum_keys, sums_of_bits
from cappedlda._data.threads import ordered_map
from cappedlda._kernels import kernels_for, selection
from cappedlda._regime import REGIME
from cappedlda._validation import (
    check_class_weights,
    check_classes,
    check_enough_rows,
    known_codes,
    weight_unit,
)

# Rows that cannot stay where they are are copied in this number of pieces of a slab, which stay
# in the cache.
PIECES = 16


def sizes_of(codes, sample_weight, n_classes):
    """Return what a class has: rows, a checksum of weights, rows of positive weight, weight."""
    counts = counts_of(codes, None, n_classes)
    if sample_weight is None:
        return counts, np.zeros(n_classes, np.uint64), counts, counts.astype(float)
    return (
        counts,
        sums_of_bits(sample_weight, codes, n_classes),
        counts_of(codes, sample_weight, n_classes),
        np.bincount(codes, sample_weight, n_classes),
    )


def counts_of(codes, sample_weight, n_classes):
    """Return the rows of each class that have a weight above 0."""
    counts = np.zeros(n_classes, np.int64)
    selection.count_rows(codes if sample_weight is None else codes[sample_weight > 0.0], counts)
    return counts


class Slab(NamedTuple):
    """Rows to be worked on, or memory for them."""

    first: int  # the number of the first row
    X: np.ndarray
    codes: np.ndarray
    sample_weight: np.ndarray | None
    # Whether the rows are where their source has them, and not yet recognised.
    in_place: bool = False

    def part(self, start, stop):
        """Return some of the rows."""
        weight = None if self.sample_weight is None else self.sample_weight[start:stop]
        rows = self.X[start:stop], self.codes[start:stop], weight
        return Slab(self.first + start, *rows, self.in_place)

    def fill(self, rows):
        """Copy rows here."""
        copy_rows(rows.X, self.X)
        self.codes[...] = rows.codes
        if self.sample_weight is not None:
            self.sample_weight[...] = rows.sample_weight


class ChunkRows(Rows):
    """Rows that come in chunks: `make_chunks` returns a fresh iterable of them for each pass.

    They are kept in a folder after they were read once, if there is a `cache`. The `classes` are
    all labels there are, and another one is an error; None takes those of a first pass.
    """

    def __init__(self, make_chunks, classes=None, n_jobs=1, regime=REGIME, cache=None):
        self.regime = regime
        self._may_change = cache is None  # what is kept in a cache has been checked
        if self._may_change:
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
        self._spare = []  # memory of slabs that are done with

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
            columns = sizes_of(codes, chunk.sample_weight, len(labels))
            for label, *row in zip(labels, *(column.tolist() for column in columns), strict=True):
                seen[label] = [a + b for a, b in zip(row, seen.get(label, [0] * 4), strict=True)]
        if not seen:
            raise ValueError("make_chunks() gave no rows; give rows of two or more classes.")
        self.classes = np.unique(np.concatenate(new_labels))
        if known is not None and len(known) > len(seen):
            missing = np.setdiff1d(known, self.classes).tolist()
            raise ValueError(f"classes={known.tolist()} has {missing}, but no row has that class.")
        check_classes(self.classes)
        counts, bits, drawable, weights = zip(*(seen[i] for i in self.classes), strict=True)
        self._counts, self.class_counts = np.array(counts), np.array(drawable)
        self._weights = np.array([total % 2**64 for total in bits], np.uint64)
        self.class_weights = np.array(weights, float)
        check_class_weights(self.class_weights, self.classes)
        self._weight_unit = weight_unit(self.class_weights.sum(), self.class_counts.sum())
        self.class_weights *= self._weight_unit
        check_enough_rows(self.class_weights)

    def _chunks(self):
        """Yield chunks as slabs of any length."""
        n_rows = 0
        for chunk in self._reader:
            if self._checksums is None:
                self._origins.append((n_rows, chunk.name))
            codes = self._reader.codes(chunk, self.classes)
            weight = chunk.sample_weight
            weight = weight if self._weight_unit == 1.0 else weight * self._weight_unit
            yield Slab(n_rows, chunk.X, codes, weight, self._may_stay(chunk.X))
            n_rows += len(chunk.X)

    def _slabs(self, loose=False):
        """Yield slabs as `ArrayRows` would cut them.

        Loose ones may have fewer rows, so that none is copied only to be whole.
        """
        step, slab, filled = self.slab_rows, None, 0
        for chunk in self._chunks():
            start, end = 0, len(chunk.X)
            while start < end:
                some = min(step - filled, end - start)
                rows = chunk.part(start, start + some)
                start += some
                if chunk.in_place and (some == step or (loose and not filled)):
                    yield rows
                    continue
                slab = slab or (self._spare.pop() if self._spare else self._memory(step, chunk))
                slab = slab._replace(first=rows.first - filled)
                slab.part(filled, filled + some).fill(rows)
                filled += some
                if filled == step:
                    yield slab
                    slab, filled = None, 0
        if filled:
            yield slab.part(0, filled)

    def _pieces(self):
        """Yield pieces of these slabs, as a `SlabPass` takes them, for one thread.

        Rows stay where they are, but for a block at the seam of two chunks. What has to be
        copied uses the same memory again.
        """
        n_features, step = self.shape[1], self.slab_rows
        block = kernels_for(n_features).piece_rows(n_features, self.dtype.itemsize)
        most = -(-step // (PIECES * block)) * block
        copied, filled = None, 0
        for chunk in self._chunks():
            start, end = 0, len(chunk.X)
            stays = chunk.in_place and end >= most  # it takes less time to copy small chunks
            while start < end:
                row = chunk.first + start
                left = min(end - start, step - row % step)
                whole = left if (row + left) % step == 0 else left // block * block
                if stays and whole and not filled:
                    yield chunk.part(start, start + whole)
                    start += whole
                    continue
                wanted = (filled // block + 1) * block if stays else most
                some = min(left, wanted - filled)
                copied = copied or self._memory(most, chunk)
                copied.part(filled, filled + some).fill(chunk.part(start, start + some))
                start, row, filled = start + some, row + some, filled + some
                if filled == wanted or row % step == 0:
                    yield copied.part(0, filled)._replace(first=row - filled)
                    filled = 0
        if filled:
            yield copied.part(0, filled)._replace(first=row - filled)

    def _add(self, rows, fingerprint):
        """Add rows to a fingerprint."""
        if self._may_change:
            self._check_finite(rows, fingerprint.add(rows.X, rows.codes, rows.sample_weight))

    def _check_finite(self, rows, finite):
        """Raise an error if some numbers are not finite, in the first pass."""
        if not finite and self._checksums is None:
            bad = first_not_finite(rows.X)
            row = rows.first + bad
            begin, name = self._origins[bisect(self._origins, row, key=itemgetter(0)) - 1]
            raise self._reader.not_finite(name, row - begin, rows.X[bad])

    def _may_stay(self, X):
        """Return whether a slab can be worked on where it is, in the memory of its source.

        With one thread it is done with before the source is asked for more; with several the
        source might use its memory again, unless nobody can write to it.
        """
        if isinstance(X, Columns) or X.dtype != self.dtype or not X.flags.c_contiguous:
            return False
        return self.n_jobs == 1 or _is_read_only(X)

    def _memory(self, step, rows):
        """Return memory for some of such rows."""
        X, codes = np.empty((step, self.shape[1]), self.dtype), np.empty(step, np.int32)
        return Slab(0, X, codes, None if rows.sample_weight is None else np.empty(step))

    def _passed(self, work, items=zip, loose=False):
        """Yield what `work` returns for each slab, and check the rows at the end.

        It gets a fingerprint, to which it adds the rows, a slab, and what else `items` puts into
        the tuple of a slab. Loose slabs may be cut anywhere.
        """
        total = self._fingerprint()

        def run(item):
            slab, part = item[0], self._fingerprint()
            result = work(part, *item)
            if slab.X.flags.owndata:
                self._spare.append(slab)
            return part, result

        with closing(self._slabs(loose)) as slabs:  # an error may live long, its source not
            for part, result in self.watched(ordered_map(run, items(slabs), self.n_jobs)):
                total += part
                yield result
        self._recognise(total)

    def _fingerprint(self):
        """Return the fingerprint of no rows."""
        return SourceFingerprint(self.n_classes)

    def _recognise(self, fingerprint):
        """Check that the rows of a pass are those of the first."""
        if not self._may_change:
            return
        if self._checksums is None:
            self._checksums = fingerprint.checksums
            if self._weight_unit != 1.0:
                self._weights = fingerprint.weights
        before = self._counts, self._weights, self._checksums
        remedy = "it must give the same rows each time"
        check_same(fingerprint, before, self.classes, "make_chunks()", remedy)

    def reduce(self, job):
        """Return the sum of what a job returns for each slab; see `Rows`."""
        if not hasattr(job, "begin"):
            return sum_in_order(self._passed(self._recognised(job)))
        if self.n_jobs == 1:
            return sum_in_order(self.watched(self._streamed(job)))
        return sum_in_order(self._passed(lambda part, slab: self._run(job, [slab], part)))

    def _run(self, job, pieces, fingerprint):
        """Return what a job returns for the pieces of a slab; it adds their checksums."""
        checksums = checksum_keys(self.shape[1]), fingerprint.checksums
        begun = job.begin(self.dtype, *(checksums if self._may_change else ()))
        for piece in pieces:
            begun.add(piece.X, piece.codes, piece.sample_weight)
            if self._may_change:
                fingerprint.count(piece.codes, piece.sample_weight)
                self._check_finite(piece, begun.all_finite)
        return begun.result()

    def _streamed(self, job):
        """Yield what a job returns for each slab, of which the pieces are read one by one."""
        fingerprint, step = self._fingerprint(), self.slab_rows
        with closing(self._pieces()) as pieces:
            for _, slab in groupby(pieces, lambda piece: piece.first // step):
                yield self._run(job, slab, fingerprint)
        self._recognise(fingerprint)

    def _recognised(self, function):
        """Return a function of slabs, and of more, that adds them to a fingerprint first."""

        def work(fingerprint, slab, *more):
            self._add(slab, fingerprint)
            return function(slab.X, slab.codes, slab.sample_weight, *more)

        return work

    def pick(self, ranks):
        """Return some rows in memory; see `Rows`."""

        def ranked(slabs):
            seen = np.zeros(self.n_classes, np.int64)
            for slab in slabs:
                counts = counts_of(slab.codes, slab.sample_weight, self.n_classes)
                yield slab, ranks_among(ranks, seen, counts)
                seen += counts

        def picked(X, codes, weight, here):
            return self._array_rows(X, codes, weight).pick(here)

        parts = self._passed(self._recognised(picked), items=ranked, loose=True)
        return joined([*parts], self.n_classes, self.n_jobs)

    def load(self):
        """Return all rows in memory."""

        def copied(X, codes, weight):
            return self._array_rows(X, codes, weight).take(np.arange(len(codes)))

        parts = self._passed(self._recognised(copied), loose=True)
        return joined([*parts], self.n_classes, self.n_jobs)

    def _array_rows(self, X, codes, weight):
        return ArrayRows(X, codes, self.n_classes, weight, regime=self.regime)


def _is_read_only(X):
    """Return whether nobody can write to an array: it is in a file, or its owner, like that."""
    while isinstance(X, np.ndarray) and not X.flags.writeable:
        if isinstance(X, np.memmap) or X.flags.owndata:
            return True
        X = X.base
    return False
