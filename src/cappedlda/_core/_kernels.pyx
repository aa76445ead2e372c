"""The pass over the data, block by block.

For row j of class i: image z_j = W'x_j - W'm_i, distance a_j = ||z_j||,
r = a_j^2 + floor^2. A row is kept while a_j^2 <= caps[i]; a kept row has weight
F_j = q r^(q/2-1) and adds F_j h_j h_j' to the scatter, h_j = (x_j - m_i) / scale.

Every function adds into the sums it is given, so that the rows may be cut anywhere.
Rows are C-ordered float32 or float64 and may be read-only; float32 rows are
multiplied in float32 and summed over panels in float64. An output of length zero
is not wanted and not computed. Nothing is checked here.
"""

from cython cimport floating
from libc.math cimport INFINITY, isfinite, pow, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from cappedlda._core._blas cimport add_gram, multiply

# Bins of the distance histogram are spaced like floating-point numbers: each power
# of two is cut in 2^MANTISSA_BITS equal bins, so a bin is at most 1/128 of its value.
cdef enum:
    MANTISSA_BITS = 7
    LOWEST_EXPONENT = -20
    HIGHEST_EXPONENT = 20
    N_BINS = (HIGHEST_EXPONENT - LOWEST_EXPONENT) * (1 << MANTISSA_BITS) + 2
    BLOCK_ROWS = 128

HISTOGRAM_BINS = N_BINS
HISTOGRAM_MANTISSA_BITS = MANTISSA_BITS
HISTOGRAM_LOWEST_EXPONENT = LOWEST_EXPONENT


cdef inline double capped_weight(double r, double q) noexcept nogil:
    """F = q r^(q/2-1) of a kept row."""
    if q == 1.0:
        return 1.0 / sqrt(r)
    if q == 2.0:
        return 2.0
    return q * pow(r, 0.5 * q - 1.0)


cdef inline double loss(double r, double q) noexcept nogil:
    """r^(q/2)."""
    if q == 1.0:
        return sqrt(r)
    if q == 2.0:
        return r
    return pow(r, 0.5 * q)


cdef inline void deposit(double *histogram, double distance, double weight) noexcept nogil:
    """Split weight between the two bins around distance, so that quantiles are continuous."""
    cdef:
        int64_t bits, first = (<int64_t> (1023 + LOWEST_EXPONENT)) << MANTISSA_BITS
        int64_t below
        double fraction
        int shift = 52 - MANTISSA_BITS
    memcpy(&bits, &distance, sizeof(bits))
    below = (bits >> shift) - first
    if below < 0:
        histogram[0] += weight
    elif below >= N_BINS - 1:
        histogram[N_BINS - 1] += weight
    else:
        fraction = <double> (bits & (((<int64_t> 1) << shift) - 1)) / <double> ((<int64_t> 1) << shift)
        histogram[below] += weight * (1.0 - fraction)
        histogram[below + 1] += weight * fraction


cdef void squared_distances(
    const floating *X, const int32_t *codes, const floating *W, const double *images,
    floating *Z, double *squares, Py_ssize_t rows, Py_ssize_t n, Py_ssize_t d,
) noexcept nogil:
    """Z = X W - images[codes] and its squared row norms, for one block."""
    cdef:
        Py_ssize_t j, k
        double total
        floating *z
        const double *image
    multiply(X, W, Z, rows, n, d)
    for j in range(rows):
        z = Z + j * d
        image = images + codes[j] * d
        total = 0.0
        for k in range(d):
            z[k] = <floating> (z[k] - image[k])
            total += <double> z[k] * z[k]
        squares[j] = total


cdef inline void pack_row(
    const floating *x, const floating *centre, const floating *inv_scale,
    floating root, floating *packed, Py_ssize_t n,
) noexcept nogil:
    """packed = (x - centre) / scale * root."""
    cdef Py_ssize_t k
    for k in range(n):
        packed[k] = (x[k] - centre[k]) * inv_scale[k] * root


cdef inline void add_row(
    const floating *x, const floating *centre, double weight, double *total, Py_ssize_t n,
) noexcept nogil:
    """total += weight (x - centre)."""
    cdef Py_ssize_t k
    for k in range(n):
        total[k] += weight * (x[k] - centre[k])


cdef void add_panel(
    const floating *panel, floating *gram, double *scatter, Py_ssize_t rows, Py_ssize_t n,
) noexcept nogil:
    """scatter += panel'panel (upper triangle), in float64 whatever the panel is."""
    cdef Py_ssize_t i, k
    if rows == 0:
        return
    if floating is double:
        add_gram(panel, scatter, rows, n, 1.0)
    else:
        add_gram(panel, gram, rows, n, <floating> 0.0)
        for i in range(n):
            for k in range(i, n):
                scatter[i * n + k] += gram[i * n + k]


def add_to_histogram(
    const double[::1] distances,      # IN (N,)
    const double[::1] sample_weight,  # IN (N,), or empty: all ones
    double[::1] histogram,            # OUT (HISTOGRAM_BINS,)
):
    """Add the weight of each row to the histogram of distances."""
    cdef Py_ssize_t j
    cdef bint weighted = sample_weight.shape[0] > 0
    with nogil:
        for j in range(distances.shape[0]):
            deposit(&histogram[0], distances[j], sample_weight[j] if weighted else 1.0)


