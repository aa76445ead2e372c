# The two products of a pass, Z = X W and P'P, by register tiles or by BLAS.
#
# A panel P that goes to the tiles is kept as slivers: all rows of the first few
# columns, then of the next, as wide as one tile, so that a tile reads memory in order.
# Sizes are padded to whole vectors; padding is zero or scratch.

from cython cimport floating
from libc.stdint cimport int32_t
from libc.string cimport memset

from cappedlda._core._blas cimport add_gram, add_product

cdef extern from "_tiles.h":
    ctypedef double dvec
    ctypedef float fvec
    enum:
        DLANES
        FLANES
        HAVE_TILES
    void tile3_d(const double *, Py_ssize_t, Py_ssize_t, const double *, Py_ssize_t,
                 Py_ssize_t, double *, Py_ssize_t) noexcept nogil
    void tile2_d(const double *, Py_ssize_t, Py_ssize_t, const double *, Py_ssize_t,
                 Py_ssize_t, double *, Py_ssize_t) noexcept nogil
    void tile3_f(const float *, Py_ssize_t, Py_ssize_t, const float *, Py_ssize_t,
                 Py_ssize_t, float *, Py_ssize_t) noexcept nogil
    void tile2_f(const float *, Py_ssize_t, Py_ssize_t, const float *, Py_ssize_t,
                 Py_ssize_t, float *, Py_ssize_t) noexcept nogil

cdef enum:
    TILE_ROWS = 4
    TILED_GRAM_COLUMNS = 1024  # with more, syrk is as fast
    STRETCH = 192              # rows of W that stay in L1
    GROUP_BYTES = 1 << 18      # slivers that stay in L2


cdef inline Py_ssize_t lanes(const floating *tag) noexcept nogil:
    if floating is double:
        return DLANES
    else:
        return FLANES


cdef inline Py_ssize_t padded_size(Py_ssize_t size, Py_ssize_t width) noexcept nogil:
    """Whole vectors of `width` numbers, at least two of them, and whole tiles."""
    cdef Py_ssize_t step = max(<Py_ssize_t> TILE_ROWS, width)
    return max((size + step - 1) // step * step, 2 * width)


cdef inline Py_ssize_t next_width(Py_ssize_t vectors) noexcept nogil:
    """Vectors of the next tile, of two or more left: threes, and never a lone one."""
    return 2 if vectors <= 2 or vectors == 4 else 3


cdef inline void add_tile(
    const floating *a, Py_ssize_t row, Py_ssize_t step, const floating *b, Py_ssize_t ldb,
    Py_ssize_t length, floating *c, Py_ssize_t ldc, Py_ssize_t width,
) noexcept nogil:
    if floating is double:
        if width == 3:
            tile3_d(a, row, step, b, ldb, length, c, ldc)
        else:
            tile2_d(a, row, step, b, ldb, length, c, ldc)
    else:
        if width == 3:
            tile3_f(a, row, step, b, ldb, length, c, ldc)
        else:
            tile2_f(a, row, step, b, ldb, length, c, ldc)


# ---------------------------------------------------------------- projection

cdef void project_tiles(
    const floating *X, Py_ssize_t rows, Py_ssize_t n, const floating *W, Py_ssize_t ldz,
    floating *Z,
) noexcept nogil:
    """Z += X W for rows in fours."""
    cdef Py_ssize_t j, k, length, v, width, size = lanes(Z)
    k = 0
    while k < n:
        length = min(<Py_ssize_t> STRETCH, n - k)
        j = 0
        while j + TILE_ROWS <= rows:
            v = 0
            while v * size < ldz:
                width = next_width(ldz // size - v)
                add_tile(X + j * n + k, n, 1, W + k * ldz + v * size, ldz, length,
                         Z + j * ldz + v * size, ldz, width)
                v += width
            j += TILE_ROWS
        k += length


cdef void project_row(
    const floating *x, Py_ssize_t n, const floating *W, Py_ssize_t ldz, floating *z,
) noexcept nogil:
    """z += x W for one of the rows that are left over from the fours."""
    cdef Py_ssize_t k, v
    for k in range(n):
        for v in range(ldz):
            z[v] += x[k] * W[k * ldz + v]


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
        for j in range(rows - rows % TILE_ROWS, rows):
            project_row(X + j * n, n, W, ldz, Z + j * ldz)
    else:
        add_product(X, W, Z, rows, n, ldz)


# ---------------------------------------------------------------------- gram

cdef void add_tile_in_double(
    const floating *a, Py_ssize_t lda, const floating *b, Py_ssize_t ldb, Py_ssize_t length,
    double *c, Py_ssize_t ldc, Py_ssize_t width,
) noexcept nogil:
    """Add a tile of the products of two slivers to sums that are float64 for any input."""
    cdef float part[TILE_ROWS * 3 * FLANES]
    cdef Py_ssize_t i, v, wide
    if floating is double:
        add_tile(a, 1, lda, b, ldb, length, c, ldc, width)
    else:
        wide = width * FLANES
        memset(part, 0, sizeof(part))
        add_tile(a, 1, lda, b, ldb, length, part, wide, width)
        for i in range(TILE_ROWS):
            for v in range(wide):
                c[i * ldc + v] += part[i * wide + v]


cdef inline void add_sliver_pair(
    const floating *panel, Py_ssize_t room, Py_ssize_t rows, Py_ssize_t n,
    Py_ssize_t u, Py_ssize_t deep, Py_ssize_t v, Py_ssize_t width, double *out, Py_ssize_t ld,
) noexcept nogil:
    """out += (sliver u)'(sliver v), four rows of the result at a time.

    On the diagonal a tile of three leaves out its first vector once that lies below.
    """
    cdef Py_ssize_t size = lanes(panel), i = 0, skip
    cdef const floating *a = panel + u * size * room
    cdef const floating *b = panel + v * size * room
    while i < min(deep * size, n - u * size):
        skip = 1 if u == v and width == 3 and i >= size else 0
        add_tile_in_double(a + i, deep * size, b + skip * size, width * size, rows,
                           out + (u * size + i) * ld + (v + skip) * size, ld, width - skip)
        i += TILE_ROWS


cdef void add_gram_of_slivers(
    const floating *panel, Py_ssize_t room, Py_ssize_t rows, Py_ssize_t n,
    double *out, Py_ssize_t ld,
) noexcept nogil:
    """out += panel'panel, the tiles that touch the upper triangle.

    A group of slivers stays in L2 while the others pass by, each from L1.
    """
    cdef Py_ssize_t vectors = ld // lanes(panel)
    cdef Py_ssize_t group = max(<Py_ssize_t> 3, GROUP_BYTES // (32 * rows))
    cdef Py_ssize_t first = 0, stop, u, v, width, deep
    while first < vectors:
        v = first
        stop = first
        while v < vectors:
            width = next_width(vectors - v)
            if v < first + group:
                stop = v + width
            u = first
            while u < stop:
                deep = next_width(vectors - u)
                add_sliver_pair(panel, room, rows, n, u, deep, v, width, out, ld)
                u += deep
            v += width
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
