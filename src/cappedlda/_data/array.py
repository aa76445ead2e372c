"""Rows of arrays, in memory or mapped to it."""

import math
from dataclasses import replace
from functools import partial
from mmap import ALLOCATIONGRANULARITY, mmap

import numpy as np

from cappedlda._data.base import Rows, first_not_finite, per_sample, slices_of, sum_in_order
from cappedlda._data.jobs import PassJob, norm_histograms, scaled_weights
from cappedlda._data.threads import ordered_map
from cappedlda._kernels import selection
from cappedlda._regime import REGIME
from cappedlda._rules.rule import Gate, Query, ratios_of, within
from cappedlda._validation import not_finite

# A scatter is made anew if more than this share of the rows come or go, or if those that go had
# more than this share of it: little but rounding would be left.
MOST_CHANGED = 0.25
MOST_GONE = 0.5


def check_file(X):
    """Check that the file of a memory map is as long as it was.

    Reading what is missing would end the process.
    """
    while isinstance(X, np.ndarray) and X.base is not None:
        if isinstance(X.base, mmap) and isinstance(X, np.memmap):
            start = X.offset - X.offset % ALLOCATIONGRANULARITY
            if X.base.size() < start + len(X.base):
                raise ValueError(
                    f"the file {X.filename} of a memory map was truncated after it was opened; "
                    "write the file again, and open it."
                )
            return
        X = X.base


