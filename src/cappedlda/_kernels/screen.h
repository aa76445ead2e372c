/* The loops of the screen over cells. They only sort out rows that need no further look, with a
 * margin for rounding: no result depends on how they round. So they may be built for several
 * instruction sets, of which the program loader takes the best, where it can. */

#ifndef CAPPEDLDA_SCREEN_H
#define CAPPEDLDA_SCREEN_H

#include <stddef.h>

#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) \
    && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define CLONED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CLONED
#endif

/* z = (x - centre) root; returns the sum of squares of z, or NaN. */
#define SCALE(name, number)                                                                        \
    CLONED static float name(const number *x, const double *centre, const double *root,            \
                             ptrdiff_t n, float *z)                                                \
    {                                                                                              \
        float s[16] = {0};                                                                         \
        ptrdiff_t j = 0;                                                                           \
        for (ptrdiff_t i = 0; i < n; i++)                                                          \
            z[i] = (float) ((x[i] - centre[i]) * root[i]);                                         \
        for (; j + 16 <= n; j += 16)                                                               \
            for (int k = 0; k < 16; k++)                                                           \
                s[k] += z[j + k] * z[j + k];                                                       \
        for (; j < n; j++)                                                                         \
            s[0] += z[j] * z[j];                                                                   \
        for (int k = 1; k < 16; k++)                                                               \
            s[0] += s[k];                                                                          \
        return s[0];                                                                               \
    }
SCALE(scale_f64, double)
SCALE(scale_f32, float)

/* Whether u, give or take blur, is below `low` or above `high` anywhere. */
CLONED static int any_outside(const float *u, const float *low, const float *high, float blur,
                              ptrdiff_t n)
{
    int outside = 0;
    for (ptrdiff_t j = 0; j < n; j++)
        outside |= (u[j] - blur < low[j]) | (u[j] + blur > high[j]);
    return outside;
}

#endif
