"""The initial estimate of rows in an array."""

import numpy as np

from cappedlda._cutoffs.gate import gate_caps
from cappedlda._data.jobs import histograms_of
from cappedlda._data.threads import shared_threads
from cappedlda._initial.csteps import Pieces, c_steps, grow_support
from cappedlda._initial.estimate import Estimator, InitialEstimate
from cappedlda._initial.location import DensePoints, minimum_volume_ball
from cappedlda._initial.standardize import FARTHEST_SEEN, in_units, medians_and_scale

# A half that hardly grows has closed in on a tight cluster: do not trust it.
STUCK_SHARE = 0.55
# Least variance, in robust units, of a feature, and of one that is mostly constant.
VARIANCE_FLOOR = 0.1
SPARSE_VARIANCE_FLOOR = 1.0


class DenseEstimator(Estimator):
    """Makes the initial estimate of `ArrayRows`."""

    def units(self, rows):
        """Return class medians, a robust scale of each feature, and which features are sparse."""
        return medians_and_scale(rows, self._map)

    def points(self, rows, centres, scale):
        """Return the points of each class, given rows class by class."""
        scaled, squares = in_units(rows, centres, scale, map_=self._map, farthest=FARTHEST_SEEN)
        weight = rows.sample_weight
        return [
            DensePoints(
                scaled[part], squares[part], None if weight is None else weight[part], rows.regime
            )
            for part in rows.class_slices()
        ]

    def robust(self):
        """Return class centres, pooled scales and the support."""
        rows, regime = self.rows, self.rows.regime
        n_jobs = rows.n_jobs if rows.X.size >= regime.threaded_elements else 1
        with shared_threads(n_jobs) as self._map:
            rows, order = rows.by_class()
            separated, units, classes = self.without_separated_parts(rows)
            medians, scale, sparse = units
            moves = np.array(self._map(minimum_volume_ball, classes))
            del classes  # as many numbers as the rows have
            scaled, squares = in_units(rows, medians, scale, moves, self._map)
            norms = np.sqrt(squares / rows.shape[1])
            support = None
            if rows.class_weights.sum() >= regime.covariance_rows_per_feature * rows.shape[1]:
                floor = np.where(sparse, SPARSE_VARIANCE_FLOOR, VARIANCE_FLOOR)
                dtype = np.float32 if rows.shape[1] >= regime.single_features else np.float64
                pieces = Pieces(rows.with_features(scaled), self._map, dtype)
                support = grow_support(pieces, *c_steps(pieces, norms, floor), floor) & ~separated
                if rows.weight_of(support) < STUCK_SHARE * rows.weight_of(~separated):
                    support = None
        if support is None:
            histograms = histograms_of(norms, rows.codes, rows.n_classes, rows.sample_weight)
            support = (
                norms <= gate_caps(histograms, rows.shape[1], regime)[0][rows.codes]
            ) & ~separated
        unordered = np.empty_like(support)
        unordered[order] = support
        return InitialEstimate(medians + moves * scale, scale, unordered)


def concentrated_support(rows, reach):
    """Return the support of rows of few features: C-steps from the medians, then its growth.

    Parameters
    ----------
    rows : ArrayRows
    reach : float
        Of the fence that ends the growth.
    """
    rows, order = rows.by_class()
    medians, scale, _ = medians_and_scale(rows)
    scaled, squares = in_units(rows, medians, scale)
    floor = np.full(rows.shape[1], VARIANCE_FLOOR)
    pieces = Pieces(rows.with_features(scaled))
    start = c_steps(pieces, np.sqrt(squares), floor)
    support = np.empty(rows.shape[0], dtype=bool)
    support[order] = grow_support(pieces, *start, floor, reach)
    return support
