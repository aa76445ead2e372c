"""The algorithm: from rows to a fitted projection, in ten steps.

Prepare, once for all objectives (`prepare`):

1. Take a stratified sample of many rows, or all of few.
2. Make a robust initial estimate on it: centres, scale and support of the classes.
3. Build the gate: rows of any size beyond its fence are out of all that follows.
4. With fewer rows than features, go to the space that the rows span.
5. Take LDA on the support, and caps from the distances under it.

Start warm (`warm_start`):

6. Trimmed LDA (q = 2) on the sample, until directions and caps agree.
7. Converge on the sample with the norm that is asked for.

Finish (`finish`):

8. MM iteration on all rows inside the gate.
9. Reweighting: LDA on the support, until that is stable.
10. Evaluate all rows: final caps, covariance, directions in order.

Arrays, chunks, dask and sparse rows all come this way, and so does each fit of a
cross-validation. `fit_paper` is the published algorithm, for comparison.
"""

import numpy as np

from cappedlda._cutoffs.fences import Fences, fixed_point_caps
from cappedlda._cutoffs.gate import gate_caps
from cappedlda._data.scatter_cache import ScatterCacheRows
from cappedlda._fit.result import Solution, evaluate
from cappedlda._fit.state import Options, Point, Prepared
from cappedlda._fit.steps import (
    decide,
    lda_on_support,
    projection_query,
    run_mm,
    start_projection,
    system_of,
    with_caps_of,
)
from cappedlda._initial import initial_estimate
from cappedlda._initial.sampling import stratified_sample
from cappedlda._solvers.base import iterate
from cappedlda._solvers.frame import Objective
from cappedlda._solvers.mm import MMSolver
from cappedlda._solvers.paper import RIDGE, RIDGE_FLOAT32, PaperIteration
from cappedlda._solvers.row_space import RowSpace
from cappedlda._validation import check_units

__all__ = ["Objective", "Options", "Solution", "fit_mm", "fit_paper", "fit_path"]

# The reweighting is repeated, at most this often, while more than this share of the rows
# changes sides.
MAX_REWEIGHTINGS = 5
STABLE = 1e-4


def fit_mm(rows, objective, options):
    """Fit rows by majorization-minimization (`solver="mm"`); return a `Solution`."""
    prepared = prepare(rows, objective, options)
    begin = warm_start(prepared, objective, options)
    return finish(prepared, begin, objective, options)[0]


def fit_path(rows, objectives, options):
    """Fit several objectives, each from where the most similar one before it ended.

    They may differ in q and in the multiple of the automatic epsilon. Only the first of each q
    begins with a warm start, as a fit of its own does: another norm may end with other rows.
    Yields solutions.
    """
    prepared = prepare(rows, objectives[0], options)
    ends = {}
    for objective in objectives:
        similar = [other for other in ends if other.q == objective.q]
        if similar:
            begin = ends[min(similar, key=objective.distance)]
        else:
            begin = warm_start(prepared, objective, options)
        solution, ends[objective] = finish(prepared, begin, objective, options)
        yield solution


def prepare(rows, objective, options):
    """Take steps 1 to 5; outliers cannot spoil them if `options.start` is "robust"."""
    n_rows, n_features = rows.shape
    start, named = options.start, isinstance(options.start, str)
    robust = objective.epsilon != np.inf and named and start == "robust"

    # 1. A stratified sample of many rows, or all of few.
    sample = None if n_rows < n_features else stratified_sample(rows, options.random_state)
    n_sampled = 0 if sample is None else sample.shape[0]
    if sample is None:
        rows = sample = rows.load()
    if not robust or sample.first_not_finite() is not None:
        rows.check_finite()  # a robust fit does it in the first pass over all rows, the gate
    means = None if options.renew_centres else rows.class_means()

    # 2. The initial estimate.
    initial = initial_estimate(sample, robust)
    check_units(initial.scale, rows.dtype)

    # 3. The gate.
    gate, all_rows = None, rows
    if robust:
        gate, rows = rows.build_gate(initial.centres, initial.scale, gate_caps)
        sample = rows if sample is all_rows else sample.inside(gate)

    # 4. The space of the rows, if these are fewer than the features.
    space = None
    if n_rows < n_features and not rows.implicit_scatter:
        space = RowSpace(rows.X, initial.centres, initial.scale)
        rows = sample = space.rows(rows)
        all_rows = space.rows(all_rows)
        initial = space.initial(initial)
        means = None if means is None else space.points(means)

    # 5. LDA on the support, and caps from its distances.
    frame, W, cache = lda_on_support(sample, initial, options.priors, n_features)
    if sample is rows and rows.shape[1] >= rows.regime.cache_features and cache is not None:
        rows = sample = ScatterCacheRows(rows, cache)
    if means is not None:
        frame = frame.recentred(means)
        frame = frame._replace(K=W.T @ frame.B)
    if robust:
        histograms = sample.run(projection_query(frame, W)).histograms
        caps = fixed_point_caps(histograms, regime=rows.regime).caps
        frame = frame.with_fences(Fences.at(float(frame.priors @ caps), caps))
    elif not named or start == "identity":
        W = start_projection(start, sample, frame, W.shape[1], space)
        frame = frame._replace(K=None)
    point = Point(frame, W)
    return Prepared(rows, sample, all_rows, point, objective, options, gate, space, n_sampled)


