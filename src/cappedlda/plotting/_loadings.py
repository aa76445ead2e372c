"""LoadingsDisplay: the features that make a direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from cappedlda._model.summary import direction_name, loadings_of, unit_of_loadings
from cappedlda.plotting import _common
from cappedlda.plotting._common import BLUE, VERMILLION, Display, last_step

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LoadingsDisplay(Display):
    """The features that make a discriminant direction.

    Parameters
    ----------
    loadings, feature_names : array-like of shape (n_features,)
    component : int, default=0
        Number of the direction, for the label.
    per_deviation : bool, default=False
        Whether the loadings are per deviation of each feature, not per unit, for the label.

    Attributes
    ----------
    ax_, figure_, bars_
        Axes, figure, and the bars, the largest on top.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.plotting import LoadingsDisplay
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> display = LoadingsDisplay.from_estimator(CappedLDA().fit(X, y))
    >>> display.ax_.get_yticklabels()[0].get_text()
    'flavanoids'
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
        **plot_args: Any,
    ) -> Self:
        """Draw the loadings of one direction of a fitted estimator.

        Loadings are `scalings_` times the deviation of each feature within the classes, so you
        can compare features in different units. Deviations are robust for `CappedLDA`, and come
        from `covariance_` for others. Without either, `scalings_` are drawn.

        Parameters
        ----------
        estimator : fitted discriminant, or a pipeline that ends with one
            `CappedLDA` and the like, or scikit-learn's `LinearDiscriminantAnalysis`.
        component : int, default=0
            The direction.
        feature_names : array-like of shape (n_features,), default=None
            None takes the names seen in `fit`, or given by the earlier steps of a pipeline.
        **plot_args : dict
            Passed to `plot`, such as `ax`.

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
        names = _common.feature_names(estimator) if feature_names is None else feature_names
        shown = {"component": component, "per_deviation": per_deviation}
        return cls(loadings[:, component], feature_names=names, **shown).plot(**plot_args)

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
        loadings, places = np.asarray(self.loadings)[largest], np.arange(len(largest))
        self.bars_ = ax.barh(places, loadings, color=np.where(loadings < 0, VERMILLION, BLUE))
        ax.set_yticks(places, [str(self.feature_names[i]) for i in largest])
        ax.invert_yaxis()
        ax.axvline(0.0, color="black", lw=0.8)
        unit = unit_of_loadings(self.per_deviation)
        ax.set_xlabel(f"loading in {direction_name(self.component)}, {unit}")
        return self
