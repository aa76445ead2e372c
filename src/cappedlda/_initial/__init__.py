"""The robust initial estimate: centres, scale, and the support to begin with.

1. `standardize`: class medians, and the median absolute deviation of each feature.
2. `csteps`: a C-step as in FAST-MCD, then the support grows as in BACON.

`dense` does both on arrays, `sparse` the first, which needs no covariance.
"""

from cappedlda._data.sparse import SparseRows
from cappedlda._initial import dense, sparse


def initial_estimate(rows, robust):
    """Return the initial estimate of rows in memory, robust or plain."""
    kind = sparse if isinstance(rows, SparseRows) else dense
    return (kind.robust_estimate if robust else kind.plain_estimate)(rows)
