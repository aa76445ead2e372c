"""DistanceDisplay and DistanceDistanceDisplay: how far each row lies from its class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from cappedlda.plotting._common import (
    BLUE,
    LEGEND,
    MOST_ROWS,
    VERMILLION,
    RowsDisplay,
    as_mask,
    check_capped,
    cross_style,
    dot_style,
    last_step,
    plain_log_axis,
    row_names,
    rows_left_out,
    sampled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALLEST = 0.03  # ratio that is drawn as such: rows at their centre need no empty decades
MOST_MARKS = 2_000  # of more flagged rows a random sample is drawn


class MeasuredRows(RowsDisplay):
    """Base of the displays of distances."""

    _largest: np.ndarray  # distance of each row, by which the names are chosen

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
            Their classes; None measures from the nearest class, in each space by itself.
        left_out : "auto", None or array-like of shape (n_samples,), default="auto"
            As in `ProjectionDisplay.from_estimator`.
        **plot_args : dict
            Passed to `plot`, such as `ax`.

        Returns
        -------
        display : Display
        """
        names = row_names(X)
        model, X = last_step(estimator, X)
        check_capped(model)
        display = cls._measured(model, X, y, names)
        flagged = display._largest > 1.0
        display.left_out = as_mask("left_out", left_out, rows_left_out(model, flagged))
        return display.plot(**plot_args)

    @classmethod
    def _measured(cls, model, X, y, names):
        """Return the display of rows, of which none is crossed."""
        raise NotImplementedError

    def plot(self, ax: Axes | None = None, *, n_labels: int = 0) -> Self:
        """Draw the distances.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        n_labels : int, default=0
            Number of rows to label, those with the largest distance (in any space) first.

        Returns
        -------
        self : Display
        """
        ax = self._set_axes(ax)
        named = np.argsort(-self._largest, kind="stable")[:n_labels]
        points = self._draw_rows(ax, named)
        self._write_names(ax, named, points[named], [])
        place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
        self.legend_ = ax.legend(ncols=2, **place, **LEGEND)
        for handle in self.legend_.legend_handles:
            if hasattr(handle, "set_sizes"):  # dots that would be too small to be seen
                handle.set_sizes(np.maximum(handle.get_sizes(), 12.0))
                handle.set_alpha(1.0)
        return self

    def _draw_rows(self, ax, named):
        """Draw the distances, and return where; of a sample, named rows are part."""
        raise NotImplementedError

    def _dots(self, ax, points, rows, name, group, **style):
        """Draw some rows of a group, all of which the legend counts."""
        n_all = int(group.sum())
        count = f"{n_all:,}" if len(rows) == n_all else f"{len(rows):,} of {n_all:,} shown"
        label = f"{name}: {count}" if n_all else None
        return ax.scatter(*points[rows].T, label=label, **style)


