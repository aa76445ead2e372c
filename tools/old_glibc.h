/* Included in every C file by tools/wheel.py, so that the wheel runs on older Linux.

   glibc 2.29 gave pow a second version, which reports errors in another way only. It is the
   one symbol that would need glibc 2.29; with the first version manylinux_2_17 is enough. */
#if defined(__linux__) && defined(__x86_64__)
__asm__(".symver pow,pow@GLIBC_2.2.5");
#elif defined(__linux__) && defined(__aarch64__)
__asm__(".symver pow,pow@GLIBC_2.17");
#endif
