"""What all capped discriminants share: the fit of rows of any kind, and what is kept of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
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
from cappedlda._summary import Summary, class_counts, summary_of
from cappedlda._typing import ArrayLike, Bools, Floats, MatrixLike
from cappedlda._validation import check_count, check_priors
from cappedlda._warnings import status_of, warn_of


class CappedDiscriminant(DecidingDiscriminant):
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

    _sparse_format = "csr"
    # Whether classes that lose many rows are worth a warning.
    _warns_of_losses = True

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
        n_supervised = self._n_supervised(n_components, n_directions)
        with single_threaded_blas():
            solution = self._solve(rows, priors, n_components, n_directions)
        rule = linear_rule(solution.W, solution.covariance, solution.centres, priors)
        self._remember_features(features)
        self.classes_ = classes
        self.priors_ = priors
        self.coef_, self.intercept_ = (solution.temperature * part for part in rule)
        self._store(rows, solution, n_components, n_supervised)
        warn_of(solution, self, n_supervised, stacklevel=4)
        return self

    def _check_data(self, X, y, sample_weight):
        """Return the rows, the classes and their priors."""
        n_jobs = effective_n_jobs(self.n_jobs)
        rows, classes = training_rows(self, X, y, sample_weight, n_jobs, self._regime)
        priors = check_priors(self.priors, len(classes))
        return rows, classes, rows.class_shares if priors is None else priors

    def _solve(self, rows, priors, n_components, n_directions):
        """Return the `Solution` of a fit; there are `n_directions` that separate the classes."""
        raise NotImplementedError

    def _n_supervised(self, n_components, n_directions):
        """Return how many of the directions should separate the classes."""
        return min(n_components, n_directions)

    def _report(self, rows):
        """Return what tells about each pass over rows, or None."""
        rows.progress = SlabProgress(rows.shape[0]) if self.verbose > 1 else None
        return PassReport(rows.class_weights.sum()) if self.verbose else None

    def _check_parameters(self):
        verbose = int(self.verbose) if isinstance(self.verbose, bool) else self.verbose
        check_count("verbose", verbose, 0, np.inf, "use 0, 1 or 2")

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
        self.caps_ = solution.usual.caps
        samples = rows.per_sample(solution)
        self._store_samples(samples)
        self._class_counts = class_counts(rows, samples, solution)
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
        self._temperature = float(solution.temperature)
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


def as_cap(epsilon):
    """Return the parameter epsilon, checked, as a fit takes it."""
    return epsilon if isinstance(epsilon, str) else float(epsilon)


def too_many(rows):
    """Return how the error begins for what sparse rows have too many features."""
    most = rows.regime.most_dense_features
    return f"X is sparse and has n_features={rows.shape[1]}, more than {most}, too many"


def check_implicit(rows, n_components, n_directions):
    """Check that no unsupervised directions are asked for, which need a scatter matrix."""
    if n_components > n_directions:
        raise ValueError(
            f"{too_many(rows)} for n_components={n_components}, which asks for unsupervised "
            f"directions; use None or at most {n_directions}."
        )
