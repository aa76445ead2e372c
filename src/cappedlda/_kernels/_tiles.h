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
 * more where there is AVX-512. PANEL_DOUBLES and PANEL_FLOATS are the rows of a panel: with so
 * many the columns of two tiles stay in L1. Up to TILED_DOUBLES and TILED_FLOATS columns the
 * tiles are at least as fast as syrk. All by measurement (Ice Lake).
 */
#ifndef CAPPEDLDA_TILES_H
#define CAPPEDLDA_TILES_H

#include <stddef.h>

#if defined(__GNUC__) && defined(__AVX512F__)
#define VECTOR_BYTES 64
#define EACH_ROW(DO, T) DO(T, 0) DO(T, 1) DO(T, 2) DO(T, 3) DO(T, 4) DO(T, 5) DO(T, 6) DO(T, 7)
enum { TILE_ROWS = 8, NARROWEST = 1, HAVE_TILES = 1, GROUP_BYTES = 1 << 19 };
enum { PANEL_DOUBLES = 128, PANEL_FLOATS = 160, TILED_DOUBLES = 1024, TILED_FLOATS = 4096 };
enum { FETCHES = 8 };
#else
#define EACH_ROW(DO, T) DO(T, 0) DO(T, 1) DO(T, 2) DO(T, 3)
#if defined(__GNUC__) && defined(__AVX2__) && defined(__FMA__)
#define VECTOR_BYTES 32
enum { TILE_ROWS = 4, NARROWEST = 2, HAVE_TILES = 1, GROUP_BYTES = 1 << 18 };
#else
enum { TILE_ROWS = 4, NARROWEST = 2, HAVE_TILES = 0, GROUP_BYTES = 1 << 18 };
#endif
enum { PANEL_DOUBLES = 128, PANEL_FLOATS = 256, TILED_DOUBLES = 1024, TILED_FLOATS = 1024 };
enum { FETCHES = 1 };
#endif

#define LONE_ROW(DO, T) DO(T, 0)
enum { WIDEST = 3 };

#ifdef VECTOR_BYTES
#include <immintrin.h>
typedef double dvec __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
typedef float fvec __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
#define VECTOR_ZERO {0}
enum { DLANES = VECTOR_BYTES / 8, FLANES = VECTOR_BYTES / 4 };

/* __builtin_convertvector takes four steps for this, by gcc 12. */
static inline dvec widened_f(const float *x) {
#ifdef __AVX512F__
    return (dvec) _mm512_cvtps_pd(_mm256_loadu_ps(x));
#else
    return (dvec) _mm256_cvtps_pd(_mm_loadu_ps(x));
#endif
}
static inline void add_widened(double *c, const fvec *sum) {
    ((dvec *) c)[0] += widened_f((const float *) sum);
    ((dvec *) c)[1] += widened_f((const float *) sum + DLANES);
}
static inline double total_of(dvec sums) {
    for (int half = DLANES / 2; half >= 1; half /= 2)
        for (int i = 0; i < half; i++) sums[i] += sums[i + half];
    return sums[0];
}
#else
typedef double dvec;
typedef float fvec;
#define VECTOR_ZERO 0
#define VECTOR_BYTES 8
enum { DLANES = 1, FLANES = 1 };

static inline dvec widened_f(const float *x) { return *x; }
static inline void add_widened(double *c, const fvec *sum) { *c += *sum; }
static inline double total_of(dvec sums) { return sums; }
#endif

static inline dvec widened_d(const double *x) { return *(const dvec *) x; }
static inline void add_d(double *c, const dvec *sum) { *(dvec *) c += *sum; }
static inline void add_f(float *c, const fvec *sum) { *(fvec *) c += *sum; }

/* Sums over one row of whole vectors, in double. */
#define DEFINE_ROW(S, NUMBER)                                                               \
static inline double square_norm_##S(const NUMBER *x, ptrdiff_t n) {                        \
    dvec sums = VECTOR_ZERO;                                                                \
    for (ptrdiff_t k = 0; k < n; k += DLANES) {                                             \
        const dvec wide = widened_##S(x + k);                                               \
        sums += wide * wide;                                                                \
    }                                                                                       \
    return total_of(sums);                                                                  \
}                                                                                           \
static inline void add_times_##S(double *total, const NUMBER *x, double weight, ptrdiff_t n) {\
    for (ptrdiff_t k = 0; k < n; k += DLANES)                                               \
        *(dvec *) (total + k) += weight * widened_##S(x + k);                               \
}
DEFINE_ROW(d, double)
DEFINE_ROW(f, float)

