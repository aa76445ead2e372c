"""Cells of a row that do not fit its other cells, and distances without them.

A row is taken in conditional deviations, z = (x - centre) root with root_j^2 = P_jj, where P is the
inverse covariance within the classes. Then R = P / (root root') has a unit diagonal, and (R h)_j,
with h = z - m_k, is how far cell j of the row is from what all its other cells predict in class
k. Dropping cell j lowers the squared distance h'R h by the square of it. Without the cells b the
matrix is R - Q Q', where the columns of Q are those of a Cholesky decomposition with the pivots b.
Nothing is checked here.
"""

from cython cimport floating
from libc.math cimport fabs, isnan, sqrt
from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

from cappedlda._kernels.blas cimport add_product
from cappedlda._kernels.memory cimport begin_of, room_for
from cappedlda._kernels.vectors cimport dot, subtract

cdef extern from "screen.h":
    float scale_f64(
        const double *, const double *, const double *, Py_ssize_t, float *) noexcept nogil
    float scale_f32(
        const float *, const double *, const double *, Py_ssize_t, float *) noexcept nogil
    int any_outside(
        const float *, const float *, const float *, float, Py_ssize_t) noexcept nogil

cdef enum:
    BLOCK_ROWS = 256  # of few features these and their product stay in cache

# Most wrong cells of a row: the time grows with the square of their number.
cdef Py_ssize_t MOST = 32

# Cells beyond those that may be wrong after which no more are tried: right ones that look wrong.
cdef Py_ssize_t MORE = 3

# A smaller variance of a cell given the others, relative to that given all, is rounding.
cdef double LEAST_REST = 1e-9


def weight_of_hit(
    const floating[:, ::1] X,          # IN (N, n)
    const int32_t[::1] codes,          # IN (N,)
    const double[::1] sample_weight,   # IN (N,), or None: all ones
    const double[:, ::1] centres,      # IN (c, n)
    const double[::1] limits,          # IN (n,)
    Py_ssize_t most,
):
    """Weight of the rows of which some cells, at most so many, are farther off than a limit."""
    cdef Py_ssize_t j, k, n = X.shape[1], far
    cdef const double *weights = begin_of(sample_weight)
    cdef const double *centre
    cdef double total = 0.0
    with nogil:
        for j in range(X.shape[0]):
            centre = &centres[codes[j], 0]
            far = 0
            for k in range(n):
                far += fabs(X[j, k] - centre[k]) > limits[k]
            if 0 < far <= most:
                total += 1.0 if weights == NULL else weights[j]
    return total


def may_drop(
    const floating[:, ::1] X,         # IN (N, n)
    const double[::1] centre,         # IN (n,)
    const double[::1] root,           # IN (n,)
    const float[:, ::1] products,     # IN (n, n + c) R, and the coefficients of the scores
    const float[:, ::1] low,          # IN (c + 1, n) R m_k - cut, and the largest of these
    const float[:, ::1] high,         # IN (c + 1, n) R m_k + cut, and the least of these
    const float[::1] intercepts,      # IN (c,) of the scores
    float reach,                      # score below the best one with which a class counts
    float rounding,                   # of products with R, over the length of a row
    float score_rounding,             # of scores, over the length of a row
    uint8_t[::1] found,               # OUT (N,)
):
    """Rows that may have a cell beyond the cut for a class within reach, in single precision.

    No such row is missed, since rounding counts against a row. Rows with a number that is not
    finite are found too.
    """
    cdef:
        Py_ssize_t N = X.shape[0], n = X.shape[1], c = intercepts.shape[0], first = 0, rows, i
        Py_ssize_t width = n + c
        float *Z = <float *> malloc(BLOCK_ROWS * (n + width + 1) * sizeof(float))
        float *U = Z + BLOCK_ROWS * n
        float *squares = U + BLOCK_ROWS * width
        float *z
        float length
    if Z == NULL:
        raise MemoryError("no memory for a block of rows")
    with nogil:
        while first < N:
            rows = min(<Py_ssize_t> BLOCK_ROWS, N - first)
            for i in range(rows):
                z = Z + i * n
                if floating is double:
                    squares[i] = scale_f64(&X[first + i, 0], &centre[0], &root[0], n, z)
                else:
                    squares[i] = scale_f32(&X[first + i, 0], &centre[0], &root[0], n, z)
            memset(U, 0, rows * width * sizeof(float))
            add_product(Z, &products[0, 0], U, rows, n, width)
            for i in range(rows):
                if not squares[i] < 1e30:  # infinite, NaN, or without a meaning in this precision
                    found[first + i] = True
                    continue
                length = <float> sqrt(squares[i])
                found[first + i] = beyond(
                    U + i * width, &low[0, 0], &high[0, 0], &intercepts[0], n, c,
                    rounding * length, reach + 2 * score_rounding * length)
            first += rows
    free(Z)


