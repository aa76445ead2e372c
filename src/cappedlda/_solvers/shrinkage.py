"""Shrinkage of a scatter of few rows per feature."""

import numpy as np

# A scatter of as many rows per feature is not shrunk, nor is one of more features; shrunk
# further than this nothing would be left of it.
UNSHRUNK_ROWS_PER_FEATURE = 5
MOST_SHRUNK_FEATURES = 1000
MOST_SHRUNK = 0.99


def oas_ridge(scatter, n, freedom):
    """Return the ridge that shrinks a scatter of n features towards a multiple of the identity.

    It is the shrinkage of Chen, Wiesel, Eldar and Hero ("oracle approximating"), which needs
    the scatter alone, held below a limit that falls with the degrees of freedom per feature:
    with several there is none. With very many features there is none either: a scatter that
    is known by products only could not be given the same.
    """
    limit = min(n / max(freedom, 1.0) - 1.0 / UNSHRUNK_ROWS_PER_FEATURE, MOST_SHRUNK)
    trace = scatter.trace()
    if limit <= 0.0 or not 1 < n <= MOST_SHRUNK_FEATURES or trace <= 0.0:
        return 0.0
    relative = scatter / trace  # the squares of huge numbers would overflow
    squares = np.vdot(relative, relative)
    excess = squares - 1.0 / n
    advised = ((1.0 - 2.0 / n) * squares + 1.0) / (freedom + 1.0 - 2.0 / n)
    share = advised / excess if advised < limit * excess else limit
    return share / (1.0 - share) * trace / n
