"""Which build of the kernels this machine can run; itself built for any machine."""

cdef extern from *:
    """
    #if defined(__GNUC__) && defined(__x86_64__)
      static int cappedlda_has_avx2(void) {
          __builtin_cpu_init();
          return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
      }
    #else
      static int cappedlda_has_avx2(void) { return 0; }
    #endif
    """
    bint cappedlda_has_avx2()


def has_avx2():
    """Return whether the kernels built for AVX2 and FMA exist and run here."""
    return cappedlda_has_avx2()