/* Asks for memory that is read soon, but not next; never faults. */
static inline void fetch_ahead(const void *row, ptrdiff_t bytes) {
#ifdef __GNUC__
    for (ptrdiff_t k = 0; k < bytes; k += 64) __builtin_prefetch((const char *) row + k, 0, 2);
#endif
    (void) row, (void) bytes;
}

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

#ifdef __GNUC__
#define FETCH(PLACE) __builtin_prefetch(PLACE, 1, 3);
#else
#define FETCH(PLACE) ;
#endif

/* c[i, 0:width vectors] += sum over k of a[i * row + k * step] * b[k * ldb], for each row i
 *
 * The result is on its way to the cache while the sums are made. It is asked for a few rows
 * at a time: all at once would hold up the columns, which come from the cache as well. */
#define DEFINE_TILE(NAME, EACH, ROWS, PARTS, WIDTH, NUMBER, VECTOR, RESULT, ADD)            \
static void NAME##WIDTH(                                                                    \
    const NUMBER *a, ptrdiff_t row, ptrdiff_t step, const NUMBER *b, ptrdiff_t ldb,         \
    ptrdiff_t length, RESULT *c, ptrdiff_t ldc                                              \
) {                                                                                         \
    enum { lanes = sizeof(VECTOR) / sizeof(NUMBER), line = 64 / sizeof(RESULT) };           \
    EACH(SUMS##WIDTH, VECTOR)                                                               \
    for (ptrdiff_t k = 0, part = 0; part < PARTS; part++) {                                 \
        for (ptrdiff_t i = part; i < ROWS; i += PARTS)                                      \
            for (ptrdiff_t v = 0; v < WIDTH * lanes; v += line) FETCH(c + i * ldc + v)      \
        for (; k < length * (part + 1) / PARTS; k++, a += step, b += ldb) {                 \
            LOAD##WIDTH(VECTOR)                                                             \
            EACH(STEP##WIDTH, VECTOR)                                                       \
        }                                                                                   \
    }                                                                                       \
    EACH(WRITE##WIDTH, ADD)                                                                 \
}

#define DEFINE_TILES(NAME, EACH, ROWS, PARTS, NUMBER, VECTOR, RESULT, ADD)                  \
DEFINE_TILE(NAME, EACH, ROWS, PARTS, 1, NUMBER, VECTOR, RESULT, ADD)                        \
DEFINE_TILE(NAME, EACH, ROWS, PARTS, 2, NUMBER, VECTOR, RESULT, ADD)                        \
DEFINE_TILE(NAME, EACH, ROWS, PARTS, 3, NUMBER, VECTOR, RESULT, ADD)                        \
static inline void NAME(                                                                    \
    const NUMBER *a, ptrdiff_t row, ptrdiff_t step, const NUMBER *b, ptrdiff_t ldb,         \
    ptrdiff_t length, RESULT *c, ptrdiff_t ldc, ptrdiff_t width                             \
) {                                                                                         \
    if (width == 3) NAME##3(a, row, step, b, ldb, length, c, ldc);                          \
    else if (width == 2) NAME##2(a, row, step, b, ldb, length, c, ldc);                     \
    else NAME##1(a, row, step, b, ldb, length, c, ldc);                                     \
}

/* The lone row gives the same bits as a row of a tile. */
DEFINE_TILES(image_tile_d, EACH_ROW, TILE_ROWS, 1, double, dvec, double, add_d)
DEFINE_TILES(image_tile_f, EACH_ROW, TILE_ROWS, 1, float, fvec, float, add_f)
DEFINE_TILES(lone_image_d, LONE_ROW, 1, 1, double, dvec, double, add_d)
DEFINE_TILES(lone_image_f, LONE_ROW, 1, 1, float, fvec, float, add_f)
DEFINE_TILES(gram_tile_d, EACH_ROW, TILE_ROWS, FETCHES, double, dvec, double, add_d)
DEFINE_TILES(gram_tile_f, EACH_ROW, TILE_ROWS, FETCHES, float, fvec, double, add_widened)

#endif
