/* Loops over blocks of rows, compiled once for each target: a set of instructions.
 *
 * What is here has a vector of features or a multiply-add in its inner loop: where there is an
 * instruction for a multiply-add compilers take it, so that the last bits belong to the
 * target. What is decided about rows, and which products go to BLAS, is in passes.pyx.
 *
 * Rows are float32 or float64, and every target has the loops of both. Sizes are padded to
 * whole vectors and tiles; padding is zero or scratch. Nothing is checked here.
 */
#ifndef CAPPEDLDA_TILES_H
#define CAPPEDLDA_TILES_H

#include <stddef.h>
#include <stdint.h>

/* Bins of the distance histogram are spaced like floating-point numbers: each power of two is
 * cut in 2^MANTISSA_BITS equal bins, so a bin is at most 1/32 of its value. */
enum {
    MANTISSA_BITS = 5,
    LOWEST_EXPONENT = -20,
    OCTAVES = 40,
    N_BINS = OCTAVES * (1 << MANTISSA_BITS) + 2,
    FRACTION_BITS = 52 - MANTISSA_BITS,
    FIRST_BIN = (1023 + LOWEST_EXPONENT) * (1 << MANTISSA_BITS)
};

/* The rows of a block that are kept. */
typedef struct {
    const int32_t *numbers;       /* (count,) of the rows in the block */
    ptrdiff_t count;
    const int32_t *codes;         /* class of each row of the block */
    const double *sample_weight;  /* or NULL: all ones */
} Kept;

/* Kept rows, centred, scaled and weighted, packed until there are enough for a product. */
typedef struct {
    void *rows;         /* packed rows, as slivers or row-major */
    void *part;         /* (n, n), where float32 goes through syrk */
    ptrdiff_t room;     /* rows that fit */
    ptrdiff_t filled;   /* rows packed so far */
    ptrdiff_t n;        /* columns, */
    ptrdiff_t ld;       /* padded */
    int tiled;          /* slivers and tiles, or syrk */
    double *scatter;    /* (ld, ld), where a full panel is added */
} Panel;

/* Loops over rows of one type of numbers, and the sizes that suit them. */
typedef struct {
    ptrdiff_t tile_rows;      /* rows that are projected at a time */
    ptrdiff_t step;           /* sizes are padded to a multiple of this, */
    ptrdiff_t least;          /* and to this at least */
    ptrdiff_t panel_rows;     /* rows of a panel for the tiles */
    ptrdiff_t tiled_columns;  /* columns up to which the tiles are at least as fast as syrk,
                                 0: there are no tiles */

    /* Z = - images[codes] */
    void (*start_images)(const void *images, ptrdiff_t ldz, const int32_t *codes, ptrdiff_t rows,
                         void *Z);
    /* Z += X W for X (rows, n), W (n, ldz); the memory of the rows `ahead` of each is asked for,
       if that is not 0 */
    void (*project)(const void *X, ptrdiff_t rows, ptrdiff_t n, const void *W, ptrdiff_t ldz,
                    ptrdiff_t ahead, void *Z);
    /* move the kept rows of Z (rows, ldz) to the front, times the root of w */
    void (*gather_images)(void *Z, ptrdiff_t ldz, const Kept *kept);
    /* squared lengths of the rows of Z (rows, ldz) */
    void (*square_norms)(const void *Z, ptrdiff_t rows, ptrdiff_t ldz, double *squares);
    /* sums[i] += w (x - m_i) over the kept rows of X (rows, n) */
    void (*add_sums)(const void *X, ptrdiff_t n, const Kept *kept, const void *centres,
                     ptrdiff_t ldc, double *sums);
    /* sums[i] += w z over the kept rows of Z (rows, ldz) */
    void (*add_image_sums)(const void *Z, ptrdiff_t ldz, const Kept *kept, double *sums);
    /* images without their padding, as far as there is room for `left` numbers; sums += images */
    void (*write_images)(const void *Z, ptrdiff_t rows, ptrdiff_t d, ptrdiff_t ldz,
                         ptrdiff_t left, void *images, double *sums);
    /* root mean squares of (x - m_i) / scale */
    void (*scaled_norms)(const void *X, ptrdiff_t rows, ptrdiff_t n, const int32_t *codes,
                         const void *centres, const void *inv_scale, double *norms);
    /* write (x - m_i) / scale times a root of the kept rows behind those in the panel, which
       has room */
    void (*pack)(const void *X, const Kept *kept, const void *centres, ptrdiff_t ldc,
                 const void *inv_scale, const double *roots, Panel *panel);
    /* scatter += P'P of the tiled panel, the tiles that touch the upper triangle */
    void (*add_gram_of_panel)(const Panel *panel);
    /* out += Z'Z for a narrow Z (rows, ldz), the tiles that touch the upper triangle */
    void (*add_gram_of_images)(const void *Z, ptrdiff_t rows, ptrdiff_t ldz, double *out);
    /* add the checksum of each row of X (rows, n) to that of its class; weights may be NULL;
       return whether all numbers are finite */
    int (*add_checksums)(const void *X, ptrdiff_t rows, ptrdiff_t n, const uint32_t *keys,
                         const int32_t *codes, const double *weights, uint64_t *checksums);
} Loops;

typedef struct {
    const char *name;
    const Loops *float32;
    const Loops *float64;
    /* roots, 1 / x, and x^2 + floor^2; `out` may be x */
    void (*square_roots)(const double *x, ptrdiff_t count, double *out);
    void (*reciprocals)(const double *x, ptrdiff_t count, double *out);
    void (*floored_squares)(const double *x, ptrdiff_t count, double floor, double *out);
    /* share the weight of each row between the two bins of its class around its distance, so
       that the histograms, and every quantile of them, move continuously with the data; return
       the sum of the losses times the weights; losses may be NULL, weights too: all ones */
    double (*deposit)(const double *distances, const double *losses, const int32_t *codes,
                      const double *weights, ptrdiff_t rows, double *histograms);
} Target;

/* The targets that this processor can run, the fastest first; NULL behind the last one. */
const Target *cappedlda_target(int number);

#endif
