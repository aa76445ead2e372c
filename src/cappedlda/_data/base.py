"""The base of all kinds of rows: a pass takes a `Query`, and returns an additive `Record`."""

import math
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from cappedlda._data.jobs import PassJob
from cappedlda._data.progress import watch
from cappedlda._kernels import kernels
from cappedlda._regime import REGIME, Regime
from cappedlda._rules.rule import Gate, Query


class Rows:
    """Labelled rows, whatever holds them.

    A subclass has these attributes, and `reduce`, `pick` and `load`. All else follows from them
    without anything of the size of N; `ArrayRows`, which can keep that, does better.
    """

    shape: tuple[int, int]  # (N, n)
    dtype: np.dtype  # float32 or float64
    n_classes: int
    class_weights: np.ndarray  # (c,), weight of each class
    class_counts: np.ndarray  # (c,), rows of each class that have a weight above 0
    gate: Gate | None = None  # rows beyond a multiple of it count for nothing; weights and
    gate_level: float = np.inf  # counts of classes do not know it
    weigh: Any = None  # returns factors of the weights of rows (X, codes), if there are any
    example: Any = None  # begin of the data, with feature names; None if X itself tells them
    feature_names: Any = None  # of a data frame, for messages
    class_names: Any = None  # sorted labels, for messages
    progress = False  # whether lines are printed within long passes
    regime: Regime = REGIME

    @property
    def metric_kind(self):
        """What a metric is made in: "features", or the "row space" of fewer rows.

        It is "implicit" where a scatter is no matrix, and only multiplied. A fit asks once.
        """
        return "features" if self.shape[0] >= self.shape[1] else "row space"

    def check_has_matrix(self, what):
        """Raise an error for what needs a scatter matrix, if there is none."""

    def reduce(self, job):
        """Return the sum of `job(X, codes, sample_weight)` over C-ordered blocks of all rows.

        Jobs can be pickled, and their results have `+=`.
        """
        raise NotImplementedError

    def pick(self, ranks):
        """Return some rows in memory, in their order: an `ArrayRows`.

        The ranks say for each class which of its rows that have a weight above 0, from 0,
        ascending.
        """
        raise NotImplementedError

    def load(self):
        """Return all rows in memory, an `ArrayRows`; only asked for if they are few."""
        raise NotImplementedError

    def _with(self, **attributes):
        rows = object.__new__(type(self))
        vars(rows).update(vars(self), **attributes)
        return rows

    def with_larger_sample(self):
        """Return the rows, of which a larger sample will be drawn, or all if they are not many."""
        size = self.regime.larger_sample * self.regime.least_sample_rows
        return self._with(regime=replace(self.regime, least_sample_rows=size))

    def watched(self, results):
        """Return a generator of the results of slabs, whose progress is shown if it should be."""
        return watch(results, self.shape[0], self.slab_rows) if self.progress else results

    @property
    def slab_rows(self):
        """Number of rows of all slabs but the last."""
        n_rows, n = self.shape
        most = self.regime.slab_rows(n)
        slabs = -(-n_rows // most)
        if slabs >= self.regime.few_slabs or slabs < 2:
            return most
        return -(-n_rows // (slabs + slabs % 2))

    @property
    def class_shares(self):
        weights = self.class_weights
        return weights / weights.sum()

    def run(self, query):
        return self.reduce(self.job(query)).mirror()

    def job(self, query, most_border_rows=0):
        gate = self.gate if self.gate_level < np.inf else None
        return PassJob(query, gate, self.gate_level, most_border_rows, self.weigh)

    def check_finite(self):
        """Raise an error if a number is not finite; not asked for where reading has done so."""

    def class_means(self):
        n = self.shape[1]
        record = self.run(
            Query.of_all_rows(np.zeros((self.n_classes, n)), np.ones(n), scatter=False)
        )
        return record.sums / record.kept[:, 1:]

    def gated(self, gate):
        """Return the rows with a gate for `within_gate`; a pass finds out how they lie to it."""
        return self._with(gate=gate)

    def within_gate(self, level):
        """Return the rows with those beyond a multiple of the gate out of every sum."""
        return self._with(gate_level=level)

    def weighed(self, weigh):
        """Return the rows with weights times what a function of (X, codes) returns for them."""
        return self._with(weigh=weigh)

    def each(self, function):
        """Return arrays that a function of (X, codes) returns for all rows, if they are kept."""

    def per_sample(self, solution):
        """Return the results for each row, `PerSample`, or None if they are not kept."""

    def evaluate(self, query):
        """Return the record of a pass, and what is known of the distances."""
        distances = BorderDistances(self, query)
        return distances.record(query), distances


class PerSample(NamedTuple):
    """What is found about each training row; arrays of shape (N,)."""

    distances: np.ndarray
    weights: np.ndarray
    outliers: np.ndarray
    left_out: np.ndarray


class BorderDistances:
    """What passes tell of distances that are not kept: those near the caps are noted."""

    def __init__(self, rows, query):
        self._rows = rows
        self._see(query)

    def _see(self, query):
        job = self._rows.job(query, self._rows.regime.most_border_rows)
        self._query, self._record = query, self._rows.reduce(job).mirror()

    def kept_weight(self, caps):
        gain = self._record.border.gain(self._query.caps, caps)
        if gain is None:
            self._see(replace(self._query, caps=caps))
            gain = 0.0
        return self._record.kept[:, 1].sum() + gain

    def record(self, query):
        """Return the record of the last query but for its caps."""
        if not np.array_equal(query.caps, self._query.caps):
            self._see(query)
        return self._record

    def inside(self, caps, level):
        """Return None: nothing of the size of N is kept."""

    def per_sample(self, caps, flag_level, support, norm=None):
        """Return None: nothing of the size of N is kept."""


def measured(rows, flag_rule, leave_out_rule, norm, weigh=None, fitted=None):
    """Return `PerSample` of other rows than a fit has seen, by its rules.

    Weights are multiplied by what `weigh` returns for (X, codes), if it is given. Rows are left out
    and weighed as they are `fitted`, if wrong cells were completed.
    """
    fitted = rows if fitted is None else fitted
    distances = flag_rule.distances(rows)
    outliers = ~flag_rule.contains(rows, distances)
    found = per_sample(distances, outliers, leave_out_rule.contains(fitted), norm)
    if weigh is None:
        return found
    return found._replace(weights=found.weights * weigh(fitted.X, fitted.codes))


def per_sample(distances, outliers, support, norm):
    """Return `PerSample`: the weights are those of a norm in the support, or 1 without a norm."""
    if norm is None:
        return PerSample(distances, support.astype(np.float64), outliers, ~support)
    weights = np.empty_like(distances)
    kernels.capped_weights(distances, distances, weights, *norm)  # caps that keep every row
    np.copyto(weights, 0.0, where=~support)
    return PerSample(distances, weights, outliers, ~support)


def slices_of(n_rows, step):
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def sum_in_order(parts):
    """Return the sum of what a generator gives, added in its order to the first."""
    with closing(parts):  # also on an interrupt, of which a traceback may live long
        total = next(parts)
        for part in parts:
            total += part
    return total


def first_not_finite(X, *_):
    with np.errstate(all="ignore"):  # infinities of both signs
        if math.isfinite(X.sum(dtype=np.float64)):
            return None
    bad = ~np.isfinite(X).all(axis=1)
    return int(np.argmax(bad)) if bad.any() else None


def ranks_among(ranks, seen, counts):
    """Return which ranks are those of the next rows, counted from these.

    For each class some rows are `seen` before, and the next ones have other `counts`.
    """
    return [
        rank[(rank >= low) & (rank < low + count)] - low
        for rank, low, count in zip(ranks, seen, counts, strict=True)
    ]
