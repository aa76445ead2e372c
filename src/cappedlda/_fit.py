"""From rows to a fitted projection: sample, start, iteration, last look."""

from dataclasses import dataclass, replace

import numpy as np

from cappedlda import _linalg
from cappedlda._core import _kernels
from cappedlda._paper import PaperIteration
from cappedlda._passes import Query
from cappedlda._solver import Frame, Majorizer, Trace, iterate
from cappedlda._span import Span
from cappedlda._start import first_look, plain_look, stratified_sample

# The start only has to be near enough to see the outliers.
START_TOLERANCE = 1e-2
START_PASSES = 20
START_RIDGE = 1e-6  # of the unit variance of the scaled features
# A class that would keep less than this share of its weight is kept whole.
MIN_KEPT = 0.1


@dataclass
class Solution:
    """A fitted projection and what was found on the way.

    Attributes
    ----------
    W : ndarray of shape (n, r)
        Supervised directions in raw features, best first.
    covariance : ndarray of shape (r, r)
        Within-class covariance of the kept rows projected by W.
    strengths : ndarray of shape (r,)
        Between-class over within-class variance along each of them.
    extra : ndarray of shape (n, k)
        Unsupervised directions after them.
    metric : ndarray of shape (n, r)
        The projection in which the distances are measured.
    centres : ndarray of shape (c, n)
    priors : ndarray of shape (c,)
    epsilon : float
    distances, weights : ndarray of shape (N,)
    outliers : ndarray of shape (N,), bool
    kept_whole : ndarray of shape (c,), bool
        Classes that the cap would have removed.
    trace : Trace
    """

    W: np.ndarray
    covariance: np.ndarray
    strengths: np.ndarray
    extra: np.ndarray
    metric: np.ndarray
    centres: np.ndarray
    priors: np.ndarray
    epsilon: float
    distances: np.ndarray
    weights: np.ndarray
    outliers: np.ndarray
    kept_whole: np.ndarray
    trace: Trace


def fit_majorized(rows, rule, *, priors, start, n_components, tol, max_iter, seed, report=None):
    """Fit by majorization (`solver="mm"`); the parameters are those of `CappedLDA`, validated.

    Large data are fitted on a stratified sample first, so that few passes over all
    rows are left to do.
    """
    chosen = stratified_sample(rows.codes, rows.n_classes, seed)
    sample = rows if chosen is None else rows.take(chosen)
    n_features = rows.shape[1]
    robust = rule.epsilon != np.inf and isinstance(start, str) and start == "robust"
    look = (first_look if robust else plain_look)(sample)
    span = None
    if rows.shape[0] < n_features:
        span = Span(rows.X, look)
        rows = sample = span.rows(rows)
        look = span.look(look)

    frame, W = trimmed_lda(sample, look, priors, n_features)
    if not rule.renew_centres:
        frame = replace(frame, centres=all_means(rows, frame))
    if robust:
        gentle = replace(rule, q=2.0)
        frame, W = majorize(sample, frame, W, gentle, START_TOLERANCE, START_PASSES)
    elif not isinstance(start, str) or start == "identity":
        W = start_projection(start, look.scale, W.shape[1], span)
        frame = replace(frame, K=None)
    if sample is not rows:
        frame, W = majorize(sample, frame, W, rule, tol, max_iter)
    method = Majorizer(frame, W, MIN_KEPT * rows.class_weights, rule, tol)
    trace = iterate(rows, method, max_iter, report)
    solution = last_look(rows, method, trace, n_components)
    return solution if span is None else span.lift_solution(solution)


def majorize(rows, frame, W, rule, tol, max_iter):
    """Run the majorizer; return its frame and projection."""
    method = Majorizer(frame, W, MIN_KEPT * rows.class_weights, rule, tol)
    iterate(rows, method, max_iter)
    return method.frame, method.W


def trimmed_lda(rows, look, priors, n_features):
    """Return the frame and the directions of plain LDA on the rows that a first look kept."""
    kept = rows.take(look.kept | ~np.isin(rows.codes, rows.codes[look.kept]))
    centres = kept.class_means()
    frame = Frame(centres, look.scale, priors, n_features).with_cap(np.inf, 0.0)
    record = kept.run(plain_query(frame))
    A = record.scatter / (2.0 * record.weight)
    A[np.diag_indices_from(A)] += START_RIDGE
    W = _linalg.leading_directions(A, frame.B)
    return replace(frame, K=W.T @ frame.B), W


def plain_query(frame, scatter=True):
    """Return a query that keeps every row with weight 2 (q = 2, nothing projected)."""
    nothing = np.zeros((len(frame.scale), 1))
    return Query(nothing, frame.centres, frame.scale, frame.caps, 2.0, 0.0, scatter)


def all_means(rows, frame):
    """Return the ordinary class means in one pass over all rows."""
    record = rows.run(plain_query(frame, scatter=False))
    return frame.centres + record.sums / record.kept[:, 1:]


def start_projection(start, scale, rank, span):
    """Return the start given by the user, in scaled features."""
    if isinstance(start, str):
        start = np.eye(len(scale) if span is None else span.n_features, rank)
    return start * scale[:, None] if span is None else span.project(start)


def fit_as_published(rows, *, epsilon, start, n_components, tol, max_iter, report=None):
    """Fit by Algorithm 1 of the paper (`solver="paper"`)."""
    n = rows.shape[1]
    W = start if not isinstance(start, str) else np.eye(n, n_components)
    method = PaperIteration(rows.class_means(), rows.class_weights, W, epsilon, tol)
    method.begin(rows.run(method.query(scatter=False)))
    trace = iterate(rows, method, max_iter, report)
    trace.n_passes += 1
    return last_look(rows, method, trace, n_components)


def last_look(rows, method, trace, n_components):
    """Measure all rows with the final projection and put its columns in order."""
    frame, query = method.frame, method.query(scatter=False)
    distances = np.empty(rows.shape[0])
    record = rows.run(query, distances)
    trace.n_passes += 1
    method.finish(record)
    covariance = method.covariance(record, unbiased=True)
    V, strengths = method.order(covariance, method.W.T @ frame.B)
    caps = frame.caps[rows.codes]
    weights = np.empty_like(distances)
    _kernels.capped_weights(distances, caps, query.q, query.floor, weights)
    return Solution(
        W=_linalg.fix_signs(query.W @ V),
        covariance=V.T @ covariance @ V,
        strengths=strengths,
        extra=unsupervised_directions(method, n_components - V.shape[1]),
        metric=query.W,
        centres=frame.centres,
        priors=frame.priors,
        epsilon=frame.epsilon,
        distances=distances,
        weights=weights,
        outliers=distances > caps,
        kept_whole=frame.kept_whole,
        trace=trace,
    )


def unsupervised_directions(method, count):
    """Return `count` directions of least capped scatter that do not see the class centres."""
    frame = method.frame
    if count <= 0 or method.A is None:
        return np.empty((len(frame.scale), 0))
    extra = _linalg.quietest_directions(method.A, frame.B, count)
    return _linalg.fix_signs(extra / frame.scale[:, None])
