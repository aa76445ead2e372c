"""The cap: fences on distances that half of the rows of any class cannot move."""

import numpy as np
from scipy.special import gammainc

from cappedlda._core import kernels

# Reach of a fence beyond the median, in distances from the lower quartile to it.
# Tukey's outer fence, written with the lower half of the data, has 7.
REACH = 9.0
GATE_REACH = 8.0
# Equal distances, as in tiny or discrete data, must not fence each other out.
MIN_GAP = 0.05
# A class of less weight is too small for a fence of its own.
MIN_CLASS_WEIGHT = 20.0
MAX_GROWTH = 50


def bin_positions():
    """Return the distance at which each bin of the histograms of distances sits."""
    per_octave = 1 << kernels.HISTOGRAM_MANTISSA_BITS
    k = np.arange(kernels.HISTOGRAM_BINS)
    exponent = k // per_octave + kernels.HISTOGRAM_LOWEST_EXPONENT
    return np.ldexp(1.0 + (k % per_octave) / per_octave, exponent)


_POSITIONS = bin_positions()


def histograms_of(distances, codes, n_classes, sample_weight=None):
    """Return the histograms of distances of shape (N,), one per class."""
    histograms = np.zeros((n_classes, kernels.HISTOGRAM_BINS))
    weights = np.empty(0) if sample_weight is None else sample_weight
    kernels.add_to_histograms(distances, codes, weights, histograms)
    return histograms


def quantiles(histograms, levels):
    """Return quantiles of the distances behind histograms.

    The weight of a row is split between the two bins around it, so the quantiles
    move continuously with the data. They are within one bin, 1/32 of their value,
    of the exact ones.

    Parameters
    ----------
    histograms : ndarray of shape (..., HISTOGRAM_BINS)
    levels : sequence of float

    Returns
    -------
    quantiles : ndarray of shape (len(levels), ...)
    """
    # Half of a bin's weight lies below its position; between filled bins it rises evenly.
    below = np.cumsum(histograms, axis=-1)
    total = below[..., -1:].copy()
    below -= 0.5 * histograms
    filled = histograms > 0.0
    bins = np.arange(len(_POSITIONS))
    found = []
    for level in levels:
        target = level * total
        left = np.where(filled & (below < target), bins, -1).max(axis=-1)
        right = np.where(filled & (below >= target), bins, len(bins)).min(axis=-1)
        left, right = np.where(left < 0, right, left), np.where(right == len(bins), left, right)
        ends = np.clip(np.stack([left, right], axis=-1), 0, len(bins) - 1)
        low, high = np.moveaxis(np.take_along_axis(below, ends, axis=-1), -1, 0)
        gap = high - low
        share = np.divide(target[..., 0] - low, gap, out=np.zeros_like(gap), where=gap > 0)
        found.append(_POSITIONS[ends[..., 0]] * (1.0 - share) + _POSITIONS[ends[..., 1]] * share)
    return np.stack(found)


def fence(histograms, reach=REACH):
    """Return the fence Q2 + reach (Q2 - Q1) of the distances, and their median Q2."""
    q1, q2 = quantiles(histograms, (0.25, 0.5))
    return q2 + np.maximum(reach * (q2 - q1), MIN_GAP * q2), q2


def class_medians(histograms):
    """Return the median distance in each class."""
    return quantiles(histograms, (0.5,))[0]


def grown_caps(histograms, caps, reach=REACH):
    """Return the caps that follow from the rows within the present ones.

    Only rows inside count for a fence, so that it grows outwards from them and stops
    at the first wide gap. A class that spreads more than the others has a wider fence
    of its own, and every class keeps the half that is nearest to its centre.

    Parameters
    ----------
    histograms : ndarray of shape (c, HISTOGRAM_BINS)
    caps : ndarray of shape (c,)
    reach : float

    Returns
    -------
    epsilon : float
        The common fence.
    caps : ndarray of shape (c,)
        The fence of each class, at least epsilon.
    median : float
        Of the distances inside.
    """
    inside = np.where(caps[:, None] >= _POSITIONS, histograms, 0.0)
    epsilon, median = fence(inside.sum(axis=0), reach)
    own, _ = fence(inside, reach)
    own[inside.sum(axis=1) < MIN_CLASS_WEIGHT] = 0.0
    half = class_medians(histograms) * (1.0 + MIN_GAP)
    return epsilon, np.maximum(np.maximum(own, half), epsilon), median


def truncated_variance(epsilon, d):
    """Return the variance of d standard normal coordinates given that their norm is <= epsilon."""
    if not np.isfinite(epsilon):
        return 1.0
    half = 0.5 * epsilon**2
    inside = gammainc(0.5 * d, half)
    return gammainc(0.5 * d + 1.0, half) / inside if inside > 0.0 else half / (0.5 * d + 1.0)


def settled_caps(histograms, reach):
    """Return the caps that grow from the nearer half of every class until they stand still."""
    caps = class_medians(histograms) * (1.0 + MIN_GAP)
    for _ in range(MAX_GROWTH):
        _, grown, _ = grown_caps(histograms, caps, reach)
        if np.allclose(grown, caps, rtol=1e-6):
            break
        caps = grown
    return caps
