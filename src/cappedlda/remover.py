"""OutlierRemover: hand only good rows on to a later classifier."""

from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, clone
from sklearn.utils import InputTags, Tags, _safe_indexing, get_tags
from sklearn.utils.validation import validate_data

from cappedlda._data.kinds import kind_of
from cappedlda._estimator import CappedDiscriminant
from cappedlda._typing import ArrayLike, MatrixLike
from cappedlda._validation import check_choice
from cappedlda.capped import CappedLDA

# The fitted attribute that marks the rows to remove.
_MARKS = {"left_out": "left_out_", "flagged": "outliers_"}
# How rows of a lazy input are kept.
KEEP = {
    "dask": "index X and y with ~left_out_",
    "spark": "keep the rows of transform_frame(X, y).where('not left_out')",
}


class SamplerInputTags(InputTags):
    """With a tag of imbalanced-learn."""

    dataframe = True


class SamplerTags(Tags):
    """With a tag of imbalanced-learn."""

    sampler_tags = SimpleNamespace(sample_indices=True)


class OutlierRemover(OneToOneFeatureMixin, BaseEstimator):
    """Remove bad training rows before another classifier is fitted.

    As a step of ``imblearn.pipeline.Pipeline`` it removes rows when the pipeline is fitted, and
    does nothing when the pipeline predicts. Only such a pipeline needs imbalanced-learn.

    Parameters
    ----------
    estimator : CappedLDA, CappedLDACV or CappedNormLDA, default=None
        The estimator that finds the rows; None is ``CappedLDA()``. It is cloned.
    remove : {"left_out", "flagged"}, default="left_out"
        "left_out" removes the rows that the fit leaves out, "flagged" the rows that it flags.

    Attributes
    ----------
    estimator_ : CappedLDA, CappedLDACV or CappedNormLDA
        The fitted estimator.
    sample_indices_ : ndarray of shape (n_kept,)
        Positions of the rows that remain.
    sampling_strategy_ : dict
        Number of rows of each class that remain.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    CappedLDA.explain : Why rows are flagged.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda import OutlierRemover
    >>> X, y = load_iris(return_X_y=True)
    >>> X[::25] = 999  # the error code of some sensor
    >>> X_good, y_good = OutlierRemover().fit_resample(X, y)
    >>> X_good.shape, float(X_good.max())
    ((144, 4), 7.9)
    """

    _estimator_type = "sampler"
    estimator_: CappedDiscriminant
    sample_indices_: np.ndarray
    sampling_strategy_: dict[Any, int]
    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(
        self,
        estimator: CappedDiscriminant | None = None,
        *,
        remove: Literal["left_out", "flagged"] = "left_out",
    ) -> None:
        self.estimator = estimator
        self.remove = remove

    def fit(self, X: MatrixLike, y: ArrayLike) -> Self:
        """Find the rows to remove.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self : OutlierRemover
        """
        check_choice("remove", self.remove, tuple(_MARKS))
        if (kind := kind_of(X)) in KEEP:
            raise TypeError(
                f"X is a {kind} {type(X).__name__}, and OutlierRemover does not take {kind}; fit "
                f"CappedLDA to it, and {KEEP[kind]}."
            )
        if not isinstance(self.estimator, CappedDiscriminant | None):
            raise TypeError(
                f"estimator={self.estimator!r} finds no outliers; use an instance of CappedLDA, "
                "CappedLDACV or CappedNormLDA, or None."
            )
        estimator = CappedLDA() if self.estimator is None else clone(self.estimator)
        self.estimator_ = estimator.fit(X, y)
        validate_data(self, X, skip_check_array=True)
        self.sample_indices_ = np.flatnonzero(~getattr(estimator, _MARKS[self.remove]))
        labels, counts = np.unique(np.asarray(y)[self.sample_indices_], return_counts=True)
        self.sampling_strategy_ = dict(zip(labels.tolist(), counts.tolist(), strict=True))
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        known = {field.name: getattr(tags, field.name) for field in fields(tags)}
        tags = SamplerTags(**known)
        tags.estimator_type = "sampler"
        tags.target_tags.required = True
        tags.input_tags = SamplerInputTags(sparse=True)
        if isinstance(self.estimator, CappedDiscriminant):
            tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags

    def fit_resample(self, X: MatrixLike, y: ArrayLike) -> tuple[Any, Any]:
        """Return the rows that are not removed, and their labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        X_kept : same type as X, of shape (n_kept, n_features)
        y_kept : same type as y, of shape (n_kept,)
        """
        kept = self.fit(X, y).sample_indices_
        return _safe_indexing(X, kept), _safe_indexing(y, kept)
