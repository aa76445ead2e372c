"""Caps: fences on distances that up to half of the rows of a class cannot move."""

import math
import sys
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import gammainc, gammaincinv

from cappedlda._kernels import histograms as fences
from cappedlda._regime import REGIME

# How far a fence reaches beyond the 90 % quantile of the distances inside it, in units of the gap
# between their median and that quantile: 3.6 deviations for a Gaussian feature.
REACH = 2.0
# Reach of the strict fences, which look for a cloud inside the usual ones.
STRICT_REACH = 0.0
# Rows are flagged beyond this multiple of the fences; up to the fences they are trusted.
FLAG_LEVEL = 1.5
# A support has settled once at most this share of the rows comes or goes.
SETTLED = 0.002
# Equal distances, as in tiny or discrete data, must not fence each other out.
MIN_GAP = 0.05
MAX_GROWTH = 50
# Fences that change by at most this share have converged.
STILL = 1e-6
LARGE = 1e3
# A fence is at least this quantile of Gaussian rows in the same units. Where many rows coincide,
# the gap between their quantiles means nothing.
LEAST_LEVEL = 0.99


def quantiles(histograms, levels, caps=None):
    """Return quantiles of the distances in each class, and of all classes together.

    The weight of a row is split between the two bins around it, so the quantiles move
    continuously with the data. They are within one bin, 1/32 of their value, of the exact ones.
    The levels must ascend. Distances beyond the caps (c,) do not count. The result is the
    quantiles (c + 1, levels) and the weight (c + 1,) of the rows that count.
    """
    c = len(histograms)
    caps = np.full(c, np.inf) if caps is None else caps
    levels = np.array(levels, dtype=np.float64)
    found, weights = np.empty((c + 1, len(levels))), np.empty(c + 1)
    fences.find_quantiles(histograms, caps, levels, found, weights)
    return found, weights


class Fences(NamedTuple):
    """Caps that follow from the distances."""

    epsilon: float  # the common fence
    caps: np.ndarray  # (c,), the fence of each class, at least epsilon
    halves: np.ndarray  # (c,), the least cap of each class, which keeps half of it
    median: float = 0.0  # of the distances inside

    @classmethod
    def at(cls, epsilon, caps):
        """Return given limits as fences."""
        return cls(epsilon, caps, caps)

    def scaled(self, unit):
        """Return the fences for distances that are `unit` times as large."""
        epsilon, caps, halves, median = self
        return Fences(unit * epsilon, unit * caps, unit * halves, unit * median)

    def times(self, multiplier):
        """Return a multiple of epsilon and of the caps that still keeps half of each class."""
        if multiplier == 1.0:
            return self.epsilon, self.caps
        least = min(self.epsilon, self.halves.min())
        epsilon = max(multiplier * self.epsilon, least)
        return epsilon, np.maximum(multiplier * self.caps, self.halves)


@lru_cache
def normal_norm(d, probability):
    """Return the norm within which d standard normal coordinates are with a probability."""
    return math.sqrt(2.0 * gammaincinv(0.5 * d, probability))


def least_fence(d):
    """Return the norm that d standard normal coordinates exceed with probability 0.01."""
    return normal_norm(d, LEAST_LEVEL)


def update_caps(histograms, caps, reach=REACH, steps=1, regime=REGIME, least=0.0, blur=0.0):
    """Return the fences that follow from the rows within the present caps.

    Only rows inside count for a fence, so it grows outwards from them and stops at the first wide
    gap. A class that spreads more than the others has a wider fence of its own, and every class
    keeps the half that is nearest to its centre.

    Without caps (None), the first step gives the nearer half. Fences grow for `steps` steps, or
    until they converge. In the end none is below `least`, and no multiple of one is below `blur`.
    """
    found, least = np.empty((2, len(histograms))), max(least, blur)
    limits = reach, MIN_GAP, regime.least_class_weight, STILL, steps, least, blur
    epsilon, median = fences.grow_caps(histograms, caps, *limits, found)
    return Fences(epsilon, *found, median)


def consistency_factor(epsilon, d):
    """Return the variance of d standard normal coordinates given that their norm is <= epsilon.

    A covariance of rows within epsilon is divided by it, to be consistent for normal data
    (Croux and Haesbroeck, Journal of Multivariate Analysis 1999, multiply by its inverse).
    At least half of the rows are always inside. An epsilon that would hold fewer normal rows is in
    other units, such as those of rows that the directions overfit.
    """
    if epsilon > LARGE:
        return 1.0
    half = 0.5 * max(epsilon, normal_norm(d, 0.5)) ** 2
    inside = gammainc(0.5 * d, half)
    left = gammainc(0.5 * d + 1.0, half) / inside if inside > 0.0 else half / (0.5 * d + 1.0)
    return max(left, sys.float_info.min)


def fixed_point_caps(histograms, reach=REACH, start=None, regime=REGIME, least=0.0, blur=0.0):
    """Return the fences, grown from the nearer half of every class until they converge.

    They may also grow from caps `start` of shape (c,). See `update_caps`.
    """
    steps = MAX_GROWTH if start is not None else 1 + MAX_GROWTH
    return update_caps(histograms, start, reach, steps, regime, least, blur)
