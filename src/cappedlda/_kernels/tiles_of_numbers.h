/* The loops over rows of one type of numbers; tiles.c includes this for each.
 *
 * A panel that goes to the tiles is kept as slivers: all rows of the first few columns, then
 * of the next, as wide as one tile, so that a tile reads memory in order.
 */

/* The columns of a sliver must be whole tiles. */
#define WIDEST (LANES < TILE_ROWS ? 2 : 3)

/* ------------------------------------------------------------------------- rows and their sums
 * Vectors may be written anywhere, as far as a compiler knows: what is needed for each row is
 * copied first, not to be read again for each. */

static void OF(start_images)(
    const void *images, ptrdiff_t ldz, const int32_t *codes, ptrdiff_t rows, void *out
) {
    for (ptrdiff_t j = 0; j < rows; j++) {
        const NUMBER *image = (const NUMBER *) images + codes[j] * ldz;
        NUMBER *z = (NUMBER *) out + j * ldz;
        for (ptrdiff_t k = 0; k < ldz; k += LANES)
            *(VECTOR *) (z + k) = -*(const VECTOR *) (image + k);
    }
}

/* Rows only ever move up. */
static void OF(gather_images)(void *images, ptrdiff_t ldz, const Kept *rows) {
    const Kept kept = *rows;
    NUMBER *Z = images;
    NUMBER root = 1;
    for (ptrdiff_t p = 0; p < kept.count; p++) {
        const ptrdiff_t j = kept.numbers[p];
        if (kept.sample_weight != NULL) root = (NUMBER) sqrt(kept.sample_weight[j]);
        else if (j == p) continue;
        for (ptrdiff_t k = 0; k < ldz; k += LANES)
            *(VECTOR *) (Z + p * ldz + k) = *(const VECTOR *) (Z + j * ldz + k) * root;
    }
}

static inline double OF(square_norm)(const NUMBER *x, ptrdiff_t n) {
    dvec sums = VECTOR_ZERO;
    for (ptrdiff_t k = 0; k < n; k += DLANES) {
        const dvec wide = JOIN(widened, NUMBERS)(x + k);
        sums += wide * wide;
    }
    return total_of(sums);
}

static void OF(square_norms)(const void *images, ptrdiff_t rows, ptrdiff_t ldz, double *squares) {
    const NUMBER *Z = images;
    for (ptrdiff_t j = 0; j < rows; j++) squares[j] = OF(square_norm)(Z + j * ldz, ldz);
}

static inline void OF(add_times)(double *total, const NUMBER *x, double weight, ptrdiff_t n) {
    for (ptrdiff_t k = 0; k < n; k += DLANES)
        *(dvec *) (total + k) += weight * JOIN(widened, NUMBERS)(x + k);
}

static void OF(add_image_sums)(
    const void *images, ptrdiff_t ldz, const Kept *rows, double *sums
) {
    const Kept kept = *rows;
    const NUMBER *Z = images;
    for (ptrdiff_t p = 0; p < kept.count; p++) {
        const ptrdiff_t j = kept.numbers[p];
        OF(add_times)(sums + kept.codes[j] * ldz, Z + j * ldz,
                      weight_of(kept.sample_weight, j), ldz);
    }
}

/* total += weight (x - centre); explicit vectors where the types are the same */
static inline void OF(add_row)(
    const NUMBER *x, const NUMBER *centre, double weight, ptrdiff_t n, double *total
) {
    ptrdiff_t k = 0;
    if (sizeof(NUMBER) == sizeof(double))
        for (; k + DLANES <= n; k += DLANES)
            *(dvec *) (total + k) +=
                weight * (*(const dvec *) (x + k) - *(const dvec *) (centre + k));
    for (; k < n; k++) total[k] += weight * (x[k] - centre[k]);
}

static void OF(add_sums)(
    const void *X, ptrdiff_t n, const Kept *rows, const void *centres, ptrdiff_t ldc, double *sums
) {
    const Kept kept = *rows;
    for (ptrdiff_t p = 0; p < kept.count; p++) {
        const ptrdiff_t j = kept.numbers[p], i = kept.codes[j];
        OF(add_row)((const NUMBER *) X + j * n, (const NUMBER *) centres + i * ldc,
                    weight_of(kept.sample_weight, j), n, sums + i * n);
    }
}

#if TILES
/* The last few numbers of a vector, and zeros before them. */
static inline VECTOR OF(last_of)(VECTOR numbers, ptrdiff_t count) {
    return (VECTOR) ((bytes) numbers & *(const bytes *) (LAST_BYTES + count * sizeof(NUMBER)));
}

