"""What every discriminant of this library does once it is fitted: project and predict."""

from __future__ import annotations

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
from cappedlda._data.factory import blocks_of
from cappedlda._data.kinds import kind_of
from cappedlda._data.threads import blas_threads, ordered_map, single_threaded_blas
from cappedlda._kernels import kernels_for
from cappedlda._regime import REGIME
from cappedlda._solvers import linalg
from cappedlda._typing import Floats, Labels, MatrixLike
from cappedlda._validation import FLOATS, check_centres, check_structure, check_text, not_finite

# Methods that begin with a product of all rows and a small matrix.
_LINEAR = {"_transform", "_decide", "_predict", "_probabilities", "_log_probabilities"}

# Of a product, which are worked on at a time.
_BLOCK_BYTES = 1 << 17


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

    def _check_new(self, X, finite=True, first=0):
        check_is_fitted(self)
        if issparse(X):
            check_structure(X)
        check_text(X)
        with config_context(array_api_dispatch=False):  # arrays of other libraries become NumPy's
            X = validate_data(
                self,
                X,
                reset=False,
                dtype=FLOATS,
                ensure_all_finite=False,
                accept_sparse=self._sparse_format,
            )
        if finite:
            self._check_finite(X, first)
        return X

    def _check_finite(self, X, first=0, remedy="remove or impute such rows"):
        """Raise an error if a number is not finite; it names the row, counted from `first`.

        None is a block of which nobody knows where it begins.
        """
        if issparse(X):
            assert_all_finite(X, estimator_name=type(self).__name__, input_name="X")
            return
        row = first_not_finite(X)
        if row is not None:
            raise self._not_finite(X, row, first, remedy)

    def _not_finite(self, X, row, first, remedy):
        where = f"row {row} of its block" if first is None else f"row {first + row}"
        names = getattr(self, "feature_names_in_", None)
        return not_finite(X[row], where, names, remedy=remedy)

    def _by_rows(self, method, X, y=None, **settings):
        """Return what a method gives for checked rows, whatever X is; lazily for dask."""
        check_is_fitted(self)
        kind = kind_of(X)
        if kind == "dask":
            from cappedlda._data import dask as dask_rows

            return dask_rows.predicted(self, method, X, y, **settings)
        check_file(X)
        function = getattr(self, method)
        finite = method not in _LINEAR
        if kind == "sliced":
            found, first = [], 0
            for rows, labels in blocks_of(X, y, self._regime):
                found.append(function(self._check_new(rows, True, first), labels, **settings))
                first += len(rows)
            return np.concatenate(found)
        return function(self._check_new(X, finite), y, **settings)

    def _affine(self, X, W, offset, amend=None):
        """Return X W + offset in the precision of X, without a copy of X.

        A value of X that is not finite makes its row of the product not finite, even times
        zero: so it is found in the product, which is smaller. `amend` may change the product.
        """
        n_jobs = blas_threads()
        W, offset = W.astype(X.dtype, copy=False), offset.astype(X.dtype, copy=False)
        with single_threaded_blas():
            result, total = shifted_product(X, W, offset, n_jobs)
        if not np.isfinite(total):
            self._check_finite(X)
        if amend is not None:
            amend(X, result)
        if not (np.isfinite(total) or np.isfinite(result).all()):
            raise ValueError(
                f"X has values as large as {abs(X).max():.3g}, with which products overflow; "
                "remove such rows, or give X in float64 if it is not."
            )
        return result

    def transform(self, X: MatrixLike) -> Floats:
        """Project data onto the discriminant directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
        """
        return self._by_rows("_transform", X)

    def _transform(self, X, _=None):
        offset = -(self.xbar_ @ self.scalings_)
        return self._affine(X, self.scalings_, offset, self._amend_projections)

    # Where single cells of rows are judged, these change the results of some rows.
    _amend_projections = None
    _amend_scores = None

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
        return self._by_rows("_decide", X)

    def _decide(self, X, _=None):
        scores = self._affine(X, self.coef_.T, self.intercept_, self._amend_scores)
        return scores.ravel() if len(self.classes_) == 2 else scores

    def predict(self, X: MatrixLike) -> Labels:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._by_rows("_predict", X)

    def _predict(self, X, _=None):
        return self.classes_[class_codes(self._decide(X))]

    def predict_proba(self, X: MatrixLike) -> Floats:
        """Estimate the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        return self._by_rows("_probabilities", X)

    def _probabilities(self, X, _=None):
        scores = self._decide(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return softmax(scores, axis=1)

    def predict_log_proba(self, X: MatrixLike) -> Floats:
        """Estimate the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
        """
        return self._by_rows("_log_probabilities", X)

    def _log_probabilities(self, X, _=None):
        scores = self._decide(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        return log_softmax(scores, axis=1)


def shifted_product(X, W, offset, n_jobs=1):
    """Return X W + offset, and the sum of all its numbers.

    As many threads as BLAS would have, but on slabs: those of BLAS would have to meet after
    every block.
    """
    result = X @ W if issparse(X) else np.empty((X.shape[0], W.shape[1]), X.dtype)
    fill = compiled_fill(X, W, offset, result) or blockwise_fill(X, W, offset, result)
    slabs = slices_of(X.shape[0], REGIME.slab_rows(X.shape[1]))
    return result, sum(ordered_map(fill, slabs, n_jobs))


def compiled_fill(X, W, offset, result):
    """Return a function that fills some rows of X W + offset and sums them, or None.

    The compiled projection takes C-ordered rows, and pads images to whole vectors: of too few
    numbers BLAS makes less.
    """
    build, d = kernels_for(X.shape[1]), W.shape[1]
    if issparse(X) or not X.flags.c_contiguous or 2 * d <= build.padded(d, X.dtype.itemsize):
        return None
    W = np.ascontiguousarray(W)
    return lambda rows: build.affine_images(X[rows], W, offset, result[rows])


def blockwise_fill(X, W, offset, result):
    """Return a function that fills some rows of X W + offset and sums them, by NumPy.

    By blocks that stay in cache until all is done with them. The offset is added to many rows
    at a time, and the numbers are summed as a product: each is what NumPy does fast. The
    product itself is there already if X is sparse.
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
    """Return coefficients and intercepts of LDA in the image of W.

    Parameters
    ----------
    W : ndarray of shape (n_features, d)
    covariance : ndarray of shape (d, d)
        Within-class covariance of the image.
    means : ndarray of shape (n_classes, n_features)
    priors : ndarray of shape (n_classes,)

    Returns
    -------
    coef : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
    intercept : ndarray of shape (n_classes,) or (1,)
    """
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
