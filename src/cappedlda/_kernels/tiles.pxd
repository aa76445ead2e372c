"""The loops that are compiled for each target; see tiles.h."""

from libc.stdint cimport int32_t, uint32_t, uint64_t

cdef extern from "tiles.h":
    enum:
        MANTISSA_BITS
        LOWEST_EXPONENT
        N_BINS

    ctypedef struct Kept:
        const int32_t *numbers
        Py_ssize_t count
        const int32_t *codes
        const double *sample_weight

    ctypedef struct Panel:
        void *rows
        void *part
        Py_ssize_t room
        Py_ssize_t filled
        Py_ssize_t n
        Py_ssize_t ld
        bint tiled
        double *scatter

    ctypedef struct Loops:
        Py_ssize_t tile_rows
        Py_ssize_t step
        Py_ssize_t least
        Py_ssize_t panel_rows
        Py_ssize_t tiled_columns
        void (*start_images)(
            const void *images, Py_ssize_t ldz, const int32_t *codes, Py_ssize_t rows, void *Z,
        ) noexcept nogil
        void (*project)(
            const void *X, Py_ssize_t rows, Py_ssize_t n, const void *W, Py_ssize_t ldz,
            Py_ssize_t ahead, void *Z,
        ) noexcept nogil
        void (*gather_images)(void *Z, Py_ssize_t ldz, const Kept *kept) noexcept nogil
        void (*square_norms)(
            const void *Z, Py_ssize_t rows, Py_ssize_t ldz, double *squares,
        ) noexcept nogil
        void (*add_sums)(
            const void *X, Py_ssize_t n, const Kept *kept, const void *centres, Py_ssize_t ldc,
            double *sums,
        ) noexcept nogil
        void (*add_image_sums)(
            const void *Z, Py_ssize_t ldz, const Kept *kept, double *sums,
        ) noexcept nogil
        void (*write_images)(
            const void *Z, Py_ssize_t rows, Py_ssize_t d, Py_ssize_t ldz, Py_ssize_t left,
            void *images, double *sums,
        ) noexcept nogil
        void (*scaled_norms)(
            const void *X, Py_ssize_t rows, Py_ssize_t n, const int32_t *codes,
            const void *centres, const void *inv_scale, double *norms,
        ) noexcept nogil
        void (*pack)(
            const void *X, const Kept *kept, const void *centres, Py_ssize_t ldc,
            const void *inv_scale, const double *roots, Panel *panel,
        ) noexcept nogil
        void (*add_gram_of_panel)(const Panel *panel) noexcept nogil
        void (*add_gram_of_images)(
            const void *Z, Py_ssize_t rows, Py_ssize_t ldz, double *out,
        ) noexcept nogil
        bint (*add_checksums)(
            const void *X, Py_ssize_t rows, Py_ssize_t n, const uint32_t *keys,
            const int32_t *codes, const double *weights, uint64_t *checksums,
        ) noexcept nogil

    ctypedef struct Target:
        const char *name
        const Loops *float32
        const Loops *float64
        void (*square_roots)(const double *x, Py_ssize_t count, double *out) noexcept nogil
        void (*reciprocals)(const double *x, Py_ssize_t count, double *out) noexcept nogil
        void (*floored_squares)(
            const double *x, Py_ssize_t count, double floor, double *out,
        ) noexcept nogil
        double (*deposit)(
            const double *distances, const double *losses, const int32_t *codes,
            const double *weights, Py_ssize_t rows, double *histograms,
        ) noexcept nogil

    const Target *cappedlda_target(int number) noexcept nogil


cdef inline const Loops *loops_of(const Target *target, Py_ssize_t itemsize) noexcept nogil:
    return target.float64 if itemsize == 8 else target.float32


cdef inline Py_ssize_t padded_size(const Loops *loops, Py_ssize_t size) noexcept nogil:
    """Whole vectors, enough for a tile, and whole tiles."""
    return max(image_size(loops, size), loops.least)


cdef inline Py_ssize_t image_size(const Loops *loops, Py_ssize_t size) noexcept nogil:
    """Whole vectors: the images of a few directions have a tile of their own."""
    return (size + loops.step - 1) // loops.step * loops.step
