# The two products of a pass, Z = X W and P'P, by register tiles or by BLAS.
#
# A panel P that goes to the tiles is kept as slivers: all rows of the first few
# columns, then of the next, as wide as one tile, so that a tile reads memory in order.
# Sizes are padded to whole vectors; padding is zero or scratch.

from cython cimport floating
from libc.stdint cimport int32_t

from cappedlda._kernels._blas cimport add_gram, add_product

cdef extern from "_tiles.h":
    ctypedef double dvec
    ctypedef float fvec
    enum:
        DLANES
        FLANES
        TILE_ROWS
        NARROWEST
        WIDEST
        HAVE_TILES
        GROUP_BYTES
        VECTOR_BYTES
        PANEL_DOUBLES
        PANEL_FLOATS
        TILED_DOUBLES
        TILED_FLOATS
    double square_norm_d(const double *, Py_ssize_t) noexcept nogil
    double square_norm_f(const float *, Py_ssize_t) noexcept nogil
    void add_times_d(double *, const double *, double, Py_ssize_t) noexcept nogil
    void add_times_f(double *, const float *, double, Py_ssize_t) noexcept nogil
    void fetch_ahead(const void *, Py_ssize_t) noexcept nogil
    void image_tile_d(const double *, Py_ssize_t, Py_ssize_t, const double *, Py_ssize_t,
                      Py_ssize_t, double *, Py_ssize_t, Py_ssize_t) noexcept nogil
    void image_tile_f(const float *, Py_ssize_t, Py_ssize_t, const float *, Py_ssize_t,
                      Py_ssize_t, float *, Py_ssize_t, Py_ssize_t) noexcept nogil
    void lone_image_d(const double *, Py_ssize_t, Py_ssize_t, const double *, Py_ssize_t,
                      Py_ssize_t, double *, Py_ssize_t, Py_ssize_t) noexcept nogil
    void lone_image_f(const float *, Py_ssize_t, Py_ssize_t, const float *, Py_ssize_t,
                      Py_ssize_t, float *, Py_ssize_t, Py_ssize_t) noexcept nogil
    void gram_tile_d(const double *, Py_ssize_t, Py_ssize_t, const double *, Py_ssize_t,
                     Py_ssize_t, double *, Py_ssize_t, Py_ssize_t) noexcept nogil
    void gram_tile_f(const float *, Py_ssize_t, Py_ssize_t, const float *, Py_ssize_t,
                     Py_ssize_t, double *, Py_ssize_t, Py_ssize_t) noexcept nogil

cdef enum:
    STRETCH = 192  # rows of W that stay in L1


cdef inline Py_ssize_t lanes(const floating *tag) noexcept nogil:
    if floating is double:
        return DLANES
    else:
        return FLANES


