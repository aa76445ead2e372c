/* The loops of one target. The build compiles this file once for each, with its instructions,
 * -DTARGET= its name and -DTILES= 1 or 0. Only the table at the end is seen outside.
 *
 * A register tile, the inner loop of every product, is TILE_ROWS rows by 1 to 3 vectors of
 * sums. The sums have names because compilers keep names in registers, and arrays only
 * sometimes: left to the automatic vectoriser the same loop is two to twenty times slower.
 * Vector types are an extension of gcc and clang; without tiles a vector is one number, and
 * the products are left to BLAS.
 *
 * A processor has 16 vector registers with AVX2 and 32 with AVX-512 or NEON, and works on 8 to
 * 10 sums at a time: a tile of 4 rows by 1 vector would wait for its own results, so
 * NARROWEST is 2 there. GROUP_BYTES is how much of a panel stays in L2, which is 1 MiB or
 * more where there is AVX-512. With PANEL_DOUBLES and PANEL_FLOATS rows of a panel the columns
 * of two tiles stay in L1. Up to TILED_DOUBLES and TILED_FLOATS columns the tiles are at least
 * as fast as syrk. All by measurement (Ice Lake), but for NEON, which has the sizes of AVX2.
 */
#include "tiles.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if TILES && defined(__AVX512F__)
#include <immintrin.h>
#define VECTOR_BYTES 64
#define EACH_ROW(DO, T) DO(T, 0) DO(T, 1) DO(T, 2) DO(T, 3) DO(T, 4) DO(T, 5) DO(T, 6) DO(T, 7)
enum { TILE_ROWS = 8, NARROWEST = 1, GROUP_BYTES = 1 << 19, FETCHES = 8 };
enum { PANEL_DOUBLES = 128, PANEL_FLOATS = 160, TILED_DOUBLES = 1024, TILED_FLOATS = 4096 };
#else
#if TILES && defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define VECTOR_BYTES 32
#elif TILES && defined(__aarch64__)
#include <arm_neon.h>
#define VECTOR_BYTES 16
#endif
#define EACH_ROW(DO, T) DO(T, 0) DO(T, 1) DO(T, 2) DO(T, 3)
enum { TILE_ROWS = 4, NARROWEST = 2, GROUP_BYTES = 1 << 18, FETCHES = 1 };
#ifdef VECTOR_BYTES
enum { PANEL_DOUBLES = 128, PANEL_FLOATS = 256, TILED_DOUBLES = 1024, TILED_FLOATS = 1024 };
#else
enum { PANEL_DOUBLES = 0, PANEL_FLOATS = 0, TILED_DOUBLES = 0, TILED_FLOATS = 0 };
#endif
#endif

#define LONE_ROW(DO, T) DO(T, 0)
/* A tile of one vector needs more rows, not to wait for its own results. */
#define EACH_TALL_ROW(DO, T) \
    DO(T, 0) DO(T, 1) DO(T, 2) DO(T, 3) DO(T, 4) DO(T, 5) DO(T, 6) DO(T, 7)
enum { TALL = 8 };
enum { STRETCH = 192 }; /* rows of W that stay in L1 */

/* Every name ends in that of the target: so one sees in the library what is built for what. */
#define JOIN_(name, suffix) name##_##suffix
#define JOIN(name, suffix) JOIN_(name, suffix)
#define OF_TARGET(name) JOIN(name, TARGET)
#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)

#ifdef VECTOR_BYTES
typedef double dvec __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
typedef float fvec __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
#define VECTOR_ZERO {0}
enum { DLANES = VECTOR_BYTES / 8, FLANES = VECTOR_BYTES / 4 };

typedef uint8_t bytes __attribute__((vector_size(VECTOR_BYTES), aligned(1), may_alias));
static const uint8_t LAST_BYTES[2 * VECTOR_BYTES] = {[VECTOR_BYTES ... 2 * VECTOR_BYTES - 1] = 255};

