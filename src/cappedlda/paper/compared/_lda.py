"""Linear discriminant analysis."""

import numpy as np
from scipy import linalg

from cappedlda._metrics.linalg import RANK_CUTOFF
from cappedlda.paper.compared._method import Directions, FisherMethod


class LDA(FisherMethod):
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
    status_ : {"converged", "rank_deficient"}

    See Also
    --------
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Same subspace, more options.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda.paper.compared import LDA
    >>> X, y = load_iris(return_X_y=True)
    >>> LDA(n_components=1).fit(X, y).transform(X).shape
    (150, 1)
    """

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
        cholesky_whitener = (vectors[kept] / values[kept, None]).T / scale[:, None]
        left, values, _ = linalg.svd(
            cholesky_whitener.T @ problem.between_factor, full_matrices=False, check_finite=False
        )
        rank = np.sum(values > RANK_CUTOFF * values[0])
        return Directions(cholesky_whitener @ left[:, : min(n_components, rank)])
