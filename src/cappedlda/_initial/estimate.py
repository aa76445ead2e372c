"""What an initial estimate knows."""

from typing import NamedTuple

import numpy as np


class InitialEstimate(NamedTuple):
    """A robust (or plain) first estimate of each class.

    Attributes
    ----------
    centres : ndarray of shape (c, n)
    scale : ndarray of shape (n,)
        Unit of each feature.
    support : ndarray of shape (N,), bool
        Rows to begin with.
    least : ndarray of shape (n,) or None
        Least deviation of each feature by which rows are measured, whatever support they are
        measured from: a value that it happens to lack is not infinitely far.
    """

    centres: np.ndarray
    scale: np.ndarray
    support: np.ndarray
    least: np.ndarray | None = None

    @classmethod
    def plain(cls, rows, scale):
        """Return the class means, with every row in the support."""
        return cls(rows.class_means(), scale, np.ones(rows.shape[0], dtype=bool))
