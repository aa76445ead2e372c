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
)
from cappedlda.plotting._rows import MOST_ROWS, RowsDisplay, find_left_out, sampled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALLEST = 0.03  # ratio that is drawn as such: rows at their centre need no empty decades
MOST_MARKS = 2_000  # of more flagged rows a random sample is drawn


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
        self._set_rows(len(self.projected), left_out, names)

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
        """Measure rows by `CappedLDA.outlyingness` in both spaces and draw them.

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
        display : DistanceDistanceDisplay
        """
        names = row_names(X)
        model, X = last_step(estimator, X)
        check_capped(model)
        projected = model.outlyingness(X, y, space="projected")
        full = model.outlyingness(X, y, space="full")
        left_out = find_left_out(model, left_out, np.maximum(projected, full) > 1.0)
        return cls(projected, full, left_out=left_out, names=names).plot(**plot_args)

    def plot(self, ax: Axes | None = None, *, n_labels: int = 0) -> Self:
        """Draw the distances, on logarithmic scales; of very many rows, a random sample.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        n_labels : int, default=0
            Number of rows to label, those with the largest distance in either space first.

        Returns
        -------
        self : DistanceDistanceDisplay
        """
        ax = self._set_axes(ax)
        points = np.maximum(np.column_stack([self.projected, self.full]), SMALLEST)
        larger = points.max(axis=1)
        flagged = larger > 1.0
        named = np.argsort(-larger, kind="stable")[:n_labels]
        kept = sampled(~flagged, MOST_ROWS)
        marked = sampled(flagged, MOST_MARKS, named)
        crossed = np.union1d(kept, marked)
        crossed = crossed[self.left_out[crossed]]
        ax.set(xscale="log", yscale="log")
        style = dot_style(len(kept))
        red = {"color": VERMILLION, "lw": 0.0, "s": max(1.5 * style["s"], 8.0)}
        cross = {"color": "black", "lw": 0.9, "s": max(1.5 * style["s"], 14.0), "marker": "x"}
        self.kept_ = self._dots(
            ax, points, kept, "not flagged", ~flagged, color=BLUE, lw=0.0, **style
        )
        self.flagged_ = self._dots(ax, points, marked, "flagged", flagged, **red)
        self.left_out_ = self._dots(
            ax, points, crossed, "left out of the fit", self.left_out, **cross
        )
        cut = {"color": "black", "lw": 1.0, "ls": "--"}
        self.lines_ = [ax.axvline(1.0, **cut, label="cut-offs"), ax.axhline(1.0, **cut)]
        plain_log_axis(ax.xaxis)
        plain_log_axis(ax.yaxis)
        ax.set_xlabel("distance in the discriminant space / cap")
        ax.set_ylabel("distance in all features / cut-off")
        self._write(ax, named, points[named])
        return self
