"""CappedLDA: linear discriminant analysis for dirty data."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from cappedlda._estimator import CappedDiscriminant, as_cap, check_implicit
from cappedlda._fit import Objective, Options, fit_capped
from cappedlda._model import labels
from cappedlda._model.discriminant import by_rows
from cappedlda._model.switching import SwitchingHints
from cappedlda._typing import ArrayLike, Bools, Floats, Labels, MatrixLike
from cappedlda._validation import check_choice, check_epsilon, check_word_or_real


class CappedLDA(SwitchingHints, CappedDiscriminant):
    """Robust linear discriminant analysis with a capped norm.

    Rows that lie unusually far from their class are flagged (`outliers_`). The fit then drops
    only the rows, mostly flagged ones, that would make it classify the rest worse
    (`left_out_`). The result is plain linear discriminant analysis on all other rows.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions, up to n_features. None takes all min(n_classes - 1, n_features)
        supervised ones, a smaller number the first of them. Any further directions are
        unsupervised: those of least scatter within the classes.
    epsilon : "auto" or float, default="auto"
        The cap: how far a row may lie from the centre of its class in the discriminant space,
        in robust standard deviations within the classes. "auto" learns it from the nearer half
        of each class and the rows around it. A number leaves out all rows beyond it. inf leaves
        out nothing; with ``cells="all"`` that is plain linear discriminant analysis.
    leave_out : {"harmful", "flagged"}, default="harmful"
        Which rows the fit leaves out if epsilon is "auto": those that would make it classify the
        rows inside cap and gate worse, by exact leave-one-out, or all flagged ones. "flagged" is
        an error with a number as epsilon. For sparse X with more than 1000 features, "harmful"
        leaves out every row outside cap or gate.
    shrinkage : "few_rows", "auto", "agreement", float or None, default="few_rows"
        How much to shrink the within-class covariance towards a multiple of the identity, with
        each feature in its own unit: a number from 0 to 1, or None for not at all. "auto" uses
        the Ledoit-Wolf estimate, averaged over the classes. "few_rows" does the same with up to
        2.5 rows per feature, shrinks less with more rows, and not at all with five. "agreement"
        takes the amount for which leave-one-out scores agree most with the labels.
    priors : "uniform" or array-like of shape (n_classes,), default=None
        Class probabilities. None takes the class shares of the training data; "uniform" gives
        every class the same.
    cells : {"capped", "all"}, default="capped"
        How to treat single wrong cells (see the guide on cells). "capped" ignores cells of a
        new row that are more than `cell_cuts_` standard deviations from the value that its other
        cells predict for the class. Each costs the class as much as a cell at that limit. In
        training, where many rows have a cell far off and the fit is notably better without such
        cells, they are replaced by what the others predict (`wrong_cells_`). "all" uses all cells
        as they are. So does "capped" for new rows in sparse X, and where the model has no
        covariance of all features: with more features than rows, more than 1000 sparse features,
        or no class with two rows.
    missing : {"error", "ignore"}, default="error"
        How to treat NaN. "ignore" predicts a row from its other cells, and fits a row with
        missing cells drawn from what the others predict. It treats infinite cells of new rows as
        wrong ones, or raises an error with ``cells="all"``. NaN is always an error in sparse X,
        without a covariance of all features, and in fits to anything but arrays and frames in
        memory or by `CappedLDACV`. Infinity is always an error in `fit`.
    label_noise : "auto", float or None, default=None
        Whether to look for wrong labels. "auto" estimates their rate and which labels are wrong,
        by leave-one-out. If it finds any, the last step weights each row by the probability that
        its label is right, unless that classifies the rows worse, and ``shrinkage="few_rows"``
        then means "agreement". If it finds none, the fit is the same as with None, bit for bit. A
        number between 0 and 0.5 is a first guess of the rate, and takes for granted that there are
        wrong labels and that weights help. This needs 20 rows per class on average that are
        neither left out nor unlike all others. It does not work with ``epsilon=inf``, nor for
        sparse X with more than 1000 features.
    n_jobs : int, default=None
        Number of threads; None uses all cores available to the process. Fits that run at the
        same time share them. The result is the same, bit for bit, for any number.
    random_state : int, RandomState instance or None, default=None
        Chooses the sample that a fit to large data starts with; None is a fixed choice.
    verbose : int, default=0
        1 prints one line per iteration. 2 also shows the progress of long passes (not with
        dask, nor for sparse X with more than 1000 features).

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
        their weight and not shrunk. Not available for more than 1000 features if X is sparse or
        has fewer rows than features.
    cell_cuts_ : ndarray of shape (n_features,)
        Limits of cells of new rows: 4.5, more for features with long tails if 4.5 would
        misclassify notably more training rows, or inf if no cell is ignored.
    wrong_cells_ : sparse array of shape (n_samples, n_features), bool
        Cells of training rows that the fit has replaced. Not available after `fit_chunks`, nor
        for dask.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the between-class variance along each direction.
    coef_ : ndarray of shape (n_classes, n_features) or (1, n_features)
    intercept_ : ndarray of shape (n_classes,) or (1,)
    epsilon_ : float
        The cap.
    caps_ : ndarray of shape (n_classes,)
        Largest distance of a row of each class that is not flagged; 1.5 times the cap of the
        class with ``epsilon="auto"``.
    weights_ : ndarray of shape (n_samples,)
        0 for training rows that are left out, 1 for all others. If `label_noise` gives rows less
        weight, it is `label_quality_` for those others, but at least 0.01, and 1 in classes of
        fewer than 10 rows. Missing and replaced cells are then filled in.
    distances_ : ndarray of shape (n_samples,)
        Distance of each training row from the centre of its class, in the discriminant space
        of the rows inside cap and gate (for large data, of all rows that are not left out).
    outliers_ : ndarray of shape (n_samples,), bool
        Flagged training rows: far from their class in the discriminant space, or in all
        features together. Look at them; the fit may still use them.
    left_out_ : ndarray of shape (n_samples,), bool
        Training rows that the fit did not use.
    label_noise_ : float
        Estimated rate of wrong labels among the rows that are not left out; 0 if none were
        found. The attributes on labels exist only if `label_noise` is not None.
    label_status_ : {"none", "found", "too_few_rows", "class_lost"}
        Whether wrong labels were found. "too_few_rows" and "class_lost" (nearly all labels of a
        class would be wrong) also give the fit of ``label_noise=None``, with a warning.
    label_gain_ : float
        Gain in log-likelihood from assuming that some labels are wrong.
    label_quality_ : ndarray of shape (n_samples,)
        Probability that the label of each training row is right, from leave-one-out distances;
        with ``n_sampled_ > 0``, from a fit to the sample. Rows that are left out, or have missing
        or replaced cells, are judged as new ones, by the method `label_quality`. The lowest are
        most worth checking. 1 for rows unlike any other. This and the next two are not available
        after `fit_chunks`, nor for dask or Spark.
    mislabelled_ : ndarray of shape (n_samples,), bool
        Rows whose label looks wrong: its quality is below 0.5, and wrong labels were found, or the
        row is left out and fits another class well. A row far inside another class is not proof of
        a wrong label.
    suggested_labels_ : ndarray of shape (n_samples,)
        The most likely other label for rows in `mislabelled_`, the given label for all others.
    leave_out_level_ : float
        Multiple of cap and gate beyond which rows are left out, inf for none. It is always finite
        if the fit starts with a sample.
    shrinkage_ : float
        How much the within-class covariance was shrunk, from 0 (not at all) to 1.
    n_sampled_ : int
        Rows of the sample that the fit started with; 0 if it used all rows throughout.
    objective_path_ : ndarray of shape (n_evaluations,)
        Mean capped squared distance after each LDA of the iteration, on the sample if any.
    n_iter_ : int
        Number of LDA fits until the rows inside the cap stayed the same, on the sample if any.
    n_passes_ : int
        Passes over all rows, not counting the initial estimate and drawing the sample. With a
        sample, `label_quality_` takes one.
    status_ : {"converged", "max_iter", "rank_deficient"}
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    CappedLDACV : Chooses the cap and the number of directions by cross-validation.
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
    label_noise_: float
    label_status_: str
    label_gain_: float
    label_quality_: Floats
    mislabelled_: Bools
    suggested_labels_: Labels

    label_noise: float | Literal["auto"] | None = None  # CappedLDACV has no such parameter

    def __init__(
        self,
        n_components: int | None = None,
        *,
        epsilon: float | Literal["auto"] = "auto",
        leave_out: Literal["harmful", "flagged"] = "harmful",
        shrinkage: float | Literal["few_rows", "auto", "agreement"] | None = "few_rows",
        priors: ArrayLike | Literal["uniform"] | None = None,
        cells: Literal["capped", "all"] = "capped",
        missing: Literal["error", "ignore"] = "error",
        label_noise: float | Literal["auto"] | None = None,
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
        self.label_noise = label_noise
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _solve(self, rows, priors, n_components, n_directions):
        check_implicit(rows, n_components, n_directions, self.shrinkage, self.label_noise)
        options = self._options(rows, priors, n_components)
        return fit_capped(rows, Objective(epsilon=as_cap(self.epsilon)), options)

    def _options(self, rows, priors, n_components):
        return Options(
            priors=priors,
            n_components=n_components,
            leave_out=self.leave_out,
            label_noise=self.label_noise,
            given_priors=self.priors is not None,
            fill_gaps=self.missing == "ignore",
            drop_cells=self.cells == "capped",
            shrinkage=self.shrinkage,
            random_state=self.random_state,
            report=self._report(rows),
        )

    def _store(self, rows, solution, n_components, n_supervised):
        super()._store(rows, solution, n_components, n_supervised)
        self.shrinkage_ = float(solution.shrinkage)
        wrong = solution.wrong_cells
        self._wrong_cells = None if wrong is None else csr_array(wrong)
        self._wrong_shares = None if wrong is None else wrong.mean(axis=0)
        if solution.labels is not None or "label_status_" in vars(self):  # of an earlier fit
            labels.store(self, rows, solution)

    @property
    def wrong_cells_(self) -> csr_array:
        """Cells of training rows that the fit has replaced, shape (n_samples, n_features)."""
        check_is_fitted(self)
        if not hasattr(self, "weights_"):
            raise AttributeError(
                "This model has no wrong_cells_: neither fit_chunks nor a model file keeps what "
                "was replaced in training rows, nor does a fit to Spark. Use wrong_cells(X, y)."
            )
        if self._wrong_cells is not None:
            return self._wrong_cells
        return csr_array((len(self.weights_), self.n_features_in_), dtype=bool)

    def label_quality(self, X: MatrixLike, y: ArrayLike) -> Floats:
        """Return how probable it is that the labels of rows are right.

        All rows count as new ones; for training rows `label_quality_` is better. A row with
        missing cells is judged by the others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels, all of them classes of the model.

        Returns
        -------
        quality : ndarray of shape (n_samples,)
            From 0 to 1; the lowest are most worth checking.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from cappedlda import CappedLDA
        >>> X, y = load_iris(return_X_y=True)
        >>> lda = CappedLDA(label_noise="auto").fit(X, y)
        >>> bool(lda.label_quality(X[:2], [0, 2]).argmin() == 1)  # the second label is wrong
        True
        """
        labels.check(self)
        return by_rows(self, labels.quality, X, y)

    def _check_parameters(self):
        self._check_common_parameters()
        check_epsilon(self.epsilon)
        advice = 'use None, "auto" or a rate between 0 and 0.5'
        rates = 0.0, np.nextafter(0.5, 0.0)
        check_word_or_real("label_noise", self.label_noise, ("auto", None), *rates, advice)
        if self.label_noise is not None and self.epsilon == np.inf:
            raise ValueError(
                f"label_noise={self.label_noise!r} does not work with epsilon=inf: outliers in the "
                'fit would pass for wrong labels; use epsilon="auto", or label_noise=None.'
            )
        if self.leave_out == "flagged" and self.epsilon != "auto":
            what = "nothing" if self.epsilon == np.inf else "all rows beyond it"
            raise ValueError(
                f"leave_out='flagged' has no effect with epsilon={self.epsilon!r}, which leaves "
                f'out {what}; use epsilon="auto", or leave_out="harmful".'
            )

    def _check_common_parameters(self):
        super()._check_parameters()
        check_choice("leave_out", self.leave_out, ("harmful", "flagged"))
        words, amounts = ("few_rows", "auto", "agreement", None), (np.nextafter(0.0, -1.0), 1.0)
        advice = 'use "few_rows", "auto", "agreement", None or a number from 0 to 1'
        check_word_or_real("shrinkage", self.shrinkage, words, *amounts, advice)
        check_choice("cells", self.cells, ("capped", "all"))
        check_choice("missing", self.missing, ("error", "ignore"))
