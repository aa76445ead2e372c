"""Discriminant analysis by the L1 Bhattacharyya bound."""

from itertools import combinations

import numpy as np
from scipy import linalg
from scipy.optimize import brentq

from cappedlda.paper.compared._closed_form import l2_bound_minimiser, pair_weights
from cappedlda.paper.compared._directions import complement, floor_of, signs_of
from cappedlda.paper.compared._method import ComparedMethod, Directions


class L1BLDA(ComparedMethod):
    """Discriminant analysis by the L1 Bhattacharyya bound.

    Minimises over orthonormal W, as published together with `L2BLDA`::

        delta sum_j ||W'h_j||_1 - sum_{i<k} t_ik ||W'(m_i - m_k)||_1,   t_ik = sqrt(N_i N_k) / N

    with sums of absolute entries, so that not only the subspace but W itself matters. It
    depends on the units of the data as `L2BLDA` does, and starts from it.

    The full text was not at hand: ``delta = sum_{i<k} t_ik ||m_i - m_k||_1 / 4`` is taken by
    analogy to L2BLDA. The published alternating direction method, which has no guarantee, is
    replaced by a monotone one for the same objective: each sweep minimises, column by column and
    then by plane rotations, a quadratic majorant that touches the objective at W. Absolute values
    of the rows are smoothed as in `LDAL1`.

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
    objective_path_ : ndarray of shape (n_sweeps,)
        Objective by sweep; it never rises.
    classes_, scalings_, ...
        The attributes of `LDA`.

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

    def _solve(self, problem, n_components):
        W = l2_bound_minimiser(problem, n_components)
        floor = floor_of(problem, W) / np.sqrt(n_components)
        first, second = np.triu_indices(len(problem.means), 1)
        weights = pair_weights(problem)[first, second]
        pulls = ((problem.means[first] - problem.means[second]) * weights[:, None]).T
        delta = np.abs(pulls).sum() / 4.0
        path, status = [], "max_iter"
        for _ in range(self.max_iter):
            queries = (problem.query(column[:, None], q=1.0, floor=floor) for column in W.T)
            records = [problem.rows.run(query) for query in queries]
            within = sum(delta * record.objective for record in records)
            between = np.abs(W.T @ pulls).sum()
            path.append(within - between)
            if len(path) > 1 and abs(path[-2] - path[-1]) / (within + between) <= self.tol:
                status = "converged"
                break
            W = improved(W, [delta * record.scatter for record in records], pulls)
        return Directions(W, status, len(path), np.array(path))


def improved(W, scatters, pulls):
    """Return W after a round of exact minimisations of the majorant.

    Its terms are w'Aw / 2 for each column w, where A = sum_j h_j h_j' / |w'h_j| is its scatter, and
    the tangent of the second sum of the objective. The minimisations are over each column in the
    complement of the others, and over the rotations of each pair.
    """
    W = W.copy()
    tangents = pulls @ signs_of(pulls.T @ W)
    columns = range(W.shape[1])
    for k in columns:
        basis = complement(np.delete(W, k, axis=1))
        W[:, k] = basis @ sphere_minimiser(basis.T @ scatters[k] @ basis, basis.T @ tangents[:, k])
    for k, other in combinations(columns, 2):
        plane = W[:, [k, other]]
        turned = plane @ np.array([[0.0, -1.0], [1.0, 0.0]])
        A = plane.T @ scatters[k] @ plane + turned.T @ scatters[other] @ turned
        x = sphere_minimiser(A, plane.T @ tangents[:, k] + turned.T @ tangents[:, other])
        W[:, k], W[:, other] = plane @ x, turned @ x
    return W


def sphere_minimiser(A, b):
    """Return the unit vector that minimises v'Av / 2 - b'v.

    It is (A + s I)^{-1} b for the s >= -lambda_min that makes it a unit vector.
    """
    values, vectors = linalg.eigh(A, check_finite=False)
    gaps, beta = values - values[0], vectors.T @ b
    limits = np.finfo(float)
    shortest = max(abs(beta[0]), limits.eps * max(linalg.norm(beta), gaps[-1]), limits.tiny)

    def shortfall(shift):
        return 1.0 / linalg.norm(beta / (gaps + shift)) - 1.0

    if not beta.any() or shortfall(shortest) >= 0.0:
        # Even the smallest shift gives too short a vector: fill up along the lowest direction.
        v = beta / (gaps + shortest)
        v[0] = np.copysign(np.sqrt(max(1.0 - v[1:] @ v[1:], 0.0)), beta[0])
    else:
        bracket, eps = (shortest, 2.0 * linalg.norm(beta)), limits.eps
        shift = brentq(shortfall, *bracket, xtol=eps * shortest, rtol=4.0 * eps)
        v = beta / (gaps + shift)
    v = vectors @ v
    return v / linalg.norm(v)
