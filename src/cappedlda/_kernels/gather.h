/* Images X V of sparse rows: the inner loop over the k columns of V has a fixed length.
 *
 * Then the sums of a row stay in registers; a loop of any length takes twice as long. Wider
 * V goes by groups of columns.
 */
#ifndef CAPPEDLDA_GATHER_H
#define CAPPEDLDA_GATHER_H

#include <stddef.h>
#include <stdint.h>

enum { GATHER_WIDTH = 12 };

#if defined(__GNUC__)
#define GATHER_INLINE static inline __attribute__((always_inline))
#else
#define GATHER_INLINE static inline
#endif

/* Row j has the entries ends[j] to ends[j + 1]; V and images have rows of k numbers. */
#define DEFINE_GATHER(NAME, NUMBER, INDEX)                                                  \
GATHER_INLINE void NAME##_columns(const NUMBER *data, const INDEX *indices,                 \
                                  const int64_t *ends, ptrdiff_t rows, const double *V,     \
                                  ptrdiff_t k, double *images, const int width) {           \
    for (ptrdiff_t j = 0; j < rows; j++, images += k) {                                     \
        double sums[GATHER_WIDTH] = {0};                                                    \
        for (int64_t p = ends[j]; p < ends[j + 1]; p++) {                                   \
            const double x = data[p];                                                       \
            const double *row = V + indices[p] * k;                                         \
            for (int v = 0; v < width; v++) sums[v] += x * row[v];                          \
        }                                                                                   \
        for (int v = 0; v < width; v++) images[v] = sums[v];                                \
    }                                                                                       \
}                                                                                           \
static void NAME(const NUMBER *data, const INDEX *indices, const int64_t *ends,             \
                 ptrdiff_t rows, const double *V, ptrdiff_t k, double *images) {            \
    for (ptrdiff_t v = 0; v < k; v += GATHER_WIDTH) {                                       \
        switch (k - v) {                                                                    \
        GATHER_CASE(NAME, 1)                                                                \
        GATHER_CASE(NAME, 2)                                                                \
        GATHER_CASE(NAME, 3)                                                                \
        GATHER_CASE(NAME, 4)                                                                \
        GATHER_CASE(NAME, 5)                                                                \
        GATHER_CASE(NAME, 6)                                                                \
        GATHER_CASE(NAME, 7)                                                                \
        GATHER_CASE(NAME, 8)                                                                \
        GATHER_CASE(NAME, 9)                                                                \
        GATHER_CASE(NAME, 10)                                                               \
        GATHER_CASE(NAME, 11)                                                               \
        default:                                                                            \
            NAME##_columns(data, indices, ends, rows, V + v, k, images + v, GATHER_WIDTH);  \
        }                                                                                   \
    }                                                                                       \
}
#define GATHER_CASE(NAME, WIDTH)                                                            \
        case WIDTH:                                                                         \
            NAME##_columns(data, indices, ends, rows, V + v, k, images + v, WIDTH);         \
            break;

DEFINE_GATHER(gather_f32_i32, float, int32_t)
DEFINE_GATHER(gather_f32_i64, float, int64_t)
DEFINE_GATHER(gather_f64_i32, double, int32_t)
DEFINE_GATHER(gather_f64_i64, double, int64_t)

#endif
