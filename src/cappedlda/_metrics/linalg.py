"""The small linear algebra of the solvers. LAPACK through SciPy; no data here."""

import math

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from cappedlda._kernels import algebra

# Eigenvalues below this share of the largest are rounding, not rank.
RANK_CUTOFF = 1e-10
# Reciprocal condition number from which on a Cholesky factor is as good as eigenvectors.
FAR_FROM_SINGULAR = 1e-7
# The first of several entries that are largest up to rounding decides a sign.
AS_LARGE = 1.0 - 1e-9


def between_factor(centres, priors, scale):
    """Return B of shape (n, min(c, n)) with B B' the scaled between-class scatter.

    Its columns are sqrt(prior_i) (m_i - m) / scale. With more classes than features there
    are only as many columns as features: what follows grows with the third power of the columns.
    """
    B = np.empty(centres.shape)
    algebra.deviations(*map(np.ascontiguousarray, (centres, priors, scale)), B)
    return (B if len(B) <= B.shape[1] else np.linalg.qr(B, mode="r")).T


def ridged(scatter, weight, ridge):
    """Return scatter / weight + ridge I."""
    matrix = scatter / weight
    matrix.flat[:: len(matrix) + 1] += ridge
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
    if len(C) == 0:
        return np.empty(0), np.empty((0, 0))
    values, vectors, info = lapack.dsyevd(C.T, lower=1)
    if info != 0 or not math.isfinite(values[-1]):  # LAPACK may take NaN without complaint
        raise not_found()
    return values, vectors


def not_found():
    return linalg.LinAlgError(
        "The eigenvalues of a scatter were not found; X has numbers that are too large or "
        "too small, scale it."
    )


def eigh_range(C):
    """Return the eigenvalues of a symmetric C that are not zero, and their eigenvectors."""
    values, vectors = eigh(C)
    some = values > RANK_CUTOFF * values.max(initial=0.0)
    return values[some], vectors[:, some]


def pinv_psd(C):
    """Return the pseudo-inverse of a small symmetric positive semi-definite matrix."""
    values, vectors = eigh_range(C)
    return (vectors / values) @ vectors.T


@np.errstate(over="ignore", invalid="ignore")
def constrained_minimiser(Y, B, K):
    """Return W minimising tr W'AW subject to W'B = K: Y (B'Y)^+ K', given Y = A^{-1} B."""
    C = B.T.dot(Y)
    values, vectors = eigh_range(0.5 * (C + C.T))
    return Y.dot(vectors.dot(vectors.T.dot(K.T) / values[:, None]))


def leading_directions(Y, B):
    """Return all directions of B B' w = mu A w with mu > 0, best first, given Y = A^{-1} B.

    They have W'AW = I.
    """
    W = np.empty(B.size)
    given = np.ascontiguousarray(Y.T), np.ascontiguousarray(B.T)
    rank = algebra.lead(*given, RANK_CUTOFF, W)
    if rank < 0:
        raise not_found()
    return W[: len(B) * rank].reshape(len(B), rank)


def solve_on_range(A, B, cutoff, ridge=0.0):
    """Return A^+ B for a symmetric A, without the directions in which it has only rounding.

    Eigenvalues below the share `cutoff` of the largest are taken for zero. An A that is far from
    singular goes by its Cholesky factor, which is faster than by its eigenvectors; so does one
    that has had a `ridge` added above that share.
    """
    L = cholesky(A, _least_condition(A, cutoff, ridge))
    if L is not None:
        return lapack.dpotrs(L, B, lower=1)[0]
    T = _eigen_whitener(A, cutoff)
    return T @ (T.T @ B)


def triangular_whitener(A, cutoff, ridge=0.0):
    """Return an upper triangle T (n, n) with A^+ = T T'; see `solve_on_range`."""
    L = cholesky(A, _least_condition(A, cutoff, ridge))
    if L is not None:
        return lapack.dtrtri(L, lower=1)[0].T
    T = linalg.rq(_eigen_whitener(A, cutoff), mode="r", check_finite=False)
    return np.pad(T, ((0, 0), (len(A) - T.shape[1], 0)))


def _least_condition(A, cutoff, ridge):
    """Return the least reciprocal condition number of A for a Cholesky factor, 0 for any."""
    return 0.0 if ridge > cutoff * A.trace() else FAR_FROM_SINGULAR


def cholesky(A, least):
    """Return L with A = L L', or None if the reciprocal condition number is not above `least`."""
    L, info = lapack.dpotrf(A.T, lower=1)
    condition = 1.0
    if info == 0 and least > 0.0:
        condition, info = lapack.dpocon(L, lapack.dlange("1", A.T), uplo="L")
    return L if info == 0 and condition > least else None


def _eigen_whitener(A, cutoff):
    """Return T with T'AT = I, in the directions in which a symmetric A has any variance."""
    values, vectors = eigh(A)
    some = values > cutoff * values[-1]
    return vectors[:, some] / np.sqrt(values[some])


def eigh_whitener(C):
    """Return R with R'CR = I for a small symmetric C; directions of no variance stay small."""
    values, vectors = eigh(C)
    if len(C) == 0 or values[-1] <= 0.0:
        return vectors
    return vectors / np.sqrt(np.maximum(values, RANK_CUTOFF * values[-1]))


def typical_length(R):
    """Return the geometric mean of the lengths of the columns of R."""
    return math.exp(0.5 * np.log(np.square(R).sum(axis=0)).sum() / R.shape[1])


@np.errstate(over="ignore", invalid="ignore")
def order_by_discrimination(C, images):
    """Order the directions of an image space by how well they separate the classes.

    Given the within-class covariance C (d, d) of the image and the images (d, c) of the columns of
    B, return a change of coordinates V with V'CV = I, best direction first, and the between-class
    variance of each direction.
    """
    R = eigh_whitener(C)
    whitened = R.T.dot(images)
    values, vectors = eigh(whitened.dot(whitened.T))
    return R.dot(vectors[:, ::-1]), np.maximum(values[::-1], 0.0)


def fix_signs(W):
    """Flip columns so that the entry of largest size is positive."""
    sizes = np.abs(W)
    deciding = (sizes >= AS_LARGE * sizes.max(axis=0)).argmax(axis=0)
    return np.where(W[deciding, np.arange(W.shape[1])] < 0.0, -W, W)


def quietest_directions(A, B, count):
    """Return `count` directions of least scatter A that do not see the class means (B'v = 0)."""
    basis = linalg.qr(B, pivoting=True, check_finite=False)[0][:, rank_of(B) :]
    # All of them, whatever the count: fewer must be the first ones of more.
    values, vectors = eigh(basis.T @ A @ basis)
    least = max(RANK_CUTOFF * values[-1], 0.0)  # rounding may leave no value above zero
    lengths = np.sqrt(np.maximum(values, least))
    lengths[lengths <= 0.0] = 1.0
    return basis @ (vectors[:, :count] / lengths[:count])