static inline VECTOR OF(scaled)(const NUMBER *x, const NUMBER *centre, const NUMBER *inv_scale) {
    return (*(const VECTOR *) x - *(const VECTOR *) centre) * *(const VECTOR *) inv_scale;
}

static inline dvec OF(add_squares)(dvec sums, VECTOR h) {
    for (ptrdiff_t k = 0; k < LANES; k += DLANES) {
        const dvec wide = JOIN(widened, NUMBERS)((const NUMBER *) &h + k);
        sums += wide * wide;
    }
    return sums;
}
#endif

/* Squared length of (x - centre) / scale, by vectors or by four independent sums. */
static inline double OF(scaled_square)(
    const NUMBER *x, const NUMBER *centre, const NUMBER *inv_scale, ptrdiff_t n
) {
    ptrdiff_t k = 0;
#if TILES
    if (n >= LANES) {
        dvec sums = VECTOR_ZERO;
        for (; k + LANES <= n; k += LANES)
            sums = OF(add_squares)(sums, OF(scaled)(x + k, centre + k, inv_scale + k));
        if (k < n) { /* the last vector overlaps the one before */
            const ptrdiff_t rest = n - k;
            k = n - LANES;
            const VECTOR h = OF(scaled)(x + k, centre + k, inv_scale + k);
            sums = OF(add_squares)(sums, OF(last_of)(h, rest));
        }
        return total_of(sums);
    }
#endif
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    for (; k + 4 <= n; k += 4) {
        const double h0 = (x[k] - centre[k]) * inv_scale[k];
        const double h1 = (x[k + 1] - centre[k + 1]) * inv_scale[k + 1];
        const double h2 = (x[k + 2] - centre[k + 2]) * inv_scale[k + 2];
        const double h3 = (x[k + 3] - centre[k + 3]) * inv_scale[k + 3];
        s0 += h0 * h0;
        s1 += h1 * h1;
        s2 += h2 * h2;
        s3 += h3 * h3;
    }
    for (; k < n; k++) {
        const double h0 = (x[k] - centre[k]) * inv_scale[k];
        s0 += h0 * h0;
    }
    return (s0 + s1) + (s2 + s3);
}

static void OF(scaled_norms)(
    const void *X, ptrdiff_t rows, ptrdiff_t n, const int32_t *codes, const void *centres,
    const void *inv_scale, double *norms
) {
    for (ptrdiff_t j = 0; j < rows; j++)
        norms[j] = OF(scaled_square)((const NUMBER *) X + j * n,
                                     (const NUMBER *) centres + codes[j] * n, inv_scale, n);
    for (ptrdiff_t j = 0; j < rows; j++) norms[j] = sqrt(norms[j] / n);
}

/* A row that may be written with its padding is: the next row comes over it. */
static void OF(write_images)(
    const void *padded, ptrdiff_t rows, ptrdiff_t d, ptrdiff_t ldz, ptrdiff_t left, void *out,
    double *sums
) {
    for (ptrdiff_t j = 0; j < rows; j++) {
        const NUMBER *z = (const NUMBER *) padded + j * ldz;
        NUMBER *image = (NUMBER *) out + j * d;
        if (j * d + ldz <= left) /* faster than a call for some bytes */
            for (ptrdiff_t k = 0; k < ldz; k += LANES)
                *(VECTOR *) (image + k) = *(const VECTOR *) (z + k);
        else
            memcpy(image, z, d * sizeof(NUMBER));
        OF(add_times)(sums, z, 1.0, ldz);
    }
}

/* Vectors of the next tile: the widest, and a lone one only where nothing else is left. */
static inline ptrdiff_t OF(next_width)(ptrdiff_t vectors) {
    if (vectors == WIDEST + 1) return 2;
    return most_of(NARROWEST, least_of(vectors, WIDEST));
}

/* The same for images, of which a lone vector may be all there is. */
static inline ptrdiff_t OF(image_width)(ptrdiff_t vectors) {
    return vectors == WIDEST + 1 ? 2 : least_of(vectors, WIDEST);
}

/* ------------------------------------------------------------------------------------- packing */

/* packed = (x - centre) * inv_scale * root, one vector of it */
static inline void OF(pack_vector)(
    const NUMBER *x, const NUMBER *centre, const NUMBER *inv_scale, NUMBER root, NUMBER *packed
) {
    *(VECTOR *) packed = (*(const VECTOR *) x - *(const VECTOR *) centre)
                         * *(const VECTOR *) inv_scale * root;
}

