"""What a pass answers to a `Query`."""

import math
from dataclasses import dataclass, fields

import numpy as np

from cappedlda._data.moments import Moments, freedom_of
from cappedlda._kernels import algebra, kernels

# Sums up the bins of histograms, for a few of them faster than `sum`.
_ONES = np.ones(kernels.HISTOGRAM_BINS)
# Rows within this share of their cap are noted.
BORDER = 0.125


@dataclass
class Record:
    """All a solver learns from a pass. Records of disjoint rows add up.

    What was not asked for has no size.
    """

    scatter: np.ndarray  # (n, n), sum of F_j h_j h_j' over kept rows; or an ImplicitScatter
    sums: np.ndarray  # (c, n), of kept rows about the centre of their class
    image_sums: np.ndarray  # (c, d), the same of the projected rows; zeros if not asked for
    image_scatter: np.ndarray  # (d, d), sum of z_j z_j' over kept rows
    kept: np.ndarray  # (c, 2), number and weight of the kept rows
    histograms: np.ndarray  # (c, HISTOGRAM_BINS), weight of all rows by distance in each class
    objective: float = 0.0  # sum of the capped losses
    not_finite: int = 0  # rows whose distance is not a finite number
    border: "Border | None" = None

    _class_weights = None  # once they are known

    @classmethod
    def empty(cls, query, scatter=True):
        """Return the record of no rows; without a scatter if it will come from elsewhere."""
        n, d = query.W.shape
        c = len(query.centres)
        return cls(
            scatter=np.zeros((n, n) if scatter and query.scatter else (0, 0)),
            sums=np.zeros((c, n) if query.sums else (0, 0)),
            image_sums=np.zeros((c, d)),
            image_scatter=np.zeros((d, d) if query.images else (0, 0)),
            kept=np.zeros((c, 2)),
            histograms=np.zeros((c, kernels.HISTOGRAM_BINS)),
        )

    @property
    def class_weights(self):
        """Weight of all rows of each class, kept or not."""
        if self._class_weights is None:
            self._class_weights = self.histograms.dot(_ONES)
        return self._class_weights

    @property
    def weight(self):
        """Weight of all rows, kept or not."""
        return math.fsum(self.class_weights.tolist())

    @property
    def kept_weight(self):
        return math.fsum(self.kept[:, 1].tolist())

    @property
    def freedom(self):
        return freedom_of(self.kept_weight, len(self.kept))

    @property
    def overflows(self):
        """Whether a distance or the scatter is too large for floating-point numbers."""
        return self.not_finite > 0 or not math.isfinite(
            sum(self.scatter.diagonal().tolist())  # for few numbers the fastest
        )

    def __iadd__(self, other):
        for name in _SUMS:
            value = getattr(self, name)
            value += getattr(other, name)
            setattr(self, name, value)
        if self.border is not None:
            self.border += other.border
        self._class_weights = None
        return self

    def means(self, centres):
        """Return the means of the kept rows, shape (c, n), given the centres of the pass."""
        means = np.empty(centres.shape)
        algebra.means_of(self.sums, self.kept[:, 1], means)
        return centres + means

    def moments(self, centres, scale):
        """Return the moments of rows kept with equal weights (q = 2), about those centres."""
        weights = self.kept[:, 1].copy()
        return Moments(weights, self.sums, self.scatter, centres, scale, factor=2.0)

    def mirror(self):
        """Copy the upper triangles, which the kernels fill, to the lower ones."""
        if self.scatter.size > 1:
            self.scatter = _mirrored(self.scatter)
        if self.image_scatter.size > 1:
            self.image_scatter = _mirrored(self.image_scatter)
        return self


def _mirrored(upper):
    full = np.ascontiguousarray(upper)
    algebra.mirror(full)
    return full


def check_overflow(record):
    """Raise an error if rows that count are too far off for floating-point numbers."""
    if record.overflows:
        raise ValueError(
            "The squares of some distances in X overflow; remove or scale the rows that are so "
            "far off, or use CappedLDA with epsilon='auto', which leaves them out."
        )


_SUMS = [item.name for item in fields(Record) if item.name != "border"]


@dataclass
class Border:
    """The rows near the cap of their class, with a weight above 0; additive."""

    rows: np.ndarray | None  # (3, k): codes, distances and weights; None if they are too many
    most_rows: int

    @classmethod
    def of(cls, distances, codes, sample_weight, caps, most_rows):
        low, high = _border(caps)
        near = (distances > low[codes]) & (distances <= high[codes])
        if sample_weight is not None:
            near &= sample_weight > 0.0
        (rows,) = near.nonzero()
        weights = np.ones(len(rows)) if sample_weight is None else sample_weight[rows]
        return cls(np.stack([codes[rows], distances[rows], weights]), most_rows)._limited()

    def __iadd__(self, other):
        if self.rows is None or other.rows is None:
            self.rows = None
        else:
            self.rows = np.hstack([self.rows, other.rows])
        return self._limited()

    def _limited(self):
        if self.rows is not None and self.rows.shape[1] > self.most_rows:
            self.rows = None
        return self

    def gain(self, caps, others):
        """Return how much more weight other caps keep, or None if these rows do not tell."""
        low, high = _border(caps)
        near = (others > low) & (others <= high)
        if self.rows is None or not np.all((others == caps) | near):
            return None
        codes, distances, weights = self.rows
        after, before = (distances <= limits[codes.astype(int)] for limits in (others, caps))
        return float(weights[after].sum() - weights[before].sum())


def _border(caps):
    """Return the limits between which distances are near caps."""
    return (1.0 - BORDER) * caps, (1.0 + BORDER) * caps
