"""Discriminant analysis by a ratio of L1 norms."""

import math
from typing import Literal, NamedTuple

import numpy as np

from cappedlda._solvers.base import Iteration, iterate
from cappedlda._validation import check_choice, check_real
from cappedlda.paper.compared._directions import (
    floor_of,
    one_by_one,
    ridged_scatter,
    sphere_minimiser,
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
    The ratio has many local optima. Starts are the LDA direction and the best class mean.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions, up to n_features; None takes min(n_classes - 1, n_features).
    solver : {"ascent", "mm"}, default="ascent"
        "ascent" is the published gradient ascent with a fixed step from the better start, of
        which the best iterate is kept; it is not monotone. "mm" needs no step size and never
        makes the ratio worse: each step minimises a quadratic majorant on the unit sphere. It
        tries both starts and keeps the better end.
    learning_rate : float, default=0.1
        Step size of "ascent"; the paper tunes it between 1e-6 and 1e2.
    max_iter : int, default=100
        Largest number of passes over the rows per direction and start.
    tol : float, default=1e-6
        The iteration ends when the ratio or the direction changes by less than this
        (the ratio: relatively).

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
        Within-class over between-class sum of each direction by iteration, the reciprocal
        of the ratio above; "mm" never increases it.
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
    >>> LDAL1(solver="mm").fit(X, y).transform(X).shape
    (150, 2)
    """

    _lies_in_span = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        solver: Literal["ascent", "mm"] = "ascent",
        learning_rate: float = 0.1,
        max_iter: int = 100,
        tol: float = 1e-6,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.tol = tol

    def _check_parameters(self):
        check_choice("solver", self.solver, ("ascent", "mm"))
        check_real("learning_rate", self.learning_rate, 0.0, LARGEST, POSITIVE)
        check_iteration(self)

    def _solve(self, problem, n_components):
        S = ridged_scatter(problem)

        def solve_one(basis):
            inner = problem.project(basis)
            starts = starting_points(basis.T @ S @ basis, inner.between_factor)
            floor = floor_of(inner, starts[0])
            solve = self._ascend if self.solver == "ascent" else self._majorize
            return solve(inner, [start[:, 0] for start in starts], floor)

        return one_by_one(problem, n_components, solve_one)

    def _ascend(self, problem, starts, floor):
        rows = SignedRows(problem, floor)
        ascents = (
            RatioAscent(problem, start, floor, self.tol, self.learning_rate) for start in starts
        )
        return self._climb(rows, min(ascents, key=lambda ascent: ascent.ratio(rows.run(ascent.w))))

    def _majorize(self, problem, starts, floor):
        ratios = (RatioMajorizer(problem, start, floor, self.tol) for start in starts)
        ends = (self._climb(problem.rows, ratio) for ratio in ratios)
        return min(ends, key=lambda end: min(end.objective_path))

    def _climb(self, rows, ratio):
        trace = iterate(rows, ratio, self.max_iter)
        return Directions(ratio.best, trace.status, trace.n_iter, np.array(ratio.objective_path))


class SignedRecord(NamedTuple):
    """What a pass of `SignedRows` gives."""

    objective: float  # sum of the smoothed absolute values |w'h_j|
    signed_sum: np.ndarray  # (n,): sum of sign(w'h_j) h_j, its gradient

    @property
    def overflows(self):
        """Whether a distance is too large for floating-point numbers."""
        return not math.isfinite(self.objective)


class SignedRows:
    """Rows about the means of their classes, for passes that need a gradient and no scatter.

    Parameters
    ----------
    problem : Problem
    floor : float
        The absolute value of z is smoothed to sqrt(z^2 + floor^2).
    """

    def __init__(self, problem, floor):
        rows = problem.rows
        self._H = rows.X - problem.means[rows.codes]
        self._squared_floor = floor**2

    def run(self, w):
        """Return the record at a direction w, shape (n,)."""
        images = self._H @ w
        sizes = np.sqrt(images * images + self._squared_floor)
        return SignedRecord(float(np.add.reduce(sizes)), (images / sizes) @ self._H)


class L1Ratio(Iteration):
    """Minimise sum_j |w'h_j| / sum_i N_i |w'(m_i - m)| over unit vectors w; a base.

    Parameters
    ----------
    problem : Problem
    w : ndarray of shape (n,)
        The start, a unit vector.
    floor : float
        Of the absolute values in the first sum.
    tol : float
        On the change of the ratio or of the direction.

    Attributes
    ----------
    best : ndarray of shape (n,)
        The direction of the smallest ratio so far.
    objective_path : list of float
    """

    def __init__(self, problem, w, floor, tol):
        self.w = self.best = w
        self.objective_path = []
        self._least = np.inf
        self._floor = floor
        self.tol = tol
        self._problem = problem
        self._pulls = problem.deviations * problem.sizes
        # Where w is orthogonal to all means this makes a step towards them.
        self._least_between = np.finfo(float).eps * np.linalg.norm(self._pulls)

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
        following = self._step(w, record, p / between)
        self.w = following / length(following)
        self.change = length(self.w - w)
        if len(path) > 1:
            self.change = min(self.change, abs(1.0 - ratio / path[-2]))
        return "converged" if self.change <= self.tol else None


class RatioAscent(L1Ratio):
    """Gradient ascent of the logarithm of the ratio, with a fixed step: as published."""

    def __init__(self, problem, w, floor, tol, learning_rate):
        super().__init__(problem, w, floor, tol)
        self._learning_rate = learning_rate

    def query(self):
        """Return what the next pass of `SignedRows` should evaluate."""
        return self.w

    def _step(self, w, record, p):
        q = record.signed_sum
        return w + self._learning_rate * (p - q / max(float(w @ q), TINY))


class RatioMajorizer(L1Ratio):
    """Monotone steps.

    A pass at w gives A = sum_j h_j h_j' / |w'h_j|. With f and g the two sums,
    f(v) <= (v'Av + f(w)) / 2 and g(v) >= g(w) p'v, with equality at v = w. So the minimum of
    v'Av / 2 - f(w) p'v on the sphere has f - (f(w) / g(w)) g <= 0.
    """

    def query(self):
        """Return what the next pass should evaluate."""
        return self._problem.query(self.w[:, None], q=1.0, floor=self._floor)

    def _step(self, w, record, p):
        return sphere_minimiser(record.scatter, record.objective * p)


def length(v):
    """Return the Euclidean norm of a vector, for a loop that has no time for checks."""
    return math.sqrt(v @ v)
