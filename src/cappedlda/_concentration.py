"""Grow the most concentrated half of every class until the next row is too far off."""

import numpy as np

from cappedlda import _linalg
from cappedlda._core import start_kernels
from cappedlda._epsilon import GATE_REACH, grown_caps, nearer_half
from cappedlda._passes import histograms_of

CONCENTRATION_STEPS = 3
MAX_GROWTH = 20
MIN_SHRINKAGE = 1e-4


def concentrated(rows, distances, variance_floor):
    """Return which rows grow from the most concentrated half of every class.

    Parameters
    ----------
    rows : ArrayRows
        Of centred and scaled features, float64.
    distances : ndarray of shape (N,)
        To begin with.
    variance_floor : ndarray of shape (n,)
    """

    def histograms(distances):
        return histograms_of(distances, rows.codes, rows.n_classes, rows.sample_weight)

    kept = None
    for _ in range(CONCENTRATION_STEPS):
        caps = nearer_half(histograms(distances))
        nearer = distances <= caps[rows.codes]
        if kept is not None and np.array_equal(nearer, kept):
            break
        kept = nearer
        distances = shrunk_distances(rows, kept, variance_floor)
    for _ in range(MAX_GROWTH):
        caps = grown_caps(histograms(distances), caps, GATE_REACH).caps
        grown = distances <= caps[rows.codes]
        if np.array_equal(grown, kept):
            break
        kept = grown
        distances = shrunk_distances(rows, kept, variance_floor)
    return kept


def shrunk_distances(rows, kept, variance_floor):
    """Return Mahalanobis distances of all rows from the kept rows of their class.

    The covariance is that of the kept rows, shrunk as far as Ledoit and Wolf advise. A
    kept row would look nearer than others because it has shaped the covariance: its
    distance is what it would be had it been left out.
    """
    X, codes, weight = rows.X, rows.codes, rows.sample_weight
    (n_rows, n), c = X.shape, rows.n_classes
    per_class, centres, covariance = np.zeros(c), np.zeros((c, n)), np.zeros((n, n))
    start_kernels.add_moments(X, codes, weight, kept, per_class, centres, covariance)
    start_kernels.centre_moments(per_class, centres, covariance)
    fourth = start_kernels.fourth_moment(X, codes, weight, kept, centres)
    total = per_class.sum()
    shrinkage = start_kernels.shrink(covariance, fourth, total, variance_floor, MIN_SHRINKAGE)
    W, leverage = _linalg.whitening(covariance), (1.0 - shrinkage) / total
    own = per_class / np.maximum(per_class - 1.0, 0.5 * per_class + 1e-300)
    distances = np.empty(n_rows)
    start_kernels.left_out_distances(X, codes, kept, centres, W, leverage, own, distances)
    return distances
