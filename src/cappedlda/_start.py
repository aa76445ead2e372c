"""Where the solver starts: a first look at a sample of the rows that outliers cannot spoil."""

from typing import NamedTuple

import numpy as np

from cappedlda._epsilon import fence, histogram_of

# The first look and the first convergence use a stratified sample of about this many
# rows when there are several times as many; a few passes over all rows finish the fit.
SAMPLE_ROWS = 5000
SAMPLE_ROWS_PER_CLASS = 50
SAMPLE_WORTHWHILE = 4

MAD_TO_SIGMA = 1.4826
MEAN_DEVIATION_TO_SIGMA = 1.2533


class FirstLook(NamedTuple):
    """What the start knows: class centres (c, n), feature scales (n,), rows to begin with (N,)."""

    centres: np.ndarray
    scale: np.ndarray
    kept: np.ndarray


def stratified_sample(codes, n_classes, seed):
    """Return sorted row indices of a stratified sample, or None if all rows should be used.

    Every class gives its share, and at least `SAMPLE_ROWS_PER_CLASS` rows where it has them.
    """
    n_rows = len(codes)
    size = max(SAMPLE_ROWS, SAMPLE_ROWS_PER_CLASS * n_classes)
    if n_rows < SAMPLE_WORTHWHILE * size:
        return None
    counts = np.bincount(codes, minlength=n_classes)
    shares = np.minimum(
        counts, np.maximum(SAMPLE_ROWS_PER_CLASS, np.round(counts * (size / n_rows))).astype(int)
    )
    rng = np.random.default_rng(seed)
    # A random order of all rows, stably grouped by class: the first rows of each group.
    order = rng.permutation(n_rows)
    order = order[np.argsort(codes[order], kind="stable")]
    starts = np.cumsum(counts) - counts
    chosen = [order[start : start + share] for start, share in zip(starts, shares, strict=True)]
    return np.sort(np.concatenate(chosen))


def weighted_median(values, weights):
    """Return the medians of the columns of `values`; a row of weight k counts k times."""
    if weights is None:
        return np.median(values, axis=0)
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    cumulative = np.cumsum(weights[order], axis=0)
    half = 0.5 * cumulative[-1]
    # The mean of the first value that reaches half and the first that passes it, as
    # the median of repeated rows would be. The tolerance forgives rounding of the sums.
    slack = 1e-12 * half
    low = np.argmax(cumulative >= half - slack, axis=0)
    high = np.argmax(cumulative > half + slack, axis=0)
    columns = np.arange(values.shape[1])
    return 0.5 * (ordered[low, columns] + ordered[high, columns])


def first_look(rows):
    """Return class medians, pooled within-class scales, and the rows inside a first fence."""
    centres = np.stack([weighted_median(X, weight) for X, weight in rows.classes()])
    deviations = np.abs(rows.X - centres[rows.codes])
    scale = pooled_scale(deviations, rows.sample_weight)
    deviations /= scale
    distances = np.sqrt(np.mean(np.square(deviations), axis=1))
    cap, _ = fence(histogram_of(distances, rows.sample_weight))
    return FirstLook(centres, scale, distances <= cap)


def pooled_scale(deviations, sample_weight):
    """Return a robust scale of each feature from absolute deviations about the class centres.

    The median absolute deviation; where more than half of the deviations are zero,
    their mean; and 1 for a constant feature.
    """
    scale = MAD_TO_SIGMA * weighted_median(deviations, sample_weight)
    mean = MEAN_DEVIATION_TO_SIGMA * np.average(deviations, axis=0, weights=sample_weight)
    scale = np.where(scale > 0.0, scale, mean)
    return np.where(scale > 0.0, scale, 1.0)


def plain_look(rows):
    """Return class means and pooled scales, with every row kept."""
    scale = first_look(rows).scale
    return FirstLook(rows.class_means(), scale, np.ones(rows.shape[0], dtype=bool))
