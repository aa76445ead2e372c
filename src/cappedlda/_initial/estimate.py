"""What an initial estimate knows."""

from typing import NamedTuple

import numpy as np


class FirstLook(NamedTuple):
    """What the start knows.

    Attributes
    ----------
    centres : ndarray of shape (c, n)
    scale : ndarray of shape (n,)
        Unit of each feature.
    kept : ndarray of shape (N,), bool
        Rows to begin with.
    """

    centres: np.ndarray
    scale: np.ndarray
    kept: np.ndarray
