"""From rows to a fitted projection: sample, start, iteration, last initial."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cappedlda._cutoffs.fences import Fences, fixed_point_caps
from cappedlda._cutoffs.gate import Gate, gate_caps
from cappedlda._data.array import ArrayRows
from cappedlda._data.base import Rows
from cappedlda._data.record import Query
from cappedlda._data.scatter_cache import CACHE_FEATURES, ScatterCache, ScatterCacheRows
from cappedlda._fit.result import Solution, unsupervised_directions
from cappedlda._initial import dense, sparse
from cappedlda._initial.sampling import stratified_sample
from cappedlda._solvers import linalg, shrinkage
from cappedlda._solvers.base import check_overflow, iterate
from cappedlda._solvers.cg import ridged
from cappedlda._solvers.frame import Frame, Rule, kept_covariance
from cappedlda._solvers.mm import SYSTEM_TOLERANCE, MMSolver
from cappedlda._solvers.paper import RIDGE, RIDGE_FLOAT32, PaperIteration
from cappedlda._solvers.row_space import RowSpace
from cappedlda._validation import check_units

# The start only has to be near enough to see the outliers.
START_TOLERANCE = 1e-3
START_PASSES = 20
START_RIDGE = 1e-6  # of the unit variance of the scaled features
# What rounding may leave of a scatter, relative to its trace: the least ridge.
ROUNDING = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 1e-6}
# With fewer rows than this per feature, q = 2 decides which rows are kept.
Q_ROWS_PER_FEATURE = 2
# With more features than this per row of the sample its directions fit it notably better than
# other rows: a look at all rows sets the caps, lest the first pass leaves good ones out.
OVERFIT = 0.02
# The last step on the kept rows is repeated, so often at most, while more than this share
# of the rows changes sides.
MAX_POLISH = 5
POLISHED = 1e-4


def fit_mm(rows, rule, *, priors, start, random_state, **ending):
    """Fit by majorization (`solver="mm"`); the parameters are those of `CappedLDA`, validated.

    Large data are fitted on a stratified sample first, so that few passes over all
    rows are left to do. `ending` is what `finish` takes.
    """
    start = find_start(rows, rule, priors, start, random_state)
    return finish(start, first_point(start, rule, **ending), rule, **ending)[0]


def fit_path(rows, rules, *, priors, start, random_state, **ending):
    """Fit by several rules, each from where the most similar one before it ended.

    The rules may differ in q and in the multiple of the automatic epsilon. The start is
    found once, for all. Only the first of each q begins there, as a fit of its own
    does: another norm may end with other rows. Yields solutions.
    """
    start = find_start(rows, rules[0], priors, start, random_state)
    points = {}
    for rule in rules:
        similar = [other for other in points if other.q == rule.q]
        if similar:
            begin = points[min(similar, key=rule.distance)]
        else:
            begin = first_point(start, rule, **ending)
        solution, points[rule] = finish(start, begin, rule, **ending)
        yield solution


@dataclass(frozen=True)
class Start:
    """What is found before the iteration, the same for every q and multiple of epsilon.

    Attributes
    ----------
    rows : Rows
        Rows that count, in coordinates if there is a span.
    sample : ArrayRows
        The part of them to fit first, or all.
    all_rows : Rows
        Also those that the gate leaves out.
    point : Point
    rule : Rule
        Any of those to fit by.
    gate : Gate or None
        There is one if the start is robust.
    span : RowSpace or None
    """

    rows: Rows
    sample: ArrayRows
    all_rows: Rows
    point: "Point"
    rule: Rule
    gate: Gate | None
    span: RowSpace | None

    @cached_property
    def weight(self):
        """Weight of all rows, also of those that the gate leaves out."""
        return self.all_rows.class_weights.sum()

    @cached_property
    def grown(self):
        """The point where directions of trimmed LDA and their cap have settled together."""
        if self.gate is None:
            return self.point
        rule = grown_rule(self.rule)
        frame, W, _ = self.point
        return Point(*run_mm(self.sample, frame, W, rule, START_TOLERANCE, START_PASSES))


class Point(NamedTuple):
    """Where an iteration is, or begins.

    Attributes
    ----------
    frame : Frame
    W : ndarray of shape (n, r)
    other_rows : bool
        Whether the frame was made from other rows than those to go on with.
    """

    frame: Frame
    W: np.ndarray
    other_rows: bool = False


def find_start(rows, rule, priors, start, random_state):
    """Return where to start from; outliers cannot spoil it if `start` is "robust"."""
    n_rows, n_features = rows.shape
    sample = None if n_rows < n_features else stratified_sample(rows, random_state)
    if sample is None:
        rows = sample = rows.load()
    robust = rule.epsilon != np.inf and isinstance(start, str) and start == "robust"
    if not robust or sample.first_not_finite() is not None:
        rows.check_finite()  # a robust fit does it in the first pass over all rows, the gate
    means = None if rule.renew_centres else rows.class_means()
    kinds = sparse if rows.implicit_scatter else dense
    initial = (kinds.robust_initial if robust else kinds.plain_initial)(sample)
    check_units(initial.scale, rows.dtype)
    gate, all_rows = None, rows
    if robust:
        gate, rows = rows.build_gate(initial.centres, initial.scale, gate_caps)
        sample = rows if sample is all_rows else sample.inside(gate)
    span = None
    if n_rows < n_features and not rows.implicit_scatter:
        span = RowSpace(rows.X, initial.centres, initial.scale)
        rows = sample = span.rows(rows)
        all_rows = span.rows(all_rows)
        initial = span.initial(initial)
        means = None if means is None else span.points(means)

    frame, W, cache = trimmed_lda(sample, initial, priors, n_features)
    if sample is rows and not rows.implicit_scatter and rows.shape[1] >= CACHE_FEATURES:
        rows = sample = ScatterCacheRows(rows, cache)
    if means is not None:
        frame = frame.recentred(means)
        frame = frame._replace(K=W.T @ frame.B)
    if robust:
        caps = fixed_point_caps(sample.run(project_only(frame, W)).histograms).caps
        frame = frame.with_fences(Fences.at(float(frame.priors @ caps), caps))
    elif not isinstance(start, str) or start == "identity":
        W = start_projection(start, sample, frame, W.shape[1], span)
        frame = frame._replace(K=None)
    return Start(rows, sample, all_rows, Point(frame, W), rule, gate, span)


def first_point(start, rule, *, polish, tol, max_iter, **_):
    """Return where to go on from with all rows."""
    rule = decided(rule, start, polish)
    if start.sample is start.rows:
        # The iteration that would settle the start is then the first part of the fit itself.
        settled_there = rule._replace(polish=False) == grown_rule(rule)
        return start.point if settled_there else start.grown
    frame, W, _ = start.grown
    return Point(*run_mm(start.sample, frame, W, rule, tol, max_iter), other_rows=True)


def finish(start, begin, rule, *, polish, n_components, tol, max_iter, report=None):
    """Converge on all rows; return the solution, and the point that it came from."""
    rule = decided(rule, start, polish)
    rows, gate = start.rows, start.gate
    if rule.epsilon == np.inf:
        rows, gate = start.all_rows, None
    frame = with_caps_of(rule, begin.frame)
    overfitted = begin.other_rows and len(begin.W) > OVERFIT * start.sample.shape[0]
    method = MMSolver(frame, begin.W, rule, tol, begin.other_rows)
    if overfitted:
        method.settle_in(rows.run(method.query(scatter=False)))
    trace = iterate(rows, method, max_iter, report)
    trace.n_passes += overfitted
    end = Point(method.frame, method.W)
    if rule.polish:
        solution = reweighted_solution(rows, method, trace, n_components, rule.q)
    else:
        solution = evaluated_solution(rows, method, trace, n_components, rule.q)
    if start.span is not None:
        solution = start.span.lift_solution(solution, n_components)
    solution.gate = gate
    return solution, end


def decided(rule, start, polish):
    """Return the rule as the start and the data want it."""
    q, renew_shape = rule.q, rule.renew_shape
    polish = polish and q < 2.0 and rule.epsilon != np.inf
    n_features = start.point.frame.n_features
    if rule.epsilon == "auto" and start.weight < Q_ROWS_PER_FEATURE * n_features:
        # The directions can follow every row: lower norms would only choose which to fit. A
        # last step of q = 2 differs from the others where it shrinks only.
        q, polish = 2.0, polish and n_features <= shrinkage.MOST_SHRUNK_FEATURES
    if rule.epsilon != np.inf and start.gate is not None:
        renew_shape = q == 2.0
    return rule._replace(q=q, polish=polish, renew_shape=renew_shape)


def with_caps_of(rule, frame):
    """Return a frame, perhaps of another rule, with the caps to begin with."""
    if rule.epsilon == "auto":
        return frame.with_fences(frame.fences, rule.multiplier)
    return frame.with_cap(np.inf, frame.floor) if rule.epsilon == np.inf else frame


def grown_rule(rule):
    """Return the rule by which the start settles: trimmed LDA."""
    return rule._replace(q=2.0, multiplier=1.0, renew_shape=True, polish=False)


def project_only(frame, W):
    """Return a query for the distances of all rows."""
    W, no_caps = W / frame.scale[:, None], np.full(len(frame.centres), np.inf)
    return Query(W, frame.centres, frame.scale, no_caps, 2.0, 0.0, scatter=False, sums=False)


def reweighted_solution(rows, method, trace, n_components, q):
    """Take the directions of LDA on the kept rows, which is efficient, and look again.

    Once is enough unless these directions keep other rows than those they came from.
    """
    method.rule = method.rule._replace(q=2.0, renew_shape=True)
    for _ in range(MAX_POLISH):
        record = rows.run(method.query())
        trace.n_passes += 1
        method.polish(record)
        solution = evaluated_solution(rows, method, trace, n_components, q)
        change = record.kept_weight - solution.kept_weight
        if abs(change) <= POLISHED * record.weight:
            break
    return solution


def run_mm(rows, frame, W, rule, tol, max_iter):
    """Run the majorizer; return its frame and projection."""
    method = MMSolver(frame, W, rule, tol)
    iterate(rows, method, max_iter)
    return method.frame, method.W


def trimmed_lda(rows, initial, priors, n_features):
    """Return frame and directions of LDA on the support of an initial estimate, and its scatter."""
    present = np.bincount(rows.codes[initial.support], minlength=rows.n_classes) > 0
    support = rows.reweighted(
        initial.support if present.all() else initial.support | ~present[rows.codes]
    )
    record = support.run(Query.of_all_rows(initial.centres, initial.scale))
    check_overflow(record)
    weight = 2.0 * record.weight
    ridge = max(START_RIDGE, ROUNDING[rows.dtype] * record.scatter.trace() / weight)
    centres = record.recentre(initial.centres, initial.scale)
    frame = Frame.of(centres, initial.scale, priors, n_features)
    A = ridged(record.scatter, weight, ridge, SYSTEM_TOLERANCE * START_TOLERANCE)
    W = linalg.leading_directions(A, frame.B)
    if W.shape[1] == 0:
        raise ValueError("The centres of all classes coincide in X: no direction separates them.")
    cache = ScatterCache(support.sample_weight > 0.0, record.scatter, centres, record.kept[:, 1])
    return frame._replace(K=W.T.dot(frame.B)), W, cache


def start_projection(start, rows, frame, rank, span):
    """Return the start given by the user, in scaled features and units of the spread."""
    n = len(frame.scale) if span is None else span.n_features
    W = np.eye(n, rank) if isinstance(start, str) else start
    W = W * frame.scale[:, None] if span is None else span.project(W)
    return W @ linalg.eigh_whitener(kept_covariance(rows.run(project_only(frame, W))))


def fit_paper(rows, *, epsilon, start, n_components, tol, max_iter, report=None):
    """Fit by Algorithm 1 of the paper (`solver="paper"`)."""
    rows.check_finite()
    n = rows.shape[1]
    W = start if not isinstance(start, str) else np.eye(n, n_components)
    ridge = RIDGE if rows.dtype == np.float64 else RIDGE_FLOAT32
    method = PaperIteration(rows.class_means(), rows.class_weights, W, epsilon, tol, ridge)
    method.begin(rows)
    trace = iterate(rows, method, max_iter, report)
    trace.n_passes += 2
    return evaluated_solution(rows, method, trace, n_components, q=1.0)


def evaluated_solution(rows, method, trace, n_components, q):
    """Measure all rows with the final projection and put its columns in order."""
    record, distances = rows.evaluate(method.query(scatter=False))
    method.finish(record)
    trace.n_passes += 1
    trace.objective_path = method.objective_path
    frame, query = method.frame, method.query(scatter=False)
    kept_weight = distances.kept_weight(frame.caps)
    if abs(record.kept_weight - kept_weight) > POLISHED * record.weight:
        record = distances.record(query)  # the last cap keeps other rows: measure these
        trace.n_passes += 1
    covariance = method.covariance(record, unbiased=True)
    V, strengths = method.order(covariance, method.W.T.dot(frame.B))
    return Solution(
        W=linalg.fix_signs(query.W.dot(V)),
        covariance=V.T.dot(covariance).dot(V),
        strengths=strengths,
        extra=unsupervised_directions(method, n_components - V.shape[1]),
        metric=query.W,
        centres=frame.centres,
        priors=frame.priors,
        epsilon=frame.epsilon,
        q=q,
        floor=query.floor,
        samples=distances.per_sample(frame.caps, q, query.floor),
        kept_weight=kept_weight,
        caps=frame.caps,
        uncapped=frame.uncapped,
        trace=trace,
    )
