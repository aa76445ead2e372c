"""CappedLDA: linear discriminant analysis for dirty data."""

from __future__ import annotations

from typing import Literal

import numpy as np

from cappedlda._estimator import CappedDiscriminant, as_cap, check_implicit, too_many
from cappedlda._fit import Objective, Options, fit_capped
from cappedlda._switching import SwitchingHints
from cappedlda._typing import ArrayLike
from cappedlda._validation import check_choice, check_epsilon, check_seed, check_shrinkage


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
        rows cannot move. A number leaves out all rows beyond it. inf caps nothing and leaves
        out nothing: with ``cells="all"`` that is plain linear discriminant analysis.
    leave_out : {"harmful", "flagged"}, default="harmful"
        Which rows are left out of the fit if epsilon is "auto". "harmful" leaves out only rows
        that would harm the classification of those inside cap and gate, judged by exact
        leave-one-out; sparse X of more than 1000 features loses all rows outside instead.
        "flagged" leaves out the rows that are flagged. With a number as epsilon there is nothing
        to choose: all rows beyond it are left out, and "flagged" is an error.
    shrinkage : "few_rows", "auto", float or None, default="few_rows"
        How the within-class covariance is shrunk towards a multiple of the identity, in units
        of the features. "auto" takes the mean over the classes of what Ledoit and Wolf advise,
        "few_rows" the same with up to 2.5 rows per feature, less with more, and nothing from five
        on. A number from 0 to 1 is a fixed amount, None is none.
    priors : "uniform" or array-like of shape (n_classes,), default=None
        Class probabilities; None takes the shares of the training data, "uniform" the same
        for every class.
    cells : {"capped", "all"}, default="capped"
        What single cells of new rows may do. "capped" ignores a cell that does not fit the other
        cells of its row: one that is more than `cell_cuts_` standard deviations from what they let
        expect, class by class. At most half of the cells of a row are ignored, and each counts
        like one at that limit. A row without such a cell is predicted by the linear rule. "all" is
        the linear rule for all rows. So is "capped" for sparse X, whose zeros are no measurements,
        and where the fit knows no covariance of all features: with more features than rows,
        more than 1000 sparse features, or no class of two rows.
    missing : {"error", "ignore"}, default="error"
        What NaN means in new rows. "ignore" predicts from the other cells, and takes infinite
        cells for wrong ones (for an error with ``cells="all"``). Both are errors where there is
        no covariance, and for sparse X. `fit` does not take either.
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
        their weight and not shrunk. Not for more than 1000 features if these are sparse or more
        than the rows.
    cell_cuts_ : ndarray of shape (n_features,)
        Standard deviations from what the other cells of a row let expect, beyond which a cell of
        a new row is ignored: 5, or more for features with long tails if 5 would cost more than
        1 % of the training rows; inf if none is ignored.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the between-class variance along each direction.
    coef_ : ndarray of shape (n_classes, n_features) or (1, n_features)
    intercept_ : ndarray of shape (n_classes,) or (1,)
    epsilon_ : float
        The cap.
    caps_ : ndarray of shape (n_classes,)
        Largest distance of a row of each class that is not flagged. With an automatic epsilon it
        is 1.5 times the fence of the class.
    weights_ : ndarray of shape (n_samples,)
        0 for training rows that are left out, 1 for all others.
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
    shrinkage_ : float
        By how much the last within-class scatter was shrunk towards a multiple of the identity,
        from 0 to 1; 0 if it was not.
    n_sampled_ : int
        Rows of the sample that the fit began with, 0 if it used all rows throughout.
    objective_path_ : ndarray of shape (n_evaluations,)
        Mean of the capped squared distances at each LDA on the rows inside, on the sample if
        there is one.
    n_iter_ : int
        How often LDA was fitted to the rows inside until they stayed the same, on the sample if
        there is one.
    n_passes_ : int
        Passes over all rows that the iterations (if there is no sample), the answer and the
        evaluation took; the start, and the draw of the sample, come before them.
    status_ : {"converged", "max_iter", "rank_deficient"}
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    CappedLDACV : Its cap and number of directions chosen by cross-validation.
    CappedNormLDA : The minimiser of the capped norm itself.
    cappedlda.paper.CLDA : The published algorithm.
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

    shrinkage_: float

    def __init__(
        self,
        n_components: int | None = None,
        *,
        epsilon: float | Literal["auto"] = "auto",
        leave_out: Literal["harmful", "flagged"] = "harmful",
        shrinkage: float | Literal["few_rows", "auto"] | None = "few_rows",
        priors: ArrayLike | Literal["uniform"] | None = None,
        cells: Literal["capped", "all"] = "capped",
        missing: Literal["error", "ignore"] = "error",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.leave_out = leave_out
        self.shrinkage = shrinkage
        self.priors = priors
        self.cells = cells
        self.missing = missing
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _solve(self, rows, priors, n_components, n_directions):
        if rows.implicit_scatter:
            check_implicit(rows, n_components, n_directions)
            if self.shrinkage not in ("few_rows", None):
                raise ValueError(
                    f"{too_many(rows)} for shrinkage={self.shrinkage!r}; use None or 'few_rows'."
                )
        options = self._options(rows, priors, n_components)
        return fit_capped(rows, Objective(epsilon=as_cap(self.epsilon)), options)

    def _options(self, rows, priors, n_components):
        return Options(
            priors=priors,
            n_components=n_components,
            leave_out=self.leave_out,
            shrinkage=self.shrinkage,
            random_state=self.random_state,
            report=self._report(rows),
        )

    def _store(self, rows, solution, n_components, n_supervised):
        super()._store(rows, solution, n_components, n_supervised)
        self.shrinkage_ = float(solution.shrinkage)

    def _check_parameters(self):
        self._check_common_parameters()
        check_epsilon(self.epsilon)
        if self.leave_out == "flagged" and self.epsilon != "auto":
            what = "nothing" if self.epsilon == np.inf else "all rows beyond it"
            raise ValueError(
                f"leave_out='flagged' means nothing with epsilon={self.epsilon!r}, which leaves "
                f'out {what}; use epsilon="auto", or leave_out="harmful".'
            )

    def _check_common_parameters(self):
        super()._check_parameters()
        if self.random_state is not None:  # to make one takes longer than all other checks
            check_seed(self.random_state)
        check_choice("leave_out", self.leave_out, ("harmful", "flagged"))
        check_shrinkage(self.shrinkage)
        check_choice("cells", self.cells, ("capped", "all"))
        check_choice("missing", self.missing, ("error", "ignore"))
