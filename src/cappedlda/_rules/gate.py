"""The gate: a fence on the size of whole rows, in robust units of the features."""

import math
from dataclasses import dataclass

import numpy as np

from cappedlda._kernels import kernels_for
from cappedlda._regime import REGIME
from cappedlda._rules.fences import fixed_point_caps, least_fence


def gate_caps(histograms, n_features, regime=REGIME):
    """Return caps on the size of whole rows, shape (c,)."""
    least = least_fence(n_features) / math.sqrt(n_features)
    start = np.full(len(histograms), least)
    return fixed_point_caps(histograms, start=start, regime=regime, least=least).caps


@dataclass(frozen=True)
class Gate:
    """A fence on the size of whole rows, in robust units of the features.

    A row that is far outside in any direction is out for good: in directions that do
    not separate the classes the cap would not see it, but the scatter would.
    """

    centres: np.ndarray  # (c, n)
    scale: np.ndarray  # (n,)
    caps: np.ndarray  # (c,)

    def at(self, level):
        """Return the gate with other caps, multiples of these."""
        return Gate(self.centres, self.scale, level * self.caps)

    def ratios(self, rows):
        """Return the size of rows over that of the fence of their class."""
        return rows.norms(self.centres, self.scale)[0] / self.caps[rows.codes]


def scaled_norms(X, codes, centres, scale, norms=None):
    """Return the root mean square of (x - centre) / scale of each row of a C-ordered block."""
    norms = np.empty(len(X)) if norms is None else norms
    kernels_for(X.shape[1]).scaled_norms(
        X, codes, np.ascontiguousarray(centres, X.dtype), (1.0 / scale).astype(X.dtype), norms
    )
    return norms
