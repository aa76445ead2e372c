/* Which targets this processor can run; itself built for any machine. */
#include "tiles.h"

extern const Target target_baseline, target_avx2, target_avx512, target_neon;

#if defined(WITH_avx2) || defined(WITH_avx512)
static int has_avx2(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif
#ifdef WITH_avx512
static int has_avx512(void) {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#endif

const Target *cappedlda_target(int number) {
#ifdef WITH_avx512
    if (has_avx512() && number-- == 0) return &target_avx512;
#endif
#ifdef WITH_avx2
    if (has_avx2() && number-- == 0) return &target_avx2;
#endif
#ifdef WITH_neon
    if (number-- == 0) return &target_neon; /* every aarch64 has it */
#endif
    return number == 0 ? &target_baseline : NULL;
}
