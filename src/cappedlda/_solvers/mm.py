"""Majorization-minimization: a capped norm made smaller at every step, in a frame that settles.

Symbols: W (n, r) projection in scaled features, B (n, c) scaled deviations of the
class centres, K = W'B its fixed image, A = sum F_j h_j h_j' / N + gamma I.
"""

import math
from collections import deque

import numpy as np

from cappedlda._metrics import linalg
from cappedlda._metrics.frame import kept_covariance, vanishing
from cappedlda._metrics.plain import system_of
from cappedlda._regime import REGIME
from cappedlda._rules.fences import consistency_factor, fixed_point_caps, least_fence, update_caps
from cappedlda._rules.rule import Query
from cappedlda._solvers.base import Iteration

# The frame is renewed, at most MAX_RENEWALS times, while it is further off than this many times the
# tolerance, and further off than the projection itself.
DRIFT_TOLERANCE = 10.0
MAX_RENEWALS = 20
SMALL_DRIFT = 1e-2
# Cap and gauge matter less than centres: they only move rows across a nearly empty fence
# and reshape the metric.
SHAPE_DRIFT = 0.05
FLOOR = 1e-2  # floor of the capped norm, relative to the median distance
NO_SPREAD = 1e-10  # a smaller mean variance of the scaled features is rounding
MEMORY = 4  # points that the acceleration remembers
# A system that is not solved exactly is solved to this share of the tolerance.
SYSTEM_TOLERANCE = 1e-3


