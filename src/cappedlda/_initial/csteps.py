"""Grow the most concentrated half of every class until the next row is too far off."""

import numpy as np

from cappedlda._cutoffs.fences import GATE_REACH, grown_caps, nearer_half
from cappedlda._data.jobs import histograms_of
from cappedlda._data.threads import in_turn
from cappedlda._kernels import start_kernels
from cappedlda._solvers import linalg

CONCENTRATION_STEPS = 3
GROWTH_STEPS = 20
MIN_SHRINKAGE = 1e-4
# Threads work on pieces of so many numbers at least, with several rows per feature: each
# makes a scatter of its own.
PIECE_ELEMENTS = 1 << 15
PIECE_ROWS_PER_FEATURE = 2
MOST_PIECES = 4
# Moments of so many products or more are changed rather than made anew.
CHANGE_WORTHWHILE = 1 << 21


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
        if kept is not None and (nearer == kept).all():
            break
        kept = nearer
        distances = shrunk_distances(pieces, kept, variance_floor)
    for _ in range(GROWTH_STEPS):
        caps = grown_caps(histograms(distances), caps, GATE_REACH).caps
        grown = distances <= caps[rows.codes]
        if (grown == kept).all():
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
    total = start_kernels.centre_moments(per_class, centres, covariance)
    fourth = pieces.fourth_moment(kept, centres)
    shrinkage = start_kernels.shrink(covariance, fourth, total, variance_floor, MIN_SHRINKAGE)
    W, leverage = linalg.whitening(covariance), (1.0 - shrinkage) / total
    return pieces.left_out_distances(kept, centres, W, leverage, per_class)


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
        self.shape = rows.shape
        self._n_classes = rows.n_classes
        self._each = each
        self._sample = start_kernels.Sample(rows.X, rows.codes, rows.sample_weight)
        self._bounds = row_pieces(*rows.shape)
        self._last = None  # rows that were kept, and their moments

    def moments(self, kept):
        """Return weight and sums of the kept rows of each class, and the sum of their squares.

        The latter is an upper triangle. Large moments are not made anew, if they have been
        made before, but changed by the rows that come and go.
        """
        if self.shape[0] * self.shape[1] ** 2 < CHANGE_WORTHWHILE:
            return self._sums(kept)
        sums = None if self._last is None else self._changed(*self._last, kept)
        self._last = kept, self._sums(kept) if sums is None else sums
        return tuple(array.copy() for array in self._last[1])

    def _changed(self, last, sums, kept):
        """Return the sums for other rows, or None if little but rounding would be left."""
        gone, new = self._sums(last & ~kept), self._sums(kept & ~last)
        if 2.0 * gone[2].trace() > sums[2].trace():
            return None
        return tuple(a - b + c for a, b, c in zip(sums, gone, new, strict=True))

    def _sums(self, kept):
        c, n = self._n_classes, self.shape[1]

        def sums_of(first, stop):
            sums = np.zeros(c), np.zeros((c, n)), np.zeros((n, n))
            self._sample.add_moments(first, stop, kept, *sums)
            return sums

        total, *others = self._each(sums_of, *self._bounds)
        for other in others:
            for array, more in zip(total, other, strict=True):
                array += more
        return total

    def fourth_moment(self, kept, centres):
        """Return the sum of the fourth powers of the distances of kept rows from the centres."""

        def fourth_moment(first, stop):
            return self._sample.fourth_moment(first, stop, kept, centres)

        return sum(self._each(fourth_moment, *self._bounds))

    def left_out_distances(self, kept, centres, *measure):
        """Return the distances of all rows, those of kept ones as if they had not been kept.

        The `measure` is what the kernel takes: W, the leverage and the weights of kept rows.
        """
        distances = np.empty(self.shape[0])

        def fill(first, stop):
            self._sample.fill_distances(first, stop, kept, centres, *measure, distances)

        self._each(fill, *self._bounds)
        return distances


def row_pieces(n_rows, n):
    """Return where pieces of the rows begin, and where they end: the same for any threads."""
    count = min(n_rows * n // PIECE_ELEMENTS, n_rows // (PIECE_ROWS_PER_FEATURE * n), MOST_PIECES)
    count -= count % 2  # lest one of two threads waits for the other
    if count < 2:
        return [0], [n_rows]
    ends = [n_rows * k // count for k in range(count + 1)]
    return ends[:-1], ends[1:]
