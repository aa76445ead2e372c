"""What the displays share: colours, axes, legends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours: told apart with every common kind of colour vision.
OKABE_ITO = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#000000",
)
BLUE, VERMILLION, GREY = "#0072B2", "#D55E00", "#666666"


def class_colors(n_classes: int) -> np.ndarray:
    """Return one colour per class, safe for colour-blind readers.

    Parameters
    ----------
    n_classes : int

    Returns
    -------
    colors : ndarray of shape (n_classes, 4)
        Okabe and Ito's palette for up to 8 classes, steps of viridis beyond.

    Examples
    --------
    >>> from cappedlda.plotting import class_colors
    >>> class_colors(2).shape
    (2, 4)
    """
    from matplotlib import colormaps, colors

    if n_classes <= len(OKABE_ITO):
        return colors.to_rgba_array(list(OKABE_ITO[:n_classes]))
    return colormaps["viridis"](np.linspace(0.0, 1.0, n_classes))


class Display:
    """Axes of one's own, unless some are given."""

    ax_: Axes
    figure_: Figure

    def _set_axes(self, ax):
        if ax is None:
            from matplotlib import pyplot as plt

            _, ax = plt.subplots(layout="constrained")
        self.ax_ = ax
        self.figure_ = ax.figure
        return ax


def legend_beside(ax, handles):
    """Name the handles to the right of the axes."""
    if not handles:
        return None
    return ax.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0,
        handletextpad=0.3,
        frameon=False,
    )


def legend_above(ax, handles=None, ncols=4):
    """Name the handles, or all that have a label, above the axes."""
    if handles is not None and not handles:
        return None
    return ax.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=ncols,
        borderaxespad=0.2,
        handletextpad=0.3,
        frameon=False,
    )
