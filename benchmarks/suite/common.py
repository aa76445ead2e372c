"""Data, and ratios that a busy machine cannot distort much."""

import time

import numpy as np


def contaminated(n_rows, n_features, n_classes, share=0.1, dtype=np.float64, seed=0):
    """Return Gaussian classes with correlated features and far outliers in a share of the rows."""
    rng = np.random.default_rng(seed)
    means = 3.0 * rng.standard_normal((n_classes, n_features)) / n_features**0.25
    mixing = np.eye(n_features) + 0.3 * rng.standard_normal((n_features, n_features)) / np.sqrt(
        n_features
    )
    y = rng.integers(n_classes, size=n_rows).astype(np.int32)
    X = rng.standard_normal((n_rows, n_features)) @ mixing + means[y]
    planted = rng.random(n_rows) < share
    X[planted] += 15.0 * rng.standard_normal((planted.sum(), n_features))
    return X.astype(dtype, copy=False), y, planted


def ratio(job, unit, repeat=5):
    """Return the time of `job` over that of `unit`: the median of interleaved ratios."""
    ratios = []
    for _ in range(repeat):
        start = time.perf_counter()
        unit()
        middle = time.perf_counter()
        job()
        ratios.append((time.perf_counter() - middle) / (middle - start))
    return float(np.median(ratios))
