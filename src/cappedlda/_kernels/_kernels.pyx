"""The pass over the data, block by block.

For row j of class i: image z_j = W'x_j - W'm_i, distance a_j = ||z_j||,
r = a_j^2 + floor^2. A row is kept while a_j <= cap_i; a kept row has weight
F_j = q r^(q/2-1) and adds F_j h_j h_j' to the scatter, h_j = (x_j - m_i) / scale.

The slab is read once, in blocks that stay in cache: the rows of a block are projected,
their distances turned into weights, and the kept rows packed, centred and scaled, into
a panel; a full panel is added to the scatter. Every function adds into the sums it is
given, so that rows may be cut anywhere. Rows are C-ordered float32 or float64 and may
be read-only; float32 rows are multiplied in float32 and summed in float64. An output
of length zero is not wanted and not computed. Nothing is checked here.
"""

from libc.float cimport DBL_MAX
from libc.math cimport pow, sqrt
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

include "cappedlda/_kernels/_products.pxi"
include "cappedlda/_kernels/_panel.pxi"
include "cappedlda/_kernels/_weights.pxi"

# Sizes, by measurement with 48 KiB of L1 and 1.25 MiB of L2 (Ice Lake). A block stays in
# L2 until its rows are packed. The processor foresees which memory comes next in rows longer
# than SHORT_ROW_BYTES; shorter ones are asked for a block ahead.
cdef enum:
    BLOCK_BYTES = 1 << 18
    MAX_BLOCK_ROWS = 128
    MIN_BLOCK_ROWS = 16
    SHORT_ROW_BYTES = 1 << 10
    MIRROR_TILE = 32


# ------------------------------------------------------------------------ sums

cdef inline void add_row(
    const floating *x, const floating *centre, double weight, Py_ssize_t n, double *total,
) noexcept nogil:
    """total += weight (x - centre); explicit vectors where the types are the same."""
    cdef Py_ssize_t k = 0
    if floating is double:
        while k + DLANES <= n:
            (<dvec *> (total + k))[0] = (<dvec *> (total + k))[0] + weight * (
                (<const dvec *> (x + k))[0] - (<const dvec *> (centre + k))[0])
            k += DLANES
    for k in range(k, n):
        total[k] += weight * (x[k] - centre[k])


cdef void add_sums(
    const floating *X, const int32_t *codes, const double *sample_weight, const int32_t *chosen,
    Py_ssize_t count, const floating *centres, Py_ssize_t ldc, Py_ssize_t n, double *sums,
) noexcept nogil:
    """sums[i] += w (x - m_i) over the chosen rows."""
    cdef Py_ssize_t p, j
    for p in range(count):
        j = chosen[p]
        add_row(X + j * n, centres + codes[j] * ldc,
                1.0 if sample_weight == NULL else sample_weight[j], n, sums + codes[j] * n)


cdef void add_image_sums(
    const floating *Z, const int32_t *codes, const double *sample_weight, const int32_t *chosen,
    Py_ssize_t count, Py_ssize_t ldz, double *image_sums,
) noexcept nogil:
    """image_sums[i] += w z over the chosen rows, with padded rows."""
    cdef Py_ssize_t p, j
    cdef double weight = 1.0
    for p in range(count):
        j = chosen[p]
        if sample_weight != NULL:
            weight = sample_weight[j]
        if floating is double:
            add_times_d(image_sums + codes[j] * ldz, Z + j * ldz, weight, ldz)
        else:
            add_times_f(image_sums + codes[j] * ldz, Z + j * ldz, weight, ldz)


cdef void gather_images(
    floating *Z, const double *sample_weight, const int32_t *chosen, Py_ssize_t count,
    Py_ssize_t ldz,
) noexcept nogil:
    """Move the chosen images to the front, times the root of w; rows only ever move up."""
    cdef Py_ssize_t p, v
    cdef floating root = 1
    for p in range(count):
        if sample_weight != NULL:
            root = <floating> sqrt(sample_weight[chosen[p]])
        elif chosen[p] == p:
            continue
        for v in range(ldz):
            Z[p * ldz + v] = Z[chosen[p] * ldz + v] * root


# ---------------------------------------------------------------------- driver

