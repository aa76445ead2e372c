"""The initial estimate of rows with very many features, without a dense copy and covariances.

The numbers are those of `dense`. Of a sparse feature most medians are zero, which only
its number of entries shows; features where this is not so are made dense, in blocks.
"""

import numpy as np

from cappedlda._cutoffs.gate import gate_caps
from cappedlda._initial import standardize
from cappedlda._initial.estimate import Estimator, InitialEstimate
from cappedlda._initial.location import minimum_volume_ball
from cappedlda._initial.standardize import FARTHEST, FARTHEST_SEEN, sparse_unit


class SparseEstimator(Estimator):
    """Makes the initial estimate of `SparseRows`."""

    def units(self, rows):
        """Return class medians and a robust scale of each feature, as `standardize` has them."""
        medians, scale = (
            np.zeros((rows.n_classes, rows.shape[1])),
            sparse_unit(*rows.entry_medians()),
        )
        for block in busy_features(rows):
            medians[:, block], scale[block], _ = standardize.medians_and_scale(rows.columns(block))
        return medians, np.where(scale > 0.0, scale, 1.0)

    def points(self, rows, centres, scale):
        """Return the points of each class."""
        reach = FARTHEST_SEEN * scale
        # An entry that is not stored is cut off too: all are measured from where it then is.
        zeros = np.clip(0.0, centres - reach, centres + reach)
        rows, centres = rows.clipped(centres, reach).measured_from(zeros), centres - zeros
        return [SparsePoints(rows.of_class(i), centre, scale) for i, centre in enumerate(centres)]

    def robust(self):
        """Return class centres, pooled scales and the support."""
        rows = self.rows
        separated, (medians, scale), classes = self.without_separated_parts(rows)
        moves = np.stack(self._map(minimum_volume_ball, classes))
        centres = medians + moves * scale
        norms, histograms = rows.clipped(medians, FARTHEST * scale).norms(centres, scale)
        support = (
            norms <= gate_caps(histograms, rows.shape[1], rows.regime)[0][rows.codes]
        ) & ~separated
        return InitialEstimate(centres, scale, support)


def class_medians(rows):
    """Return the median of each class, shape (c, n)."""
    medians = np.zeros((rows.n_classes, rows.shape[1]))
    for block in busy_features(rows):
        medians[:, block] = standardize.class_medians(rows.columns(block))
    return medians


def busy_features(rows):
    """Yield, in blocks, the features of which half of a class or more has an entry.

    The median of all others is zero in every class, and so is their deviation from it.
    """
    half = 0.5 * rows.class_weights[:, None] * (1.0 - 1e-9)
    (busy,) = np.nonzero(np.any(rows.stored_weights() >= half, axis=0))
    n_blocks = -(-len(busy) * rows.shape[0] // rows.regime.slab_elements)
    yield from np.array_split(busy, n_blocks) if n_blocks else ()


class SparsePoints:
    """The centred and scaled rows of a class, as `DensePoints` has them, by products.

    Parameters
    ----------
    rows : SparseRows
        Of one class.
    centre : ndarray of shape (n,)
    scale : ndarray of shape (n,)
    """

    def __init__(self, rows, centre, scale):
        self.n_features = len(scale)
        self._rows = rows
        self._centre = centre
        self._scale = scale
        self.weight = rows.sample_weight
        self.regime = rows.regime
        self.squares = len(scale) * rows.norms(centre[None], scale)[0] ** 2

    def chosen(self, rows):
        """Return some points, shape (k, n)."""
        return (self._rows.X[rows].toarray() - self._centre) / self._scale

    def products(self, centres):
        """Return the products with centres of shape (k, n), shape (k, N)."""
        centres = centres / self._scale
        images = np.ascontiguousarray(self._rows.project(centres.T).T)
        return images - (centres @ self._centre)[:, None]

    def sums(self, shares):
        """Return the sums weighted by shares of shape (k, N), shape (k, n)."""
        sums = self._rows.transposed(np.ascontiguousarray(shares.T)).T
        return (sums - shares.sum(axis=1, keepdims=True) * self._centre) / self._scale

    def median(self, rows):
        """Return the median of some points, shape (n,)."""
        return (class_medians(self._rows.take(rows))[0] - self._centre) / self._scale
