"""The rule by which the scatter of a support is shrunk, as the user asks for it."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from cappedlda._cutoffs.gate import scaled_norms
from cappedlda._data.jobs import PassJob
from cappedlda._data.samples import within
from cappedlda._solvers.shrinkage import FixedShrinkage, LedoitWolf, few_rows_rule


def shrinkage_rule(shrinkage, rows, query):
    """Return the rule for a value of the parameter `shrinkage`.

    Parameters
    ----------
    shrinkage : "few_rows", "auto", float or None
    rows : Rows
    query : Query
        The scatter is that of the rows which it keeps.
    """
    if shrinkage == "few_rows":
        return few_rows_rule
    if shrinkage == "auto":
        return LedoitWolf(partial(fourth_moment, rows, query.without_sums()))
    return FixedShrinkage(0.0 if shrinkage is None else float(shrinkage))


def fourth_moment(rows, query, centres, scale):
    """Return the sum of the fourth powers of the scaled lengths of kept rows, in one pass."""
    return float(
        rows.reduce(FourthMomentJob(PassJob(query, rows.gate.restricting), centres, scale))[0]
    )


@dataclass(frozen=True)
class FourthMomentJob:
    """Sums the fourth powers of the lengths of the rows of a block that a pass keeps.

    Attributes
    ----------
    job : PassJob
        Of a query without scatter.
    centres : ndarray of shape (c, n)
        From which deviations are taken.
    scale : ndarray of shape (n,)
    """

    job: PassJob
    centres: np.ndarray
    scale: np.ndarray

    def __call__(self, X, codes, sample_weight, _=None):
        """Return the sum as an array of shape (1,)."""
        distances, weights = self.job.begin(X.dtype).measure(X, codes, sample_weight)
        kept = within(distances, self.job.query.caps, codes)
        norms = scaled_norms(X, codes, self.centres, self.scale)[kept]  # roots of mean squares
        powers = (X.shape[1] * norms**2) ** 2
        return np.array([powers.sum() if weights is None else powers @ weights[kept]])
