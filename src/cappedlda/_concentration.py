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

    pieces, kept = Pieces(rows, each), None
    for _ in range(CONCENTRATION_STEPS):
        caps = nearer_half(histograms(distances))
        nearer = distances <= caps[rows.codes]
        if kept is not None and np.array_equal(nearer, kept):
            break
        kept = nearer
        distances = shrunk_distances(pieces, kept, variance_floor)
    for _ in range(MAX_GROWTH):
        caps = grown_caps(histograms(distances), caps, GATE_REACH).caps
        grown = distances <= caps[rows.codes]
        if np.array_equal(grown, kept):
            break
        kept = grown
        distances = shrunk_distances(pieces, kept, variance_floor)
    return kept


def shrunk_distances(pieces, kept, variance_floor):
    """Return Mahalanobis distances of all rows from the kept rows of their class.

    The covariance is that of the kept rows, shrunk as far as Ledoit and Wolf advise. A
    kept row would look nearer than others because it has shaped the covariance: its
    distance is what it would be had it been left out.
    """
    per_class, centres, covariance = pieces.moments(kept)
    start_kernels.centre_moments(per_class, centres, covariance)
    fourth, total = pieces.fourth_moment(kept, centres), per_class.sum()
    shrinkage = start_kernels.shrink(covariance, fourth, total, variance_floor, MIN_SHRINKAGE)
    W, leverage = _linalg.whitening(covariance), (1.0 - shrinkage) / total
    own = per_class / np.maximum(per_class - 1.0, 0.5 * per_class + 1e-300)
    return pieces.left_out_distances(kept, centres, W, leverage, own)


class Pieces:
    """Rows in pieces, the same for any number of threads.

    Parameters
    ----------
    rows : ArrayRows
        Of float64, C-ordered.
    each : callable
        As `in_turn`, perhaps on threads.
    """

    def __init__(self, rows, each=in_turn):
        X, codes, weight = rows.X, rows.codes, rows.sample_weight
        self.shape = X.shape
        self._n_classes = rows.n_classes
        self._each = each
        self._pieces = [
            (part, X[part], codes[part], None if weight is None else weight[part])
            for part in row_pieces(*X.shape)
        ]

    def moments(self, kept):
        """Return weight and sums of the kept rows of each class, and the sum of their squares.

        The latter is an upper triangle.
        """
        c, n = self._n_classes, self.shape[1]

        def moments(piece):
            part, X, codes, weight = piece
            sums = np.zeros(c), np.zeros((c, n)), np.zeros((n, n))
            start_kernels.add_moments(X, codes, weight, kept[part], *sums)
            return sums

        total, *others = self._each(moments, self._pieces)
        for other in others:
            for array, more in zip(total, other, strict=True):
                array += more
        return total

    def fourth_moment(self, kept, centres):
        """Return the sum of the fourth powers of the distances of kept rows from the centres."""

        def fourth_moment(piece):
            part, X, codes, weight = piece
            return start_kernels.fourth_moment(X, codes, weight, kept[part], centres)

        return sum(self._each(fourth_moment, self._pieces))

    def left_out_distances(self, kept, centres, W, leverage, factors):
        """Return the distances of all rows in the coordinates X W.

        Those of kept rows are as if they had not been kept: see the kernel.
        """
        distances = np.empty(self.shape[0])

        def fill(piece):
            part, X, codes, _ = piece
            start_kernels.left_out_distances(
                X, codes, kept[part], centres, W, leverage, factors, distances[part]
            )

        self._each(fill, self._pieces)
        return distances


def row_pieces(n_rows, n):
    """Return slices of rows, the same for any number of threads."""
    count = min(n_rows * n // PIECE_ELEMENTS, n_rows // (PIECE_ROWS_PER_FEATURE * n), MOST_PIECES)
    ends = [n_rows * k // max(count, 1) for k in range(max(count, 1) + 1)]
    return [slice(*ends) for ends in zip(ends, ends[1:], strict=False)]
