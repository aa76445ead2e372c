"""The robust initial estimate: centres, scale, and the support to begin with.

1. `separation`: a part of a class that lies apart from its larger part is set aside.
2. `standardize`: class medians, and the median absolute deviation of each feature.
3. `location`: the centre of each class, that of the smallest ball with half of its points.
4. `csteps`: C-steps as in FAST-MCD, then the support grows as in BACON.

`dense` does all that on arrays, `sparse` what is possible without a covariance.
"""

from cappedlda._initial.dense import DenseEstimator
from cappedlda._initial.sparse import SparseEstimator


def initial_estimate(rows, robust):
    """Return the initial estimate of rows in memory, robust or plain."""
    estimator = (SparseEstimator if rows.implicit_scatter else DenseEstimator)(rows)
    return estimator.robust() if robust else estimator.plain()
