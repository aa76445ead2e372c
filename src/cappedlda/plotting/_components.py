"""ComponentsDisplay: accuracy over the number of directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import check_cv
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import column_or_1d

from cappedlda.plotting._common import BLUE, Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ComponentsDisplay(Display):
    """Accuracy over the number of directions.

    Parameters
    ----------
    scores : ndarray of shape (n_components, n_folds)
        Accuracy with the first 1, 2, ... directions.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_ : Line2D
        Mean over the folds.
    band_ : PolyCollection
        One standard deviation over the folds on either side.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.plotting import ComponentsDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> display = ComponentsDisplay.from_estimator(CappedLDA(), X, y, cv=3)
    >>> display.scores.shape
    (2, 3)
    >>> plt.close(display.figure_)
    """

    def __init__(self, scores: np.ndarray) -> None:
        self.scores = scores

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike,
        *,
        cv: object = None,
        classifier: BaseEstimator | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Cross-validate the first 1, 2, ... directions and draw their accuracy.

        The estimator is fitted once per fold, since directions are nested. Rows that
        are left out of the fit do not reach the classifier.

        Parameters
        ----------
        estimator : estimator
            `CappedLDA`, scikit-learn's `LinearDiscriminantAnalysis`, or a pipeline that
            ends with one; its `n_components` is the largest number tried.
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        cv : int, cross-validation generator or iterable, default=None
            As in scikit-learn; None is five folds, stratified by class.
        classifier : classifier, default=None
            Fitted to the projected rows; None is `KNeighborsClassifier()`.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : ComponentsDisplay
        """
        y = column_or_1d(y)
        classifier = KNeighborsClassifier() if classifier is None else classifier
        folds = check_cv(cv, y, classifier=True).split(X, y)
        scores = [_fold_scores(estimator, classifier, X, y, *fold) for fold in folds]
        return cls(np.transpose(scores)).plot(ax)

    def _draw(self, ax):
        from matplotlib.ticker import MaxNLocator

        mean, deviation = self.scores.mean(axis=1), self.scores.std(axis=1)
        counts = np.arange(1, len(mean) + 1)
        (self.line_,) = ax.plot(counts, mean, color=BLUE, marker="o", ms=4.0, lw=1.2)
        wide = counts if len(counts) > 1 else np.array([0.9, 1.1])  # of one point, a bar
        self.band_ = ax.fill_between(
            wide, mean - deviation, mean + deviation, color=BLUE, alpha=0.15, lw=0.0
        )
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        ax.set_xlim(0.5, len(counts) + 0.5)
        ax.set(xlabel="number of directions", ylabel="accuracy in cross-validation")


def _fold_scores(estimator, classifier, X, y, train, test):
    """Return the accuracy on a fold with the first 1, 2, ... directions."""
    model = clone(estimator).fit(_safe_indexing(X, train), y[train])
    last = model[-1] if isinstance(model, Pipeline) else model
    flagged = getattr(last, "outliers_", np.zeros(len(train), dtype=bool))
    kept = ~getattr(last, "left_out_", flagged)
    Z_train = np.asarray(model.transform(_safe_indexing(X, train)))[kept]
    Z_test = np.asarray(model.transform(_safe_indexing(X, test)))
    return [
        accuracy_score(
            y[test],
            clone(classifier).fit(Z_train[:, :k], y[train][kept]).predict(Z_test[:, :k]),
        )
        for k in range(1, Z_train.shape[1] + 1)
    ]
