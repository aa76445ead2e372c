/* Compare the loops of one target with loops that are slow and obvious.
 *
 *     cc -O2 -DTARGET=neon -DTILES=1 -c src/cappedlda/_kernels/tiles.c -o tiles.o
 *     cc -O2 -DTARGET=neon -I src/cappedlda/_kernels tools/check_tiles.c tiles.o -lm -o check
 *
 * It needs no Python: so it runs where there is an emulator and a compiler only.
 */
#include "tiles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_(name, suffix) name##_##suffix
#define JOIN(name, suffix) JOIN_(name, suffix)
extern const Target JOIN(target, TARGET);

enum { C = 3, MOST = 300 };
static int n_wrong = 0, n_compared = 0;

static double random_number(void) {
    static unsigned long long state = 88172645463325252ULL;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double) (state >> 11) / 9007199254740992.0 * 2.0 - 1.0;
}

/* Arrays hold the numbers of either type. */
static double get(const void *array, ptrdiff_t k, int wide) {
    return wide ? ((const double *) array)[k] : ((const float *) array)[k];
}
static void set(void *array, ptrdiff_t k, int wide, double value) {
    if (wide) ((double *) array)[k] = value;
    else ((float *) array)[k] = (float) value;
}
static void *filled(ptrdiff_t count, int wide) {
    void *array = aligned_alloc(64, (size_t) (count * 8 + 127) / 64 * 64);
    for (ptrdiff_t k = 0; k < count; k++) set(array, k, wide, random_number());
    return array;
}
static void *zeros(ptrdiff_t count) {
    void *array = aligned_alloc(64, (size_t) (count * 8 + 127) / 64 * 64);
    return memset(array, 0, (size_t) (count * 8 + 127) / 64 * 64);
}

static void compare(const char *what, ptrdiff_t n, int wide, double found, double expected,
                    double size) {
    n_compared++;
    if (fabs(found - expected) <= (wide ? 1e-13 : 2e-5) * (1.0 + size)) return;
    if (n_wrong++ < 20)
        printf("WRONG: %s, n = %td, float%d: %.17g instead of %.17g\n", what, n, wide ? 64 : 32,
               found, expected);
}

static ptrdiff_t image_size(const Loops *loops, ptrdiff_t size) {
    return (size + loops->step - 1) / loops->step * loops->step;
}
static ptrdiff_t padded(const Loops *loops, ptrdiff_t size) {
    const ptrdiff_t whole = image_size(loops, size);
    return whole > loops->least ? whole : loops->least;
}

