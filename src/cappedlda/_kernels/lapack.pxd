"""LAPACK for C-ordered matrices; the only door to scipy.linalg.cython_lapack.

LAPACK is column-major: what it writes as columns are the rows of a C-ordered array.
"""

from libc.math cimport fabs, isfinite
from libc.stdlib cimport free, malloc
from scipy.linalg.cython_lapack cimport dpocon, dpotrf, dpotrs, dsyevd, dtrtri

include "cappedlda/_kernels/blas_int.pxi"


cdef inline bint find_eigen(double *C, double *values, Py_ssize_t n) except -1:
    """Find the ascending eigenvalues of a symmetric C (n, n), and its eigenvectors.

    They replace the rows of C. Returns whether they were found.
    """
    cdef:
        blas_int size = <blas_int> n, info = 0
        blas_int n_numbers = <blas_int> (1 + 6 * n + 2 * n * n)
        blas_int n_integers = <blas_int> (3 + 5 * n)
        char vectors = b"V", lower = b"L"
        double *numbers = <double *> malloc((1 + 6 * n + 2 * n * n) * sizeof(double))
        blas_int *integers = <blas_int *> malloc((3 + 5 * n) * sizeof(blas_int))
    try:
        if numbers == NULL or integers == NULL:
            raise MemoryError
        with nogil:
            dsyevd(
                &vectors, &lower, &size, C, &size, values,
                numbers, &n_numbers, integers, &n_integers, &info,
            )
    finally:
        free(numbers)
        free(integers)
    return info == 0 and isfinite(values[n - 1])  # LAPACK may take NaN without complaint


cdef inline bint find_factor(double *C, double *work, Py_ssize_t n, double least) noexcept:
    """Replace the upper triangle of a symmetric C (n, n) by its Cholesky factor R: C = R'R.

    Work has room for 4 n numbers. Returns whether C has one, and a reciprocal condition number
    above `least`; if that is 0 it is not looked at.
    """
    cdef:
        blas_int size = <blas_int> n, info = 0
        blas_int *integers = <blas_int *> (work + 3 * n)
        char lower = b"L"  # the upper triangle of a C-ordered array, for LAPACK
        double norm = 0.0, row, condition = 1.0
        Py_ssize_t i, j
    with nogil:
        if least > 0.0:
            for j in range(n):
                row = 0.0
                for i in range(n):
                    row += fabs(C[j * n + i])
                norm = max(norm, row)
        dpotrf(&lower, &size, C, &size, &info)
        if info == 0 and least > 0.0:
            dpocon(&lower, &size, C, &size, &norm, &condition, work, integers, &info)
    return info == 0 and condition > least


cdef inline bint invert_factor(double *R, Py_ssize_t n) noexcept:
    """Replace the upper triangle of R (n, n) by that of its inverse; returns whether it has one."""
    cdef:
        blas_int size = <blas_int> n, info = 0
        char lower = b"L", general = b"N"
    with nogil:
        dtrtri(&lower, &general, &size, R, &size, &info)
    return info == 0


cdef inline void solve_by_factor(
    double *R, double *rows, Py_ssize_t n, Py_ssize_t count,
) noexcept:
    """Replace each of some rows (count, n) by the solution for R'R, of which R is the factor."""
    cdef:
        blas_int size = <blas_int> n, number = <blas_int> count, info = 0
        char lower = b"L"
    with nogil:
        dpotrs(&lower, &size, &number, R, &size, rows, &size, &info)
