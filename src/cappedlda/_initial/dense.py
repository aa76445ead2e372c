"""The initial estimate of rows in an array."""

from typing import NamedTuple

import numpy as np

from cappedlda._data.jobs import histograms_of
from cappedlda._data.threads import shared_threads
from cappedlda._initial.csteps import Pieces, c_step, grow_support
from cappedlda._initial.separation import LEAST_INSIDE, separated_part
from cappedlda._initial.standardize import in_units, medians_and_scale
from cappedlda._rules.rule import gate_caps

# Least variance, in robust units, of a feature, and of one that is mostly constant.
VARIANCE_FLOOR = 0.1
SPARSE_VARIANCE_FLOOR = 1.0


class InitialEstimate(NamedTuple):
    """A robust (or plain) first estimate of each class."""

    centres: np.ndarray  # (c, n)
    scale: np.ndarray  # (n,), unit of each feature
    support: np.ndarray  # (N,), bool, rows to begin with
    # (n,), least deviation of each feature by which rows are measured, whatever support they are
    # measured from: a value that it happens to lack is not infinitely far.
    least: np.ndarray | None = None

    @classmethod
    def plain(cls, rows, scale):
        """Return the class means, with every row in the support."""
        return cls(rows.class_means(), scale, np.ones(rows.shape[0], dtype=bool))


def plain_estimate(rows):
    """Return class means and pooled scales, with every row in the support."""
    return InitialEstimate.plain(rows, medians_and_scale(rows)[1])


def robust_estimate(rows):
    """Return class medians, pooled scales and the support, which outliers cannot spoil."""
    regime, (n_rows, n) = rows.regime, rows.shape
    n_jobs = rows.n_jobs if n_rows * n >= regime.threaded_elements else 1
    rows, order = rows.by_class()
    many = rows.class_weights.sum() >= regime.covariance_rows_per_feature * n
    apart = None
    with shared_threads(n_jobs) as map_:
        if many:
            medians, scale, sparse = medians_and_scale(rows, map_)
        else:
            apart, (medians, scale, sparse) = rows_apart(rows, map_)
        floor = np.where(sparse, SPARSE_VARIANCE_FLOOR, VARIANCE_FLOOR)
        scaled, squares = in_units(rows, medians, scale, map_)
        norms = np.sqrt(squares / n)
        if many:
            dtype = np.float32 if n >= regime.single_features else np.float64
            pieces = Pieces(rows.with_features(scaled), map_, dtype)
            support = grow_support(pieces, *c_step(pieces, norms, floor), floor)
        else:
            histograms = histograms_of(norms, rows.codes, rows.n_classes, rows.sample_weight)
            support = (norms <= gate_caps(histograms, n, regime)[rows.codes]) & ~apart
    unordered = np.empty_like(support)
    unordered[order] = support
    return InitialEstimate(medians, scale, unordered, np.sqrt(floor) * scale)


def rows_apart(rows, map_=map):
    """Return which rows lie apart from the larger part of their class, and units without them.

    They inflate the units of the features, in which they are looked for: without them the units
    are taken again, until no more are found.
    """
    apart = np.zeros(rows.shape[0], dtype=bool)
    weights = np.ones(len(apart)) if rows.sample_weight is None else rows.sample_weight
    while True:
        units = medians, scale, _ = medians_and_scale(
            rows.take(~apart) if apart.any() else rows, map_
        )
        found = np.zeros_like(apart)
        for k, total in enumerate(rows.class_weights):
            (own,) = np.nonzero((rows.codes == k) & ~apart & (weights > 0.0))
            held = weights[own].sum()
            if held < max(rows.regime.least_class_weight, LEAST_INSIDE * total):
                continue
            points = (rows.X[own] - medians[k]) / scale
            found[own] = separated_part(points, weights[own], LEAST_INSIDE * total)
        if not found.any():
            return apart, units
        apart |= found


def concentrated_support(rows, units, reach):
    """Return the support of rows of few features: a C-step from the medians, then its growth.

    The growth ends at a fence of some reach.
    """
    medians, scale, _ = units
    scaled, squares = in_units(rows, medians, scale)
    floor = np.full(rows.shape[1], VARIANCE_FLOOR)
    pieces = Pieces(rows.with_features(scaled))
    return grow_support(pieces, *c_step(pieces, np.sqrt(squares), floor), floor, reach)
