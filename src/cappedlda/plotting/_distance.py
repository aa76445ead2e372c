"""DistanceDisplay: how far each row lies from its class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from cappedlda.plotting._common import (
    BLUE,
    VERMILLION,
    check_capped,
    dot_style,
    last_step,
    plain_log_axis,
    row_names,
)
from cappedlda.plotting._rows import RowsDisplay, find_left_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class DistanceDisplay(RowsDisplay):
    """How far each row lies from its class, and which rows are flagged for it.

    A row is flagged for one of two reasons: its distance in the discriminant space is beyond
    the cap of its class, or it is far off in all features together, which the discriminant
    space need not show. Rows of the second kind only are drawn as diamonds. Rows that were
    left out of the fit are crossed. The scale is logarithmic if some rows are very far off.

    Parameters
    ----------
    outlyingness : array-like of shape (n_samples,)
        Distances over the largest one that is not flagged.
    hidden : array-like of shape (n_samples,), bool, default=None
        The flagged rows that are inside their cap, far off in all features together.
    left_out : array-like of shape (n_samples,), bool, default=None
        Rows to cross: those that were left out of the fit.
    names : sequence of length n_samples, default=None
        Names of the rows; None numbers them.

    Attributes
    ----------
    ax_, figure_, kept_, flagged_, hidden_, left_out_, line_, labels_, legend_
        Axes, figure and artists: the dots, the cut-off, and the names of rows.

    See Also
    --------
    DistanceDistanceDisplay : The distances in the discriminant space and in all features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.plotting import DistanceDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> X[::25] = 999
    >>> lda = CappedLDA().fit(X, y)
    >>> display = DistanceDisplay.from_estimator(lda, X, y)
    >>> int((display.outlyingness > 1).sum())
    6
    """

    def __init__(
        self,
        outlyingness: ArrayLike,
        *,
        hidden: ArrayLike | None = None,
        left_out: ArrayLike | None = None,
        names: Sequence[Any] | None = None,
    ) -> None:
        self.outlyingness = np.asarray(outlyingness, dtype=float)
        n_rows = len(self.outlyingness)
        self.hidden = np.zeros(n_rows, bool) if hidden is None else np.asarray(hidden, bool)
        self._set_rows(n_rows, left_out, names)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        left_out: str | ArrayLike | None = "auto",
        **plot_args: Any,
    ) -> Self:
        """Measure rows by `CappedLDA.outlyingness` and draw them.

        Parameters
        ----------
        estimator : fitted CappedLDA, or a pipeline that ends with one
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Their classes; None measures from the nearest class.
        left_out : "auto", None or array-like of shape (n_samples,), default="auto"
            As in `ProjectionDisplay.from_estimator`.
        **plot_args : dict
            Passed to `plot`, such as `ax`.

        Returns
        -------
        display : DistanceDisplay
        """
        names = row_names(X)
        model, X = last_step(estimator, X)
        check_capped(model)
        ratio = model.outlyingness(X, y)
        hidden = (ratio > 1.0) & (model.outlyingness(X, y, space="projected") <= 1.0)
        left_out = find_left_out(model, left_out, ratio > 1.0)
        return cls(ratio, hidden=hidden, left_out=left_out, names=names).plot(**plot_args)

    def plot(self, ax: Axes | None = None, *, n_labels: int = 0) -> Self:
        """Draw the distances.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        n_labels : int, default=0
            Number of rows to label, those with the largest distance first.

        Returns
        -------
        self : DistanceDisplay
        """
        ax = self._set_axes(ax)
        heights = self.outlyingness
        log = heights.max(initial=0.0) > 20.0 * np.median(heights) > 0.0
        if log:
            ax.set_yscale("log")
            # Rows at their centre are no reason to show many empty decades.
            heights = np.maximum(heights, 0.01 * np.median(heights))
        points = np.column_stack([np.arange(len(heights)), heights])
        self._draw_rows(ax, points)
        self.line_ = ax.axhline(1.0, color="black", lw=1.0, ls="--", label="flagged above 1")
        if log:
            plain_log_axis(ax.yaxis)
        ax.set(xlabel="row", ylabel="outlyingness")
        named = np.argsort(-heights, kind="stable")[:n_labels]
        self._write(ax, named, points[named])
        return self

    def _draw_rows(self, ax, points):
        def draw(mask, name, **style):
            return self._dots(ax, points, np.flatnonzero(mask), name, mask, **style)

        flagged, style = self.outlyingness > 1.0, dot_style(len(points))
        size = style["s"]
        red = {"s": max(1.5 * size, 6.0), "color": VERMILLION, "linewidths": 0.0}
        diamond = {**red, "color": None, "facecolors": "none", "edgecolors": VERMILLION}
        diamond |= {"marker": "D", "linewidths": 0.9}
        cross = {"s": max(1.5 * size, 10.0), "color": "black", "marker": "x", "linewidths": 0.8}
        self.kept_ = draw(~flagged, "not flagged", color=BLUE, linewidths=0.0, **style)
        self.flagged_ = draw(flagged & ~self.hidden, "beyond the cap", **red)
        self.hidden_ = draw(self.hidden, "far off in all features", **diamond)
        self.left_out_ = draw(self.left_out, "left out of the fit", **cross)
