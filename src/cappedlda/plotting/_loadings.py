"""LoadingsDisplay: the features that make a direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from cappedlda._model.summary import direction_name, loadings_of, unit_of_loadings
from cappedlda.plotting._common import (
    BLUE,
    VERMILLION,
    Display,
    last_step,
)
from cappedlda.plotting._common import feature_names as names_of_features

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LoadingsDisplay(Display):
    """The features that make a discriminant direction.

    Parameters
    ----------
    loadings : ndarray of shape (n_features,)
    feature_names : array-like of shape (n_features,)
    component : int, default=0
        Number of the direction, for the label.
    per_deviation : bool, default=False
        Whether the loadings are per deviation of each feature, not per unit, for the label.

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
    >>> display = LoadingsDisplay.from_estimator(CappedLDA().fit(X, y))
    >>> display.ax_.get_yticklabels()[0].get_text()
    'flavanoids'
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        loadings: np.ndarray,
        *,
        feature_names: Sequence[str],
        component: int = 0,
        per_deviation: bool = False,
    ) -> None:
        self.loadings = loadings
        self.feature_names = feature_names
        self.component = component
        self.per_deviation = per_deviation

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
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
            ends with one, whose earlier steps return the features. Loadings are `scalings_`
            times the deviation of each feature within the classes, so you can compare features
            in different units. Deviations are robust for `CappedLDA`, and come from
            `covariance_` for others. Without either, `scalings_` are drawn.
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
        model, _ = last_step(estimator)
        n_components = model.scalings_.shape[1]
        if not 0 <= component < n_components:
            raise ValueError(
                f"component={component!r} is out of range; use 0 to {n_components - 1}."
            )
        loadings, per_deviation = loadings_of(model)
        if feature_names is None:
            feature_names = names_of_features(estimator)
        display = cls(
            loadings[:, component],
            feature_names=feature_names,
            component=component,
            per_deviation=per_deviation,
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
            f"loading in {direction_name(self.component)}, {unit_of_loadings(self.per_deviation)}"
        )
        return self
