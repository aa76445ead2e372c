"""How rows are classified, each left out of its own fit: distances, hits and losses.

One loop over the rows for each, without arrays in between. Nothing is checked here.
"""

from libc.math cimport exp, log
from libc.stdint cimport int32_t, uint8_t

# What exp makes of smaller numbers is nothing beside 1.
cdef double NOTHING = -45.0


def left_out_distances(
    const double[::1] squares,       # IN (N,) squared distances from the own class, of h
    const double[:, ::1] products,   # IN (N, c) of the rows with the directions of the classes,
    const double[:, ::1] moved,      # IN (c, c) of which these belong to the means,
    const double[:, ::1] between,    # IN (c, c) squared distances of the means
    const int32_t[::1] codes,        # IN (N,)
    const double[::1] left_out,      # IN (N,) weight by which a row is left out
    const double[::1] weights,       # IN (c,) of the classes
    double freedom,
    double least_rest,
    double[:, ::1] distances,        # OUT (N, c) squared
):
    """Squared distances of rows from all classes, each row left out of its own fit.

    With t_k = h (m_k - m_i) the distance from class k is |h|^2 - 2 t_k + |m_k - m_i|^2.
    """
    cdef Py_ssize_t j, k, i, N = products.shape[0], c = products.shape[1]
    cdef double square, own, t, u, nu, factor
    with nogil:
        for j in range(N):
            i = codes[j]
            square = squares[j]
            own = products[j, i] - moved[i, i]
            u = left_out[j]
            nu = weights[i] / max(weights[i] - u, least_rest * weights[i])
            factor = u * nu / freedom
            factor /= max(1.0 - factor * square, least_rest)
            for k in range(c):
                t = products[j, k] - moved[i, k] - own
                distances[j, k] = square - 2.0 * t + between[i, k]
                if u > 0.0:
                    distances[j, k] += factor * (square - t) * (square - t)
            if u > 0.0:
                distances[j, i] = nu * nu * square * (1.0 + factor * square)


def mark_hits(
    const double[:, ::1] distances,   # IN (N, c) squared
    const int32_t[::1] codes,         # IN (N,)
    const double[::1] log_priors,     # IN (c,)
    uint8_t[::1] hits,                # OUT (N,)
):
    """Mark the rows that are classified correctly; of equal scores the first class wins."""
    cdef Py_ssize_t j, k, i, N = distances.shape[0], c = distances.shape[1]
    cdef double own, score
    cdef bint hit
    with nogil:
        for j in range(N):
            i = codes[j]
            own = log_priors[i] - 0.5 * distances[j, i]
            hit = True
            for k in range(c):
                score = log_priors[k] - 0.5 * distances[j, k]
                hit = hit & ((own > score) | ((own == score) & (i <= k)))
            hits[j] = hit


def log_loss(
    const double[:, ::1] distances,   # IN (N, c) squared
    const int32_t[::1] codes,         # IN (N,)
    const double[::1] weights,        # IN (N,), 0: the row does not count
    const double[::1] log_priors,     # IN (c,)
    double sharpness,                 # factor of the distances
    double[::1] losses,               # OUT (N,) of each row, 0 if it does not count
):
    """Sum of the log-losses of the rows."""
    cdef Py_ssize_t j, k, i, N = distances.shape[0], c = distances.shape[1]
    cdef double total = 0.0, odds, own
    with nogil:
        for j in range(N):
            losses[j] = 0.0
            if not weights[j] > 0.0:
                continue
            i = codes[j]
            own = 0.5 * sharpness * distances[j, i] - log_priors[i]
            odds = 1.0
            for k in range(c):
                if k != i and not own - 0.5 * sharpness * distances[j, k] + log_priors[k] < NOTHING:
                    odds += exp(own - 0.5 * sharpness * distances[j, k] + log_priors[k])
            losses[j] = log(odds)
            total += weights[j] * losses[j]
    return total
