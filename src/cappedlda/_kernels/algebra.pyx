"""Whole steps on the small matrices of the solvers, for which NumPy calls cost too much.

All arrays are C-ordered. Eigenvectors are the rows of a matrix. A function that needs them returns
whether they were found.
"""

from libc.math cimport exp, fabs, log, sqrt
from libc.stdint cimport uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from cappedlda._kernels.blas cimport set_product
from cappedlda._kernels.lapack cimport find_eigen, find_factor, invert_factor, solve_by_factor
from cappedlda._kernels.memory cimport room_for

cdef enum:
    MIRROR_TILE = 32

# The first of several entries that are largest up to rounding decides a sign.
cdef double AS_LARGE = 1.0 - 1e-9


def eigen(const double[:, ::1] C, double[::1] values, double[:, ::1] vectors):
    """Find the ascending eigenvalues of a symmetric C (n, n), and its eigenvectors."""
    cdef Py_ssize_t n = C.shape[0]
    if n == 0:
        return True
    memcpy(&vectors[0, 0], &C[0, 0], n * n * sizeof(double))
    return find_eigen(&vectors[0, 0], &values[0], n)


cdef Py_ssize_t first_above(const double *values, Py_ssize_t n, double cutoff) noexcept:
    """Return where the nonzero eigenvalues begin: those above a share of the largest."""
    cdef:
        double largest = values[n - 1]
        Py_ssize_t first = 0
    if largest < 0.0:
        largest = 0.0
    while first < n and not values[first] > cutoff * largest:  # nothing is above NaN
        first += 1
    return first


cdef Py_ssize_t find_range(
    const double *B, const double *Y, double *values, double *vectors,
    Py_ssize_t c, Py_ssize_t n, double cutoff,
) except -2:
    """Find eigenvalues and vectors of B Y' for B, Y (c, n), which is symmetric but for rounding.

    Returns where those begin that are not zero, or -1 if they were not found.
    """
    cdef Py_ssize_t i, j
    set_product(B, False, Y, True, vectors, c, n, c)
    for i in range(c):
        for j in range(i):
            # One triangle of a nearly symmetric matrix may have another rank.
            vectors[i * c + j] = 0.5 * (vectors[i * c + j] + vectors[j * c + i])
            vectors[j * c + i] = vectors[i * c + j]
    if not find_eigen(vectors, values, c):
        return -1
    return first_above(values, c, cutoff)


def range_of(const double[:, ::1] C, double cutoff, double[::1] values, double[:, ::1] vectors):
    """Find eigenvalues and vectors of C (n, n); return where those begin that are not zero."""
    if C.shape[0] == 0:
        return 0
    if not eigen(C, values, vectors):
        return -1
    return first_above(&values[0], C.shape[0], cutoff)


def lead(
    const double[:, ::1] Y, const double[:, ::1] B, double cutoff, double[::1] W,
):
    """Find W (n, rank) = Y' V with orthogonal columns V of B Y', largest eigenvalue first.

    They are as long as makes V' B Y' V = I. Y and B are (c, n), and W has space for n c
    numbers. Returns the rank, or -1 if no eigenvectors were found.
    """
    cdef:
        Py_ssize_t c = Y.shape[0], n = Y.shape[1], first, rank, k, i
        double *vectors = room_for(2 * c * c + c)
        double *coefficients = vectors + c * c
        double *values = coefficients + c * c
    try:
        first = find_range(&B[0, 0], &Y[0, 0], values, vectors, c, n, cutoff)
        if first < 0:
            return -1
        rank = c - first
        for k in range(rank):
            for i in range(c):
                coefficients[i * rank + k] = vectors[(c - 1 - k) * c + i] / sqrt(values[c - 1 - k])
        if rank > 0:
            set_product(&Y[0, 0], True, coefficients, False, &W[0], n, c, rank)
    finally:
        free(vectors)
    return rank


def minimise(
    const double[:, ::1] Y, const double[:, ::1] B, const double[:, ::1] K, double cutoff,
    double[:, ::1] W,
):
    """W = Y' (B Y')^+ K' for Y, B (c, n), K (r, c) and W (n, r)."""
    cdef:
        Py_ssize_t c = Y.shape[0], n = Y.shape[1], r = K.shape[0]
        Py_ssize_t first, rank, k, j
        double *vectors = room_for(c * c + c + 2 * c * r)
        double *values = vectors + c * c
        double *images = values + c
        double *coefficients = images + c * r
    try:
        first = find_range(&B[0, 0], &Y[0, 0], values, vectors, c, n, cutoff)
        if first < 0:
            return False
        rank = c - first
        set_product(vectors + first * c, False, &K[0, 0], True, images, rank, c, r)
        for k in range(rank):
            for j in range(r):
                images[k * r + j] /= values[first + k]
        set_product(vectors + first * c, True, images, False, coefficients, c, rank, r)
        set_product(&Y[0, 0], True, coefficients, False, &W[0, 0], n, c, r)
    finally:
        free(vectors)
    return True


