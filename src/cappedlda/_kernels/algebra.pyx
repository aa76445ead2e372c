"""Whole steps on the small matrices of every fit, for which NumPy calls cost too much.

All arrays are C-ordered. Eigenvectors are the rows of a matrix. A function that needs them returns
whether they were found.
"""

from libc.math cimport fabs, isfinite, sqrt
from libc.stdint cimport uint8_t
from libc.stdlib cimport free
from scipy.linalg.cython_lapack cimport dsyevd

from cappedlda._kernels.blas cimport set_product
from cappedlda._kernels.memory cimport room_for

include "cappedlda/_kernels/blas_int.pxi"


cdef bint find_eigen(double *C, double *values, Py_ssize_t n) except -1:
    """Find the ascending eigenvalues of a symmetric C (n, n); its eigenvectors replace its rows."""
    cdef:
        blas_int size = <blas_int> n, info = 0
        blas_int n_numbers = <blas_int> (1 + 6 * n + 2 * n * n)
        blas_int n_integers = <blas_int> (3 + 5 * n)
        char vectors = b"V", lower = b"L"
        double *numbers = room_for(n_numbers + n_integers)
        blas_int *integers = <blas_int *> (numbers + n_numbers)
    with nogil:
        dsyevd(
            &vectors, &lower, &size, C, &size, values,
            numbers, &n_numbers, integers, &n_integers, &info,
        )
    free(numbers)
    return info == 0 and isfinite(values[n - 1])  # LAPACK may take NaN without complaint


def lead(
    const double[:, ::1] Y, const double[:, ::1] B, double cutoff, double[::1] W,
):
    """Find W (n, rank) = Y' V with orthogonal columns V of B Y', largest eigenvalue first.

    They are as long as makes V' B Y' V = I. Y and B are (c, n), and W has space for n c
    numbers. Returns the rank, or -1 if no eigenvectors were found.
    """
    cdef:
        Py_ssize_t c = Y.shape[0], n = Y.shape[1], rank = 0, i, j, k
        double *vectors = room_for(2 * c * c + c)
        double *coefficients = vectors + c * c
        double *values = coefficients + c * c
    try:
        set_product(&B[0, 0], False, &Y[0, 0], True, vectors, c, n, c)
        for i in range(c):
            for j in range(i):
                # One triangle of a nearly symmetric matrix may have another rank.
                vectors[i * c + j] = 0.5 * (vectors[i * c + j] + vectors[j * c + i])
                vectors[j * c + i] = vectors[i * c + j]
        if not find_eigen(vectors, values, c):
            return -1
        while rank < c and values[c - 1 - rank] > cutoff * max(values[c - 1], 0.0):
            rank += 1
        for k in range(rank):
            for i in range(c):
                coefficients[i * rank + k] = vectors[(c - 1 - k) * c + i] / sqrt(values[c - 1 - k])
        if rank > 0:
            set_product(&Y[0, 0], True, coefficients, False, &W[0], n, c, rank)
    finally:
        free(vectors)
    return rank


cdef inline double larger(double a, double b) noexcept:
    """The larger of two numbers; NaN if one is."""
    return a if a >= b or a != a else b


def deviations(
    const double[:, ::1] centres, const double[::1] priors, const double[::1] scale,
    double[:, ::1] B,
):
    """B = sqrt(prior_i) (m_i - m) / scale for centres m_i (c, n) and their mean m."""
    cdef Py_ssize_t c = centres.shape[0], i, j
    cdef double mean
    for j in range(centres.shape[1]):
        mean = 0.0
        for i in range(c):
            mean += priors[i] * centres[i, j]
        for i in range(c):
            B[i, j] = (centres[i, j] - mean) / scale[j] * sqrt(priors[i])


def units(
    const double[:] within, const double[:] between, const double[:, :] centres,
    const double[:] rounding, double no_variance, double no_deviation,
    double[::1] unit, uint8_t[::1] flat,
):
    """Find the units of features (n,), and which are flat: constant within the classes.

    The variances within and between classes are (n,), the centres (c, n). The rounding (n,) of
    a variance may be None.
    """
    cdef:
        Py_ssize_t i, j, n_flat = 0, n = within.shape[0]
        double size, least
    for j in range(n):
        size = 0.0
        for i in range(centres.shape[0]):
            size = larger(size, fabs(centres[i, j]))
        least = no_deviation * size * (no_deviation * size)
        if rounding is not None:
            least = larger(least, rounding[j])
        flat[j] = within[j] <= larger(no_variance * between[j], least)
        n_flat += flat[j]
        unit[j] = least
    for j in range(n):
        if n_flat == n:  # none would have any influence, so their spread between classes serves
            unit[j] = sqrt(between[j]) if between[j] > unit[j] else 1.0
            flat[j] = False
        else:
            unit[j] = 1.0 if flat[j] else sqrt(within[j])


cdef inline double mean(double sum, double weight) noexcept nogil:
    return sum / weight if weight > 0.0 else 0.0


def means_of(const double[:, ::1] sums, const double[:] weights, double[:, ::1] means):
    """Means of sums (c, n) over weights (c,); 0 of nothing."""
    cdef Py_ssize_t i, j
    for i in range(sums.shape[0]):
        for j in range(sums.shape[1]):
            means[i, j] = mean(sums[i, j], weights[i])


def move_centres(
    const double[:, ::1] centres, const double[:, ::1] sums, const double[:] weights,
    double factor, const double[::1] scale, double[:, ::1] means, double[:, ::1] moves,
):
    """Move centres (c, n) to the means of rows, given their sums about them.

    The products of the moves are what a scatter of a multiple of the weights, in units of the
    scale, loses by it.
    """
    cdef:
        Py_ssize_t i, j
        double root, move
    for i in range(sums.shape[0]):
        root = sqrt(factor * weights[i])
        for j in range(sums.shape[1]):
            move = mean(sums[i, j], weights[i])
            means[i, j] = centres[i, j] + move
            moves[i, j] = move * (root / scale[j])


def centre(
    const double[::1] totals,    # IN (c,)
    const double[:, ::1] sums,   # IN (c, n)
    const double[:, ::1] upper,  # IN (n, n) sum of squares, upper triangle
    const double[::1] unit,      # IN (n,) of the features, or None
    double[:, ::1] means,        # OUT (c, n)
    double[:, ::1] scatter,      # OUT (n, n), in these units
):
    """Turn the sums of rows into means of classes, and those of their squares into the scatter."""
    cdef Py_ssize_t c = sums.shape[0], n = sums.shape[1], i, k
    with nogil:
        for i in range(c):
            for k in range(n):
                means[i, k] = mean(sums[i, k], totals[i])
        set_product(&sums[0, 0], True, &means[0, 0], False, &scatter[0, 0], n, c, n)
        for i in range(n):
            for k in range(i, n):
                scatter[i, k] = upper[i, k] - scatter[i, k]
                if unit is not None:
                    scatter[i, k] /= unit[i] * unit[k]
    mirror(scatter)


def mirror(double[:, ::1] matrix):
    """Copy the upper triangle of a matrix to the lower, by tiles that stay in cache."""
    cdef Py_ssize_t n = matrix.shape[0], i, k, first, second
    with nogil:
        for first in range(0, n, 32):
            for second in range(first, n, 32):
                for k in range(second, min(second + 32, n)):
                    for i in range(first, min(first + 32, k)):
                        matrix[k, i] = matrix[i, k]
