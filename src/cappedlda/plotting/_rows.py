"""What displays of single rows share: crosses, names and a legend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cappedlda.plotting import _places
from cappedlda.plotting._common import Display, legend_above

if TYPE_CHECKING:
    from matplotlib.collections import PathCollection
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D
    from matplotlib.text import Text


class RowsDisplay(Display):
    """Base of displays with a dot for each row."""

    kept_: PathCollection
    left_out_: PathCollection
    lines_: list[Line2D]
    labels_: list[Text]
    legend_: Legend

    def _set_rows(self, n_rows, left_out, names):
        """Set which rows to cross, and what rows are called; None is none, and their numbers."""
        self.left_out = np.zeros(n_rows, bool) if left_out is None else np.asarray(left_out, bool)
        self.names = np.arange(n_rows) if names is None else names

    def _write(self, ax, rows, points):
        """Write the names of some rows beside their points, and the legend."""
        names = [str(self.names[row]) for row in rows]
        self.labels_, _ = _places.write_names(ax, names, points, nearest=0.8)
        self.legend_ = legend_above(ax, ncols=2)