cdef struct Work:
    void *memory
    double *squares       # of a block: squared distances,
    double *distances     # distances,
    double *loss          # losses
    double *weights       # and weights, then roots of them
    double *caps          # of the classes: the largest squared distance of a kept row
    double *cap_losses    # and the loss of all others
    double *image_sums    # with padded rows
    int32_t *chosen       # rows kept of a block
    void *Z               # images of a block
    void *W               # projection, images of centres and centres, with padded rows
    void *images
    void *centres
    void *inv_scale       # aligned
    Py_ssize_t ldz        # padded size of an image
    Py_ssize_t ldc        # and of a centre
    void *part            # (ldz, ldz), where float32 goes through syrk


cdef Py_ssize_t block_rows(Py_ssize_t n, Py_ssize_t itemsize) noexcept nogil:
    cdef Py_ssize_t rows = BLOCK_BYTES // (n * itemsize) // TILE_ROWS * TILE_ROWS
    return min(<Py_ssize_t> MAX_BLOCK_ROWS, max(<Py_ssize_t> MIN_BLOCK_ROWS, rows))


cdef size_t lay_out_work(
    Work *work, size_t address, Py_ssize_t block, Py_ssize_t n, Py_ssize_t c, Py_ssize_t ldz,
    Py_ssize_t itemsize,
) noexcept nogil:
    """Place the arrays of a call one after the other; returns the end."""
    work.squares = <double *> carve(&address, block, sizeof(double))
    work.distances = <double *> carve(&address, block, sizeof(double))
    work.loss = <double *> carve(&address, block, sizeof(double))
    work.weights = <double *> carve(&address, block, sizeof(double))
    work.caps = <double *> carve(&address, c, sizeof(double))
    work.cap_losses = <double *> carve(&address, c, sizeof(double))
    work.image_sums = <double *> carve(&address, c * ldz, sizeof(double))
    work.chosen = <int32_t *> carve(&address, block, sizeof(int32_t))
    work.Z = carve(&address, block * ldz, itemsize)
    work.W = carve(&address, n * ldz, itemsize)
    work.images = carve(&address, c * ldz, itemsize)
    work.centres = carve(&address, c * work.ldc, itemsize)
    work.inv_scale = carve(&address, n, itemsize)
    work.part = carve(&address, ldz * ldz, itemsize)
    return address


cdef bint open_work(
    Work *work, Py_ssize_t block, Py_ssize_t n, Py_ssize_t c, Py_ssize_t ldz, Py_ssize_t itemsize,
) noexcept nogil:
    """Allocate what one call needs beside the panel; false when memory is short."""
    work.ldz = ldz
    work.ldc = aligned(n * itemsize) // itemsize
    work.memory = calloc(lay_out_work(work, CACHE_LINE, block, n, c, ldz, itemsize), 1)
    lay_out_work(work, aligned(<size_t> work.memory), block, n, c, ldz, itemsize)
    return work.memory != NULL


cdef struct Projection:
    void *memory
    void *Z               # images of a block
    void *W               # with padded rows
    void *origin          # what is taken from every image
    double *sums          # of the images
    int32_t *codes        # of a block: zeros


cdef size_t lay_out_projection(
    Projection *work, size_t address, Py_ssize_t block, Py_ssize_t n, Py_ssize_t ldz,
    Py_ssize_t itemsize,
) noexcept nogil:
    """Place the arrays of a projection one after the other; returns the end."""
    work.Z = carve(&address, block * ldz, itemsize)
    work.W = carve(&address, n * ldz, itemsize)
    work.origin = carve(&address, ldz, itemsize)
    work.sums = <double *> carve(&address, ldz, sizeof(double))
    work.codes = <int32_t *> carve(&address, block, sizeof(int32_t))
    return address


cdef bint open_projection(
    Projection *work, Py_ssize_t block, Py_ssize_t n, Py_ssize_t ldz, Py_ssize_t itemsize,
) noexcept nogil:
    """Allocate what a projection needs; false when memory is short."""
    work.memory = calloc(lay_out_projection(work, CACHE_LINE, block, n, ldz, itemsize), 1)
    lay_out_projection(work, aligned(<size_t> work.memory), block, n, ldz, itemsize)
    return work.memory != NULL


