"""LabelsDisplay: rows whose labels are worth checking, in the discriminant plane."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from cappedlda._validation import check_count
from cappedlda.plotting._common import last_step
from cappedlda.plotting._projection import ProjectionDisplay

MOST_NAMES = 100  # more cannot be read


class LabelsDisplay(ProjectionDisplay):
    """Rows whose labels are most worth checking, in two discriminant directions.

    A `ProjectionDisplay` that rings and names the rows with the lowest
    `CappedLDA.label_quality`. A ringed row in the region of another class may have a wrong label,
    but this is not proof.

    Parameters
    ----------
    Z, y : ndarray of shape (n_samples, 1) or (n_samples, 2), and (n_samples,)
        Projected rows and their classes. All parameters and attributes are those of
        `ProjectionDisplay`.
    flagged : ndarray of shape (n_samples,), bool
        Rows to ring and to name.
    classes : ndarray of shape (n_classes,)
    predict : callable, default=None
    left_out : ndarray of shape (n_samples,), bool, default=None
    components : tuple of one or two int, default=None
    outlyingness : ndarray of shape (n_samples,), default=None
        How unusual each row is; the view need not show rows above 1.
    names : sequence of length n_samples, default=None

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.plotting import LabelsDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> y[[10, 100]] = [1, 2]  # two wrong labels
    >>> lda = CappedLDA(label_noise="auto").fit(X, y)
    >>> display = LabelsDisplay.from_estimator(lda, X, y, n_rows=2)
    >>> np.flatnonzero(display.flagged)
    array([ 10, 100])
    """

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, *, n_rows: int = 20, **args: Any
    ) -> Self:
        """Project rows with a fitted estimator and ring those with the lowest label quality.

        Parameters
        ----------
        estimator : CappedLDA fitted with `label_noise`, or a pipeline that ends with one
        X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        n_rows : int, default=20
            Number of rows to ring and name, 100 at most; fewer if the quality of fewer is below 1.
        **args : dict
            Passed to `ProjectionDisplay.from_estimator`.

        Returns
        -------
        display : LabelsDisplay
        """
        check_count("n_rows", n_rows, 1, MOST_NAMES, f"use 1 to {MOST_NAMES}")
        if "n_labels" in args:
            raise TypeError(f"n_labels={args['n_labels']!r} has no effect here; use n_rows.")
        model, rows = last_step(estimator, X)
        quality = model.label_quality(rows, y)
        doubtful = np.zeros(len(quality), bool)
        doubtful[np.argsort(quality, kind="stable")[:n_rows]] = True
        doubtful &= quality < 1.0
        marks = {"flagged": doubtful, "left_out": None, "flag_name": "worth checking"}
        return super().from_estimator(estimator, X, y, **(marks | args))

    def _most_unusual(self, n_labels):
        return np.flatnonzero(self.flagged)

    @property
    def _out_of_view(self):
        return np.zeros(len(self.Z), bool) if self.outlyingness is None else self.outlyingness > 1.0
