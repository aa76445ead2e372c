"""Shrinkage of a scatter towards a multiple of the identity: how much, by several rules.

A rule is called with the scatter of weights 2 (q = 2), the frame in whose units it is, the weight
of its rows, its degrees of freedom and the regime; it returns what is `Shrunk`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cappedlda._regime import REGIME

# Shrunk further than this, nothing would be left of a scatter.
MOST_SHRUNK = 0.99


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


def few_rows_rule(scatter, frame, weight, freedom, regime):
    """Shrink by `oas_shrinkage`."""
    n = frame.n_features
    shrinkage = oas_shrinkage(scatter, n, freedom, regime)
    return NOT_SHRUNK if shrinkage == 0.0 else Shrunk.towards_mean(shrinkage, scatter.trace(), n)


@dataclass(frozen=True)
class FixedShrinkage:
    """Shrinks by a given amount."""

    amount: float

    def __call__(self, scatter, frame, weight, freedom, regime):
        """Return a `Shrunk`."""
        return Shrunk.towards_mean(self.amount, scatter.trace(), frame.n_features)


@dataclass(frozen=True)
class LedoitWolf:
    """Shrinks by the rule of Ledoit and Wolf (Journal of Multivariate Analysis, 2004).

    Attributes
    ----------
    fourth_moment : callable
        Returns the sum of the fourth powers of the lengths of the rows, given centres and scale.
    """

    fourth_moment: Callable

    def __call__(self, scatter, frame, weight, freedom, regime):
        """Return a `Shrunk`."""
        n, trace = frame.n_features, scatter.trace()
        squares = np.vdot(scatter, scatter) / (2.0 * weight) ** 2
        distance = squares - (trace / (2.0 * weight)) ** 2 / n
        error = (self.fourth_moment(frame.centres, frame.scale) / weight - squares) / weight
        amount = float(np.clip(error / distance, 0.0, 1.0)) if distance > 0.0 else 1.0
        return Shrunk.towards_mean(amount, trace, n)


def oas_shrinkage(scatter, n, freedom, regime=REGIME):
    """Return by how much to shrink a scatter of n features towards a multiple of the identity.

    It is the oracle approximating shrinkage of Chen, Wiesel, Eldar and Hero (IEEE Transactions
    on Signal Processing, 2010), which needs the scatter alone, held below a limit that falls
    with the degrees of freedom per feature: with several there is none. With very many features
    there is none either: an implicit scatter could not be given the same.
    """
    limit = min(n / max(freedom, 1.0) - 1.0 / regime.unshrunk_rows_per_feature, MOST_SHRUNK)
    if limit <= 0.0 or not 1 < n <= regime.most_shrunk_features:
        return 0.0
    trace = scatter.trace()
    if trace <= 0.0:
        return 0.0
    relative = scatter / trace  # the squares of huge numbers would overflow
    squares = np.vdot(relative, relative)
    excess = squares - 1.0 / n
    advised = ((1.0 - 2.0 / n) * squares + 1.0) / (freedom + 1.0 - 2.0 / n)
    return float(advised / excess) if advised < limit * excess else limit


def shrinkage_ridge(shrinkage, trace, n):
    """Return the ridge that has the same directions as a shrinkage."""
    return shrinkage / (1.0 - shrinkage) * trace / n
