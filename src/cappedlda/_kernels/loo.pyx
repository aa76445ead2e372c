"""How rows are classified, each left out of its own fit: distances, hits and losses.

One loop over the rows for each, in blocks that stay in cache. Nothing is checked here.
"""

from libc.float cimport DBL_MAX
from libc.math cimport exp, log
from libc.stdint cimport int32_t
from libc.stdlib cimport free

from cappedlda._kernels.blas cimport multiply_by_triangle, set_product
from cappedlda._kernels.memory cimport room_for
from cappedlda._kernels.vectors cimport dot, subtract

# Rows per call of BLAS, which packs a whole triangle for each block: with many features, that pays
# only for many rows.
cdef enum:
    BLOCK_BYTES = 1 << 18
    LEAST_BLOCK_ROWS = 512

# The exponential of smaller numbers is negligible compared with 1.
cdef double NOTHING = -45.0
# The logarithm of 1 and less is that itself.
cdef double SMALL = 1e-9


def left_out_distances(
    const double[:, ::1] X,            # IN (N, n) deviations from the centres of the classes
    const int32_t[::1] codes,          # IN (N,)
    const double[:, ::1] moves,        # IN (c, n) from the centres to the means
    const double[:, ::1] T,            # IN (n, n) upper triangle: T T' is the inverse covariance
    const double[:, ::1] directions,   # IN (n, c) T T' m_k
    const double[:, ::1] between,      # IN (c, c) squared distances of the means from each other,
    bint by_row,                       # or (N, c) of the mean of the own class from all
    const double[::1] left_out,        # IN (N,) weight by which a row is left out
    const double[::1] weights,         # IN (c,) of the classes
    double freedom,
    double least_rest,
    double[:, ::1] distances,          # OUT (N, c) squared
    Py_ssize_t first, Py_ssize_t stop,
):
    """Squared distances of rows from all classes, each row left out of its own fit.

    With h = x - m_i and t_k = h' T T' (m_k - m_i) the distance from class k is
    |h|^2 - 2 t_k + |m_k - m_i|^2, where lengths are those of T' h.
    """
    cdef:
        Py_ssize_t n = X.shape[1], c = weights.shape[0], rows, j, i
        Py_ssize_t room = max(<Py_ssize_t> LEAST_BLOCK_ROWS, BLOCK_BYTES // (8 * n))
        double *block = room_for(min(room, stop - first) * n)
        double square, nu, u
        double *row
    with nogil:
        while first < stop:
            rows = min(room, stop - first)
            for j in range(rows):
                subtract(&X[first + j, 0], &moves[codes[first + j], 0], n, block + j * n)
            set_product(block, False, &directions[0, 0], False, &distances[first, 0], rows, n, c)
            multiply_by_triangle(block, &T[0, 0], rows, n)
            for j in range(first, first + rows):
                i = codes[j]
                u = left_out[j]
                nu = weights[i] / max(weights[i] - u, least_rest * weights[i])
                row = block + (j - first) * n
                square = dot(row, row, n)
                to_distances(
                    &distances[j, 0], &between[j if by_row else i, 0], c, i,
                    square, nu, u * nu / freedom, least_rest)
            first += rows
        free(block)


cdef inline void to_distances(
    double *row, const double *between, Py_ssize_t c, Py_ssize_t i,
    double square, double nu, double share, double least_rest,
) noexcept nogil:
    """Turn the products h' T T' m_k of a row of class i into its squared distances.

    Without the row the covariance has a share of h h' less, and its class another mean.
    """
    cdef Py_ssize_t k
    cdef double own = row[i], t, factor = share / max(1.0 - share * square, least_rest)
    if share > 0.0:
        for k in range(c):
            t = row[k] - own
            row[k] = square - 2.0 * t + between[k] + factor * ((square - t) * (square - t))
        row[i] = nu * nu * square * (1.0 + factor * square)
    else:
        for k in range(c):
            row[k] = square - 2.0 * (row[k] - own) + between[k]


def hits(
    const double[:, ::1] distances,   # IN (N, c) squared
    const int32_t[::1] codes,         # IN (N,)
    const double[::1] weights,        # IN (N,)
    const double[::1] log_priors,     # IN (c,)
):
    """Weight of the rows that are classified correctly; of equal scores the first class wins."""
    cdef Py_ssize_t j, k, i, N = distances.shape[0], c = distances.shape[1]
    cdef const double *row
    cdef double own, total = 0.0
    cdef bint hit
    with nogil:
        for j in range(N):
            i = codes[j]
            row = &distances[j, 0]
            own = log_priors[i] - 0.5 * row[i]
            hit = True
            for k in range(i):
                hit &= own > log_priors[k] - 0.5 * row[k]
            for k in range(i, c):
                hit &= own >= log_priors[k] - 0.5 * row[k]
            if hit:
                total += weights[j]
    return total


def log_loss(
    const double[:, ::1] distances,   # IN (N, c) squared
    const int32_t[::1] codes,         # IN (N,)
    const double[::1] weights,        # IN (N,)
    const double[::1] log_priors,     # IN (c,)
    double sharpness,                 # factor of the distances
):
    """Log-loss of the rows: its sum, and how fast this grows with the sharpness."""
    cdef Py_ssize_t j, N = distances.shape[0], c = distances.shape[1]
    cdef double total = 0.0, slope = 0.0, steps
    cdef double *scores = room_for(c)
    with nogil:
        for j in range(N):
            if weights[j] > 0.0:
                total += weights[j] * surprise(
                    &distances[j, 0], &log_priors[0], 0.5 * sharpness, c, codes[j], scores, &steps)
                slope += weights[j] * 0.5 * steps
        free(scores)
    return total, slope


cdef inline double surprise(
    const double *row, const double *log_priors, double half, Py_ssize_t c, Py_ssize_t i,
    double *scores, double *steps,
) noexcept nogil:
    """Minus the log-probability of class i by squared distances, and twice its derivative.

    There is room for c scores.
    """
    cdef Py_ssize_t k
    cdef double own = half * row[i] - log_priors[i], best = 0.0, odds = 0.0, likely
    for k in range(c):
        scores[k] = own - half * row[k] + log_priors[k]
        best = max(best, scores[k])
    scores[i] = -DBL_MAX
    steps[0] = 0.0
    for k in range(c):
        if not scores[k] - best < NOTHING:
            likely = exp(scores[k] - best)
            odds += likely
            steps[0] += likely * (row[i] - row[k])
    if odds < SMALL and best == 0.0:  # log(1 + odds), which would lose most digits, and a division
        return odds
    odds += exp(-best) if best > 0.0 else 1.0
    steps[0] /= odds
    return best + log(odds)


def fit_label_rate(
    const double[:, ::1] distances,   # IN (N, c) squared
    const int32_t[::1] codes,         # IN (N,)
    const double[::1] weights,        # IN (N,)
    const double[::1] log_priors,     # IN (c,)
    double sharpness,                 # factor of the distances
    double rate,                      # of wrong labels, to begin with
    double least, double most,        # between which it stays
    double others,                    # classes of which one may be the right one
    int steps,
    double[::1] own,                  # OUT (N,) probability of the own class; of rows of no weight
):                                    # nothing is written
    """Rate of wrong labels after some steps of EM.

    Returns it, the log-likelihood of the labels with it, and that without wrong labels.
    """
    cdef Py_ssize_t j, N = distances.shape[0], c = distances.shape[1]
    cdef double total = 0.0, likelihood = 0.0, none = 0.0, loss, wrong, other, ignored
    cdef double *scores = room_for(c)
    cdef int _step
    with nogil:
        for j in range(N):
            if weights[j] > 0.0:
                loss = surprise(
                    &distances[j, 0], &log_priors[0], 0.5 * sharpness, c, codes[j], scores,
                    &ignored)
                own[j] = exp(-loss)
                none -= weights[j] * loss
                total += weights[j]
        for _step in range(steps):
            other = rate / others
            wrong = 0.0
            for j in range(N):
                if weights[j] > 0.0:
                    wrong += weights[j] * (other * (1.0 - own[j])) / (
                        (1.0 - rate) * own[j] + other * (1.0 - own[j]))
            rate = min(max(wrong / total, least), most)
        other = rate / others
        for j in range(N):
            if weights[j] > 0.0:
                likelihood += weights[j] * log((1.0 - rate) * own[j] + other * (1.0 - own[j]))
        free(scores)
    return rate, likelihood, none