/* Pack n numbers; the last vector overlaps the one before, not to end on single ones. */
static inline void OF(pack_stretch)(
    const NUMBER *x, const NUMBER *centre, const NUMBER *inv_scale, NUMBER root, ptrdiff_t n,
    NUMBER *packed
) {
    ptrdiff_t k = 0;
    for (; k + LANES <= n; k += LANES)
        OF(pack_vector)(x + k, centre + k, inv_scale + k, root, packed + k);
    if (k < n && LANES <= n) {
        k = n - LANES;
        OF(pack_vector)(x + k, centre + k, inv_scale + k, root, packed + k);
    } else if (k < n) {
        for (k = 0; k < n; k++) packed[k] = (x[k] - centre[k]) * inv_scale[k] * root;
    }
}

/* Write one row behind those that are in the panel. */
static inline void OF(pack_row)(
    const NUMBER *x, const NUMBER *centre, const NUMBER *inv_scale, NUMBER root, Panel panel
) {
    NUMBER *packed = panel.rows;
    const ptrdiff_t n = panel.n, position = panel.filled;
    ptrdiff_t k = 0;
    if (!panel.tiled) {
        OF(pack_stretch)(x, centre, inv_scale, root, n, packed + position * n);
        return;
    }
    while (n - k > (WIDEST + 1) * LANES) { /* whole slivers, without a test for the end */
        NUMBER *sliver = packed + k * panel.room + WIDEST * LANES * position;
        for (int v = 0; v < WIDEST; v++, k += LANES)
            OF(pack_vector)(x + k, centre + k, inv_scale + k, root, sliver + v * LANES);
    }
    while (k < n) {
        const ptrdiff_t width = LANES * OF(next_width)((n - k + LANES - 1) / LANES);
        OF(pack_stretch)(x + k, centre + k, inv_scale + k, root, least_of(width, n - k),
                         packed + k * panel.room + width * position);
        k += width;
    }
}

static void OF(pack)(
    const void *block, const Kept *rows, const void *centres, ptrdiff_t ldc,
    const void *inv_scale, const double *roots, Panel *panel
) {
    const Kept kept = *rows;
    Panel to = *panel;
    const NUMBER *X = block;
    const ptrdiff_t n = to.n;
    for (ptrdiff_t p = 0; p < kept.count; p++, to.filled++) {
        const ptrdiff_t j = kept.numbers[p];
        OF(pack_row)(X + j * n, (const NUMBER *) centres + kept.codes[j] * ldc, inv_scale,
                     (NUMBER) roots[j], to);
    }
    panel->filled = to.filled;
}

/* ------------------------------------------------------------------------------------ products */

#if TILES

static inline void OF(add_same)(NUMBER *c, const VECTOR *sum) { *(VECTOR *) c += *sum; }

/* The lone row gives the same bits as a row of a tile. */
DEFINE_TILES(image_tile, EACH_ROW, TILE_ROWS, 1, NUMBER, OF(add_same))
DEFINE_TILES(lone_image, LONE_ROW, 1, 1, NUMBER, OF(add_same))
DEFINE_TILE(tall_image, EACH_TALL_ROW, TALL, 1, 1, NUMBER, OF(add_same))
DEFINE_TILES(gram_tile, EACH_ROW, TILE_ROWS, FETCHES, double, JOIN(add_widened, NUMBERS))

/* Ask for the memory of some numbers. */
static inline void OF(fetch_rows)(const NUMBER *x, ptrdiff_t count) {
    for (ptrdiff_t k = 0; k < count; k += 64 / (ptrdiff_t) sizeof(NUMBER)) FETCH_ROW(x + k)
}

/* The image of a row does not depend on the rows beside it. */
static void OF(project)(
    const void *block, ptrdiff_t rows, ptrdiff_t n, const void *projection, ptrdiff_t ldz,
    ptrdiff_t ahead, void *images
) {
    for (ptrdiff_t k = 0; k < n; k += STRETCH) {
        const ptrdiff_t length = least_of(STRETCH, n - k);
        const ptrdiff_t together = ldz == LANES ? TALL : TILE_ROWS;
        for (ptrdiff_t j = 0, some; j < rows; j += some) {
            some = j + together <= rows ? together : 1;
            const NUMBER *x = (const NUMBER *) block + j * n + k;
            if (ahead > 0 && k == 0) OF(fetch_rows)(x + ahead * n, some * n);
            if (some == TALL && ldz == LANES) {
                OF(tall_image1)(x, n, 1, (const NUMBER *) projection + k * ldz, ldz, length,
                                (NUMBER *) images + j * ldz, ldz);
                continue;
            }
            for (ptrdiff_t v = 0, width; v * LANES < ldz; v += width) {
                width = OF(image_width)(ldz / LANES - v);
                const NUMBER *w = (const NUMBER *) projection + k * ldz + v * LANES;
                NUMBER *z = (NUMBER *) images + j * ldz + v * LANES;
                if (some == TILE_ROWS) OF(image_tile)(x, n, 1, w, ldz, length, z, ldz, width);
                else OF(lone_image)(x, n, 1, w, ldz, length, z, ldz, width);
            }
        }
    }
}

