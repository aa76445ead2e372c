"""What the contamination models share: copies, chosen rows, within-class units."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from cappedlda._typing import Bools, Floats, Labels

# The rows, their labels, and a mask of what was touched.
Contaminated: TypeAlias = tuple[Floats, Labels, Bools]


def _generator(random_state):
    """Turn None, an int, a Generator or a RandomState into a numpy Generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return np.random.default_rng(random_state)


def prepare(X, y, random_state):
    """Copy X (as floats) and y, so that the caller may write to them; make the generator."""
    X = np.array(X)
    if not np.issubdtype(X.dtype, np.floating):
        X = X.astype(np.float64)
    y = np.array(y)
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(f"X must be (N, n) and y (N,), got shapes {X.shape} and {y.shape}.")
    return X, y, _generator(random_state)


def choose_rows(y, share, rng):
    """Mask of a random ``share`` of the rows of each class, rounded to whole rows."""
    if not 0 <= share <= 1:
        raise ValueError(f"share must be from 0 to 1, got {share!r}.")
    chosen = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        chosen[rng.permutation(rows)[: round(share * len(rows))]] = True
    return chosen


def within(X, y):
    """Labels, class means, deviations from them over ``scale``, and scale (deviations; 0 -> 1)."""
    labels, codes = np.unique(y, return_inverse=True)
    means = np.stack([X[codes == i].mean(axis=0) for i in range(len(labels))])
    deviations = X - means[codes]
    scale = deviations.std(axis=0)
    scale[scale == 0] = 1
    return labels, means, deviations / scale, scale


def one_deviation(scaled, scale, direction):
    """Vector along ``direction`` (in scaled features), one within-class deviation long."""
    length = np.linalg.norm(direction)
    unit = direction / length if length > 0 else np.ones_like(scale) / np.sqrt(len(scale))
    return np.std(scaled @ unit) * scale * unit
