"""What a pass answers to a `Query`: an additive `Record`."""

import math
from dataclasses import dataclass, fields

import numpy as np

from cappedlda._kernels import algebra, kernels

# What sums up the bins of histograms, for a few of them faster than `sum`.
_ONES = np.ones(kernels.HISTOGRAM_BINS)


@dataclass
class Record:
    """All a solver learns from a pass. Records of disjoint rows add up.

    Attributes
    ----------
    scatter : ndarray of shape (n, n), or ImplicitScatter
        Sum of F_j h_j h_j' over kept rows; (0, 0) if not asked for.
    sums : ndarray of shape (c, n)
        Sums of kept rows about the centre of their class; (0, 0) if not asked for.
    image_sums : ndarray of shape (c, d)
        The same of the projected rows; zeros if not asked for.
    image_scatter : ndarray of shape (d, d)
        Sum of z_j z_j' over kept rows; (0, 0) if not asked for.
    kept : ndarray of shape (c, 2)
        Number and weight of the kept rows.
    histograms : ndarray of shape (c, HISTOGRAM_BINS)
        Weight by distance in each class; their sum is the weight of all rows.
    objective : float
        Sum of the capped losses.
    not_finite : int
        Rows whose distance is not a finite number.
    """

    scatter: np.ndarray
    sums: np.ndarray
    image_sums: np.ndarray
    image_scatter: np.ndarray
    kept: np.ndarray
    histograms: np.ndarray
    objective: float = 0.0
    not_finite: int = 0

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
        """Weight of the kept rows."""
        return math.fsum(self.kept[:, 1].tolist())

    @property
    def overflows(self):
        """Whether a distance or the scatter is too large for floating-point numbers."""
        return self.not_finite > 0 or not self._has_finite_scatter()

    def _has_finite_scatter(self):
        return math.isfinite(sum(self.scatter.diagonal().tolist()))  # for few numbers the fastest

    def __iadd__(self, other):
        for item in fields(self):
            value = getattr(self, item.name)
            value += getattr(other, item.name)
            setattr(self, item.name, value)
        self._class_weights = None
        return self

    def means(self, centres):
        """Return the means of the kept rows, shape (c, n), given the centres of the pass."""
        return centres + self.mean_of(self.sums)

    def mean_of(self, sums):
        """Return sums of kept rows of shape (c, n) over their weight; 0 where none is kept."""
        means = np.empty(sums.shape)
        algebra.means_of(sums, self.kept, means)
        return means

    def recentre(self, centres, scale):
        """Give the scatter of equal weights (q = 2) about the means of the kept rows.

        Parameters
        ----------
        centres : ndarray of shape (c, n)
            The centres of the pass.
        scale : ndarray of shape (n,)

        Returns
        -------
        means : ndarray of shape (c, n)
        """
        means, moves = np.empty(centres.shape), np.empty(centres.shape)
        centres, scale = np.ascontiguousarray(centres), np.ascontiguousarray(scale)
        algebra.move_centres(centres, self.sums, self.kept, scale, means, moves)
        self._move_scatter(means, moves)
        return means

    def _move_scatter(self, means, moves):
        """Move the centres of the scatter, by scaled and weighted moves of shape (c, n)."""
        self.scatter -= moves.T.dot(moves)

    def mirror(self):
        """Copy the upper triangles, which the kernels fill, to the lower ones."""
        self.scatter = _mirrored(self.scatter)
        self.image_scatter = _mirrored(self.image_scatter)
        return self


def _mirrored(upper):
    if upper.size < 2:
        return upper
    full = upper if upper.flags.c_contiguous else np.empty(upper.shape)
    algebra.mirror(upper, full)
    return full
