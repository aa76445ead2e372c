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
from cappedlda._data.threads import in_turn, shared_threads
from cappedlda._initial.csteps import concentrated
from cappedlda._initial.estimate import FirstLook
from cappedlda._initial.location import ArrayPoints, densest_centre
from cappedlda._initial.separation import without_far_parts
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


def plain_look(rows):
    """Return class means and pooled scales, with every row kept."""
    _, scale, _ = medians_and_scale(rows)
    return FirstLook(rows.class_means(), scale, np.ones(rows.shape[0], dtype=bool))


def robust_look(rows):
    """Return class centres, pooled scales and the rows that a robust start keeps."""
    with shared_threads(rows.n_jobs if rows.X.size >= THREADED_ELEMENTS else 1) as each:
        rows, order = rows.by_class()
        units_of, classes_of = partial(medians_and_scale, each=each), partial(points_of, each=each)
        apart, units, classes = without_far_parts(rows, units_of, classes_of, each)
        medians, scale, sparse = units
        moves = np.array(each(densest_centre, classes))
        del classes  # as many numbers as the rows have
        scaled, squares = in_units(rows, medians, scale, moves, each)
        norms = np.sqrt(squares / rows.shape[1])
        kept = None
        if rows.class_weights.sum() >= ROWS_PER_FEATURE * rows.shape[1]:
            floor = np.where(sparse, SPARSE_VARIANCE_FLOOR, VARIANCE_FLOOR)
            kept = concentrated(rows.with_features(scaled), norms, floor, each) & ~apart
            if weight_in(rows, kept) < STUCK_SHARE * weight_in(rows, ~apart):
                kept = None
    if kept is None:
        histograms = histograms_of(norms, rows.codes, rows.n_classes, rows.sample_weight)
        kept = (norms <= gate_caps(histograms)[rows.codes]) & ~apart
    unordered = np.empty_like(kept)
    unordered[order] = kept
    return FirstLook(medians + moves * scale, scale, unordered)


def weight_in(rows, chosen):
    """Return the weight of the rows of a mask."""
    return np.count_nonzero(chosen) if rows.sample_weight is None else rows.sample_weight @ chosen


def points_of(rows, centres, scale, each=in_turn):
    """Return the points of each class, given rows class by class; see `ArrayPoints`."""
    scaled, squares = in_units(rows, centres, scale, each=each)
    weight = rows.sample_weight
    return [
        ArrayPoints(scaled[part], squares[part], None if weight is None else weight[part])
        for part in rows.class_slices()
    ]
