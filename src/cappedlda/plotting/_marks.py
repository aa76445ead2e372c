"""Which rows a display marks: flagged ones, and those that were left out of the fit."""

import numpy as np


def find_flagged(ratio, n_rows, flagged):
    """Return the rows to mark as flagged, as a mask."""
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
