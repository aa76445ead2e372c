"""The part of a class that lies apart from its larger part, where rows are few.

With too few rows for a covariance, only the sizes of rows are known. With many features, these
hide a cloud that a single direction shows.
"""

import numpy as np
from scipy.linalg import eigh

# Least gap, in standard deviations of the part inside (but at least robust units).
WIDE = 2.0
# The larger part of a class has a share between these; with more beyond, no part is the larger one.
LEAST_INSIDE, MOST_INSIDE = 0.55, 0.9
# Deviations are cut off here, as the unit of a feature may be far too small.
FARTHEST_SEEN = 5.0


def separated_part(points, weights, least):
    """Return which points lie beyond a wide gap in the direction in which they spread most.

    It is the leading direction of their spatial signs (Locantore and others, Test 1999), in which
    far points count no more than others. The points (N, n) are of one class, in robust units about
    its median. A weight of at least `least` must stay inside.
    """
    points = np.clip(points, -FARTHEST_SEEN, FARTHEST_SEEN)
    lengths = np.linalg.norm(points, axis=1)
    signs = points / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    signs -= weights @ signs / weights.sum()
    heights = points @ leading_direction(np.sqrt(weights)[:, None] * signs)
    (above, last_above), (below, last_below) = (
        widest_gap(side * heights, weights, least) for side in (1.0, -1.0)
    )
    if max(above, below) < WIDE:
        return np.zeros(len(points), dtype=bool)
    return heights > last_above if above > below else -heights > last_below


def leading_direction(points):
    """Return the unit vector along which points of shape (N, n) have the largest squares."""
    wide = len(points) < points.shape[1]
    products = points @ points.T if wide else points.T @ points
    vector = eigh(products, subset_by_index=[len(products) - 1] * 2, check_finite=False)[1][:, 0]
    direction = vector @ points if wide else vector
    length = np.linalg.norm(direction)
    return direction / length if length > 0.0 else direction


def widest_gap(heights, weights, least):
    """Return the width of the widest gap above the larger part, and the last height below it."""
    order = heights.argsort(kind="stable")
    places, weights = heights[order], weights[order]
    inside = np.cumsum(weights)
    mean = np.cumsum(weights * places) / inside
    variance = np.cumsum(weights * places**2) / inside - mean**2
    allowed = inside >= max(least, LEAST_INSIDE * inside[-1]) * (1.0 - 1e-9)
    allowed &= inside <= MOST_INSIDE * inside[-1] * (1.0 + 1e-9)
    widths = np.diff(places, append=places[-1]) / np.sqrt(np.maximum(variance, 1.0))
    k = np.argmax(np.where(allowed, widths, 0.0))
    return (widths[k] if allowed[k] else 0.0), places[k]
