"""What the last pass saw of each row: kept for arrays, of other rows only what may matter."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cappedlda._kernels import kernels
from cappedlda._rules.rule import ratios_of, within

# Rows of a piece, where some numbers are needed for each row, but not for all at once.
PIECE_ROWS = 1 << 15


class PerSample(NamedTuple):
    """What is found about each training row; arrays of shape (N,)."""

    distances: np.ndarray
    weights: np.ndarray
    outliers: np.ndarray
    left_out: np.ndarray


class BorderDistances:
    """What a pass notes of rows whose distances are not kept; if it is too little, once more."""

    def __init__(self, rows, query):
        self._rows = rows
        self._see(query)

    def _see(self, query):
        job = self._rows.job(query, self._rows.regime.most_border_rows)
        self._query, self._record = query, self._rows.reduce(job).mirror()

    def kept_weight(self, caps):
        """Return the weight of the rows within caps of shape (c,)."""
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


class SampleDistances:
    """What a pass saw of each row of an array: its distance."""

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
        """Return the results for each row, `PerSample`; those beyond the flag level are flagged.

        Those of the support have weights: by a norm, given its exponent and floor, or equal ones.
        """
        outliers = ~self.inside(flag_level * caps, flag_level)
        return per_sample(self._distances, outliers, support, norm)


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
    weights, caps = np.empty_like(distances), np.full(min(len(distances), PIECE_ROWS), np.inf)
    for start in range(0, len(distances), PIECE_ROWS):
        piece = slice(start, start + PIECE_ROWS)
        size = len(distances[piece])
        kernels.capped_weights(distances[piece], caps[:size], weights[piece], *norm)
    np.copyto(weights, 0.0, where=~support)
    return PerSample(distances, weights, outliers, ~support)
