"""What an initial estimate knows, and what makes one."""

from typing import NamedTuple

import numpy as np

from cappedlda._data.threads import serial_map
from cappedlda._initial.separation import separated_part


class InitialEstimate(NamedTuple):
    """A robust (or plain) first estimate of each class.

    Attributes
    ----------
    centres : ndarray of shape (c, n)
    scale : ndarray of shape (n,)
        Unit of each feature.
    support : ndarray of shape (N,), bool
        Rows to begin with.
    """

    centres: np.ndarray
    scale: np.ndarray
    support: np.ndarray


class Estimator:
    """Makes the initial estimate of rows; a subclass knows how they are held.

    A subclass has `units`, `points` and `robust`.

    Parameters
    ----------
    rows : ArrayRows
    """

    def __init__(self, rows):
        self.rows = rows
        self._map = serial_map

    def units(self, rows):
        """Return centres and scale of rows, and perhaps more."""
        raise NotImplementedError

    def points(self, rows, centres, scale):
        """Return the centred and scaled points of each class, as `DensePoints`."""
        raise NotImplementedError

    def robust(self):
        """Return class centres, pooled scales and the support, which outliers cannot spoil."""
        raise NotImplementedError

    def plain(self):
        """Return class means and pooled scales, with every row in the support."""
        scale = self.units(self.rows)[1]
        everything = np.ones(self.rows.shape[0], dtype=bool)
        return InitialEstimate(self.rows.class_means(), scale, everything)

    def without_separated_parts(self, rows):
        """Find the rows that lie apart from the larger part of their class.

        They inflate the units of the features, in which they are looked for: without them the
        units are taken again, until no more are found.

        Returns
        -------
        separated : ndarray of shape (N,), bool
        units : tuple
            What `units` returns for the others.
        classes : list
            Their points.
        """
        separated = np.zeros(rows.shape[0], dtype=bool)
        least = 0.5 * rows.class_weights
        while True:
            others = rows.take(~separated) if separated.any() else rows
            units = self.units(others)
            classes = self.points(others, *units[:2])
            far = np.concatenate(self._map(separated_part, classes, least))
            if not far.any():
                return separated, units, classes
            by_class = np.flatnonzero(~separated)[np.argsort(others.codes, kind="stable")]
            separated[by_class[far]] = True
