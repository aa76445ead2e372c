"""The gate: a fence on the size of whole rows, in robust units of the features."""

from dataclasses import dataclass

import numpy as np

from cappedlda._cutoffs.fences import (
    _POSITIONS,
    GATE_REACH,
    MIN_GAP,
    fixed_point_caps,
)
from cappedlda._kernels import fences, kernels
from cappedlda._regime import REGIME

# A gap that ends a class: its width in distances from the lower quartile to the median, with
# at least half of the class inside and this share beyond; fewer rows need a wider gap.
GAP = 1.5
GAP_ROWS = 8.0
GAP_SHARE = 0.1


def gate_caps(histograms, regime=REGIME):
    """Return caps on the size of whole rows: fences, or nearer the first wide gap."""
    caps = fixed_point_caps(histograms, GATE_REACH, regime=regime).caps
    return np.minimum(caps, first_gaps(histograms, caps, regime))


def first_gaps(histograms, caps, regime=REGIME):
    """Return the distance at which the inner half of each class ends in a wide gap, or inf.

    Part of a class that lies apart from the rest, as a cloud or a cluster does, may be
    within the fence of a class that spreads much; the gap shows that it does not belong.
    Rows beyond the caps are out anyhow and prove nothing.
    """
    gaps = np.empty(len(caps))
    limits = GAP, GAP_ROWS, GAP_SHARE, MIN_GAP, regime.least_class_weight
    fences.find_gaps(histograms, _POSITIONS, caps, *limits, gaps)
    return gaps * (1.0 + 0.5 * MIN_GAP)


@dataclass(frozen=True)
class Gate:
    """A fence on the size of whole rows, in robust units of the features.

    A row that is far outside in any direction is out for good: in directions that do
    not separate the classes the cap would not see it, but the scatter would.

    Attributes
    ----------
    centres : ndarray of shape (c, n)
    scale : ndarray of shape (n,)
    caps : ndarray of shape (c,)
    """

    centres: np.ndarray
    scale: np.ndarray
    caps: np.ndarray

    def ratio(self, rows):
        """Return the size of rows over that of the fence of their class."""
        return rows.norms(self.centres, self.scale)[0] / self.caps[rows.codes]

    def contains(self, X, codes):
        """Return which rows of a C-ordered block are inside."""
        return scaled_norms(X, codes, self.centres, self.scale) <= self.caps[codes]


def scaled_norms(X, codes, centres, scale, norms=None):
    """Return the root mean square of (x - centre) / scale of each row of a C-ordered block."""
    norms = np.empty(len(X)) if norms is None else norms
    kernels.scaled_norms(
        X, codes, np.ascontiguousarray(centres, X.dtype), (1.0 / scale).astype(X.dtype), norms
    )
    return norms
