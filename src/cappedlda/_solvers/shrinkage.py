"""Shrinkage of a scatter towards a multiple of the identity: how much, by several rules.

A rule is called with the scatter of weights 2 (q = 2), the frame in whose units it is, its degrees
of freedom and the regime; it returns what is `Shrunk`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

# Shrunk further than this, nothing would be left of a scatter.
MOST_SHRUNK = 0.99
# A mean square of scaled deviations that is only rounding: a class of equal rows advises nothing.
NO_SPREAD = 1e-12


class Shrunk(NamedTuple):
    """A scatter that is shrunk: factor * scatter + added * identity.

    Attributes
    ----------
    shrinkage : float
        From 0 to 1.
    factor, added : float
    """

    shrinkage: float
    factor: float
    added: float

    @classmethod
    def towards_mean(cls, shrinkage, trace, n):
        """Return a scatter of n features with the mean variance that it had."""
        return cls(shrinkage, 1.0 - shrinkage, shrinkage * trace / n)


NOT_SHRUNK = Shrunk(0.0, 1.0, 0.0)


@dataclass(frozen=True)
class FixedShrinkage:
    """Shrinks by a given amount."""

    amount: float

    def __call__(self, scatter, frame, freedom, regime):
        """Return a `Shrunk`."""
        return Shrunk.towards_mean(self.amount, scatter.trace(), frame.n_features)


@dataclass(frozen=True)
class ClassShrinkage:
    """Shrinks by the mean of what Ledoit and Wolf advise for each class.

    As `LinearDiscriminantAnalysis(shrinkage="auto")` of scikit-learn does, but by one amount, and
    with one unit of each feature.

    Attributes
    ----------
    sample : ArrayRows
        In memory.
    support : callable
        Returns which of them made the scatter, shape (N,).
    totals : ndarray of shape (c,)
        Weight of each class among all rows of the scatter.
    few_rows : bool
        Whether many rows per feature are not shrunk.
    """

    sample: Any
    support: Callable
    totals: np.ndarray
    few_rows: bool

    def __call__(self, scatter, frame, freedom, regime):
        """Return a `Shrunk`."""
        share = 1.0
        if self.few_rows:  # all of it up to half as many rows per feature as need none
            enough = regime.unshrunk_rows_per_feature * frame.n_features
            share = min(enough / max(freedom, 1.0) - 1.0, 1.0)
        if share <= 0.0 or frame.n_features < 2 or not scatter.trace() > 0.0:
            return NOT_SHRUNK
        amount = min(share * self._advised(frame), MOST_SHRUNK)
        return Shrunk.towards_mean(amount, scatter.trace(), frame.n_features)

    def _advised(self, frame):
        rows, advice, weight = self.sample.reweighted(self.support()), 0.0, 0.0
        for k, total in enumerate(self.totals):
            (own,) = np.nonzero((rows.codes == k) & (rows.sample_weight > 0.0))
            deviations = (rows.X[own] - frame.centres[k]) / frame.scale
            if np.vdot(deviations, deviations) > NO_SPREAD * deviations.size:
                weights = rows.sample_weight[own], total
                advice += total * ledoit_wolf(deviations, *weights, frame.n_features)
                weight += total
        return advice / weight if weight > 0.0 else 1.0


def ledoit_wolf(rows, weights, total, n_features):
    """Return the shrinkage of Ledoit and Wolf (Journal of Multivariate Analysis, 2004).

    Parameters
    ----------
    rows : ndarray of shape (k, n)
        Deviations from the mean, of all rows or of a sample.
    weights : ndarray of shape (k,)
    total : float
        Weight of all rows.
    n_features : int
        Of which the coordinates may be a rotation.
    """
    lengths, sampled = np.einsum("ij,ij->i", rows, rows), weights.sum()
    rows = rows * np.sqrt(weights)[:, None]
    products = rows @ rows.T if len(rows) < rows.shape[1] else rows.T @ rows
    squares = np.vdot(products, products) / sampled**2
    distance = squares - (weights @ lengths / sampled) ** 2 / n_features
    error = (weights @ lengths**2 / sampled - squares) / total
    return float(np.clip(error / distance, 0.0, 1.0)) if distance > 0.0 else 1.0


def shrinkage_ridge(shrinkage, trace, n):
    """Return the ridge that has the same directions as a shrinkage."""
    return shrinkage / (1.0 - shrinkage) * trace / n
