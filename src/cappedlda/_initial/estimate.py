"""What an initial estimate knows."""

from typing import NamedTuple

import numpy as np


class InitialEstimate(NamedTuple):
    """A robust (or plain) first estimate of each class."""

    centres: np.ndarray  # (c, n)
    scale: np.ndarray  # (n,), unit of each feature
    support: np.ndarray  # (N,), bool, rows to begin with
    # (n,), least deviation of each feature by which rows are measured, whatever support they are
    # measured from: a value that it happens to lack is not infinitely far.
    least: np.ndarray | None = None

    @classmethod
    def plain(cls, rows, scale):
        """Return the class means, with every row in the support."""
        return cls(rows.class_means(), scale, np.ones(rows.shape[0], dtype=bool))
