"""The algorithm: from rows to a fitted projection, in eight steps.

Prepare (`prepare`):

1. Take a stratified sample of many rows, or all rows if there are few.
2. Make a robust initial estimate on it: centres, units and support of the classes.
3. Build the gate: rows whose size is beyond its fence take no part in what follows.
4. With few rows, give the features the units in which a covariance is shrunk. With fewer rows than
   features, go to the space that the rows span.

Find the rows we trust (`core_of`):

5. LDA on the rows inside, caps from their distances, until both agree: the core.
6. If the core hides a cloud, the same with strict fences.

Finish (`trimmed_fit`):

7. Decide what to leave out: the least that harms none of the rows we trust.
8. LDA on all rows of that support, and the evaluation of all rows. With `label_noise`, rows with
   doubtful labels count for less.

docs/guide/method.md explains these steps, with the same numbers. Arrays, chunks, dask and sparse
rows all come this way, and so does each fit of a cross-validation. `fit_norm` minimises a capped
norm from the core on, instead of steps 7 and 8.
"""

from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from cappedlda._data.array import ArrayRows, ScatterCacheRows
from cappedlda._fit.cells import fit_right_cells, many_have_far_cells, without_gaps
from cappedlda._fit.hidden_cloud import UndecidedError, core_without_cloud
from cappedlda._fit.labels import (
    labels_weighed,
    noise_of_labels,
    solution_with_labels,
    with_wrong_labels,
)
from cappedlda._fit.result import Options, Prepared, Solution
from cappedlda._fit.result import evaluate as evaluate_solver
from cappedlda._fit.reweighting import (
    evaluate,
    lda_on_support,
    reweight,
    share_changed,
    solution_of,
    until_stable,
    with_caps_by_distances,
    with_caps_of,
    with_new_caps,
    with_start,
    without_caps,
)
from cappedlda._initial import initial_estimate, stratified_sample
from cappedlda._loo.leave_out import harmless_level, known_core, vouched_level
from cappedlda._metrics.frame import Objective
from cappedlda._metrics.row_space import RowSpace
from cappedlda._metrics.shrinkage import MOST_SHRUNK
from cappedlda._rules.fences import FLAG_LEVEL, SETTLED, STRICT_REACH
from cappedlda._rules.rule import gate_caps
from cappedlda._solvers.base import Trace, iterate
from cappedlda._solvers.mm import FLOOR, MMSolver
from cappedlda._validation import check_units

# With few rows per feature the core judges badly, so rows beyond this level are left out.
MOST_LEVEL_OF_FEW = 3.3

__all__ = ["Objective", "Options", "Solution", "fit_capped", "fit_norm", "fit_path"]


def fit_capped(rows, objective, options):
    """Fit plain LDA to all rows except those that harm it; return a `Solution`."""

    def fit(rows, **others):
        quiet = {"drop_cells": False, "fill_gaps": False, "report": None}
        return fit_capped(rows, objective, replace(options, **quiet, **others))

    fit_without_labels = partial(fit, label_noise=None)
    if options.fill_gaps and isinstance(getattr(rows, "X", None), np.ndarray):
        rows = without_gaps(rows, fit_without_labels)
    prepared = prepare(rows, objective, options)
    if options.drop_cells and should_check_cells(prepared, objective, options):
        plain = finish(prepared, objective, replace(options, label_noise=None))
        found = prepared.all_rows
        counted = found.sample_weight, found.n_jobs, found.regime
        found = ArrayRows(np.ascontiguousarray(found.X), found.codes, found.n_classes, *counted)
        solution = fit_right_cells(found, plain, fit_without_labels, fit)
        if solution is plain and options.label_noise is not None:
            solution = finish(prepared, objective, replace(options, report=None))
            solution.trace.n_passes += plain.trace.n_passes
    else:
        solution = finish(prepared, objective, options)
    solution.fitted = rows if solution.fitted is None else solution.fitted
    return solution


def should_check_cells(prepared, objective, options):
    """Return whether there may be wrong cells, and enough rows to recognise them."""
    rows = prepared.all_rows
    enough = rows.regime.unshrunk_rows_per_feature * rows.shape[1]
    automatic = objective.epsilon == "auto" and options.leave_out == "harmful"
    known = prepared.n_sampled == 0 and prepared.by_features
    bears = automatic and known and isinstance(rows.X, np.ndarray) and prepared.weight >= enough
    return bears and many_have_far_cells(rows, prepared.gate)


