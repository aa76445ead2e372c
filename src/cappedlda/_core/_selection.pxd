"""Quantiles by selection: nothing is sorted but a few values."""


cdef double quantile(
    const double *values, const double *weights, Py_ssize_t count, double level, double *scratch,
) noexcept nogil
