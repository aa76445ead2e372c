"""A C-step to the concentrated half of every class, and the growth of that support."""

import numpy as np

from cappedlda._data.jobs import histograms_of
from cappedlda._data.threads import serial_map
from cappedlda._kernels import initial as initial_kernels
from cappedlda._metrics import linalg
from cappedlda._rules.fences import REACH, least_fence, nearer_half, update_caps

GROWTH_STEPS = 20
# A support has settled if no more than this share of the rows comes or goes: what follows only
# begins with it.
SETTLED = 0.002
MIN_SHRINKAGE = 1e-4


def c_step(pieces, distances, variance_floor):
    """Return the nearer half of every class, and the distances of all rows from it.

    This is the C-step of FAST-MCD (Rousseeuw and Van Driessen, Technometrics 1999) with a pooled
    and shrunk covariance. More steps before the growth bring no accuracy. The caps (c,) come with
    them: the largest of the given distances in the support.
    """
    caps = nearer_half(pieces.histograms(distances))
    support = distances <= caps[pieces.codes]
    return support, shrunk_distances(pieces, support, variance_floor), caps


def grow_support(pieces, support, distances, caps, variance_floor, reach=REACH):
    """Return the support grown until the next row is too far off, beyond the reach of a fence.

    Rows within a fence of the support join it, and all are measured anew, as in BACON (Billor,
    Hadi and Velleman, Computational Statistics & Data Analysis 2000).
    """
    limits = {"regime": pieces.regime, "least": least_fence(pieces.shape[1])}
    for _ in range(GROWTH_STEPS):
        caps = update_caps(pieces.histograms(distances), caps, reach, **limits).caps
        grown = distances <= caps[pieces.codes]
        settled, support = has_settled(support, grown), grown
        if settled:
            break
        distances = shrunk_distances(pieces, grown, variance_floor)
    return support


def has_settled(support, changed):
    """Return whether hardly any row has come or gone."""
    return bool(np.count_nonzero(changed != support) <= SETTLED * len(support))


def shrunk_distances(pieces, support, variance_floor):
    """Return Mahalanobis distances of all rows from the support of their class.

    The covariance is that of the support, shrunk as far as Ledoit and Wolf advise. A
    row of the support would look nearer than others because it has shaped the covariance: its
    distance is what it would be had it been left out.
    """
    per_class, centres, covariance = pieces.moments(support)
    total = initial_kernels.centre_moments(per_class, centres, covariance)
    fourth = pieces.fourth_moment(support, centres)
    shrinkage = initial_kernels.shrink(covariance, fourth, total, variance_floor, MIN_SHRINKAGE)
    W, leverage = linalg.cholesky_whitener(covariance), (1.0 - shrinkage) / total
    return pieces.left_out_distances(support, centres, W, leverage, per_class)


class Pieces:
    """Rows in pieces, the same for any number of threads.

    The rows are C-ordered, of float64; they are multiplied in another type, if it is given. `map_`
    is as `serial_map`, perhaps on threads.
    """

    def __init__(self, rows, map_=serial_map, dtype=np.float64):
        self.dtype = dtype
        self.shape, self.codes, self.regime = rows.shape, rows.codes, rows.regime
        self._rows = rows
        self._map = map_
        self._sample = initial_kernels.Sample(rows.X, rows.codes, rows.sample_weight)
        self._bounds = row_pieces(*rows.shape, rows.regime)
        self._last = None  # the support, and its moments

    def histograms(self, distances):
        """Return the histograms of distances of all rows."""
        rows = self._rows
        return histograms_of(distances, rows.codes, rows.n_classes, rows.sample_weight)

    def moments(self, support):
        """Return weight and sums of the support in each class, and the sum of their squares.

        The latter is an upper triangle. Large moments are not made anew, if they have been
        made before, but changed by the rows that come and go.
        """
        if self.shape[0] * self.shape[1] ** 2 < self.regime.changed_products:
            return self.sums(support)
        sums = None if self._last is None else self._changed(*self._last, support)
        self._last = support, self.sums(support) if sums is None else sums
        return tuple(array.copy() for array in self._last[1])

    def _changed(self, last, sums, support):
        """Return the sums for other rows, or None if little but rounding would be left."""
        gone, new = self.sums(last & ~support), self.sums(support & ~last)
        if 2.0 * gone[2].trace() > sums[2].trace():
            return None
        return tuple(a - b + c for a, b, c in zip(sums, gone, new, strict=True))

    def sums(self, support):
        """Return the same as `moments`, made anew."""
        c, n = self._rows.n_classes, self.shape[1]

        def sums_of(first, stop):
            sums = np.zeros(c), np.zeros((c, n)), np.zeros((n, n), self.dtype)
            self._sample.add_moments(first, stop, support, *sums)
            return sums

        (weights, sums, scatter), *others = self._map(sums_of, *self._bounds)
        total = weights, sums, scatter.astype(np.float64, copy=False)
        for other in others:
            for array, more in zip(total, other, strict=True):
                array += more
        return total

    def fill(self, kernel, *arrays):
        """Let a kernel fill arrays, piece by piece; it takes bounds, rows, codes and these."""
        X, codes = self._rows.X, self.codes

        def fill(first, stop):
            kernel(first, stop, X, codes, *arrays)

        self._map(fill, *self._bounds)

    def fourth_moment(self, support, centres):
        """Return the sum of the fourth powers of the distances of the support from the centres."""

        def fourth_moment(first, stop):
            return self._sample.fourth_moment(first, stop, support, centres)

        return sum(self._map(fourth_moment, *self._bounds))

    def left_out_distances(self, support, centres, W, *measure):
        """Return the distances of all rows, those of the support as if each had been left out.

        The `measure` is what the kernel takes: the leverage and the weights of the support.
        """
        distances, W = np.empty(self.shape[0]), np.ascontiguousarray(W, self.dtype)

        def fill(first, stop):
            self._sample.fill_distances(first, stop, support, centres, W, *measure, distances)

        self._map(fill, *self._bounds)
        return distances


def row_pieces(n_rows, n, regime):
    """Return where pieces of the rows begin, and where they end: the same for any threads."""
    count = n_rows // (regime.piece_rows_per_feature * n)
    count = min(n_rows * n // regime.piece_elements, count, regime.most_pieces)
    count -= count % 2  # so that neither of two threads waits for the other
    if count < 2:
        return [0], [n_rows]
    ends = [n_rows * k // count for k in range(count + 1)]
    return ends[:-1], ends[1:]