cdef inline Py_ssize_t padded_size(Py_ssize_t size, Py_ssize_t width) noexcept nogil:
    """Whole vectors of `width` numbers, enough for a tile, and whole tiles."""
    cdef Py_ssize_t step = max(<Py_ssize_t> TILE_ROWS, width)
    return max((size + step - 1) // step * step, NARROWEST * width)


cdef inline Py_ssize_t next_width(Py_ssize_t vectors) noexcept nogil:
    """Vectors of the next tile: threes, and a lone one only where nothing else is left."""
    if vectors == 4:
        return 2
    return max(<Py_ssize_t> NARROWEST, min(vectors, <Py_ssize_t> WIDEST))


cdef inline void add_tile_in_double(
    const floating *a, Py_ssize_t lda, const floating *b, Py_ssize_t ldb, Py_ssize_t length,
    double *c, Py_ssize_t ldc, Py_ssize_t width,
) noexcept nogil:
    """Add a tile of the products of two slivers to sums that are float64 for any input."""
    if floating is double:
        gram_tile_d(a, 1, lda, b, ldb, length, c, ldc, width)
    else:
        gram_tile_f(a, 1, lda, b, ldb, length, c, ldc, width)


# ---------------------------------------------------------------- projection

cdef inline void project_tile(
    const floating *X, Py_ssize_t rows, Py_ssize_t n, const floating *W, Py_ssize_t ldz,
    Py_ssize_t length, floating *Z, Py_ssize_t width,
) noexcept nogil:
    """Z += X W for a tile of rows, or for one."""
    if floating is double:
        if rows == TILE_ROWS:
            image_tile_d(X, n, 1, W, ldz, length, Z, ldz, width)
        else:
            lone_image_d(X, n, 1, W, ldz, length, Z, ldz, width)
    else:
        if rows == TILE_ROWS:
            image_tile_f(X, n, 1, W, ldz, length, Z, ldz, width)
        else:
            lone_image_f(X, n, 1, W, ldz, length, Z, ldz, width)


cdef void project_tiles(
    const floating *X, Py_ssize_t rows, Py_ssize_t n, const floating *W, Py_ssize_t ldz,
    floating *Z,
) noexcept nogil:
    """Z += X W. The image of a row does not depend on the rows beside it."""
    cdef Py_ssize_t j, k = 0, length, v, width, step, size = lanes(Z)
    while k < n:
        length = min(<Py_ssize_t> STRETCH, n - k)
        j = 0
        while j < rows:
            step = TILE_ROWS if j + TILE_ROWS <= rows else 1
            v = 0
            while v * size < ldz:
                width = next_width(ldz // size - v)
                project_tile(X + j * n + k, step, n, W + k * ldz + v * size, ldz, length,
                             Z + j * ldz + v * size, width)
                v += width
            j += step
        k += length


cdef void project(
    const floating *X, Py_ssize_t rows, Py_ssize_t n, const floating *W, Py_ssize_t ldz,
    const floating *images, const int32_t *codes, floating *Z,
) noexcept nogil:
    """Z = X W - images[codes]."""
    cdef Py_ssize_t j, v
    cdef const floating *image
    for j in range(rows):
        image = images + codes[j] * ldz
        for v in range(ldz):
            Z[j * ldz + v] = -image[v]
    if HAVE_TILES:
        project_tiles(X, rows, n, W, ldz, Z)
    else:
        add_product(X, W, Z, rows, n, ldz)


# ---------------------------------------------------------------------- gram

cdef void add_gram_of_slivers(
    const floating *panel, Py_ssize_t room, Py_ssize_t rows, Py_ssize_t n,
    double *out, Py_ssize_t ld,
) noexcept nogil:
    """out += panel'panel, the tiles that touch the upper triangle.

    A group of slivers stays in L2. The columns of a tile stay in L1 while the group passes
    by, and the result is written row by row. On the diagonal a tile leaves out the vectors
    that lie below, unless it gets too narrow.
    """
    cdef Py_ssize_t size = lanes(panel), vectors = ld // lanes(panel)
    cdef Py_ssize_t group = max(<Py_ssize_t> WIDEST, GROUP_BYTES // (VECTOR_BYTES * rows))
    cdef Py_ssize_t first = 0, stop = 0, u, deep, i, v, width, skip
    cdef const floating *a
    while first < vectors:
        while stop < min(first + group, vectors):
            stop += next_width(vectors - stop)
        u = 0
        while u < stop:
            deep = next_width(vectors - u)
            a = panel + u * size * room
            i = 0
            while i < min(deep * size, n - u * size):
                v = max(u, first)
                while v < stop:
                    width = next_width(vectors - v)
                    skip = min(i // size, width - NARROWEST) if u == v else 0
                    add_tile_in_double(
                        a + i, deep * size, panel + v * size * room + skip * size, width * size,
                        rows, out + (u * size + i) * ld + (v + skip) * size, ld, width - skip)
                    v += width
                i += TILE_ROWS
            u += deep
        first = stop


cdef void add_gram_of_images(
    const floating *Z, Py_ssize_t rows, Py_ssize_t ldz, double *out,
) noexcept nogil:
    """out += Z'Z for a narrow row-major Z, the tiles that touch the upper triangle."""
    cdef Py_ssize_t size = lanes(Z), v = 0, i, width
    while v * size < ldz:
        width = next_width(ldz // size - v)
        for i in range((v + width) * size // TILE_ROWS):
            add_tile_in_double(Z + TILE_ROWS * i, ldz, Z + v * size, ldz, rows,
                               out + TILE_ROWS * i * ldz + v * size, ldz, width)
        v += width


cdef void add_gram_by_blas(
    const floating *X, Py_ssize_t rows, Py_ssize_t n, double *out, Py_ssize_t ld, floating *part,
) noexcept nogil:
    """out += X'X for a row-major X; float32 products pass through `part` (n, n)."""
    cdef Py_ssize_t i, k
    if floating is double:
        add_gram(X, out, rows, n, ld, 1.0)
    else:
        add_gram(X, part, rows, n, n, <floating> 0.0)
        for i in range(n):
            for k in range(i, n):
                out[i * ld + k] += part[i * n + k]
