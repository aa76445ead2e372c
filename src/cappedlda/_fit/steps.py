"""Single steps of a fit; `_fit` has their order."""

import numpy as np

from cappedlda._metrics import linalg
from cappedlda._metrics.frame import Frame, kept_covariance
from cappedlda._metrics.plain import ROUNDING
from cappedlda._metrics.systems import system_of
from cappedlda._rules.fences import REACH, Fences, fixed_point_caps, least_fence
from cappedlda._rules.rule import Query
from cappedlda._solvers.base import check_overflow
from cappedlda._solvers.mm import SYSTEM_TOLERANCE

# The first LDA only has to be near enough to see the outliers.
START_TOLERANCE = 1e-3
START_RIDGE = 1e-6  # of the unit variance of the scaled features


def with_caps_of(objective, frame):
    """Return a frame, perhaps of another objective, with the caps to begin with."""
    if objective.epsilon == "auto":
        return frame.with_fences(frame.fences, objective.multiplier)
    return frame.with_cap(objective.epsilon, frame.floor)


def projection_query(frame):
    """Return a query for the distances of all rows."""
    W, no_caps = frame.W / frame.scale[:, None], np.full(len(frame.centres), np.inf)
    return Query(W, frame.centres, frame.scale, no_caps, 2.0, 0.0, scatter=False, sums=False)


def with_caps_by_distances(rows, frame, reach=REACH):
    """Return a frame with the caps that follow from the distances of rows."""
    histograms = rows.run(projection_query(frame)).histograms
    limits = {"regime": rows.regime, "least": least_fence(frame.W.shape[1])}
    caps = fixed_point_caps(histograms, reach, **limits).caps
    return frame.with_fences(Fences.at(float(frame.priors @ caps), caps))


def lda_on_support(rows, initial, priors, n_features):
    """Return LDA on the support of an initial estimate, its rows (N,) and their moments."""
    support = initial.support
    counts = np.bincount(rows.codes[support], minlength=rows.n_classes)
    if not counts.all():
        support = support | (counts == 0)[rows.codes]
    support = rows.reweighted(support)
    record = support.run(Query.of_all_rows(initial.centres, initial.scale))
    check_overflow(record)
    weight = 2.0 * record.weight
    ridge = max(START_RIDGE, ROUNDING[rows.dtype] * record.scatter.trace() / weight)
    moments = record.moments(initial.centres, initial.scale).recentred()
    frame = Frame.of(moments.centres, initial.scale, priors, n_features, initial.least)
    A = system_of(moments.scatter, weight, ridge, SYSTEM_TOLERANCE * START_TOLERANCE)
    frame.raise_variances(A)
    W = linalg.leading_directions(A.solve(frame.B), frame.B)
    if W.shape[1] == 0:
        if initial.support.all():
            raise ValueError("The class means coincide in X: no direction separates the classes.")
        # Of rare indicators, say, the densest half has none: then nothing is known to be unusual.
        everything = initial._replace(support=np.ones_like(initial.support))
        return lda_on_support(rows, everything, priors, n_features)
    return frame.changed(W=W, K=W.T.dot(frame.B)), support.sample_weight > 0.0, moments


def with_start(start, rows, frame, space):
    """Return a frame with the directions to begin with that the user has given."""
    rank = frame.W.shape[1]
    n = len(frame.scale) if space is None else space.n_features
    W = np.eye(n, rank) if isinstance(start, str) else start
    W = W * frame.scale[:, None] if space is None else space.project(W)
    covariance = kept_covariance(rows.run(projection_query(frame.changed(W=W))))
    return frame.changed(W=W @ linalg.eigh_whitener(covariance), K=None)