cdef inline bint beyond(
    const float *u, const float *low, const float *high, const float *intercepts,
    Py_ssize_t n, Py_ssize_t c, float blur, float reach,
) noexcept nogil:
    """Whether a residual of a row may be beyond its cut, for any class within reach."""
    cdef Py_ssize_t k
    cdef float best = u[n] + intercepts[0]
    if not any_outside(u, low + c * n, high + c * n, blur, n):  # for no class at all
        return False
    for k in range(1, c):
        best = max(best, u[n + k] + intercepts[k])
    for k in range(c):
        if u[n + k] + intercepts[k] < best - reach:
            continue
        if any_outside(u, low + k * n, high + k * n, blur, n):
            return True
    return False


cdef struct Row:
    # What is known of a row, and of its cells that were dropped, in the order of `cells`.
    Py_ssize_t n
    const double *R
    double *z          # (n,) the row; 0 for cells that are not used
    double *image      # (n,) R z
    double *h          # (n,) z - m_k
    double *u          # (n,) what is left of R h
    double *rest       # (n,) what is left of the diagonal of R
    double *v          # (n,) Q'h
    double *e          # (n,) deviations of dropped cells from what the others predict
    double *w          # (n,) a row of the inverse of L; see `spread_of`
    double *columns    # (n, n) Q'
    Py_ssize_t *cells  # (n,)
    Py_ssize_t length  # of `columns` and `cells` that are made


cdef double *begin(Row *row, const double[:, ::1] R) except NULL:
    """Set up the memory of a row; it is to be given back by `free`."""
    cdef Py_ssize_t n = R.shape[0]
    cdef double *room = room_for(n * (n + 9))
    row.n, row.R, row.length = n, &R[0, 0], 0
    row.z, row.image, row.h, row.u = room, room + n, room + 2 * n, room + 3 * n
    row.rest, row.v, row.e, row.w = room + 4 * n, room + 5 * n, room + 6 * n, room + 7 * n
    row.columns = room + 8 * n
    row.cells = <Py_ssize_t *> (room + n * (n + 8))
    return room


cdef inline void set_image(Row *row) noexcept nogil:
    """The product R z, of which cells at 0 are no part."""
    cdef Py_ssize_t j, n = row.n
    memset(row.image, 0, n * sizeof(double))
    for j in range(n):
        if row.z[j] != 0.0:
            add(row.image, row.z[j], row.R + j * n, n)


