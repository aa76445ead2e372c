"""The pass over the data, block by block.

For row j of class i: image z_j = W'x_j - W'm_i, distance a_j = ||z_j||,
r = a_j^2 + floor^2. A row is kept while a_j <= cap_i; a kept row has weight
F_j = q r^(q/2-1) and adds F_j h_j h_j' to the scatter, h_j = (x_j - m_i) / scale.

The slab is read once, in blocks that stay in cache: the rows of a block are measured by
the gate, beyond which they have no weight, and projected, their distances turned into
weights, and the kept rows packed, centred and scaled, into a panel; a full panel is added
to the scatter. Every function adds into the sums it is given, so that rows may be cut
anywhere. Rows are C-ordered float32 or float64 and may be read-only; float32 rows are
multiplied in float32 and summed in float64. An output of length zero is not wanted and not
computed. Nothing is checked here.

This module runs on any processor. The innermost loops, which a `Kernels` calls through a
table of pointers, are built for several sets of instructions: see tiles.h.
"""

from cython cimport floating
from libc.float cimport DBL_MAX
from libc.math cimport pow
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from cappedlda._kernels.blas cimport add_product
from cappedlda._kernels.memory cimport CACHE_LINE, aligned, begin_of, carve
from cappedlda._kernels.panel cimport add_gram_by_blas, add_to_panel, flush, open_panel
from cappedlda._kernels.tiles cimport (
    N_BINS,
    Kept,
    Loops,
    Panel,
    Target,
    cappedlda_target,
    image_size,
    loops_of,
    padded_size,
)

# Sizes, by measurement with 48 KiB of L1 and 1.25 MiB of L2 (Ice Lake). A block stays in
# L2 until its rows are packed. The processor prefetches rows longer than SHORT_ROW_BYTES itself;
# shorter ones are prefetched a block ahead.
cdef enum:
    BLOCK_BYTES = 1 << 18
    MAX_BLOCK_ROWS = 128
    MIN_BLOCK_ROWS = 16
    SHORT_ROW_BYTES = 1 << 10


# --------------------------------------------------------------------- projection

cdef void project(
    const Loops *loops, const floating *X, Py_ssize_t rows, Py_ssize_t n, const floating *W,
    Py_ssize_t ldz, const floating *images, const int32_t *codes, Py_ssize_t ahead, floating *Z,
) noexcept nogil:
    """Z = X W - images[codes]; the memory of the rows `ahead` may be asked for meanwhile."""
    loops.start_images(images, ldz, codes, rows, Z)
    if loops.tiled_columns > 0:
        loops.project(X, rows, n, W, ldz, ahead, Z)
    else:
        add_product(X, W, Z, rows, n, ldz)


cdef void add_gram_of_images(
    const Loops *loops, const floating *Z, Py_ssize_t count, Py_ssize_t ldz, double *out,
    floating *part,
) noexcept nogil:
    """out += Z'Z, the upper triangle; float32 products of BLAS pass through `part`."""
    if loops.tiled_columns > 0:
        loops.add_gram_of_images(Z, count, ldz, out)
    else:
        add_gram_by_blas(Z, count, ldz, out, ldz, part)


# ------------------------------------------------------------ distances to weights

cdef void powers(
    const Target *target, const double *squares, Py_ssize_t rows, double q, double floor,
    double *loss, double *weights,
) noexcept nogil:
    """loss = r^(q/2) and weight q r^(q/2-1) of uncapped rows; loops without a branch."""
    cdef Py_ssize_t j
    cdef double r, mu2 = floor * floor
    if q == 1.0:
        for j in range(rows):
            loss[j] = squares[j] + mu2
        target.square_roots(loss, rows, loss)
        target.reciprocals(loss, rows, weights)
    elif q == 2.0:
        for j in range(rows):
            loss[j] = squares[j] + mu2
            weights[j] = 2.0
    else:
        for j in range(rows):
            r = pow(squares[j] + mu2, 0.5 * q - 1.0)
            loss[j] = r * (squares[j] + mu2)
            weights[j] = q * r


