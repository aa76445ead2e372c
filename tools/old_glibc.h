/* Included in every C file by tools/wheel.py, so that the wheel runs on older Linux.

   glibc 2.29 gave these functions a second version, which reports errors in another way only.
   They are the only symbols that would need it; with the first version manylinux_2_17 is enough. */
#if defined(__linux__) && defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#elif defined(__linux__) && defined(__aarch64__)
#define FIRST_VERSION "GLIBC_2.17"
#endif

#ifdef FIRST_VERSION
__asm__(".symver exp,exp@" FIRST_VERSION);
__asm__(".symver log,log@" FIRST_VERSION);
__asm__(".symver pow,pow@" FIRST_VERSION);
#endif