class ArrayRows(Rows):
    """Rows of an array in memory (or mapped to it), read slab by slab.

    X of shape (N, n), float32 or float64, is copied only slab by slab, where it is not C-ordered.
    The codes (N,), int32, are the classes of the rows, from 0.
    """

    gate_ratio = None  # (N,), size of the rows over that of the gate, if there is one
    _class_weights = _class_order = _slabs = None  # once they are known

    def __init__(self, X, codes, n_classes, sample_weight=None, n_jobs=1, regime=REGIME):
        self.X, self.shape, self.dtype = X, X.shape, X.dtype
        self.codes = codes
        self.n_classes = n_classes
        self.sample_weight = sample_weight
        self.n_jobs = n_jobs
        self.regime = regime

    @property
    def row_weights(self):
        """Weight of each row, shape (N,): 1 if none were given."""
        return np.ones(self.shape[0]) if self.sample_weight is None else self.sample_weight

    @property
    def class_weights(self):
        if self._class_weights is None:
            weights = np.bincount(self.codes, self.sample_weight, self.n_classes)
            self._class_weights = weights.astype(np.float64)
        return self._class_weights

    @property
    def class_counts(self):
        if self.sample_weight is None:
            return self.class_weights.astype(int)
        return np.bincount(self.codes[self.sample_weight > 0.0], minlength=self.n_classes)

    def weight_at(self, rows):
        return None if self.sample_weight is None else self.sample_weight[rows]

    def count(self, marked):
        """Return how many rows of a mask each class has, of those with a weight above 0."""
        if self.sample_weight is not None:
            marked = marked & (self.sample_weight > 0.0)
        return np.bincount(self.codes[marked], minlength=self.n_classes)

    @property
    def has_large_scatter(self):
        """Whether a scatter takes so long that it should be remembered."""
        return self.shape[1] >= self.regime.cache_features

    def slabs(self):
        if self._slabs is None:
            self._slabs = slices_of(self.shape[0], self.slab_rows)
        return self._slabs

    def slab(self, rows):
        return np.ascontiguousarray(self.X[rows])

    def reduce(self, job, *outs):
        """Return the sum of `job(X, codes, sample_weight, *outs)` over slabs, in their order.

        Each job may write to its part of the `outs`, arrays of shape (N,) or None.
        """
        check_file(self.X)
        slabs = self.slabs()
        if len(slabs) == 1:  # few rows are done faster than a generator is made
            return self._run(job, slabs[0], outs)
        return sum_in_order(self.map(job, *outs))

    def map(self, job, *outs):
        check_file(self.X)
        return self.watched(
            ordered_map(lambda rows: self._run(job, rows, outs), self.slabs(), self.n_jobs)
        )

    def _run(self, job, rows, outs):
        given = self.slab(rows), self.codes[rows], self.weight_at(rows)
        return job(*given, *[None if out is None else out[rows] for out in outs])

    def each(self, function):
        found = self.map(lambda X, codes, _: function(X, codes))
        return [np.concatenate(parts) for parts in zip(*found, strict=True)]

    def weight_of(self, kept):
        weight = self.sample_weight
        return float(np.count_nonzero(kept) if weight is None else weight @ kept)

    def run(self, query, distances=None):
        """Return the record of one pass over all rows; `distances` are filled if given."""
        return self.reduce(PassJob(query), distances).mirror()

    def first_not_finite(self):
        for slab, first in zip(self.slabs(), self.map(first_not_finite), strict=True):
            if first is not None:
                return slab.start + first
        return None

    def check_finite(self):
        first = self.first_not_finite()
        if first is not None:
            raise self._not_finite(first)

    def _not_finite(self, row):
        values, remedy = self.slab(slice(row, row + 1))[0], "remove or impute such rows"
        if not np.isinf(values).any():
            remedy += ', or use CappedLDA(missing="ignore")'
        return not_finite(values, f"row {row}", self.feature_names, remedy=remedy)

    def per_sample(self, solution):
        return solution.samples

    def pick(self, ranks):
        if self.sample_weight is None:
            return self.take(rows_of_ranks(self.codes, ranks))
        drawable = np.flatnonzero(self.sample_weight > 0.0)
        return self.take(drawable[rows_of_ranks(self.codes[drawable], ranks)])

    def load(self):
        """Return the rows, in memory; C-ordered if one slab, so that no pass copies them."""
        if not isinstance(self.X, np.ndarray):
            return self.with_features(self.X[:])
        few = len(self.slabs()) == 1 and not self.X.flags.c_contiguous
        return self.with_features(np.ascontiguousarray(self.X)) if few else self

    def take(self, rows):
        settings = self.n_classes, self.weight_at(rows), self.n_jobs, self.regime
        return ArrayRows(np.ascontiguousarray(self.X[rows]), self.codes[rows], *settings)

    def class_order(self):
        """Return the numbers of the rows class by class."""
        if self._class_order is None:
            # Small integers are sorted in linear time.
            codes = self.codes.astype(np.min_scalar_type(self.n_classes))
            self._class_order = np.argsort(codes, kind="stable")
        return self._class_order

    def class_ends(self):
        """Return where the rows of each class end, if they are class by class, shape (c,)."""
        return np.cumsum(np.bincount(self.codes, minlength=self.n_classes))

    def every(self, steps):
        """Return the numbers of every k-th row of each class, where k is given by steps (c,)."""
        order, ends = self.class_order(), self.class_ends()
        codes = self.codes[order]
        ranks = np.arange(len(order)) - np.append(0, ends[:-1])[codes]
        return order[ranks % steps[codes] == 0]

    def labelled(self, codes, n_classes=None):
        n_classes = self.n_classes if n_classes is None else n_classes
        return self._with(codes=codes, n_classes=n_classes, _class_weights=None, _class_order=None)

    def with_features(self, X):
        return self._with(X=X, shape=X.shape, dtype=X.dtype, _slabs=None)

    def reweighted(self, factors):
        """Return the rows with their weights times factors; a mask drops rows."""
        weights = scaled_weights(factors, self.sample_weight)
        return self._with(sample_weight=weights, _class_weights=None)

    def norms(self, centres, scale):
        """Return the scaled norm of each row, and their histograms."""
        norms = np.empty(self.shape[0])
        return norms, self.reduce(partial(norm_histograms, centres=centres, scale=scale), norms)

    def build_gate(self, centres, scale, settle):
        """Return a gate by these rows, and the rows with their ratios to it.

        The caps are what `settle` returns for histograms of norms, the number of features and a
        regime.
        """
        norms, histograms = self.norms(centres, scale)
        gate = Gate(centres, scale, settle(histograms, self.shape[1], self.regime))
        return gate, self._with(gate_ratio=norms / gate.caps[self.codes])

    def measured(self, gate):
        return self._with(gate_ratio=gate.ratios(self))

    def gated(self, gate):
        return GatedRows(self, gate)

    def within_gate(self, level):
        ratio = self.gate_ratio
        return self if ratio.max() <= level else self.reweighted(ratio <= level)

    def evaluate(self, query):
        distances = np.empty(self.shape[0])
        record = self.run(query, distances)
        return record, SampleDistances(self, distances)


