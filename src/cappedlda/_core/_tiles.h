/* Register tiles: the inner loop of every product in the kernels.
 *
 * A tile is 4 rows by 2 or 3 vectors of sums. The sums have names because compilers
 * keep names in registers, and arrays only sometimes: left to the automatic
 * vectoriser the same loop is two to twenty times slower. Vector types are an
 * extension of gcc and clang; without them, or without AVX2 and FMA, a vector is one
 * number, HAVE_TILES is 0 and the kernels leave the products to BLAS.
 */
#ifndef CAPPEDLDA_TILES_H
#define CAPPEDLDA_TILES_H

#include <stddef.h>

#if defined(__GNUC__) && defined(__AVX2__) && defined(__FMA__)
typedef double dvec __attribute__((vector_size(32), aligned(8), may_alias));
typedef float fvec __attribute__((vector_size(32), aligned(4), may_alias));
#define VECTOR_ZERO {0}
enum { DLANES = 4, FLANES = 8, HAVE_TILES = 1 };
#else
typedef double dvec;
typedef float fvec;
#define VECTOR_ZERO 0
enum { DLANES = 1, FLANES = 1, HAVE_TILES = 0 };
#endif

/* c[i, 0:width vectors] += sum over k of a[i * row + k * step] * b[k * ldb], i = 0..3 */
#define DEFINE_TILE3(NAME, NUMBER, VECTOR)                                                  \
static void NAME(const NUMBER *a, ptrdiff_t row, ptrdiff_t step, const NUMBER *b,           \
                 ptrdiff_t ldb, ptrdiff_t length, NUMBER *c, ptrdiff_t ldc) {               \
    VECTOR p0 = VECTOR_ZERO, p1 = VECTOR_ZERO, p2 = VECTOR_ZERO;                            \
    VECTOR q0 = VECTOR_ZERO, q1 = VECTOR_ZERO, q2 = VECTOR_ZERO;                            \
    VECTOR r0 = VECTOR_ZERO, r1 = VECTOR_ZERO, r2 = VECTOR_ZERO;                            \
    VECTOR s0 = VECTOR_ZERO, s1 = VECTOR_ZERO, s2 = VECTOR_ZERO;                            \
    for (ptrdiff_t k = 0; k < length; k++, a += step, b += ldb) {                           \
        const VECTOR b0 = ((const VECTOR *) b)[0];                                          \
        const VECTOR b1 = ((const VECTOR *) b)[1];                                          \
        const VECTOR b2 = ((const VECTOR *) b)[2];                                          \
        p0 += a[0] * b0;       p1 += a[0] * b1;       p2 += a[0] * b2;                      \
        q0 += a[row] * b0;     q1 += a[row] * b1;     q2 += a[row] * b2;                    \
        r0 += a[2 * row] * b0; r1 += a[2 * row] * b1; r2 += a[2 * row] * b2;                \
        s0 += a[3 * row] * b0; s1 += a[3 * row] * b1; s2 += a[3 * row] * b2;                \
    }                                                                                       \
    VECTOR *v = (VECTOR *) c;                                                               \
    v[0] += p0; v[1] += p1; v[2] += p2; v = (VECTOR *) (c + ldc);                           \
    v[0] += q0; v[1] += q1; v[2] += q2; v = (VECTOR *) (c + 2 * ldc);                       \
    v[0] += r0; v[1] += r1; v[2] += r2; v = (VECTOR *) (c + 3 * ldc);                       \
    v[0] += s0; v[1] += s1; v[2] += s2;                                                     \
}

#define DEFINE_TILE2(NAME, NUMBER, VECTOR)                                                  \
static void NAME(const NUMBER *a, ptrdiff_t row, ptrdiff_t step, const NUMBER *b,           \
                 ptrdiff_t ldb, ptrdiff_t length, NUMBER *c, ptrdiff_t ldc) {               \
    VECTOR p0 = VECTOR_ZERO, p1 = VECTOR_ZERO, q0 = VECTOR_ZERO, q1 = VECTOR_ZERO;          \
    VECTOR r0 = VECTOR_ZERO, r1 = VECTOR_ZERO, s0 = VECTOR_ZERO, s1 = VECTOR_ZERO;          \
    for (ptrdiff_t k = 0; k < length; k++, a += step, b += ldb) {                           \
        const VECTOR b0 = ((const VECTOR *) b)[0];                                          \
        const VECTOR b1 = ((const VECTOR *) b)[1];                                          \
        p0 += a[0] * b0;       p1 += a[0] * b1;                                             \
        q0 += a[row] * b0;     q1 += a[row] * b1;                                           \
        r0 += a[2 * row] * b0; r1 += a[2 * row] * b1;                                       \
        s0 += a[3 * row] * b0; s1 += a[3 * row] * b1;                                       \
    }                                                                                       \
    VECTOR *v = (VECTOR *) c;                                                               \
    v[0] += p0; v[1] += p1; v = (VECTOR *) (c + ldc);                                       \
    v[0] += q0; v[1] += q1; v = (VECTOR *) (c + 2 * ldc);                                   \
    v[0] += r0; v[1] += r1; v = (VECTOR *) (c + 3 * ldc);                                   \
    v[0] += s0; v[1] += s1;                                                                 \
}

DEFINE_TILE3(tile3_d, double, dvec)
DEFINE_TILE3(tile3_f, float, fvec)
DEFINE_TILE2(tile2_d, double, dvec)
DEFINE_TILE2(tile2_f, float, fvec)

#endif