cdef bint find_whitener(double *C, double *values, Py_ssize_t n, double cutoff) except -1:
    """Replace the rows of a symmetric C (n, n) by R with R C R' = I."""
    cdef:
        Py_ssize_t k, j
        double least, length
    if not find_eigen(C, values, n):
        return False
    if values[n - 1] <= 0.0:
        return True
    least = cutoff * values[n - 1]
    for k in range(n):
        length = sqrt(least if values[k] < least else values[k])
        for j in range(n):
            C[k * n + j] /= length
    return True


def whiten(const double[:, ::1] C, double cutoff, double[:, ::1] R):
    """Find R with R C R' = I for a symmetric C (n, n); rows of no variance stay small."""
    cdef:
        Py_ssize_t n = C.shape[0]
        double *values = room_for(n)
    try:
        if n == 0:
            return True
        memcpy(&R[0, 0], &C[0, 0], n * n * sizeof(double))
        return find_whitener(&R[0, 0], values, n, cutoff)
    finally:
        free(values)


def whiten_definite(const double[:, ::1] C, double least, double[:, ::1] T):
    """Find the upper triangle T with T'CT = I for a symmetric C (n, n) that is definite enough.

    Returns whether it is: whether its reciprocal condition number is above `least`; 0 trusts the
    caller.
    """
    cdef:
        Py_ssize_t n = C.shape[0], i, j
        double *work = room_for(4 * n)
        bint found
    try:
        if n == 0:
            return True
        memcpy(&T[0, 0], &C[0, 0], n * n * sizeof(double))
        found = find_factor(&T[0, 0], work, n, least) and invert_factor(&T[0, 0], n)
        for i in range(n):  # what LAPACK has not touched
            for j in range(i):
                T[i, j] = 0.0
        return found
    finally:
        free(work)


def solve_definite(const double[:, ::1] C, double least, double[:, ::1] rows):
    """Replace rows B (k, n) by B C^{-1} for a symmetric C (n, n) that is definite enough.

    Returns whether it is, as `whiten_definite` does; if not, B stays as it is.
    """
    cdef:
        Py_ssize_t n = C.shape[0]
        double *R = room_for(n * n + 4 * n)
        bint found
    try:
        if n == 0:
            return True
        memcpy(R, &C[0, 0], n * n * sizeof(double))
        found = find_factor(R, R + n * n, n, least)
        if found and rows.shape[0] > 0:
            solve_by_factor(R, &rows[0, 0], n, rows.shape[0])
        return found
    finally:
        free(R)


def typical_length(const double[:, ::1] R):
    """Return the geometric mean of the lengths of the rows."""
    cdef:
        Py_ssize_t i, j
        double square, logarithms = 0.0
    for i in range(R.shape[0]):
        square = 0.0
        for j in range(R.shape[1]):
            square += R[i, j] * R[i, j]
        logarithms += log(square)
    return exp(0.5 * logarithms / R.shape[0])


def order(
    const double[:, ::1] C, const double[:, ::1] images, double cutoff,
    double[:, ::1] V, double[::1] strengths,
):
    """Find V with V C V' = I, rows with the largest spread of V images (n, c) first."""
    cdef:
        Py_ssize_t n = C.shape[0], c = images.shape[1], k
        double *R = room_for(2 * n * n + n + n * c)
        double *turned = R + n * n
        double *values = turned + n * n
        double *whitened = values + n
    try:
        if n == 0:
            return True
        memcpy(R, &C[0, 0], n * n * sizeof(double))
        if not find_whitener(R, values, n, cutoff):
            return False
        set_product(R, False, &images[0, 0], False, whitened, n, n, c)
        set_product(whitened, False, whitened, True, turned, n, c, n)
        if not find_eigen(turned, values, n):
            return False
        for k in range(n):
            strengths[k] = 0.0 if values[n - 1 - k] < 0.0 else values[n - 1 - k]
        reverse_rows(turned, n)
        set_product(turned, False, R, False, &V[0, 0], n, n, n)
    finally:
        free(R)
    return True


