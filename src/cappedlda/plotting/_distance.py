"""DistanceDisplay: how far each row lies from the centre of its class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cappedlda.plotting._common import BLUE, GREY, VERMILLION, Display, legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike

    from cappedlda import CappedLDA


class DistanceDisplay(Display):
    """How far each row lies from the centre of its class, and which rows that rejects.

    A row is rejected for one of two reasons: its distance in the discriminant space is beyond
    the cap of its class, or it is far off in all features together, which the discriminant
    space need not show. Rows of the second kind only are drawn as diamonds.

    Parameters
    ----------
    distances : array-like of shape (n_samples,)
    caps : float or array-like of shape (n_classes,)
        The largest distance of a row that is kept; inf draws no line.
    outliers : array-like of shape (n_samples,), bool
        The rejected rows.
    hidden : array-like of shape (n_samples,), bool, default=None
        The rows among them that are inside their cap, far off in all features together.
    relative : bool, default=False
        Whether the distances are over the largest one of a row that is kept, for the labels.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    kept_, outliers_, hidden_ : PathCollection
    lines_ : list of Line2D
        The caps, one line for each that differs.
    legend_ : Legend

    See Also
    --------
    ProjectionDisplay : Where these rows lie.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.plotting import DistanceDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> X[::25] = 999
    >>> lda = CappedLDA().fit(X, y)
    >>> display = DistanceDisplay.from_estimator(lda, X, y)
    >>> int((display.distances > 1).sum())
    6
    >>> plt.close(display.figure_)
    """

    kept_: PathCollection
    outliers_: PathCollection
    hidden_: PathCollection
    lines_: list[Line2D]
    legend_: Legend

    def __init__(
        self,
        distances: ArrayLike,
        *,
        caps: ArrayLike,
        outliers: ArrayLike,
        hidden: ArrayLike | None = None,
        relative: bool = False,
    ) -> None:
        self.distances = np.asarray(distances, dtype=float)
        self.caps = np.atleast_1d(np.asarray(caps, dtype=float))
        self.outliers = np.asarray(outliers, dtype=bool)
        self.hidden = np.zeros_like(self.outliers) if hidden is None else np.asarray(hidden, bool)
        self.relative = relative

    @classmethod
    def from_estimator(
        cls,
        estimator: CappedLDA,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        ax: Axes | None = None,
        **plot_args: Any,
    ) -> Self:
        """Draw the outlyingness of rows, or the distances of the training rows.

        Parameters
        ----------
        estimator : fitted CappedLDA
        X : array-like of shape (n_samples, n_features), default=None
            Rows to measure by `CappedLDA.outlyingness`: above 1 they are rejected. None
            draws `distances_` of the training rows against `caps_`; the fitted estimator does
            not keep how far off rows are in all features together, so that only those below
            every cap are told to be rejected for that.
        y : array-like of shape (n_samples,), default=None
            Their classes; None measures from the nearest class.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_args : dict
            Passed to `plot`.

        Returns
        -------
        display : DistanceDisplay
        """
        check_is_fitted(estimator)
        caps = estimator.caps_
        if X is None:
            outliers = estimator.outliers_
            hidden = outliers & (estimator.distances_ <= caps.min())
            display = cls(estimator.distances_, caps=caps, outliers=outliers, hidden=hidden)
        elif np.isinf(caps).all():
            raise ValueError("epsilon_ is inf, so that new rows have no distance relative to it.")
        else:
            ratio = estimator.outlyingness(X, y)
            outliers = ratio > 1.0
            hidden = outliers & (estimator.outlyingness(X, y, space="projected") <= 1.0)
            display = cls(ratio, caps=1.0, outliers=outliers, hidden=hidden, relative=True)
        return display.plot(ax, **plot_args)

    def plot(
        self, ax: Axes | None = None, *, log: bool | str = "auto", marker_size: float = 14.0
    ) -> Self:
        """Draw the distances.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        log : "auto" or bool, default="auto"
            Whether the scale is logarithmic; "auto" decides by the largest distance.
        marker_size : float, default=14.0
            Area of the dots in square points.

        Returns
        -------
        self : DistanceDisplay
        """
        ax = self._set_axes(ax)
        distances = self.distances
        if log == "auto":
            log = distances.max(initial=0.0) > 20.0 * np.median(distances) > 0.0
        if log:
            ax.set_yscale("log")
            # Rows at their centre are no reason to show many empty decades.
            distances = np.maximum(distances, 0.01 * np.median(distances))
        rows = np.arange(len(distances))

        def draw(mask, name, **style):
            label = f"{name}: {mask.sum()}" if mask.any() else None
            return ax.scatter(rows[mask], distances[mask], label=label, **style)

        beyond = self.outliers & ~self.hidden
        self.kept_ = draw(
            ~self.outliers, "kept", s=marker_size, color=BLUE, linewidths=0.0, alpha=0.7
        )
        self.outliers_ = draw(
            beyond, "beyond the cap", s=2.0 * marker_size, color=VERMILLION, marker="x"
        )
        self.hidden_ = draw(
            self.hidden,
            "far off in all features",
            s=2.0 * marker_size,
            facecolors="none",
            edgecolors=VERMILLION,
            marker="D",
        )
        self.lines_ = self._draw_caps(ax)
        ylabel = "outlyingness" if self.relative else "distance from the centre of its class"
        ax.set(xlabel="row", ylabel=ylabel)
        self.legend_ = legend_above(ax, ncols=2)
        return self

    def _draw_caps(self, ax):
        caps = np.unique(self.caps[np.isfinite(self.caps)])
        if len(caps) == 0:
            return []
        if self.relative:
            label = "rejected above 1"
        elif len(caps) == 1:
            label = f"epsilon = {caps[0]:.3g}"
        else:
            label = f"caps of the classes: {caps[0]:.3g} to {caps[-1]:.3g}"
        style = {"color": "black", "lw": 1.0, "ls": "--"}
        lines = [ax.axhline(caps[0], label=label, **style)]
        return lines + [ax.axhline(cap, **{**style, "color": GREY}) for cap in caps[1:]]
