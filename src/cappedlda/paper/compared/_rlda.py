"""Discriminant analysis with an L1 between-class term."""

import numpy as np

from cappedlda._metrics.linalg import leading_directions, solve_spd
from cappedlda.paper.compared._directions import one_by_one, ridged_scatter, signs_of
from cappedlda.paper.compared._method import ComparedMethod, Directions

# Up to this number of classes every sign vector is tried.
MAX_ENUMERATED_CLASSES = 15


class RLDA(ComparedMethod):
    """Robust linear discriminant analysis with an L1 between-class term.

    One direction minimises ``-sum_i N_i |w'(m_i - m)| + w'S_w w``; the next does so in the
    orthogonal complement (Li, Shao, Yin, Liu, "Robust and sparse linear discriminant analysis via
    an alternating direction method of multipliers", IEEE TNNLS 31, 2020). The within-class term
    is squared, so it is not robust against far rows. With two classes the direction is that of
    LDA.

    The minimum is ``S_w^{-1} X_0 s / 2`` for the best sign vector s, where X_0 has the columns
    ``N_i (m_i - m)``. With up to 15 classes all sign vectors are tried; with more, monotone steps
    start from every class mean and from LDA. The published algorithm need not converge. S_w gets
    a ridge of 1e-6 of the mean variance: where it is singular, as after any deflation of fewer
    rows than features, the objective has no minimum.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions, up to n_features; None takes min(n_classes - 1, n_features).
    max_iter : int, default=1000
        Largest number of iterations per direction.

    Attributes
    ----------
    objective_path_ : list of ndarray
        Objective of each direction by iteration.
    classes_, scalings_, ...
        The attributes of `LDA`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda.paper.compared import RLDA
    >>> X, y = load_iris(return_X_y=True)
    >>> RLDA().fit(X, y).transform(X).shape
    (150, 2)
    """

    _lies_in_span = True

    def __init__(self, n_components: int | None = None, *, max_iter: int = 1000) -> None:
        self.n_components = n_components
        self.max_iter = max_iter

    def _solve(self, problem, n_components):
        S = ridged_scatter(problem)
        X0 = problem.deviations * problem.sizes
        B = problem.between_factor

        def solve_one(basis):
            inner, pulls = basis.T @ S @ basis, basis.T @ X0
            starts = sign_starts(inner, pulls, basis.T @ B)
            return signed_minimum(inner, pulls, starts, self.max_iter)

        return one_by_one(problem, n_components, solve_one)


def sign_starts(S, X0, B, most_classes=MAX_ENUMERATED_CLASSES):
    """Return sign vectors of length c in rows: all, or those of the class means and of LDA."""
    n_classes = X0.shape[1]
    if n_classes <= most_classes:
        # The last sign may be fixed, as s and -s are the same direction.
        return 1.0 - 2.0 * (np.arange(2 ** (n_classes - 1))[:, None] >> np.arange(n_classes) & 1)
    lda = leading_directions(solve_spd(S, B), B)[:, :1]
    return signs_of(np.hstack([B, lda]).T @ X0)


def signed_minimum(S, X0, signs, max_iter):
    """Minimise -||X0'w||_1 + w'Sw, whose minima are w = S^{-1} X0 s / 2, s = +-1.

    The steps s <- sign(X0'w) never increase it. All rows of `signs` are starts; the best
    end is returned.
    """
    Y = solve_spd(S, X0)
    G = X0.T @ Y
    tolerance = np.finfo(float).eps * np.abs(G).sum()
    paths, status = [], "max_iter"
    for _ in range(max_iter):
        images = signs @ G
        values = np.sum(signs * images, axis=1) / 4.0 - np.sum(np.abs(images), axis=1) / 2.0
        if paths and np.all(values >= paths[-1] - tolerance):
            status = "converged"
            break
        paths.append(values)
        before, signs = signs, signs_of(images)
    best = np.argmin(paths[-1])
    path = np.array(paths)[:, best]
    return Directions(Y @ before[best] / 2.0, status, len(path), path)
