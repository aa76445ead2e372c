"""Vectors of one row, where a call of BLAS would cost more than its work."""

from cython cimport floating


cdef inline double dot(const floating *a, const floating *b, Py_ssize_t n) noexcept nogil:
    """Product of two vectors, by four independent sums."""
    cdef Py_ssize_t k = 0
    cdef floating s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0
    while k + 4 <= n:
        s0 += a[k] * b[k]
        s1 += a[k + 1] * b[k + 1]
        s2 += a[k + 2] * b[k + 2]
        s3 += a[k + 3] * b[k + 3]
        k += 4
    for k in range(k, n):
        s0 += a[k] * b[k]
    return (s0 + s1) + (s2 + s3)


cdef inline void subtract(
    const double *a, const double *b, Py_ssize_t n, floating *difference,
) noexcept nogil:
    """Difference of two vectors, which may take the place of one of them."""
    cdef Py_ssize_t k
    for k in range(n):
        difference[k] = <floating> (a[k] - b[k])