cdef void pad(
    const floating *source, Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t ld, floating *out,
) noexcept nogil:
    """Copy rows into wider ones, whose further columns are zero already."""
    cdef Py_ssize_t i
    for i in range(rows):
        memcpy(out + i * ld, source + i * columns, columns * sizeof(floating))


cdef void add_unpadded(
    const double *source, Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t ld, double *out,
) noexcept nogil:
    """Add rows of `ld` numbers to shorter ones."""
    cdef Py_ssize_t i, k
    for i in range(rows):
        for k in range(columns):
            out[i * columns + k] += source[i * ld + k]


cdef void prepare(
    Work *work, const floating *W, const floating *images, const floating *centres,
    const floating *inv_scale, const double *caps, Py_ssize_t n, Py_ssize_t c, Py_ssize_t d,
    double q, double floor,
) noexcept nogil:
    cdef Py_ssize_t i
    pad(W, n, d, work.ldz, <floating *> work.W)
    pad(images, c, d, work.ldz, <floating *> work.images)
    pad(centres, c, n, work.ldc, <floating *> work.centres)
    pad(inv_scale, 1, n, n, <floating *> work.inv_scale)
    for i in range(c):
        work.caps[i] = min(caps[i] * caps[i], DBL_MAX)  # an infinite row is never kept
        work.cap_losses[i] = pow(caps[i] * caps[i] + floor * floor, 0.5 * q)


def padded(Py_ssize_t size, Py_ssize_t itemsize):
    """Return the side of the accumulator of a `size` x `size` scatter of such items."""
    return padded_size(size, DLANES if itemsize == 8 else FLANES)


def add_to_histograms(
    const double[::1] distances,      # IN (N,)
    const int32_t[::1] codes,         # IN (N,)
    const double[::1] sample_weight,  # IN (N,), or empty: all ones
    double[:, ::1] histograms,        # OUT (c, HISTOGRAM_BINS)
):
    """Add the weight of each row to the histogram of the distances in its class."""
    if distances.shape[0] > 0:
        with nogil:
            deposit(&distances[0], &codes[0],
                    &sample_weight[0] if sample_weight.shape[0] > 0 else NULL,
                    distances.shape[0], &histograms[0, 0])


cdef double scaled_square(
    const floating *x, const floating *centre, const floating *inv_scale, Py_ssize_t n,
) noexcept nogil:
    """Squared length of (x - centre) / scale, by four independent sums."""
    cdef Py_ssize_t k = 0
    cdef double h0, h1, h2, h3, s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0
    while k + 4 <= n:
        h0 = (x[k] - centre[k]) * inv_scale[k]
        h1 = (x[k + 1] - centre[k + 1]) * inv_scale[k + 1]
        h2 = (x[k + 2] - centre[k + 2]) * inv_scale[k + 2]
        h3 = (x[k + 3] - centre[k + 3]) * inv_scale[k + 3]
        s0 += h0 * h0
        s1 += h1 * h1
        s2 += h2 * h2
        s3 += h3 * h3
        k += 4
    for k in range(k, n):
        h0 = (x[k] - centre[k]) * inv_scale[k]
        s0 += h0 * h0
    return (s0 + s1) + (s2 + s3)


def mirror(
    const double[:, :] upper,  # IN (n, n), upper triangle; rows are contiguous
    double[:, ::1] full,       # OUT (n, n), may be the same memory
):
    """Copy the upper triangle of a matrix to both triangles of another, tile by tile."""
    cdef Py_ssize_t n = full.shape[0], i, k, first, second
    cdef bint elsewhere = n > 0 and &upper[0, 0] != &full[0, 0]
    with nogil:
        first = 0
        while first < n:
            if elsewhere:
                for i in range(first, min(first + MIRROR_TILE, n)):
                    memcpy(&full[i, i], &upper[i, i], (n - i) * sizeof(double))
            second = first
            while second < n:
                for k in range(second, min(second + MIRROR_TILE, n)):
                    for i in range(first, min(first + MIRROR_TILE, k)):
                        full[k, i] = upper[i, k]
                second += MIRROR_TILE
            first += MIRROR_TILE


