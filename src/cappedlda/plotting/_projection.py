"""ProjectionDisplay: rows in the discriminant plane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import column_or_1d

from cappedlda._model.summary import direction_name
from cappedlda.plotting import _places
from cappedlda.plotting._common import (
    LEGEND,
    MOST_ROWS,
    OKABE_ITO,
    SEED,
    RowsDisplay,
    as_mask,
    class_colors,
    cross_style,
    dot_style,
    last_step,
    row_names,
    rows_left_out,
    sampled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LEGEND_ENTRIES = 10  # more classes are only named where they lie
# Of more marked rows, or rows on the frame, a random sample is drawn: more would hide each other.
MOST_MARKS, MOST_ON_FRAME = 400, 150
# Of the range of the rows that are not flagged, on each side of the view, where there are others
# to be seen, and where there are none.
MARGIN, TIGHT_MARGIN = 0.2, 0.05
GRID = 400  # points per axis of the shaded regions
JITTER = 0.3  # half width of the strip of a class, if a single direction is shown


class ProjectionDisplay(RowsDisplay):
    """Rows in two discriminant directions.

    With one direction each class gets its own strip. The background shows the predicted class,
    by the shown directions alone if these are not all. Flagged rows are ringed, and rows that
    were left out of the fit are crossed. The view shows the rows that are not flagged; rows
    outside it are triangles on its frame. Of very many rows a random sample is drawn.

    Parameters
    ----------
    Z, y : ndarray of shape (n_samples, 1) or (n_samples, 2), and (n_samples,)
        Projected rows and their classes.
    flagged : ndarray of shape (n_samples,), bool
        Rows to ring.
    classes : ndarray of shape (n_classes,)
    predict : callable, default=None
        Maps points of shape (k, 1) or (k, 2) to the numbers of their classes, to shade them.
    left_out : ndarray of shape (n_samples,), bool, default=None
        Rows to cross.
    components : tuple of one or two int, default=None
        Numbers of the directions that Z shows, for the labels; None is the first ones.
    outlyingness : ndarray of shape (n_samples,), default=None
        How unusual each row is; needed to label the most unusual ones.
    names : sequence of length n_samples, default=None
        Names of the rows; None numbers them.

    Attributes
    ----------
    ax_, figure_, scatter_, flagged_, left_out_, beyond_, ellipses_, labels_, regions_, legend_
        Axes, figure and artists: rows inside the view, rings, crosses, rows outside the view,
        tolerance ellipses, names of rows, and shaded classes.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.plotting import ProjectionDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> lda = CappedLDA().fit(X, y)
    >>> display = ProjectionDisplay.from_estimator(lda, X, y)
    >>> display.Z.shape
    (178, 2)
    """

    def __init__(
        self,
        Z: np.ndarray,
        y: np.ndarray,
        *,
        flagged: np.ndarray,
        classes: np.ndarray,
        predict: Callable[[np.ndarray], np.ndarray] | None = None,
        left_out: np.ndarray | None = None,
        components: Sequence[int] | None = None,
        outlyingness: np.ndarray | None = None,
        names: Sequence[Any] | None = None,
    ) -> None:
        self.Z = Z
        self.y = y
        self.flagged = flagged
        self.classes = classes
        self.predict = predict
        self.components = tuple(range(Z.shape[1])) if components is None else tuple(components)
        self.outlyingness = outlyingness
        self._set_rows(len(Z), left_out, names)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike,
        *,
        components: Sequence[int] | None = None,
        flagged: str | ArrayLike | None = "auto",
        left_out: str | ArrayLike | None = "auto",
        **plot_args: Any,
    ) -> Self:
        """Project rows with a fitted estimator and draw them.

        Parameters
        ----------
        estimator : fitted discriminant, or a pipeline that ends with one
            `CappedLDA` and the like, or scikit-learn's `LinearDiscriminantAnalysis`.
        X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        components : tuple of one or two int, default=None
            The directions to show, counted from 0: ``(0, 2)`` are the first and the third.
            None takes the first two, or the only one.
        flagged : "auto", None or array-like of shape (n_samples,), default="auto"
            Rows to ring. "auto" takes those whose `outlyingness` is above 1, if the estimator
            has such a method; None rings nothing.
        left_out : "auto", None or array-like of shape (n_samples,), default="auto"
            Rows to cross. "auto" takes `left_out_` of the estimator, if X are the rows it was
            fitted to and these are not simply the flagged ones; None crosses nothing.
        **plot_args : dict
            Passed to `plot`, such as `ax`.

        Returns
        -------
        display : ProjectionDisplay
        """
        names = row_names(X)
        model, X = last_step(estimator, X)
        y = column_or_1d(y)
        Z = np.asarray(model.transform(X), dtype=float)
        components = _check_components(components, Z.shape[1])
        Z = Z[:, components]
        ratio = model.outlyingness(X, y) if hasattr(model, "outlyingness") else None
        unusual = np.zeros(len(y), bool) if ratio is None else ratio > 1.0
        flagged = as_mask("flagged", flagged, unusual)
        display = cls(
            Z,
            y,
            flagged=flagged,
            classes=model.classes_,
            predict=_plane_rule(model, X, y, Z, components, ~flagged),
            left_out=as_mask("left_out", left_out, rows_left_out(model, flagged)),
            components=components,
            outlyingness=ratio,
            names=names,
        )
        return display.plot(**plot_args)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        legend: bool = True,
        ellipses: float | None = None,
        n_labels: int = 0,
        flag_name: str = "flagged",
    ) -> Self:
        """Draw the rows.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        legend : bool, default=True
            Whether to name the classes beside the axes.
        ellipses : float, default=None
            Share of a normal distribution, such as 0.975, that the tolerance ellipse of each
            class holds. It is estimated from the rows that are not flagged, in two directions.
        n_labels : int, default=0
            Number of rows to label, those with the largest outlyingness first.
        flag_name : str, default="flagged"
            Name of the ringed rows in the legend.

        Returns
        -------
        self : ProjectionDisplay
        """
        ax = self._set_axes(ax)
        colors = class_colors(len(self.classes))
        codes = np.searchsorted(self.classes, self.y)
        points = self.Z if self._is_plane else _strips(self.Z, codes)
        low, high = self._view(points)
        named = self._most_unusual(n_labels)
        self.regions_ = self._shade(ax, low, high, colors)
        drawn = self._draw_rows(ax, points, colors[codes], low, high, named)
        self.ellipses_ = self._draw_ellipses(ax, colors, codes, ellipses)
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        ax.set_xlabel(direction_name(self.components[0]))
        self._label_classes(ax, colors, legend, self._handles(drawn, flag_name, ellipses))
        taken = self._name_centres(ax, codes)
        self._write_names(ax, named, drawn[named], taken)
        return self

    @property
    def _is_plane(self):
        return self.Z.shape[1] == 2

    @property
    def _out_of_view(self):
        """Rows that the view need not show."""
        return self.flagged

    def _view(self, points):
        """Return the corners of the view: the rows that are not flagged, and a margin."""
        unusual = self._out_of_view
        kept = points[~unusual] if not unusual.all() else points
        low, high = kept.min(axis=0), kept.max(axis=0)
        span = np.where(high > low, high - low, 1.0)
        # No wider than what there is to see.
        low = np.maximum(low - MARGIN * span, points.min(axis=0) - TIGHT_MARGIN * span)
        high = np.minimum(high + MARGIN * span, points.max(axis=0) + TIGHT_MARGIN * span)
        if not self._is_plane:
            low[1], high[1] = -0.5, len(self.classes) - 0.5
        return low, high

    def _most_unusual(self, n_labels):
        if n_labels and self.outlyingness is None:
            raise ValueError(
                f"n_labels={n_labels} needs the outlyingness of the rows, which this estimator "
                "does not have; use n_labels=0."
            )
        return np.argsort(-self.outlyingness, kind="stable")[:n_labels] if n_labels else []

    def _draw_rows(self, ax, points, colors, low, high, named):
        """Draw rows and marks; return where each row is drawn, nan where it is not."""
        outside = np.any((points < low) | (points > high), axis=1)
        marked = self.flagged | self.left_out
        plain = sampled(~marked & ~outside, MOST_ROWS)
        inside = np.union1d(plain, sampled(marked & ~outside, MOST_MARKS, named))
        beyond = sampled(outside, MOST_ON_FRAME, named)
        style = dot_style(len(plain))
        size, faces = style["s"], np.array(colors)
        faces[~marked, 3] = style["alpha"]
        edges = {"linewidths": 0.3 if style["alpha"] == 1.0 else 0.0, "edgecolors": "white"}
        self.scatter_ = ax.scatter(*points[inside].T, s=size, c=faces[inside], zorder=2, **edges)
        ring = {"facecolors": "none", "edgecolors": "black", "s": max(4.0 * size, 24.0)}
        ringed = points[inside[self.flagged[inside]]]
        self.flagged_ = ax.scatter(*ringed.T, **ring, linewidths=0.9, zorder=3)
        places = np.full_like(points, np.nan)
        places[inside] = points[inside]
        on_frame = _places.on_frame if self._is_plane else np.clip
        places[beyond] = on_frame(points[beyond], low, high)
        triangle = {"marker": "^", "edgecolors": "black", "linewidths": 0.9, "clip_on": False}
        triangle |= {"c": colors[beyond], "s": max(2.0 * size, 20.0)}
        self.beyond_ = ax.scatter(*places[beyond].T, **triangle, zorder=4)
        crossed = places[self.left_out]
        self.left_out_ = ax.scatter(*crossed.T, **cross_style(size), zorder=5, clip_on=False)
        return places

    def _shade(self, ax, low, high, colors):
        if self.predict is None:
            return None
        axes = [np.linspace(a, b, GRID) for a, b in zip(low, high, strict=True)]
        if self._is_plane:
            plane = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
            codes = self.predict(plane).reshape(GRID, GRID)
        else:
            codes = self.predict(axes[0][:, None])[None, :]
        image = colors[codes]
        image[..., 3] = 0.15
        place = {"extent": (low[0], high[0], low[1], high[1]), "origin": "lower"}
        return ax.imshow(image, aspect="auto", interpolation="nearest", zorder=0, **place)

    def _draw_ellipses(self, ax, colors, codes, share):
        if share is None:
            return []
        if not 0.0 < share < 1.0:
            raise ValueError(f"ellipses={share!r} is not a share; use a number between 0 and 1.")
        if not self._is_plane:
            raise ValueError("ellipses need two directions; use ellipses=None.")
        lines = []
        for code, color in enumerate(colors):
            group = self.Z[(codes == code) & ~self.flagged]
            if len(group) > 2:  # fewer rows have no area
                outline = tolerance_ellipse(group, share)
                lines += ax.plot(*outline.T, color=color, lw=1.6, zorder=2.5)
        return lines

    def _label_classes(self, ax, colors, legend, handles):
        if self._is_plane:
            ax.set_ylabel(direction_name(self.components[1]))
        else:
            ax.set_yticks(range(len(self.classes)), [str(name) for name in self.classes])
            ax.set_ylabel("class")
            ax.invert_yaxis()
        if self._is_plane and len(self.classes) <= MOST_LEGEND_ENTRIES:
            names = [_dot(c, "white", n) for c, n in zip(colors, self.classes, strict=True)]
            handles = names + handles
        self.legend_ = None
        if legend and handles:
            place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
            self.legend_ = ax.legend(handles=handles, **place, **LEGEND)

    def _name_centres(self, ax, codes):
        """Name many classes where they are; return the places and sizes of the names."""
        if not self._is_plane or len(self.classes) <= len(OKABE_ITO):
            return []
        kept = ~self.flagged
        shown = np.unique(codes[kept])
        names = [str(self.classes[code]) for code in shown]
        centres = [np.median(self.Z[(codes == code) & kept], axis=0) for code in shown]
        taken = []
        _places.write_names(ax, names, centres, taken, weight="bold")
        return taken

    def _handles(self, drawn, flag_name, share):
        """Return what the legend says about marks."""
        handles = []
        if len(self.flagged_.get_offsets()):
            n_shown, n_all = np.sum(~np.isnan(drawn[self.flagged, 0])), self.flagged.sum()
            some = f"\n({n_shown:,} of {n_all:,} shown)" if n_shown < n_all else ""
            handles.append(_dot("none", "black", flag_name + some, size=8.0))
        if len(self.beyond_.get_offsets()):
            handles.append(_dot("none", "black", f"{flag_name}, out of view", "^", size=6.0))
        if self.left_out.any():
            handles.append(_dot("none", "black", "left out of the fit", "x"))
        if share is not None:
            handles.append(_line(color="black", lw=1.6, label=f"{100.0 * share:g} % of a class"))
        return handles


def tolerance_ellipse(points, share):
    """Return the outline of the ellipse with a share of the normal distribution of points."""
    values, vectors = np.linalg.eigh(np.cov(points, rowvar=False))
    radius = np.sqrt(-2.0 * np.log1p(-share))  # of two standard normal variables
    turns = np.linspace(0.0, 2.0 * np.pi, 100)
    circle = radius * np.column_stack([np.cos(turns), np.sin(turns)])
    return points.mean(axis=0) + circle * np.sqrt(np.maximum(values, 0.0)) @ vectors.T


def _check_components(components, n_components):
    """Return the directions to show, as a list."""
    if components is None:
        return list(range(min(2, n_components)))
    chosen = list(np.atleast_1d(components))
    if len(chosen) not in (1, 2) or not all(0 <= k < n_components for k in chosen):
        raise ValueError(
            f"components={components!r} must be one or two directions from 0 to {n_components - 1}."
        )
    return [int(k) for k in chosen]


def _plane_rule(model, X, y, Z, components, kept):
    """Return a function from points of the plane to the numbers of their classes.

    If the shown directions are all that the model's scores depend on, these are an affine function
    of them. Otherwise the rule is that of linear discriminant analysis on the kept rows as shown.
    """
    if not kept.any():
        return None
    if not set(range(len(model.classes_) - 1)) <= set(components):
        rule = LinearDiscriminantAnalysis().fit(Z[kept], y[kept])
        return lambda points: np.searchsorted(model.classes_, rule.predict(points))
    scores = np.asarray(model.decision_function(X), dtype=float)
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    affine = LinearRegression().fit(Z[kept], scores[kept])
    return lambda points: np.argmax(affine.predict(points), axis=1)


def _strips(Z, codes):
    """Return points that spread the rows of each class over a strip of its own."""
    offsets = np.random.default_rng(SEED).uniform(-JITTER, JITTER, len(Z))
    return np.column_stack([Z[:, 0], codes + offsets])


def _dot(face, edge, label, marker="o", size=5.0):
    return _line(ls="", marker=marker, ms=size, mfc=face, mec=edge, label=str(label))


def _line(**style):
    from matplotlib.lines import Line2D

    return Line2D([], [], **style)
