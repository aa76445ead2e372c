"""What every discriminant of this library does once it is fitted: project and predict."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit, log_softmax, softmax
from sklearn import config_context
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted, validate_data

from cappedlda._data.array import check_file
from cappedlda._data.base import first_not_finite, slices_of
from cappedlda._data.kinds import blocks_of, kind_of
from cappedlda._data.threads import blas_threads, ordered_map, single_threaded_blas
from cappedlda._kernels import kernels_for
from cappedlda._metrics import linalg
from cappedlda._regime import REGIME
from cappedlda._typing import Floats, Labels, MatrixLike
from cappedlda._validation import FLOATS, check_centres, check_structure, check_text, not_finite

_BLOCK_BYTES = 1 << 17  # of a product, which are worked on at a time


def check_finite(model, X, first=0):
    """Raise an error if a number is not finite; rows count from `first`, None: unknown."""
    if issparse(X):
        assert_all_finite(X, estimator_name=type(model).__name__, input_name="X")
        return
    row = first_not_finite(X)
    if row is not None:
        raise not_finite_in(model, X, row, first)


class LinearDiscriminant(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator
):
    """Base of fitted discriminants."""

    classes_: Labels
    scalings_: Floats
    xbar_: Floats
    coef_: Floats
    intercept_: Floats
    n_features_in_: int
    feature_names_in_: Labels

    # Thresholds on rows and sizes; tests have others.
    _regime = REGIME
    # The format in which sparse X is wanted, or False where it is not taken at all.
    _sparse_format: str | bool = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = bool(self._sparse_format)
        return tags

    @property
    def _n_features_out(self):
        return self.scalings_.shape[1]

    def _remember_features(self, X):
        # Only after all has gone well: a fit that fails leaves the estimator as it was.
        if type(X) is np.ndarray:  # has no names, which takes scikit-learn long to find out
            self.n_features_in_ = X.shape[1]
            vars(self).pop("feature_names_in_", None)
        else:
            validate_data(self, X, skip_check_array=True)

    _check_finite = check_finite
    # Where single cells of rows are judged, these change the results of some rows.
    _amend_projections: Any = None
    _amend_scores: Any = None

    def transform(self, X: MatrixLike) -> Floats:
        """Project data onto the discriminant directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
        """
        return by_rows(self, projections, X)

    def decision_function(self, X: MatrixLike) -> Floats:
        """Return the discriminant score of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes the score of the second against the first.
        """
        return by_rows(self, decisions, X)

    def predict(self, X: MatrixLike) -> Labels:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return by_rows(self, predictions, X)

    def predict_proba(self, X: MatrixLike) -> Floats:
        """Estimate the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        return by_rows(self, probabilities, X)

    def predict_log_proba(self, X: MatrixLike) -> Floats:
        """Estimate the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
        """
        return by_rows(self, log_probabilities, X)


def check_new(model, X, finite=True, first=0):
    """Return new rows as an array; errors count them from `first`."""
    check_is_fitted(model)
    if issparse(X):
        check_structure(X)
    check_text(X)
    settings = {"dtype": FLOATS, "ensure_all_finite": False, "accept_sparse": model._sparse_format}
    with config_context(array_api_dispatch=False):  # arrays of other libraries become NumPy's
        X = validate_data(model, X, reset=False, **settings)
    if finite:
        model._check_finite(X, first)
    return X


def not_finite_in(model, X, row, first, remedy="remove or impute such rows"):
    where = f"row {row} of its block" if first is None else f"row {first + row}"
    names = getattr(model, "feature_names_in_", None)
    return not_finite(X[row], where, names, remedy=remedy)


def by_rows(model, function, X, y=None, **settings):
    """Return what a function of (model, X, y) gives for new rows of any kind; lazily for dask."""
    check_is_fitted(model)
    kind = kind_of(X)
    if kind == "dask":
        from cappedlda._data import dask as dask_rows

        return dask_rows.predicted(model, function, X, y, **settings)
    if kind == "spark":
        raise TypeError(
            f"X is a {type(X).__name__} of Spark, to which results are added as columns; use "
            "transform_frame(X, y)."
        )
    check_file(X)
    if kind == "sliced":
        found, first = [], 0
        for rows, labels in blocks_of(X, y, model._regime):
            found.append(function(model, check_new(model, rows, True, first), labels, **settings))
            first += len(rows)
        return np.concatenate(found)
    return function(model, check_new(model, X, function not in _LINEAR), y, **settings)


