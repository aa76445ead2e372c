"""CappedLDA: linear discriminant analysis for dirty data."""

from __future__ import annotations

from typing import Literal

import numpy as np

from cappedlda._estimator import CappedDiscriminant
from cappedlda._fit import Objective, Options, fit_mm
from cappedlda._switching import SwitchingHints
from cappedlda._typing import ArrayLike
from cappedlda._validation import (
    check_choice,
    check_count,
    check_epsilon,
    check_flag,
    check_real,
    check_seed,
    check_shrinkage,
    check_start,
)

# Ridge of the iteration, relative to the mean within-class variance; the answer needs none.
ITERATION_RIDGE = 1e-4


class CappedLDA(SwitchingHints, CappedDiscriminant):
    """Robust linear discriminant analysis with a capped norm.

    Rows that lie unusually far from their class are flagged (`outliers_`). Rows beyond the
    distance at which they begin to harm the classification of those the fit trusts are left
    out (`left_out_`); most of them are flagged. The answer is plain linear discriminant
    analysis on all other rows: on clean data it is what that gives, on dirty data nearly what
    it would give without the dirt.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions, up to n_features. None takes all supervised ones,
        min(n_classes - 1, n_features). Columns are nested: fewer are the first ones of
        more. Directions beyond the supervised ones are those of least scatter that do
        not see the classes at all.
    epsilon : "auto" or float, default="auto"
        Largest distance of a row that counts, in robust within-class standard deviations
        of the projected data. "auto" takes a fence on the distances that up to half of the
        rows cannot move. inf caps nothing and leaves out nothing: that is plain linear
        discriminant analysis for any q (unless `polish` is False). With ``solver="paper"``
        it is in the paper's own units and caps the class means too.
    q : float, default=1.0
        Exponent of the capped l_{2,q} norm, 0 < q <= 2. 1 is the paper's norm, 2 is
        trimmed linear discriminant analysis. Not used by ``solver="paper"``. With fewer
        than two rows per feature and epsilon "auto", 2 is used: the directions can follow
        every row there, and lower norms would only choose which.
    centers : {"kept", "mean"}, default="kept"
        Class centres: the means of the kept rows, or of all rows.
    start : {"robust", "lda", "identity"} or array of shape (n_features, directions), \
default="robust"
        Where the iteration starts. Only "robust" withstands rows that are far off: the
        others begin with all rows. ``solver="paper"`` starts from the identity unless an
        array is given.
    ridge : "auto" or float, default="auto"
        Ridge relative to the mean within-class variance of the scaled features, for the
        iteration and the answer. "auto" takes 1e-4 for the iteration and none for the answer,
        as long as there are five rows per feature: directions that are only rounding are
        dropped instead.
    polish : bool, default=True
        End with plain discriminant analysis on the rows that are not left out. It is as
        robust as the capped norm, and more efficient. False returns the minimiser of the
        capped norm itself.
    leave_out : {"harmful", "flagged"}, default="harmful"
        Which rows outside the caps and the gate are left out of the fit. "harmful" leaves
        out only those that would harm the classification of the rows inside, judged by exact
        leave-one-out. "flagged" leaves out all of them; with long tails these are a few more
        than `outliers_`, whose fence is wider than the gate. So does any fit with a numeric
        epsilon, ``polish=False``, ``solver="paper"``, another start than "robust", sparse X
        of more than 1000 features, or more features than rows and than 1000.
    shrinkage : "few_rows", "auto", float or None, default="few_rows"
        How the within-class covariance of `polish` is shrunk towards a multiple of the identity,
        in units of the features. "few_rows" shrinks with fewer than five rows per feature and up
        to 1000 features, by the oracle approximating rule (OAS). The other values are those of
        `LinearDiscriminantAnalysis`: "auto" is the rule of Ledoit and Wolf, a number from 0 to 1
        a fixed amount, None nothing.
    priors : "uniform" or array-like of shape (n_classes,), default=None
        Class probabilities; None takes the shares of the training data, "uniform" the same
        for every class.
    max_iter : int, default=100
        Largest number of iterations of the capped norm.
    tol : float, default=1e-4
        The iteration ends when the projected rows change by less than this share of
        their spread; before `polish`, thirty times it (``solver="paper"``: the ratio by less
        than a hundredth of it).
    n_jobs : int, default=None
        Threads; None uses as many as the process may. Fits at once share the cores. The
        result is the same bit for bit.
    random_state : int, RandomState instance or None, default=None
        Chooses the sample of rows that large data are first fitted on. None is a fixed
        choice: the same data give the same result.
    verbose : int, default=0
        1 prints one line per iteration, 2 also how far a long pass has
        come (not with dask, nor for sparse X of more than 1000 features).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    priors_ : ndarray of shape (n_classes,)
    means_ : ndarray of shape (n_classes, n_features)
        Class centres.
    xbar_ : ndarray of shape (n_features,)
        Overall centre, the mean of `means_` weighted by `priors_`.
    scalings_ : ndarray of shape (n_features, n_components)
        Discriminant directions, best first.
    covariance_ : ndarray of shape (n_features, n_features)
        Within-class covariance of the rows that are not left out, about `means_`, divided by
        their weight and not shrunk. Not with `polish` False or ``solver="paper"``, nor for
        more than 1000 features if these are sparse or more than the rows.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the between-class variance along each direction.
    coef_ : ndarray of shape (n_classes, n_features) or (1, n_features)
    intercept_ : ndarray of shape (n_classes,) or (1,)
    epsilon_ : float
        The cap.
    caps_ : ndarray of shape (n_classes,)
        The cap of each class: `epsilon_`, or more for a class that spreads more.
    weights_ : ndarray of shape (n_samples,)
        Weight of each training row in the within-class scatter that the directions come from:
        0 if it is left out. With `polish` all other rows weigh the same.
    distances_ : ndarray of shape (n_samples,)
        Distance of each training row from the centre of its class, in the discriminant space
        of the rows that the fit trusts (for large data, of all rows that are not left out).
    outliers_ : ndarray of shape (n_samples,), bool
        Flagged training rows: unusual ones, beyond the cap of their class or far off in all
        features together. They are worth a look, but not necessarily left out.
    left_out_ : ndarray of shape (n_samples,), bool
        Training rows that were left out of the fit because their presence hurts.
    leave_out_level_ : float
        Multiple of caps and gate beyond which rows are left out; inf if nothing could be, which a
        sample cannot say.
    q_ : float
        The exponent that was used: `q`, or 2 with few rows per feature.
    shrinkage_ : float
        By how much the last within-class scatter was shrunk towards a multiple of the identity,
        from 0 to 1; 0 if it was not.
    n_sampled_ : int
        Rows of the sample that the fit began with, 0 if it used all rows throughout.
    objective_path_ : ndarray of shape (n_evaluations,)
        Objective of the iterations since centres and cap were frozen, on the sample if there is
        one. Up to rounding it never rises (``solver="mm"``).
    n_iter_ : int
        Iterations of the capped norm, on the sample if there is one.
    n_passes_ : int
        Passes over all rows that the iterations (if there is no sample), `polish` and the
        evaluation took; the start, and the draw of the sample, come before them.
    status_ : {"converged", "max_iter", "saturated", "all_capped", "rank_deficient"}
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : The classical method.

    References
    ----------
    .. [1] J. Liu, X. Xiong, P.-W. Ren, D. Zhao, C.-N. Li, Y.-H. Shao, "Capped norm linear
       discriminant analysis and its applications", Applied Intelligence, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDA
    >>> X, y = load_wine(return_X_y=True)
    >>> X[::20] *= -5.0  # spoil every twentieth row
    >>> lda = CappedLDA().fit(X, y)
    >>> np.flatnonzero(lda.outliers_)
    array([  0,  20,  40,  60,  80, 100, 120, 140, 160])
    >>> lda.transform(X).shape
    (178, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        epsilon: float | Literal["auto"] = "auto",
        q: float = 1.0,
        centers: Literal["kept", "mean"] = "kept",
        start: Literal["robust", "lda", "identity"] | ArrayLike = "robust",
        ridge: float | Literal["auto"] = "auto",
        polish: bool = True,
        leave_out: Literal["harmful", "flagged"] = "harmful",
        shrinkage: float | Literal["few_rows", "auto"] | None = "few_rows",
        priors: ArrayLike | Literal["uniform"] | None = None,
        max_iter: int = 100,
        tol: float = 1e-4,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.q = q
        self.centers = centers
        self.start = start
        self.ridge = ridge
        self.polish = polish
        self.leave_out = leave_out
        self.shrinkage = shrinkage
        self.priors = priors
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _solve(self, rows, priors, n_components, n_directions):
        start = check_start(self.start, (rows.shape[1], n_directions))
        if rows.implicit_scatter:
            self._check_implicit(n_components, n_directions, rows)
        epsilon = self.epsilon if isinstance(self.epsilon, str) else float(self.epsilon)
        options = self._options(rows, priors, start, n_components)
        return fit_mm(rows, self._objective(self.q, epsilon), options)

    def _objective(self, q, epsilon="auto"):
        ridge = ITERATION_RIDGE if self.ridge == "auto" else self.ridge
        return Objective(float(q), epsilon, ridge)

    def _options(self, rows, priors, start, n_components):
        return Options(
            priors=priors,
            start=start,
            n_components=n_components,
            polish=self.polish,
            leave_out=self.leave_out,
            shrinkage=self.shrinkage,
            ridge=0.0 if self.ridge == "auto" else self.ridge,
            renew_centres=self.centers == "kept",
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
            report=self._report(rows),
        )

    def _check_parameters(self):
        check_epsilon(self.epsilon)
        check_real("q", self.q, 0.0, 2.0, "use 0 < q <= 2")
        self._check_common_parameters()

    def _check_common_parameters(self):
        super()._check_parameters()
        if self.random_state is not None:  # to make one takes longer than all other checks
            check_seed(self.random_state)
        check_choice("centers", self.centers, ("kept", "mean"))
        if self.ridge != "auto":
            check_real("ridge", self.ridge, 0.0, 1e3, 'use "auto" or a small positive number')
        check_shrinkage(self.shrinkage)
        check_choice("leave_out", self.leave_out, ("harmful", "flagged"))
        check_real("tol", self.tol, 0.0, 1.0, "use a small positive number")
        check_flag("polish", self.polish)
        check_count("max_iter", self.max_iter, 1, np.inf, "use a positive integer")

    def _check_implicit(self, n_components, n_directions, rows):
        most = rows.regime.most_dense_features
        many = f"X is sparse and has n_features={rows.shape[1]}, more than {most}"
        if self.shrinkage not in ("few_rows", None):
            raise ValueError(f"{many}, too many for shrinkage={self.shrinkage!r}; use ridge.")
        if n_components > n_directions:
            raise ValueError(
                f"{many}, too many for n_components={n_components}, which asks for unsupervised "
                f"directions; use None or at most {n_directions}."
            )
