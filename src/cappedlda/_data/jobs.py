"""Jobs on one block of rows, whose results add up: records, norms and histograms.

Blocks are C-ordered arrays in memory. Whoever holds the rows cuts them into blocks and runs
these jobs on them; see `base`.
"""

from dataclasses import dataclass

import numpy as np

from cappedlda._cutoffs.gate import Gate, scaled_norms
from cappedlda._data.record import Query, Record
from cappedlda._kernels import SlabState, kernels, kernels_for


class SlabPass:
    """Makes the record of a slab of rows that come in pieces; only upper triangles are filled.

    The record of a slab does not depend on its pieces, bit for bit.

    Parameters
    ----------
    query : Query
    dtype : dtype
        Of the rows.
    gate : Gate, optional
        Rows outside have no weight.
    *checksums : ndarray
        Keys and checksums that are added to, if they are wanted; see `SlabState`.
    """

    def __init__(self, query, dtype, gate=None, *checksums):
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

    def add(self, X, codes, sample_weight, distances=None):
        """Add the next rows; return their weights, 0 outside the gate, or None: all ones.

        Parameters
        ----------
        X : ndarray of shape (rows, n), C order
            All pieces but the last have a multiple of `piece_rows` of the kernels.
        codes : ndarray of shape (rows,), int32
        sample_weight : ndarray of shape (rows,) or None
        distances : ndarray of shape (rows,), float64, optional
            Filled with the distances of the rows.
        """
        query, record, weight = self._query, self._record, sample_weight
        if self._gate is not None:
            weight = weights_inside(self._gate.contains(X, codes), sample_weight)
        self._fused_pass(
            X,
            codes,
            _NOTHING if weight is None else weight,
            *self._measure,
            query.caps,
            _NOTHING if distances is None else distances,
            record.scatter,
            record.sums,
            record.image_scatter,
            record.kept,
            record.histograms,
            query.q,
            query.floor,
            self._state,
            _NOTHING if sample_weight is None else sample_weight,
        )
        return weight

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


def block_record(X, codes, sample_weight, query, distances=None):
    """Return the record of one C-ordered block of rows; only upper triangles are filled.

    Parameters
    ----------
    X : ndarray of shape (N, n), float32 or float64, C order
    codes : ndarray of shape (N,), int32
    sample_weight : ndarray of shape (N,) or None
    query : Query
    distances : ndarray of shape (N,), float64, optional
        Filled with the distances of the rows.
    """
    slab = SlabPass(query, X.dtype)
    slab.add(X, codes, sample_weight, distances)
    return slab.result()


_NOTHING = np.empty(0)


def weights_inside(inside, sample_weight):
    """Return the weights of rows with those outside out of every sum."""
    return inside * (1.0 if sample_weight is None else sample_weight)


@dataclass(frozen=True)
class PassJob:
    """Makes the record of a block of rows; those outside the gate have no weight."""

    query: Query
    gate: Gate | None = None

    def begin(self, dtype, *checksums):
        """Return what makes the record of a slab that comes in pieces."""
        return SlabPass(self.query, dtype, self.gate, *checksums)

    def __call__(self, X, codes, sample_weight, distances=None):
        """Return the record; `distances` are filled if given."""
        weights = self.weights(X, codes, sample_weight)
        return block_record(X, codes, weights, self.query, distances)

    def weights(self, X, codes, sample_weight):
        """Return the weights of the rows, 0 outside the gate."""
        if self.gate is None:
            return sample_weight
        return weights_inside(self.gate.contains(X, codes), sample_weight)


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