def fit_path(rows, objectives, options):
    """Fit several objectives that differ in the multiple of the automatic epsilon.

    Yields solutions, and None for an objective without caps that far rows overflow.
    """
    prepared = prepare(rows, objectives[0], options)
    for objective in objectives:
        try:
            solution = finish(prepared, objective, options)
        except (ValueError, np.linalg.LinAlgError):
            if objective.epsilon != np.inf:
                raise
            solution = None
        yield solution


def prepare(rows, objective, options, decides=False):
    """Take steps 1 to 4, which outliers cannot spoil if `options.start` is "robust".

    A sample that does not have to decide may give way to a larger one.
    """
    n_rows, n_features = rows.shape
    start, named = options.start, isinstance(options.start, str)
    robust = objective.epsilon != np.inf and named and start == "robust"

    # 1. A stratified sample of many rows, or all rows if there are few.
    sample = others = None
    if n_rows >= n_features:
        sample, others = stratified_sample(rows, options.random_state)
    n_sampled, larger = 0 if sample is None else sample.shape[0], None
    if sample is None:
        rows = sample = rows.load()
    elif not decides:
        larger = partial(prepare, rows.with_larger_sample(), objective, options, decides=True)
    if not (robust and options.renew_centres) or sample.first_not_finite() is not None:
        rows.check_finite()  # a robust fit checks this in its first pass over all rows
    means = None if options.renew_centres else rows.class_means()

    # 2. The initial estimate.
    initial = initial_estimate(sample, robust)
    check_units(initial.scale, rows.dtype)

    # 3. The gate.
    gate, all_rows, all_sample = None, rows, sample
    if robust:
        gate, all_sample = sample.build_gate(initial.centres, initial.scale, gate_caps)
        all_rows = all_sample if sample is rows else rows.gated(gate)
        rows, few = all_rows.within_gate(1.0), sample is rows
        sample = rows if few else all_sample.within_gate(1.0)
        others = None if others is None else others.measured(gate).within_gate(1.0)

    # 4. Units in which a covariance is shrunk, and the space of fewer rows than features.
    kind, space = rows.metric_kind, None
    enough = rows.regime.unshrunk_rows_per_feature * n_features
    shrinks = options.shrinkage is not None and kind != "implicit"
    if shrinks and all_sample.row_weights @ initial.support < enough:
        initial = initial.in_deviations(all_sample)
    if kind == "row space":
        space = RowSpace(rows.X, initial.centres, initial.scale)
        rows = sample = space.rows(rows)
        all_rows = all_sample = space.rows(all_rows)
        initial = space.initial(initial)
        means = None if means is None else space.points(means)

    # The first LDA, on the support, and caps from its distances.
    frame, *support = lda_on_support(sample, initial, options.priors, n_features)
    if sample.has_large_scatter:
        few, sample = sample is rows, ScatterCacheRows(sample, *support)
        rows = sample if few else rows
    if means is not None:
        frame = frame.recentred(means)
        frame = frame.changed(K=frame.W.T @ frame.B)
    if robust:
        frame = with_caps_by_distances(sample, frame)
    elif not named or start == "identity":
        frame = with_start(start, sample, frame, space)
    found = rows, sample, all_rows, all_sample
    known = {"knows_distances": kind != "implicit", "by_features": kind == "features"}
    return Prepared(*found, others, frame, gate, space, n_sampled, larger, **known)


def finish(prepared, objective, options):
    """Take the steps from 5 on; return the solution."""
    if objective.epsilon == np.inf:
        solution = uncapped_fit(prepared, objective, options)
    else:
        solution = None
        with suppress(UndecidedError):
            solution = trimmed_fit(prepared, objective, options)
        if solution is None:
            return finish(prepared.larger, objective, options)
    return prepared.lifted(solution, options.n_components)