class MMSolver(Iteration):
    """Minimise the capped norm of W'H subject to W'B = K, one closed-form step per pass.

    A record renews the frame while that is further off than the projection: centres
    (means of kept rows), gauge (kept rows get unit covariance), cap and floor. In a
    fixed frame the objective

        sum_j min(r(a_j)^(q/2), r(eps)^(q/2)) / N + gamma/2 ||W||^2,  r(t) = t^2 + floor^2

    never rises: a step minimises a quadratic that touches it at W and lies above it,
    and an accelerated step is taken only if the objective confirms it.

    The iteration starts from the directions of the first frame. With K = None they give only the
    first weights, not the gauge. The tolerance limits the change of the projected rows, relative
    to their spread. Cap, floor and gauge are the shape, which need not be renewed. A frame made
    from `other_rows` gets a new shape once in any case.
    """

    def __init__(
        self,
        frame,
        objective,
        tol,
        renew_centres=True,
        renew_shape=True,
        other_rows=False,
        regime=REGIME,
        memory=MEMORY,
    ):
        self.frame = frame
        self.W = frame.W
        self.A = None  # the system of the last weighted scatter, with its ridge
        self._objective = objective
        self._renew_centres = renew_centres
        self._renew_shape = renew_shape
        self._regime = regime
        self.change = np.inf
        self.objective_path = []  # in the present frame
        self.tol = tol
        self._other_rows = other_rows
        self._n_renewals = 0
        self._before = None
        self._fallback = None
        self._history = deque(maxlen=memory)

    def query(self, scatter=True):
        frame = self.frame
        rule = self.W / frame.scale[:, None], frame.centres, frame.scale, frame.caps
        sums = scatter and self._renew_centres
        return Query(*rule, self._objective.q, frame.floor, scatter, sums)

    def value(self, record):
        return record.objective / record.weight + 0.5 * self.frame.gamma * np.vdot(self.W, self.W)

    def step(self, record):
        drift = self._drift(record) if self._n_renewals else np.inf
        if self._n_renewals == MAX_RENEWALS:
            drift = 0.0
        settled = drift <= DRIFT_TOLERANCE * self.tol
        if not settled and drift > self.change or not self._n_renewals:
            self._renew(record)
            # A frame that hardly changes, and a projection that does not: nothing is left.
            still = self._minimise(record) <= self.tol and drift <= SMALL_DRIFT
            return "converged" if still else None
        return self._descend(record, settled)

    def covariance(self, record, unbiased=False):
        """Return the covariance of the images, with the ridge of features of unit scale.

        It makes up for what the cap has cut off; otherwise a small epsilon would shrink its own
        unit, and the kept rows, again and again.
        """
        factor = 1.0
        if not self.frame.any_uncapped:
            factor = consistency_factor(self.frame.epsilon, self.W.shape[1])
        covariance = kept_covariance(record, unbiased, factor)
        covariance += self._objective.ridge * self.W.T.dot(self.W)
        return covariance

    def settle_in(self, record):
        """Set caps and gauge from a record of rows other than those that made the frame.

        Directions overfit their own sample: caps in its units would leave out good rows.
        """
        frame = self.frame
        if self._objective.epsilon == "auto":
            frame = frame.with_fences(self._fixed_point(record, frame.fences.caps))
        frame = self._regauged(record, frame)
        self.frame = frame.changed(K=self.W.T.dot(frame.B))
        self._other_rows = False

    def rollback(self):
        if self._fallback is not None:
            self.W = self._fallback

    def finish(self, record):
        """Note the objective of the last projection, and set the cap by a pass over all rows."""
        self.objective_path.append(self.value(record))
        if self._objective.epsilon == "auto":
            self.frame = self.frame.with_fences(self._fixed_point(record))

    def order(self, covariance, images):
        return linalg.order_by_discrimination(covariance, images)

    def _drift(self, record):
        """Return how far the frame is from the one that this record would make."""
        if np.any(vanishing(record)):
            return np.inf
        drift = 0.0
        if self._renew_centres:
            moves = record.image_sums / record.kept[:, 1:]
            drift = np.sqrt(np.max(np.sum(moves**2, axis=1)))
        if self._renew_shape:
            caps = self._shape(record).caps
            capped = np.isfinite(caps)
            cap = np.max(np.abs(caps[capped] / self.frame.caps[capped] - 1.0), initial=0.0)
            gauge = np.max(np.abs(np.linalg.eigvalsh(self.covariance(record)) - 1.0))
            drift = max(drift, SHAPE_DRIFT * cap, SHAPE_DRIFT * gauge)
        return drift

    def _shape(self, record):
        limits = {"reach": self._objective.reach, **self._limits()}
        fences = update_caps(record.histograms, self.frame.fences.caps, **limits)
        floor = FLOOR * (fences.median or 1.0)
        if self._objective.epsilon == "auto":
            return self.frame.with_fences(fences, floor=floor)
        return self.frame.with_cap(self._objective.epsilon, floor)

    def _fixed_point(self, record, start=None):
        limits = self._limits()
        return fixed_point_caps(record.histograms, self._objective.reach, start, **limits)

    def _limits(self):
        """Return limits of the fences: without spread, they stay above the blur of the ridge."""
        blur = math.sqrt(self._objective.ridge * np.vdot(self.W, self.W))
        return {"regime": self._regime, "least": least_fence(self.W.shape[1]), "blur": blur}

    def _renew(self, record):
        whole = vanishing(record)
        if self.frame.any_uncapped:
            whole |= self.frame.uncapped
        renew_shape = self._renew_shape or (self._other_rows and not self._n_renewals)
        frame = self._shape(record) if renew_shape else self.frame
        if renew_shape and frame.K is not None:
            frame = self._regauged(record, frame)
        if self._renew_centres:
            if self._objective.q == 2.0:
                # With equal weights the scatter about the new centres is known exactly.
                moments = record.moments(frame.centres, frame.scale).recentred()
                record.scatter, centres = moments.scatter, moments.centres
            else:
                centres = record.means(frame.centres)
            frame = frame.recentred(centres)
        mean_variance = record.scatter.trace() / (record.weight * frame.n_features)
        self.frame = frame.without_caps_on(whole).changed(
            # Without any spread within classes the robust unit of the features serves.
            gamma=self._objective.ridge * (mean_variance if mean_variance > NO_SPREAD else 1.0),
            K=None if frame.K is None else self.W.T.dot(frame.B),
        )
        self.objective_path.clear()
        self._history.clear()
        self._fallback = None
        self._n_renewals += 1

    def _regauged(self, record, frame):
        """Give the kept images unit covariance; return the frame, still in the old gauge."""
        R = linalg.eigh_whitener(self.covariance(record))
        self.W = self.W.dot(R)
        growth = linalg.typical_length(R)
        floor = growth * frame.floor
        if self._objective.epsilon == "auto":
            return frame.with_fences(frame.fences.scaled(growth), floor=floor)
        return frame.changed(floor=floor)

    def _minimise(self, record):
        """Take the majorizing step and return an estimate of the error that remains."""
        tol = SYSTEM_TOLERANCE * self.tol
        settings = record.weight, self.frame.gamma, tol, self.W
        A = self.A = system_of(record.scatter, *settings)
        B = self.frame.B
        Y = A.solve(B)
        if self.frame.K is None:
            self.W = linalg.leading_directions(Y, B)
            self.frame = self.frame.changed(K=self.W.T.dot(B))
            return np.inf
        W = linalg.constrained_minimiser(Y, B, self.frame.K)
        previous, step = self.change, W - self.W
        self.change = np.sqrt(np.vdot(step, A @ step) / np.vdot(self.W, A @ self.W))
        self._before, self.W = self.W, W
        # A sequence that shrinks fast at a known rate is nearer its limit than its last step.
        if not 0.0 < previous < np.inf:
            return self.change
        rate = self.change / previous
        return self.change * rate / (1.0 - rate) if rate < 0.5 else self.change

    def _descend(self, record, settled):
        objective = self.value(record)
        if self.objective_path and objective > self.objective_path[-1]:
            return self._retreat()
        self.objective_path.append(objective)
        remaining = self._minimise(record)
        if settled and remaining <= self.tol:
            return "converged"
        self._fallback = self.W
        self._history.append((self.W, (self.W - self._before).ravel()))
        self.W = extrapolated(self._history)
        return None

    def _retreat(self):
        """Leave a point that is worse than the one before it."""
        if self._fallback is None:
            # Even the plain step cannot improve: the descent has reached rounding.
            self.W = self._before
            return "converged"
        self.W, self._fallback = self._fallback, None
        self._history.clear()
        return None


def extrapolated(history):
    """Return a better point than the last image of a fixed-point map, by Anderson acceleration.

    The history has the last images, and their differences from their arguments, flattened.
    Affine combinations keep linear constraints, so W'B = K holds for the result too.
    """
    *before, (image, newest) = history
    if not before:
        return image
    differences = np.stack([newest - residual for _, residual in before], axis=1)
    steps, *_ = np.linalg.lstsq(differences, newest, rcond=1e-8)
    return image - sum(s * (image - p) for s, (p, _) in zip(steps, before, strict=True))
