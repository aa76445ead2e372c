/* Register tiles: the inner loop of every product in the kernels.
 *
 * A tile is TILE_ROWS rows by 1, 2 or 3 vectors of sums. The sums have names because
 * compilers keep names in registers, and arrays only sometimes: left to the automatic
 * vectoriser the same loop is two to twenty times slower. Vector types are an
 * extension of gcc and clang; without them, or without AVX2 and FMA, a vector is one
 * number, HAVE_TILES is 0 and the kernels leave the products to BLAS.
 *
 * A processor has 16 vector registers with AVX2 and 32 with AVX-512, and works on 8 to 10
 * sums at a time: a tile of 4 rows by 1 vector would wait for its own results, so
 * NARROWEST is 2 there. GROUP_BYTES is how much of a panel stays in L2, which is 1 MiB or
 * more where there is AVX-512.
 */
#ifndef CAPPEDLDA_TILES_H
#define CAPPEDLDA_TILES_H

#include <stddef.h>

#if defined(__GNUC__) && defined(__AVX512F__)
#define VECTOR_BYTES 64
#define EACH_ROW(DO, T) DO(T, 0) DO(T, 1) DO(T, 2) DO(T, 3) DO(T, 4) DO(T, 5) DO(T, 6) DO(T, 7)
enum { TILE_ROWS = 8, NARROWEST = 1, HAVE_TILES = 1, GROUP_BYTES = 1 << 19 };
#else
#define EACH_ROW(DO, T) DO(T, 0) DO(T, 1) DO(T, 2) DO(T, 3)
#if defined(__GNUC__) && defined(__AVX2__) && defined(__FMA__)
#define VECTOR_BYTES 32
enum { TILE_ROWS = 4, NARROWEST = 2, HAVE_TILES = 1, GROUP_BYTES = 1 << 18 };
#else
enum { TILE_ROWS = 4, NARROWEST = 2, HAVE_TILES = 0, GROUP_BYTES = 1 << 18 };
#endif
#endif

#define LONE_ROW(DO, T) DO(T, 0)
enum { WIDEST = 3 };

#ifdef VECTOR_BYTES
typedef double dvec __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
typedef float fvec __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef float half_fvec __attribute__((vector_size(VECTOR_BYTES / 2), aligned(4), may_alias));
#define VECTOR_ZERO {0}
enum { DLANES = VECTOR_BYTES / 8, FLANES = VECTOR_BYTES / 4 };

static inline void add_widened(double *c, const fvec *sum) {
    const half_fvec *half = (const half_fvec *) sum;
    ((dvec *) c)[0] += __builtin_convertvector(half[0], dvec);
    ((dvec *) c)[1] += __builtin_convertvector(half[1], dvec);
}
#else
typedef double dvec;
typedef float fvec;
#define VECTOR_ZERO 0
#define VECTOR_BYTES 8
enum { DLANES = 1, FLANES = 1 };

static inline void add_widened(double *c, const fvec *sum) { *c += *sum; }
#endif

static inline void add_d(double *c, const dvec *sum) { *(dvec *) c += *sum; }
static inline void add_f(float *c, const fvec *sum) { *(fvec *) c += *sum; }

/* What a tile does for row i; x, y and z are its vectors of sums. T is their type, or how
 * they are added to the result. */
#define SUMS1(T, i) T x##i = VECTOR_ZERO;
#define SUMS2(T, i) SUMS1(T, i) T y##i = VECTOR_ZERO;
#define SUMS3(T, i) SUMS2(T, i) T z##i = VECTOR_ZERO;
#define STEP1(T, i) x##i += a[i * row] * b0;
#define STEP2(T, i) STEP1(T, i) y##i += a[i * row] * b1;
#define STEP3(T, i) STEP2(T, i) z##i += a[i * row] * b2;
#define LOAD1(T) const T b0 = ((const T *) b)[0];
#define LOAD2(T) LOAD1(T) const T b1 = ((const T *) b)[1];
#define LOAD3(T) LOAD2(T) const T b2 = ((const T *) b)[2];
#define WRITE1(ADD, i) ADD(c + i * ldc, &x##i);
#define WRITE2(ADD, i) WRITE1(ADD, i) ADD(c + i * ldc + lanes, &y##i);
#define WRITE3(ADD, i) WRITE2(ADD, i) ADD(c + i * ldc + 2 * lanes, &z##i);

/* The result is on its way to the cache while the sums are made. */
#ifdef __GNUC__
#define FETCH(PLACE) __builtin_prefetch(PLACE, 1, 3);
#else
#define FETCH(PLACE)
#endif
#define FETCH1(T, i) FETCH(c + i * ldc)
#define FETCH2(T, i) FETCH1(T, i) FETCH(c + i * ldc + lanes)
#define FETCH3(T, i) FETCH2(T, i) FETCH(c + i * ldc + 2 * lanes)

/* c[i, 0:width vectors] += sum over k of a[i * row + k * step] * b[k * ldb], for each row i */
#define DEFINE_TILE(NAME, EACH, WIDTH, NUMBER, VECTOR, RESULT, ADD)                         \
static void NAME##WIDTH(                                                                    \
    const NUMBER *a, ptrdiff_t row, ptrdiff_t step, const NUMBER *b, ptrdiff_t ldb,         \
    ptrdiff_t length, RESULT *c, ptrdiff_t ldc                                              \
) {                                                                                         \
    enum { lanes = sizeof(VECTOR) / sizeof(NUMBER) };                                       \
    EACH(SUMS##WIDTH, VECTOR)                                                               \
    EACH(FETCH##WIDTH, VECTOR)                                                              \
    for (ptrdiff_t k = 0; k < length; k++, a += step, b += ldb) {                           \
        LOAD##WIDTH(VECTOR)                                                                 \
        EACH(STEP##WIDTH, VECTOR)                                                           \
    }                                                                                       \
    EACH(WRITE##WIDTH, ADD)                                                                 \
    (void) lanes;                                                                           \
}

#define DEFINE_TILES(NAME, EACH, NUMBER, VECTOR, RESULT, ADD)                               \
DEFINE_TILE(NAME, EACH, 1, NUMBER, VECTOR, RESULT, ADD)                                     \
DEFINE_TILE(NAME, EACH, 2, NUMBER, VECTOR, RESULT, ADD)                                     \
DEFINE_TILE(NAME, EACH, 3, NUMBER, VECTOR, RESULT, ADD)                                     \
static inline void NAME(                                                                    \
    const NUMBER *a, ptrdiff_t row, ptrdiff_t step, const NUMBER *b, ptrdiff_t ldb,         \
    ptrdiff_t length, RESULT *c, ptrdiff_t ldc, ptrdiff_t width                             \
) {                                                                                         \
    if (width == 3) NAME##3(a, row, step, b, ldb, length, c, ldc);                          \
    else if (width == 2) NAME##2(a, row, step, b, ldb, length, c, ldc);                     \
    else NAME##1(a, row, step, b, ldb, length, c, ldc);                                     \
}

/* The lone row gives the same bits as a row of a tile. */
DEFINE_TILES(tile_d, EACH_ROW, double, dvec, double, add_d)
DEFINE_TILES(tile_f, EACH_ROW, float, fvec, float, add_f)
DEFINE_TILES(wide_tile_f, EACH_ROW, float, fvec, double, add_widened)
DEFINE_TILES(lone_row_d, LONE_ROW, double, dvec, double, add_d)
DEFINE_TILES(lone_row_f, LONE_ROW, float, fvec, float, add_f)

#endif
