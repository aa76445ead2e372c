"""LoadingsDisplay: the features that make a direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from cappedlda.plotting._common import (
    BLUE,
    VERMILLION,
    Display,
    last_step,
)
from cappedlda.plotting._common import feature_names as names_of_features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from numpy.typing import ArrayLike
    from sklearn.base import BaseEstimator


class LoadingsDisplay(Display):
    """The features that make a discriminant direction.

    Parameters
    ----------
    loadings : ndarray of shape (n_features,)
    feature_names : array-like of shape (n_features,)
    component : int, default=0
        Number of the direction, for the label.
    scaled : bool, default=False
        Whether the loadings are per spread of each feature, for the label.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    bars_ : BarContainer
        The largest loadings, the largest on top.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.plotting import LoadingsDisplay
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> display = LoadingsDisplay.from_estimator(CappedLDA().fit(X, y), X)
    >>> display.ax_.get_yticklabels()[0].get_text()
    'flavanoids'
    >>> plt.close(display.figure_)
    """

    bars_: BarContainer

    def __init__(
        self,
        loadings: np.ndarray,
        *,
        feature_names: Sequence[str],
        component: int = 0,
        scaled: bool = False,
    ) -> None:
        self.loadings = loadings
        self.feature_names = feature_names
        self.component = component
        self.scaled = scaled

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike | None = None,
        *,
        component: int = 0,
        feature_names: Sequence[str] | None = None,
        ax: Axes | None = None,
        **plot_args: Any,
    ) -> Self:
        """Draw the loadings of one direction of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            `CappedLDA`, scikit-learn's `LinearDiscriminantAnalysis`, or a pipeline that
            ends with one: the features are what its earlier steps give.
        X : array-like of shape (n_samples, n_features), default=None
            Rows that give the spread of each feature (the interquartile range in standard
            deviations). Loadings are multiplied by it, so that features in different units
            can be compared. None draws `scalings_` as they are.
        component : int, default=0
            The direction.
        feature_names : array-like of shape (n_features,), default=None
            None takes the names seen in `fit`, or given by the earlier steps of a pipeline.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_args : dict
            Passed to `plot`.

        Returns
        -------
        display : LoadingsDisplay
        """
        model, X = last_step(estimator, X)
        n_components = model.scalings_.shape[1]
        if not 0 <= component < n_components:
            raise ValueError(
                f"component={component!r} is out of range; use 0 to {n_components - 1}."
            )
        loadings = model.scalings_[:, component]
        if X is not None:
            loadings = loadings * _spread(X)
        if feature_names is None:
            feature_names = names_of_features(estimator)
        display = cls(
            loadings, feature_names=feature_names, component=component, scaled=X is not None
        )
        return display.plot(ax, **plot_args)

    def plot(self, ax: Axes | None = None, *, n_features: int = 15) -> Self:
        """Draw the largest loadings.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        n_features : int, default=15
            Number of bars.

        Returns
        -------
        self : LoadingsDisplay
        """
        ax = self._set_axes(ax)
        largest = np.argsort(-np.abs(self.loadings), kind="stable")[:n_features]
        loadings = np.asarray(self.loadings)[largest]
        self.bars_ = ax.barh(
            np.arange(len(largest)), loadings, color=np.where(loadings < 0, VERMILLION, BLUE)
        )
        ax.set_yticks(np.arange(len(largest)), [str(self.feature_names[i]) for i in largest])
        ax.invert_yaxis()
        ax.axvline(0.0, color="black", lw=0.8)
        ax.set_xlabel(
            f"loading in direction {self.component + 1}"
            + (", per spread of the feature" if self.scaled else "")
        )
        return self


def _spread(X):
    """Return the interquartile range of each column in standard deviations of a Gaussian."""
    if issparse(X):  # mostly zeros, which have no such range
        return np.sqrt(mean_variance_axis(X.tocsr().astype(float), axis=0)[1])
    X = np.asarray(X, dtype=float)
    low, high = np.percentile(X, [25.0, 75.0], axis=0)
    # A feature that is mostly one value has no such range.
    return np.where(high > low, (high - low) / 1.349, X.std(axis=0))
