"""Shrinkage of a scatter towards a multiple of the identity: how much, by several rules.

A rule is called with the scatter of weights 2 (q = 2), the frame in whose units it is, its degrees
of freedom and the regime; it returns what is `Shrunk`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cappedlda._metrics import linalg

# Shrunk further than this, nothing would be left of a scatter.
MOST_SHRUNK = 0.99
# A mean square of scaled deviations that is only rounding: a class of equal rows advises nothing.
NO_SPREAD = 1e-12
# Amounts to choose from by agreement.
SHARES = np.array([0.0, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99])
# Added to each of them: a singular scatter has no inverse.
LEAST_SHARE = 1e-6
# With a larger mean hat value nearly nothing is left of a row that is left out.
MOST_FITTED = 0.95


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


@dataclass(frozen=True)
class AgreementShrinkage:
    """Shrinks such that labels agree most with scores that did not see them.

    The scores are those of a regression on the classes, each row left out of its own fit; see
    `agreements`.

    Attributes
    ----------
    totals : ndarray of shape (c,)
        Weight of each class among the rows of the scatter.
    """

    totals: np.ndarray

    def __call__(self, scatter, frame, freedom, regime):
        """Return a `Shrunk`."""
        trace, n = 0.5 * scatter.trace(), frame.n_features  # weights of a record are 2
        if n < 2 or not trace > 0.0:
            return NOT_SHRUNK
        means = (frame.centres - self.totals @ frame.centres / self.totals.sum()) / frame.scale
        between = (means.T * self.totals) @ means
        ridges, agreement = agreements(0.5 * scatter + between, self.totals, means, n)
        # Of equal ones the smaller; where nothing is left of a row, the largest.
        best = int(np.argmax(agreement)) if agreement[-1] > -np.inf else len(ridges) - 1
        if best == 0:
            return NOT_SHRUNK
        ridge = n * ridges[best]
        amount = min(ridge / (trace + ridge), MOST_SHRUNK)
        return Shrunk.towards_mean(amount, scatter.trace(), n)


def agreements(total, weights, means, n_features):
    """Return ridges on the total scatter, and how well left-out scores agree with labels.

    That is the correlation of the indicators of the classes with a ridge regression on the
    features in which each row was left out, with the mean hat value in place of each row's own:
    so it takes only sums. It is -inf where next to nothing is left of a row.

    Parameters
    ----------
    total : ndarray of shape (m, m)
        Scatter of all rows about their mean.
    weights : ndarray of shape (c,)
        Of the classes.
    means : ndarray of shape (c, m)
        Of the classes, about that of all rows.
    n_features : int
        Of which the coordinates may be a rotation.

    Returns
    -------
    ridges, agreement : ndarray of shape (k,)
    """
    values, vectors = linalg.eigh(total)
    values, weight = np.maximum(values, 0.0), weights.sum()
    seen = np.square((weights[:, None] * means) @ vectors).sum(axis=0)
    labels = weights @ (1.0 - weights / weight)
    ridges = (SHARES / (1.0 - SHARES) + LEAST_SHARE) * values.sum() / n_features
    inverse = 1.0 / (values + ridges[:, None])
    hat = (1.0 + inverse @ values) / weight
    product, square = inverse @ seen, inverse**2 @ (seen * values)
    left_out = square - 2.0 * hat * product + hat**2 * labels
    agreement = (product - hat * labels) / np.sqrt(np.maximum(left_out, np.finfo(float).tiny))
    return ridges, np.where(hat <= MOST_FITTED, agreement, -np.inf)


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