cdef inline void add(double *a, double factor, const double *b, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        a[i] += factor * b[i]


cdef inline double *column(Row *row, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """Column i of Q, with cell j as its pivot; it is made unless it is there already.

    It is zero if the cells before it leave nothing of the cell but rounding.
    """
    cdef double *q = row.columns + i * row.n
    cdef double *p
    cdef Py_ssize_t k, m
    cdef double unit
    if i < row.length and row.cells[i] == j:
        return q
    memcpy(q, row.R + j * row.n, row.n * sizeof(double))
    for k in range(i):
        p = row.columns + k * row.n
        add(q, -p[j], p, row.n)
    for k in range(i):
        q[row.cells[k]] = 0.0
    unit = 1.0 / sqrt(q[j]) if q[j] > LEAST_REST else 0.0
    for m in range(row.n):
        q[m] *= unit
    row.cells[i] = j
    row.length = i + 1
    return q


def drop_cells(
    const double[:, ::1] X,           # IN (N, n)
    const double[::1] centre,         # IN (n,)
    const double[::1] root,           # IN (n,)
    const double[:, ::1] R,           # IN (n, n)
    const double[:, ::1] means,       # IN (c, n) m_k
    const double[:, ::1] images,      # IN (c, n) R m_k
    const double[:, ::1] coef,        # IN (c, n) of the scores, for z
    const double[::1] intercepts,     # IN (c,)
    const double[::1] cuts,           # IN (n,) conditional deviations; perhaps infinite
    double far,                       # deviations from the centre beyond which nothing is measured
    double reach,                     # score below the best one with which a class counts
    uint8_t[:, :, ::1] dropped,       # OUT (N, c, n) 1: wrong, 2: missing
    uint8_t[::1] capped,              # OUT (N,) whether a class within reach drops a cell
):
    """Drop cells for each class, what helps most first, until no residual is beyond its cut.

    At most half of the present cells that have an influence are dropped, but at least one, and at
    most MOST. Missing cells, and those too far off to be measured, are dropped before.
    """
    cdef:
        Py_ssize_t N = X.shape[0], n = X.shape[1], c = means.shape[0], i, j, k, aside
        Py_ssize_t there, wrong, count
        Row row
        double *room = begin(&row, R)
        double *scores = room_for(c)
        double best
        uint8_t *marks
    with nogil:
        for i in range(N):
            marks = &dropped[i, 0, 0]
            aside, there, wrong, row.length = 0, 0, 0, 0
            for j in range(n):
                row.z[j] = (X[i, j] - centre[j]) * root[j]
                marks[j] = 0
                if isnan(X[i, j]):
                    marks[j] = 2
                elif not fabs(row.z[j]) <= far:
                    marks[j] = 1
                if R[j, j] > 0.0:
                    there += marks[j] != 2
                    wrong += marks[j] == 1
                if marks[j]:
                    row.z[j] = 0.0
                    column(&row, aside, j)
                    aside += 1
            for k in range(1, c):
                memcpy(marks + k * n, marks, n)
            set_image(&row)
            for k in range(c):
                scores[k] = intercepts[k] + dot(&coef[k, 0], row.z, n)
                best = scores[k] if k == 0 else max(best, scores[k])
            capped[i] = aside > 0
            for k in range(c):
                if capped[i]:
                    break
                if not scores[k] < best - reach:
                    capped[i] = any_beyond(row.image, &images[k, 0], &cuts[0], n)
            if not capped[i]:
                continue
            count = min(max(<Py_ssize_t> 1, there // 2), MOST)
            count = max(count - wrong, <Py_ssize_t> 0)
            capped[i] = aside > 0
            for k in range(c):
                if drop_for_class(
                    &row, marks + k * n, &means[k, 0], &images[k, 0], aside, count, &cuts[0]
                ) and not scores[k] < best - reach:
                    capped[i] = True
    free(room)
    free(scores)


cdef inline bint any_beyond(
    const double *image, const double *mean, const double *cuts, Py_ssize_t n,
) noexcept nogil:
    """Whether the residual of a cell is beyond its cut."""
    cdef Py_ssize_t j
    for j in range(n):
        if fabs(image[j] - mean[j]) > cuts[j]:
            return True
    return False


cdef bint drop_for_class(
    Row *row, uint8_t *marks, const double *mean, const double *image,
    Py_ssize_t aside, Py_ssize_t most, const double *cuts,
) noexcept nogil:
    """Mark the cells that a row drops for a class besides those set aside; whether there are.

    Cells that look wrong only because of other wrong cells come back once these are gone. If too
    many would be dropped, the row is not a good one with a few wrong cells: only the first ones
    are.
    """
    cdef Py_ssize_t length, limit = aside + most + MORE, i, rounds = 0
    subtract(row.z, mean, row.n, row.h)
    restart(row, image, aside)
    length = drop_more(row, marks, aside, limit, cuts)
    while length < limit and rounds < row.n and take_back(row, marks, aside, length, cuts):
        length = drop_more(row, marks, length - 1, limit, cuts)
        rounds += 1
    for i in range(aside + most, length):
        marks[row.cells[i]] = 0
    return length > aside


cdef inline void restart(Row *row, const double *image, Py_ssize_t length) noexcept nogil:
    """Set the residuals without the first cells that were dropped."""
    cdef Py_ssize_t i
    subtract(row.image, image, row.n, row.u)
    for i in range(row.n):
        row.rest[i] = row.R[i * row.n + i]
    for i in range(length):
        take(row, i, row.cells[i])


cdef inline Py_ssize_t drop_more(
    Row *row, uint8_t *marks, Py_ssize_t length, Py_ssize_t most, const double *cuts,
) noexcept nogil:
    """Drop the cell that lowers the capped distance most, again and again; how many there are."""
    cdef Py_ssize_t j, farthest
    cdef double largest, gain
    while length < most:
        largest, farthest = 0.0, -1
        for j in range(row.n):
            if not marks[j] and row.rest[j] > LEAST_REST:
                gain = row.u[j] * row.u[j] / row.rest[j] - cuts[j] * cuts[j]
                if gain > largest:
                    largest, farthest = gain, j
        if farthest < 0:
            break
        take(row, length, farthest)
        marks[farthest] = 1
        length += 1
    return length


cdef bint take_back(
    Row *row, uint8_t *marks, Py_ssize_t aside, Py_ssize_t length, const double *cuts,
) noexcept nogil:
    """Take back the cell that fits best those that were not dropped, if it is within its cut."""
    cdef Py_ssize_t i, j, nearest = -1
    cdef double gain, largest = 0.0, deviation
    expect_dropped(row, aside, length, row.z, row.e)
    for i in range(aside, length):
        j = row.cells[i]
        deviation = row.e[j] / spread_of(row, length, i)
        gain = cuts[j] * cuts[j] - deviation * deviation
        if gain > largest:
            largest, nearest = gain, i
    # The last one has been beyond its cut when it was dropped; rounding must not say otherwise.
    if nearest < 0 or nearest == length - 1:
        return False
    marks[row.cells[nearest]] = 0
    give_back(row, nearest, length)
    return True


cdef inline void give_back(Row *row, Py_ssize_t first, Py_ssize_t length) noexcept nogil:
    """Give a cell back to the residuals: the inverse of `take`, for any of the dropped cells.

    Rotations of neighbouring columns of Q make it triangular again without the cell. What they
    leave in the last column is its part.
    """
    cdef Py_ssize_t i, m, n = row.n
    cdef double *p
    cdef double *q
    cdef double r, cosine, sine, x
    for i in range(first, length - 1):
        row.cells[i] = row.cells[i + 1]
        p, q = row.columns + i * n, row.columns + (i + 1) * n
        r = sqrt(p[row.cells[i]] * p[row.cells[i]] + q[row.cells[i]] * q[row.cells[i]])
        cosine = p[row.cells[i]] / r if r > 0.0 else 1.0
        sine = q[row.cells[i]] / r if r > 0.0 else 0.0
        for m in range(n):
            x = p[m]
            p[m] = cosine * x + sine * q[m]
            q[m] = cosine * q[m] - sine * x
        x = row.v[i]
        row.v[i] = cosine * x + sine * row.v[i + 1]
        row.v[i + 1] = cosine * row.v[i + 1] - sine * x
    q = row.columns + (length - 1) * n
    for m in range(n):
        row.u[m] += row.v[length - 1] * q[m]
        row.rest[m] += q[m] * q[m]
    row.length = length - 1


cdef inline void take(Row *row, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """Take cell j, the i-th one, out of the residuals."""
    cdef Py_ssize_t m
    cdef double *q = column(row, i, j)
    row.v[i] = dot(q, row.h, row.n)
    for m in range(row.n):
        row.u[m] -= row.v[i] * q[m]
        row.rest[m] -= q[m] * q[m]


cdef Py_ssize_t set_row(
    Row *row, const double *x, const double[::1] centre, const double[::1] root,
    const uint8_t *marks,
) noexcept nogil:
    """Set z, R z and Q for a row without the cells that are marked; how many these are.

    The order is that of the cells, so the result does not depend on how they were found.
    """
    cdef Py_ssize_t j, length = 0
    for j in range(row.n):
        row.z[j] = 0.0 if marks[j] else (x[j] - centre[j]) * root[j]
        if marks[j]:
            column(row, length, j)
            length += 1
    set_image(row)
    return length


cdef inline double set_class(
    Row *row, Py_ssize_t length, const double *mean, const double *image,
) noexcept nogil:
    """Set h and v for a class; its squared distance without the cells that were dropped.

    The matrix R - Q Q' does not see these cells, so any h will do there.
    """
    cdef Py_ssize_t i, n = row.n
    cdef double square = 0.0
    subtract(row.z, mean, n, row.h)
    for i in range(n):
        square += row.h[i] * (row.image[i] - image[i])
    for i in range(length):
        row.v[i] = dot(row.columns + i * n, row.h, n)
        square -= row.v[i] * row.v[i]
    return 0.0 if length == n else max(square, 0.0)


cdef inline void expect_dropped(
    Row *row, Py_ssize_t first, Py_ssize_t length, const double *mean, double *expected,
) noexcept nogil:
    """What the others predict in class k for dropped cells from the first on, less z there.

    With L, the rows of Q for these cells, it is -w with L'w = v. If only rounding is left of a
    cell, the others say nothing about it, and it is the mean.
    """
    cdef Py_ssize_t i, k, n = row.n
    cdef double w, pivot
    for i in range(length - 1, first - 1, -1):
        pivot = row.columns[i * n + row.cells[i]]
        if pivot > 0.0:
            w = row.v[i]
            for k in range(i + 1, length):
                w += row.columns[i * n + row.cells[k]] * expected[row.cells[k]]
            expected[row.cells[i]] = -w / pivot
        else:
            expected[row.cells[i]] = mean[row.cells[i]]


def distances_without(
    const double[:, ::1] X,           # IN (N, n)
    const double[::1] centre,         # IN (n,)
    const double[::1] root,           # IN (n,)
    const double[:, ::1] R,           # IN (n, n)
    const double[:, ::1] means,       # IN (c, n) m_k
    const double[:, ::1] images,      # IN (c, n) R m_k
    const uint8_t[:, :, ::1] dropped,  # IN (N, c, n) 1: wrong, 2: missing
    const double[::1] prices,         # IN (n,) of wrong cells
    double[:, ::1] distances,         # OUT (N, c)
):
    """Squared distances from the classes without the cells that each drops, and their price."""
    cdef:
        Py_ssize_t N = X.shape[0], n = X.shape[1], c = means.shape[0], i, j, k, length
        Row row
        double *room = begin(&row, R)
        double price
        const uint8_t *marks
    with nogil:
        for i in range(N):
            for k in range(c):
                marks = &dropped[i, k, 0]
                if k == 0:
                    row.length = 0
                if k == 0 or memcmp(marks, marks - n, n):
                    length, price = set_row(&row, &X[i, 0], centre, root, marks), 0.0
                    for j in range(n):
                        if marks[j] == 1:
                            price += prices[j]
                distances[i, k] = set_class(&row, length, &means[k, 0], &images[k, 0]) + price
    free(room)


def complete(
    const double[:, ::1] X,           # IN (N, n)
    const double[::1] centre,         # IN (n,)
    const double[::1] root,           # IN (n,)
    const double[:, ::1] R,           # IN (n, n)
    const double[:, ::1] means,       # IN (c, n) m_k
    const double[:, ::1] images,      # IN (c, n) R m_k
    const uint8_t[:, :, ::1] dropped,  # IN (N, c, n)
    const double[:, ::1] weights,     # IN (N, c) of the classes; rows add up to 1
    double[:, ::1] completed,         # OUT (N, n)
):
    """Rows in which cells that were dropped are what the others predict, over the classes."""
    cdef:
        Py_ssize_t N = X.shape[0], n = X.shape[1], c = means.shape[0], i, j, k, length
        Row row
        double *room = begin(&row, R)
        const uint8_t *marks
        double value
    with nogil:
        for i in range(N):
            row.length = 0
            for j in range(n):
                completed[i, j] = 0.0
            for k in range(c):
                if weights[i, k] == 0.0:
                    continue
                marks = &dropped[i, k, 0]
                length = set_row(&row, &X[i, 0], centre, root, marks)
                set_class(&row, length, &means[k, 0], &images[k, 0])
                expect_dropped(&row, 0, length, &means[k, 0], row.z)
                for j in range(n):
                    value = centre[j] + row.z[j] / root[j] if marks[j] else X[i, j]
                    completed[i, j] += weights[i, k] * value
    free(room)


def expect(
    const double[:, ::1] X,           # IN (N, n)
    const double[::1] centre,         # IN (n,)
    const double[::1] root,           # IN (n,)
    const double[:, ::1] R,           # IN (n, n)
    const double[:, ::1] means,       # IN (c, n) m_k
    const double[:, ::1] images,      # IN (c, n) R m_k
    const uint8_t[:, :, ::1] dropped,  # IN (N, c, n)
    const int32_t[::1] codes,         # IN (N,) classes
    double[:, ::1] expected,          # OUT (N, n)
    double[:, ::1] deviations,        # OUT (N, n) of X from it; NaN where X is
):
    """What the other cells of a row that its class does not drop predict for each cell."""
    cdef:
        Py_ssize_t N = X.shape[0], n = X.shape[1], i, j, k, p, length
        Row row
        double *room = begin(&row, R)
        const uint8_t *marks
        double spread
    with nogil:
        for i in range(N):
            k = codes[i]
            marks = &dropped[i, k, 0]
            row.length = 0
            length = set_row(&row, &X[i, 0], centre, root, marks)
            set_class(&row, length, &means[k, 0], &images[k, 0])
            restart(&row, &images[k, 0], length)
            expect_dropped(&row, 0, length, &means[k, 0], row.z)
            for j in range(n):
                if marks[j]:
                    continue
                if row.rest[j] > LEAST_REST:
                    row.z[j] -= row.u[j] / row.rest[j]
                    deviations[i, j] = row.u[j] / sqrt(row.rest[j])
                else:
                    row.z[j] = means[k, j]
                    deviations[i, j] = 0.0
            for p in range(length):
                j = row.cells[p]
                spread = spread_of(&row, length, p)
                deviations[i, j] = ((X[i, j] - centre[j]) * root[j] - row.z[j]) / spread
            for j in range(n):
                expected[i, j] = centre[j] + row.z[j] / root[j]
    free(room)


cdef inline double spread_of(Row *row, Py_ssize_t length, Py_ssize_t p) noexcept nogil:
    """Deviation of a cell that was dropped, given those that were not: |w| with L w = e_p."""
    cdef Py_ssize_t i, m, n = row.n
    cdef double square = 0.0, pivot
    cdef double *w = row.w
    for i in range(p, length):
        pivot = row.columns[i * n + row.cells[i]]
        w[i] = 1.0 if i == p else 0.0
        for m in range(p, i):
            w[i] -= row.columns[m * n + row.cells[i]] * w[m]
        w[i] = w[i] / pivot if pivot > 0.0 else w[i]
        square += w[i] * w[i]
    return sqrt(square)
