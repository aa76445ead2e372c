"""The small linear algebra of the solvers. LAPACK through SciPy; no data here."""

from functools import partial

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from cappedlda._kernels import algebra

# What the compiled functions take: a C-ordered array of float64.
_plain = partial(np.ascontiguousarray, dtype=np.float64)
# Eigenvalues below this share of the largest are rounding, not rank.
RANK_CUTOFF = 1e-10
# Reciprocal condition number from which on a Cholesky factor is as good as eigenvectors.
FAR_FROM_SINGULAR = 1e-7


def between_factor(centres, priors, scale):
    """Return B of shape (n, min(c, n)) with B B' the scaled between-class scatter.

    Its columns are sqrt(prior_i) (m_i - m) / scale. With more classes than features there
    are only as many columns as features: what follows grows with the third power of the columns.
    """
    B = np.empty(centres.shape)
    algebra.deviations(_plain(centres), _plain(priors), _plain(scale), B)
    return (B if len(B) <= B.shape[1] else np.linalg.qr(B, mode="r")).T


def ridged(scatter, weight, ridge):
    """Return scatter / weight + ridge I."""
    matrix = np.empty(scatter.shape)
    algebra.add_ridge(_plain(scatter), weight, ridge, matrix)
    return matrix


def rank_of(B):
    values = linalg.svdvals(B, check_finite=False)
    return int(np.sum(values > np.sqrt(RANK_CUTOFF) * values[0])) if values[0] > 0 else 0


def orthonormal(A, cutoff):
    """Return an orthonormal basis of the columns, but for directions far weaker than the first."""
    U, values, _ = np.linalg.svd(A, full_matrices=False)
    return U[:, values > cutoff * values[0]]


def solve_spd(A, B):
    """Return A^{-1} B for a symmetric positive definite matrix A, by Cholesky."""
    # LAPACK directly: for small matrices the checks of the wrappers cost more than the work.
    _, solution, info = lapack.dposv(A.T, B, lower=1)
    if info != 0:
        raise not_definite()
    return solution


def solve(A, B):
    """Return A^{-1} B for a small square A."""
    _, _, solution, info = lapack.dgesv(A, B)
    if info != 0:
        raise linalg.LinAlgError("The within-class covariance is singular; use fewer directions.")
    return solution


def not_definite():
    return linalg.LinAlgError(
        "The weighted within-class scatter is not positive definite; remove features that "
        "depend on others, or use CappedNormLDA with a larger ridge."
    )


def eigh(C):
    """Return the ascending eigenvalues of a symmetric C of float64, and its eigenvectors."""
    values, vectors = _space_for_eigen(len(C))
    _check_found(algebra.eigen(_plain(C), values, vectors))
    return values, vectors.T


def _space_for_eigen(n):
    return np.empty(n), np.empty((n, n))


def _check_found(found):
    if not found:
        raise linalg.LinAlgError(
            "The eigenvalues of a scatter were not found; X has numbers that are too large or "
            "too small, scale it."
        )


def pinv_psd(C):
    """Return the pseudo-inverse of a small symmetric positive semi-definite matrix."""
    values, vectors = _space_for_eigen(len(C))
    first = algebra.range_of(_plain(C), RANK_CUTOFF, values, vectors)
    _check_found(first >= 0)
    values, vectors = values[first:], vectors[first:].T
    return (vectors / values) @ vectors.T


def constrained_minimiser(Y, B, K):
    """Return W minimising tr W'AW subject to W'B = K: Y (B'Y)^+ K', given Y = A^{-1} B."""
    W = np.empty((len(B), len(K)))
    _check_found(algebra.minimise(_plain(Y.T), _plain(B.T), _plain(K), RANK_CUTOFF, W))
    return W


def leading_directions(Y, B):
    """Return all directions of B B' w = mu A w with mu > 0, best first, given Y = A^{-1} B.

    They have W'AW = I.
    """
    W = np.empty(B.size)
    rank = algebra.lead(_plain(Y.T), _plain(B.T), RANK_CUTOFF, W)
    _check_found(rank >= 0)
    return W[: len(B) * rank].reshape(len(B), rank)


def solve_on_range(A, B, cutoff, ridge=0.0):
    """Return A^+ B for a symmetric A, without the directions in which it has only rounding.

    Eigenvalues below the share `cutoff` of the largest are taken for zero. An A that is far from
    singular goes by its Cholesky factor, which is faster than by its eigenvectors; so does one
    that has had a `ridge` added above that share.
    """
    Y = np.array(B.T, np.float64, order="C")
    if algebra.solve_definite(_plain(A), _least_condition(A, cutoff, ridge), Y):
        return Y.T
    T = _eigen_whitener(A, cutoff)
    return T @ (T.T @ B)


def triangular_whitener(A, cutoff, ridge=0.0):
    """Return an upper triangle T (n, n) with A^+ = T T'; see `solve_on_range`."""
    T = np.empty(A.shape)
    if algebra.whiten_definite(_plain(A), _least_condition(A, cutoff, ridge), T):
        return T
    T = linalg.rq(_eigen_whitener(A, cutoff), mode="r", check_finite=False)
    return np.pad(T, ((0, 0), (len(A) - T.shape[1], 0)))


def _least_condition(A, cutoff, ridge):
    """Return the least reciprocal condition number of A for a Cholesky factor, 0 for any."""
    return 0.0 if ridge > cutoff * A.trace() else FAR_FROM_SINGULAR


def _eigen_whitener(A, cutoff):
    """Return T with T'AT = I, in the directions in which a symmetric A has any variance."""
    values, vectors = eigh(A)
    some = values > cutoff * values[-1]
    return vectors[:, some] / np.sqrt(values[some])


def eigh_whitener(C):
    """Return R with R'CR = I for a small symmetric C; directions of no variance stay small."""
    R = np.empty(C.shape)
    _check_found(algebra.whiten(_plain(C), RANK_CUTOFF, R))
    return R.T


def typical_length(R):
    """Return the geometric mean of the lengths of the columns of R."""
    return algebra.typical_length(_plain(R.T))


def order_by_discrimination(C, images):
    """Order the directions of an image space by how well they separate the classes.

    Given the within-class covariance C (d, d) of the image and the images (d, c) of the columns of
    B, return a change of coordinates V with V'CV = I, best direction first, and the between-class
    variance of each direction.
    """
    values, V = _space_for_eigen(len(C))
    _check_found(algebra.order(_plain(C), _plain(images), RANK_CUTOFF, V, values))
    return V.T, values


def fix_signs(W):
    """Flip columns so that the entry of largest size is positive."""
    W = np.array(W, np.float64, order="C")
    algebra.fix_signs(W)
    return W


def quietest_directions(A, B, count):
    """Return `count` directions of least scatter A that do not see the class means (B'v = 0)."""
    basis = linalg.qr(B, pivoting=True, check_finite=False)[0][:, rank_of(B) :]
    # All of them, whatever the count: fewer must be the first ones of more.
    values, vectors = eigh(basis.T @ A @ basis)
    least = max(RANK_CUTOFF * values[-1], 0.0)  # rounding may leave no value above zero
    lengths = np.sqrt(np.maximum(values, least))
    lengths[lengths <= 0.0] = 1.0
    return basis @ (vectors[:, :count] / lengths[:count])
