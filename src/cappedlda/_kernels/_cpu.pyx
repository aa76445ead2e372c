"""Which builds of the kernels this machine can run; itself built for any machine."""

cdef extern from *:
    """
    #if defined(__GNUC__) && defined(__x86_64__)
      static int cappedlda_has_avx2(void) {
          __builtin_cpu_init();
          return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
      }
      static int cappedlda_has_avx512(void) {
          return cappedlda_has_avx2()
              && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
              && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
      }
    #else
      static int cappedlda_has_avx2(void) { return 0; }
      static int cappedlda_has_avx512(void) { return 0; }
    #endif
    """
    bint cappedlda_has_avx2()
    bint cappedlda_has_avx512()


def instruction_sets():
    """Return the names of the builds that processor and system can run, the fastest first."""
    names = ["baseline"]
    if cappedlda_has_avx2():
        names.insert(0, "avx2")
    if cappedlda_has_avx512():
        names.insert(0, "avx512")
    return names