cdef void roots(
    const Target *target, double *weights, const double *sample_weight, Py_ssize_t rows,
) noexcept nogil:
    """Turn weights into what a packed row is multiplied by, the root of w F."""
    cdef Py_ssize_t j
    if sample_weight != NULL:
        for j in range(rows):
            weights[j] *= sample_weight[j]
    target.square_roots(weights, rows, weights)


cdef Py_ssize_t keep(
    const double *squares, const int32_t *codes, const double *sample_weight,
    const double *caps, const double *cap_losses, Py_ssize_t rows,
    double *loss, double *kept, Py_ssize_t *not_finite, int32_t *chosen,
) noexcept nogil:
    """List the kept rows of a block, add to their tallies, and cap the losses of the others.

    Without branches: whether a row is kept cannot be predicted.
    """
    cdef Py_ssize_t j, i, count = 0
    cdef double weight = 1.0
    cdef double losses[2]
    cdef bint inside
    for j in range(rows):
        i = codes[j]
        if sample_weight != NULL:
            weight = sample_weight[j]
            if not weight > 0.0:  # nothing counts, and the loss of a cap may be infinite
                loss[j] = 0.0
                continue
        inside = squares[j] <= caps[i]
        chosen[count] = <int32_t> j
        count += inside
        not_finite[0] += not (squares[j] <= DBL_MAX)
        losses[0] = cap_losses[i]
        losses[1] = loss[j]
        loss[j] = losses[inside]
        kept[2 * i] += inside
        kept[2 * i + 1] += inside * weight
    return count


# --------------------------------------------------------------------- the gate

cdef void divide_by_caps(
    double *norms, const int32_t *codes, const double *caps, Py_ssize_t rows,
) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(rows):
        norms[j] /= caps[codes[j]]


cdef bint weigh_inside(
    const double *ratios, double level, const double *sample_weight, Py_ssize_t rows,
    double *weights,
) noexcept nogil:
    """Give rows beyond a level of the gate no weight; returns whether there is one."""
    cdef Py_ssize_t j, count = 0
    cdef bint inside
    for j in range(rows):
        inside = ratios[j] <= level
        weights[j] = inside if sample_weight == NULL else inside * sample_weight[j]
        count += inside
    return count < rows


# --------------------------------------------------------------------- work space

cdef struct Work:
    void *memory
    double *squares       # of a block: squared distances,
    double *distances     # distances,
    double *loss          # losses
    double *weights       # and weights, then roots of them,
    double *ratios        # ratios to the gate
    double *inside        # and weights inside it
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
    Panel panel


cdef Py_ssize_t block_rows(const Loops *loops, Py_ssize_t n, Py_ssize_t itemsize) noexcept nogil:
    cdef Py_ssize_t rows = BLOCK_BYTES // (n * itemsize) // loops.tile_rows * loops.tile_rows
    return min(<Py_ssize_t> MAX_BLOCK_ROWS, max(<Py_ssize_t> MIN_BLOCK_ROWS, rows))


cdef Py_ssize_t rows_ahead(
    Py_ssize_t first, Py_ssize_t block, Py_ssize_t N, Py_ssize_t row_bytes,
) noexcept nogil:
    """How far ahead memory should be asked for: a block, if a whole one follows, or not at all."""
    return block if row_bytes <= SHORT_ROW_BYTES and first + 2 * block <= N else 0


cdef size_t lay_out(
    Work *work, size_t address, Py_ssize_t block, Py_ssize_t n, Py_ssize_t c, Py_ssize_t itemsize,
) noexcept nogil:
    """Place the arrays of a call one after the other; returns the end."""
    cdef Py_ssize_t ldz = work.ldz
    cdef Panel *panel = &work.panel
    work.squares = <double *> carve(&address, block, sizeof(double))
    work.distances = <double *> carve(&address, block, sizeof(double))
    work.loss = <double *> carve(&address, block, sizeof(double))
    work.weights = <double *> carve(&address, block, sizeof(double))
    work.ratios = <double *> carve(&address, block, sizeof(double))
    work.inside = <double *> carve(&address, block, sizeof(double))
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
    if panel.scatter != NULL:
        panel.rows = carve(&address, panel.room * panel.ld, itemsize)
        panel.part = carve(&address, 0 if panel.tiled else n * n, itemsize)
    return address


