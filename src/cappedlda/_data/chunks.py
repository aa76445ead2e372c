"""Rows in chunks, which are cut again into the slabs of `ArrayRows`: the result is the same."""

from bisect import bisect
from contextlib import closing
from operator import itemgetter

import numpy as np

from cappedlda._data.array import ArrayRows, joined
from cappedlda._data.base import first_not_finite, ranks_among
from cappedlda._data.blocks import BlockRows, count_labels
from cappedlda._data.chunk_cache import kept_in_files
from cappedlda._data.chunk_reader import ChunkReader, labels_and_codes
from cappedlda._data.fingerprint import count_rows, fingerprint_of
from cappedlda._data.threads import ordered_map
from cappedlda._regime import REGIME
from cappedlda._validation import check_classes, known_codes

# What must not change, and how errors say so.
SOURCE = "make_chunks()", "it must give the same rows each time"


class ChunkRows(BlockRows):
    """Rows of which `make_chunks` returns a fresh iterable of chunks for each pass.

    With a `cache`, the name of a folder, they are read once and kept there. Labels must be among
    the `classes`, unless these are None.
    """

    def __init__(self, make_chunks, classes=None, n_jobs=1, regime=REGIME, cache=None):
        source = self._reader = ChunkReader(make_chunks)
        if cache is not None:
            self._reader = ChunkReader(kept_in_files(source, cache, regime))
        known = None if classes is None else np.unique(classes)
        if known is not None:
            check_classes(known, "classes")
        counts, seen, label_type = self._survey(known)
        self.example = source.example  # begin of the first chunk
        super().__init__(counts, self.example.shape[1], self._reader.dtype, label_type)
        if known is not None and len(known) > self.n_classes:
            missing = np.setdiff1d(known, self.classes).tolist()
            raise ValueError(f"classes={known.tolist()} has {missing}, but no row has that class.")
        self.n_jobs, self.regime = n_jobs, regime
        self._known_lines = 2 if self._weight_unit == 1.0 else 1
        self._seen = np.column_stack([seen[label] for label in self.classes.tolist()])
        self._origins = []  # of the rows in the first pass: first row and name of each chunk

    def _survey(self, known):
        """Read all labels once; return their counts, fingerprints by label, and their type."""
        counts, seen = [], {}
        for chunk in self._reader.labels():
            labels, codes = labels_and_codes(chunk)
            if known is not None:
                known_codes(labels, known, f"y of {chunk.name}")
            counts += count_labels(labels, codes, chunk.sample_weight)
            found = count_rows(codes, chunk.sample_weight, len(labels))
            for label, fingerprint in zip(labels.tolist(), found.T, strict=True):
                seen[label] = fingerprint + seen.get(label, np.uint64(0))
        if not seen:
            raise ValueError("make_chunks() gave no rows; give rows of two or more classes.")
        return counts, seen, chunk.y.dtype

    def _chunks(self):
        """Yield the first row of each chunk, its rows, and whether their memory is used again."""
        n_rows = 0
        for chunk in self._reader:
            if not self._is_checked:
                self._origins.append((n_rows, chunk.name))
            codes = known_codes(chunk.y, self.classes, f"y of {chunk.name}")
            X, weight = np.ascontiguousarray(chunk.X, self.dtype), chunk.sample_weight
            if weight is not None:
                weight = weight * self._weight_unit  # a copy: the source may use its memory again
            may_change = X is chunk.X and not _is_read_only(X)
            yield n_rows, ArrayRows(X, codes, self.n_classes, weight, 1, self.regime), may_change
            n_rows += len(X)

    def _slabs(self):
        """Yield the first row and the rows of slabs as `ArrayRows` would cut them.

        Whole slabs of a chunk are not copied, unless its source might use their memory again before
        a thread is done with them.
        """
        step, slab, filled = self.slab_rows, None, 0
        for first, chunk, may_change in self._chunks():
            start, end = 0, chunk.shape[0]
            while start < end:
                some = slice(start, min(start + step - filled, end))
                rows, start = chunk.take(some), some.stop
                if rows.shape[0] == step and not (may_change and self.n_jobs > 1):
                    yield first + some.start, rows
                    continue
                slab = slab or self._memory(rows)
                some = slice(filled, filled + rows.shape[0])
                slab.X[some], slab.codes[some] = rows.X, rows.codes
                if rows.sample_weight is not None:
                    slab.sample_weight[some] = rows.sample_weight
                filled = some.stop
                if filled == step:
                    yield first + start - step, slab
                    slab, filled = None, 0
        if filled:
            yield self.shape[0] - filled, slab.take(slice(filled))

    def _memory(self, rows):
        step, weighted = self.slab_rows, rows.sample_weight is not None
        X, codes = np.empty((step, self.shape[1]), self.dtype), np.empty(step, np.int32)
        weight = np.empty(step) if weighted else None
        return ArrayRows(X, codes, self.n_classes, weight, 1, self.regime)

    def _fingerprint(self, first, rows):
        """Return the fingerprint of rows; in the first pass, all numbers have to be finite."""
        found, finite = fingerprint_of(rows)
        if not finite and not self._is_checked:
            bad = first_not_finite(rows.X)
            row = first + bad
            begin, name = self._origins[bisect(self._origins, row, key=itemgetter(0)) - 1]
            raise self._reader.not_finite(name, row - begin, rows.X[bad])
        return found

    def reduce(self, job):
        def run(slab):
            return self._fingerprint(*slab), slab[1].reduce(job)

        with (
            closing(self._slabs()) as slabs,  # an error may live long, its source not
            closing(self.watched(ordered_map(run, slabs, self.n_jobs))) as results,
        ):
            found, total = next(results)
            for part, result in results:
                found += part
                total += result
        self._recognise(found, *SOURCE)
        return total

    def _gather(self, choose):
        """Return in memory the rows that a function chooses of each chunk."""
        parts, found = [], 0
        with closing(self._chunks()) as chunks:
            for first, rows, _ in chunks:
                found = found + self._fingerprint(first, rows)
                parts.append(choose(rows))
        self._recognise(found, *SOURCE)
        return joined(parts, self.n_jobs)

    def pick(self, ranks):
        seen = np.zeros(self.n_classes, np.int64)

        def picked(rows):
            here = ranks_among(ranks, seen, rows.class_counts)
            seen[:] += rows.class_counts
            return rows.pick(here)

        return self._gather(picked)

    def load(self):
        return self._gather(lambda rows: rows.take(np.arange(rows.shape[0])))


def _is_read_only(X):
    """Return whether nobody can write to an array."""
    while isinstance(X, np.ndarray) and not X.flags.writeable:
        if isinstance(X, np.memmap) or X.flags.owndata:
            return True
        X = X.base
    return False
