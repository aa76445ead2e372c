"""Moments of rows about centres, of which metrics are made."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from cappedlda._kernels import algebra


def freedom_of(total, n_classes):
    """Return the degrees of freedom of the scatter of rows of some weight about class means."""
    # One degree of freedom per class, but never more than half of them: weights may be small.
    return max(total - n_classes, 0.5 * total)


@dataclass
class Moments:
    """Weights, sums and scatter of rows about a centre of each class; additive."""

    weights: np.ndarray  # (c,)
    sums: np.ndarray  # (c, n), about the centres
    scatter: Any  # (n, n) about the centres, perhaps an upper triangle; or an ImplicitScatter
    centres: np.ndarray | None = None  # (c, n), None where the rows are deviations
    scale: np.ndarray | None = None  # (n,), unit of each feature in the scatter
    factor: float = 1.0  # of the weights in the scatter: a pass with q = 2 has 2

    @property
    def dense(self):
        """Whether the scatter is a matrix."""
        return isinstance(self.scatter, np.ndarray)

    @property
    def total(self):
        return math.fsum(self.weights.tolist())

    @property
    def freedom(self):
        return freedom_of(self.total, len(self.weights))

    @property
    def covariance(self):
        """The scatter over its weight, in scaled features."""
        return self.scatter / (self.factor * self.total or 1.0)

    def __add__(self, other):
        sums = self.weights + other.weights, self.sums + other.sums, self.scatter + other.scatter
        return Moments(*sums, self.centres, self.scale, self.factor)

    def recentred(self):
        means, moves = np.empty(self.sums.shape), np.empty(self.sums.shape)
        given = np.ascontiguousarray(self.centres), self.sums, self.weights, self.factor
        algebra.move_centres(*given, np.ascontiguousarray(self.scale), means, moves)
        if self.dense:
            scatter = self.scatter - moves.T.dot(moves)
        else:
            scatter = self.scatter.recentred(means, moves)
        sums = np.zeros(means.shape)
        return Moments(self.weights, sums, scatter, means, self.scale, self.factor)

    def about(self, centres, scale):
        """Return the scatter about other centres and in other units, where these are the means."""
        scatter = self.scatter
        if not np.array_equal(scale, self.scale):
            change = self.scale / scale
            scatter = scatter * change * change[:, None]
        roots = np.sqrt(self.factor * self.weights)
        moves = (self.centres - centres) * (roots[:, None] / scale)
        return scatter + moves.T @ moves

    def centred(self, unit=None):
        """Return the means of deviations, and the scatter about these, perhaps in other units."""
        means, scatter = np.empty(self.sums.shape), np.empty(self.scatter.shape)
        algebra.centre(self.weights, self.sums, self.scatter, unit, means, scatter)
        return means, scatter
