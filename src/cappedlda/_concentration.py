"""Grow the most concentrated half of every class until the next row is too far off."""

import numpy as np

from cappedlda import _linalg
from cappedlda._core import start_kernels
from cappedlda._epsilon import GATE_REACH, grown_caps, nearer_half
from cappedlda._passes import histograms_of
from cappedlda._threads import in_turn

CONCENTRATION_STEPS = 3
MAX_GROWTH = 20
MIN_SHRINKAGE = 1e-4
# Threads work on pieces of so many numbers at least, with several rows per feature: each
# makes a scatter of its own.
PIECE_ELEMENTS = 1 << 15
PIECE_ROWS_PER_FEATURE = 2
MOST_PIECES = 4


def concentrated(rows, distances, variance_floor, each=in_turn):
    """Return which rows grow from the most concentrated half of every class.

    Parameters
    ----------
    rows : ArrayRows
        Of centred and scaled features, float64.
    distances : ndarray of shape (N,)
        To begin with.
    variance_floor : ndarray of shape (n,)
    each : callable
        As `in_turn`, perhaps on threads.
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
        distances = shrunk_distances(rows, kept, variance_floor, each)
    for _ in range(MAX_GROWTH):
        caps = grown_caps(histograms(distances), caps, GATE_REACH).caps
        grown = distances <= caps[rows.codes]
        if np.array_equal(grown, kept):
            break
        kept = grown
        distances = shrunk_distances(rows, kept, variance_floor, each)
    return kept


def shrunk_distances(rows, kept, variance_floor, each=in_turn):
    """Return Mahalanobis distances of all rows from the kept rows of their class.

    The covariance is that of the kept rows, shrunk as far as Ledoit and Wolf advise. A
    kept row would look nearer than others because it has shaped the covariance: its
    distance is what it would be had it been left out.
    """
    pieces = [Piece(rows, kept, part) for part in row_pieces(*rows.shape)]
    per_class, centres, covariance = added(each(Piece.moments, pieces))
    start_kernels.centre_moments(per_class, centres, covariance)
    fourth = sum(each(lambda piece: piece.fourth_moment(centres), pieces))
    total = per_class.sum()
    shrinkage = start_kernels.shrink(covariance, fourth, total, variance_floor, MIN_SHRINKAGE)
    W, leverage = _linalg.whitening(covariance), (1.0 - shrinkage) / total
    own = per_class / np.maximum(per_class - 1.0, 0.5 * per_class + 1e-300)
    distances = np.empty(rows.shape[0])
    each(lambda piece: piece.fill(distances, centres, W, leverage, own), pieces)
    return distances


class Piece:
    """Some of the rows, and which of them are kept."""

    def __init__(self, rows, kept, part):
        weight = rows.sample_weight
        self._part = part
        self._n_classes = rows.n_classes
        self._X, self._codes, self._kept = rows.X[part], rows.codes[part], kept[part]
        self._weight = None if weight is None else weight[part]

    def moments(self):
        """Return weight and sums of the kept rows of each class, and the sum of their squares."""
        c, n = self._n_classes, self._X.shape[1]
        totals, sums, scatter = np.zeros(c), np.zeros((c, n)), np.zeros((n, n))
        start_kernels.add_moments(
            self._X, self._codes, self._weight, self._kept, totals, sums, scatter
        )
        return totals, sums, scatter

    def fourth_moment(self, centres):
        """Return the sum of the fourth powers of the distances of kept rows."""
        return start_kernels.fourth_moment(self._X, self._codes, self._weight, self._kept, centres)

    def fill(self, distances, centres, W, leverage, factors):
        """Fill in the distances of the rows."""
        start_kernels.left_out_distances(
            self._X, self._codes, self._kept, centres, W, leverage, factors, distances[self._part]
        )


def row_pieces(n_rows, n):
    """Return slices of rows, the same for any number of threads."""
    count = min(n_rows * n // PIECE_ELEMENTS, n_rows // (PIECE_ROWS_PER_FEATURE * n), MOST_PIECES)
    ends = [n_rows * k // max(count, 1) for k in range(max(count, 1) + 1)]
    return [slice(*ends) for ends in zip(ends, ends[1:], strict=False)]


def added(parts):
    """Return the sums of some tuples of arrays, added in their order to the first."""
    total = parts[0]
    for part in parts[1:]:
        for array, other in zip(total, part, strict=True):
            array += other
    return total
