"""Oracle approximating shrinkage of a scatter of few rows per feature."""

import numpy as np

from cappedlda._regime import REGIME

# Shrunk further than this, nothing would be left of a scatter.
MOST_SHRUNK = 0.99


def oas_shrinkage(scatter, n, freedom, regime=REGIME):
    """Return by how much to shrink a scatter of n features towards a multiple of the identity.

    It is the oracle approximating shrinkage of Chen, Wiesel, Eldar and Hero (IEEE Transactions
    on Signal Processing, 2010), which needs the scatter alone, held below a limit that falls
    with the degrees of freedom per feature: with several there is none. With very many features
    there is none either: an implicit scatter could not be given the same.
    """
    limit = min(n / max(freedom, 1.0) - 1.0 / regime.unshrunk_rows_per_feature, MOST_SHRUNK)
    trace = scatter.trace()
    if limit <= 0.0 or not 1 < n <= regime.most_shrunk_features or trace <= 0.0:
        return 0.0
    relative = scatter / trace  # the squares of huge numbers would overflow
    squares = np.vdot(relative, relative)
    excess = squares - 1.0 / n
    advised = ((1.0 - 2.0 / n) * squares + 1.0) / (freedom + 1.0 - 2.0 / n)
    return float(advised / excess) if advised < limit * excess else limit


def shrinkage_ridge(shrinkage, trace, n):
    """Return the ridge that has the same directions as a shrinkage."""
    return shrinkage / (1.0 - shrinkage) * trace / n