def warm_start(prepared, objective, options):
    """Take steps 6 and 7; return the point to go on from with all rows."""
    objective, schedule = decide(prepared, objective, options)
    sample = prepared.sample
    if sample is prepared.rows:
        # Trimmed LDA is then the first part of the fit itself.
        trims = objective.q == 2.0 and objective.multiplier == 1.0 and schedule.renew_shape
        return prepared.point if trims else prepared.trimmed

    # 6. Trimmed LDA on the sample.
    point = prepared.trimmed
    # 7. The norm that is asked for, on the sample.
    point = run_mm(sample, point, objective, schedule, options.tol, options.max_iter)
    return point._replace(other_rows=True)


def finish(prepared, begin, objective, options):
    """Take steps 8 to 10; return the solution, and the point that it came from."""
    objective, schedule = decide(prepared, objective, options)
    rows, gate = prepared.rows, prepared.gate
    if objective.epsilon == np.inf:
        rows, gate = prepared.all_rows, None

    # 8. MM iteration on all rows inside the gate.
    frame, rest = with_caps_of(objective, begin.frame), (system_of(rows), rows.regime)
    solver = MMSolver(frame, begin.W, objective, schedule, options.tol, begin.other_rows, *rest)
    overfitted = len(begin.W) > rows.regime.overfit * prepared.sample.shape[0]
    settles = begin.other_rows and overfitted
    if settles:
        solver.settle_in(rows.run(solver.query(scatter=False)))
    trace = iterate(rows, solver, options.max_iter, options.report)
    trace.n_passes += settles
    end = Point(solver.frame, solver.W)

    # 9. and 10. Reweighting, and the evaluation of all rows.
    if schedule.reweight:
        solution = reweight(rows, solver, trace, options.n_components)
    else:
        solution = evaluate(rows, solver, trace, options.n_components)
    solution.q = objective.q
    if prepared.space is not None:
        solution = prepared.space.lift_solution(solution, options.n_components)
    solution.gate, solution.n_sampled = gate, prepared.n_sampled
    return solution, end


def reweight(rows, solver, trace, n_components):
    """Take LDA on the support, which is efficient, and evaluate it, until the support is stable.

    It is the reweighting step of robust estimators (Rousseeuw and Leroy, 1987).

    The support are the rows within the caps of the solver. Once is enough unless the directions
    of these rows keep others.
    """
    solver.start_reweighting()
    for _ in range(MAX_REWEIGHTINGS):
        record = rows.run(solver.query())
        trace.n_passes += 1
        solver.reweight(record)
        solution = evaluate(rows, solver, trace, n_components)
        if abs(record.kept_weight - solution.kept_weight) <= STABLE * record.weight:
            break
    return solution


def fit_paper(rows, epsilon, options):
    """Fit by Algorithm 1 of the paper (`solver="paper"`)."""
    rows.check_finite()
    n, start = rows.shape[1], options.start
    W = start if not isinstance(start, str) else np.eye(n, options.n_components)
    ridge = RIDGE if rows.dtype == np.float64 else RIDGE_FLOAT32
    solver = PaperIteration(rows.class_means(), rows.class_weights, W, epsilon, options.tol, ridge)
    solver.begin(rows)
    trace = iterate(rows, solver, options.max_iter, options.report)
    trace.n_passes += 2
    return evaluate(rows, solver, trace, options.n_components)
