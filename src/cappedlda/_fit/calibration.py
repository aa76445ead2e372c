"""How far kept rows lie from the classes if they are left out of the fit: what new rows will do.

A squared Mahalanobis distance from a class is the sum of two: one in the discriminant space, the
plane through the class means, and one off that plane, which is the same from every class. Both
are noted for a sample of the kept rows; cut-offs for new rows are quantiles of them.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cappedlda._data.array import ArrayRows
from cappedlda._initial.csteps import Pieces
from cappedlda._regime import Regime
from cappedlda._solvers.leave_one_out import LEAST_REST, ClassMoments, PlainLDA
from cappedlda._solvers.plain import units_of
from cappedlda._solvers.shrinkage import MOST_SHRUNK
from cappedlda._solvers.within import WithinCovariance

# Rows that are noted, at most: with 4096 a share of 1 % has a standard error of 0.16 %.
MOST_NOTED = 4096


class Calibration(NamedTuple):
    """Distances of kept rows, each left out of the covariance and of the mean of its class.

    Attributes
    ----------
    whitener : ndarray of shape (n, m)
        Raw features times it have unit covariance within the classes.
    weights : ndarray of shape (k,)
    own, nearest : ndarray of shape (k,)
        In the discriminant space: distance from the mean of the own class, and of the nearest.
    off_plane : ndarray of shape (k,)
    flat : ndarray of shape (n,), bool
        Features that are constant within the classes; the whitener leaves them out.
    """

    whitener: np.ndarray
    weights: np.ndarray
    own: np.ndarray
    nearest: np.ndarray
    off_plane: np.ndarray
    flat: np.ndarray


@dataclass(frozen=True)
class Calibrator:
    """Makes the calibration when it is asked for: most fits never need it.

    Attributes
    ----------
    within : WithinCovariance
    centres : ndarray of shape (c, n)
    shrinkage : float
    regime : Regime
    X : ndarray of shape (k, n)
        A copy of the kept rows to note.
    codes : ndarray of shape (k,)
    weights : ndarray of shape (k,)
    left_out : ndarray of shape (k,)
        Weight by which each row is left out of the fit: 0 for rows that were not in it.
    """

    within: WithinCovariance
    centres: np.ndarray
    shrinkage: float
    regime: Regime
    X: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    left_out: np.ndarray

    def __call__(self):
        """Return the `Calibration`."""
        within, codes, flat = self.within, self.codes, self._flat()
        varying = np.flatnonzero(~flat)
        centres = (self.centres - self.centres.mean(axis=0)) / within.scale
        centres = centres.take(varying, axis=1)  # C-ordered
        scatter = within.matrix[np.ix_(varying, varying)] * within.weight.sum()
        moments = ClassMoments(within.weight, np.zeros_like(centres), scatter)
        shrinkage = min(self.shrinkage, MOST_SHRUNK)
        discriminant = PlainLDA(moments, centres, len(flat), shrinkage=shrinkage)
        deviations, left_out = self._deviations(varying), self.left_out
        rows = Pieces(ArrayRows(deviations, codes, len(centres), regime=self.regime))
        squares = discriminant.distances(rows, left_out)
        off_plane = discriminant.distances_off_plane(deviations, codes, left_out)
        # The covariance without the row has that much less freedom.
        unit = 1.0 - left_out / discriminant.freedom
        own = squares[np.arange(len(codes)), codes]
        found = [root_of(unit * (part - off_plane)) for part in (own, squares.min(axis=1))]
        whitener = np.zeros((len(flat), discriminant.whitener.shape[1]))
        whitener[varying] = discriminant.whitener / within.scale[varying, None]
        return Calibration(whitener, self.weights, *found, root_of(unit * off_plane), flat)

    def _flat(self):
        """Return which features are constant within the classes: shrinkage would lift them."""
        centres = self.centres / self.within.scale
        return units_of(self.within.matrix.diagonal(), centres.var(axis=0), centres)[1]

    def _deviations(self, features):
        """Return the scaled deviations of the rows from their centres, C-ordered."""
        steps = np.asarray(self.X[:, features], np.float64) - self.centres[self.codes][:, features]
        return np.ascontiguousarray(steps / self.within.scale[features])


def calibrator_of(reweighted, usual, prepared):
    """Return the calibrator of plain LDA on a support, or None where no covariance is known.

    It notes rows that are in the support or not flagged, but none that is all of its class:
    without it the class has no mean.

    Parameters
    ----------
    reweighted : Reweighted
    usual : Support
        Rows outside are flagged.
    prepared : Prepared
    """
    sample, answer = prepared.all_sample, reweighted.answer
    if reweighted.within is None or prepared.space is not None:
        return None
    weights = np.ones(sample.shape[0]) if sample.sample_weight is None else sample.sample_weight
    kept = kept_of(sample, reweighted, prepared)
    left_out, of_class = kept * np.minimum(weights, 1.0), reweighted.within.weight[sample.codes]
    wanted = kept | usual.contains(np.ascontiguousarray(sample.X), sample.codes)
    wanted &= (weights > 0.0) & (of_class - left_out > LEAST_REST * of_class)
    if not wanted.any():
        return None
    noted = noted_rows(sample, wanted)
    settings = reweighted.within, answer.centres, answer.shrinkage, sample.regime
    rows = sample.X[noted], sample.codes[noted], weights[noted], left_out[noted]
    return Calibrator(*settings, *rows)


def root_of(squares):
    """Return the root of numbers that rounding may have made negative."""
    return np.sqrt(np.maximum(squares, 0.0))


def kept_of(sample, reweighted, prepared):
    """Return which rows of the sample are in the support."""
    if prepared.sample is prepared.rows and reweighted.mask is not None:
        return reweighted.mask
    return reweighted.support.contains(sample.X, sample.codes)


def noted_rows(sample, kept):
    """Return the numbers of the kept rows to note: all, or as large a part of each class."""
    (noted,) = np.nonzero(kept)
    width = max(sample.shape[1], sample.n_classes)
    most = min(MOST_NOTED, max(sample.regime.most_judged // width, 1))
    if len(noted) <= most:
        return noted
    by_class = noted[np.argsort(sample.codes[noted], kind="stable")]
    return by_class[np.arange(most) * len(noted) // most]
