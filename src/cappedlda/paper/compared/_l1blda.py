"""Discriminant analysis by the L1 Bhattacharyya bound."""

from itertools import combinations

import numpy as np

from cappedlda._solvers.base import Iteration, iterate
from cappedlda.paper.compared._directions import complement, floor_of, signs_of, sphere_minimiser
from cappedlda.paper.compared._l2blda import l2_bound_minimiser, pair_weights
from cappedlda.paper.compared._method import ComparedMethod, Directions, check_iteration


class L1BLDA(ComparedMethod):
    """Discriminant analysis by the L1 Bhattacharyya bound.

    Minimises over orthonormal W [1]_::

        delta sum_j ||W'h_j||_1 - sum_{i<k} t_ik ||W'(m_i - m_k)||_1,   t_ik = sqrt(N_i N_k) / N

    with sums of absolute entries, so that not only the subspace but W itself matters. It
    depends on the units of the data as `L2BLDA` does.

    Parts of this method are a reconstruction, as the full text was not at hand: the constant
    ``delta = sum_{i<k} t_ik ||m_i - m_k||_1 / 4`` is taken by analogy to L2BLDA. The published
    algorithm, an alternating direction method without guarantee, is replaced by a monotone
    one for the same objective: each sweep minimises, column by column and then by plane
    rotations, a quadratic majorant that touches the objective at W. Absolute values of the
    rows are smoothed as in `LDAL1`. It starts from L2BLDA.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions, up to n_features; None takes min(n_classes - 1, n_features).
    max_iter : int, default=200
        Largest number of sweeps. A sweep passes over the rows once per column.
    tol : float, default=1e-5
        The iteration ends when the objective changes by less than this share of its terms.

    Attributes
    ----------
    classes_, priors_, means_, xbar_, coef_, intercept_ : ndarray
        As in `sklearn.discriminant_analysis.LinearDiscriminantAnalysis`.
    scalings_ : ndarray of shape (n_features, n_components)
        Orthonormal directions.
    objective_path_ : ndarray of shape (n_sweeps,)
        Objective by sweep; it never rises.
    n_iter_ : int
        Sweeps.
    status_ : {"converged", "max_iter"}

    References
    ----------
    .. [1] C.-N. Li, Y.-H. Shao, Z. Wang, N.-Y. Deng, "Robust Bhattacharyya bound linear
       discriminant analysis through adaptive algorithm", arXiv:1811.02384, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import minmax_scale
    >>> from cappedlda.paper.compared import L1BLDA
    >>> X, y = load_iris(return_X_y=True)
    >>> L1BLDA().fit_transform(minmax_scale(X), y).shape
    (150, 2)
    """

    def __init__(
        self, n_components: int | None = None, *, max_iter: int = 200, tol: float = 1e-5
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol

    def _check_parameters(self):
        check_iteration(self)

    def _solve(self, problem, n_components):
        W = l2_bound_minimiser(problem, n_components)
        floor = floor_of(problem, W) / np.sqrt(n_components)
        bound = BoundMajorizer(problem, W, floor, self.tol)
        trace = iterate(problem.rows, bound, self.max_iter * n_components)
        path = np.array(bound.objective_path)
        return Directions(bound.W, trace.status, len(path), path)


class BoundMajorizer(Iteration):
    """Minimise delta sum_j ||W'h_j||_1 - sum_{i<k} t_ik ||W'(m_i - m_k)||_1 over W'W = I.

    A pass looks at one column w and gives A = sum_j h_j h_j' / |w'h_j|. When all columns have
    been seen, w'Aw / 2 and the tangent of the second sum make a majorant, which one round of
    exact minimisations decreases: over each column in the complement of the others, and over
    the rotations of each pair.
    """

    def __init__(self, problem, W, floor, tol):
        self.W = W  # (n, d), orthonormal
        self.change = np.inf
        self.objective_path = []
        self._problem = problem
        self._floor = floor
        self.tol = tol  # on the change of the objective, relative to the sizes of its terms
        self._pulls = pairwise_pulls(problem)
        self._delta = np.abs(self._pulls).sum() / 4.0
        self._scatters = []
        self._within = 0.0

    def query(self):
        """Return what the next pass should evaluate."""
        column = len(self._scatters)
        return self._problem.query(self.W[:, [column]], q=1.0, floor=self._floor)

    def step(self, record):
        """Note a column; after the last one move to the next W, or return a status."""
        self._scatters.append(self._delta * record.scatter)
        self._within += self._delta * record.objective
        if len(self._scatters) < self.W.shape[1]:
            return None
        between = np.abs(self.W.T @ self._pulls).sum()
        objective = self._within - between
        if self.objective_path:
            self.change = abs(self.objective_path[-1] - objective) / (self._within + between)
        self.objective_path.append(objective)
        if self.change <= self.tol:
            return "converged"
        self.W = self._improved()
        self._scatters, self._within = [], 0.0
        return None

    def _improved(self):
        W, scatters = self.W.copy(), self._scatters
        tangents = self._pulls @ signs_of(self._pulls.T @ W)
        columns = range(W.shape[1])
        for k in columns:
            basis = complement(np.delete(W, k, axis=1))
            W[:, k] = basis @ sphere_minimiser(
                basis.T @ scatters[k] @ basis, basis.T @ tangents[:, k]
            )
        for k, other in combinations(columns, 2):
            plane = W[:, [k, other]]
            turned = plane @ np.array([[0.0, -1.0], [1.0, 0.0]])
            A = plane.T @ scatters[k] @ plane + turned.T @ scatters[other] @ turned
            x = sphere_minimiser(A, plane.T @ tangents[:, k] + turned.T @ tangents[:, other])
            W[:, k], W[:, other] = plane @ x, turned @ x
        return W


def pairwise_pulls(problem):
    """Return t_ik (m_i - m_k) for i < k in columns."""
    first, second = np.triu_indices(len(problem.means), 1)
    weights = pair_weights(problem)[first, second]
    return ((problem.means[first] - problem.means[second]) * weights[:, None]).T