cdef void reverse_rows(double *C, Py_ssize_t n) noexcept:
    cdef Py_ssize_t k, j
    for k in range(n // 2):
        for j in range(n):
            C[k * n + j], C[(n - 1 - k) * n + j] = C[(n - 1 - k) * n + j], C[k * n + j]


def fix_signs(double[:, ::1] W):
    """Flip columns of W (n, k) so that the entry of largest size is positive."""
    cdef:
        Py_ssize_t n = W.shape[0], k = W.shape[1], i, j
        double size
        double *largest = room_for(2 * k)
        double *signs = largest + k
    memset(largest, 0, 2 * k * sizeof(double))
    for i in range(n):
        for j in range(k):
            size = fabs(W[i, j])
            if size > largest[j] or size != size:  # nothing is larger than NaN
                largest[j] = size
    for i in range(n):
        for j in range(k):
            if signs[j] == 0.0 and (
                fabs(W[i, j]) >= AS_LARGE * largest[j] or largest[j] != largest[j]
            ):
                signs[j] = -1.0 if W[i, j] < 0.0 else 1.0
    for i in range(n):
        for j in range(k):
            W[i, j] *= signs[j]
    free(largest)


def deviations(
    const double[:, ::1] centres, const double[::1] priors, const double[::1] scale,
    double[:, ::1] B,
):
    """B = sqrt(prior_i) (m_i - m) / scale for centres m_i (c, n) and their mean m."""
    cdef:
        Py_ssize_t c = centres.shape[0], n = centres.shape[1], i, j
        double root
        double *mean = room_for(n)
    memset(mean, 0, n * sizeof(double))
    for i in range(c):
        for j in range(n):
            mean[j] += priors[i] * centres[i, j]
    for i in range(c):
        root = sqrt(priors[i])
        for j in range(n):
            B[i, j] = (centres[i, j] - mean[j]) / scale[j] * root
    free(mean)


def add_ridge(
    const double[:, ::1] scatter, double weight, double ridge, double[:, ::1] matrix,
):
    """Set the matrix to scatter / weight + ridge I, all of shape (n, n)."""
    cdef Py_ssize_t i, j
    for i in range(scatter.shape[0]):
        for j in range(scatter.shape[0]):
            matrix[i, j] = scatter[i, j] / weight
        matrix[i, i] += ridge


cdef inline double larger(double a, double b) noexcept nogil:
    """The larger of two numbers; NaN if one is."""
    return a if a >= b or a != a else b


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


def means_of(const double[:, ::1] sums, const double[:, ::1] kept, double[:, ::1] means):
    """Means of sums (c, n) over the weights in the last column of kept (c, 2); 0 of nothing."""
    cdef Py_ssize_t i, j
    for i in range(sums.shape[0]):
        for j in range(sums.shape[1]):
            means[i, j] = mean(sums[i, j], kept[i, 1])


cdef inline double mean(double sum, double weight) noexcept nogil:
    return sum / weight if weight > 0.0 else 0.0


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


def covariance(
    const double[:, ::1] scatter, const double[:, ::1] sums, const double[:, ::1] kept,
    double freedom, double[:, ::1] C,
):
    """C = scatter (d, d) about the means of the classes, from sums (c, d), over the freedom."""
    cdef:
        Py_ssize_t c = sums.shape[0], d = sums.shape[1], i, j
        double *means = room_for(c * d)
    for i in range(c):
        for j in range(d):
            means[i * d + j] = mean(sums[i, j], kept[i, 1])
    set_product(means, True, &sums[0, 0], False, &C[0, 0], d, c, d)
    for i in range(d):
        for j in range(d):
            C[i, j] = (scatter[i, j] - C[i, j]) / freedom
    free(means)


def centre(
    const double[::1] totals,    # IN (c,)
    const double[:, ::1] sums,   # IN (c, n)
    const double[:, ::1] upper,  # IN (n, n) sum of squares, upper triangle
    const double[::1] unit,      # IN (n,) of the features, or None
    double[:, ::1] means,        # OUT (c, n)
    double[:, ::1] scatter,      # OUT (n, n), in these units
):
    """Turn the sums of rows into means of classes, and those of their squares into the scatter."""
    cdef:
        Py_ssize_t c = sums.shape[0], n = sums.shape[1], i, k
        bint in_units = unit is not None
    with nogil:
        for i in range(c):
            for k in range(n):
                means[i, k] = mean(sums[i, k], totals[i])
        if n > 0:
            set_product(&sums[0, 0], True, &means[0, 0], False, &scatter[0, 0], n, c, n)
        for i in range(n):
            for k in range(i, n):
                scatter[i, k] = upper[i, k] - scatter[i, k]
            if in_units:
                for k in range(i, n):
                    scatter[i, k] /= unit[i] * unit[k]
        mirror_below(scatter)


def mirror(
    const double[:, :] upper,  # IN (n, n), upper triangle; rows are contiguous
    double[:, ::1] full,       # OUT (n, n), may be the same memory
):
    """Copy the upper triangle of a matrix to both triangles of another."""
    cdef Py_ssize_t n = full.shape[0], i
    with nogil:
        if n > 0 and &upper[0, 0] != &full[0, 0]:
            for i in range(n):
                memcpy(&full[i, i], &upper[i, i], (n - i) * sizeof(double))
        mirror_below(full)


cdef void mirror_below(double[:, ::1] full) noexcept nogil:
    """Copy the upper triangle of a matrix to the lower, tile by tile."""
    cdef Py_ssize_t n = full.shape[0], i, k, first = 0, second
    while first < n:
        second = first
        while second < n:
            for k in range(second, min(second + MIRROR_TILE, n)):
                for i in range(first, min(first + MIRROR_TILE, k)):
                    full[k, i] = full[i, k]
            second += MIRROR_TILE
        first += MIRROR_TILE
