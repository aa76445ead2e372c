"""DistanceDistanceDisplay: distances in the discriminant space against those in all features."""

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
    sampled,
)
from cappedlda.plotting._rows import RowsDisplay, find_left_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALLEST = 0.03  # ratio that is drawn as such: rows at their centre need no empty decades


class DistanceDistanceDisplay(RowsDisplay):
    """Why rows are flagged: their distance in the discriminant space, in all features, or both.

    Each row is a point. Rows to the right of the vertical line are beyond the cap of their
    class in the discriminant space; rows above the horizontal line are far off in all features
    together. Rows at the upper left are unusual without disturbing the directions. Rows at the
    lower right are unusual only in the directions that separate the classes, as rows with a
    wrong label are.

    Parameters
    ----------
    projected : array-like of shape (n_samples,)
        Distances in the discriminant space, relative to the cut-off.
    full : array-like of shape (n_samples,)
        Distances in all features, relative to the cut-off.
    left_out : array-like of shape (n_samples,), bool, default=None
        Rows to cross: those that were left out of the fit.
    names : sequence of length n_samples, default=None
        What rows are called; None numbers them.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    kept_, flagged_, left_out_ : PathCollection
    lines_ : list of Line2D
        The two cut-offs.
    labels_ : list of Text
        The names of the most unusual rows.
    legend_ : Legend

    See Also
    --------
    DistanceDisplay : The larger of both distances, row by row.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.plotting import DistanceDistanceDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> X[::20] *= -5.0
    >>> lda = CappedLDA().fit(X, y)
    >>> display = DistanceDistanceDisplay.from_estimator(lda, X, y, n_labels=3)
    >>> len(display.labels_)
    3
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        projected: ArrayLike,
        full: ArrayLike,
        *,
        left_out: ArrayLike | None = None,
        names: Sequence[Any] | None = None,
    ) -> None:
        self.projected = np.asarray(projected, dtype=float)
        self.full = np.asarray(full, dtype=float)
        self._set_rows(len(self.projected), left_out, names)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        left_out: str | ArrayLike | None = "auto",
        ax: Axes | None = None,
        **plot_args: Any,
    ) -> Self:
        """Measure rows by `CappedLDA.outlyingness` in both spaces and draw them.

        Parameters
        ----------
        estimator : fitted CappedLDA, or a pipeline that ends with one
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Their classes; None measures from the nearest class, in each space by itself.
        left_out : "auto", None or array-like of shape (n_samples,), default="auto"
            Rows to cross. "auto" takes `left_out_` of the estimator, if X are the rows it was
            fitted to and these are not simply the flagged ones; None crosses nothing.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_args : dict
            Passed to `plot`.

        Returns
        -------
        display : DistanceDistanceDisplay
        """
        names = row_names(X)
        model, X = last_step(estimator, X)
        check_capped(model)
        projected = model.outlyingness(X, y, space="projected")
        full = model.outlyingness(X, y, space="full")
        left_out = find_left_out(model, left_out, np.maximum(projected, full) > 1.0)
        return cls(projected, full, left_out=left_out, names=names).plot(ax, **plot_args)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        marker_size: float | None = None,
        n_labels: int = 0,
        max_rows: int = 20_000,
        max_marks: int = 2_000,
    ) -> Self:
        """Draw the distances, on logarithmic scales.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        marker_size : float, default=None
            Area of the dots in square points; None makes them smaller the more there are.
        n_labels : int, default=0
            Number of rows to label, those with the largest distance in either space first.
        max_rows : int, default=20000
            If there are more rows that are not flagged, a random sample of them is drawn.
        max_marks : int, default=2000
            If there are more flagged rows, a random sample of them is drawn, and the legend
            says so.

        Returns
        -------
        self : DistanceDistanceDisplay
        """
        ax = self._set_axes(ax)
        points = np.maximum(np.column_stack([self.projected, self.full]), SMALLEST)
        larger = points.max(axis=1)
        flagged = larger > 1.0
        named = np.argsort(-larger, kind="stable")[:n_labels]
        kept = sampled(~flagged, max_rows)
        marked = sampled(flagged, max_marks, named)
        style = dot_style(len(kept), marker_size)
        size = style["s"]
        ax.set(xscale="log", yscale="log")
        self.kept_ = _draw(ax, points, kept, "not flagged", ~flagged, color=BLUE, lw=0.0, **style)
        self.flagged_ = _draw(
            ax, points, marked, "flagged", flagged, color=VERMILLION, lw=0.0, s=max(1.5 * size, 8.0)
        )
        crossed = np.union1d(kept, marked)
        crossed = crossed[self.left_out[crossed]]
        self.left_out_ = _draw(
            ax, points, crossed, "left out of the fit", self.left_out, color="black", lw=0.9,
            s=max(1.5 * size, 14.0), marker="x",
        )  # fmt: skip
        cut = {"color": "black", "lw": 1.0, "ls": "--"}
        self.lines_ = [ax.axvline(1.0, **cut, label="cut-offs"), ax.axhline(1.0, **cut)]
        plain_log_axis(ax.xaxis)
        plain_log_axis(ax.yaxis)
        ax.set_xlabel("distance in the discriminant space / cap")
        ax.set_ylabel("distance in all features / cut-off")
        self._write(ax, named, points[named])
        return self


def _draw(ax, points, rows, name, all_rows, **style):
    n_all = int(all_rows.sum())
    count = f"{n_all:,}" if len(rows) == n_all else f"{len(rows):,} of {n_all:,} shown"
    label = f"{name}: {count}" if n_all else None
    return ax.scatter(*points[rows].T, label=label, **style)
