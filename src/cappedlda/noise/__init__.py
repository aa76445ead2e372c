"""Contamination models: ways in which real data go bad, as pure functions.

Every function has the signature ``f(X, y, *, share, random_state=None, ...)`` and returns
``(X_new, y_new, touched)``. The inputs are never modified. ``touched`` marks what was changed: a
mask of rows, shape (N,), or, for `feature_noise` and `image_noise`, of entries, shape (N, n).
Rows are drawn class by class (stratified), so that ``share`` holds within every class; it may be
as large as 1. An int as ``random_state`` makes the result reproducible. Distances are in units of
the within-class standard deviations of ``X``, so the models do not depend on the units of the
features.

The models are meant for *training* data; a method is then judged on clean test data.
"""

from cappedlda.noise._entries import feature_noise, image_noise
from cappedlda.noise._outliers import (
    cluster,
    dirty_class,
    heavy_tails,
    leverage,
    scatter,
    swap_labels,
)

__all__ = [
    "cluster",
    "dirty_class",
    "feature_noise",
    "heavy_tails",
    "image_noise",
    "leverage",
    "scatter",
    "swap_labels",
]