class SampleDistances:
    """What a pass saw of each row of an array: its distance."""

    def __init__(self, rows, distances):
        self._rows = rows
        self._distances = distances

    def kept_weight(self, caps):
        return self._rows.weight_of(within(self._distances, caps, self._rows.codes))

    def record(self, query):
        return self._rows.run(query)

    def inside(self, caps, level):
        """Return which rows are within caps of shape (c,) and a multiple of the gate."""
        mask = within(self._distances, caps, self._rows.codes)
        gate_ratio = self._rows.gate_ratio
        return mask if gate_ratio is None else mask & (gate_ratio <= level)

    def ratios(self, caps):
        rows = self._rows
        return ratios_of(self._distances, caps[rows.codes], rows.gate_ratio)

    def per_sample(self, caps, flag_level, support, norm=None):
        """Return the results for each row, `PerSample`; those beyond the flag level are flagged.

        Those of the support have weights: by a norm, given its exponent and floor, or equal ones.
        """
        outliers = ~self.inside(flag_level * caps, flag_level)
        return per_sample(self._distances, outliers, support, norm)


class GatedRows(ArrayRows):
    """Rows of which the first pass finds out how they lie to a gate, as it reads them anyway."""

    def __init__(self, rows, gate):
        vars(self).update(vars(rows))
        self.gate = gate
        self.gate_ratio = np.empty(rows.shape[0])  # known after the first pass
        self._is_measured = np.zeros(1, bool)  # by a whole pass; common to all levels

    def within_gate(self, level):
        return Rows.within_gate(self, level)

    def weight_of(self, kept):
        return super().weight_of(kept & (self.gate_ratio <= self.gate_level))

    def run(self, query, distances=None):
        gate = None if self._is_measured[0] else self.gate
        job = PassJob(query, gate, self.gate_level)
        record = self.reduce(job, distances, self.gate_ratio).mirror()
        self._is_measured[0] = True
        return record

    def _run(self, job, rows, outs):
        result = super()._run(job, rows, outs)
        if outs and not math.isfinite(outs[-1][rows].sum()):  # but large numbers may overflow, too
            first = first_not_finite(self.slab(rows))
            if first is not None:
                raise self._not_finite(rows.start + first)
        return result


class ScatterCacheRows(ArrayRows):
    """Rows that remember the last support (N,) with equal weights (q = 2), and its moments.

    The next support mostly has these very rows, or all but a few. A pass that only projects, which
    is cheap where there are many features, tells which rows come and go and change the scatter.
    """

    def __init__(self, rows, support, moments):
        vars(self).update(vars(rows))
        self._support, self._moments = support, moments

    def _with(self, **attributes):
        """Return rows without the memory, which holds for these rows and weights alone."""
        rows = object.__new__(ArrayRows)
        vars(rows).update(vars(self), **attributes)
        return rows

    def run(self, query, distances=None):
        if not (query.scatter and query.sums and query.q == 2.0):
            return super().run(query, distances)
        distances = np.empty(self.shape[0]) if distances is None else distances
        record = super().run(replace(query, scatter=False), distances)
        support = within(distances, query.caps, self.codes)
        if self.sample_weight is not None:
            support &= self.sample_weight > 0.0
        scatter = self._scatter(support, query)
        if scatter is None:
            record = super().run(query, distances)
        else:
            record.scatter = scatter
        moments = record.moments(query.centres, query.scale)
        self._support, self._moments = support, moments.recentred()
        return record

    def _scatter(self, support, query):
        """Return the scatter of a support by that of the last one, or None if they differ much."""
        scatter, last = self._moments.about(query.centres, query.scale), self._support
        most = MOST_CHANGED * len(support)
        if np.count_nonzero(support != last) > most:
            return None
        for changed, sign in ((last & ~support, -1.0), (support & ~last, 1.0)):
            if not changed.any():
                continue
            some = self.take(changed).run(Query.of_all_rows(query.centres, query.scale)).scatter
            if sign < 0.0 and some.trace() > MOST_GONE * scatter.trace():
                return None
            scatter += sign * some
        return scatter


def joined(parts, n_jobs=1):
    def of_all(name):
        return np.concatenate([getattr(part, name) for part in parts])

    first = parts[0]
    weight = None if first.sample_weight is None else of_all("sample_weight")
    return ArrayRows(of_all("X"), of_all("codes"), first.n_classes, weight, n_jobs, first.regime)


def rows_of_ranks(codes, ranks):
    """Return the sorted indices of the rows that have some ascending ranks in their class."""
    sizes = np.array([len(rank) for rank in ranks], dtype=np.int64)
    ends = np.cumsum(sizes)
    wanted = np.concatenate(ranks).astype(np.int64, copy=False)
    rows = np.empty(len(wanted), dtype=np.int64)
    selection.find_ranks(codes, wanted, ends, ends - sizes, np.zeros_like(ends), rows)
    return rows
