"""Discriminant analysis by the L2 Bhattacharyya bound."""

import numpy as np
from scipy import linalg

from cappedlda.paper.compared._method import ComparedMethod, Directions


class L2BLDA(ComparedMethod):
    """Discriminant analysis by the L2 Bhattacharyya bound.

    Minimises over orthonormal W [1]_::

        delta sum_j ||W'h_j||^2 - sum_{i<k} t_ik ||W'(m_i - m_k)||^2,
        t_ik = sqrt(N_i N_k) / N,   delta = sum_{i<k} t_ik ||m_i - m_k||^2 / 4

    by one eigendecomposition. It has no parameter, but the answer depends on the units of
    the data: the first term is of fourth order in them, the second of second order. In
    large units the directions of least variance win, in small ones the differences of the
    means. It also depends on the number of rows. Scale features to [0, 1] as the paper does.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions, up to n_features; None takes min(n_classes - 1, n_features).

    Attributes
    ----------
    classes_, priors_, means_, xbar_, coef_, intercept_ : ndarray
        As in `sklearn.discriminant_analysis.LinearDiscriminantAnalysis`.
    scalings_ : ndarray of shape (n_features, n_components)
        Orthonormal directions, best first.
    n_iter_ : int
    status_ : {"converged"}

    References
    ----------
    .. [1] C.-N. Li, Y.-H. Shao, Z. Wang, N.-Y. Deng, "Robust Bhattacharyya bound linear
       discriminant analysis through adaptive algorithm", arXiv:1811.02384, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import minmax_scale
    >>> from cappedlda.paper.compared import L2BLDA
    >>> X, y = load_iris(return_X_y=True)
    >>> L2BLDA(n_components=3).fit_transform(minmax_scale(X), y).shape
    (150, 3)
    """

    def __init__(self, n_components: int | None = None) -> None:
        self.n_components = n_components

    def _solve(self, problem, n_components):
        return Directions(l2_bound_minimiser(problem, n_components))


def pair_weights(problem):
    """Return t_ik = sqrt(N_i N_k) / N, shape (c, c)."""
    roots = np.sqrt(problem.priors)
    return np.outer(roots, roots)


def l2_bound_minimiser(problem, n_components):
    """Return the minimiser of the L2 bound, shape (n, d)."""
    weights, M = pair_weights(problem), problem.deviations
    # sum_{i<k} t_ik (m_i - m_k)(m_i - m_k)', by the Laplacian of the weights
    between = (M * weights.sum(axis=1)) @ M.T - M @ weights @ M.T
    delta = np.trace(between) / 4.0
    bound = delta * problem.within_scatter() - between
    return linalg.eigh(bound, subset_by_index=[0, n_components - 1], check_finite=False)[1]
