"""Where the solver starts: a first look at a sample of the rows that outliers cannot spoil.

A part of a class that lies apart from the larger part is left out. The nearer half of the
rest of every class, by distances that know the scale of each feature, is taken for good.
Its covariance gives better distances, these a better half, a few times over; then the half
grows until the next row is too far off.
"""

from functools import partial

import numpy as np

from cappedlda._cutoffs.gate import gate_caps
from cappedlda._data.jobs import histograms_of
from cappedlda._data.threads import serial_map, shared_threads
from cappedlda._initial.csteps import Pieces, c_steps, grow_support
from cappedlda._initial.estimate import InitialEstimate
from cappedlda._initial.location import DensePoints, minimum_volume_ball
from cappedlda._initial.separation import without_separated_parts
from cappedlda._initial.standardize import in_units, medians_and_scale

# Threads for fewer numbers would cost more than they save: of 5000 rows, 50 features were too
# few for a gain on two cores, and 256 were enough also of 2000 rows.
THREADED_ELEMENTS = 400_000
# Covariances of all features need several rows per feature.
ROWS_PER_FEATURE = 4
# A half that hardly grows has closed in on a tight cluster: do not trust it.
STUCK_SHARE = 0.55
# Least variance, in robust units, of a feature, and of one that is mostly constant.
VARIANCE_FLOOR = 0.1
SPARSE_VARIANCE_FLOOR = 1.0


def plain_initial(rows):
    """Return class means and pooled scales, with every row kept."""
    _, scale, _ = medians_and_scale(rows)
    return InitialEstimate(rows.class_means(), scale, np.ones(rows.shape[0], dtype=bool))


def robust_initial(rows):
    """Return class centres, pooled scales and the support."""
    with shared_threads(rows.n_jobs if rows.X.size >= THREADED_ELEMENTS else 1) as map_:
        rows, order = rows.by_class()
        units_of, classes_of = partial(medians_and_scale, map_=map_), partial(points_of, map_=map_)
        separated, units, classes = without_separated_parts(rows, units_of, classes_of, map_)
        medians, scale, sparse = units
        moves = np.array(map_(minimum_volume_ball, classes))
        del classes  # as many numbers as the rows have
        scaled, squares = in_units(rows, medians, scale, moves, map_)
        norms = np.sqrt(squares / rows.shape[1])
        support = None
        if rows.class_weights.sum() >= ROWS_PER_FEATURE * rows.shape[1]:
            floor = np.where(sparse, SPARSE_VARIANCE_FLOOR, VARIANCE_FLOOR)
            pieces = Pieces(rows.with_features(scaled), map_)
            support = grow_support(pieces, *c_steps(pieces, norms, floor), floor) & ~separated
            if weight_in(rows, support) < STUCK_SHARE * weight_in(rows, ~separated):
                support = None
    if support is None:
        histograms = histograms_of(norms, rows.codes, rows.n_classes, rows.sample_weight)
        support = (norms <= gate_caps(histograms)[rows.codes]) & ~separated
    unordered = np.empty_like(support)
    unordered[order] = support
    return InitialEstimate(medians + moves * scale, scale, unordered)


def weight_in(rows, chosen):
    """Return the weight of the rows of a mask."""
    return np.count_nonzero(chosen) if rows.sample_weight is None else rows.sample_weight @ chosen


def points_of(rows, centres, scale, map_=serial_map):
    """Return the points of each class, given rows class by class; see `DensePoints`."""
    scaled, squares = in_units(rows, centres, scale, map_=map_)
    weight = rows.sample_weight
    return [
        DensePoints(scaled[part], squares[part], None if weight is None else weight[part])
        for part in rows.class_slices()
    ]