/* __builtin_convertvector takes four steps for this, by gcc 12. */
static inline dvec widened_f32(const float *x) {
#if VECTOR_BYTES == 64
    return (dvec) _mm512_cvtps_pd(_mm256_loadu_ps(x));
#elif VECTOR_BYTES == 32
    return (dvec) _mm256_cvtps_pd(_mm_loadu_ps(x));
#else
    return (dvec) vcvt_f64_f32(vld1_f32(x));
#endif
}
static inline void add_widened_f32(double *c, const fvec *sum) {
    ((dvec *) c)[0] += widened_f32((const float *) sum);
    ((dvec *) c)[1] += widened_f32((const float *) sum + DLANES);
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

static inline dvec widened_f32(const float *x) { return *x; }
static inline void add_widened_f32(double *c, const fvec *sum) { *c += *sum; }
static inline double total_of(dvec sums) { return sums; }
#endif

static inline dvec widened_f64(const double *x) { return *(const dvec *) x; }
static inline void add_widened_f64(double *c, const dvec *sum) { *(dvec *) c += *sum; }

#ifdef __GNUC__
#define FETCH_RESULT(PLACE) __builtin_prefetch(PLACE, 1, 3);
#define FETCH_ROW(PLACE) __builtin_prefetch(PLACE, 0, 2);
#else
#define FETCH_RESULT(PLACE) ;
#define FETCH_ROW(PLACE) ;
#endif

static inline ptrdiff_t least_of(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
static inline ptrdiff_t most_of(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }
/* a b + c, rounded once where there is an instruction for it: by name, not left to the compiler. */
static inline double OF_TARGET(multiply_add)(double a, double b, double c) {
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}
static inline double weight_of(const double *weights, ptrdiff_t j) {
    return weights == NULL ? 1.0 : weights[j];
}

#include "checksum.h"

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

/* c[i, 0:width vectors] += sum over k of a[i * row + k * step] * b[k * ldb], for each row i
 *
 * The result is on its way to the cache while the sums are made. It is asked for a few rows
 * at a time: all at once would hold up the columns, which come from the cache as well. */
#define DEFINE_TILE(NAME, EACH, ROWS, PARTS, WIDTH, RESULT, ADD)                            \
static void OF(NAME##WIDTH)(                                                                \
    const NUMBER *a, ptrdiff_t row, ptrdiff_t step, const NUMBER *b, ptrdiff_t ldb,         \
    ptrdiff_t length, RESULT *c, ptrdiff_t ldc                                              \
) {                                                                                         \
    enum { lanes = (int) LANES, line = 64 / sizeof(RESULT) };                               \
    EACH(SUMS##WIDTH, VECTOR)                                                               \
    for (ptrdiff_t k = 0, part = 0; part < PARTS; part++) {                                 \
        for (ptrdiff_t i = part; i < ROWS; i += PARTS)                                      \
            for (ptrdiff_t v = 0; v < WIDTH * lanes; v += line)                             \
                FETCH_RESULT(c + i * ldc + v)                                               \
        for (; k < length * (part + 1) / PARTS; k++, a += step, b += ldb) {                 \
            LOAD##WIDTH(VECTOR)                                                             \
            EACH(STEP##WIDTH, VECTOR)                                                       \
        }                                                                                   \
    }                                                                                       \
    EACH(WRITE##WIDTH, ADD)                                                                 \
}

#define DEFINE_TILES(NAME, EACH, ROWS, PARTS, RESULT, ADD)                                  \
DEFINE_TILE(NAME, EACH, ROWS, PARTS, 1, RESULT, ADD)                                        \
DEFINE_TILE(NAME, EACH, ROWS, PARTS, 2, RESULT, ADD)                                        \
DEFINE_TILE(NAME, EACH, ROWS, PARTS, 3, RESULT, ADD)                                        \
static inline void OF(NAME)(                                                                \
    const NUMBER *a, ptrdiff_t row, ptrdiff_t step, const NUMBER *b, ptrdiff_t ldb,         \
    ptrdiff_t length, RESULT *c, ptrdiff_t ldc, ptrdiff_t width                             \
) {                                                                                         \
    if (width == 3) OF(NAME##3)(a, row, step, b, ldb, length, c, ldc);                      \
    else if (width == 2) OF(NAME##2)(a, row, step, b, ldb, length, c, ldc);                 \
    else OF(NAME##1)(a, row, step, b, ldb, length, c, ldc);                                 \
}

/* The names of what follows also end in the type of numbers. */
#define OF(name) OF_TARGET(JOIN(name, NUMBERS))

#define NUMBERS f32
#define NUMBER float
#define VECTOR fvec
#define LANES ((ptrdiff_t) FLANES)
enum { PANEL_ROWS_f32 = PANEL_FLOATS, TILED_COLUMNS_f32 = TILED_FLOATS };
#include "tiles_of_numbers.h"
#undef NUMBERS
#undef NUMBER
#undef VECTOR
#undef LANES

#define NUMBERS f64
#define NUMBER double
#define VECTOR dvec
#define LANES ((ptrdiff_t) DLANES)
enum { PANEL_ROWS_f64 = PANEL_DOUBLES, TILED_COLUMNS_f64 = TILED_DOUBLES };
#include "tiles_of_numbers.h"

/* Share the weight of a row between the two bins of its class around its distance. */
static inline void OF_TARGET(deposit_row)(
    double distance, int32_t code, double weight, double *histograms
) {
    const double unit = 1.0 / (double) ((int64_t) 1 << FRACTION_BITS);
    int64_t bits;
    memcpy(&bits, &distance, sizeof(bits));
    int64_t k = (bits >> FRACTION_BITS) - FIRST_BIN;
    double fraction = (double) (bits & (((int64_t) 1 << FRACTION_BITS) - 1)) * unit;
    if (k < 0) {
        k = 0;
        fraction = 0.0;
    }
    if (k > N_BINS - 2 || !(distance <= DBL_MAX)) { /* NaN may have any bits */
        k = N_BINS - 2;
        fraction = 1.0;
    }
    double *bin = histograms + k + (int64_t) code * N_BINS;
    bin[0] += OF_TARGET(multiply_add)(-weight, fraction, weight);
    bin[1] = OF_TARGET(multiply_add)(weight, fraction, bin[1]);
}

static double OF_TARGET(deposit)(
    const double *distances, const double *losses, const int32_t *codes, const double *weights,
    ptrdiff_t rows, double *histograms
) {
    double total = 0.0;
    for (ptrdiff_t j = 0; j < rows; j++) {
        const double weight = weight_of(weights, j);
        OF_TARGET(deposit_row)(distances[j], codes[j], weight, histograms);
        if (losses != NULL) total = OF_TARGET(multiply_add)(weight, losses[j], total);
    }
    return total;
}

static void OF_TARGET(square_roots)(const double *x, ptrdiff_t count, double *out) {
    for (ptrdiff_t j = 0; j < count; j++) out[j] = sqrt(x[j]);
}

static void OF_TARGET(reciprocals)(const double *x, ptrdiff_t count, double *out) {
    for (ptrdiff_t j = 0; j < count; j++) out[j] = 1.0 / x[j];
}

static void OF_TARGET(floored_squares)(
    const double *x, ptrdiff_t count, double floor, double *out
) {
    for (ptrdiff_t j = 0; j < count; j++)
        out[j] = OF_TARGET(multiply_add)(x[j], x[j], floor * floor);
}

#ifdef __GNUC__
__attribute__((visibility("hidden")))
#endif
extern const Target OF_TARGET(target);
const Target OF_TARGET(target) = {
    TEXT(TARGET), &OF_TARGET(loops_f32), &OF_TARGET(loops_f64), OF_TARGET(square_roots),
    OF_TARGET(reciprocals), OF_TARGET(floored_squares), OF_TARGET(deposit),
};
