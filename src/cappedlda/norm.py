"""CappedNormLDA: the minimiser of the capped l2,q norm."""

from __future__ import annotations

from typing import Literal

import numpy as np

from cappedlda._estimator import CappedDiscriminant, as_cap, check_implicit
from cappedlda._fit import Objective, Options, fit_norm
from cappedlda._model.switching import SwitchingHints
from cappedlda._typing import ArrayLike
from cappedlda._validation import check_choice, check_count, check_epsilon, check_real, check_start

ITERATION_RIDGE = 1e-4  # ridge of the iteration, relative to the mean within-class variance


class CappedNormLDA(SwitchingHints, CappedDiscriminant):
    """Linear discriminant analysis by the capped l2,q norm itself.

    It minimises the capped norm of the rows about their class centres, with the projected centres
    held fixed, by majorization-minimization: the objective never rises. Use it to study the norm;
    for your data, use `CappedLDA`, which is as robust and has fewer parameters.

    Parameters
    ----------
    n_components : int, default=None
        See `CappedLDA`.
    q : float, default=1.0
        Exponent of the norm, 0 < q <= 2. 1 is the paper's norm, 2 is trimmed linear discriminant
        analysis.
    epsilon : "auto" or float, default="auto"
        The cap, beyond which a row does not count; see `CappedLDA`. inf caps nothing.
    centres : {"kept", "mean"}, default="kept"
        Class centres: means of the rows that are not left out, or of all rows. With
        ``epsilon=inf`` no row is left out, and "mean" is an error.
    start : {"robust", "lda", "identity"} or array of shape (n_features, directions), \
default="robust"
        Where the iteration starts. Only "robust" withstands outliers; the others start from
        all rows.
    ridge : "auto" or float, default="auto"
        Ridge relative to the mean within-class variance of the scaled features; "auto" is 1e-4.
    max_iter : int, default=100
        Largest number of iterations.
    tol : float, default=1e-4
        The iteration ends when the projected rows change by less than this share of
        their spread.
    priors : "uniform" or array-like of shape (n_classes,), default=None
        See `CappedLDA` for this and the following parameters.
    n_jobs : int, default=None
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    weights_ : ndarray of shape (n_samples,)
        Weight of each training row in the norm: q times its distance to the power of q - 2, or 0
        beyond the cap.
    left_out_ : ndarray of shape (n_samples,), bool
        Training rows beyond the cap or the gate, which have weight 0.
    objective_path_ : ndarray of shape (n_evaluations,)
        Objective after each iteration with fixed centres and cap. It never rises, except by
        rounding.
    n_iter_ : int
        Iterations over all rows, not counting those on a sample.
    classes_, scalings_, outliers_, ...
        The other attributes of `CappedLDA`, except `covariance_` and `shrinkage_`.

    See Also
    --------
    CappedLDA : The robust discriminant analysis to use.
    cappedlda.paper.CLDA : The published algorithm for the same norm with q = 1.
    cappedlda.paper.capped_norm : The norm of a matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedNormLDA
    >>> X, y = load_wine(return_X_y=True)
    >>> X[::20] *= -5.0  # spoil every twentieth row
    >>> lda = CappedNormLDA(q=1.0).fit(X, y)
    >>> bool(np.all(np.diff(lda.objective_path_) <= 1e-12))
    True
    >>> bool(lda.left_out_[::20].all())
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        q: float = 1.0,
        epsilon: float | Literal["auto"] = "auto",
        centres: Literal["kept", "mean"] = "kept",
        start: Literal["robust", "lda", "identity"] | ArrayLike = "robust",
        ridge: float | Literal["auto"] = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        priors: ArrayLike | Literal["uniform"] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.q = q
        self.epsilon = epsilon
        self.centres = centres
        self.start = start
        self.ridge = ridge
        self.max_iter = max_iter
        self.tol = tol
        self.priors = priors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _solve(self, rows, priors, n_components, n_directions):
        start = check_start(self.start, (rows.shape[1], n_directions))
        check_implicit(rows, n_components, n_directions)
        ridge = ITERATION_RIDGE if self.ridge == "auto" else self.ridge
        options = Options(
            priors=priors,
            start=start,
            n_components=n_components,
            renew_centres=self.centres == "kept",
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
            report=self._report(rows),
        )
        return fit_norm(rows, Objective(float(self.q), as_cap(self.epsilon), ridge), options)

    def _check_parameters(self):
        super()._check_parameters()
        check_epsilon(self.epsilon)
        check_real("q", self.q, 0.0, 2.0, "use 0 < q <= 2")
        check_choice("centres", self.centres, ("kept", "mean"))
        if self.centres == "mean" and self.epsilon == np.inf:
            raise ValueError(
                "centres='mean' has no effect with epsilon=inf, which keeps all rows; use "
                'centres="kept".'
            )
        if self.ridge != "auto":
            check_real("ridge", self.ridge, 0.0, 1e3, 'use "auto" or a small positive number')
        check_real("tol", self.tol, 0.0, 1.0, "use a small positive number")
        check_count("max_iter", self.max_iter, 1, np.inf, "use a positive integer")
