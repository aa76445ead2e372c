"""Algorithm 1 of the paper as published, with its failures reported instead of hidden."""

from dataclasses import replace

import numpy as np

from cappedlda._metrics import linalg
from cappedlda._metrics.frame import Frame, kept_covariance
from cappedlda._metrics.plain import MatrixSystem
from cappedlda._rules.fences import fixed_point_caps, quantiles
from cappedlda._rules.rule import Query
from cappedlda._solvers.base import Iteration

# Floor of the norms, relative to the median of the initial ones.
FLOOR = 1e-3
# Ridge that makes the pencil regular, relative to the mean of the diagonal of S1. Of float32 data
# the scatter is no more accurate than theirs.
RIDGE = 1e-10
RIDGE_FLOAT32 = 1e-6
# Distances stay this many times away from the roots of the largest and smallest numbers.
MARGIN = 10.0


class PaperIteration(Iteration):
    """Minimise f/g, the ratio of the capped l2,1-norms of W'H_w and W'H_b, as the paper does.

    Each pass takes the finite eigenpairs of S1 w = lambda S2 w with the largest ratio,
    S1 = sum_j F_j h_j h_j' and S2 = sum_i G_i b_i b_i'. One epsilon caps both norms.
    """

    def __init__(self, rows, W, epsilon, tol):
        centres, total = rows.class_means(), rows.class_weights.sum()
        n = rows.shape[1]
        self.frame = Frame.of(centres, np.ones(n), rows.class_weights / total, n)
        self.W = W  # (n, d)
        self.A = None
        self.objective_path = []
        self.tol = tol  # on the relative change of the ratio
        self._ridge = RIDGE if rows.dtype == np.float64 else RIDGE_FLOAT32
        self._n_columns = W.shape[1]
        self._H_b = np.sqrt(total) * self.frame.B
        self._set_cap(rows, epsilon)

    def _set_cap(self, rows, epsilon):
        """Set the floor, and an automatic cap, by the distances of the start, in two passes."""
        query = replace(self.query(scatter=False), floor=0.0)
        record = rows.run(query)
        unit = record.objective / record.weight
        self._check_units(unit, rows.dtype)
        if not unit > 0.0:
            self.frame = self.frame.with_cap(np.inf, FLOOR)
            return
        histograms = rows.run(replace(query, W=self.W / unit)).histograms
        median = unit * quantiles(histograms, (0.5,))[0][-1, 0]
        if epsilon == "auto":
            epsilon = unit * fixed_point_caps(histograms).epsilon
        self.frame = self.frame.with_cap(epsilon, FLOOR * median)

    def _check_units(self, unit, dtype):
        """Raise an error if squares of distances leave the range of floating-point numbers."""
        size = max(unit, np.abs(self._H_b).max())
        numbers = np.finfo(dtype)
        low, high = MARGIN * np.sqrt(numbers.tiny), np.sqrt(numbers.max) / MARGIN
        if size != 0.0 and not low < size < high:
            raise ValueError(
                f"Distances in X have a size of {size:.1e}, and their squares leave the range of "
                f"{numbers.dtype}. CLDA works in the units of X, as published; scale X, or use "
                f"CappedLDA."
            )

    def query(self, scatter=True):
        frame, q = self.frame, 1.0
        caps = frame.centres, frame.scale, frame.caps
        return Query(self.W, *caps, q, frame.floor, scatter, sums=False)

    def step(self, record):
        epsilon, floor = self.frame.epsilon, self.frame.floor
        distances = np.sqrt(np.sum((self.W.T @ self._H_b) ** 2, axis=0) + floor**2)
        ratio = record.objective / np.sum(np.minimum(distances, epsilon))
        self.objective_path.append(ratio)
        inside = distances <= epsilon
        if not record.kept[:, 1].any():
            return "all_capped"
        if not inside.any():
            return "saturated"
        if len(self.objective_path) > 1:
            self.change = abs(1.0 - ratio / self.objective_path[-2])
            if self.change <= self.tol:
                return "converged" if self.W.shape[1] == self._n_columns else "rank_deficient"
        unit = self._unit()
        self._solve(record.scatter, self._H_b[:, inside] / np.sqrt(distances[inside]))
        if unit > 0.0:
            # The step changes the unit of all distances, and so that of the floor.
            self.frame = self.frame.changed(floor=floor * self._unit() / unit)
        return None

    def _unit(self):
        """Return the mean distance of the projected class means."""
        return np.mean(np.sqrt(np.sum((self.W.T @ self._H_b) ** 2, axis=0)))

    def _solve(self, S1, root_S2):
        if not np.trace(S1) > 0.0:
            raise ValueError(
                "X has no scatter within the classes, on which CLDA depends; use CappedLDA."
            )
        S1[np.diag_indices_from(S1)] += self._ridge * np.trace(S1) / len(S1)
        self.A = MatrixSystem(S1, 1.0, 0.0)
        W = linalg.leading_directions(self.A.solve(root_S2), root_S2)[:, : self._n_columns]
        # On the length of the columns the paper is silent: w'S2w = 1.
        self.W = W / np.sqrt(np.sum((root_S2.T @ W) ** 2, axis=0))

    def covariance(self, record, unbiased=False):
        """Return the covariance of the kept images, just regular enough to be inverted."""
        covariance = kept_covariance(record, unbiased)
        size = np.trace(covariance)
        return covariance + (RIDGE * size if size > 0.0 else 1.0) * np.eye(len(covariance))

    def finish(self, record):
        """Do nothing: the path holds the ratio of the last projection already."""

    def order(self, covariance, images):
        """Return the columns as they are, and their between-class to within-class variance."""
        within = np.maximum(np.diag(covariance), np.finfo(float).tiny)
        return np.eye(len(within)), np.sum(images**2, axis=1) / within
