"""Jobs on a block of rows, C-ordered in memory, whose results add up: records and histograms."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cappedlda._data.record import Border, Record
from cappedlda._kernels import kernels, kernels_for
from cappedlda._rules.rule import Gate, Query


@dataclass(frozen=True)
class PassJob:
    """Makes the record of a block; rows beyond a multiple of the gate have no weight."""

    query: Query
    gate: Gate | None = None  # None also if the ratios of the rows to it are known
    level: float = np.inf
    most_border_rows: int = 0  # at most this many rows near the caps are noted
    weigh: Callable | None = None  # returns factors of the weights of rows (X, codes)

    def __call__(self, X, codes, sample_weight, distances=None, gate_ratios=None):
        """Return the record; only upper triangles are filled.

        Filled are, if given, the distances of the rows and their size over that of the gate; where
        that is known, there is no gate, and it is read.
        """
        query, dtype, noted = self.query, X.dtype, self.most_border_rows > 0
        n, d = query.W.shape
        build = kernels_for(n)
        record = Record.empty(query, scatter=False)
        W = np.ascontiguousarray(query.W, dtype)
        centres = np.ascontiguousarray(query.centres, dtype)
        # Images of the very values that the kernel multiplies, so that they cancel. For few
        # numbers `dot` takes half as long as `@`.
        wide_W = W.astype(np.float64, copy=False)
        images = centres.astype(np.float64, copy=False).dot(wide_W).astype(dtype, copy=False)
        side = build.padded(n, dtype.itemsize) if query.scatter else 0
        image_side = build.padded_image(d, dtype.itemsize) if query.images else 0
        # Only views of them are in the record.
        scatter, image_scatter = np.zeros((side, side)), np.zeros((image_side, image_side))
        if self.weigh is not None:
            sample_weight = scaled_weights(self.weigh(X, codes), sample_weight)
        if noted:
            distances = np.empty(len(X))
            gate_ratios = None if self.gate is None else np.empty(len(X))
        record.objective, record.not_finite = build.fused_pass(
            X,
            codes,
            sample_weight,
            W,
            images,
            centres,
            (1.0 / query.scale).astype(dtype, copy=False),
            query.caps,
            *self.gate_arguments(dtype),
            gate_ratios,
            distances,
            scatter,
            record.sums,
            image_scatter,
            record.image_sums,
            record.kept,
            record.histograms,
            query.q,
            query.floor,
        )
        record.scatter, record.image_scatter = scatter[:n, :n], image_scatter[:d, :d]
        if query.images and query.sums:
            record.image_sums = record.sums.dot(wide_W)
        if noted:
            if gate_ratios is not None:
                sample_weight = scaled_weights(gate_ratios <= self.level, sample_weight)
            rows = distances, codes, sample_weight
            record.border = Border.of(*rows, query.caps, self.most_border_rows)
        return record

    def gate_arguments(self, dtype):
        """Return centres, inverse scale, caps and level of the gate as the kernels take them."""
        if self.gate is None:
            return None, None, None, self.level
        gate = self.gate
        inverse = (1.0 / gate.scale).astype(dtype, copy=False)
        return np.ascontiguousarray(gate.centres, dtype), inverse, gate.caps, self.level


def scaled_weights(factors, sample_weight):
    """Return the weights of rows times factors; a mask drops rows."""
    return factors * (1.0 if sample_weight is None else sample_weight)


def norm_histograms(X, codes, sample_weight, norms=None, *, centres, scale):
    """Return histograms (c, HISTOGRAM_BINS) of root mean squares of (x - centre) / scale.

    These norms are filled if given.
    """
    norms = np.empty(len(X)) if norms is None else norms
    kernels_for(X.shape[1]).scaled_norms(
        X, codes, np.ascontiguousarray(centres, X.dtype), (1.0 / scale).astype(X.dtype), norms
    )
    return histograms_of(norms, codes, len(centres), sample_weight)


def histograms_of(distances, codes, n_classes, sample_weight=None):
    histograms = np.zeros((n_classes, kernels.HISTOGRAM_BINS))
    kernels.add_to_histograms(distances, codes, sample_weight, histograms)
    return histograms
