"""How far kept rows lie from the classes when left out of the fit, as new rows will.

A squared Mahalanobis distance from a class is the sum of two: one in the discriminant space, the
plane through the class means, and one off that plane, which is the same from every class.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cappedlda._data.array import ArrayRows
from cappedlda._data.moments import Moments
from cappedlda._initial.dense import Pieces
from cappedlda._loo.distances import LEAST_REST, PlainLDA
from cappedlda._metrics.plain import units_of
from cappedlda._metrics.shrinkage import MOST_SHRUNK
from cappedlda._regime import Regime

# Most rows that are noted: with 4096, a share of 1 % has a standard error of 0.16 %.
MOST_NOTED = 4096


class Calibration(NamedTuple):
    """Distances of kept rows, each left out of the covariance and of the mean of its class."""

    whitener: np.ndarray  # (n, m), raw features times it have unit covariance within the classes
    weights: np.ndarray  # (k,)
    own: np.ndarray  # (k,), in the discriminant space: distance from the mean of the own class
    nearest: np.ndarray  # (k,), from that of the nearest class
    off_plane: np.ndarray  # (k,)
    flat: np.ndarray  # (n,), bool, features constant within the classes, outside the whitener


@dataclass(frozen=True)
class Calibrator:
    """Makes the calibration on demand, as most fits never need it."""

    within: Moments
    centres: np.ndarray  # (c, n)
    shrinkage: float
    regime: Regime
    trial: tuple[np.ndarray, np.ndarray, np.ndarray]  # training rows (m, n), classes and weights
    noted: np.ndarray  # (k,), numbers of those to note
    left_out: np.ndarray  # (k,), weight of each in the fit that it is left out of, perhaps 0

    def __call__(self):
        X, codes, weights = (part[self.noted] for part in self.trial)
        left_out, discriminant = self.left_out, self._discriminant
        steps = np.asarray(X[:, self._varying], np.float64) - self.centres[codes][:, self._varying]
        deviations = np.ascontiguousarray(steps / self.within.scale[self._varying])
        rows = Pieces(ArrayRows(deviations, codes, len(self.centres), regime=self.regime))
        squares = discriminant.distances(rows, left_out)
        off_plane = discriminant.distances_off_plane(deviations, codes, left_out)
        # Without the row, the covariance has that much less freedom.
        unit = 1.0 - left_out / discriminant.freedom
        own = squares[np.arange(len(codes)), codes]
        found = [root_of(unit * (part - off_plane)) for part in (own, squares.min(axis=1))]
        found.append(root_of(unit * off_plane))
        return Calibration(self.whitener, weights, *found, self._flat)

    @cached_property
    def whitener(self):
        scale, found = self.within.scale, self._discriminant.whitener
        whitener = np.zeros((len(scale), found.shape[1]))
        whitener[self._varying] = found / scale[self._varying, None]
        return whitener

    @cached_property
    def _discriminant(self):
        within, varying = self.within, self._varying
        centres = (self.centres - self.centres.mean(axis=0)) / within.scale
        centres = centres.take(varying, axis=1)  # C-ordered
        scatter = within.covariance[np.ix_(varying, varying)] * within.weights.sum()
        moments = Moments(within.weights, np.zeros_like(centres), scatter)
        settings = {"shrinkage": min(self.shrinkage, MOST_SHRUNK)}
        if self.shrinkage == 0.0:  # as for the answer: what is flat depends on units and type
            settings["dtype"] = self.trial[0].dtype
            variances = scatter.diagonal() / within.weights.sum()
            settings["unit"] = np.sqrt(np.where(variances > 0.0, variances, 1.0))
        return PlainLDA(moments, centres, len(within.scale), **settings)

    @cached_property
    def _flat(self):
        """Which features are constant within the classes, which shrinkage would hide."""
        centres = self.centres / self.within.scale
        return units_of(self.within.covariance.diagonal(), centres.var(axis=0), centres)[1]

    @property
    def _varying(self):
        return np.flatnonzero(~self._flat)


def calibrator_of(reweighted, flag_rule, prepared, samples):
    """Return the calibrator of plain LDA on a support, or None where no covariance is known.

    It notes rows in the support or not flagged, but none that is alone in its class. The samples
    are None if no results are kept for each row.
    """
    sample, answer = prepared.all_sample, reweighted.answer
    if not prepared.by_features:
        return None
    weights = sample.row_weights
    if prepared.sample is prepared.rows and samples is not None:
        kept, usual = ~samples.left_out, ~samples.outliers
    else:
        kept, usual = reweighted.rule.contains(sample), flag_rule.contains(sample)
    left_out, of_class = kept * np.minimum(weights, 1.0), reweighted.within.weights[sample.codes]
    wanted = kept | usual
    wanted &= (weights > 0.0) & (of_class - left_out > LEAST_REST * of_class)
    some = some_rows(sample, weights > 0.0)
    (noted,) = np.nonzero(wanted[some])
    if len(noted) == 0:
        return None
    trial = sample.X.take(some, axis=0), sample.codes[some], weights[some]
    settings = reweighted.within, answer.centres, answer.shrinkage, sample.regime
    return Calibrator(*settings, trial, noted, left_out[some[noted]])


def root_of(squares):
    """Return the square root of numbers that rounding may have made negative."""
    return np.sqrt(np.maximum(squares, 0.0))


def some_rows(sample, counted):
    """Return the numbers of the rows that count, or the same part of each class."""
    (numbers,) = np.nonzero(counted)
    width = max(sample.shape[1], sample.n_classes)
    most = min(MOST_NOTED, max(sample.regime.most_judged // width, 1))
    if len(numbers) <= most:
        return numbers
    by_class = sample.class_order()
    return by_class[counted[by_class]][np.arange(most) * len(numbers) // most]