def scaled_norms(
    const floating[:, ::1] X,        # IN (N, n)
    const int32_t[::1] codes,        # IN (N,)
    const floating[:, ::1] centres,  # IN (c, n)
    const floating[::1] inv_scale,   # IN (n,)
    double[::1] norms,               # OUT (N,)
):
    """Root mean square of (x - centre) / scale over the features of each row."""
    cdef Py_ssize_t j, n = X.shape[1]
    with nogil:
        for j in range(X.shape[0]):
            norms[j] = sqrt(scaled_square(&X[j, 0], &centres[codes[j], 0], &inv_scale[0], n) / n)


def capped_weights(
    const double[::1] distances,  # IN (N,)
    const double[::1] caps,       # IN (N,)
    double[::1] weights,          # OUT (N,)
    double q, double floor,
):
    """Weights q (a^2 + floor^2)^(q/2-1) of distances up to their cap, 0 beyond it."""
    cdef Py_ssize_t j
    cdef double square, loss
    with nogil:
        for j in range(distances.shape[0]):
            square = distances[j] * distances[j]
            powers(&square, 1, q, floor, &loss, &weights[j])
            if not distances[j] <= caps[j]:
                weights[j] = 0.0


cdef inline void copy_vectors(
    const floating *source, Py_ssize_t count, floating *out,
) noexcept nogil:
    """Copy whole vectors: faster than a call for some bytes."""
    cdef Py_ssize_t k = 0
    while k < count:
        if floating is double:
            (<dvec *> (out + k))[0] = (<const dvec *> (source + k))[0]
        else:
            (<fvec *> (out + k))[0] = (<const fvec *> (source + k))[0]
        k += lanes(source)


cdef void write_images(
    const floating *Z, Py_ssize_t rows, Py_ssize_t d, Py_ssize_t ldz, Py_ssize_t left,
    floating *images, double *sums,
) noexcept nogil:
    """Write images without their padding, and add them to the sums.

    There is room for `left` numbers. A row that may be written with its padding is: the next
    row comes over it.
    """
    cdef Py_ssize_t j
    for j in range(rows):
        if j * d + ldz <= left:
            copy_vectors(Z + j * ldz, ldz, images + j * d)
        else:
            memcpy(images + j * d, Z + j * ldz, d * sizeof(floating))
        if floating is double:
            add_times_d(sums, Z + j * ldz, 1.0, ldz)
        else:
            add_times_f(sums, Z + j * ldz, 1.0, ldz)


def affine_images(
    const floating[:, ::1] X,    # IN (N, n)
    const floating[:, ::1] W,    # IN (n, d)
    const floating[::1] offset,  # IN (d,)
    floating[:, ::1] images,     # OUT (N, d)
):
    """images = X W + offset; returns their sum, which is not finite if one of them is not."""
    cdef:
        Py_ssize_t N = X.shape[0], n = X.shape[1], d = W.shape[1], first = 0, rows, j
        Py_ssize_t ldz = padded_size(d, DLANES if floating is double else FLANES)
        Py_ssize_t block = block_rows(n, sizeof(floating))
        double total = 0.0
        Projection work
    if not open_projection(&work, block, n, ldz, sizeof(floating)):
        raise MemoryError("no memory for the work space of a projection")
    with nogil:
        pad(&W[0, 0], n, d, ldz, <floating *> work.W)
        for j in range(d):
            (<floating *> work.origin)[j] = -offset[j]
        while first < N:
            rows = min(block, N - first)
            project(&X[first, 0], rows, n, <floating *> work.W, ldz, <floating *> work.origin,
                    work.codes, <floating *> work.Z)
            write_images(<floating *> work.Z, rows, d, ldz, (N - first) * d, &images[first, 0],
                         work.sums)
            first += rows
        for j in range(ldz):  # the padding is zero, or not finite as the rest
            total += work.sums[j]
        free(work.memory)
    return total