def trimmed_fit(prepared, objective, options):
    """Take the steps from 5 on, if there are caps."""
    rows, sample, gate = prepared.rows, prepared.sample, prepared.gate

    # 5. and 6. The core, the rows we trust.
    objective, reweighted, core, trace = core_of(prepared, objective, options)

    # 7. What to leave out: the least that harms none of the rows we trust.
    shrinkage = judged_shrinkage(reweighted)
    level, temperature = decide_level(prepared, core, reweighted, objective, options, shrinkage)

    # 8. LDA on all rows of that support, and the evaluation of all rows.
    evaluated, labels, looks_for_labels = core, None, options.label_noise is not None
    if sample is not rows:
        if looks_for_labels:
            labels = noise_of_labels(prepared, reweighted, core.ratios <= level, options)
        settings = level, objective, options, trace
        reweighted, evaluated = on_all_rows(prepared, core, *settings, labels)
        if labels is not None and labels.quality is not None:
            trace.n_passes += 1
    elif level > 1.0 and not (reweighted.mask == (core.ratios <= level)).all():
        at_level = prepared.all_rows.within_gate(level)
        reweighted = reweight(at_level, core.frame, level, objective, gate, options)
        trace.n_passes += 1
    elif level > 1.0:  # the same rows so far, but others may come
        reweighted = replace(reweighted, rule=core.frame.rule(gate, level))
    if sample is rows and looks_for_labels:
        labels = noise_of_labels(prepared, reweighted, reweighted.mask, options)
        if labels.weighs:
            at_level = prepared.all_rows.within_gate(level).reweighted(labels.weights)
            settings = objective, gate, with_wrong_labels(options)
            reweighted = reweight(at_level, core.frame, level, *settings)
            trace.n_passes += 1
    found = reweighted, evaluated, trace, objective, prepared, options.n_components
    solution = solution_of(*found) if labels is None else solution_with_labels(labels, *found)
    solution.level = level
    solution.temperature = temperature
    return solution


def core_of(prepared, objective, options):
    """Take steps 5 and 6 on the sample.

    Return the objective with the reach of the core's fences, the `Reweighted`, the core as
    `Evaluated`, and the `Trace`.
    """
    sample, gate = prepared.sample, prepared.gate
    frame = with_caps_of(objective, prepared.frame)
    report = options.report
    if report is not None:
        report = partial(report, weight=prepared.all_sample.class_weights.sum())
    settings = objective, gate, options
    reweighted, core, trace = until_stable(sample, frame, *settings, report=report)
    if gate is not None and objective.epsilon == "auto" and prepared.by_features:
        shrinkage = judged_shrinkage(reweighted)
        settings = *settings, shrinkage, prepared.with_larger_sample is None
        found = core_without_cloud(sample, core, *settings)
        if found is not None:
            objective, reweighted, core, more = found
            trace.extend(more)
    return objective, reweighted, core, trace


def judged_shrinkage(reweighted):
    """Return the shrinkage with which supports are judged: that of the core."""
    return min(reweighted.shrinkage, MOST_SHRUNK)


def decide_level(prepared, core, reweighted, objective, options, shrinkage):
    """Return the multiple of caps and gate beyond which rows are left out, and a temperature."""
    sample, frame = prepared.all_sample, core.frame
    if objective.epsilon != "auto" or prepared.gate is None:
        return 1.0, 1.0
    if options.leave_out == "flagged":
        return FLAG_LEVEL, 1.0
    if not prepared.knows_distances:
        return 1.0, 1.0
    known = None
    if options.renew_centres and sample.dtype == np.float64:
        known = known_core(reweighted, core.ratios <= 1.0, frame.scale)
    level, temperature = harmless_level(sample, core.ratios, frame, shrinkage, known)
    if prepared.weight < sample.regime.unshrunk_rows_per_feature * frame.n_features:
        level = min(level, MOST_LEVEL_OF_FEW)
    if prepared.n_sampled > 0:
        level = vouched_level(core.ratios, level)
    return level, temperature


