"""The loops of the first look at a sample: rows in units, moments, distances.

Weights that are None are ones. Nothing is checked here.
"""

from cython cimport floating
from libc.math cimport isfinite, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memset
from scipy.linalg.cython_lapack cimport dpotrf, dtrtri

from cappedlda._kernels.blas cimport add_gram, multiply_by_triangle
from cappedlda._kernels.memory cimport begin_of, room_for
from cappedlda._kernels.vectors cimport dot, subtract

include "cappedlda/_kernels/blas_int.pxi"

# Rows per call of BLAS: they stay in L2 if possible, but BLAS packs a whole triangle for each
# panel, which with many features pays only for many rows.
cdef enum:
    PANEL_BYTES = 1 << 18
    LEAST_PANEL_ROWS = 256


cdef inline double weight_of(const double *weights, Py_ssize_t j) noexcept nogil:
    return 1.0 if weights == NULL else weights[j]


def scaled_rows(
    const double[:, ::1] X,          # IN (N, n)
    const int32_t[::1] codes,        # IN (N,)
    const int64_t[::1] order,        # IN (k,) numbers of the rows, or None: all
    const double[:, ::1] centres,    # IN (c, n)
    const double[::1] scale,         # IN (n,)
    double farthest,                 # deviations are cut off here
    double[:, ::1] scaled,           # OUT (k, n)
    double[::1] squares,             # OUT (k,) squared lengths
    Py_ssize_t first, Py_ssize_t stop,
):
    """Deviations of rows from the centres of their classes, over the scale."""
    cdef Py_ssize_t j, k, i, n = X.shape[1]
    cdef bint in_order = order is None
    cdef double *inverse = room_for(n)
    cdef double *row
    cdef const double *centre
    cdef bint cut_off = isfinite(farthest)
    with nogil:
        for k in range(n):
            inverse[k] = 1.0 / scale[k]
        for j in range(first, stop):
            i = j if in_order else order[j]
            row = &scaled[j, 0]
            centre = &centres[codes[i], 0]
            for k in range(n):
                row[k] = (X[i, k] - centre[k]) * inverse[k]
            if cut_off:
                for k in range(n):
                    row[k] = min(max(row[k], -farthest), farthest)
            squares[j] = dot(row, row, n)
        free(inverse)


# ------------------------------------------------------------------ moments and distances

