"""Reweighting: plain LDA on a support, the rows that it keeps, and the answer of a fit."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from cappedlda._data.moments import Moments
from cappedlda._data.record import check_overflow
from cappedlda._fit.result import Solution, unsupervised_directions
from cappedlda._loo.calibration import calibrator_of
from cappedlda._metrics import linalg
from cappedlda._metrics.frame import Frame, kept_covariance, vanishing
from cappedlda._metrics.plain import ROUNDING, Discriminant, Metric, system_of
from cappedlda._metrics.shrinkage import shrinkage_rule
from cappedlda._rules.fences import REACH, Fences, consistency_factor, fixed_point_caps, least_fence
from cappedlda._rules.rule import Query, RowRule
from cappedlda._solvers.base import Trace
from cappedlda._solvers.mm import SYSTEM_TOLERANCE

# Reweighting is repeated, at most this often, while more than this share of the rows comes or goes.
# The core is then mostly the last support, whose moments are known.
MAX_REWEIGHTINGS = 5
STABLE = 1e-4
# The first LDA only has to be near enough to see the outliers.
START_TOLERANCE = 1e-3
START_RIDGE = 1e-6  # of the unit variance of the scaled features


@dataclass(frozen=True)
class Reweighted:
    """Plain LDA on the rows within a multiple of caps and gate."""

    # Measures the rows: nearly the same directions, but with the ridge of the iteration, so that no
    # direction in which the support happens to be flat dominates.
    frame: Frame
    rule: RowRule  # of the support
    # (N,), bool, the rows of the support, if results are kept for each row.
    mask: np.ndarray | None
    kept_rows: np.ndarray  # (c,), rows of each class in the support
    weight: float  # of all rows that were read
    within: Moments  # of the support
    shrinkage: float
    objective: float  # mean of the capped squared distances, before this LDA
    # Returns the answer, which only the last support needs.
    make_answer: Callable[[], Discriminant]

    @cached_property
    def answer(self):
        """The answer of the fit, a `Discriminant`."""
        return self.make_answer()


@dataclass(frozen=True)
class Evaluated:
    """A frame with the caps of its own distances, and these distances, of rows inside the gate."""

    frame: Frame
    seen: Any  # SampleDistances or BorderDistances
    kept_weight: float  # weight of the rows within the caps

    @cached_property
    def ratios(self):
        """The larger ratio of each row, to cap or gate, shape (N,)."""
        return self.seen.ratios(self.frame.caps)


def reweight(rows, frame, level, objective, gate, options, sample=None):
    """Return plain LDA on the rows within a multiple, the level, of caps and gate.

    The rows are those within that multiple of the gate, and the caps those of the frame. If the
    rows are not in memory, a sample of them is given.
    """
    query = frame.query(level, scatter=True)
    record, seen = rows.evaluate(query)
    check_overflow(record)
    tol = 0.1 * SYSTEM_TOLERANCE * options.tol
    mask, rule = seen.inside(query.caps, level), frame.rule(gate, level)

    def kept_rows():
        return mask if sample is None else rule.contains(sample)

    shrink = shrinkage_rule(options.shrinkage, sample or rows, kept_rows, record.kept[:, 1])
    moments = record.moments(frame.centres, frame.scale)
    sizes = moments.scatter.diagonal()
    if options.renew_priors:
        frame = frame.changed(priors=record.kept[:, 1] / record.kept_weight)
    if options.renew_centres:
        moments = moments.recentred()
        frame = frame.recentred(moments.centres)
    metric = Metric.of(moments, frame, sizes, tol, rows.dtype, rows.regime, shrink)
    ridged = metric.lda(objective.ridge, measuring=True)

    consistency, all_kept = 1.0, record.kept_weight >= (1.0 - 1e-9) * record.weight
    if not (all_kept or frame.any_uncapped or ridged.W.shape[1] == 0):
        consistency = consistency_factor(level * frame.epsilon, ridged.W.shape[1])
    # Distances are in units of the spread itself, whatever its degrees of freedom.
    spread = math.sqrt(record.kept_weight / (moments.freedom or 1.0))
    W = math.sqrt(consistency) * spread * ridged.W
    frame = frame.changed(centres=ridged.centres, scale=ridged.scale, B=ridged.B, W=W)
    frame = frame.without_caps_on(vanishing(record))

    def make_answer():
        answer = metric.answer(ridged, options.ridge, objective.ridge)
        return answer._replace(W=math.sqrt(consistency) * answer.W)

    return Reweighted(
        frame,
        rule,
        mask,
        record.kept[:, 0],
        record.weight,
        moments,
        metric.shrinkage,
        record.objective / (record.weight or 1.0),
        make_answer,
    )


def evaluate(rows, frame, objective):
    """Return a frame with the caps that follow from the distances of rows, and the distances."""
    record, seen = rows.evaluate(frame.query())
    frame = with_new_caps(frame, record, objective, rows.regime)
    return Evaluated(frame, seen, seen.kept_weight(frame.caps))


def with_new_caps(frame, record, objective, regime, fitted=True):
    """Return a frame with the caps that follow from a record, if caps are automatic.

    `fitted` tells whether the directions were fitted to the rows of the record.
    """
    if objective.epsilon != "auto":
        return frame
    enough = regime.unshrunk_rows_per_feature * frame.n_features
    few_rows = fitted and record.kept_weight < enough
    # Few rows, to which directions overfit, spread less.
    least = 0.0 if few_rows else least_fence(max(frame.W.shape[1], 1))
    limits = {"regime": regime, "least": least}
    fences = fixed_point_caps(record.histograms, objective.reach, **limits)
    capped = frame.with_fences(fences, objective.multiplier)
    return capped.without_caps_on(frame.uncapped) if frame.any_uncapped else capped


def until_stable(rows, frame, objective, gate, options, sample=None, report=None):
    """Return LDA on the rows inside gate and caps, repeated until it keeps its own rows.

    Two supports may alternate: a feature that is constant within the classes of the smaller one
    means nothing there, and everything in the larger one. Then LDA on the larger one measures the
    rows, whatever the number of steps, and the answer is LDA on the rows that it keeps. The result
    includes its evaluation and a `Trace`.
    """
    settings, trace = (objective, gate, options, sample), Trace("converged")
    while trace.n_iter < MAX_REWEIGHTINGS:
        reweighted = reweight(rows, frame, 1.0, *settings)
        evaluated = evaluate(rows, reweighted.frame, objective)
        trace.n_iter, trace.n_passes = trace.n_iter + 1, trace.n_passes + 2
        trace.objective_path.append(reweighted.objective)
        trace.change = share_changed(reweighted, evaluated)
        if report is not None:
            report(trace.n_iter, trace, evaluated.kept_weight)
        if trace.change <= STABLE:
            return reweighted, evaluated, trace
        frame = evaluated.frame
    if reweighted.within.weights.sum() < evaluated.kept_weight:
        larger = reweight(rows, frame, 1.0, *settings)
        evaluated, trace.n_passes = evaluate(rows, larger.frame, objective), trace.n_passes + 2
    trace.n_passes += 1
    return reweight(rows, evaluated.frame, 1.0, *settings), evaluated, trace


def share_changed(reweighted, evaluated):
    """Return by which share the rows that LDA keeps differ in weight from its support."""
    return abs(reweighted.within.weights.sum() - evaluated.kept_weight) / (reweighted.weight or 1.0)


def without_caps(frame):
    """Return the frame without caps."""
    return frame.with_fences(Fences.at(np.inf, np.full(len(frame.centres), np.inf)))


def solution_of(reweighted, evaluated, trace, objective, prepared, n_components):
    """Return the answer as a `Solution`."""
    answer, frame = reweighted.answer, evaluated.frame
    directions = answer.W / answer.scale[:, None]
    gate = None if objective.epsilon == np.inf else prepared.gate
    flag_rule = frame.rule(gate, objective.flag_level)
    mask, count = reweighted.mask, n_components - directions.shape[1]
    samples = evaluated.seen.per_sample(frame.caps, objective.flag_level, mask)
    return Solution(
        W=linalg.fix_signs(directions),
        covariance=np.eye(directions.shape[1]),
        strengths=answer.strengths,
        extra=unsupervised_directions(answer.A, answer.B, answer.scale, count),
        centres=answer.centres,
        priors=reweighted.frame.priors,
        epsilon=frame.epsilon,
        q=objective.q,
        norm=None,
        shrinkage=answer.shrinkage,
        samples=samples,
        kept_weight=evaluated.kept_weight,
        uncapped=frame.uncapped,
        trace=trace,
        flag_rule=flag_rule,
        leave_out_rule=reweighted.rule,
        class_weights=prepared.all_rows.class_weights,
        kept_shares=reweighted.within.weights / prepared.all_rows.class_weights,
        emptied=emptied(answer, prepared),
        within=reweighted.within,
        calibrator=partial(calibrator_of, reweighted, flag_rule, prepared, samples),
    )


def emptied(answer, prepared):
    """Return the features that vary within the classes, but not within the support."""
    sample = prepared.all_sample
    (flat,) = np.nonzero(answer.flat)
    if len(flat) == 0:
        return flat
    _, first = np.unique(sample.codes, return_index=True)
    return flat[np.any(sample.X[:, flat] != sample.X[first][:, flat][sample.codes], axis=0)]


def with_caps_of(objective, frame):
    """Return a frame with its first caps for an objective."""
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
        # The densest half may have no rare indicator, for example. Then nothing is unusual.
        everything = initial._replace(support=np.ones_like(initial.support))
        return lda_on_support(rows, everything, priors, n_features)
    return frame.changed(W=W, K=W.T.dot(frame.B)), support.sample_weight > 0.0, moments


def with_start(start, rows, frame, space):
    """Return a frame with the start directions that the user gave."""
    rank = frame.W.shape[1]
    n = len(frame.scale) if space is None else space.n_features
    W = np.eye(n, rank) if isinstance(start, str) else start
    W = W * frame.scale[:, None] if space is None else space.project(W)
    covariance = kept_covariance(rows.run(projection_query(frame.changed(W=W))))
    return frame.changed(W=W @ linalg.eigh_whitener(covariance), K=None)