def fused_pass(
    const floating[:, ::1] X,          # IN (N, n)
    const int32_t[::1] codes,          # IN (N,) class of each row
    const double[::1] sample_weight,   # IN (N,), or empty: all ones
    const floating[:, ::1] W,          # IN (n, d)
    const floating[:, ::1] images,     # IN (c, d) = centres W
    const floating[:, ::1] centres,    # IN (c, n)
    const floating[::1] inv_scale,     # IN (n,)
    const double[::1] caps,            # IN (c,), inf allowed
    double[::1] distances,             # OUT (N,) or empty
    double[:, ::1] scatter,            # OUT (padded(n), padded(n)) upper triangle, or (0, 0)
    double[:, ::1] sums,               # OUT (c, n) of kept rows about their centre, or (0, 0)
    double[:, ::1] image_sums,         # OUT (c, d) of their images, if sums are not wanted
    double[:, ::1] image_scatter,      # OUT (padded(d), padded(d)) of their images, upper
    double[:, ::1] kept,               # OUT (c, 2) kept rows, kept weight
    double[:, ::1] histograms,         # OUT (c, HISTOGRAM_BINS) of distances, all rows
    double q, double floor,
):
    """One pass over a slab of rows; returns (objective, rows whose distance is not finite)."""
    cdef:
        Py_ssize_t N = X.shape[0], n = X.shape[1], d = W.shape[1], c = centres.shape[0]
        Py_ssize_t ldz = padded_size(d, DLANES if floating is double else FLANES)
        Py_ssize_t block = block_rows(n, sizeof(floating))
        Py_ssize_t first = 0, rows, count, not_finite = 0, j
        bint want_scatter = scatter.shape[0] > 0, want_sums = sums.shape[0] > 0
        bint want_distances = distances.shape[0] > 0, ready
        bint short_rows = n * sizeof(floating) <= SHORT_ROW_BYTES
        const floating *x
        const int32_t *y
        const double *w = NULL
        double *a
        double objective = 0.0
        Panel panel
        Work work
    if N == 0:
        return 0.0, 0
    ready = open_panel(&panel, n, sizeof(floating), &scatter[0, 0] if want_scatter else NULL)
    ready = open_work(&work, block, n, c, ldz, sizeof(floating)) and ready
    if not ready:
        free(panel.memory)
        free(work.memory)
        raise MemoryError("no memory for the work space of a pass")
    with nogil:
        prepare(&work, &W[0, 0], &images[0, 0], &centres[0, 0], &inv_scale[0], &caps[0],
                n, c, d, q, floor)
        while first < N:
            rows = min(block, N - first)
            x = &X[first, 0]
            y = &codes[first]
            if sample_weight.shape[0] > 0:
                w = &sample_weight[first]
            project(x, rows, n, <floating *> work.W, ldz, <floating *> work.images, y,
                    <floating *> work.Z)
            square_norms(<floating *> work.Z, rows, ldz, work.squares)
            a = &distances[first] if want_distances else work.distances
            for j in range(rows):
                a[j] = sqrt(work.squares[j])
            deposit(a, y, w, rows, &histograms[0, 0])
            powers(work.squares, rows, q, floor, work.loss, work.weights)
            count = keep(work.squares, y, w, work.loss, work.caps, work.cap_losses, rows,
                         &kept[0, 0], &objective, &not_finite, work.chosen)
            if want_sums:
                add_sums(x, y, w, work.chosen, count, <floating *> work.centres, work.ldc, n,
                         &sums[0, 0])
            else:
                add_image_sums(<floating *> work.Z, y, w, work.chosen, count, ldz,
                               work.image_sums)
            if want_scatter:
                roots(work.weights, w, rows)
                add_to_panel(x, y, work.weights, work.chosen, count, <floating *> work.centres,
                             work.ldc, <floating *> work.inv_scale, &panel,
                             block if short_rows and first + 2 * block <= N else 0)
            gather_images(<floating *> work.Z, w, work.chosen, count, ldz)
            if HAVE_TILES:
                add_gram_of_images(<floating *> work.Z, count, ldz, &image_scatter[0, 0])
            else:
                add_gram_by_blas(<floating *> work.Z, count, ldz, &image_scatter[0, 0], ldz,
                                 <floating *> work.part)
            first += rows
        add_unpadded(work.image_sums, c, d, ldz, &image_sums[0, 0])
        if want_scatter:
            flush(&X[0, 0], &panel)
        free(panel.memory)
        free(work.memory)
    return objective, not_finite
