"""Discriminant analysis with an L1 between-class term."""

from typing import Literal

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state

from cappedlda._metrics.linalg import leading_directions, solve_spd
from cappedlda._validation import check_choice, check_real
from cappedlda.paper.compared._directions import one_by_one, ridged_scatter, signs_of
from cappedlda.paper.compared._method import (
    LARGEST,
    POSITIVE,
    ComparedMethod,
    Directions,
    check_iteration,
)

# Up to this number of classes every sign vector is tried.
MAX_ENUMERATED_CLASSES = 15


class RLDA(ComparedMethod):
    """Robust linear discriminant analysis with an L1 between-class term.

    One direction minimises ``-sum_i N_i |w'(m_i - m)| + lam w'S_w w`` [1]_; the next does
    so in the orthogonal complement. The within-class term is squared, so that it is not
    robust against far rows. With two classes the direction is that of LDA.

    The minimum is ``S_w^{-1} X_0 s / (2 lam)`` for the best sign vector s, where X_0 has
    the columns ``N_i (m_i - m)``. So lam only scales the direction, which is then
    normalised. S_w gets a ridge of 1e-6 of the mean variance: where it is singular, as it
    is after any deflation of fewer rows than features, the objective has no minimum.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions, up to n_features; None takes min(n_classes - 1, n_features).
    method : {"dca", "admm"}, default="dca"
        "dca" finds the best sign vector: all are tried for up to 15 classes, above that
        monotone steps start from every class mean and from LDA. "admm" is the published
        algorithm, with an exact proximal step and deflation by a unit vector (the published
        one uses w as it is, which does not project). It need not converge; what it then
        returns depends on rho and the random start.
    lam : float, default=1.0
        Weight of the within-class term. Not used by "dca".
    rho : float, default=1.0
        Penalty of "admm".
    max_iter : int, default=1000
        Largest number of iterations per direction.
    tol : float, default=1e-3
        "admm" ends when its primal and dual residuals are below this.
    random_state : int, RandomState instance or None, default=None
        Start of "admm".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    priors_ : ndarray of shape (n_classes,)
    means_ : ndarray of shape (n_classes, n_features)
    xbar_ : ndarray of shape (n_features,)
    scalings_ : ndarray of shape (n_features, n_components)
        Orthonormal directions in the order in which they were found.
    coef_ : ndarray of shape (n_classes, n_features) or (1, n_features)
    intercept_ : ndarray of shape (n_classes,) or (1,)
    objective_path_ : list of ndarray
        Objective of each direction by iteration; "dca" never increases it.
    n_iter_ : int
        Iterations for all directions.
    status_ : {"converged", "max_iter", "rank_deficient"}

    References
    ----------
    .. [1] C.-N. Li, Y.-H. Shao, W. Yin, M.-Z. Liu, "Robust and sparse linear discriminant
       analysis via an alternating direction method of multipliers", IEEE Transactions on
       Neural Networks and Learning Systems 31, 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda.paper.compared import RLDA
    >>> X, y = load_iris(return_X_y=True)
    >>> RLDA().fit(X, y).transform(X).shape
    (150, 2)
    """

    _lies_in_span = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        method: Literal["dca", "admm"] = "dca",
        lam: float = 1.0,
        rho: float = 1.0,
        max_iter: int = 1000,
        tol: float = 1e-3,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.lam = lam
        self.rho = rho
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_parameters(self):
        check_choice("method", self.method, ("dca", "admm"))
        check_real("lam", self.lam, 0.0, LARGEST, POSITIVE)
        check_real("rho", self.rho, 0.0, LARGEST, POSITIVE)
        check_iteration(self)

    def _solve(self, problem, n_components):
        S = ridged_scatter(problem)
        X0 = problem.deviations * problem.sizes
        B = problem.between_factor
        random = check_random_state(self.random_state)

        def solve_one(basis):
            inner, pulls = basis.T @ S @ basis, basis.T @ X0
            if self.method == "admm":
                return signed_admm(
                    inner, pulls, self.lam, self.rho, self.tol, self.max_iter, random
                )
            signs = sign_starts(inner, pulls, basis.T @ B)
            return signed_minimum(inner, pulls, signs, self.lam, self.max_iter)

        return one_by_one(problem, n_components, solve_one)


def sign_starts(S, X0, B):
    """Return sign vectors of length c in rows: all, or those of the class means and of LDA."""
    n_classes = X0.shape[1]
    if n_classes <= MAX_ENUMERATED_CLASSES:
        # The last sign may be fixed, as s and -s are the same direction.
        return 1.0 - 2.0 * (np.arange(2 ** (n_classes - 1))[:, None] >> np.arange(n_classes) & 1)
    lda = leading_directions(solve_spd(S, B), B)[:, :1]
    return signs_of(np.hstack([B, lda]).T @ X0)


def signed_minimum(S, X0, signs, lam, max_iter):
    """Minimise -||X0'w||_1 + lam w'Sw, whose minima are w = S^{-1} X0 s / (2 lam), s = +-1.

    The steps s <- sign(X0'w) never increase it. All rows of `signs` are starts; the best
    end is returned.
    """
    Y = solve_spd(S, X0)
    G = X0.T @ Y
    tolerance = np.finfo(float).eps * np.abs(G).sum() / lam
    paths, status = [], "max_iter"
    for _ in range(max_iter):
        images = signs @ G
        values = (np.sum(signs * images, axis=1) / 4.0 - np.sum(np.abs(images), axis=1) / 2.0) / lam
        if paths and np.all(values >= paths[-1] - tolerance):
            status = "converged"
            break
        paths.append(values)
        before, signs = signs, signs_of(images)
    best = np.argmin(paths[-1])
    path = np.array(paths)[:, best]
    return Directions(Y @ before[best] / (2.0 * lam), status, len(path), path)


def signed_admm(S, X0, lam, rho, tol, max_iter, random):
    """Minimise -||X0'w||_1 + lam w'Sw by the published splitting y = X0'z, w = z."""
    n, n_classes = X0.shape
    factor = linalg.cho_factor(X0 @ X0.T + np.eye(n) + (2.0 * lam / rho) * S)
    w, u2 = random.standard_normal((2, n))
    y, u1 = random.standard_normal((2, n_classes))
    path, status = [], "max_iter"
    for _ in range(max_iter):
        z = linalg.cho_solve(factor, X0 @ (y - u1) + w + u2)
        image = X0.T @ z
        before, v = y, image + u1
        y = v + signs_of(v) / rho
        w = z - u2
        u1 = u1 + image - y
        u2 = u2 + w - z
        path.append(lam * z @ S @ z - np.abs(image).sum())
        residuals = linalg.norm(image - y), linalg.norm(w - z), rho * linalg.norm(X0 @ (y - before))
        if max(residuals) <= tol:
            status = "converged"
            break
    return Directions(w, status, len(path), np.array(path))
