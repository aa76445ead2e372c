"""What a fit returns: the evaluation of all rows with the final projection."""

from dataclasses import dataclass

import numpy as np

from cappedlda._cutoffs.gate import Gate
from cappedlda._data.samples import PerSample
from cappedlda._solvers import linalg
from cappedlda._solvers.base import Trace

# Other caps that keep as many rows, up to this share, need no other pass.
SAME_SUPPORT = 1e-4


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
    q : float
        Exponent of the norm.
    norm : tuple of float
        Exponent and floor of the weights that made the answer: 2 after a reweighting.
    shrinkage : float
        Of the scatter of the support.
    samples : PerSample or None
        None if they are not kept.
    kept_weight : float
        Weight of the rows within the caps.
    caps : ndarray of shape (c,)
        The cap of each class.
    uncapped : ndarray of shape (c,), bool
        Classes that the cap would have removed.
    trace : Trace
    gate : Gate or None
    n_sampled : int
        Rows of the first sample, 0 if all rows were used.
    """

    W: np.ndarray
    covariance: np.ndarray
    strengths: np.ndarray
    extra: np.ndarray
    metric: np.ndarray
    centres: np.ndarray
    priors: np.ndarray
    epsilon: float
    q: float
    norm: tuple[float, float]
    shrinkage: float
    samples: PerSample | None
    kept_weight: float
    caps: np.ndarray
    uncapped: np.ndarray
    trace: Trace
    gate: Gate | None = None
    n_sampled: int = 0


def evaluate(rows, solver, trace, n_components):
    """Measure all rows with the final projection and put its columns in order: step 10."""
    record, distances = rows.evaluate(solver.query(scatter=False))
    solver.finish(record)
    trace.n_passes += 1
    trace.objective_path = solver.objective_path
    frame, query = solver.frame, solver.query(scatter=False)
    kept_weight = distances.kept_weight(frame.caps)
    if abs(record.kept_weight - kept_weight) > SAME_SUPPORT * record.weight:
        record = distances.record(query)  # the last cap keeps other rows: measure these
        trace.n_passes += 1
    covariance = solver.covariance(record, unbiased=True)
    V, strengths = solver.order(covariance, solver.W.T.dot(frame.B))
    return Solution(
        W=linalg.fix_signs(query.W.dot(V)),
        covariance=V.T.dot(covariance).dot(V),
        strengths=strengths,
        extra=unsupervised_directions(solver, n_components - V.shape[1]),
        metric=query.W,
        centres=frame.centres,
        priors=frame.priors,
        epsilon=frame.epsilon,
        q=query.q,
        norm=(query.q, query.floor),
        shrinkage=solver.shrinkage,
        samples=distances.per_sample(frame.caps, query.q, query.floor),
        kept_weight=kept_weight,
        caps=frame.caps,
        uncapped=frame.uncapped,
        trace=trace,
    )


def unsupervised_directions(solver, count):
    """Return `count` directions of least capped scatter that do not see the class centres."""
    frame = solver.frame
    n = len(frame.scale)
    wanted = count > 0 and solver.A is not None
    there_are = n - linalg.rank_of(frame.B) if wanted else 0
    if there_are == 0:
        return np.empty((n, 0))
    extra = linalg.quietest_directions(solver.A.matrix, frame.B, min(count, there_are))
    return linalg.fix_signs(extra / frame.scale[:, None])
