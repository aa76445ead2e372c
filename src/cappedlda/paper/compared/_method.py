"""What all methods share: the moments of the data, the fit, and its checks.

Symbols: h_j = x_j - m_i for row j of class i, m_i and N_i mean and size of class i, m the
overall mean, H_w the matrix of all h_j, S_w = H_w H_w' / N.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from cappedlda._data.array import ArrayRows
from cappedlda._data.threads import effective_n_jobs, single_threaded_blas
from cappedlda._metrics import linalg
from cappedlda._metrics.frame import kept_covariance
from cappedlda._metrics.row_space import RowSpace
from cappedlda._model.discriminant import LinearDiscriminant, linear_rule
from cappedlda._rules.fences import quantiles
from cappedlda._rules.rule import Query
from cappedlda._typing import ArrayLike, MatrixLike
from cappedlda._validation import SAME_CENTRES, check_count, check_real, check_training_data

# Class means nearer to each other than this share of the spread of the data are the same.
SAME_MEANS = 1e-10
RULE_RIDGE = 1e-10  # makes the covariance of the rule invertible, if only just
SQUARABLE = 1e70  # up to its fourth power, with which the methods compute, numbers are finite


@dataclass
class Problem:
    """The training data of a fit, and their first and second moments."""

    rows: ArrayRows
    means: np.ndarray  # (c, n)
    sizes: np.ndarray  # (c,)

    @classmethod
    def of(cls, rows):
        return cls(rows, rows.class_means(), rows.class_weights)

    @property
    def priors(self):
        """Share of each class, shape (c,)."""
        return self.sizes / self.sizes.sum()

    @property
    def deviations(self):
        """Differences m_i - m in columns, shape (n, c)."""
        return (self.means - self.priors @ self.means).T

    @property
    def between_factor(self):
        """B with B B' = S_b, shape (n, c)."""
        return self.deviations * np.sqrt(self.priors)

    def query(self, W, q, floor=0.0, scatter=True):
        """Return the query of a pass without cap about the class means."""
        n_classes, n = self.means.shape
        caps = np.full(n_classes, np.inf)
        return Query(W, self.means, np.ones(n), caps, q, floor, scatter, sums=False)

    def within_scatter(self):
        """Return H_w H_w', shape (n, n)."""
        nothing = np.zeros((self.means.shape[1], 1))
        return self.rows.run(self.query(nothing, q=2.0)).scatter / 2.0

    def median_distance(self, W):
        """Return the median of ||W'h_j||, whatever the units of the data."""
        record = self.rows.run(self.query(W, q=2.0, scatter=False))
        unit = np.sqrt(np.trace(record.image_scatter) / record.weight)
        if unit == 0.0:
            return 0.0
        histograms = self.rows.run(self.query(W / unit, 2.0, scatter=False)).histograms
        return unit * quantiles(histograms, (0.5,))[0][-1, 0]

    def project(self, basis):
        """Return the problem in the coordinates basis'x."""
        X = self.rows.X @ basis.astype(self.rows.X.dtype, copy=False)
        rows = ArrayRows(X, self.rows.codes, self.rows.n_classes, n_jobs=self.rows.n_jobs)
        return Problem(rows, self.means @ basis, self.sizes)


@dataclass
class Directions:
    """What a method found: columns W (n, d), and how."""

    W: np.ndarray
    status: str = "converged"
    n_iter: int = 1
    objective_path: list | np.ndarray | None = None


class ComparedMethod(LinearDiscriminant):
    """The common fit: check, find directions, set the rule of LDA in their image.

    A method has its parameters and `_solve`.
    """

    # Whether there are no more than n_classes - 1 directions.
    _only_supervised = False
    # Whether every solution lies in the span of the data, so that n > N needs N coordinates.
    _lies_in_span = False

    def fit(self, X: MatrixLike, y: ArrayLike) -> Self:
        """Find the discriminant directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : estimator
        """
        self._check_parameters()
        original = X
        X, codes, classes = check_training_data(self, X, y)
        check_scale(X)
        n_components = self._check_n_components(len(classes), X.shape[1])
        with single_threaded_blas():
            rows = ArrayRows(X, codes, len(classes), n_jobs=effective_n_jobs(None))
            problem = Problem.of(rows)
            check_means(problem)
            directions = self._solve_in_span(problem, n_components)
            self._store(original, classes, problem, directions)
        self._warn(n_components)
        return self

    def _check_parameters(self):
        for name, value in self.get_params(deep=False).items():
            if name == "max_iter":
                check_count(name, value, 1, np.inf, "use a positive integer")
            elif name != "n_components":
                check_real(name, value, 0.0, np.finfo(float).max, "use a positive number")

    def _check_n_components(self, n_classes, n_features):
        n_supervised = min(n_classes - 1, n_features)
        if self.n_components is None:
            return n_supervised
        most, name = n_features, "n_features"
        if self._only_supervised:
            most, name = n_supervised, "min(n_classes - 1, n_features)"
        advice = f"use None or an integer from 1 to {name}={most}"
        check_count("n_components", self.n_components, 1, most, advice)
        return self.n_components

    def _solve_in_span(self, problem, n_components):
        n_rows, n = problem.rows.shape
        if n_rows >= n or not self._lies_in_span:
            return self._solve(problem, n_components)
        span = RowSpace(problem.rows.X, problem.means, np.ones(n))
        inner = Problem.of(span.rows(problem.rows))
        directions = self._solve(inner, min(n_components, n_rows))
        directions.W = span.lift(directions.W)
        return directions

    def _store(self, X, classes, problem, directions):
        W = linalg.fix_signs(directions.W)
        record = problem.rows.run(problem.query(W, q=2.0, scatter=False))
        covariance = kept_covariance(record, unbiased=True)
        between = W.T @ problem.between_factor
        ridge = RULE_RIDGE * (np.trace(covariance) + np.sum(between**2))
        covariance[np.diag_indices_from(covariance)] += ridge
        rule = linear_rule(W, covariance, problem.means, problem.priors)
        self._remember_features(X)
        self.classes_ = classes
        self.priors_ = problem.priors
        self.means_ = problem.means
        self.xbar_ = self.priors_ @ self.means_
        self.scalings_ = W
        self.coef_, self.intercept_ = rule
        self.n_iter_ = directions.n_iter
        self.status_ = directions.status
        if directions.objective_path is not None:
            self.objective_path_ = directions.objective_path

    def _warn(self, wanted):
        found = self.scalings_.shape[1]
        if found < wanted:
            self.status_ = "rank_deficient"
            remedy = (
                f"only {found} of {wanted} directions separate the classes; decrease n_components"
            )
        elif self.status_ == "max_iter":
            remedy = f"not settled after max_iter={self.max_iter}; increase max_iter or tol"
        else:
            return
        warnings.warn(f"{self.status_}: {remedy}.", ConvergenceWarning, stacklevel=3)


def check_scale(X):
    """Check that powers of the numbers are neither infinite nor 0."""
    largest = float(np.abs(X).max())
    if largest > 0.0 and not 1.0 / SQUARABLE < largest < SQUARABLE:
        raise ValueError(
            f"X has values up to {largest:.3g}, the powers of which are out of range; scale X."
        )


def check_means(problem):
    spread = np.abs(problem.rows.X - problem.means[0]).max()
    rounding = SAME_CENTRES * np.abs(problem.means).max()
    if np.abs(problem.deviations).max() <= max(SAME_MEANS * spread, rounding):
        raise ValueError(
            "The means of all classes are the same, so that no direction separates them; a "
            "method that compares means cannot be fitted to these data."
        )
