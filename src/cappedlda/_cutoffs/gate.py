"""The gate: a fence on the size of whole rows, in robust units of the features."""

import math
from dataclasses import dataclass

import numpy as np

from cappedlda._cutoffs.fences import GATE_REACH, MIN_GAP, fixed_point_caps, least_fence
from cappedlda._kernels import histograms as fences
from cappedlda._kernels import kernels_for
from cappedlda._regime import REGIME

# A gap that ends a class: its width in distances from the lower quartile to the median, with
# at least half of the class inside and this share beyond; fewer rows need a wider gap.
GAP = 1.5
GAP_ROWS = 8.0
GAP_SHARE = 0.1
# Reach of the fence beyond which rows are flagged; they are trusted inside the nearer one. The
# features of real data have longer tails than the lower half of the rows tells.
FLAG_REACH = 13.0


def gate_caps(histograms, n_features, regime=REGIME):
    """Return caps on the size of whole rows, and how much farther flagged rows begin.

    The caps are fences, or nearer the first wide gap.

    Returns
    -------
    caps, margins : ndarray of shape (c,)
    """
    least = least_fence(n_features) / math.sqrt(n_features)
    start = np.full(len(histograms), least)
    fences = fixed_point_caps(histograms, GATE_REACH, start, regime, least)
    gaps = np.maximum(first_gaps(histograms, fences.caps, regime), least)
    beyond = (FLAG_REACH / GATE_REACH - 1.0) * (fences.caps - min(fences.median, least))
    # What lies beyond a gap is flagged at once.
    margins = np.where(gaps < fences.caps, 1.0, 1.0 + beyond / fences.caps)
    return np.minimum(fences.caps, gaps), margins


def first_gaps(histograms, caps, regime=REGIME):
    """Return the distance at which the inner half of each class ends in a wide gap, or inf.

    Part of a class that lies apart from the rest, as a cloud or a cluster does, may be
    within the fence of a class that spreads much; the gap shows that it does not belong.
    Rows beyond the caps are out anyhow and prove nothing.
    """
    gaps = np.empty(len(caps))
    limits = GAP, GAP_ROWS, GAP_SHARE, MIN_GAP, regime.least_class_weight
    fences.find_gaps(histograms, caps, *limits, gaps)
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
    margins : ndarray of shape (c,) or None
        Rows are flagged beyond this multiple of the caps.
    """

    centres: np.ndarray
    scale: np.ndarray
    caps: np.ndarray
    margins: np.ndarray | None = None

    def at(self, level):
        """Return the gate with other caps, multiples of these."""
        return Gate(self.centres, self.scale, level * self.caps, self.margins)

    @property
    def usual(self):
        """The gate beyond which rows are flagged."""
        return Gate(self.centres, self.scale, self.caps * self.margins)

    def ratio(self, rows):
        """Return the size of rows over that of the fence of their class."""
        return rows.norms(self.centres, self.scale)[0] / self.caps[rows.codes]


def scaled_norms(X, codes, centres, scale, norms=None):
    """Return the root mean square of (x - centre) / scale of each row of a C-ordered block."""
    norms = np.empty(len(X)) if norms is None else norms
    kernels_for(X.shape[1]).scaled_norms(
        X, codes, np.ascontiguousarray(centres, X.dtype), (1.0 / scale).astype(X.dtype), norms
    )
    return norms
