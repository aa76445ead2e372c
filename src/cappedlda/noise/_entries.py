"""Single entries that are noisy: the noise of the paper."""

from __future__ import annotations

from typing import Literal

import numpy as np

from cappedlda._typing import ArrayLike, RandomState
from cappedlda.noise._common import Contaminated, choose_rows, prepare


def feature_noise(
    X: ArrayLike,
    y: ArrayLike,
    *,
    share: float = 0.1,
    features: float = 0.3,
    variance: float = 0.05,
    random_state: RandomState = None,
) -> Contaminated:
    """Add Gaussian noise to random features of random rows (the noise of the CLDA paper).

    Each chosen row gets its own random set of features. The variance is that of the paper, whose
    features are scaled to [0, 1]: here the noise is multiplied by the range of the feature.

    Parameters
    ----------
    X, y : array-like of shape (N, n) and (N,)
        Samples and their class labels.
    share : float, default=0.1
        Of the rows of each class, from 0 to 1.
    features : float, default=0.3
        Share of the features changed in such a row (at least one feature).
    variance : float, default=0.05
        Variance of the noise for a feature of range 1.
    random_state : None, int, numpy.random.Generator or RandomState

    Returns
    -------
    X_new, y_new : ndarray of shape (N, n) and (N,)
    touched : ndarray of bool, shape (N, n)
        The changed *entries*.

    Examples
    --------
    >>> import numpy as np
    >>> from cappedlda.noise import feature_noise
    >>> X = np.random.default_rng(0).normal(size=(50, 10))
    >>> X_new, _, touched = feature_noise(X, np.zeros(50), random_state=0)
    >>> int(touched.any(axis=1).sum()), int(touched.sum())
    (5, 15)
    """
    X, y, rng = prepare(X, y, random_state)
    rows = np.flatnonzero(choose_rows(y, share, rng))
    count = max(1, round(features * X.shape[1]))
    order = rng.random((len(rows), X.shape[1])).argsort(axis=1)
    touched = np.zeros(X.shape, dtype=bool)
    touched[rows[:, None], order[:, :count]] = True
    noise = np.sqrt(variance) * np.ptp(X, axis=0) * rng.normal(size=X.shape)
    X[touched] += noise[touched]
    return X, y, touched


def image_noise(
    X: ArrayLike,
    y: ArrayLike,
    *,
    shape: tuple[int, int],
    share: float = 0.1,
    cover: float = 0.3,
    kind: Literal["gaussian", "salt_pepper"] = "gaussian",
    variance: float = 0.05,
    density: float = 0.05,
    random_state: RandomState = None,
) -> Contaminated:
    """Spoil a rectangle at a random place of random images (the CLDA paper's image noise).

    Parameters
    ----------
    X, y : array-like of shape (N, n) and (N,)
        Images, one per row, row-major, and their class labels.
    shape : tuple (height, width)
        Shape of an image; ``height * width`` must be n.
    share : float, default=0.1
        Of the rows of each class, from 0 to 1.
    cover : float, default=0.3
        Share of the image that the rectangle covers (the paper: 0.3 and 0.4).
    kind : {"gaussian", "salt_pepper"}, default="gaussian"
        Additive Gaussian noise, or pixels set to the smallest or largest value of ``X``.
    variance : float, default=0.05
        Variance of the Gaussian noise for pixels of range 1 (scaled by the range of ``X``).
    density : float, default=0.05
        Share of the pixels of the rectangle hit by salt or pepper.
    random_state : None, int, numpy.random.Generator or RandomState

    Returns
    -------
    X_new : ndarray of shape (N, n)
        Clipped to the range of ``X``, as images are.
    y_new : ndarray of shape (N,)
    touched : ndarray of bool, shape (N, n)
        The changed *entries* (pixels).

    Examples
    --------
    >>> import numpy as np
    >>> from cappedlda.noise import image_noise
    >>> X = np.random.default_rng(0).random((20, 100))
    >>> _, _, touched = image_noise(X, np.zeros(20), shape=(10, 10), random_state=0)
    >>> int(touched.any(axis=1).sum()), int(touched.sum())
    (2, 60)
    """
    X, y, rng = prepare(X, y, random_state)
    if len(shape) != 2 or shape[0] * shape[1] != X.shape[1]:
        raise ValueError(f"shape={shape!r} does not fit rows of {X.shape[1]} pixels.")
    if kind not in ("gaussian", "salt_pepper"):
        raise ValueError(f"kind must be 'gaussian' or 'salt_pepper', got {kind!r}.")
    touched = np.zeros(X.shape, dtype=bool)
    for row in np.flatnonzero(choose_rows(y, share, rng)):
        touched[row] = _rectangle(shape, cover, rng).ravel()
    low, high = X.min(), X.max()
    if kind == "gaussian":
        noise = np.sqrt(variance) * (high - low) * rng.normal(size=X.shape)
        X[touched] = np.clip(X + noise, low, high)[touched]
    else:
        touched &= rng.random(X.shape) < density
        X[touched] = np.where(rng.random(X.shape) < 0.5, low, high)[touched]
    return X, y, touched


def _rectangle(shape, cover, rng):
    """Mask of a rectangle of about ``cover`` of an image, with its proportions, anywhere."""
    height, width = (max(1, min(side, round(side * np.sqrt(cover)))) for side in shape)
    width = max(1, min(shape[1], round(cover * shape[0] * shape[1] / height)))
    top = rng.integers(shape[0] - height + 1)
    left = rng.integers(shape[1] - width + 1)
    mask = np.zeros(shape, dtype=bool)
    mask[top : top + height, left : left + width] = True
    return mask
