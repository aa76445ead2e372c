"""Rows that remember the scatter of the support of the initial estimate.

The directions of these rows mostly keep the very same rows. With equal weights (q = 2)
their scatter is then known: a pass that only projects, which is cheap where there are many
features, tells whether they are the same.
"""

from dataclasses import dataclass, replace

import numpy as np

from cappedlda._data.array import ArrayRows
from cappedlda._data.samples import within


@dataclass(frozen=True)
class ScatterCache:
    """The scatter of some rows with equal weights.

    Attributes
    ----------
    support : ndarray of shape (N,), bool
        Which rows.
    scatter : ndarray of shape (n, n)
        About their means, of weights 2.
    means : ndarray of shape (c, n)
    weights : ndarray of shape (c,)
    """

    support: np.ndarray
    scatter: np.ndarray
    means: np.ndarray
    weights: np.ndarray

    def about(self, centres, scale):
        """Return a scatter about some centres; `scale` is the unit of the features in it."""
        if np.array_equal(centres, self.means):
            return self.scatter.copy()
        moves = (self.means - centres) * (np.sqrt(2.0 * self.weights)[:, None] / scale)
        return self.scatter + moves.T @ moves


class ScatterCacheRows(ArrayRows):
    """Rows of an array with a cached scatter, which is given up once other rows are kept.

    Parameters
    ----------
    rows : ArrayRows
    cache : ScatterCache
    """

    def __init__(self, rows, cache):
        settings = rows.sample_weight, rows.n_jobs, rows.regime
        super().__init__(rows.X, rows.codes, rows.n_classes, *settings)
        self.gate_ratio, self.progress = rows.gate_ratio, rows.progress
        self._cache = cache

    def run(self, query, distances=None):
        """Return the record of one pass over all rows; `distances` are filled if given."""
        if self._cache is None or not query.scatter or query.q != 2.0:
            return super().run(query, distances)
        distances = np.empty(self.shape[0]) if distances is None else distances
        record = super().run(replace(query, scatter=False), distances)
        support = within(distances, query.caps, self.codes)
        if self.sample_weight is not None:
            support &= self.sample_weight > 0.0
        if np.array_equal(support, self._cache.support):
            record.scatter = self._cache.about(query.centres, query.scale)
            return record
        self._cache = None
        return super().run(query, distances)
