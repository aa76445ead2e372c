"""The span of the data: with fewer rows than features all that matters happens in it."""

from dataclasses import replace

import numpy as np
from scipy import linalg

from cappedlda._metrics.linalg import eigh, fix_signs


class RowSpace:
    """Orthonormal coordinates of the span of the scaled rows, about the mean of the centres.

    Rows, class means and the solution of the ridged problem lie in it, and lengths are preserved.
    """

    def __init__(self, X, centres, scale):
        self._origin = centres.mean(axis=0)
        self._scale = scale
        scaled = (X - self._origin) / self._scale
        settings = {"mode": "economic", "overwrite_a": True, "check_finite": False}
        self._basis, triangle = linalg.qr(scaled.T, **settings)
        self._coordinates = np.ascontiguousarray(triangle.T)

    @property
    def n_features(self):
        return len(self._scale)

    def rows(self, rows):
        return rows.with_features(self._coordinates)

    def initial(self, initial):
        """Return an initial estimate in coordinates, whose unit is 1 in every direction."""
        unit = np.ones(self._basis.shape[1])
        return initial._replace(centres=self.points(initial.centres), scale=unit, least=None)

    def points(self, points):
        """Return points of raw features (k, n) in coordinates (k, r)."""
        return ((points - self._origin) / self._scale) @ self._basis

    def project(self, W):
        """Return a projection of raw features (n, d) as one of coordinates (r, d)."""
        return self._basis.T @ (W * self._scale[:, None])

    def lift(self, W):
        """Return a projection of coordinates (r, d) as one of raw features (n, d)."""
        return (self._basis @ W) / self._scale[:, None]

    def lift_points(self, points):
        """Return points in coordinates (k, r) as points of raw features (k, n)."""
        return self._origin + (points @ self._basis.T) * self._scale

    def lift_rule(self, rule):
        return replace(rule, W=self.lift(rule.W), centres=self.lift_points(rule.centres))

    def lift_labels(self, labels):
        if labels is None:
            return None
        coef = self.lift(labels.rule.coef)
        intercept = labels.rule.intercept - self._origin @ coef
        return replace(labels, rule=replace(labels.rule, coef=coef, intercept=intercept))

    def lift_covariance(self, moments):
        """Return the covariance of moments in coordinates as one of raw features, (n, n)."""
        # By a root: rounding must not leave it asymmetric, or with negative variances.
        values, vectors = eigh(moments.covariance)
        root = (self._basis * moments.scale) @ (vectors * np.sqrt(np.maximum(values, 0.0)))
        root *= self._scale[:, None]
        return root @ root.T

    def lift_solution(self, solution, n_components):
        """Return a solution in raw features; missing directions come from outside the span."""
        extra = self.lift(solution.extra)
        missing = n_components - solution.W.shape[1] - extra.shape[1]
        if missing > 0:
            outside = linalg.qr(self._basis, check_finite=False)[0][:, self._basis.shape[1] :]
            extra = np.hstack([extra, outside[:, :missing] / self._scale[:, None]])
        return replace(
            solution,
            W=fix_signs(self.lift(solution.W)),
            extra=fix_signs(extra),
            centres=self.lift_points(solution.centres),
            flag_rule=self.lift_rule(solution.flag_rule),
            leave_out_rule=self.lift_rule(solution.leave_out_rule),
            labels=self.lift_labels(solution.labels),
            space=self,
        )
