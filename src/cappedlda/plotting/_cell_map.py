"""CellMapDisplay: which cells of which rows do not fit the other cells of their row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from cappedlda.plotting._common import GREY, Display, feature_names, last_step, row_names

# Deviations at which colours are strongest: about twice those at which a cell is usually ignored.
STRONGEST = 10.0
MOST_NAMED = 20  # rows: more names would overlap


class CellMapDisplay(Display):
    """Cells above (red) or below (blue) the value that the other cells of their row predict.

    A dot marks cells that `CappedLDA.wrong_cells` finds. Missing cells are grey.

    Parameters
    ----------
    deviations : array-like of shape (n_samples, n_features)
        Standard deviations between each cell and its prediction; NaN for a missing cell.
    wrong : array-like of shape (n_samples, n_features), bool
        The cells to mark.
    features : sequence of length n_features, default=None
        Names of the features; None numbers them.
    names : sequence of length n_samples, default=None
        Names of the rows; None numbers them.

    Attributes
    ----------
    ax_, figure_, image_, wrong_, colorbar_
        Axes, figure, cells, dots and scale.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.plotting import CellMapDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> lda = CappedLDA().fit(X, y)
    >>> new = X[::15].copy()
    >>> new[3, 2] *= 10.0  # the decimal point is missing
    >>> display = CellMapDisplay.from_estimator(lda, new)
    >>> display.wrong.sum(axis=0)
    array([0, 0, 1, 0])
    """

    def __init__(
        self,
        deviations: ArrayLike,
        *,
        wrong: ArrayLike,
        features: Sequence[Any] | None = None,
        names: Sequence[Any] | None = None,
    ) -> None:
        self.deviations = np.asarray(deviations, dtype=float)
        self.wrong = np.asarray(wrong, dtype=bool)
        n_rows, n_features = self.deviations.shape
        self.features = np.arange(n_features) if features is None else features
        self.names = np.arange(n_rows) if names is None else names

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        most: int = 50,
        **plot_args: Any,
    ) -> Self:
        """Draw the cells of rows.

        Parameters
        ----------
        estimator : fitted CappedLDA, or a pipeline that ends with one
        X : array-like of shape (n_samples, n_features)
            The features drawn are those that the discriminant sees, after the other steps.
        y : array-like of shape (n_samples,), default=None
            Classes of the rows; None takes the predicted ones.
        most : int, default=50
            Of more rows, only this many are drawn: the first with a wrong or missing cell.
        **plot_args : dict
            Passed to `plot`, such as `ax`.

        Returns
        -------
        display : CellMapDisplay
        """
        names, features = row_names(X), feature_names(estimator)
        model, X = last_step(estimator, X)
        wrong, deviations = model.wrong_cells(X, y), model.cell_deviations(X, y)
        rows = np.arange(len(wrong))
        if len(rows) > most:
            rows = np.flatnonzero((wrong | np.isnan(deviations)).any(axis=1))[:most]
        display = cls(deviations[rows], wrong=wrong[rows], features=features, names=[*names[rows]])
        return display.plot(**plot_args)

    def _draw(self, ax):
        from matplotlib import colormaps

        n_rows, n_features = self.deviations.shape
        style = {"cmap": colormaps["RdBu_r"].with_extremes(bad=GREY), "aspect": "auto"}
        limits = {"vmin": -STRONGEST, "vmax": STRONGEST}
        numbers = np.clip(self.deviations, -STRONGEST, STRONGEST)
        self.image_ = ax.imshow(numbers, interpolation="nearest", **style, **limits)
        rows, columns = np.nonzero(self.wrong)
        self.wrong_ = ax.scatter(columns, rows, s=9.0, color="black", linewidths=0.0)
        ax.set_xticks(range(n_features), map(str, self.features), rotation=90)
        shown = range(0, n_rows, max(1, -(-n_rows // MOST_NAMED)))
        ax.set_yticks(shown, [str(self.names[row]) for row in shown])
        ax.set(xlabel="feature", ylabel="row")
        self.colorbar_ = ax.figure.colorbar(self.image_, ax=ax, extend="both")
        self.colorbar_.set_label("deviations from the expected value")