class DistanceDisplay(MeasuredRows):
    """How far each row lies from its class, and which rows are flagged for it.

    A row is flagged if its distance in the discriminant space is beyond the cap of its class, or
    if it is far off in all features together, which the discriminant space need not show. Rows
    of the second kind only are diamonds; rows that were left out of the fit are crossed. The
    scale is logarithmic if some rows are very far off.

    Parameters
    ----------
    outlyingness : array-like of shape (n_samples,)
        Distances over the largest one that is not flagged.
    hidden, left_out : array-like of shape (n_samples,), bool, default=None
        Flagged rows that are inside their cap, and rows that were left out of the fit.
    names : sequence of length n_samples, default=None
        Names of the rows; None numbers them.

    Attributes
    ----------
    ax_, figure_, kept_, flagged_, hidden_, left_out_, line_, labels_, legend_
        Axes, figure and artists: the dots, the cut-off, and the names of rows.

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
        self.outlyingness = self._largest = np.asarray(outlyingness, dtype=float)
        n_rows = len(self.outlyingness)
        self.hidden = np.zeros(n_rows, bool) if hidden is None else np.asarray(hidden, bool)
        self._set_rows(n_rows, left_out, names)

    @classmethod
    def _measured(cls, model, X, y, names):
        ratio = model.outlyingness(X, y)
        hidden = (ratio > 1.0) & (model.outlyingness(X, y, space="projected") <= 1.0)
        return cls(ratio, hidden=hidden, names=names)

    def _draw_rows(self, ax, named):
        heights, flagged = self.outlyingness, self.outlyingness > 1.0
        log = heights.max(initial=0.0) > 20.0 * np.median(heights) > 0.0
        if log:
            ax.set_yscale("log")
            # Rows at their centre are no reason to show many empty decades.
            heights = np.maximum(heights, 0.01 * np.median(heights))
        points = np.column_stack([np.arange(len(heights)), heights])
        style = dot_style(len(points))
        size = {"s": max(1.5 * style["s"], 6.0)}
        diamond = {"marker": "D", "facecolors": "none", "edgecolors": VERMILLION, "lw": 0.9}

        def draw(mask, name, **look):
            return self._dots(ax, points, np.flatnonzero(mask), name, mask, **look)

        self.kept_ = draw(~flagged, "not flagged", color=BLUE, lw=0.0, **style)
        beyond = flagged & ~self.hidden
        self.flagged_ = draw(beyond, "beyond the cap", color=VERMILLION, lw=0.0, **size)
        self.hidden_ = draw(self.hidden, "far off in all features", **diamond, **size)
        self.left_out_ = draw(self.left_out, "left out of the fit", **cross_style(style["s"]))
        self.line_ = ax.axhline(1.0, color="black", lw=1.0, ls="--", label="flagged above 1")
        if log:
            plain_log_axis(ax.yaxis)
        ax.set(xlabel="row", ylabel="outlyingness")
        return points


class DistanceDistanceDisplay(MeasuredRows):
    """Why rows are flagged: their distance in the discriminant space, in all features, or both.

    Rows to the right of the vertical line are beyond the cap of their class in the discriminant
    space; rows above the horizontal line are far off in all features together. Rows at the upper
    left are unusual without disturbing the directions. Rows at the lower right are unusual only
    in the directions that separate the classes, as rows with a wrong label are. Of very many rows
    a random sample is drawn.

    Parameters
    ----------
    projected, full : array-like of shape (n_samples,)
        Distances in the discriminant space and in all features, relative to the cut-offs.
    left_out : array-like of shape (n_samples,), bool, default=None
        Rows to cross: those that were left out of the fit.
    names : sequence of length n_samples, default=None
        Names of the rows; None numbers them.

    Attributes
    ----------
    ax_, figure_, kept_, flagged_, left_out_, lines_, labels_, legend_
        Axes, figure and artists: the dots, the two cut-offs, and the names of rows.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.plotting import DistanceDistanceDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> X[::20] *= -5.0
    >>> lda = CappedLDA().fit(X, y)
    >>> display = DistanceDistanceDisplay.from_estimator(lda, X, y, n_labels=3)
    >>> len(display.labels_)
    3
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
        self._largest = np.maximum(self.projected, self.full)
        self._set_rows(len(self.projected), left_out, names)

    @classmethod
    def _measured(cls, model, X, y, names):
        projected = model.outlyingness(X, y, space="projected")
        return cls(projected, model.outlyingness(X, y, space="full"), names=names)

    def _draw_rows(self, ax, named):
        points = np.maximum(np.column_stack([self.projected, self.full]), SMALLEST)
        flagged = self._largest > 1.0
        kept, marked = sampled(~flagged, MOST_ROWS), sampled(flagged, MOST_MARKS, named)
        crossed = np.intersect1d(np.union1d(kept, marked), np.flatnonzero(self.left_out))
        ax.set(xscale="log", yscale="log")
        style = dot_style(len(kept))
        blue = {"color": BLUE, "lw": 0.0, **style}
        red = {"color": VERMILLION, "lw": 0.0, "s": max(1.5 * style["s"], 8.0)}
        cross = cross_style(style["s"])
        self.kept_ = self._dots(ax, points, kept, "not flagged", ~flagged, **blue)
        self.flagged_ = self._dots(ax, points, marked, "flagged", flagged, **red)
        name = "left out of the fit"
        self.left_out_ = self._dots(ax, points, crossed, name, self.left_out, **cross)
        cut = {"color": "black", "lw": 1.0, "ls": "--"}
        self.lines_ = [ax.axvline(1.0, **cut, label="cut-offs"), ax.axhline(1.0, **cut)]
        plain_log_axis(ax.xaxis)
        plain_log_axis(ax.yaxis)
        ax.set_xlabel("distance in the discriminant space / cap")
        ax.set_ylabel("distance in all features / cut-off")
        return points
