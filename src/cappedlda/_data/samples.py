"""What the last pass saw of each row: kept for arrays, of other rows only what may matter."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from cappedlda._data.jobs import PassJob
from cappedlda._data.record import Record
from cappedlda._kernels import kernels, selection
from cappedlda._rules.rule import ratios_of, within

# Rows of a piece, where some numbers are needed for each row, but not for all at once.
PIECE_ROWS = 1 << 15
# Rows within this share of their cap are noted.
BORDER = 0.125


class PerSample(NamedTuple):
    """What is found about each training row; arrays of shape (N,)."""

    distances: np.ndarray
    weights: np.ndarray
    outliers: np.ndarray
    left_out: np.ndarray


@dataclass
class Border:
    """The rows that are near the cap of their class, with a weight above 0; additive.

    Attributes
    ----------
    codes, distances, weights : ndarray of shape (k,)
    most_rows : int
        Of more rows nothing is noted.
    complete : bool
        False if there were more.
    """

    codes: np.ndarray
    distances: np.ndarray
    weights: np.ndarray
    most_rows: int
    complete: bool = True

    @classmethod
    def of(cls, distances, codes, sample_weight, caps, most_rows):
        """Return the border among some rows."""
        rows, given = np.empty(len(codes), np.int32), sample_weight is not None
        found = selection.find_between(
            distances, codes, sample_weight if given else np.empty(0), *_border(caps), rows
        )
        rows = rows[:found]
        weights = sample_weight[rows] if given else np.ones(found)
        return cls(codes[rows], distances[rows], weights, most_rows)._limited()

    def __iadd__(self, other):
        for name in ("codes", "distances", "weights"):
            setattr(self, name, np.concatenate([getattr(self, name), getattr(other, name)]))
        self.complete &= other.complete
        return self._limited()

    def _limited(self):
        if len(self.codes) > self.most_rows:
            nothing = np.empty(0, np.int32), np.empty(0), np.empty(0)
            return Border(*nothing, self.most_rows, complete=False)
        return self

    def gain(self, caps, others):
        """Return how much more weight other caps keep, or None if these rows do not tell."""
        low, high = _border(caps)
        near = (others > low) & (others <= high)
        if not (self.complete and np.all((others == caps) | near)):
            return None
        after, before = (self.distances <= limits[self.codes] for limits in (others, caps))
        return float(self.weights[after].sum() - self.weights[before].sum())


def _border(caps):
    """Return the limits between which distances are near caps."""
    return (1.0 - BORDER) * caps, (1.0 + BORDER) * caps


@dataclass
class RecordWithBorder:
    """The record of a pass, and the border; additive."""

    record: Record
    border: Border

    def __iadd__(self, other):
        self.record += other.record
        self.border += other.border
        return self


@dataclass(frozen=True)
class BorderJob:
    """Makes the record of a block of rows, and notes those near the caps."""

    job: PassJob
    most_rows: int

    def begin(self, dtype, *checksums):
        """Return what makes the result for a slab that comes in pieces."""
        return SlabBorder(self.job.begin(dtype, *checksums), self.job.query.caps, self.most_rows)

    def __call__(self, X, codes, sample_weight, _=None):
        """Return a `RecordWithBorder`."""
        slab = self.begin(X.dtype)
        slab.add(X, codes, sample_weight)
        return slab.result()


class SlabBorder:
    """Makes the record of a slab of rows that come in pieces, and notes those near the caps.

    Parameters
    ----------
    slab : SlabPass
    caps : ndarray of shape (c,)
    most_rows : int
    """

    def __init__(self, slab, caps, most_rows):
        self._slab, self._caps, self._most_rows = slab, caps, most_rows
        self._border = None

    def add(self, X, codes, sample_weight):
        """Add the next rows; see `SlabPass`."""
        distances, weights = self._slab.measure(X, codes, sample_weight)
        border = Border.of(distances, codes, weights, self._caps, self._most_rows)
        if self._border is None:
            self._border = border
        else:
            self._border += border

    @property
    def all_finite(self):
        """Whether all numbers were finite, if there are checksums."""
        return self._slab.all_finite

    def result(self):
        """Return a `RecordWithBorder`, after the last piece."""
        return RecordWithBorder(self._slab.result(), self._border)


class BorderDistances:
    """What a pass notes of rows whose distances are not kept; it is repeated if that is too little.

    Parameters
    ----------
    rows : Rows
    query : Query
    """

    def __init__(self, rows, query):
        self._rows = rows
        self._see(query)

    def _see(self, query):
        gate = self._rows.gate.restricting
        job = BorderJob(PassJob(query, gate), self._rows.regime.most_border_rows)
        seen = self._rows.reduce(job)
        self._query, self._record, self._border = query, seen.record.mirror(), seen.border

    def kept_weight(self, caps):
        """Return the weight of the rows within caps of shape (c,)."""
        gain = self._border.gain(self._query.caps, caps)
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


class SampleDistances:
    """What a pass saw of each row of an array.

    Parameters
    ----------
    rows : ArrayRows
    distances : ndarray of shape (N,)
    """

    def __init__(self, rows, distances):
        self._rows = rows
        self._distances = distances

    def kept_weight(self, caps):
        """Return the weight of the rows within caps of shape (c,)."""
        return self._rows.weight_of(within(self._distances, caps, self._rows.codes))

    def record(self, query):
        """Return the record of the last query but for its caps."""
        return self._rows.run(query)

    def inside(self, caps, level):
        """Return which rows are within caps of shape (c,) and a multiple of the gate."""
        mask = within(self._distances, caps, self._rows.codes)
        gate_ratio = self._rows.gate_ratio
        return mask if gate_ratio is None else mask & (gate_ratio <= level)

    def ratios(self, caps):
        """Return the larger of the ratios of each row to its cap and to the gate."""
        rows = self._rows
        return ratios_of(self._distances, caps[rows.codes], rows.gate_ratio)

    def per_sample(self, caps, flag_level, support, norm=None):
        """Return the results for each row, `PerSample`.

        Parameters
        ----------
        caps : ndarray of shape (c,)
        flag_level : float
            Rows beyond this multiple of caps and gate are flagged.
        support : ndarray of shape (N,), bool
        norm : tuple of float, optional
            Exponent and floor of the weights; without it they are equal.
        """
        outliers = ~self.inside(flag_level * caps, flag_level)
        return per_sample(self._distances, outliers, support, norm)


def measured(rows, flag_rule, leave_out_rule, norm):
    """Return `PerSample` of other rows than a fit has seen, by its rules."""
    distances = flag_rule.distances(rows)
    outliers = ~flag_rule.contains(rows, distances)
    return per_sample(distances, outliers, leave_out_rule.contains(rows), norm)


def per_sample(distances, outliers, support, norm):
    """Return `PerSample`: the weights are those of a norm in the support, or 1 without a norm."""
    if norm is None:
        return PerSample(distances, support.astype(np.float64), outliers, ~support)
    weights, caps = np.empty_like(distances), np.full(min(len(distances), PIECE_ROWS), np.inf)
    for start in range(0, len(distances), PIECE_ROWS):
        piece = slice(start, start + PIECE_ROWS)
        size = len(distances[piece])
        kernels.capped_weights(distances[piece], caps[:size], weights[piece], *norm)
    np.copyto(weights, 0.0, where=~support)
    return PerSample(distances, weights, outliers, ~support)
