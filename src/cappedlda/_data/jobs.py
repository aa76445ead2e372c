"""Jobs on one block of rows, whose results add up: records, norms and histograms.

Blocks are C-ordered arrays in memory. Whoever holds the rows cuts them into blocks and runs
these jobs on them; see `base`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cappedlda._data.record import Record
from cappedlda._kernels import SlabState, kernels, kernels_for
from cappedlda._rules.gate import Gate, scaled_norms
from cappedlda._rules.rule import Query

_NOTHING = np.empty(0)
_NO_GATE = {
    np.dtype(dtype): (np.empty((0, 0), dtype), np.empty(0, dtype), _NOTHING)
    for dtype in (np.float32, np.float64)
}


class GateLevel(NamedTuple):
    """A multiple of a gate, beyond which rows have no weight.

    Attributes
    ----------
    gate : Gate or None
        None if the ratios of the rows to it are known.
    level : float
    """

    gate: Gate | None
    level: float

    @property
    def restricting(self):
        """It, or no gate if no row is beyond it."""
        return self if self.level < np.inf else NO_GATE

    def arguments(self, dtype):
        """Return centres, inverse scale, caps and level as the kernels take them."""
        if self.gate is None:
            return *_NO_GATE[dtype], self.level
        gate = self.gate
        inverse = (1.0 / gate.scale).astype(dtype, copy=False)
        return np.ascontiguousarray(gate.centres, dtype), inverse, gate.caps, self.level


NO_GATE = GateLevel(None, np.inf)


class SlabPass:
    """Makes the record of a slab of rows that come in pieces; only upper triangles are filled.

    The record of a slab does not depend on its pieces, bit for bit.

    Parameters
    ----------
    query : Query
    dtype : dtype
        Of the rows.
    gate : GateLevel
        Rows beyond it have no weight.
    *checksums : ndarray
        Keys and checksums that are added to, if they are wanted; see `SlabState`.
    """

    def __init__(self, query, dtype, gate=NO_GATE, *checksums):
        n, d = query.W.shape
        build = kernels_for(n)
        record = Record.empty(query, scatter=False)
        W = np.ascontiguousarray(query.W, dtype)
        centres = np.ascontiguousarray(query.centres, dtype)
        # Images of the very values that the kernel multiplies, so that they cancel. For few
        # numbers `dot` takes half as long as `@`.
        self._wide_W = wide_W = W.astype(np.float64, copy=False)
        images = centres.astype(np.float64, copy=False).dot(wide_W).astype(dtype, copy=False)
        inv_scale = (1.0 / query.scale).astype(dtype, copy=False)
        side = build.padded(n, dtype.itemsize) if query.scatter else 0
        image_side = build.padded_image(d, dtype.itemsize) if query.images else 0
        # Only views of them are in the record.
        record.scatter = np.zeros((side, side))
        record.image_scatter = np.zeros((image_side, image_side))
        self._query, self._record, self._state = query, record, SlabState(*checksums)
        self._gate = gate
        self._fused_pass, self._measure = build.fused_pass, (W, images, centres, inv_scale)
        self._fence = gate.arguments(dtype)

    def add(self, X, codes, sample_weight, distances=None, gate_ratios=None):
        """Add the next rows.

        Parameters
        ----------
        X : ndarray of shape (rows, n), C order
            All pieces but the last have a multiple of `piece_rows` of the kernels.
        codes : ndarray of shape (rows,), int32
        sample_weight : ndarray of shape (rows,) or None
        distances : ndarray of shape (rows,), float64, optional
            Filled with the distances of the rows.
        gate_ratios : ndarray of shape (rows,), float64, optional
            Filled with the size of the rows over that of the gate, if it is not known yet.
        """
        query, record = self._query, self._record
        self._fused_pass(
            X,
            codes,
            _NOTHING if sample_weight is None else sample_weight,
            *self._measure,
            query.caps,
            *self._fence,
            _NOTHING if gate_ratios is None else gate_ratios,
            _NOTHING if distances is None else distances,
            record.scatter,
            record.sums,
            record.image_scatter,
            record.kept,
            record.histograms,
            query.q,
            query.floor,
            self._state,
        )

    def measure(self, X, codes, sample_weight):
        """Add the next rows; return their distances, and their weights, 0 beyond the gate."""
        distances = np.empty(len(X))
        ratios = None if self._gate.gate is None else np.empty(len(X))
        self.add(X, codes, sample_weight, distances, ratios)
        if ratios is not None:
            sample_weight = weights_inside(ratios <= self._gate.level, sample_weight)
        return distances, sample_weight

    @property
    def all_finite(self):
        """Whether all numbers were finite, if there are checksums."""
        return self._state.finite

    def result(self):
        """Return the record, after the last piece."""
        query, record, state = self._query, self._record, self._state
        n, d = query.W.shape
        state.finish(record.image_sums)
        record.objective, record.not_finite = state.objective, state.not_finite
        if query.scatter:
            record.scatter = record.scatter[:n, :n]
        if query.images:
            record.image_scatter = record.image_scatter[:d, :d]
            if query.sums:
                record.image_sums = record.sums.dot(self._wide_W)
        return record


def block_record(X, codes, sample_weight, query, distances=None, gate=NO_GATE, gate_ratios=None):
    """Return the record of one C-ordered block of rows; only upper triangles are filled.

    Parameters
    ----------
    X : ndarray of shape (N, n), float32 or float64, C order
    codes : ndarray of shape (N,), int32
    sample_weight : ndarray of shape (N,) or None
    query : Query
    distances : ndarray of shape (N,), float64, optional
        Filled with the distances of the rows.
    gate : GateLevel, optional
        Rows beyond it have no weight.
    gate_ratios : ndarray of shape (N,), float64, optional
        Filled with the size of the rows over that of the gate, if it is not known yet.
    """
    slab = SlabPass(query, X.dtype, gate)
    slab.add(X, codes, sample_weight, distances, gate_ratios)
    return slab.result()


def weights_inside(inside, sample_weight):
    """Return the weights of rows with those outside out of every sum."""
    return inside * (1.0 if sample_weight is None else sample_weight)


@dataclass(frozen=True)
class PassJob:
    """Makes the record of a block of rows; those beyond the gate have no weight."""

    query: Query
    gate: GateLevel = NO_GATE

    def begin(self, dtype, *checksums):
        """Return what makes the record of a slab that comes in pieces."""
        return SlabPass(self.query, dtype, self.gate, *checksums)

    def __call__(self, X, codes, sample_weight, distances=None, gate_ratios=None):
        """Return the record; `distances` and `gate_ratios` are filled if given."""
        outs = distances, self.gate, gate_ratios
        return block_record(X, codes, sample_weight, self.query, *outs)


@dataclass(frozen=True)
class NormsJob:
    """Makes the histograms of the scaled norms of a block of rows."""

    centres: np.ndarray
    scale: np.ndarray

    def __call__(self, X, codes, sample_weight, norms=None):
        """Return histograms of shape (c, HISTOGRAM_BINS); `norms` are filled if given."""
        norms = scaled_norms(X, codes, self.centres, self.scale, norms)
        return histograms_of(norms, codes, len(self.centres), sample_weight)


def histograms_of(distances, codes, n_classes, sample_weight=None):
    """Return the histograms of distances of shape (N,), one per class."""
    histograms = np.zeros((n_classes, kernels.HISTOGRAM_BINS))
    weights = _NOTHING if sample_weight is None else sample_weight
    kernels.add_to_histograms(distances, codes, weights, histograms)
    return histograms
