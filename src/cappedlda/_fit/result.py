"""What the steps of a fit pass on, and what a fit returns."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cappedlda._data.array import ArrayRows
from cappedlda._data.base import PerSample, Rows
from cappedlda._data.moments import Moments
from cappedlda._loo.labels import LabelNoise
from cappedlda._metrics import linalg
from cappedlda._metrics.frame import Frame
from cappedlda._metrics.row_space import RowSpace
from cappedlda._rules.rule import Gate, RowRule
from cappedlda._solvers.base import Trace


@dataclass(frozen=True)
class Options:
    """Validated parameters of a fit, apart from its objective."""

    priors: np.ndarray  # (c,)
    start: str | np.ndarray = "robust"
    n_components: int = 1
    leave_out: str = "harmful"  # what is left out: "harmful" or "flagged" rows
    label_noise: str | float | None = None  # look for wrong labels, or their rate
    given_priors: bool = False  # by the user, not shares of the data
    renew_priors: bool = False  # whether priors become shares of the kept rows
    fill_gaps: bool = False  # whether rows may have missing cells
    drop_cells: bool = False  # whether wrong cells of a row may be dropped instead of the row
    ridge: float = 0.0  # of the answer in any case, relative to the mean variance of the features
    shrinkage: str | float | None = "few_rows"  # of the scatter of the support
    renew_centres: bool = True  # whether centres are the means of the kept rows
    tol: float = 1e-4
    max_iter: int = 100
    random_state: np.random.RandomState | int | None = None
    report: Callable | None = None  # called after each pass


@dataclass(frozen=True)
class Prepared:
    """What is found before the loop, the same for every q and multiple of epsilon."""

    rows: Rows  # rows that count, in coordinates if there is a space
    sample: ArrayRows  # the part of them to fit first, or all
    all_rows: Rows  # also those outside the gate
    all_sample: ArrayRows
    others: ArrayRows | None  # further rows outside the sample, if directions overfit the sample
    frame: Frame  # to begin with
    gate: Gate | None  # there is one if the start is robust
    space: RowSpace | None
    n_sampled: int  # rows of the sample before the gate, 0 if all rows are used
    with_larger_sample: Callable | None  # prepares again; None if this sample has to decide
    knows_distances: bool  # whether rows are measured in all directions
    by_features: bool  # whether the directions are the features: the metric is their matrix

    def lifted(self, solution, n_components):
        if self.space is not None:
            solution = self.space.lift_solution(solution, n_components)
        solution.n_sampled = self.n_sampled
        return solution

    @cached_property
    def larger(self):
        """What is found with a larger sample."""
        return self.with_larger_sample()

    @cached_property
    def weight(self):
        """Weight of all rows, including those outside the gate."""
        return self.all_rows.class_weights.sum()


SAME_SUPPORT = 1e-4  # new caps that keep the same rows, up to this share, need no further pass


@dataclass
class Solution:
    """A fitted projection and what was found on the way."""

    W: np.ndarray  # (n, r), supervised directions in raw features, best first
    covariance: np.ndarray  # (r, r), within-class covariance of the kept rows projected by W
    strengths: np.ndarray  # (r,), between-class over within-class variance along each of them
    extra: np.ndarray  # (n, k), unsupervised directions after them
    centres: np.ndarray  # (c, n)
    priors: np.ndarray  # (c,)
    epsilon: float
    q: float  # exponent of the norm
    norm: tuple[float, float] | None  # exponent and floor of the weights; None: all are equal
    shrinkage: float  # of the scatter of the support
    samples: PerSample | None  # None if they are not kept
    kept_weight: float  # weight of the rows within the caps
    uncapped: np.ndarray  # (c,), bool, classes that the cap would have removed
    trace: Trace
    flag_rule: RowRule  # rows outside are flagged
    leave_out_rule: RowRule  # rows outside are left out
    class_weights: np.ndarray  # (c,)
    kept_shares: np.ndarray  # (c,), share of the weight of each class that made the answer
    emptied: np.ndarray  # features that vary within classes, but not within those of the support
    within: Moments | None = None  # of the rows that made the answer, if their weights are equal
    space: RowSpace | None = None  # in whose coordinates they are
    calibrator: Callable = lambda: None  # returns a `Calibrator` or None
    temperature: float = 1.0  # factor of the scores, for probabilities that are not too confident
    level: float = 1.0  # multiple of caps and gate beyond which rows are left out
    n_sampled: int = 0  # rows of the first sample, 0 if all rows were used
    wrong_cells: np.ndarray | None = None  # (N, n), bool; of those that were dropped
    fitted: Rows | None = None  # the rows, with cells that are missing or wrong completed
    labels: LabelNoise | None = None  # None if wrong ones were not looked for

    @property
    def weigh(self):
        """What weighs rows by their labels, or None if all labels count as right."""
        return self.labels.rule.weights if self.labels is not None and self.labels.weighs else None


def covariance_of_features(within, space, most_features):
    """Return the within-class covariance of a solution as a matrix, or None.

    With fewer rows than features it is larger than anything in the fit: then `most_features` limit
    it.
    """
    if within is None or not within.dense or (space and space.n_features > most_features):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        if space is not None:
            covariance = space.lift_covariance(within)
        else:
            covariance = within.covariance * within.scale * within.scale[:, None]
    return covariance if np.isfinite(covariance).all() else None  # squares may overflow


def evaluate(rows, solver, trace, n_components, flag_level=1.0, gate=None, class_weights=None):
    """Measure all rows, of the given weights, with the final projection of a solver."""
    class_weights = rows.class_weights if class_weights is None else class_weights
    record, distances = rows.evaluate(solver.query(scatter=False))
    solver.finish(record)
    trace.n_passes += 1
    trace.objective_path = solver.objective_path
    frame, query = solver.frame, solver.query(scatter=False)
    kept_weight = distances.kept_weight(frame.caps)
    if abs(record.kept_weight - kept_weight) > SAME_SUPPORT * record.weight:
        record = distances.record(query)  # the final cap keeps other rows: measure again
        trace.n_passes += 1
    covariance = solver.covariance(record, unbiased=True)
    rule = RowRule(query.W, frame.centres, frame.caps, gate)
    inside, norm = distances.inside(frame.caps, 1.0), (query.q, query.floor)
    V, strengths = solver.order(covariance, solver.W.T.dot(frame.B))
    return Solution(
        W=linalg.fix_signs(query.W.dot(V)),
        covariance=V.T.dot(covariance).dot(V),
        strengths=strengths,
        extra=unsupervised_directions(solver.A, frame.B, frame.scale, n_components - V.shape[1]),
        centres=frame.centres,
        priors=frame.priors,
        epsilon=frame.epsilon,
        q=query.q,
        norm=norm,
        shrinkage=0.0,
        samples=distances.per_sample(frame.caps, flag_level, inside, norm),
        kept_weight=kept_weight,
        uncapped=frame.uncapped,
        trace=trace,
        flag_rule=rule.at(flag_level),
        leave_out_rule=rule,
        class_weights=class_weights,
        kept_shares=record.kept[:, 1] / class_weights,
        emptied=np.empty(0, int),
    )


def unsupervised_directions(A, B, scale, count):
    """Return `count` directions of least scatter A in which the class centres coincide."""
    n, known = len(scale), A is not None and A.matrix is not None
    there_are = n - linalg.rank_of(B) if count > 0 and known else 0
    if there_are == 0:
        return np.empty((n, 0))
    extra = linalg.quietest_directions(A.matrix, B, min(count, there_are))
    return linalg.fix_signs(extra / scale[:, None])


def class_counts(rows, samples, solution):
    """Return rows, flagged rows and rows left out of each class, shape (c, 3).

    Rows of weight 0 do not count. NaN is unknown. If no results are kept for single rows, the
    weight of the rows left out stands for their number.
    """
    counts = np.full((rows.n_classes, 3), np.nan)
    counts[:, 0] = rows.class_counts
    if samples is not None and isinstance(samples.outliers, np.ndarray):
        counts[:, 1] = rows.count(samples.outliers)
        counts[:, 2] = rows.count(samples.left_out)
    else:
        counts[:, 2] = np.round((1.0 - solution.kept_shares) * solution.class_weights)
    return counts
