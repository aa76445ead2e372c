"""Rows that remember the scatter of the last support with equal weights (q = 2).

The next support mostly has these very rows, or all but a few. A pass that only projects, which is
cheap where there are many features, tells which rows come and go and change the scatter.
"""

from dataclasses import replace

import numpy as np

from cappedlda._data.array import ArrayRows
from cappedlda._rules.rule import Query, within

# A scatter is made anew if more than this share of the rows come or go, or if those that go had
# more than this share of it: little but rounding would be left.
MOST_CHANGED = 0.25
MOST_GONE = 0.5


class ScatterCacheRows(ArrayRows):
    """Rows of an array with the last support (N,), and its moments about its means."""

    def __init__(self, rows, support, moments):
        settings = rows.sample_weight, rows.n_jobs, rows.regime
        super().__init__(rows.X, rows.codes, rows.n_classes, *settings)
        self.gate_ratio, self.progress = rows.gate_ratio, rows.progress
        self._support, self._moments = support, moments

    def run(self, query, distances=None):
        if not (query.scatter and query.sums and query.q == 2.0):
            return super().run(query, distances)
        distances = np.empty(self.shape[0]) if distances is None else distances
        record = super().run(replace(query, scatter=False), distances)
        support = within(distances, query.caps, self.codes)
        if self.sample_weight is not None:
            support &= self.sample_weight > 0.0
        scatter = self._scatter(support, query)
        if scatter is None:
            record = super().run(query, distances)
        else:
            record.scatter = scatter
        moments = record.moments(query.centres, query.scale)
        self._support, self._moments = support, moments.recentred()
        return record

    def _scatter(self, support, query):
        """Return the scatter of a support by that of the last one, or None if they differ much."""
        scatter, last = self._moments.about(query.centres, query.scale), self._support
        most = MOST_CHANGED * len(support)
        if np.count_nonzero(support != last) > most:
            return None
        for changed, sign in ((last & ~support, -1.0), (support & ~last, 1.0)):
            (rows,) = np.nonzero(changed)
            if len(rows) == 0:
                continue
            some = self.take(rows).run(Query.of_all_rows(query.centres, query.scale)).scatter
            if sign < 0.0 and some.trace() > MOST_GONE * scatter.trace():
                return None
            scatter += sign * some
        return scatter
