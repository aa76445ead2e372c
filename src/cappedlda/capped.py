"""CappedLDA: linear discriminant analysis for dirty data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cappedlda._data.chunk_cache import cache_folder
from cappedlda._data.chunks import ChunkRows
from cappedlda._data.factory import training_rows
from cappedlda._data.progress import PassReport, SlabProgress, print_decisions
from cappedlda._data.threads import effective_n_jobs, single_threaded_blas
from cappedlda._decision import DecidingDiscriminant
from cappedlda._discriminant import linear_rule
from cappedlda._fit import Objective, Options, fit_mm, fit_paper
from cappedlda._summary import Summary, class_counts, summary_of
from cappedlda._switching import SwitchingHints
from cappedlda._typing import ArrayLike, Bools, Floats, MatrixLike
from cappedlda._validation import (
    check_choice,
    check_count,
    check_epsilon,
    check_flag,
    check_priors,
    check_real,
    check_seed,
    check_shrinkage,
    check_solver,
    check_start,
)
from cappedlda._warnings import status_of, warn_of

# Ridge of the iteration, relative to the mean within-class variance; the answer needs none.
ITERATION_RIDGE = 1e-4


class CappedLDA(SwitchingHints, DecidingDiscriminant):
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
        rows cannot move. inf caps nothing and leaves out nothing: with ``cells="all"`` that is
        plain linear discriminant analysis for any q (unless `polish` is False). With
        ``solver="paper"`` it is in the paper's own units and caps the class means too.
    q : float, default=1.0
        Exponent of the capped l_{2,q} norm, 0 < q <= 2. 1 is the paper's norm, 2 is
        trimmed linear discriminant analysis. Not used by ``solver="paper"``. With fewer
        than two rows per feature and epsilon "auto", 2 is used: the directions can follow
        every row there, and lower norms would only choose which.
    solver : {"mm", "paper"}, default="mm"
        "mm" never increases its objective. "paper" is Algorithm 1 as published, for
        comparison; it may fail, and `status_` says how.
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
    cells : {"capped", "all"}, default="capped"
        What single cells of new rows may do. "capped" ignores a cell that does not fit the other
        cells of its row: one that is more than `cell_cuts_` standard deviations from what they let
        expect, class by class. At most half of the cells of a row are ignored, and each counts
        like one at that limit. A row without such a cell is predicted by the linear rule. "all" is
        the linear rule for all rows. So is "capped" for sparse X, whose zeros are no measurements,
        and where the fit knows no covariance of all features: with more features than rows,
        more than 1000 sparse features, no class of two rows, ``polish=False`` or
        ``solver="paper"``.
    missing : {"error", "ignore"}, default="error"
        What NaN means in new rows. "ignore" predicts from the other cells, and takes infinite
        cells for wrong ones (for an error with ``cells="all"``). Both are errors where there is
        no covariance, and for sparse X. `fit` does not take either.
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

    priors_: Floats
    means_: Floats
    explained_variance_ratio_: Floats
    epsilon_: float
    caps_: Floats
    weights_: Floats
    distances_: Floats
    outliers_: Bools
    left_out_: Bools
    leave_out_level_: float
    q_: float
    shrinkage_: float
    n_sampled_: int
    objective_path_: Floats
    n_iter_: int
    n_passes_: int
    status_: str

    _sparse_format = "csr"

    def __init__(
        self,
        n_components: int | None = None,
        *,
        epsilon: float | Literal["auto"] = "auto",
        q: float = 1.0,
        solver: Literal["mm", "paper"] = "mm",
        centers: Literal["kept", "mean"] = "kept",
        start: Literal["robust", "lda", "identity"] | ArrayLike = "robust",
        ridge: float | Literal["auto"] = "auto",
        polish: bool = True,
        leave_out: Literal["harmful", "flagged"] = "harmful",
        shrinkage: float | Literal["few_rows", "auto"] | None = "few_rows",
        priors: ArrayLike | Literal["uniform"] | None = None,
        cells: Literal["capped", "all"] = "capped",
        missing: Literal["error", "ignore"] = "error",
        max_iter: int = 100,
        tol: float = 1e-4,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.q = q
        self.solver = solver
        self.centers = centers
        self.start = start
        self.ridge = ridge
        self.polish = polish
        self.leave_out = leave_out
        self.shrinkage = shrinkage
        self.priors = priors
        self.cells = cells
        self.missing = missing
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the discriminant directions, the unusual rows and those to leave out.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            A row of integer weight k counts as k rows. Weights whose sum is below the number
            of rows that have one, such as 1 / n_samples each, are taken relative to a mean
            of 1.

        Returns
        -------
        self : CappedLDA
        """
        self._check_parameters()
        rows, classes, priors = self._check_data(X, y, sample_weight)
        return self._fit_rows(rows, classes, priors, X if rows.example is None else rows.example)

    def fit_chunks(
        self,
        make_chunks: Callable[[], Iterable[tuple[Any, ...]]],
        *,
        classes: ArrayLike | None = None,
        cache: bool | str | PathLike[str] = False,
    ) -> Self:
        """Fit data that come in chunks, which need not fit into memory together.

        The result is that of `fit` on all rows in their order, however they are cut into
        chunks. `weights_`, `distances_`, `outliers_` and `left_out_`, which have an entry for
        each row, are not set; `measure_chunks` gives them chunk by chunk.

        Parameters
        ----------
        make_chunks : callable
            Returns a fresh iterator of chunks for each pass over the data. A chunk is a
            tuple (X, y) or (X, y, sample_weight) of arrays or data frames. All have the same
            features and type; their number of rows may differ, and be 0. The rows must be
            the same in each pass. `cappedlda.sources` has some for folders of files. If it has
            a method `read_labels`, the classes are learnt from the chunks that this returns,
            with None for X.
        classes : array-like of shape (n_classes,), default=None
            All labels there are; another one is an error. None takes those of the data.
        cache : bool or path-like, default=False
            Whether to keep the rows in a file while the fit runs, in the system's temporary
            folder (True) or in the folder that is named. Then the source is read once. The
            file is as large as X in memory, and gone when the fit ends, however it ends.

        Returns
        -------
        self : CappedLDA

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_wine
        >>> from cappedlda import CappedLDA
        >>> X, y = load_wine(return_X_y=True)
        >>> def chunks():
        ...     for start in range(0, len(X), 50):
        ...         yield X[start : start + 50], y[start : start + 50]
        >>> lda = CappedLDA().fit_chunks(chunks)
        >>> np.array_equal(lda.scalings_, CappedLDA().fit(X, y).scalings_)
        True
        >>> int(sum(samples.outliers.sum() for samples in lda.measure_chunks(chunks)))
        0
        """
        self._check_parameters()
        settings = effective_n_jobs(self.n_jobs), self._regime, cache_folder(cache)
        rows = ChunkRows(make_chunks, classes, *settings)
        priors = check_priors(self.priors, rows.n_classes)
        priors = rows.class_shares if priors is None else priors
        return self._fit_rows(rows, rows.classes, priors, rows.example)

    def summary(self) -> Summary:
        """Tell on one page what the fit has found and decided.

        Returns
        -------
        summary : Summary
            Printed, it is text; in a notebook, HTML. It has the rows, flagged rows and rows left
            out of each class, the directions with their largest loadings, and what was decided:
            cap, exponent, shrinkage, sample, and beyond which distance rows are left out.
            Flagged rows are not counted after `fit_chunks`, nor for dask.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from cappedlda import CappedLDA
        >>> X, y = load_iris(return_X_y=True)
        >>> X[::25] = 999
        >>> summary = CappedLDA(n_components=1).fit(X, y).summary()
        >>> for line in str(summary).splitlines()[2:7]:
        ...     print(line)
        class  rows  flagged  left out  prior
        0        50        2         2  0.333
        1        50        2         2  0.333
        2        50        2         2  0.333
        all     150        6         6  1.000
        """
        check_is_fitted(self)
        return summary_of(self)

    def _fit_rows(self, rows, classes, priors, features):
        n_features = rows.shape[1]
        n_directions = min(len(classes) - 1, n_features)
        n_components = self._check_n_components(n_directions, n_features)
        n_wanted = n_components if self.solver == "paper" else n_directions
        start = check_start(self.start, (n_features, n_wanted))
        if rows.implicit_scatter:
            self._check_implicit(n_components, n_wanted, rows)
        epsilon = self.epsilon if isinstance(self.epsilon, str) else float(self.epsilon)
        options = self._options(rows, priors, start, n_components)
        with single_threaded_blas():
            if self.solver == "mm":
                solution = fit_mm(rows, self._objective(self.q, epsilon), options)
            else:
                solution = fit_paper(rows, epsilon, replace(options, tol=0.01 * self.tol))
        rule = linear_rule(solution.W, solution.covariance, solution.centres, priors)
        self._remember_features(features)
        self.classes_ = classes
        self.priors_ = priors
        self.coef_, self.intercept_ = rule
        n_supervised = min(n_components, n_wanted)
        self._store(rows, solution, n_components, n_supervised)
        warn_of(solution, self, n_supervised, stacklevel=4)
        return self

    def _check_data(self, X, y, sample_weight):
        """Return the rows, the classes and their priors."""
        n_jobs = effective_n_jobs(self.n_jobs)
        rows, classes = training_rows(self, X, y, sample_weight, n_jobs, self._regime)
        priors = check_priors(self.priors, len(classes))
        return rows, classes, rows.class_shares if priors is None else priors

    def _objective(self, q, epsilon="auto"):
        ridge = ITERATION_RIDGE if self.ridge == "auto" else self.ridge
        return Objective(float(q), epsilon, ridge)

    def _options(self, rows, priors, start, n_components):
        rows.progress = SlabProgress(rows.shape[0]) if self.verbose > 1 else None
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
            report=PassReport(rows.class_weights.sum()) if self.verbose else None,
        )

    def _check_parameters(self):
        check_solver(self.solver)
        check_epsilon(self.epsilon)
        check_real("q", self.q, 0.0, 2.0, "use 0 < q <= 2")
        self._check_common_parameters()

    def _check_common_parameters(self):
        if self.random_state is not None:  # to make one takes longer than all other checks
            check_seed(self.random_state)
        check_choice("centers", self.centers, ("kept", "mean"))
        if self.ridge != "auto":
            check_real("ridge", self.ridge, 0.0, 1e3, 'use "auto" or a small positive number')
        check_shrinkage(self.shrinkage)
        check_choice("leave_out", self.leave_out, ("harmful", "flagged"))
        check_real("tol", self.tol, 0.0, 1.0, "use a small positive number")
        check_flag("polish", self.polish)
        check_choice("cells", self.cells, ("capped", "all"))
        check_choice("missing", self.missing, ("error", "ignore"))
        verbose = int(self.verbose) if isinstance(self.verbose, bool) else self.verbose
        check_count("verbose", verbose, 0, np.inf, "use 0, 1 or 2")
        check_count("max_iter", self.max_iter, 1, np.inf, "use a positive integer")

    def _check_n_components(self, n_directions, n_features):
        if self.n_components is None:
            return n_directions
        advice = f"use None or an integer from 1 to n_features={n_features}"
        check_count("n_components", self.n_components, 1, n_features, advice)
        return self.n_components

    def _check_implicit(self, n_components, n_supervised, rows):
        most = rows.regime.most_dense_features
        many = f"X is sparse and has n_features={rows.shape[1]}, more than {most}"
        if self.solver == "paper":
            raise ValueError(f"{many}, too many for solver='paper'; use solver='mm'.")
        if self.shrinkage not in ("few_rows", None):
            raise ValueError(f"{many}, too many for shrinkage={self.shrinkage!r}; use ridge.")
        if n_components > n_supervised:
            raise ValueError(
                f"{many}, too many for n_components={n_components}, which asks for unsupervised "
                f"directions; use None or at most {n_supervised}."
            )

    def _store(self, rows, solution, n_components, n_supervised):
        trace = solution.trace
        self.means_ = solution.centres
        self.xbar_ = self.priors_.dot(solution.centres)
        self.scalings_ = np.concatenate([solution.W, solution.extra], axis=1)[:, :n_components]
        strengths = np.concatenate([solution.strengths, np.zeros(solution.extra.shape[1])])
        total = max(strengths.sum(), sys.float_info.min)
        self.explained_variance_ratio_ = strengths[:n_components] / total
        self.epsilon_ = float(solution.epsilon)
        self.caps_ = solution.usual.caps
        samples = rows.per_sample(solution)
        self._store_samples(samples)
        self._class_counts = class_counts(rows, samples, solution)
        self.q_ = float(solution.q)
        self.shrinkage_ = float(solution.shrinkage)
        self.n_sampled_ = solution.n_sampled
        self.objective_path_ = np.array(trace.objective_path)
        self.n_iter_ = trace.n_iter
        self.n_passes_ = trace.n_passes
        self.status_ = status_of(solution, n_supervised)
        usual, support = solution.usual, solution.support
        self._metric, self._metric_centres, self._gate = usual.metric, usual.centres, usual.gate
        self._support_metric, self._support_centres = support.metric, support.centres
        self._support_caps = support.caps
        self._support_gate = None if support.gate is None else support.gate.caps
        self._norm = solution.norm
        self._calibration = calibrator = solution.calibrator()
        self._cell_cache = {} if calibrator is None else {"trial": calibrator.trial}
        self._covariance = solution.covariance_of_features(rows.regime.most_dense_features)
        self.leave_out_level_ = float(solution.level)
        if self.verbose:
            print_decisions(solution)

    def _store_samples(self, samples):
        names = "distances_", "weights_", "outliers_", "left_out_"
        if samples is None:
            for name in names:  # of an earlier fit
                vars(self).pop(name, None)
        else:
            vars(self).update(zip(names, samples, strict=True))
