"""What the displays share: colours, axes, dots for rows, and the steps of a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from cappedlda._data.kinds import index_of
from cappedlda._model import summary
from cappedlda.plotting import _places

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

# Okabe and Ito's colours: told apart with every common kind of colour vision.
BLUE, VERMILLION, GREY = "#0072B2", "#D55E00", "#666666"
OKABE_ITO = [BLUE, "#E69F00", "#009E73", "#CC79A7", "#56B4E9", VERMILLION, "#F0E442", "#000000"]
LEGEND = {"handlelength": 1.4, "handletextpad": 0.5, "frameon": False}

SEED = 141421  # of jitter and samples: unlike the seeds of data that one may draw
MOST_ROWS = 20_000  # of more rows that are not marked a random sample is drawn
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
    hsv = np.column_stack([hues, 0.95 - 0.2 * (steps % 3), 0.9 - 0.2 * (steps % 2)])
    return colors.to_rgba_array(colors.hsv_to_rgb(hsv))


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


class RowsDisplay(Display):
    """Base of displays with a dot for each row."""

    labels_: list[Text]

    def _set_rows(self, n_rows, left_out, names):
        """Set which rows to cross, and what rows are called; None is none, and their numbers."""
        self.left_out = np.zeros(n_rows, bool) if left_out is None else np.asarray(left_out, bool)
        self.names = np.arange(n_rows) if names is None else names

    def _write_names(self, ax, rows, points, taken):
        """Write the names of some rows beside their points."""
        names = [str(self.names[row]) for row in rows]
        self.labels_ = _places.write_names(ax, names, points, taken, nearest=0.8)


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


def cross_style(size):
    """Return the style of crosses over dots of a size."""
    return {"marker": "x", "color": "black", "linewidths": 0.9, "s": max(1.5 * size, 14.0)}


def plain_log_axis(axis):
    """Write the numbers of a logarithmic axis in full instead of powers of ten."""
    from matplotlib.ticker import LogLocator

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0,) if high > 1e3 * low else (1.0, 2.0, 5.0)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("")


def sampled(mask, most, always=()):
    """Return at most `most` of the marked rows, and those of them that are asked for."""
    (rows,) = np.nonzero(mask)
    if len(rows) > most:
        chosen = np.random.default_rng(SEED).choice(rows, most, replace=False)
        rows = np.union1d(chosen, np.intersect1d(rows, always)).astype(int)
    return rows


def as_mask(name, mask, auto):
    """Return the rows to mark: as given, what "auto" stands for, or none of them."""
    if isinstance(mask, str) and mask == "auto":
        return auto
    mask = np.zeros(len(auto), bool) if mask is None else np.asarray(mask)
    if mask.dtype != bool or mask.shape != auto.shape:
        raise ValueError(f"{name} must be 'auto', None or a mask of the {len(auto)} rows of X.")
    return mask


def rows_left_out(model, flagged):
    """Return which rows were left out of the fit, where the flags do not say it already.

    Rows can only be left out of the fit to themselves: they are the training rows if there are as
    many, with the same ones flagged.
    """
    found = getattr(model, "left_out_", None)
    trained = found is not None and np.array_equal(flagged, model.outliers_)
    return found if trained and (found != flagged).any() else np.zeros(len(flagged), bool)
