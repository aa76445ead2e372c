"""Discriminant analysis by a ratio of L1 norms."""

import math
from typing import NamedTuple

import numpy as np

from cappedlda._solvers.base import Iteration, iterate
from cappedlda._validation import check_real
from cappedlda.paper.compared._directions import (
    floor_of,
    one_by_one,
    ridged_scatter,
    starting_points,
)
from cappedlda.paper.compared._method import (
    LARGEST,
    POSITIVE,
    ComparedMethod,
    Directions,
    check_iteration,
)

TINY = float(np.finfo(float).tiny)


class LDAL1(ComparedMethod):
    """Linear discriminant analysis with L1 norms.

    One direction maximises ``sum_i N_i |w'(m_i - m)| / sum_j |w'h_j|`` over unit vectors
    [1]_ [2]_; the next does so in the orthogonal complement. Absolute values of the rows are
    smoothed, ``sqrt((w'h_j)^2 + floor^2)`` with a floor of 1e-3 of their initial median.
    The ratio has many local optima. The published gradient ascent has a fixed step and is not
    monotone; it starts from the LDA direction or the best class mean, whichever has the better
    ratio, and the best iterate is kept.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions, up to n_features; None takes min(n_classes - 1, n_features).
    learning_rate : float, default=0.1
        Step size; the paper tunes it between 1e-6 and 1e2.
    max_iter : int, default=100
        Largest number of passes over the rows per direction and start.
    tol : float, default=1e-6
        The iteration ends when the ratio or the direction changes by less than this
        (the ratio: relatively).

    Attributes
    ----------
    classes_, priors_, means_, xbar_, coef_, intercept_ : ndarray
        As in `sklearn.discriminant_analysis.LinearDiscriminantAnalysis`.
    scalings_ : ndarray of shape (n_features, n_components)
        Orthonormal directions in the order in which they were found.
    objective_path_ : list of ndarray
        Within-class over between-class sum of each direction by iteration, the reciprocal
        of the ratio above.
    n_iter_ : int
        Iterations for all directions.
    status_ : {"converged", "max_iter", "rank_deficient"}

    References
    ----------
    .. [1] F. Zhong, J. Zhang, "Linear discriminant analysis based on L1-norm maximization",
       IEEE Transactions on Image Processing 22, 2013.
    .. [2] H. Wang, X. Lu, Z. Hu, W. Zheng, "Fisher discriminant analysis with L1-norm", IEEE
       Transactions on Cybernetics 44, 2014.

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

    def _check_parameters(self):
        check_real("learning_rate", self.learning_rate, 0.0, LARGEST, POSITIVE)
        check_iteration(self)

    def _solve(self, problem, n_components):
        S = ridged_scatter(problem)

        def solve_one(basis):
            inner = problem.project(basis)
            starts = starting_points(basis.T @ S @ basis, inner.between_factor)
            floor = floor_of(inner, starts[0])
            return self._ascend(inner, [start[:, 0] for start in starts], floor)

        return one_by_one(problem, n_components, solve_one)

    def _ascend(self, problem, starts, floor):
        rows = SignedRows(problem, floor)
        ascents = [RatioAscent(problem, start, self.tol, self.learning_rate) for start in starts]
        best = min(ascents, key=lambda ascent: ascent.ratio(rows.run(ascent.w)))
        trace = iterate(rows, best, self.max_iter)
        return Directions(best.best, trace.status, trace.n_iter, np.array(best.objective_path))


class SignedRecord(NamedTuple):
    """What a pass of `SignedRows` gives."""

    objective: float  # sum of the smoothed absolute values |w'h_j|
    signed_sum: np.ndarray  # (n,): sum of sign(w'h_j) h_j, its gradient

    @property
    def overflows(self):
        """Whether a distance is too large for floating-point numbers."""
        return not math.isfinite(self.objective)


class SignedRows:
    """Rows about the means of their classes, for passes that need a gradient and no scatter."""

    def __init__(self, problem, floor):
        rows = problem.rows
        self._H = rows.X - problem.means[rows.codes]
        self._squared_floor = floor**2

    def run(self, w):
        """Return the record at a direction w, shape (n,)."""
        images = self._H @ w
        sizes = np.sqrt(images * images + self._squared_floor)
        return SignedRecord(float(np.add.reduce(sizes)), (images / sizes) @ self._H)


class RatioAscent(Iteration):
    """Minimise sum_j |w'h_j| / sum_i N_i |w'(m_i - m)| over unit vectors w.

    By gradient ascent of the logarithm of its inverse, with a fixed step: as published.
    """

    def __init__(self, problem, w, tol, learning_rate):
        self.w = self.best = w  # (n,); the best so far
        self.objective_path = []
        self.tol = tol  # on the change of the ratio or of the direction
        self._least = np.inf
        self._learning_rate = learning_rate
        self._pulls = problem.deviations * problem.sizes
        # Where w is orthogonal to all means this makes a step towards them.
        self._least_between = np.finfo(float).eps * np.linalg.norm(self._pulls)

    def query(self):
        """Return what the next pass of `SignedRows` should evaluate."""
        return self.w

    def ratio(self, record):
        """Return the ratio at w, from the record of a pass there."""
        return record.objective / self._between()[1]

    def _between(self):
        """Return p with w'p = sum_i N_i |w'(m_i - m)|, and that sum."""
        p = self._pulls @ np.copysign(1.0, self.w @ self._pulls)
        return p, max(float(self.w @ p), self._least_between)

    def step(self, record):
        """Move to the next direction; return a status once it is the last one."""
        path, w = self.objective_path, self.w
        p, between = self._between()
        ratio = record.objective / between
        if ratio < self._least:
            self.best, self._least = w, ratio
        path.append(ratio)
        q = record.signed_sum
        step = p / between - q / max(float(w @ q), TINY)
        following = w + self._learning_rate * step
        self.w = following / length(following)
        self.change = length(self.w - w)
        if len(path) > 1:
            self.change = min(self.change, abs(1.0 - ratio / path[-2]))
        return "converged" if self.change <= self.tol else None


def length(v):
    """Return the Euclidean norm of a vector, for a loop that has no time for checks."""
    return math.sqrt(v @ v)