cdef Py_ssize_t panel_rows(Py_ssize_t n) noexcept nogil:
    return max(<Py_ssize_t> LEAST_PANEL_ROWS, PANEL_BYTES // (<Py_ssize_t> sizeof(double) * n))


cdef class Sample:
    """Rows whose moments and distances are needed again and again, range by range."""

    cdef const double[:, ::1] X
    cdef const int32_t[::1] codes
    cdef const double[::1] weights

    def __init__(
        self,
        const double[:, ::1] X,      # IN (N, n)
        const int32_t[::1] codes,    # IN (N,)
        const double[::1] weights,   # IN (N,) or None
    ):
        self.X = X
        self.codes = codes
        self.weights = weights

    def keep_within(
        self,
        const double[::1] caps,        # IN (c,)
        const double[::1] distances,   # IN (N,)
        uint8_t[::1] kept,             # IN OUT (N,)
    ):
        """Keep the rows within the cap of their class, and return how many come or go."""
        cdef const int32_t *codes = &self.codes[0]
        cdef Py_ssize_t j, changed = 0
        cdef uint8_t inside
        with nogil:
            for j in range(kept.shape[0]):
                inside = distances[j] <= caps[codes[j]]
                changed += inside != kept[j]
                kept[j] = inside
        return changed

    cdef void sum_up(
        self, const uint8_t *kept, Py_ssize_t first, Py_ssize_t stop, double *totals, double *sums,
        floating *scatter, floating *panel,
    ) noexcept nogil:
        """Add the moments of the kept rows; a scatter that is NULL is not wanted."""
        cdef const double *w = begin_of(self.weights)
        cdef Py_ssize_t j, k, n = self.X.shape[1], room = panel_rows(n), filled = 0
        cdef const double *row
        cdef floating *packed
        cdef double *total
        cdef double weight, root
        for j in range(first, stop):
            weight = weight_of(w, j)
            if not kept[j] or not weight > 0.0:
                continue
            totals[self.codes[j]] += weight
            total = sums + self.codes[j] * n
            row = &self.X[j, 0]
            for k in range(n):
                total[k] += weight * row[k]
            if scatter == NULL:
                continue
            packed = panel + filled * n
            root = sqrt(weight)
            for k in range(n):
                packed[k] = <floating> (root * row[k])
            filled += 1
            if filled == room:
                add_gram(panel, scatter, filled, n, n, <floating> 1.0)
                filled = 0
        if filled > 0:
            add_gram(panel, scatter, filled, n, n, <floating> 1.0)

    cdef double sum_of_fourths(
        self, const uint8_t *kept, const double *centres, Py_ssize_t first, Py_ssize_t stop,
        double *row,
    ) noexcept nogil:
        """Return the sum of the fourth powers of the distances of kept rows from their centres."""
        cdef const double *w = begin_of(self.weights)
        cdef Py_ssize_t j, n = self.X.shape[1]
        cdef double square, total = 0.0
        for j in range(first, stop):
            if kept[j]:
                subtract(&self.X[j, 0], centres + self.codes[j] * n, n, row)
                square = dot(row, row, n)
                total += weight_of(w, j) * square * square
        return total

    cdef void fill(
        self, const uint8_t *kept, const double *centres, const floating *W, double leverage,
        const double *totals, double *distances, Py_ssize_t first, Py_ssize_t stop,
        floating *panel,
    ) noexcept nogil:
        """Find distances in the coordinates X W, those of kept rows by leave-one-out.

        A row has its leverage on the covariance, and its share in the mean of its class.
        """
        cdef Py_ssize_t j, n = self.X.shape[1], room = panel_rows(n), rows
        cdef const int32_t *codes = &self.codes[0]
        cdef floating *row
        cdef double square, total
        while first < stop:
            rows = min(room, stop - first)
            for j in range(rows):
                subtract(&self.X[first + j, 0], centres + codes[first + j] * n, n, panel + j * n)
            multiply_by_triangle(panel, W, rows, n)
            for j in range(rows):
                row = panel + j * n
                square = dot(row, row, n)
                distances[first + j] = sqrt(square)
                if kept[first + j]:
                    total = totals[codes[first + j]]
                    distances[first + j] = (
                        sqrt(square / (1.0 - min(leverage * square, 0.99)))
                        * total / max(total - 1.0, 0.5 * total + 1e-300))
            first += rows

    def add_moments(
        self,
        const uint8_t[::1] kept,     # IN (N,)
        Py_ssize_t first, Py_ssize_t stop,
        double[::1] totals,          # IN OUT (c,) weight of the kept rows,
        double[:, ::1] sums,         # IN OUT (c, n) their sums
        floating[:, ::1] scatter,    # IN OUT (n, n) and that of their squares, upper triangle
    ):
        """Add the moments of the kept rows; a scatter of size 0 is not wanted.

        Squares are multiplied in the type of the scatter.
        """
        cdef floating *into = &scatter[0, 0] if scatter.shape[0] > 0 else NULL
        cdef floating *panel = <floating *> room_for(self.panel_size(stop - first))
        with nogil:
            self.sum_up(&kept[0], first, stop, &totals[0], &sums[0, 0], into, panel)
        free(panel)

    def fourth_moment(
        self,
        const uint8_t[::1] kept,        # IN (N,)
        const double[:, ::1] centres,   # IN (c, n)
        Py_ssize_t first, Py_ssize_t stop,
    ):
        """Sum of the fourth powers of the distances of the kept rows from their centres."""
        cdef double *row = room_for(self.X.shape[1])
        cdef double total
        with nogil:
            total = self.sum_of_fourths(&kept[0], &centres[0, 0], first, stop, row)
        free(row)
        return total

    def fill_distances(
        self,
        const uint8_t[::1] kept,        # IN (N,)
        const double[:, ::1] centres,   # IN (c, n)
        const floating[:, ::1] W,       # IN (n, n), upper triangle
        double leverage,                # of a kept row, over its squared distance
        const double[::1] totals,       # IN (c,) weight of the kept rows
        double[::1] distances,          # OUT (N,)
        Py_ssize_t first, Py_ssize_t stop,
    ):
        """Distances in the coordinates X W; rows are multiplied in the type of W."""
        cdef floating *panel = <floating *> room_for(self.panel_size(stop - first))
        with nogil:
            self.fill(&kept[0], &centres[0, 0], &W[0, 0], leverage, &totals[0], &distances[0],
                      first, stop, panel)
        free(panel)

    def shrunk_distances(
        self,
        const uint8_t[::1] kept,     # IN (N,)
        const double[::1] floor,     # IN (n,) least variances
        double least,                # least shrinkage, and least mean variance
        Py_ssize_t c,                # classes
        double[::1] distances,       # OUT (N,)
    ):
        """Do what the other methods do in one call: with few rows, calls take longer than the work.

        Returns whether the shrunk covariance is definite.
        """
        cdef Py_ssize_t n = self.X.shape[1], N = self.X.shape[0], size = c + c * n + n * n
        cdef double *totals = room_for(size + n + self.panel_size(N))
        cdef double *means = totals + c
        cdef double *W = means + c * n
        cdef double *row = W + n * n
        cdef double *panel = row + n
        cdef double total, fourth, shrinkage
        with nogil:
            memset(totals, 0, size * sizeof(double))
            self.sum_up(&kept[0], 0, N, totals, means, W, panel)
            total = centre(totals, means, W, c, n)
            fourth = self.sum_of_fourths(&kept[0], means, 0, N, row)
            shrinkage = shrink(W, fourth, total, &floor[0], least, n)
        if invert_factor(W, n):
            with nogil:
                self.fill(&kept[0], means, W, (1.0 - shrinkage) / total, totals, &distances[0],
                          0, N, panel)
        else:
            shrinkage = -1.0
        free(totals)
        return shrinkage >= 0.0

    cdef Py_ssize_t panel_size(self, Py_ssize_t rows) noexcept nogil:
        return min(panel_rows(self.X.shape[1]), rows) * self.X.shape[1]


cdef double centre(
    const double *totals, double *sums, double *scatter, Py_ssize_t c, Py_ssize_t n,
) noexcept nogil:
    """Turn sums of rows into means, those of squares into the covariance; return the weight."""
    cdef Py_ssize_t i, j, k
    cdef double total = 0.0, factor
    for i in range(c):
        total += totals[i]
        for k in range(n):
            sums[i * n + k] = sums[i * n + k] / totals[i] if totals[i] > 0.0 else 0.0
    for j in range(n):
        for i in range(c):
            factor = totals[i] * sums[i * n + j]
            for k in range(j, n):
                scatter[j * n + k] -= factor * sums[i * n + k]
        for k in range(j, n):
            scatter[j * n + k] /= total
    return total


cdef double shrink(
    double *covariance, double fourth, double total, const double *floor, double least,
    Py_ssize_t n,
) noexcept nogil:
    """Shrink a covariance towards a multiple of the identity, as far as Ledoit and Wolf advise.

    Variances below their floor are raised first. Returns the shrinkage.
    """
    cdef Py_ssize_t j, k
    cdef double size = 0.0, trace = 0.0, spread, error, shrinkage = 1.0
    cdef double *row
    for j in range(n):
        row = covariance + j * n
        trace += row[j]
        size += row[j] * row[j]
        for k in range(j + 1, n):
            size += 2.0 * row[k] * row[k]
    spread = size - trace * trace / n
    error = fourth / (total * total) - size / total
    if spread > 0.0:
        shrinkage = min(max(error / spread, least), 1.0)
    for j in range(n):
        row = covariance + j * n
        row[j] = max(row[j], floor[j])
        for k in range(j, n):
            row[k] *= 1.0 - shrinkage
        row[j] += shrinkage * max(trace / n, least)
    return shrinkage


cdef bint invert_factor(double *C, Py_ssize_t n) noexcept:
    """Replace the upper triangle of C (n, n) by W with W'CW = I; returns whether there is one."""
    cdef blas_int size = <blas_int> n, info = 0
    cdef char lower = b"L"  # the upper triangle of a C-ordered array, as LAPACK sees it
    cdef char general = b"N"
    with nogil:
        dpotrf(&lower, &size, C, &size, &info)
        if info == 0:
            dtrtri(&lower, &general, &size, C, &size, &info)
    return info == 0


def centre_moments(
    const double[::1] totals,   # IN (c,)
    double[:, ::1] sums,        # IN OUT (c, n) sums, then means
    double[:, ::1] scatter,     # IN OUT (n, n) sum of squares, upper triangle, then covariance
):
    """Turn the sums of rows into means, and those of their squares into the covariance.

    Returns the weight of all.
    """
    return centre(&totals[0], &sums[0, 0], &scatter[0, 0], sums.shape[0], sums.shape[1])


def shrunk_whitener(
    double[:, ::1] covariance,   # IN OUT (n, n), upper triangle, then that of W
    double fourth,               # sum of the fourth powers of the lengths of centred rows
    double total,                # weight of these rows
    const double[::1] floor,     # IN (n,) least variances
    double least,                # least shrinkage, and least mean variance
):
    """Find W with W'CW = I for a covariance C, shrunk as far as Ledoit and Wolf advise.

    Returns the shrinkage, or -1 if the result is not definite.
    """
    cdef Py_ssize_t n = covariance.shape[0]
    cdef double *C = &covariance[0, 0]
    cdef double shrinkage = shrink(C, fourth, total, &floor[0], least, n)
    return shrinkage if invert_factor(C, n) else -1.0
