"""Quantiles by selection, without sorting more than a few values."""


cdef inline const double *begin_of(const double[::1] weights) noexcept nogil:
    """Return where the weights are, or NULL if there are none."""
    cdef const double *begin = NULL
    if weights is not None:
        begin = &weights[0]
    return begin


cdef double quantile(
    const double *values, const double *weights, Py_ssize_t count, double level, double *scratch,
) noexcept nogil
