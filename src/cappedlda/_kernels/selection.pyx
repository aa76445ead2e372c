"""Selection: quantiles without sorting more than a few values, and rows by class.

A quantile is the mean of the first value that reaches the level and the first that passes
it, as the median of an even number of values is; a value of weight k counts k times.
Nothing is checked here.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from cappedlda._kernels.memory cimport begin_of, room_for

cdef enum:
    FEW = 8        # values that are sorted
    MANY = 150     # values from which on a pivot comes from more than three:
    SAMPLE = 9
    LANES = 8      # columns that are read at a time: a cache line of doubles

BLOCK_COLUMNS = LANES

# Forgives rounding of sums of weights.
cdef double SLACK = 1e-12


cdef void sort_few(double *values, double *weights, Py_ssize_t count) noexcept nogil:
    """Sort by insertion; weights move along if there are any."""
    cdef Py_ssize_t j, k
    cdef double value, weight = 1.0
    for j in range(1, count):
        value = values[j]
        if weights != NULL:
            weight = weights[j]
        k = j
        while k > 0 and values[k - 1] > value:
            values[k] = values[k - 1]
            if weights != NULL:
                weights[k] = weights[k - 1]
            k -= 1
        values[k] = value
        if weights != NULL:
            weights[k] = weight


cdef inline double pivot_of_few(const double *values, Py_ssize_t count, double part) noexcept nogil:
    """Return one of three values, by its rank."""
    cdef double a = values[count // 6], b = values[count // 2], c = values[count - 1 - count // 6]
    if part < 0.2:
        return min(min(a, b), c)
    if part > 0.8:
        return max(max(a, b), c)
    return max(min(a, b), min(max(a, b), c))


cdef double pivot_of(const double *values, Py_ssize_t count, double part) noexcept nogil:
    """Return one of the values near the place `part`, from 0 to 1.

    Near an end it errs to the inside, so that the next pivots close in from both sides. The
    sample is ranked by counting: sorting would mispredict a branch for each value. It is drawn at
    random from as many stretches: at fixed places, periodic values could all be small.
    """
    cdef uint32_t random = <uint32_t> count
    cdef double sample[SAMPLE]
    cdef Py_ssize_t j, k, rank, chosen = 0, place
    cdef double inwards = 0.0
    if count < MANY:
        return pivot_of_few(values, count, part)
    if part < 0.3:
        inwards = 1.5
    elif part > 0.7:
        inwards = -1.5
    place = <Py_ssize_t> (part * SAMPLE + inwards)
    place = min(max(place, <Py_ssize_t> 0), <Py_ssize_t> SAMPLE - 1)
    for j in range(SAMPLE):
        random = random * 1664525 + 1013904223
        sample[j] = values[j * count // SAMPLE + (random >> 8) % (count // SAMPLE)]
    for j in range(SAMPLE):
        rank = 0
        for k in range(j):
            rank += sample[k] <= sample[j]
        for k in range(j + 1, SAMPLE):
            rank += sample[k] < sample[j]
        chosen = j if rank == place else chosen
    return sample[chosen]


cdef double sum_of(const double *values, Py_ssize_t count) noexcept nogil:
    """Sum by four independent sums."""
    cdef Py_ssize_t j = 0
    cdef double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0
    while j + 4 <= count:
        s0 += values[j]
        s1 += values[j + 1]
        s2 += values[j + 2]
        s3 += values[j + 3]
        j += 4
    for j in range(j, count):
        s0 += values[j]
    return (s0 + s1) + (s2 + s3)


cdef double least_of(const double *values, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t j
    cdef double least = values[0]
    for j in range(1, count):
        least = min(least, values[j])
    return least


cdef inline Py_ssize_t partition(
    double *values, double *weights, Py_ssize_t count, double pivot, double *high,
    double *high_weights, Py_ssize_t *n_high, bint weighted,
) noexcept nogil:
    """Move values below the pivot to the front, those above it to `high`; return how many.

    Without branches: the side of a value cannot be predicted.
    """
    cdef Py_ssize_t j, low = 0, above = 0
    cdef double value
    for j in range(count):
        value = values[j]
        if weighted:
            high_weights[above] = weights[j]
            weights[low] = weights[j]
        values[low] = value
        high[above] = value
        low += value < pivot
        above += value > pivot
    n_high[0] = above
    return low


cdef struct Found:
    double value       # the first value that reaches the target,
    double reached     # the weight up to it,
    double following   # and the next larger value


cdef inline Found first_reaching(
    double *values, double *weights, Py_ssize_t count, double total, double target,
    double *spare, double *spare_weights, bint weighted,
) noexcept nogil:
    """Find the first of some values up to which the weight reaches a target.

    All weights are positive, and `total` is their sum. The arrays have room for `count` numbers and
    are overwritten; those of weights are used only if `weighted`.
    """
    cdef Found found
    cdef Py_ssize_t n_low, n_high, j = 0
    cdef double pivot, low, high, below = 0.0
    cdef bint any_following = False
    while count > FEW:
        pivot = pivot_of(values, count, (target - below) / total)
        n_low = partition(values, weights, count, pivot, spare, spare_weights, &n_high, weighted)
        low = sum_of(weights, n_low) if weighted else <double> n_low
        high = sum_of(spare_weights, n_high) if weighted else <double> n_high
        if n_low > 0 and below + low >= target:
            count = n_low
            total = low
            found.following = pivot
            any_following = True
        elif n_high == 0 or below + (total - high) >= target:
            found.value = pivot
            found.reached = below + (total - high)
            if n_high > 0:
                found.following = least_of(spare, n_high)
            elif not any_following:
                found.following = pivot
            return found
        else:
            below += total - high
            total = high
            count = n_high
            values, spare = spare, values
            weights, spare_weights = spare_weights, weights
    sort_few(values, weights if weighted else NULL, count)
    found.reached = below + (weights[0] if weighted else 1.0)
    while j < count - 1 and found.reached < target:
        j += 1
        found.reached += weights[j] if weighted else 1.0
    found.value = values[j]
    if j < count - 1:
        found.following = values[j + 1]
    elif not any_following:
        found.following = values[j]
    return found


cdef Found weighted_reaching(
    const double *values, const double *weights, Py_ssize_t count, double part, double *scratch,
    double *total,
) noexcept nogil:
    """Find the first value up to which the weight reaches a share; values of no weight are out.

    Scratch has room for 4 `count` numbers. Without any weight the total is 0.
    """
    cdef Py_ssize_t j, some = 0
    cdef Found nothing
    total[0] = 0.0
    for j in range(count):
        scratch[some] = values[j]
        scratch[count + some] = weights[j]
        total[0] += weights[j]
        some += weights[j] > 0.0
    if some == 0:
        nothing.value = nothing.reached = nothing.following = 0.0
        return nothing
    return first_reaching(scratch, scratch + count, some, total[0], part * total[0],
                          scratch + 2 * count, scratch + 3 * count, True)


cdef double quantile(
    const double *values, const double *weights, Py_ssize_t count, double level, double *scratch,
) noexcept nogil:
    """Quantile of some values; weights may be NULL. Scratch has room for 4 `count` numbers."""
    cdef Found found
    cdef double total = 0.0
    if weights != NULL:
        found = weighted_reaching(values, weights, count, level * (1.0 - SLACK), scratch, &total)
        if total > 0.0:
            if found.reached <= level * total * (1.0 + SLACK):
                found.following = weighted_reaching(
                    values, weights, count, level * (1.0 + SLACK), scratch, &total).value
                return 0.5 * (found.value + found.following)
            return found.value
    memcpy(scratch, values, count * sizeof(double))
    total = <double> count
    found = first_reaching(scratch, NULL, count, total, level * total * (1.0 - SLACK),
                           scratch + count, NULL, False)
    if found.reached > level * total * (1.0 + SLACK):
        return found.value
    return 0.5 * (found.value + found.following)


cdef void read_columns(
    const double[:, :] X, const int64_t *order, Py_ssize_t first, Py_ssize_t width,
    double *columns,
) noexcept nogil:
    """Copy some columns, each to numbers that lie side by side; the order may be NULL."""
    cdef Py_ssize_t j, i, k, rows = X.shape[0]
    for j in range(rows):
        i = j if order == NULL else order[j]
        for k in range(width):
            columns[k * rows + j] = X[i, first + k]


def column_quantiles(
    const double[:, :] X,         # IN (N, n), N > 0
    const double[::1] weights,    # IN (N,), or None: all ones
    const double[::1] levels,     # IN (l,)
    double[:, :] quantiles,       # OUT (l, n)
):
    """Quantiles of the columns of an array."""
    cdef Py_ssize_t first = 0, width, k, level, rows = X.shape[0]
    cdef const double *w = begin_of(weights)
    cdef double *columns = room_for((LANES + 4) * rows)  # and the scratch of a quantile
    with nogil:
        while first < X.shape[1]:
            width = min(<Py_ssize_t> LANES, X.shape[1] - first)
            read_columns(X, NULL, first, width, columns)
            for k in range(width):
                for level in range(levels.shape[0]):
                    quantiles[level, first + k] = quantile(
                        columns + k * rows, w, rows, levels[level], columns + LANES * rows)
            first += width
        free(columns)


def medians_and_deviations(
    const double[:, :] X,         # IN (N, n)
    const int64_t[::1] order,     # IN (N,) numbers of the rows class by class
    const Py_ssize_t[::1] ends,   # IN (c,) where those of each class end; each has some
    const double[::1] weights,    # IN (N,) in that order, or None: all ones
    const double[::1] levels,     # IN (l,)
    double[:, ::1] medians,       # OUT (c, n) of each class
    double[:, ::1] quantiles,     # OUT (l, n) of the absolute deviations from them, all rows
    Py_ssize_t first, Py_ssize_t stop,
):
    """Class medians, and how far the rows are from them, for a range of columns."""
    cdef Py_ssize_t width, k, i, j, begin, level, rows = X.shape[0]
    cdef const double *w = begin_of(weights)
    cdef double *columns = room_for((LANES + 4) * rows)  # and the scratch of a quantile
    cdef double *scratch = columns + LANES * rows
    cdef double *column
    cdef const double *here
    with nogil:
        while first < stop:
            width = min(<Py_ssize_t> LANES, stop - first)
            read_columns(X, &order[0], first, width, columns)
            for k in range(width):
                column = columns + k * rows
                begin = 0
                here = w
                for i in range(ends.shape[0]):
                    medians[i, first + k] = quantile(
                        column + begin, here, ends[i] - begin, 0.5, scratch)
                    for j in range(begin, ends[i]):
                        column[j] = fabs(column[j] - medians[i, first + k])
                    if w != NULL:
                        here = w + ends[i]
                    begin = ends[i]
                for level in range(levels.shape[0]):
                    quantiles[level, first + k] = quantile(
                        column, w, rows, levels[level], scratch)
            first += width
        free(columns)


# ------------------------------------------------------- rows by their class and a number
# NumPy would first write the number of each row's class to an array, or sort the rows by class.

def mark_within(
    const double[::1] distances,   # IN (N,)
    const int32_t[::1] codes,      # IN (N,)
    const double[::1] caps,        # IN (c,)
    unsigned char[::1] marks,      # OUT (N,) 1 or 0
):
    """Mark the distances that are at most the cap of their class; NaN never is."""
    cdef Py_ssize_t j
    with nogil:
        for j in range(distances.shape[0]):
            marks[j] = distances[j] <= caps[codes[j]]


def find_ranks(
    const int32_t[::1] codes,   # IN (N,)
    const int64_t[::1] ranks,   # IN (k,) of each class in turn, ascending
    const int64_t[::1] ends,    # IN (c,) where the ranks of each class end
    int64_t[::1] cursors,       # IN OUT (c,) where those begin
    int64_t[::1] counts,        # IN OUT (c,) zeros
    int64_t[::1] rows,          # OUT (k,) ascending
):
    """Find the rows that have some ranks among those of their class, counted from 0."""
    cdef Py_ssize_t j, i, found = 0
    with nogil:
        for j in range(codes.shape[0]):
            i = codes[j]
            if cursors[i] < ends[i] and counts[i] == ranks[cursors[i]]:
                rows[found] = j
                found += 1
                cursors[i] += 1
            counts[i] += 1
