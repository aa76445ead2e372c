"""Row-major BLAS for C-ordered blocks; the only door to scipy.linalg.cython_blas."""

from cython cimport floating


cdef void add_product(
    const floating *X, const floating *W, floating *Z,
    Py_ssize_t rows, Py_ssize_t inner, Py_ssize_t columns,
) noexcept nogil

cdef void add_gram(
    const floating *X, floating *S, Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t lds,
    floating beta,
) noexcept nogil

cdef void multiply_by_triangle(
    double *Z, const double *W, Py_ssize_t rows, Py_ssize_t columns,
) noexcept nogil

cdef void set_product(
    const double *A, bint turn_A, const double *B, bint turn_B, double *Z,
    Py_ssize_t rows, Py_ssize_t inner, Py_ssize_t columns,
) noexcept nogil