/* A group of slivers stays in L2. The columns of a tile stay in L1 while the group passes by,
 * and the result is written row by row. On the diagonal a tile leaves out the vectors that lie
 * below, unless it gets too narrow. */
static void OF(add_gram_of_panel)(const Panel *panel) {
    const NUMBER *slivers = panel->rows;
    const ptrdiff_t room = panel->room, rows = panel->filled, ld = panel->ld;
    const ptrdiff_t vectors = ld / LANES;
    const ptrdiff_t group = most_of(WIDEST, GROUP_BYTES / (VECTOR_BYTES * rows));
    for (ptrdiff_t first = 0, stop = 0; first < vectors; first = stop) {
        while (stop < least_of(first + group, vectors)) stop += OF(next_width)(vectors - stop);
        for (ptrdiff_t u = 0, deep; u < stop; u += deep) {
            deep = OF(next_width)(vectors - u);
            const NUMBER *a = slivers + u * LANES * room;
            const ptrdiff_t columns = least_of(deep * LANES, panel->n - u * LANES);
            for (ptrdiff_t i = 0; i < columns; i += TILE_ROWS) {
                double *out = panel->scatter + (u * LANES + i) * ld;
                for (ptrdiff_t v = most_of(u, first), width; v < stop; v += width) {
                    width = OF(next_width)(vectors - v);
                    const ptrdiff_t skip = u == v ? least_of(i / LANES, width - NARROWEST) : 0;
                    OF(gram_tile)(a + i, 1, deep * LANES,
                                  slivers + v * LANES * room + skip * LANES, width * LANES, rows,
                                  out + (v + skip) * LANES, ld, width - skip);
                }
            }
        }
    }
}

static void OF(add_gram_of_images)(
    const void *images, ptrdiff_t rows, ptrdiff_t ldz, double *out
) {
    const NUMBER *Z = images;
    for (ptrdiff_t v = 0, width; v * LANES < ldz; v += width) {
        width = OF(image_width)(ldz / LANES - v);
        for (ptrdiff_t i = 0; i < (v + width) * LANES / TILE_ROWS * TILE_ROWS; i += TILE_ROWS)
            OF(gram_tile)(Z + i, 1, ldz, Z + v * LANES, ldz, rows, out + i * ldz + v * LANES,
                          ldz, width);
    }
}

#define TILED(loop) OF(loop)
#else
#define TILED(loop) NULL
#endif

/* ------------------------------------------------------------------------- checksums of rows */

/* Whether all numbers are finite is seen by sums of x - x, which are 0 or NaN. */
static int OF(add_checksums)(
    const void *X, ptrdiff_t rows, ptrdiff_t n, const uint32_t *keys, const int32_t *codes,
    const double *weights, uint64_t *checksums
) {
    const ptrdiff_t words = n * (ptrdiff_t) (sizeof(NUMBER) / sizeof(uint32_t));
    VECTOR differences = VECTOR_ZERO;
    NUMBER difference = 0;
    for (ptrdiff_t j = 0, k; j < rows; j++) {
        const NUMBER *x = (const NUMBER *) X + j * n;
        const uint64_t total = checksum_of_words((const char *) x, keys, words);
        checksums[codes[j]] += mixed_checksum(total, weights == NULL ? NULL : weights + j);
        for (k = 0; k + LANES <= n; k += LANES)
            differences += *(const VECTOR *) (x + k) - *(const VECTOR *) (x + k);
        for (; k < n; k++) difference += x[k] - x[k];
    }
    for (ptrdiff_t k = 0; k < LANES; k++) difference += ((const NUMBER *) &differences)[k];
    return difference == 0;
}

static const Loops OF(loops) = {
    TILE_ROWS,
    LANES > TILE_ROWS ? LANES : TILE_ROWS,
    NARROWEST * LANES,
    JOIN(PANEL_ROWS, NUMBERS),
    JOIN(TILED_COLUMNS, NUMBERS),
    OF(start_images),
    TILED(project),
    OF(gather_images),
    OF(square_norms),
    OF(add_sums),
    OF(add_image_sums),
    OF(write_images),
    OF(scaled_norms),
    OF(pack),
    TILED(add_gram_of_panel),
    TILED(add_gram_of_images),
    OF(add_checksums),
};
#undef TILED
#undef WIDEST
