"""Discriminant analysis by a ratio of L1 norms."""

import math

import numpy as np

from cappedlda.paper.compared._directions import (
    floor_of,
    one_by_one,
    ridged_scatter,
    starting_points,
)
from cappedlda.paper.compared._method import ComparedMethod, Directions

TINY = float(np.finfo(float).tiny)


class LDAL1(ComparedMethod):
    """Linear discriminant analysis with L1 norms.

    One direction maximises ``sum_i N_i |w'(m_i - m)| / sum_j |w'h_j|`` over unit vectors; the
    next does so in the orthogonal complement (Zhong, Zhang, "Linear discriminant analysis based on
    L1-norm maximization", IEEE TIP 22, 2013; Wang, Lu, Hu, Zheng, "Fisher discriminant analysis
    with L1-norm", IEEE Transactions on Cybernetics 44, 2014). Absolute values of the rows are
    smoothed, ``sqrt((w'h_j)^2 + floor^2)`` with a floor of 1e-3 of their initial median.
    The published gradient ascent has a fixed step and need not rise. It starts from the LDA
    direction or the best class mean, whichever has the better ratio, and the best iterate is
    kept; the ratio has many local optima.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions, up to n_features; None takes min(n_classes - 1, n_features).
    learning_rate : float, default=0.1
        Step size; the paper tunes it between 1e-6 and 1e2.
    max_iter : int, default=100
        Largest number of passes over the rows per direction and start.
    tol : float, default=1e-6
        The iteration ends when the direction, or the ratio relatively, changes by less than this.

    Attributes
    ----------
    objective_path_ : list of ndarray
        Within-class over between-class sum of each direction by iteration, the reciprocal
        of the ratio above.
    classes_, scalings_, ...
        The attributes of `LDA`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda.paper.compared import LDAL1
    >>> X, y = load_iris(return_X_y=True)
    >>> LDAL1(tol=1e-3).fit(X, y).transform(X).shape
    (150, 2)
    """

    _lies_in_span = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        learning_rate: float = 0.1,
        max_iter: int = 100,
        tol: float = 1e-6,
    ) -> None:
        self.n_components = n_components
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.tol = tol

    def _solve(self, problem, n_components):
        S = ridged_scatter(problem)

        def solve_one(basis):
            inner = problem.project(basis)
            starts = starting_points(basis.T @ S @ basis, inner.between_factor)
            ratio = l1_ratio(inner, floor_of(inner, starts[0]))
            start = min((start[:, 0] for start in starts), key=lambda w: ratio(w)[0])
            return ascend(ratio, start, self.tol, self.learning_rate, self.max_iter)

        return one_by_one(problem, n_components, solve_one)


def l1_ratio(problem, floor):
    """Return a function of unit vectors w: sum_j |w'h_j| / sum_i N_i |w'(m_i - m)|, and a step.

    The step is the gradient of the logarithm of its inverse.
    """
    H = problem.rows.X - problem.means[problem.rows.codes]
    pulls = problem.deviations * problem.sizes
    # Where w is orthogonal to all means this makes a step towards them.
    least_between = np.finfo(float).eps * np.linalg.norm(pulls)

    def ratio(w):
        images = H @ w
        sizes = np.sqrt(images * images + floor**2)
        q = (images / sizes) @ H
        p = pulls @ np.copysign(1.0, w @ pulls)
        between = max(float(w @ p), least_between)
        step = p / between - q / max(float(w @ q), TINY)
        return float(np.add.reduce(sizes)) / between, step

    return ratio


def ascend(ratio, w, tol, learning_rate, max_iter):
    """Return the best direction of an ascent with a fixed step: as published."""
    path, status = [], "max_iter"
    best, least = w, np.inf
    for _ in range(max_iter):
        value, step = ratio(w)
        if value < least:
            best, least = w, value
        path.append(value)
        following = w + learning_rate * step
        before, w = w, following / length(following)
        change = length(w - before)
        if len(path) > 1:
            change = min(change, abs(1.0 - value / path[-2]))
        if change <= tol:
            status = "converged"
            break
    return Directions(best, status, len(path), np.array(path))


def length(v):
    """Return the Euclidean norm of a vector, for a loop that has no time for checks."""
    return math.sqrt(v @ v)