def on_all_rows(prepared, core, level, objective, options, trace, labels=None):
    """Return LDA on all rows of the support chosen on a sample, and its evaluation."""
    rows, gate, frame = prepared.rows, prepared.gate, core.frame
    trace.n_passes = 2
    if prepared.others is not None:
        # Directions overfit their own sample, so other rows set the caps.
        record = record_of_others(prepared, frame.query())
        frame = with_new_caps(frame, record, objective, rows.regime, fitted=False)
    at_level = rows if level == 1.0 or gate is None else prepared.all_rows.within_gate(level)
    sample = prepared.sample
    if labels is not None and labels.weighs:
        # Rows are measured by the frame of the sample, in which wrong labels count as others.
        at_level, options = labels_weighed(at_level, labels), with_wrong_labels(options)
        reweighted = reweight(at_level, frame, level, objective, gate, options, sample)
        return reweighted, evaluate(rows, frame, objective)
    reweighted = reweight(at_level, frame, level, objective, gate, options, sample)
    # The caps will be close to those of the sample. Of rows that a pass cannot keep, it notes those
    # near these caps.
    guess = evaluate(sample, reweighted.frame, objective).frame
    evaluated = evaluate(rows, guess, objective)
    # With strict fences a further round would let in a cloud: see `strict_core`.
    settles = level == 1.0 and objective.reach != STRICT_REACH
    if settles and share_changed(reweighted, evaluated) > SETTLED:
        again = rows, evaluated.frame, objective, gate, options, sample
        reweighted, evaluated, more = until_stable(*again)
        trace.extend(more)
    return reweighted, evaluated


def record_of_others(prepared, query):
    """Return the record of further rows, outside the sample.

    A class with hardly any such rows, because nearly all of it is in the sample, has the distances
    of its sampled rows.
    """
    record = prepared.others.run(query)
    few = record.histograms.sum(axis=1) < prepared.rows.regime.least_class_weight
    if few.any():
        record.histograms[few] = prepared.sample.run(query).histograms[few]
    return record


def uncapped_fit(prepared, objective, options):
    """Return plain LDA on all rows: nothing is capped or left out."""
    rows = prepared.all_rows
    frame = without_caps(prepared.frame)
    reweighted = reweight(rows, frame, np.inf, objective, None, options)
    evaluated = evaluate(rows, reweighted.frame, objective)
    trace = Trace("converged", n_iter=1, n_passes=2, objective_path=[reweighted.objective])
    found = reweighted, evaluated, trace, objective, prepared, options.n_components
    solution = solution_of(*found)
    solution.level = np.inf
    return solution


def fit_norm(rows, objective, options):
    """Minimise a capped norm over all rows, from the core of a sample on; return a `Solution`."""
    prepared = prepare(rows, objective, replace(options, shrinkage=None))  # a norm is never shrunk
    rows, sample, gate = prepared.rows, prepared.sample, prepared.gate
    if objective.epsilon == np.inf:
        rows, gate = prepared.all_rows, None
    frame, other_rows = prepared.frame, False
    if gate is not None:
        equal = objective._replace(q=2.0, multiplier=1.0)
        frame = with_caps_of(equal, frame)
        frame = until_stable(sample, frame, equal, gate, options)[1].frame
        floor = FLOOR * (frame.fences.median or 1.0)
        frame = frame.changed(K=frame.W.T @ frame.B, floor=floor)
    if sample is not prepared.rows:
        solver = mm_solver(sample, frame, objective, options)
        iterate(sample, solver, options.max_iter)
        frame, other_rows = solver.frame.changed(W=solver.W), True
    solver = mm_solver(rows, frame, objective, options, other_rows)
    if other_rows and prepared.others is not None:
        solver.settle_in(record_of_others(prepared, solver.query(scatter=False)))
    trace = iterate(rows, solver, options.max_iter, options.report)
    found = rows, solver, trace, options.n_components
    weights = prepared.all_rows.class_weights
    solution = evaluate_solver(*found, objective.flag_level, gate, weights)
    solution.level = np.inf if objective.epsilon == np.inf else 1.0
    return prepared.lifted(solution, options.n_components)


def mm_solver(rows, frame, objective, options, other_rows=False):
    """Return the solver that continues from a frame, perhaps one made from other rows."""
    # With q < 2 many distances shrink to zero, and caps that followed would leave out good rows.
    renew_shape = objective.q == 2.0 or objective.epsilon == np.inf or frame.K is None
    renewed = options.renew_centres, renew_shape
    settings = options.tol, *renewed, other_rows, rows.regime
    return MMSolver(with_caps_of(objective, frame), objective, *settings)
