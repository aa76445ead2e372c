"""The part of a class that lies apart from its larger part."""

import numpy as np

from cappedlda._cutoffs.gate import GAP_SHARE
from cappedlda._initial.location import too_few
from cappedlda._kernels import start as start_kernels

# Steps towards the direction in which a class is widest.
DIRECTION_STEPS = 4
# A gap in one direction, in standard deviations of the part inside, which are at least so
# large in robust units. With more than this share beyond it no part is clearly the larger.
STRAIGHT_GAP = 2.0
LEAST_DEVIATION = 1.0
MOST_BEYOND = 0.45


def separated_part(points, least):
    """Return which points lie beyond a wide gap in the direction in which they spread most.

    At least the weight `least` stays. The norms of rows of many features hide a cloud that a
    single direction shows. It is the leading direction of the covariance of spatial signs
    (Locantore and others, Test 1999), to which points that are far off contribute no more than
    others, by a few power steps.
    """
    squares, weight = points.squares, points.weight
    none = np.zeros(len(squares), dtype=bool)
    if too_few(points):
        return none
    shares = np.empty((1, len(squares)))
    start_kernels.direction_shares(squares, weight, shares, True)
    direction = points.sums(shares)
    for _ in range(DIRECTION_STEPS):
        shares = points.products(direction)
        start_kernels.direction_shares(squares, weight, shares, False)
        direction = points.sums(shares)
    length = np.sqrt(np.vdot(direction, direction))
    if length == 0.0:
        return none
    return beyond_gap(points.products(direction / length)[0], weight, least)


def beyond_gap(heights, weight, least):
    """Return which heights are beyond the widest gap on either side, if it is wide enough.

    Parameters
    ----------
    heights : ndarray of shape (N,)
        Places of rows in one direction, in robust units.
    weight : ndarray of shape (N,) or None
    least : float
        Weight that must stay inside.
    """
    if weight is None:
        places, weights = np.sort(heights), None
    else:
        order = heights.argsort()
        places, weights = heights[order], weight[order]
    width, last, side = start_kernels.widest_gap(
        places, weights, least, 1.0 - MOST_BEYOND, 1.0 - GAP_SHARE, LEAST_DEVIATION
    )
    if width < STRAIGHT_GAP:
        return np.zeros(len(heights), dtype=bool)
    return side * heights > side * last