cdef int open_work(
    Work *work, const Loops *loops, Py_ssize_t block, Py_ssize_t n, Py_ssize_t c, Py_ssize_t d,
    Py_ssize_t itemsize, double *scatter,
) except -1:
    """Allocate what one call needs; without a scatter there is no panel."""
    work.ldz = image_size(loops, d)
    work.ldc = aligned(n * itemsize) // itemsize
    open_panel(&work.panel, loops, n, itemsize, scatter)
    work.memory = calloc(lay_out(work, CACHE_LINE, block, n, c, itemsize), 1)
    if work.memory == NULL:
        raise MemoryError("no memory for the work space of a pass")
    lay_out(work, aligned(<size_t> work.memory), block, n, c, itemsize)
    return 0


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


cdef class Kernels:
    """The functions that are fastest with the instructions of one target.

    Attributes
    ----------
    name : str
        baseline, which runs anywhere, avx2, avx512 or neon.
    """

    HISTOGRAM_BINS = N_BINS

    cdef const Target *target
    cdef readonly str name

    def padded(self, Py_ssize_t size, Py_ssize_t itemsize):
        """Return the side of the accumulator of a `size` x `size` scatter of such items."""
        return padded_size(loops_of(self.target, itemsize), size)

    def padded_image(self, Py_ssize_t size, Py_ssize_t itemsize):
        """Return the side of the accumulator of the scatter of images in `size` directions."""
        return image_size(loops_of(self.target, itemsize), size)

    def add_to_histograms(
        self,
        const double[::1] distances,      # IN (N,)
        const int32_t[::1] codes,         # IN (N,)
        const double[::1] sample_weight,  # IN (N,), or None: all ones
        double[:, ::1] histograms,        # OUT (c, HISTOGRAM_BINS)
    ):
        """Add the weight of each row to the histogram of the distances in its class."""
        if distances.shape[0] > 0:
            with nogil:
                self.target.deposit(&distances[0], NULL, &codes[0], begin_of(sample_weight),
                                    distances.shape[0], &histograms[0, 0])

    def scaled_norms(
        self,
        const floating[:, ::1] X,        # IN (N, n)
        const int32_t[::1] codes,        # IN (N,)
        const floating[:, ::1] centres,  # IN (c, n)
        const floating[::1] inv_scale,   # IN (n,)
        double[::1] norms,               # OUT (N,)
    ):
        """Root mean square of (x - centre) / scale over the features of each row."""
        if X.shape[0] > 0:
            with nogil:
                loops_of(self.target, sizeof(floating)).scaled_norms(
                    &X[0, 0], X.shape[0], X.shape[1], &codes[0], &centres[0, 0], &inv_scale[0],
                    &norms[0])

    def add_checksums(
        self,
        const floating[:, ::1] X,         # IN (N, n)
        const int32_t[::1] codes,         # IN (N,)
        const double[::1] sample_weight,  # IN (N,), or None: all ones
        const uint32_t[::1] keys,         # IN one for each word of 32 bits of a row, and one more
        uint64_t[::1] checksums,          # IN OUT (c,)
    ):
        """Add the checksum of each row to that of its class; return if all numbers are finite.

        It depends on where the numbers of a row stand, not on the order of the rows.
        """
        cdef bint finite = True
        if X.shape[0] > 0:
            with nogil:
                finite = loops_of(self.target, sizeof(floating)).add_checksums(
                    &X[0, 0], X.shape[0], X.shape[1], &keys[0], &codes[0],
                    begin_of(sample_weight), &checksums[0])
        return finite

    def capped_weights(
        self,
        const double[::1] distances,  # IN (N,)
        const double[::1] caps,       # IN (N,)
        double[::1] weights,          # OUT (N,)
        double q, double floor,
    ):
        """Weights q (a^2 + floor^2)^(q/2-1) of distances up to their cap, 0 beyond it."""
        cdef Py_ssize_t j, first = 0, rows, N = distances.shape[0]
        cdef double[MAX_BLOCK_ROWS] squares, loss
        with nogil:
            while first < N:
                rows = min(<Py_ssize_t> MAX_BLOCK_ROWS, N - first)
                self.target.floored_squares(&distances[first], rows, floor, squares)
                powers(self.target, squares, rows, q, 0.0, loss, &weights[first])
                for j in range(first, first + rows):
                    if not distances[j] <= caps[j]:
                        weights[j] = 0.0
                first += rows

    def affine_images(
        self,
        const floating[:, ::1] X,    # IN (N, n)
        const floating[:, ::1] W,    # IN (n, d)
        const floating[::1] offset,  # IN (d,)
        floating[:, ::1] images,     # OUT (N, d)
    ):
        """images = X W + offset; returns their sum, which is not finite if one of them is not."""
        cdef:
            Py_ssize_t N = X.shape[0], n = X.shape[1], d = W.shape[1], first = 0, rows, j
            const Loops *loops = loops_of(self.target, sizeof(floating))
            Py_ssize_t ldz = image_size(loops, d), block = block_rows(loops, n, sizeof(floating))
            double total = 0.0
            Work work
        open_work(&work, loops, block, n, 1, d, sizeof(floating), NULL)
        with nogil:
            pad(&W[0, 0], n, d, ldz, <floating *> work.W)
            for j in range(d):  # one class, of which all rows are: nothing is chosen
                (<floating *> work.images)[j] = -offset[j]
            while first < N:
                rows = min(block, N - first)
                project(loops, &X[first, 0], rows, n, <floating *> work.W, ldz,
                        <floating *> work.images, work.chosen,
                        rows_ahead(first, block, N, n * sizeof(floating)), <floating *> work.Z)
                loops.write_images(work.Z, rows, d, ldz, (N - first) * d, &images[first, 0],
                                   work.image_sums)
                first += rows
            for j in range(ldz):  # the padding is zero, or not finite as the rest
                total += work.image_sums[j]
            free(work.memory)
        return total

    def fused_pass(
        self,
        const floating[:, ::1] X,          # IN (N, n)
        const int32_t[::1] codes,          # IN (N,) class of each row
        const double[::1] sample_weight,   # IN (N,), or None: all ones
        const floating[:, ::1] W,          # IN (n, d)
        const floating[:, ::1] images,     # IN (c, d) = centres W
        const floating[:, ::1] centres,    # IN (c, n)
        const floating[::1] inv_scale,     # IN (n,)
        const double[::1] caps,            # IN (c,), inf allowed
        const floating[:, ::1] gate_centres,     # IN (c, n), or None: no gate, or known ratios
        const floating[::1] gate_inv_scale,      # IN (n,)
        const double[::1] gate_caps,       # IN (c,)
        double gate_level,                 # multiple of the caps beyond which rows have no weight
        double[::1] gate_ratios,           # IN or OUT (N,) size of the rows over the caps, or None
        double[::1] distances,             # OUT (N,) or None
        double[:, ::1] scatter,            # OUT (padded(n), padded(n)) upper triangle, or (0, 0)
        double[:, ::1] sums,               # OUT (c, n) of kept rows about their centre, or (0, 0)
        double[:, ::1] image_scatter,      # OUT (padded_image(d), the same) of their images, upper,
                                           # or (0, 0): neither is wanted
        double[:, ::1] image_sums,         # OUT (c, d) of these images, zeros if there are `sums`
        double[:, ::1] kept,               # OUT (c, 2) kept rows, kept weight
        double[:, ::1] histograms,         # OUT (c, HISTOGRAM_BINS) of distances, all rows
        double q, double floor,
    ):
        """One pass over a slab of rows.

        Returns the sum of the capped losses, and the rows whose distance is not finite.
        """
        cdef:
            Py_ssize_t N = X.shape[0], n = X.shape[1], d = W.shape[1], c = centres.shape[0]
            const Target *target = self.target
            const Loops *loops = loops_of(target, sizeof(floating))
            Py_ssize_t ldz = image_size(loops, d), block = block_rows(loops, n, sizeof(floating))
            Py_ssize_t first = 0, rows
            bint want_scatter = scatter.shape[0] > 0, want_sums = sums.shape[0] > 0
            bint want_distances = distances is not None, want_images = image_scatter.shape[0] > 0
            bint measure = gate_centres is not None, has_ratios = gate_ratios is not None
            double objective = 0.0
            Py_ssize_t not_finite = 0
            const floating *x
            const int32_t *y
            const double *w
            double *a
            double *ratios
            Kept chosen
            Work work
        if N == 0:
            return objective, not_finite
        open_work(&work, loops, block, n, c, d, sizeof(floating),
                  &scatter[0, 0] if want_scatter else NULL)
        with nogil:
            prepare(&work, &W[0, 0], &images[0, 0], &centres[0, 0], &inv_scale[0], &caps[0],
                    n, c, d, q, floor)
            chosen.numbers = work.chosen
            while first < N:
                rows = min(block, N - first)
                x = &X[first, 0]
                y = &codes[first]
                w = NULL if sample_weight is None else &sample_weight[first]
                ratios = &gate_ratios[first] if has_ratios else work.ratios
                if measure:
                    loops.scaled_norms(
                        x, rows, n, y, &gate_centres[0, 0], &gate_inv_scale[0], ratios)
                    divide_by_caps(ratios, y, &gate_caps[0], rows)
                if measure or has_ratios:
                    if weigh_inside(ratios, gate_level, w, rows, work.inside):
                        w = work.inside
                project(loops, x, rows, n, <floating *> work.W, ldz, <floating *> work.images, y,
                        rows_ahead(first, block, N, n * sizeof(floating)), <floating *> work.Z)
                loops.square_norms(work.Z, rows, ldz, work.squares)
                a = &distances[first] if want_distances else work.distances
                target.square_roots(work.squares, rows, a)
                powers(target, work.squares, rows, q, floor, work.loss, work.weights)
                chosen.codes = y
                chosen.sample_weight = w
                chosen.count = keep(work.squares, y, w, work.caps, work.cap_losses, rows,
                                    work.loss, &kept[0, 0], &not_finite, work.chosen)
                objective += target.deposit(a, work.loss, y, w, rows, &histograms[0, 0])
                if want_sums:
                    loops.add_sums(x, n, &chosen, work.centres, work.ldc, &sums[0, 0])
                elif want_images:
                    loops.add_image_sums(work.Z, ldz, &chosen, work.image_sums)
                if want_scatter:
                    roots(target, work.weights, w, rows)
                    add_to_panel(loops, x, chosen, <floating *> work.centres, work.ldc,
                                 <floating *> work.inv_scale, work.weights, &work.panel)
                if want_images:
                    loops.gather_images(work.Z, ldz, &chosen)
                    add_gram_of_images(loops, <floating *> work.Z, chosen.count, ldz,
                                       &image_scatter[0, 0], <floating *> work.part)
                first += rows
            if want_scatter:
                flush(loops, <floating *> NULL, &work.panel)
            add_unpadded(work.image_sums, c, d, ldz, &image_sums[0, 0])
            free(work.memory)
        return objective, not_finite


def builds():
    """Return the kernels that this processor can run by name, the fastest first."""
    cdef int number = 0
    cdef Kernels kernels
    found = {}
    while cappedlda_target(number) != NULL:
        kernels = Kernels()
        kernels.target = cappedlda_target(number)
        kernels.name = kernels.target.name.decode()
        found[kernels.name] = kernels
        number += 1
    return found
