"""The methods that take one decomposition: LDA, LDA with a ridge, and the L2 bound."""

import numpy as np
from scipy import linalg

from cappedlda._metrics.linalg import RANK_CUTOFF, leading_directions, solve_spd
from cappedlda.paper.compared._method import ComparedMethod, Directions


class LDA(ComparedMethod):
    """Linear discriminant analysis.

    Maximises ``tr((W'S_w W)^{-1} W'S_b W)``. The within-class scatter is whitened by a
    singular value decomposition of the centred rows and never formed. Where it is singular
    its pseudo-inverse is used, which discards directions without within-class scatter.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions; None takes min(n_classes - 1, n_features), the most there are.

    Attributes
    ----------
    classes_, priors_, means_, xbar_, coef_, intercept_ : ndarray
        As in `sklearn.discriminant_analysis.LinearDiscriminantAnalysis`.
    scalings_ : ndarray of shape (n_features, n_components)
        Directions, best first, with ``W'S_w W = I``.
    n_iter_ : int
    status_ : {"converged", "max_iter", "rank_deficient"}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda.paper.compared import LDA
    >>> X, y = load_iris(return_X_y=True)
    >>> LDA(n_components=1).fit(X, y).transform(X).shape
    (150, 1)
    """

    _only_supervised = True

    def __init__(self, n_components: int | None = None) -> None:
        self.n_components = n_components

    def _solve(self, problem, n_components):
        rows = problem.rows
        H = rows.X - problem.means[rows.codes]
        scale = np.sqrt(np.mean(H**2, axis=0))
        scale[scale == 0.0] = 1.0
        H /= scale * np.sqrt(len(H))
        _, values, vectors = linalg.svd(
            H, full_matrices=False, overwrite_a=True, check_finite=False
        )
        kept = values > RANK_CUTOFF * values[0]
        if not kept.any():
            raise ValueError(
                "No row differs from the mean of its class, so that there is no within-class "
                "scatter to compare with; use RDA."
            )
        whitener = (vectors[kept] / values[kept, None]).T / scale[:, None]
        left, values, _ = linalg.svd(
            whitener.T @ problem.between_factor, full_matrices=False, check_finite=False
        )
        rank = np.sum(values > RANK_CUTOFF * values[0])
        return Directions(whitener @ left[:, : min(n_components, rank)])


class RDA(ComparedMethod):
    """Regularised linear discriminant analysis: LDA with a ridge.

    Takes the leading directions of ``S_b w = mu (S_w + gamma I) w``, which have
    ``W'(S_w + gamma I) W = I``. The paper cites Friedman ("Regularized discriminant analysis",
    JASA 84, 1989), whose classifier has two parameters. The method it uses has one, on the grid
    1e-5, ..., 10, which is read as this ridge.

    Parameters
    ----------
    n_components : int, default=None
        As in `LDA`, and so are the attributes.
    gamma : float, default=1e-2
        The ridge, in squared units of the features; the paper scales them to [0, 1].

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda.paper.compared import RDA
    >>> X, y = load_iris(return_X_y=True)
    >>> RDA(gamma=0.1).fit(X, y).transform(X).shape
    (150, 2)
    """

    _lies_in_span = True
    _only_supervised = True

    def __init__(self, n_components: int | None = None, *, gamma: float = 1e-2) -> None:
        self.n_components = n_components
        self.gamma = gamma

    def _solve(self, problem, n_components):
        A = problem.within_scatter() / problem.sizes.sum()
        A[np.diag_indices_from(A)] += self.gamma
        B = problem.between_factor
        try:
            W = leading_directions(solve_spd(A, B), B)
        except linalg.LinAlgError as error:
            raise ValueError(
                f"gamma={self.gamma!r} is too small for the units of these data, whose scatter "
                f"is singular; increase gamma or scale the features."
            ) from error
        return Directions(W[:, :n_components])


class L2BLDA(ComparedMethod):
    """Discriminant analysis by the L2 Bhattacharyya bound.

    Minimises over orthonormal W, by one eigendecomposition (Li, Shao, Wang, Deng, "Robust
    Bhattacharyya bound linear discriminant analysis through adaptive algorithm",
    arXiv:1811.02384, 2018)::

        delta sum_j ||W'h_j||^2 - sum_{i<k} t_ik ||W'(m_i - m_k)||^2,
        t_ik = sqrt(N_i N_k) / N,   delta = sum_{i<k} t_ik ||m_i - m_k||^2 / 4

    The answer depends on the number of rows and on the units of the data: the first term is of
    fourth order in them, the second of second order. In large units the directions of least
    variance win, in small ones the differences of the means. Scale features to [0, 1] as the
    paper does.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions, up to n_features; None takes min(n_classes - 1, n_features). The
        attributes are those of `LDA`.

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
