"""Linear discriminant analysis with a ridge."""

import numpy as np
from scipy import linalg

from cappedlda._metrics.linalg import leading_directions, solve_spd
from cappedlda._validation import check_real
from cappedlda.paper.compared._method import LARGEST, POSITIVE, Directions, FisherMethod


class RDA(FisherMethod):
    """Regularised linear discriminant analysis: LDA with a ridge.

    Takes the leading directions of ``S_b w = mu (S_w + gamma I) w``. The paper cites
    Friedman's regularised discriminant analysis, which is a classifier with two
    parameters; what it uses has one parameter on the grid 1e-5, ..., 10, which is read as
    this ridge.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions; None takes min(n_classes - 1, n_features), the most there are.
    gamma : float, default=1e-2
        The ridge, in squared units of the features; the paper scales them to [0, 1].

    Attributes
    ----------
    classes_, priors_, means_, xbar_, coef_, intercept_ : ndarray
        As in `sklearn.discriminant_analysis.LinearDiscriminantAnalysis`.
    scalings_ : ndarray of shape (n_features, n_components)
        Directions, best first, with ``W'(S_w + gamma I) W = I``.
    n_iter_ : int
    status_ : {"converged", "rank_deficient"}

    References
    ----------
    .. [1] J. H. Friedman, "Regularized discriminant analysis", Journal of the American
       Statistical Association 84, 1989.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda.paper.compared import RDA
    >>> X, y = load_iris(return_X_y=True)
    >>> RDA(gamma=0.1).fit(X, y).transform(X).shape
    (150, 2)
    """

    _lies_in_span = True

    def __init__(self, n_components: int | None = None, *, gamma: float = 1e-2) -> None:
        self.n_components = n_components
        self.gamma = gamma

    def _check_parameters(self):
        check_real("gamma", self.gamma, 0.0, LARGEST, POSITIVE)

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