def affine(model, X, W, offset, amend=None):
    """Return X W + offset in the precision of X, which `amend` may change.

    What is not finite in X is found in the product, which is smaller: even times zero it is not
    finite.
    """
    n_jobs = blas_threads()
    W, offset = W.astype(X.dtype, copy=False), offset.astype(X.dtype, copy=False)
    with single_threaded_blas():
        # On slabs: the threads of BLAS would have to meet after every block.
        result = X @ W if issparse(X) else np.empty((X.shape[0], W.shape[1]), X.dtype)
        fill = compiled_fill(X, W, offset, result) or blockwise_fill(X, W, offset, result)
        slabs = slices_of(X.shape[0], REGIME.slab_rows(X.shape[1]))
        total = sum(ordered_map(fill, slabs, n_jobs))
    if not np.isfinite(total):
        model._check_finite(X)
    if amend is not None:
        amend(X, result)
    if not (np.isfinite(total) or np.isfinite(result).all()):
        raise ValueError(
            f"X has values as large as {np.nanmax(abs(X)):.3g}, with which products overflow; "
            "remove such rows, or give X in float64 if it is not."
        )
    return result


def projections(model, X, _=None):
    offset = -(model.xbar_ @ model.scalings_)
    return affine(model, X, model.scalings_, offset, model._amend_projections)


def decisions(model, X, _=None):
    """Return the scores of checked rows, (N, c), or (N,) for two classes."""
    scores = affine(model, X, model.coef_.T, model.intercept_, model._amend_scores)
    return scores.ravel() if len(model.classes_) == 2 else scores


def predictions(model, X, _=None):
    return model.classes_[class_codes(decisions(model, X))]


def probabilities(model, X, _=None):
    scores = decisions(model, X)
    if scores.ndim == 1:
        return np.column_stack([expit(-scores), expit(scores)])
    return softmax(scores, axis=1)


def log_probabilities(model, X, _=None):
    scores = decisions(model, X)
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    return log_softmax(scores, axis=1)


# They begin with a product of all rows and a small matrix, which shows what is not finite.
_LINEAR = {projections, decisions, predictions, probabilities, log_probabilities}


def compiled_fill(X, W, offset, result):
    """Return a function that fills some rows of X W + offset and sums them, or None.

    The compiled projection needs C-ordered rows, and images that fill whole vectors.
    """
    build, d = kernels_for(X.shape[1]), W.shape[1]
    if issparse(X) or not X.flags.c_contiguous or 2 * d <= build.padded(d, X.dtype.itemsize):
        return None
    W = np.ascontiguousarray(W)
    return lambda rows: build.affine_images(X[rows], W, offset, result[rows])


def blockwise_fill(X, W, offset, result):
    """Return a function that fills some rows of X W + offset and sums them, by NumPy.

    It works on blocks that stay in cache. The product itself is there already if X is sparse.
    """
    step = max(1, _BLOCK_BYTES // (W.shape[1] * X.dtype.itemsize))
    offsets = np.tile(offset, (min(X.shape[0], step), 1))
    ones = np.ones(offsets.size, X.dtype)

    def fill(slab):
        total = 0.0
        with np.errstate(all="ignore"):  # each thread has its own
            for rows in slices_of(slab.stop - slab.start, step):
                block = result[slab][rows]
                if not issparse(X):
                    np.matmul(X[slab][rows], W, out=block)
                block += offsets[: len(block)]
                total += block.ravel() @ ones[: block.size]
        return total

    return fill


def class_codes(scores):
    """Return the class of each row, from scores of two classes (N,) or of more (N, c)."""
    return (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)


def linear_rule(W, covariance, means, priors):
    """Return coefficients and intercepts of LDA in the image of W."""
    check_centres(means)
    centre = priors.dot(means)
    images = (means - centre).dot(W)
    directions = linalg.solve(covariance, images.T)
    with np.errstate(over="ignore", invalid="ignore"):
        coef = W.dot(directions).T
        lengths = np.einsum("ij,ji->i", images, directions)
        intercept = np.log(priors) - 0.5 * lengths - coef.dot(centre)
        if len(means) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise ValueError(
            "The coefficients of the decision overflow: the features have values that are too "
            "small or too large; scale X."
        )
    return coef, intercept
