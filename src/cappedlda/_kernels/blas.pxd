"""Row-major BLAS for C-ordered blocks; the only door to scipy.linalg.cython_blas.

BLAS is column-major: it sees a C-ordered (r, k) array as its (k, r) transpose.
Operands are swapped accordingly here and nowhere else. Sizes are those of one
block and always fit a BLAS integer.
"""

from cython cimport floating
from scipy.linalg.cython_blas cimport dgemm, dsyrk, dtrmm, sgemm, ssyrk, strmm

include "cappedlda/_kernels/blas_int.pxi"


cdef inline void add_product(
    const floating *X, const floating *W, floating *Z,
    Py_ssize_t rows, Py_ssize_t inner, Py_ssize_t columns,
) noexcept nogil:
    """Z += X W for X (rows, inner), W (inner, columns)."""
    cdef:
        blas_int m = <blas_int> columns, n = <blas_int> rows, k = <blas_int> inner
        char no = b"N"
        floating one = 1
    if floating is double:
        dgemm(&no, &no, &m, &n, &k, &one, <double *> W, &m, <double *> X, &k, &one, Z, &m)
    else:
        sgemm(&no, &no, &m, &n, &k, &one, <float *> W, &m, <float *> X, &k, &one, Z, &m)


cdef inline void add_gram(
    const floating *X, floating *S, Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t lds,
    floating beta,
) noexcept nogil:
    """S = beta S + X'X for X (rows, columns); only the upper triangle of S is touched.

    Rows of S are `lds` numbers apart.
    """
    cdef:
        blas_int n = <blas_int> columns, k = <blas_int> rows, ld = <blas_int> lds
        char lower = b"L"  # the upper triangle of a C-ordered array, as BLAS sees it
        char no = b"N"
        floating one = 1
    if floating is double:
        dsyrk(&lower, &no, &n, &k, &one, <double *> X, &n, &beta, S, &ld)
    else:
        ssyrk(&lower, &no, &n, &k, &one, <float *> X, &n, &beta, S, &ld)


cdef inline void multiply_by_triangle(
    floating *Z, const floating *W, Py_ssize_t rows, Py_ssize_t columns,
) noexcept nogil:
    """Z = Z W for Z (rows, columns) and the upper triangle of W (columns, columns)."""
    cdef:
        blas_int m = <blas_int> columns, n = <blas_int> rows
        char left = b"L"
        char lower = b"L"  # the upper triangle of a C-ordered array, as BLAS sees it
        char no = b"N"
        floating one = 1
    if floating is double:
        dtrmm(&left, &lower, &no, &no, &m, &n, &one, <double *> W, &m, Z, &m)
    else:
        strmm(&left, &lower, &no, &no, &m, &n, &one, <float *> W, &m, Z, &m)


cdef inline void set_product(
    const double *A, bint turn_A, const double *B, bint turn_B, double *Z,
    Py_ssize_t rows, Py_ssize_t inner, Py_ssize_t columns,
) noexcept nogil:
    """Z = A B of shape (rows, columns), where A or B may be given as its transpose."""
    cdef:
        blas_int m = <blas_int> columns, n = <blas_int> rows, k = <blas_int> inner
        char of_A = b"T" if turn_A else b"N", of_B = b"T" if turn_B else b"N"
        double one = 1.0, zero = 0.0
    dgemm(
        &of_B, &of_A, &m, &n, &k, &one, <double *> B, &k if turn_B else &m,
        <double *> A, &n if turn_A else &k, &zero, Z, &m,
    )
