"""What the displays share: colours, axes, legends, and the steps of a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from cappedlda._data.kinds import index_of
from cappedlda._model import summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours: told apart with every common kind of colour vision.
BLUE, VERMILLION, GREY = "#0072B2", "#D55E00", "#666666"
OKABE_ITO = [BLUE, "#E69F00", "#009E73", "#CC79A7", "#56B4E9", VERMILLION, "#F0E442", "#000000"]
LEGEND = {"handlelength": 1.4, "handletextpad": 0.5, "frameon": False}

SEED = 141421  # of jitter and samples: unlike the seeds of data that one may draw
GOLDEN_RATIO = 0.5 * (np.sqrt(5.0) - 1.0)


def class_colors(n_classes):
    """Return one colour per class, shape (n_classes, 4); for up to 8, safe for the colour-blind."""
    from matplotlib import colormaps, colors

    if n_classes <= len(OKABE_ITO):
        return colors.to_rgba_array(OKABE_ITO[:n_classes])
    if n_classes <= 20:
        # The ten strong colours first, then their light variants.
        return colormaps["tab20"](np.r_[0:20:2, 1:20:2][:n_classes])
    steps = np.arange(n_classes)
    hues = steps * GOLDEN_RATIO % 1.0  # steps that never come close to an earlier one
    return colors.to_rgba_array(
        colors.hsv_to_rgb(
            np.column_stack([hues, 0.95 - 0.2 * (steps % 3), 0.9 - 0.2 * (steps % 2)])
        )
    )


class Display:
    """Base of all displays; those without options have `_draw(ax)`, others their own `plot`."""

    ax_: Axes
    figure_: Figure

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        self : Display
        """
        self._draw(self._set_axes(ax))
        return self

    def _draw(self, ax):
        raise NotImplementedError

    def _set_axes(self, ax):
        if ax is None:
            from matplotlib import pyplot as plt

            _, ax = plt.subplots(layout="constrained")
        self.ax_ = ax
        self.figure_ = ax.figure
        return ax


def last_step(estimator, X=None):
    """Return a fitted discriminant and its rows: after the earlier steps, if it is a pipeline."""
    check_is_fitted(estimator)
    if not isinstance(estimator, Pipeline):
        return estimator, X
    earlier = estimator[:-1]
    if X is not None and len(earlier):
        X = earlier.transform(X)
    return estimator[-1], X


def check_capped(model):
    """Refuse a fit without a cap, by which rows have no relative distance."""
    if np.isinf(model.caps_).all():
        raise ValueError("epsilon_ is inf, so that new rows have no distance relative to it.")


def feature_names(estimator):
    """Return the names of the features that the discriminant, or that of a pipeline, sees."""
    model, _ = last_step(estimator)
    steps = estimator.steps[:-1] if isinstance(estimator, Pipeline) else []
    named = steps and all(hasattr(step, "get_feature_names_out") for _, step in steps)
    if named and not hasattr(model, "feature_names_in_"):
        return estimator[:-1].get_feature_names_out()
    return summary.feature_names(model)


def row_names(X):
    """Return what rows are called: the index of a frame, or their numbers."""
    index = index_of(X)
    return np.arange(X.shape[0] if hasattr(X, "shape") else len(X)) if index is None else index


def dot_style(n_rows):
    """Return size and opacity of dots: smaller and fainter where there are many."""
    crowd = np.clip(np.log10(max(n_rows, 1) / 1e3), 0.0, 1.5)
    return {"s": 18.0 * 10.0 ** (-0.55 * crowd), "alpha": 1.0 - 0.4 * crowd}


def legend_beside(ax, handles):
    """Name the handles to the right of the axes."""
    if not handles:
        return None
    place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    return ax.legend(handles=handles, **place, **LEGEND)


def plain_log_axis(axis):
    """Write the numbers of a logarithmic axis in full instead of powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0,) if high > 1e3 * low else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
