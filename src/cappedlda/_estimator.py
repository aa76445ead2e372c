"""What all capped discriminants share: the fit of rows of any kind, and what is kept of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cappedlda._data.base import PerSample
from cappedlda._data.blocks import OF_LABELS, PER_ROW
from cappedlda._data.chunk_cache import cache_folder
from cappedlda._data.chunks import ChunkRows
from cappedlda._data.kinds import kind_of, training_rows
from cappedlda._data.progress import pass_printer, print_decisions
from cappedlda._data.threads import effective_n_jobs, single_threaded_blas
from cappedlda._fit.result import class_counts, covariance_of_features
from cappedlda._loo.calibration import Calibration, Calibrator
from cappedlda._model import decision, distances
from cappedlda._model.cells import amend_projections, amend_scores, check_finite_or_missing, cuts_of
from cappedlda._model.discriminant import LinearDiscriminant, by_rows, linear_rule
from cappedlda._model.explain import explain
from cappedlda._model.summary import Summary, summary_of
from cappedlda._model.warnings import status_of, warn_of
from cappedlda._rules.rule import RowRule
from cappedlda._typing import ArrayLike, Bools, Floats, Labels, MatrixLike
from cappedlda._validation import check_choice, check_count, check_priors, check_real, check_seed


class CappedDiscriminant(LinearDiscriminant):
    """Base of the estimators; a subclass has its parameters, and finds a `Solution` by `_solve`."""

    n_components: int | None
    priors: ArrayLike | Literal["uniform"] | None
    n_jobs: int | None
    verbose: int

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
    n_sampled_: int
    objective_path_: Floats
    n_iter_: int
    n_passes_: int
    status_: str
    # Rows outside are flagged, and left out; exponent and floor of the norm that weighs the others.
    _flag_rule: RowRule
    _leave_out_rule: RowRule
    _norm: tuple[float, float] | None
    _temperature: float  # the factor by which scores are as sure as left-out rows say
    # Make the covariance of all features and the calibration when they are first asked for.
    _make_covariance: Callable[[], Floats | None]
    _calibrator: Calibrator | None = None
    _cell_cuts: Floats | None = None  # of a model that was stored
    # Training cells that the fit has replaced, if any, and their shares by feature.
    _wrong_cells: Any = None
    _wrong_shares: Floats | None = None

    cells: str = "all"  # a parameter, as the next, where a covariance of all features is known
    missing: str = "error"

    _sparse_format = "csr"
    # Whether classes that lose many rows are worth a warning.
    _warns_of_losses = True

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model: find the directions, flag unusual rows and leave out harmful ones.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            A row with integer weight k counts as k rows. Weights that sum to less than the number
            of rows with a weight, such as 1 / n_samples each, are scaled to a mean of 1.

        Returns
        -------
        self : object
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
        """Fit data that come in chunks and need not fit into memory.

        The result is that of `fit` on all rows in the same order, but nothing is kept of each
        row: `measure_chunks` returns that chunk by chunk.

        Parameters
        ----------
        make_chunks : callable
            Returns a fresh iterator of chunks for each pass over the data, always with the same
            rows. A chunk is a tuple (X, y) or (X, y, sample_weight) of arrays or data frames with
            the same features and type. `cappedlda.sources` has such objects for folders of files.
            If there is a method `read_labels`, the first pass takes the labels from the chunks
            that it returns, with None for X.
        classes : array-like of shape (n_classes,), default=None
            All labels; any other label is an error. None takes the labels of the data.
        cache : bool or path-like, default=False
            Keep the rows in a file, as large as X in memory, while the fit runs, so that the
            source is read only once: in the system's temporary folder (True), or in the given one.

        Returns
        -------
        self : object

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
        self._check_takes_chunks()
        settings = effective_n_jobs(self.n_jobs), self._regime, cache_folder(cache)
        rows = ChunkRows(make_chunks, classes, *settings)
        priors = check_priors(self.priors, rows.n_classes)
        priors = rows.class_shares if priors is None else priors
        return self._fit_rows(rows, rows.classes, priors, rows.example)

    def summary(self) -> Summary:
        """Summarise on one page what the fit found and decided.

        Returns
        -------
        summary : Summary
            Text when printed, HTML in a notebook. Flagged rows are not counted after
            `fit_chunks`, nor for dask.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from cappedlda import CappedLDA
        >>> lda = CappedLDA().fit(*load_iris(return_X_y=True))
        >>> print(str(lda.summary()).splitlines()[0])
        CappedLDA: converged, iterations: 1; 3 classes, 4 features
        """
        check_is_fitted(self)
        return summary_of(self)

    def measure_chunks(
        self, make_chunks: Callable[[], Iterable[tuple[Any, ...]]]
    ) -> Iterator[PerSample]:
        """Measure the rows of chunks as `fit` measures its training rows.

        Parameters
        ----------
        make_chunks : callable
            Returns an iterator of chunks, as in `fit_chunks`.

        Returns
        -------
        samples : iterator of PerSample
            For each chunk that has rows, a tuple (distances, weights, outliers, left_out) of
            arrays of shape (rows,), like the attributes of these names after `fit`.
        """
        check_is_fitted(self)
        return distances.of_chunks(self, make_chunks)

    def transform_frame(self, frame: Any, y: str | None = None) -> Any:
        """Add what the model finds about each row to a Spark DataFrame, as columns.

        Parameters
        ----------
        frame : pyspark.sql.DataFrame
            With the columns of the features, found by their names, and any others.
        y : str, default=None
            The column of the labels, if they are known.

        Returns
        -------
        frame : pyspark.sql.DataFrame
            The same rows, lazily, with the columns `prediction`, `probability` (an array in the
            order of `classes_`), `outlyingness` (see this method) and `flagged`. With `y`, rows
            are measured from their labelled class, as in `fit`. Then there is also `left_out`,
            and `label_quality` if the fit judged labels.
        """
        check_is_fitted(self)
        if kind_of(frame) != "spark":
            raise TypeError(
                f"frame is a {type(frame).__name__}; give a Spark DataFrame, or use predict, "
                "predict_proba and outlyingness."
            )
        from cappedlda._data import spark as spark_rows

        return spark_rows.with_columns(self, distances.columns_of, frame, y)

    def outlyingness(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        space: Literal["both", "projected", "full"] = "both",
    ) -> Floats:
        """Measure how far rows lie from the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Class of each row, if known.
        space : {"both", "projected", "full"}, default="both"
            "projected" measures in the discriminant space, "full" in all features, each in
            robust units. "both" takes the larger ratio.

        Returns
        -------
        ratio : ndarray of shape (n_samples,)
            Distance from the class in `y`, divided by the largest one that is not flagged: above 1
            a row is unusual. Without `y`, the smallest ratio over all classes. Wrong cells count;
            missing ones are replaced by the values that the other cells predict.
        """
        check_choice("space", space, ("both", "projected", "full"))
        with np.errstate(over="ignore"):  # what is too far to be measured is infinitely far
            return by_rows(self, distances.outlyingness, X, y, space=space)

    def explain(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        n_features: int = 3,
        rows: Literal["all"] | ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Any:
        """Explain why rows are flagged: which limit they exceed, and by which features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Class of each row. Without it, a row is measured from the nearest class (not always
            the predicted one), and there is no column `left_out`.
        n_features : int, default=3
            Number of features to name for each row.
        rows : "all", array-like of int or bool, or None, default=None
            Which rows to explain, by position. None explains flagged and left-out rows.
        groups : array-like of shape (n_features,), default=None
            The group of each feature, such as its channel.

        Returns
        -------
        table : DataFrame, or structured array if pandas is not installed
            One line per row, the most outlying first; a polars frame if X is one. Columns:

            - `row`: index of the row in a data frame, else its number from 0;
            - `class`, `predicted`: the class it is measured from, and the predicted one;
            - `flagged`, `left_out`: as `outliers_` and `left_out_` for training rows;
            - `beyond`: "cap" (in the discriminant space), "gate" (in all features together),
              "both", or "" if the row is not flagged;
            - `outlyingness`: see `outlyingness`;
            - `feature_1`, `value_1`, `usual_1`, `z_1`, `feature_2` and so on: the features that
              contribute most to the larger of the two distances, with their value, the usual
              value (the mean of the class inside cap and gate), and the difference in robust
              standard deviations, which is small for features unusual only together;
            - `group`, `group_share`: with `groups`, the group that contributes most, and its
              share of the squared distance. Shares of other groups may be negative;
            - `wrong_cells`: the cells that do not fit the rest of the row, in words, with their
              expected values; without `y`, those that `predict` ignores.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from cappedlda import CappedLDA
        >>> X, y = load_iris(as_frame=True, return_X_y=True)
        >>> X.loc[7, "petal length (cm)"] = 15.0  # the decimal point is missing
        >>> table = CappedLDA().fit(X, y).explain(X, y, n_features=1)
        >>> table[["row", "class", "predicted", "beyond", "feature_1", "value_1"]]
           row  class  predicted beyond          feature_1  value_1
        0    7      0          0   both  petal length (cm)     15.0
        >>> table.loc[0, "wrong_cells"]
        'petal length (cm) 15, expected about 1.43'
        """
        check_is_fitted(self)
        return explain(self, X, y, n_features, rows, groups=groups)

    def wrong_cells(self, X: MatrixLike, y: ArrayLike | None = None) -> Bools:
        """Return which cells do not fit the other cells of their row.

        These are the cells that ``cells="capped"`` ignores; see `CappedLDA`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Class of each row, if known. Without it, the predicted one.

        Returns
        -------
        wrong : ndarray of shape (n_samples, n_features), bool
            Missing cells are not wrong. No cell is wrong if the model uses all cells.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from cappedlda import CappedLDA
        >>> lda = CappedLDA().fit(*load_iris(return_X_y=True))
        >>> lda.wrong_cells([[5.1, 3.5, 14.0, 0.2]])  # the third should be 1.4
        array([[False, False,  True, False]])
        """
        return by_rows(self, decision.wrong_cells, X, y)

    def expected_cells(self, X: MatrixLike, y: ArrayLike | None = None) -> Floats:
        """Predict each cell from the other cells of its row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None

        Returns
        -------
        expected : ndarray of shape (n_samples, n_features)
            Mean of the cell in the class of the row, given the other cells that are neither
            wrong nor missing.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from cappedlda import CappedLDA
        >>> lda = CappedLDA().fit(*load_iris(return_X_y=True))
        >>> lda.expected_cells([[5.1, 3.5, 14.0, 0.2]]).round(1)  # the third should be 1.4
        array([[5. , 3.4, 1.5, 0.3]])
        """
        decision.check_cells(self)
        return by_rows(self, decision.judged_cells, X, y, part=0)

    def cell_deviations(self, X: MatrixLike, y: ArrayLike | None = None) -> Floats:
        """Return how far each cell is from the value that the other cells of its row predict.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None

        Returns
        -------
        deviations : ndarray of shape (n_samples, n_features)
            In standard deviations of the cell given the others; positive above
            `expected_cells`. NaN for missing cells. A feature that is constant within the classes
            has 0 for the constant, and plus or minus infinity for any other value.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from cappedlda import CappedLDA
        >>> lda = CappedLDA().fit(*load_iris(return_X_y=True))
        >>> lda.cell_deviations([[5.1, 3.5, 14.0, 0.2]]).round(1)  # the third should be 1.4
        array([[ 0.1,  0.3, 48.2, -0.4]])
        """
        decision.check_cells(self)
        return by_rows(self, decision.judged_cells, X, y, part=1)

    def is_rejected(self, X: MatrixLike, y: ArrayLike | None = None, alpha: float = 0.01) -> Bools:
        """Decide which new rows belong to no class, at a stated rate of false alarms.

        A row is rejected if it is too far from the nearest class in the discriminant space, or
        too far from that space in all other directions together. Both are Mahalanobis distances
        under the covariance of the rows that were not left out. The limits are quantiles of the
        leave-one-out distances of those rows, the same in both spaces, so that a share `alpha` of
        them is beyond one or the other. A row is also rejected if a feature that is constant within
        the classes has a value of no class, or not of its own.

        With ``cells="capped"``, wrong cells count as if they were at their limit if they are at
        most a tenth of the row. Missing cells do not count. A row with no cell left is rejected.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Class of each row, if known. The distance is then measured from that class.
        alpha : float, default=0.01
            Share of good rows that may be rejected, at least 1 / (1 + calibration rows). These are
            up to 4096 of the rows that were not left out, none of them alone in its class. With
            fewer than about 2 / `alpha` of them, the share may be up to twice as large.

        Returns
        -------
        rejected : ndarray of shape (n_samples,), bool

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from cappedlda import CappedLDA
        >>> lda = CappedLDA().fit(*load_iris(return_X_y=True))
        >>> lda.is_rejected([[5.1, 3.5, 1.4, 0.2], [0.2, 1.4, 3.5, 5.1]])  # one in reverse
        array([False,  True])
        """
        decision.check_alpha(self, alpha)
        return by_rows(self, decision.is_rejected, X, y, alpha=alpha)

    def predict_or_reject(
        self,
        X: MatrixLike,
        alpha: float = 0.01,
        *,
        min_proba: float | None = None,
        reject_label: Any = None,
    ) -> Labels:
        """Predict the class of each row, and reject rows that fit no class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        alpha : float, default=0.01
            Share of good rows that may be rejected; see `is_rejected`.
        min_proba : float, default=None
            Also reject rows whose most probable class has a smaller probability. None does not.
        reject_label : int, float or str, default=None
            Label of rejected rows: not a class, and a string if the classes are strings. None means
            -1 for numeric classes and "rejected" for strings.

        Returns
        -------
        y : ndarray of shape (n_samples,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from cappedlda import CappedLDA
        >>> lda = CappedLDA().fit(*load_iris(return_X_y=True))
        >>> lda.predict_or_reject([[5.1, 3.5, 1.4, 0.2], [0.2, 1.4, 3.5, 5.1]])  # one in reverse
        array([ 0, -1])
        """
        decision.check_alpha(self, alpha)
        if min_proba is not None:
            check_real("min_proba", min_proba, 0.0, 1.0, "use None or a probability")
        decision.labels_with(self, reject_label)
        settings = {"alpha": alpha, "min_proba": min_proba, "reject_label": reject_label}
        return by_rows(self, decision.predict_or_reject, X, **settings)

    @cached_property
    def _covariance(self) -> Floats | None:
        return self._make_covariance()

    @cached_property
    def _calibration(self) -> Calibration | None:
        return None if self._calibrator is None else self._calibrator()

    @property
    def covariance_(self) -> Floats:
        """Within-class covariance of the rows that are not left out."""
        check_is_fitted(self)
        if self._covariance is None:
            raise AttributeError(
                f"This {type(self).__name__} has no covariance_: only CappedLDA has one, and not "
                "for more than 1000 features if X is sparse or has fewer rows than features. "
                "Compute it from X[~left_out_]."
            )
        return self._covariance

    @property
    def cell_cuts_(self) -> Floats:
        """Standard deviations beyond which single cells of new rows are ignored."""
        check_is_fitted(self)
        return cuts_of(self)

    if not TYPE_CHECKING:  # to type checkers every name would be an attribute

        def __getattr__(self, name):
            if name in PER_ROW and "scalings_" in vars(self):
                raise AttributeError(
                    f"This model has no {name}: fit_chunks, a model file and a fit to Spark keep "
                    "no results for each training row. Use measure_chunks(make_chunks), which "
                    "returns them chunk by chunk, transform_frame(X, y) for Spark, or "
                    "outlyingness(X, y) > 1 for flagged rows."
                )
            if name in OF_LABELS and "scalings_" in vars(self):
                judge = vars(self).get("_judge_rows")
                if judge is not None:
                    vars(self).update(judge(), _judge_rows=None)
                if name in vars(self):  # perhaps by another thread
                    return vars(self)[name]
                looked = hasattr(self, "label_status_")
                remedy = (
                    "use label_quality(X, y)" if looked else 'fit CappedLDA(label_noise="auto")'
                )
                raise AttributeError(f"This model has no {name}; {remedy}.")
            return object.__getattribute__(self, name)  # fails again, in its own words

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "ignore"
        return tags

    def __getstate__(self):
        made = {}
        if hasattr(self, "classes_"):  # all that is made when asked for: no training row is stored
            made = {"_covariance": self._covariance, "_calibration": self._calibration}
            made["_cell_cuts"] = self.cell_cuts_
            hasattr(self, OF_LABELS[0])
        state = super().__getstate__() | made
        makers = ("_make_covariance", "_calibrator", "_cell_cache")
        return {name: value for name, value in state.items() if name not in makers}

    _check_finite = check_finite_or_missing
    _amend_scores = amend_scores
    _amend_projections = amend_projections

    def _fit_rows(self, rows, classes, priors, features):
        n_features = rows.shape[1]
        n_directions = min(len(classes) - 1, n_features)
        n_components = self._check_n_components(n_directions, n_features)
        n_supervised = self._n_supervised(n_components, n_directions)
        with single_threaded_blas():
            solution = self._solve(rows, priors, n_components, n_directions)
        return self._keep(rows, classes, features, solution, n_components, n_supervised)

    def _keep(self, rows, classes, features, solution, n_components, n_supervised, used=None):
        """Set the fitted attributes; the rule uses some of the first directions, or all."""
        W, covariance = solution.W[:, :used], solution.covariance[:used, :used]
        rule = linear_rule(W, covariance, solution.centres, solution.priors)
        self._remember_features(features)
        self.classes_ = classes
        self.priors_ = solution.priors
        self.coef_, self.intercept_ = (solution.temperature * part for part in rule)
        self._store(rows, solution, n_components, n_supervised)
        warn_of(solution, self, n_supervised, stacklevel=5)
        return self

    def _check_data(self, X, y, sample_weight):
        """Return the rows, the classes and their priors."""
        n_jobs = effective_n_jobs(self.n_jobs)
        rows, classes = training_rows(self, X, y, sample_weight, n_jobs, self._regime)
        priors = check_priors(self.priors, len(classes))
        return rows, classes, rows.class_shares if priors is None else priors

    def _check_takes_chunks(self):
        pass

    def _solve(self, rows, priors, n_components, n_directions):
        """Return the `Solution` of a fit; there are `n_directions` that separate the classes."""
        raise NotImplementedError

    def _n_supervised(self, n_components, n_directions):
        """Return how many of the directions should separate the classes."""
        return min(n_components, n_directions)

    def _report(self, rows):
        """Return what reports each pass over rows, or None."""
        rows.progress = self.verbose > 1
        return pass_printer(rows) if self.verbose else None

    def _check_parameters(self):
        verbose = int(self.verbose) if isinstance(self.verbose, bool) else self.verbose
        check_count("verbose", verbose, 0, np.inf, "use 0, 1 or 2")
        seed = getattr(self, "random_state", None)
        if seed is not None:  # to make one takes longer than all other checks
            check_seed(seed)

    def _check_n_components(self, n_directions, n_features):
        if self.n_components is None:
            return n_directions
        advice = f"use None or an integer from 1 to n_features={n_features}"
        check_count("n_components", self.n_components, 1, n_features, advice)
        return self.n_components

    def _store(self, rows, solution, n_components, n_supervised):
        trace = solution.trace
        self.means_ = solution.centres
        self.xbar_ = self.priors_.dot(solution.centres)
        self.scalings_ = np.concatenate([solution.W, solution.extra], axis=1)[:, :n_components]
        strengths = np.concatenate([solution.strengths, np.zeros(solution.extra.shape[1])])
        total = max(strengths.sum(), sys.float_info.min)
        self.explained_variance_ratio_ = strengths[:n_components] / total
        self.epsilon_ = float(solution.epsilon)
        self.caps_ = solution.flag_rule.caps
        samples = rows.per_sample(solution)
        for name in (*PER_ROW, "_covariance", "_calibration"):  # of an earlier fit
            vars(self).pop(name, None)
        if samples is not None:
            vars(self).update(zip(PER_ROW, samples, strict=True))
        self._class_counts = class_counts(rows, samples, solution)
        self.n_sampled_ = solution.n_sampled
        self.objective_path_ = np.array(trace.objective_path)
        self.n_iter_ = trace.n_iter
        self.n_passes_ = trace.n_passes
        self.status_ = status_of(solution, n_supervised)
        self._flag_rule, self._leave_out_rule = solution.flag_rule, solution.leave_out_rule
        self._norm = solution.norm
        self._temperature = float(solution.temperature)
        self._calibrator, self._cell_cache = solution.calibrator(), {}
        known = solution.within, solution.space, rows.regime.most_dense_features
        self._make_covariance = partial(covariance_of_features, *known)
        self.leave_out_level_ = float(solution.level)
        if self.verbose:
            print_decisions(solution)


def as_cap(epsilon):
    """Return the parameter epsilon, checked, as a fit takes it."""
    return epsilon if isinstance(epsilon, str) else float(epsilon)


def check_implicit(rows, n_components, n_directions, shrinkage=None, label_noise=None):
    """Check that nothing is asked for that needs a scatter matrix, where there is none."""
    if shrinkage not in ("few_rows", None):
        rows.check_has_matrix(f"shrinkage={shrinkage!r}; use None or 'few_rows'.")
    if label_noise is not None:
        rows.check_has_matrix(f"label_noise={label_noise!r}; use None.")
    if n_components > n_directions:
        rows.check_has_matrix(
            f"n_components={n_components}, which asks for unsupervised directions; use None or "
            f"at most {n_directions}.",
        )
