"""CLDA: capped norm linear discriminant analysis, as published."""

from __future__ import annotations

from typing import Literal

import numpy as np

from cappedlda._estimator import CappedDiscriminant, as_cap
from cappedlda._fit.result import evaluate
from cappedlda._solvers.base import iterate
from cappedlda._typing import ArrayLike
from cappedlda._validation import check_count, check_epsilon, check_real, check_start
from cappedlda.paper._iteration import PaperIteration


class CLDA(CappedDiscriminant):
    """Capped norm linear discriminant analysis: Algorithm 1 of the paper, as published.

    It minimises the ratio of two capped l2,1 norms: of the rows about their class means, and of
    the class means about the overall mean. One epsilon caps both. The iteration need not settle,
    and it may fail: `status_` says how. It is here to be compared with; for data of your own use
    `CappedLDA`.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions, up to n_features; None is min(n_classes - 1, n_features). No more
        than n_classes - 1 are defined.
    epsilon : "auto" or float, default="auto"
        Largest distance that counts, in the units of the projected data, which the iteration
        itself changes. "auto" is a fence on the distances under the start.
    max_iter : int, default=100
    tol : float, default=1e-6
        The iteration ends when the ratio changes by less than this share.
    start : "identity" or array of shape (n_features, n_components), default="identity"
        The paper starts from the first columns of the identity.
    priors : "uniform" or array-like of shape (n_classes,), default=None
        Class probabilities; None takes the shares of the training data. Only `predict` and its
        like depend on them.
    n_jobs : int, default=None
        See `CappedLDA` for this and `verbose`.
    verbose : int, default=0

    Attributes
    ----------
    scalings_ : ndarray of shape (n_features, n_components)
        The projection.
    means_ : ndarray of shape (n_classes, n_features)
        Class means of all rows.
    epsilon_ : float
        The cap.
    weights_ : ndarray of shape (n_samples,)
        The paper's F: one over the distance of a row, 0 beyond the cap.
    objective_path_ : ndarray of shape (n_iterations,)
        The ratio, which may rise.
    status_ : {"converged", "max_iter", "saturated", "all_capped", "rank_deficient"}
        "saturated" if every class mean, "all_capped" if every row is beyond the cap.
    classes_, coef_, outliers_, ...
        The other attributes of `CappedNormLDA`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda.paper import CLDA
    >>> X, y = load_iris(return_X_y=True)
    >>> lda = CLDA(epsilon=float("inf")).fit(X, y)
    >>> lda.status_
    'converged'
    >>> lda.transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        epsilon: float | Literal["auto"] = "auto",
        max_iter: int = 100,
        *,
        tol: float = 1e-6,
        start: Literal["identity"] | ArrayLike = "identity",
        priors: ArrayLike | Literal["uniform"] | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.tol = tol
        self.start = start
        self.priors = priors
        self.n_jobs = n_jobs
        self.verbose = verbose

    _warns_of_losses = False

    def _solve(self, rows, priors, n_components, n_directions):
        n_features = rows.shape[1]
        rows.check_has_matrix("CLDA; use CappedLDA.")
        start = check_start(self.start, (n_features, n_components), ("identity",))
        W = np.eye(n_features, n_components) if isinstance(start, str) else start
        rows.check_finite()
        solver = PaperIteration(rows, W, as_cap(self.epsilon), self.tol)
        trace = iterate(rows, solver, self.max_iter, self._report(rows))
        trace.n_passes += 2  # for the floor and the cap
        return evaluate(rows, solver, trace, n_components)

    def _n_supervised(self, n_components, n_directions):
        return n_components  # which the algorithm takes as given

    def _check_parameters(self):
        super()._check_parameters()
        check_epsilon(self.epsilon)
        check_real("tol", self.tol, 0.0, 1.0, "use a small positive number")
        check_count("max_iter", self.max_iter, 1, np.inf, "use a positive integer")
