# What becomes of the distances of a block: losses, weights, the kept rows, the histogram.

from libc.stdint cimport int64_t

# Bins of the distance histogram are spaced like floating-point numbers: each power
# of two is cut in 2^MANTISSA_BITS equal bins, so a bin is at most 1/32 of its value.
cdef enum:
    MANTISSA_BITS = 5
    LOWEST_EXPONENT = -20
    OCTAVES = 40
    N_BINS = OCTAVES * (1 << MANTISSA_BITS) + 2
    FRACTION_BITS = 52 - MANTISSA_BITS
    FIRST_BIN = (1023 + LOWEST_EXPONENT) * (1 << MANTISSA_BITS)

HISTOGRAM_BINS = N_BINS
HISTOGRAM_MANTISSA_BITS = MANTISSA_BITS
HISTOGRAM_LOWEST_EXPONENT = LOWEST_EXPONENT


cdef void square_norms(
    const floating *Z, Py_ssize_t rows, Py_ssize_t ldz, double *squares,
) noexcept nogil:
    """Squared row norms."""
    cdef Py_ssize_t j
    for j in range(rows):
        if floating is double:
            squares[j] = square_norm_d(Z + j * ldz, ldz)
        else:
            squares[j] = square_norm_f(Z + j * ldz, ldz)


cdef void powers(
    const double *squares, Py_ssize_t rows, double q, double floor, double *loss, double *weights,
) noexcept nogil:
    """loss = r^(q/2) and weight q r^(q/2-1) of uncapped rows; loops without a branch."""
    cdef Py_ssize_t j
    cdef double r, mu2 = floor * floor
    if q == 1.0:
        for j in range(rows):
            r = sqrt(squares[j] + mu2)
            loss[j] = r
            weights[j] = 1.0 / r
    elif q == 2.0:
        for j in range(rows):
            loss[j] = squares[j] + mu2
            weights[j] = 2.0
    else:
        for j in range(rows):
            r = pow(squares[j] + mu2, 0.5 * q - 1.0)
            loss[j] = r * (squares[j] + mu2)
            weights[j] = q * r


cdef void roots(double *weights, const double *sample_weight, Py_ssize_t rows) noexcept nogil:
    """Turn weights into what a packed row is multiplied by, the root of w F."""
    cdef Py_ssize_t j
    if sample_weight == NULL:
        for j in range(rows):
            weights[j] = sqrt(weights[j])
    else:
        for j in range(rows):
            weights[j] = sqrt(sample_weight[j] * weights[j])


cdef Py_ssize_t keep(
    const double *squares, const int32_t *codes, const double *sample_weight,
    const double *loss, const double *caps, const double *cap_losses, Py_ssize_t rows,
    double *kept, double *objective, Py_ssize_t *not_finite, int32_t *chosen,
) noexcept nogil:
    """List the kept rows of a block; add to their tallies and to the objective.

    Without branches: whether a row is kept cannot be foreseen.
    """
    cdef Py_ssize_t j, i, count = 0
    cdef double weight = 1.0, total = 0.0
    cdef double losses[2]
    cdef bint inside
    for j in range(rows):
        i = codes[j]
        if sample_weight != NULL:
            weight = sample_weight[j]
            if not weight > 0.0:  # nothing counts, and the loss of a cap may be infinite
                continue
        inside = squares[j] <= caps[i]
        chosen[count] = <int32_t> j
        count += inside
        not_finite[0] += not (squares[j] <= DBL_MAX)
        losses[0] = cap_losses[i]
        losses[1] = loss[j]
        total += weight * losses[inside]
        kept[2 * i] += inside
        kept[2 * i + 1] += inside * weight
    objective[0] += total
    return count


cdef void deposit(
    const double *distances, const int32_t *codes, const double *sample_weight, Py_ssize_t rows,
    double *histograms,
) noexcept nogil:
    """Share the weight of each row between the two bins of its class around its distance.

    So the histogram, and every quantile of it, moves continuously with the data.
    """
    cdef Py_ssize_t j
    cdef int64_t bits, k
    cdef double weight = 1.0, fraction
    cdef double unit = 1.0 / <double> (<int64_t> 1 << FRACTION_BITS)
    for j in range(rows):
        memcpy(&bits, distances + j, sizeof(bits))
        k = (bits >> FRACTION_BITS) - FIRST_BIN
        fraction = <double> (bits & ((<int64_t> 1 << FRACTION_BITS) - 1)) * unit
        if k < 0:
            k = 0
            fraction = 0.0
        if k > N_BINS - 2 or not distances[j] <= DBL_MAX:  # NaN may have any bits
            k = N_BINS - 2
            fraction = 1.0
        if sample_weight != NULL:
            weight = sample_weight[j]
        k += <int64_t> codes[j] * N_BINS
        histograms[k] += weight - weight * fraction
        histograms[k + 1] += weight * fraction
