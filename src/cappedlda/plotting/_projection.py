"""ProjectionDisplay: rows in the discriminant plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.isotonic import isotonic_regression
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, column_or_1d

from cappedlda.plotting._common import (
    OKABE_ITO,
    Display,
    class_colors,
    legend_above,
    legend_beside,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.colorbar import Colorbar
    from matplotlib.image import AxesImage
    from matplotlib.legend import Legend
    from numpy.typing import ArrayLike
    from sklearn.base import BaseEstimator

MOST_LEGEND_ENTRIES = 10
MARK = 0.04  # room for a mark on a frame whose sides are 2
LETTER = (0.018, 0.035)  # of the axes
SHIFTS = (0, -1, 1, -2, 2)
GRID = 400  # points per axis of the shaded regions


class ProjectionDisplay(Display):
    """Rows in the first two discriminant directions.

    With one direction each class gets a strip of its own. The background shows the predicted
    class; flagged rows are ringed. The view is chosen by the rows that are not flagged:
    rows far outside of it are drawn on the frame, as triangles: where the line from the middle
    to them crosses it, or beside that where they would hide each other.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, 1) or (n_samples, 2)
        Projected rows.
    y : ndarray of shape (n_samples,)
        Their classes.
    flagged : ndarray of shape (n_samples,), bool
        Rows to mark.
    classes : ndarray of shape (n_classes,)
    predict : callable, default=None
        Maps points of shape (k, 1) or (k, 2) to the numbers of their classes; None shades
        nothing.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    scatter_ : PathCollection
        All rows inside the view.
    flagged_ : PathCollection
        The rings around flagged rows inside the view.
    beyond_ : PathCollection
        The rows outside the view, on its frame.
    regions_ : AxesImage or None
        The shaded classes.
    legend_ : Legend, Colorbar or None

    See Also
    --------
    DistanceDisplay : The distances that decide what is flagged.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.plotting import ProjectionDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> lda = CappedLDA().fit(X, y)
    >>> display = ProjectionDisplay.from_estimator(lda, X, y)
    >>> display.Z.shape
    (178, 2)
    >>> plt.close(display.figure_)
    """

    scatter_: PathCollection
    flagged_: PathCollection
    beyond_: PathCollection
    regions_: AxesImage | None
    legend_: Legend | Colorbar | None

    def __init__(
        self,
        Z: np.ndarray,
        y: np.ndarray,
        *,
        flagged: np.ndarray,
        classes: np.ndarray,
        predict: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        self.Z = Z
        self.y = y
        self.flagged = flagged
        self.classes = classes
        self.predict = predict

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike,
        *,
        flagged: str | ArrayLike | None = "auto",
        regions: bool = True,
        ax: Axes | None = None,
        **plot_args: Any,
    ) -> Self:
        """Project rows with a fitted estimator and draw them.

        Parameters
        ----------
        estimator : fitted estimator
            `CappedLDA`, scikit-learn's `LinearDiscriminantAnalysis`, or a pipeline that
            ends with one.
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        flagged : "auto", None or array-like of shape (n_samples,), default="auto"
            Rows to mark. "auto" takes those that the estimator rejects, with `outlyingness`
            above 1, if it has such a method; None marks nothing.
        regions : bool, default=True
            Whether to shade the predicted classes. With more directions than are shown, the
            shades are what the shown ones alone predict.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_args : dict
            Passed to `plot`.

        Returns
        -------
        display : ProjectionDisplay
        """
        check_is_fitted(estimator)
        y = column_or_1d(y)
        Z = np.asarray(estimator.transform(X), dtype=float)[:, :2]
        flagged = _find_flagged(estimator, X, y, flagged)
        predict = _plane_rule(estimator, X, y, Z, ~flagged) if regions else None
        display = cls(Z, y, flagged=flagged, classes=estimator.classes_, predict=predict)
        return display.plot(ax, **plot_args)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        legend: bool = True,
        jitter: float = 0.3,
        marker_size: float = 18.0,
    ) -> Self:
        """Draw the rows.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        legend : bool, default=True
            Whether to name the classes beside the axes.
        jitter : float, default=0.3
            Half width of the strips that show a single direction, of the space for each.
        marker_size : float, default=18.0
            Area of the dots in square points.

        Returns
        -------
        self : ProjectionDisplay
        """
        ax = self._set_axes(ax)
        colors = class_colors(len(self.classes))
        codes = np.searchsorted(self.classes, self.y)
        points = self.Z if self.Z.shape[1] == 2 else _strips(self.Z, codes, jitter)
        low, high = self._view(points)
        beyond = np.any((points < low) | (points > high), axis=1)
        inside, ringed = ~beyond, self.flagged & ~beyond
        self.regions_ = self._shade(ax, low, high, colors)
        self.scatter_ = ax.scatter(
            *points[inside].T,
            s=marker_size,
            c=colors[codes[inside]],
            linewidths=0.3,
            edgecolors="white",
            zorder=2,
        )
        self.flagged_ = ax.scatter(
            *points[ringed].T,
            s=4.0 * marker_size,
            facecolors="none",
            edgecolors="black",
            linewidths=0.9,
            zorder=3,
        )
        self.beyond_ = ax.scatter(
            *self._on_frame(points[beyond], low, high).T,
            s=2.0 * marker_size,
            c=colors[codes[beyond]],
            marker="^",
            edgecolors="black",
            linewidths=0.9,
            zorder=4,
            clip_on=False,
        )
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="direction 1")
        self._label_classes(ax, colors, codes, (low, high), legend)
        return self

    def _view(self, points):
        """Return the corners of the view: the kept rows and a margin of half their range."""
        kept = points[~self.flagged] if not self.flagged.all() else points
        low, high = kept.min(axis=0), kept.max(axis=0)
        span = np.where(high > low, high - low, 1.0)
        margin = 0.5 * span if self.flagged.any() else 0.05 * span
        low, high = low - margin, high + margin
        # No wider than what there is to see.
        tight = 0.05 * span
        low = np.maximum(low, points.min(axis=0) - tight)
        high = np.minimum(high, points.max(axis=0) + tight)
        if self.Z.shape[1] == 1:
            low[1], high[1] = -0.5, len(self.classes) - 0.5
        return low, high

    def _on_frame(self, points, low, high):
        """Return where rows outside the view are marked."""
        if self.Z.shape[1] == 1 or not len(points):
            return np.clip(points, low, high)
        middle, half = (low + high) / 2.0, (high - low) / 2.0
        return middle + half * _around(_spread(_side(points, middle, half)))

    def _shade(self, ax, low, high, colors):
        if self.predict is None:
            return None
        axes = [np.linspace(a, b, GRID) for a, b in zip(low, high, strict=True)]
        if self.Z.shape[1] == 1:
            codes = self.predict(axes[0][:, None])[None, :]
        else:
            plane = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
            codes = self.predict(plane).reshape(GRID, GRID)
        image = colors[codes]
        image[..., 3] = 0.15
        return ax.imshow(
            image,
            extent=(low[0], high[0], low[1], high[1]),
            origin="lower",
            aspect="auto",
            interpolation="nearest",
            zorder=0,
        )

    def _label_classes(self, ax, colors, codes, view, legend):
        self.legend_ = None
        if self.Z.shape[1] == 1:
            ax.set_yticks(range(len(self.classes)), [str(name) for name in self.classes])
            ax.set_ylabel("class")
            ax.invert_yaxis()
        else:
            ax.set_ylabel("direction 2")
            if len(self.classes) > len(OKABE_ITO):
                self._name_centres(ax, codes, *view)
        if not legend:
            return
        if self.Z.shape[1] == 1:
            self.legend_ = legend_beside(ax, self._mark_handles())
        elif len(self.classes) <= MOST_LEGEND_ENTRIES:
            names = [_dot(c, "white", n) for c, n in zip(colors, self.classes, strict=True)]
            self.legend_ = legend_beside(ax, names + self._mark_handles())
        else:
            self.legend_ = _class_bar(ax, colors, self.classes)
            legend_above(ax, self._mark_handles())

    def _name_centres(self, ax, codes, low, high):
        from matplotlib import patheffects

        halo = [patheffects.withStroke(linewidth=2.5, foreground="white")]
        shown = np.unique(codes[~self.flagged])
        names = [str(self.classes[code]) for code in shown]
        centres = [np.median(self.Z[(codes == code) & ~self.flagged], axis=0) for code in shown]
        places = _apart((np.array(centres) - low) / (high - low), names) if names else []
        for name, place in zip(names, places, strict=True):
            ax.text(
                *(low + place * (high - low)),
                name,
                ha="center",
                va="center",
                fontsize="small",
                fontweight="bold",
                clip_on=True,
                path_effects=halo,
                zorder=5,
            )

    def _mark_handles(self):
        handles = []
        if len(self.flagged_.get_offsets()):
            handles.append(_dot("none", "black", "flagged", size=8.0))
        if len(self.beyond_.get_offsets()):
            handles.append(_dot("none", "black", "flagged, out of view", "^", size=6.0))
        return handles


def _find_flagged(estimator, X, y, flagged):
    if flagged is None:
        return np.zeros(len(y), dtype=bool)
    if not isinstance(flagged, str):
        flagged = np.asarray(flagged)
        if flagged.dtype != bool or flagged.shape != y.shape:
            raise ValueError(f"flagged must be a boolean mask of the {len(y)} rows of X.")
        return flagged
    if flagged != "auto":
        raise ValueError(f"flagged={flagged!r} is unknown; use 'auto', None or a mask.")
    if isinstance(estimator, Pipeline):
        return _find_flagged(estimator[-1], estimator[:-1].transform(X), y, flagged)
    if not hasattr(estimator, "outlyingness"):
        return np.zeros(len(y), dtype=bool)
    return estimator.outlyingness(X, y) > 1.0


def _plane_rule(estimator, X, y, Z, kept):
    """Return a function from points of the plane to the numbers of their classes.

    If the shown directions are all that the estimator's scores depend on, these are an
    affine function of them, found by least squares. Otherwise it is the rule of linear
    discriminant analysis on the kept rows as they are shown.
    """
    if not kept.any():
        return None
    if len(estimator.classes_) - 1 > Z.shape[1]:
        rule = LinearDiscriminantAnalysis().fit(Z[kept], y[kept])
        return lambda points: np.searchsorted(estimator.classes_, rule.predict(points))
    scores = np.asarray(estimator.decision_function(X), dtype=float)
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    affine, *_ = np.linalg.lstsq(_with_ones(Z[kept]), scores[kept], rcond=None)
    return lambda points: np.argmax(_with_ones(points) @ affine, axis=1)


def _with_ones(points):
    return np.column_stack([points, np.ones(len(points))])


def _strips(Z, codes, jitter):
    """Return points that spread the rows of each class over a strip of its own."""
    offsets = np.random.default_rng(0).uniform(-jitter, jitter, len(Z))
    return np.column_stack([Z[:, 0], codes + offsets])


# The frame as a line of length 8, from the lower left corner around: each side has 2.


def _side(points, middle, half):
    """Return where on the frame the lines from its middle to points cross it."""
    # Rows may be projected to infinity, or nearly so.
    u, v = np.clip((points - middle) / half, -1e6, 1e6).T
    u, v = np.array([u, v]) / np.maximum(np.abs(u), np.abs(v))
    return np.select([v == -1.0, u == 1.0, v == 1.0], [u + 1.0, v + 3.0, 5.0 - u], 7.0 - v)


def _spread(places):
    """Move places on the frame apart, as little as possible, so that marks can be told apart."""
    gap = min(MARK, 8.0 / len(places))
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    moved = np.empty(len(places))
    moved[order] = isotonic_regression(places[order] - steps) + steps
    return moved % 8.0


def _around(places):
    """Return points on the frame of the square from -1 to 1."""
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])
    return np.column_stack([np.interp(places, [0, 2, 4, 6, 8], line) for line in corners.T])


def _apart(centres, names):
    """Return places for names: their centres, or near by if another name is there.

    Places are shares of the axes; LETTER is about the size of a letter.
    """
    width, height = LETTER
    placed = []
    for centre, name in zip(centres, names, strict=True):
        shifts = [(i * len(name) * width / 4.0, j * height) for i in SHIFTS for j in SHIFTS]
        candidates = centre + np.array(sorted(shifts, key=lambda shift: np.hypot(*shift)))
        free = [
            all(
                abs(place[1] - other[1]) >= 0.99 * height
                or abs(place[0] - other[0]) >= width * (len(name) + len(text)) / 2.0
                for other, text in placed
            )
            for place in candidates
        ]
        placed.append((candidates[int(np.argmax(free))], name))
    return np.array([place for place, _ in placed])


def _class_bar(ax, colors, classes):
    """Add a colour bar with one step per class."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap

    norm = BoundaryNorm(np.arange(len(classes) + 1) - 0.5, len(classes))
    steps = ScalarMappable(norm, ListedColormap(colors))
    every = -(-len(classes) // 40)
    bar = ax.figure.colorbar(steps, ax=ax, ticks=np.arange(0, len(classes), every), pad=0.01)
    bar.ax.set_yticklabels([str(name) for name in classes[::every]], fontsize="small")
    bar.ax.tick_params(length=0)
    bar.ax.invert_yaxis()
    return bar


def _dot(face, edge, label, marker="o", size=5.0):
    from matplotlib.lines import Line2D

    return Line2D([], [], ls="", marker=marker, ms=size, mfc=face, mec=edge, label=str(label))
