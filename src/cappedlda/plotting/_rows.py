"""What displays of single rows share: which of them are marked, names and a legend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cappedlda.plotting import _places
from cappedlda.plotting._common import LEGEND, SEED, Display

if TYPE_CHECKING:
    from matplotlib.text import Text

MOST_ROWS = 20_000  # of more rows that are not marked a random sample is drawn


class RowsDisplay(Display):
    """Base of displays with a dot for each row."""

    labels_: list[Text]

    def _set_rows(self, n_rows, left_out, names):
        """Set which rows to cross, and what rows are called; None is none, and their numbers."""
        self.left_out = np.zeros(n_rows, bool) if left_out is None else np.asarray(left_out, bool)
        self.names = np.arange(n_rows) if names is None else names

    def _dots(self, ax, points, rows, name, group, **style):
        """Draw some rows of a group, all of which the legend counts."""
        n_all = int(group.sum())
        count = f"{n_all:,}" if len(rows) == n_all else f"{len(rows):,} of {n_all:,} shown"
        label = f"{name}: {count}" if n_all else None
        return ax.scatter(*points[rows].T, label=label, **style)

    def _write(self, ax, rows, points):
        """Write the names of some rows beside their points, and the legend."""
        names = [str(self.names[row]) for row in rows]
        self.labels_, _ = _places.write_names(ax, names, points, nearest=0.8)
        place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
        self.legend_ = ax.legend(ncols=2, **place, **LEGEND)
        for handle in self.legend_.legend_handles:
            if hasattr(handle, "set_sizes"):  # dots that would be too small to be seen
                handle.set_sizes(np.maximum(handle.get_sizes(), 12.0))
                handle.set_alpha(1.0)


def sampled(mask, most, always=()):
    """Return at most `most` of the marked rows, and those of them that are asked for."""
    (rows,) = np.nonzero(mask)
    if len(rows) > most:
        chosen = np.random.default_rng(SEED).choice(rows, most, replace=False)
        rows = np.union1d(chosen, np.intersect1d(rows, always)).astype(int)
    return rows


def find_flagged(ratio, n_rows, flagged):
    if isinstance(flagged, str) and flagged == "auto":
        return np.zeros(n_rows, dtype=bool) if ratio is None else ratio > 1.0
    return _checked("flagged", flagged, n_rows)


def find_left_out(model, left_out, flagged):
    """Return the rows to mark as left out of the fit, as a mask.

    Rows can only be left out of the fit to themselves, so "auto" takes `left_out_` if the rows
    are the training rows: as many, with the same ones flagged.
    """
    if isinstance(left_out, str) and left_out == "auto":
        found = getattr(model, "left_out_", None)
        trained = found is not None and np.array_equal(flagged, model.outliers_)
        # Rings around the same rows say it already.
        if not trained or np.array_equal(found, flagged):
            return np.zeros(len(flagged), dtype=bool)
        return found
    return _checked("left_out", left_out, len(flagged))


def _checked(name, mask, n_rows):
    if mask is None:
        return np.zeros(n_rows, dtype=bool)
    if isinstance(mask, str):
        raise ValueError(f"{name}={mask!r} is unknown; use 'auto', None or a mask.")
    mask = np.asarray(mask)
    if mask.dtype != bool or mask.shape != (n_rows,):
        raise ValueError(f"{name} must be a boolean mask of the {n_rows} rows of X.")
    return mask
