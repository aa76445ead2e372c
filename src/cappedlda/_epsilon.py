"""The cap: a fence on the projected distances that half of the rows cannot move."""

import numpy as np

from cappedlda._core import _kernels

FENCE_REACH = 7.0
# Equal distances, as in tiny or discrete data, must not fence each other out.
MIN_GAP = 0.05


def bin_positions():
    """Return the distance at which each bin of the histogram of distances sits."""
    per_octave = 1 << _kernels.HISTOGRAM_MANTISSA_BITS
    k = np.arange(_kernels.HISTOGRAM_BINS)
    exponent = k // per_octave + _kernels.HISTOGRAM_LOWEST_EXPONENT
    return np.ldexp(1.0 + (k % per_octave) / per_octave, exponent)


_POSITIONS = bin_positions()


def histogram_quantiles(histogram, levels):
    """Return quantiles of the distances behind a histogram.

    The weight of a row is split between the two bins around it, so the quantiles
    move continuously with the data. They are within one bin, 1/128 of their value,
    of the exact ones.
    """
    filled = np.flatnonzero(histogram)
    weight = histogram[filled]
    # Half of a bin's weight lies below its position.
    cumulative = (np.cumsum(weight) - 0.5 * weight) / weight.sum()
    return np.interp(levels, cumulative, _POSITIONS[filled])


def histogram_of(distances, sample_weight=None):
    """Return the histogram of distances of shape (N,)."""
    histogram = np.zeros(_kernels.HISTOGRAM_BINS)
    weights = np.empty(0) if sample_weight is None else sample_weight
    _kernels.add_to_histogram(distances, weights, histogram)
    return histogram


def fence(histogram):
    """Return the automatic cap and the median distance.

    With the lower quartile Q1 and the median Q2 of the distances the cap is
    Q2 + 7 (Q2 - Q1): Tukey's outer fence written with the lower half of the data,
    so that up to half of the rows may lie anywhere.
    """
    q1, q2 = histogram_quantiles(histogram, [0.25, 0.5])
    return q2 + max(FENCE_REACH * (q2 - q1), MIN_GAP * q2), q2