def capped_weights(
    const double[::1] distances,  # IN
    const double[::1] caps,       # IN
    double q, double floor,
    double[::1] weights,          # OUT
):
    """Weights F_j = q (a_j^2 + floor^2)^(q/2-1) of distances up to their cap, 0 beyond it."""
    cdef Py_ssize_t j
    cdef double a
    with nogil:
        for j in range(distances.shape[0]):
            a = distances[j]
            weights[j] = capped_weight(a * a + floor * floor, q) if a <= caps[j] else 0.0


def weighted_scatter(
    const floating[:, ::1] X,        # IN (N, n)
    const int32_t[::1] codes,        # IN (N,)
    const floating[:, ::1] centres,  # IN (c, n)
    const floating[::1] inv_scale,   # IN (n,)
    const double[::1] weights,       # IN (N,)
    double[:, ::1] scatter,          # OUT (n, n), upper triangle added to
    floating[:, ::1] panel,          # WORK (p, n)
    floating[:, ::1] gram,           # WORK (n, n) for float32, else unused
):
    """H' diag(weights) H for the centred and scaled rows H; rows of weight 0 are skipped."""
    cdef Py_ssize_t j, packed = 0, n = X.shape[1], capacity = panel.shape[0]
    if X.shape[0] == 0 or n == 0:
        return
    with nogil:
        for j in range(X.shape[0]):
            if weights[j] > 0.0:
                pack_row(&X[j, 0], &centres[codes[j], 0], &inv_scale[0],
                         <floating> sqrt(weights[j]), &panel[packed, 0], n)
                packed += 1
                if packed == capacity:
                    add_panel(&panel[0, 0], &gram[0, 0], &scatter[0, 0], packed, n)
                    packed = 0
        add_panel(&panel[0, 0], &gram[0, 0], &scatter[0, 0], packed, n)


def fused_pass(
    const floating[:, ::1] X,           # IN (N, n)
    const int32_t[::1] codes,           # IN (N,) class of each row
    const double[::1] sample_weight,    # IN (N,), or empty: all ones
    const floating[:, ::1] W,           # IN (n, d)
    const double[:, ::1] images,        # IN (c, d) = centres W
    const floating[:, ::1] centres,     # IN (c, n)
    const floating[::1] inv_scale,      # IN (n,)
    const double[::1] caps,             # IN (c,) squared, inf allowed
    double[::1] distances,              # OUT (N,) or empty
    double[:, ::1] scatter,             # OUT (n, n) upper triangle, or (0, 0)
    double[:, ::1] sums,                # OUT (c, n) sums of kept rows about their centre, or (0, 0)
    double[:, ::1] image_sums,          # OUT (c, d) the same of their images
    double[:, ::1] image_scatter,       # OUT (d, d) of the kept images
    double[:, ::1] kept,                # OUT (c, 2) kept rows, kept weight
    double[::1] histogram,              # OUT (HISTOGRAM_BINS,) or empty
    floating[:, ::1] panel,             # WORK (p, n)
    floating[:, ::1] gram,              # WORK (n, n) for float32, else (1, 1)
    floating[:, ::1] Z,                 # WORK (BLOCK_ROWS, d)
    double[::1] squares,                # WORK (BLOCK_ROWS,)
    double q, double floor,
):
    """One pass over a slab of rows; returns (objective, rows whose distance is not finite)."""
    cdef:
        Py_ssize_t N = X.shape[0], n = X.shape[1], d = W.shape[1]
        Py_ssize_t start, rows, j, k, l, i, packed = 0, bad = 0
        Py_ssize_t capacity = panel.shape[0]
        bint weighted = sample_weight.shape[0] > 0
        bint want_scatter = scatter.shape[0] > 0, want_sums = sums.shape[0] > 0
        bint want_distances = distances.shape[0] > 0, want_histogram = histogram.shape[0] > 0
        double objective = 0.0, weight = 1.0, r, floor2 = floor * floor
        floating *z
    if N == 0:
        return 0.0, 0
    with nogil:
        start = 0
        while start < N:
            rows = min(<Py_ssize_t> BLOCK_ROWS, N - start)
            squared_distances(&X[start, 0], &codes[start], &W[0, 0], &images[0, 0],
                              &Z[0, 0], &squares[0], rows, n, d)
            for j in range(rows):
                i = codes[start + j]
                if weighted:
                    weight = sample_weight[start + j]
                if want_distances:
                    distances[start + j] = sqrt(squares[j])
                if not isfinite(squares[j]):
                    bad += 1
                    squares[j] = INFINITY
                if want_histogram:
                    deposit(&histogram[0], sqrt(squares[j]), weight)
                if not squares[j] <= caps[i]:
                    objective += weight * loss(caps[i] + floor2, q)
                    continue
                r = squares[j] + floor2
                objective += weight * loss(r, q)
                if weight > 0.0:
                    kept[i, 0] += 1.0
                kept[i, 1] += weight
                z = &Z[j, 0]
                for k in range(d):
                    image_sums[i, k] += weight * z[k]
                    for l in range(k, d):
                        image_scatter[k, l] += weight * z[k] * z[l]
                if want_sums:
                    add_row(&X[start + j, 0], &centres[i, 0], weight, &sums[i, 0], n)
                if want_scatter:
                    pack_row(&X[start + j, 0], &centres[i, 0], &inv_scale[0],
                             <floating> sqrt(weight * capped_weight(r, q)), &panel[packed, 0], n)
                    packed += 1
                    if packed == capacity:
                        add_panel(&panel[0, 0], &gram[0, 0], &scatter[0, 0], packed, n)
                        packed = 0
            start += rows
        if want_scatter:
            add_panel(&panel[0, 0], &gram[0, 0], &scatter[0, 0], packed, n)
    return objective, bad


BLOCK = BLOCK_ROWS
