"""DistanceDisplay: how far each row lies from the centre of its class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from cappedlda.plotting._common import (
    BLUE,
    GREY,
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
    """How far each row lies from the centre of its class, and which rows are flagged for it.

    A row is flagged for one of two reasons: its distance in the discriminant space is beyond
    the cap of its class, or it is far off in all features together, which the discriminant
    space need not show. Rows of the second kind only are drawn as diamonds. Rows that were
    left out of the fit are crossed. The scale is logarithmic if some rows are very far off.

    Parameters
    ----------
    distances : array-like of shape (n_samples,)
    caps : float or array-like of shape (n_classes,)
        The largest distance of a row that is not flagged; inf draws no line.
    outliers : array-like of shape (n_samples,), bool
        The flagged rows.
    hidden : array-like of shape (n_samples,), bool, default=None
        The rows among them that are inside their cap, far off in all features together.
    relative : bool, default=False
        Whether the distances are relative to the cut-off, for the labels.
    left_out : array-like of shape (n_samples,), bool, default=None
        Rows to cross: those that were left out of the fit.
    names : sequence of length n_samples, default=None
        Names of the rows; None numbers them.

    Attributes
    ----------
    ax_, figure_, kept_, outliers_, hidden_, left_out_, lines_, labels_, legend_
        Axes, figure and artists: the dots, the caps, and the names of rows.

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
    >>> int((display.distances > 1).sum())
    6
    """

    def __init__(
        self,
        distances: ArrayLike,
        *,
        caps: ArrayLike,
        outliers: ArrayLike,
        hidden: ArrayLike | None = None,
        relative: bool = False,
        left_out: ArrayLike | None = None,
        names: Sequence[Any] | None = None,
    ) -> None:
        self.distances = np.asarray(distances, dtype=float)
        self.caps = np.atleast_1d(np.asarray(caps, dtype=float))
        self.outliers = np.asarray(outliers, dtype=bool)
        nothing = np.zeros_like(self.outliers)
        self.hidden = nothing if hidden is None else np.asarray(hidden, bool)
        self.relative = relative
        self._set_rows(len(nothing), left_out, names)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        left_out: str | ArrayLike | None = "auto",
        **plot_args: Any,
    ) -> Self:
        """Draw the outlyingness of rows, or the distances of the training rows.

        Parameters
        ----------
        estimator : fitted CappedLDA, or a pipeline that ends with one
        X : array-like of shape (n_samples, n_features), default=None
            Rows to measure by `CappedLDA.outlyingness`: above 1 they are flagged. None
            draws `distances_` of the training rows against `caps_`; the fitted estimator does
            not keep how far off rows are in all features together, so that only rows
            below every cap are shown as flagged for that.
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
        names = None if X is None else row_names(X)
        model, X = last_step(estimator, X)
        if X is None:
            distances, outliers = model.distances_, model.outliers_
            caps, hidden = model.caps_, outliers & (distances <= model.caps_.min())
        else:
            check_capped(model)
            distances, caps = model.outlyingness(X, y), 1.0
            outliers = distances > 1.0
            hidden = outliers & (model.outlyingness(X, y, space="projected") <= 1.0)
        display = cls(
            distances,
            caps=caps,
            outliers=outliers,
            hidden=hidden,
            relative=X is not None,
            left_out=find_left_out(model, left_out, outliers),
            names=names,
        )
        return display.plot(**plot_args)

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
        distances = self.distances
        log = distances.max(initial=0.0) > 20.0 * np.median(distances) > 0.0
        if log:
            ax.set_yscale("log")
            # Rows at their centre are no reason to show many empty decades.
            distances = np.maximum(distances, 0.01 * np.median(distances))
        self._draw_rows(ax, distances)
        self.lines_ = self._draw_caps(ax)
        if log:
            plain_log_axis(ax.yaxis)
        ylabel = "outlyingness" if self.relative else "distance from the centre of its class"
        ax.set(xlabel="row", ylabel=ylabel)
        named = np.argsort(-distances, kind="stable")[:n_labels]
        self._write(ax, named, np.column_stack([named, distances[named]]))
        return self

    def _draw_rows(self, ax, distances):
        points = np.column_stack([np.arange(len(distances)), distances])

        def draw(mask, name, **style):
            return self._dots(ax, points, np.flatnonzero(mask), name, mask, **style)

        style = dot_style(len(distances))
        size = style["s"]
        red = {"s": max(1.5 * size, 6.0), "color": VERMILLION, "linewidths": 0.0}
        diamond = {**red, "color": None, "facecolors": "none", "edgecolors": VERMILLION}
        diamond |= {"marker": "D", "linewidths": 0.9}
        cross = {"s": max(1.5 * size, 10.0), "color": "black", "marker": "x", "linewidths": 0.8}
        self.kept_ = draw(~self.outliers, "not flagged", color=BLUE, linewidths=0.0, **style)
        self.outliers_ = draw(self.outliers & ~self.hidden, "beyond the cap", **red)
        self.hidden_ = draw(self.hidden, "far off in all features", **diamond)
        self.left_out_ = draw(self.left_out, "left out of the fit", **cross)

    def _draw_caps(self, ax):
        caps = np.unique(self.caps[np.isfinite(self.caps)])
        if len(caps) == 0:
            return []
        if self.relative:
            label = "flagged above 1"
        elif len(caps) == 1:
            label = f"epsilon = {caps[0]:.3g}"
        else:
            label = f"caps of the classes: {caps[0]:.3g} to {caps[-1]:.3g}"
        style = {"color": "black", "lw": 1.0, "ls": "--"}
        lines = [ax.axhline(caps[0], label=label, **style)]
        return lines + [ax.axhline(cap, **{**style, "color": GREY}) for cap in caps[1:]]