static void check(const Loops *loops, ptrdiff_t rows, ptrdiff_t n, ptrdiff_t d, int wide) {
    const ptrdiff_t ldz = image_size(loops, d), ld = padded(loops, n);
    void *X = filled(rows * n + 64, wide), *W = zeros(n * ldz), *images = zeros(C * ldz);
    void *centres = filled(C * ld + 64, wide), *inv_scale = filled(n + 64, wide);
    void *Z = zeros(rows * ldz), *out = zeros(rows * d + ldz);
    double *weights = filled(rows, 1), *numbers = zeros(rows * ldz);
    int32_t codes[MOST], chosen[MOST];
    Kept kept = {chosen, 0, codes, weights};
    for (ptrdiff_t j = 0; j < rows; j++) {
        codes[j] = (int32_t) (j % C);
        weights[j] = fabs(weights[j]);
        if (j % 4 != 1) chosen[kept.count++] = (int32_t) j;
    }
    for (ptrdiff_t k = 0; k < n; k++)
        for (ptrdiff_t v = 0; v < d; v++) set(W, k * ldz + v, wide, random_number());
    for (ptrdiff_t i = 0; i < C; i++)
        for (ptrdiff_t v = 0; v < d; v++) set(images, i * ldz + v, wide, random_number());

    loops->start_images(images, ldz, codes, rows, Z);
    if (loops->project != NULL) loops->project(X, rows, n, W, ldz, Z);
    for (ptrdiff_t j = 0; j < rows; j++)
        for (ptrdiff_t v = 0; v < d; v++) {
            double sum = -get(images, codes[j] * ldz + v, wide);
            for (ptrdiff_t k = 0; loops->project != NULL && k < n; k++)
                sum += get(X, j * n + k, wide) * get(W, k * ldz + v, wide);
            compare("project", n, wide, get(Z, j * ldz + v, wide), sum, sqrt(n));
        }

    loops->square_norms(Z, rows, ldz, numbers);
    for (ptrdiff_t j = 0; j < rows; j++) {
        double sum = 0.0;
        for (ptrdiff_t v = 0; v < d; v++) sum += pow(get(Z, j * ldz + v, wide), 2);
        compare("square_norms", n, wide, numbers[j], sum, sum);
    }
    loops->scaled_norms(X, rows, n, codes, centres, inv_scale, numbers);
    for (ptrdiff_t j = 0; j < rows; j++) {
        double sum = 0.0;
        for (ptrdiff_t k = 0; k < n; k++)
            sum += pow((get(X, j * n + k, wide) - get(centres, codes[j] * n + k, wide))
                       * get(inv_scale, k, wide), 2);
        compare("scaled_norms", n, wide, numbers[j], sqrt(sum / n), 1.0);
    }

    double *sums = zeros(C * ld), *image_sums = zeros(C * ldz), *total = zeros(ldz);
    loops->add_sums(X, n, &kept, centres, ld, sums);
    loops->add_image_sums(Z, ldz, &kept, image_sums);
    loops->write_images(Z, rows, d, ldz, rows * d, out, total);
    for (ptrdiff_t i = 0; i < C; i++)
        for (ptrdiff_t k = 0; k < n; k++) {
            double sum = 0.0;
            for (ptrdiff_t p = 0; p < kept.count; p++)
                if (codes[chosen[p]] == i)
                    sum += weights[chosen[p]] * (get(X, chosen[p] * n + k, wide)
                                                 - get(centres, i * ld + k, wide));
            compare("add_sums", n, wide, sums[i * n + k], sum, rows);
        }
    for (ptrdiff_t v = 0; v < d; v++) {
        double sum = 0.0, all = 0.0, found = 0.0;
        for (ptrdiff_t p = 0; p < kept.count; p++)
            sum += weights[chosen[p]] * get(Z, chosen[p] * ldz + v, wide);
        for (ptrdiff_t i = 0; i < C; i++) found += image_sums[i * ldz + v];
        compare("add_image_sums", n, wide, found, sum, rows * sqrt(n));
        for (ptrdiff_t j = 0; j < rows; j++) {
            all += get(Z, j * ldz + v, wide);
            compare("write_images", n, wide, get(out, j * d + v, wide),
                    get(Z, j * ldz + v, wide), 0.0);
        }
        compare("write_images", n, wide, total[v], all, rows * sqrt(n));
    }

    if (loops->tiled_columns >= n && kept.count <= loops->panel_rows) {
        double *scatter = zeros(ld * ld);
        Panel panel = {NULL, zeros(loops->panel_rows * ld), NULL, loops->panel_rows, 0, n, ld, 1,
                       scatter};
        loops->pack(X, &kept, centres, ld, inv_scale, weights, 0, &panel);
        loops->add_gram_of_panel(&panel);
        for (ptrdiff_t a = 0; a < n; a++)
            for (ptrdiff_t b = a; b < n; b++) {
                double sum = 0.0;
                for (ptrdiff_t p = 0; p < kept.count; p++) {
                    const ptrdiff_t j = chosen[p];
                    sum += (get(X, j * n + a, wide) - get(centres, codes[j] * ld + a, wide))
                        * get(inv_scale, a, wide) * weights[j] * weights[j]
                        * (get(X, j * n + b, wide) - get(centres, codes[j] * ld + b, wide))
                        * get(inv_scale, b, wide);
                }
                compare("gram of panel", n, wide, scatter[a * ld + b], sum, rows);
            }
        free(panel.rows), free(scatter);
    }
    loops->gather_images(Z, ldz, &kept);
    if (loops->add_gram_of_images != NULL) {
        double *gram = zeros(ldz * ldz);
        loops->add_gram_of_images(Z, kept.count, ldz, gram);
        for (ptrdiff_t a = 0; a < d; a++)
            for (ptrdiff_t b = a; b < d; b++) {
                double sum = 0.0;
                for (ptrdiff_t p = 0; p < kept.count; p++)
                    sum += get(Z, p * ldz + a, wide) * get(Z, p * ldz + b, wide);
                compare("gram of images", n, wide, gram[a * ldz + b], sum, rows * n);
            }
        free(gram);
    }
    free(X), free(W), free(images), free(centres), free(inv_scale), free(Z), free(out);
    free(weights), free(numbers), free(sums), free(image_sums), free(total);
}

int main(void) {
    const Target *target = &JOIN(target, TARGET);
    const ptrdiff_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 20, 24, 25, 40, 50, 130, 200};
    const ptrdiff_t rows[] = {1, 3, 4, 5, 8, 9, 100};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
        for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r++)
            for (ptrdiff_t d = 1; d <= 14; d += d < 4 ? 1 : 5) {
                check(target->float32, rows[r], sizes[s], d, 0);
                check(target->float64, rows[r], sizes[s], d, 1);
            }
    printf("%s: %d of %d numbers are wrong\n", target->name, n_wrong, n_compared);
    return n_wrong > 0;
}
