"""Fences on binned distances: quantiles of histograms, and caps that grow from them.

There is one histogram per class. Its bins sit at ascending positions, the same for all.
Most bins are empty, so only the range that some class fills is read. Bins beyond the cap of
their class do not count. Nothing is checked here.
"""

from libc.math cimport fabs, ldexp
from libc.string cimport memset

from cappedlda._kernels.tiles cimport LOWEST_EXPONENT, MANTISSA_BITS, N_BINS

# A fence follows from these quantiles of the distances inside it, which show how long the tail is.
cdef double[2] LEVELS
LEVELS[:] = [0.5, 0.9]

# The distance at which each bin sits.
cdef double[N_BINS] positions


cdef void place_bins() noexcept nogil:
    cdef int k, per_octave = 1 << MANTISSA_BITS
    for k in range(N_BINS):
        positions[k] = ldexp(
            1.0 + <double> (k % per_octave) / per_octave, k // per_octave + LOWEST_EXPONENT)


place_bins()


cdef inline double four(const double *weights) noexcept nogil:
    return (weights[0] + weights[1]) + (weights[2] + weights[3])


cdef inline bint eight_are_empty(const double *weights) noexcept nogil:
    return four(weights) + four(weights + 4) == 0.0


cdef void filled_bins(
    const double[:, ::1] histograms, Py_ssize_t *first, Py_ssize_t *stop,
) noexcept nogil:
    """Find the range of bins outside which all histograms are empty."""
    cdef Py_ssize_t i, k
    cdef const double *weights
    first[0] = histograms.shape[1]
    stop[0] = 0
    for i in range(histograms.shape[0]):
        weights = &histograms[i, 0]
        k = 0
        while k + 8 <= first[0] and eight_are_empty(weights + k):
            k += 8
        while k < first[0] and weights[k] == 0.0:
            k += 1
        first[0] = k
        k = histograms.shape[1]
        while k - 8 >= stop[0] and eight_are_empty(weights + k - 8):
            k -= 8
        while k > stop[0] and weights[k - 1] == 0.0:
            k -= 1
        stop[0] = k


cdef Py_ssize_t stop_at(Py_ssize_t first, Py_ssize_t stop, double cap) noexcept nogil:
    """Return where the bins from `first` to `stop` end that are within a cap."""
    cdef Py_ssize_t middle
    while first < stop:
        middle = (first + stop) // 2
        if positions[middle] <= cap:
            first = middle + 1
        else:
            stop = middle
    return stop


cdef Py_ssize_t pool(
    const double[:, ::1] histograms, const double *caps, Py_ssize_t first, Py_ssize_t stop,
    double *pooled,
) noexcept nogil:
    """Add up the bins of all classes, each within its cap; return where they end."""
    cdef Py_ssize_t i, k, end, last = first
    memset(pooled + first, 0, max(stop - first, 0) * sizeof(double))
    for i in range(histograms.shape[0]):
        end = stop_at(first, stop, caps[i])
        last = max(last, end)
        for k in range(first, end):
            pooled[k] += histograms[i, k]
    return last


cdef double quantiles_of(
    const double *weights, Py_ssize_t first, Py_ssize_t stop,
    const double *levels, Py_ssize_t n_levels, double *quantiles,
) noexcept nogil:
    """Find quantiles of one histogram; return its weight.

    Half of the weight of a bin lies below its position, and the weight rises evenly
    between bins that hold any.
    """
    cdef Py_ssize_t k, j, n_filled = 0, level = 0
    cdef double total = 0.0, below = 0.0, last_middle = 0.0, last_position = 0.0
    cdef double middle, target
    cdef int[N_BINS] filled
    k = first
    while k + 4 <= stop:
        total += four(weights + k)
        k += 4
    for k in range(k, stop):
        total += weights[k]
    for k in range(first, stop):  # no branch: half would be mispredicted
        filled[n_filled] = <int> k
        n_filled += weights[k] > 0.0
    for j in range(n_filled):
        k = filled[j]
        middle = below + 0.5 * weights[k]
        while level < n_levels and levels[level] * total <= middle:
            target = levels[level] * total
            quantiles[level] = positions[k]
            if below > 0.0:
                quantiles[level] -= (
                    (positions[k] - last_position) * (middle - target) / (middle - last_middle)
                )
            level += 1
        if level == n_levels:
            break
        below += weights[k]
        last_middle = middle
        last_position = positions[k]
    for level in range(level, n_levels):
        quantiles[level] = last_position
    return total


cdef inline double fence(
    double median, double high, double reach, double min_gap,
) noexcept nogil:
    """Return high + reach (high - median), at least the share `min_gap` beyond high."""
    return high + max(reach * (high - median), min_gap * high)


def find_quantiles(
    const double[:, ::1] histograms,  # IN (c, b)
    const double[::1] caps,           # IN (c,)
    const double[::1] levels,         # IN (l,) ascending
    double[:, ::1] quantiles,         # OUT (c + 1, l); the last row is of all classes together
    double[::1] totals,               # OUT (c + 1,) weight that counts
):
    """Find quantiles of binned distances, of each class and of all together."""
    cdef Py_ssize_t i, end, first = 0, stop = 0, c = histograms.shape[0], n = levels.shape[0]
    cdef double[N_BINS] pooled
    with nogil:
        filled_bins(histograms, &first, &stop)
        for i in range(c):
            end = stop_at(first, stop, caps[i])
            totals[i] = quantiles_of(
                &histograms[i, 0], first, end, &levels[0], n, &quantiles[i, 0])
        end = pool(histograms, &caps[0], first, stop, pooled)
        totals[c] = quantiles_of(pooled, first, end, &levels[0], n, &quantiles[c, 0])


cdef double half_of(
    const double *weights, Py_ssize_t first, Py_ssize_t stop, double min_gap,
) noexcept nogil:
    """Return a cap that keeps at least half of a histogram."""
    cdef double level = 0.5, median = 0.0
    quantiles_of(weights, first, stop, &level, 1, &median)
    return median * (1.0 + min_gap)


def grow_caps(
    const double[:, ::1] histograms,  # IN (c, b)
    const double[::1] start,          # IN (c,), or None: from nothing
    double reach, double min_gap, double min_weight, double tol, Py_ssize_t max_steps,
    double least, double blur,
    double[:, ::1] found,             # OUT (2, c) caps, and the least cap of each class, which
                                      # keeps half of it
):
    """Let caps grow to the fences of the distances within them, until they converge.

    A class of less than `min_weight` has no fence of its own, only the one of all classes
    together. Return that, and the median of the distances within it. No fence is below `least`,
    and no cap that keeps half of a class below `blur`.
    """
    cdef Py_ssize_t i, _step, end, first = 0, stop = 0, c = found.shape[1]
    cdef double weight, cap, epsilon = 0.0, median = 0.0
    cdef bint still, same
    cdef double[2] quantiles
    cdef double[N_BINS] pooled
    cdef double *caps = &found[0, 0]
    cdef double *halves = &found[1, 0]
    cdef bint from_nothing = start is None
    with nogil:
        filled_bins(histograms, &first, &stop)
        for i in range(c):
            caps[i] = 0.0 if from_nothing else start[i]
            halves[i] = half_of(&histograms[i, 0], first, stop, min_gap)
        for _step in range(max_steps):
            end = pool(histograms, caps, first, stop, pooled)
            quantiles_of(pooled, first, end, LEVELS, 2, quantiles)
            epsilon = fence(quantiles[0], quantiles[1], reach, min_gap)
            median = quantiles[0]
            still = same = True
            for i in range(c):
                end = stop_at(first, stop, caps[i])
                weight = quantiles_of(&histograms[i, 0], first, end, LEVELS, 2, quantiles)
                cap = max(halves[i], epsilon)
                if weight >= min_weight:
                    cap = max(cap, fence(quantiles[0], quantiles[1], reach, min_gap))
                if not fabs(cap - caps[i]) <= tol * cap:
                    still = False
                if stop_at(first, stop, cap) != end:
                    same = False
                caps[i] = cap
            if still or same:  # with the same bins inside another step would change nothing
                break
        for i in range(c):
            caps[i] = max(caps[i], least)
            halves[i] = max(halves[i], blur)
    return max(epsilon, least), median
