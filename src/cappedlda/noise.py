"""Contamination models: ways in which real data go bad, as pure functions.

Every function takes ``X, y``, which it never modifies, and returns ``(X_new, y_new, touched)``.
``touched`` marks what was changed: a mask of rows, or, for `feature_noise` and `image_noise`, of
entries. ``share`` is that of the rows of every class to change, from 0 to 1. An int as
``random_state`` makes the result reproducible. Distances are in within-class standard deviations
of ``X``, so the units of the features do not matter.

The models are meant for *training* data; a method is then judged on clean test data.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from cappedlda._typing import ArrayLike, Bools, Floats, Labels, RandomState
from cappedlda._validation import check_choice

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

# The rows, their labels, and a mask of what was touched.
Contaminated: TypeAlias = tuple[Floats, Labels, Bools]


def scatter(
    X: ArrayLike,
    y: ArrayLike,
    *,
    share: float = 0.1,
    size: float = 10.0,
    random_state: RandomState = None,
) -> Contaminated:
    """Move rows far away, each in its own random direction (gross outliers).

    A chosen row x becomes ``x + t * size * s * u``: s holds the within-class standard deviations
    of the features, u is a random direction with mean square 1, t is uniform on [1, 2].

    Parameters
    ----------
    X, y : array-like of shape (N, n) and (N,)
    share : float, default=0.1
    size : float, default=10.0
        Least root mean square displacement of a feature, in within-class standard deviations.
    random_state : None, int, numpy.random.Generator or RandomState

    Returns
    -------
    X_new, y_new, touched : ndarray of shape (N, n), (N,) and (N,)

    Examples
    --------
    >>> import numpy as np
    >>> from cappedlda.noise import scatter
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> X_new, y_new, touched = scatter(X, np.repeat([0, 1], 50), share=0.2, random_state=0)
    >>> int(np.sum(np.linalg.norm(X_new - X, axis=1) > 10))
    20
    """
    X, y, touched, rng = _begin(X, y, share, random_state)
    X[touched] += _far_steps(X, y, int(touched.sum()), size, rng)
    return X, y, touched


def leverage(
    X: ArrayLike,
    y: ArrayLike,
    *,
    share: float = 0.1,
    size: float = 10.0,
    random_state: RandomState = None,
) -> Contaminated:
    """Move rows of each class to a cloud beyond the next class; they keep their labels.

    The cloud of class i lies on the line from its mean through the mean of class i + 1 (the last
    class: of class 0), ``size`` within-class standard deviations (in that direction) beyond it,
    and has the shape of class i. Such rows turn the discriminant directions of LDA around.

    Parameters
    ----------
    X, y : array-like of shape (N, n) and (N,)
    share : float, default=0.1
    size : float, default=10.0
        Distance of the cloud behind the other class, in within-class standard deviations.
    random_state : None, int, numpy.random.Generator or RandomState

    Returns
    -------
    X_new, y_new, touched : ndarray of shape (N, n), (N,) and (N,)

    Examples
    --------
    >>> import numpy as np
    >>> from cappedlda.noise import leverage
    >>> X = np.random.default_rng(0).normal(size=(100, 1))
    >>> y = np.repeat([0, 1], 50)
    >>> X[y == 1] += 4
    >>> X_new, y_new, touched = leverage(X, y, share=0.1, random_state=0)
    >>> bool(X_new[touched & (y == 0)].min() > X[y == 1].max())
    True
    """
    X, y, touched, rng = _begin(X, y, share, random_state)
    codes, means, scaled, scale = _within(X, y)
    if len(means) < 2:
        raise ValueError("leverage needs at least two classes in y, got one.")
    for i, step in enumerate(np.roll(means, -1, axis=0) - means):
        step = step + size * _one_deviation(scaled, scale, step / scale)
        X[touched & (codes == i)] += step
    return X, y, touched


def cluster(
    X: ArrayLike,
    y: ArrayLike,
    *,
    share: float = 0.1,
    size: float = 10.0,
    spread: float = 0.1,
    random_state: RandomState = None,
) -> Contaminated:
    """Replace rows of each class by a tight cluster at a shifted place, one per class.

    The shift is in a random direction, ``size`` within-class standard deviations of that
    direction; with many features most of it lies outside the discriminant space, and with
    correlated features no single feature shows it.

    Parameters
    ----------
    X, y : array-like of shape (N, n) and (N,)
    share : float, default=0.1
    size : float, default=10.0
        Distance of the cluster from the mean of its class, in within-class standard deviations.
    spread : float, default=0.1
        Size of the cluster relative to its class.
    random_state : None, int, numpy.random.Generator or RandomState

    Returns
    -------
    X_new, y_new, touched : ndarray of shape (N, n), (N,) and (N,)

    Examples
    --------
    >>> import numpy as np
    >>> from cappedlda.noise import cluster
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> X_new, _, touched = cluster(X, np.zeros(400), share=0.5, spread=0.01, random_state=0)
    >>> X_new[touched].std(axis=0).round(2)
    array([0.01, 0.01])
    """
    X, y, touched, rng = _begin(X, y, share, random_state)
    codes, means, scaled, scale = _within(X, y)
    for i, mean in enumerate(means):
        rows = touched & (codes == i)
        step = size * _one_deviation(scaled, scale, rng.normal(size=X.shape[1]))
        X[rows] = mean + step + spread * (X[rows] - mean)
    return X, y, touched


def heavy_tails(
    X: ArrayLike,
    y: ArrayLike,
    *,
    share: float = 1.0,
    df: float = 1.0,
    random_state: RandomState = None,
) -> Contaminated:
    """Give rows the tails of a multivariate t distribution around their class mean.

    The deviation of a chosen row from its class mean is multiplied by ``sqrt(df / chi2(df))``:
    Gaussian classes become multivariate t with ``df`` degrees of freedom (df = 1: Cauchy).

    Parameters
    ----------
    X, y : array-like of shape (N, n) and (N,)
    share : float, default=1.0
    df : float, default=1.0
        Degrees of freedom; smaller is wilder.
    random_state : None, int, numpy.random.Generator or RandomState

    Returns
    -------
    X_new, y_new, touched : ndarray of shape (N, n), (N,) and (N,)
        Not all touched rows are outliers: many change little.

    Examples
    --------
    >>> import numpy as np
    >>> from cappedlda.noise import heavy_tails
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> X_new, _, touched = heavy_tails(X, np.zeros(1000), random_state=0)
    >>> bool(abs(X_new).max() > 100)
    True
    """
    X, y, touched, rng = _begin(X, y, share, random_state)
    codes, means, _, _ = _within(X, y)
    centres = means[codes[touched]]
    factors = np.sqrt(df / rng.chisquare(df, size=len(centres)))
    X[touched] = centres + (X[touched] - centres) * factors[:, None]
    return X, y, touched


def swap_labels(
    X: ArrayLike, y: ArrayLike, *, share: float = 0.1, random_state: RandomState = None
) -> Contaminated:
    """Give rows the label of another class, drawn uniformly from the other classes.

    Parameters
    ----------
    X, y : array-like of shape (N, n) and (N,)
    share : float, default=0.1
    random_state : None, int, numpy.random.Generator or RandomState

    Returns
    -------
    X_new, y_new, touched : ndarray of shape (N, n), (N,) and (N,)

    Examples
    --------
    >>> import numpy as np
    >>> from cappedlda.noise import swap_labels
    >>> y = np.repeat(["a", "b"], 5)
    >>> _, y_new, touched = swap_labels(np.zeros((10, 1)), y, share=0.2, random_state=0)
    >>> bool(np.array_equal(y_new != y, touched)), int(touched.sum())
    (True, 2)
    """
    X, y, touched, rng = _begin(X, y, share, random_state)
    labels, codes = np.unique(y, return_inverse=True)
    if len(labels) < 2:
        raise ValueError("swap_labels needs at least two classes in y, got one.")
    moves = rng.integers(1, len(labels), size=int(touched.sum()))
    y[touched] = labels[(codes[touched] + moves) % len(labels)]
    return X, y, touched


def dirty_class(
    X: ArrayLike,
    y: ArrayLike,
    *,
    share: float = 0.4,
    label: object = None,
    others: float = 0.0,
    size: float = 10.0,
    random_state: RandomState = None,
) -> Contaminated:
    """Scatter rows of one class, and few or none of the others (see `scatter`).

    Parameters
    ----------
    X, y : array-like of shape (N, n) and (N,)
    share : float, default=0.4
        Share of the rows of the dirty class.
    label : scalar, optional
        The dirty class; None takes the first one.
    others : float, default=0.0
        Share of the rows of each other class.
    size : float, default=10.0
        Least root mean square displacement of a feature, in within-class standard deviations.
    random_state : None, int, numpy.random.Generator or RandomState

    Returns
    -------
    X_new, y_new, touched : ndarray of shape (N, n), (N,) and (N,)

    Examples
    --------
    >>> import numpy as np
    >>> from cappedlda.noise import dirty_class
    >>> y = np.repeat([0, 1], 50)
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> _, _, touched = dirty_class(X, y, share=0.4, label=1, random_state=0)
    >>> int(touched[y == 0].sum()), int(touched[y == 1].sum())
    (0, 20)
    """
    X, y, touched, rng = _begin(X, y, share, random_state)
    dirty = y == (y.min() if label is None else label)
    if not np.any(dirty):
        raise ValueError(f"label={label!r} is not a class of y; choose one of its values.")
    touched = np.where(dirty, touched, _choose_rows(y, others, rng))
    X[touched] += _far_steps(X, y, int(touched.sum()), size, rng)
    return X, y, touched


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
    share : float, default=0.1
    features : float, default=0.3
        Share of the features changed in such a row (at least one feature).
    variance : float, default=0.05
        Variance of the noise for a feature of range 1.
    random_state : None, int, numpy.random.Generator or RandomState

    Returns
    -------
    X_new, y_new, touched : ndarray of shape (N, n), (N,) and (N, n)

    Examples
    --------
    >>> import numpy as np
    >>> from cappedlda.noise import feature_noise
    >>> X = np.random.default_rng(0).normal(size=(50, 10))
    >>> X_new, _, touched = feature_noise(X, np.zeros(50), random_state=0)
    >>> int(touched.any(axis=1).sum()), int(touched.sum())
    (5, 15)
    """
    X, y, chosen, rng = _begin(X, y, share, random_state)
    rows = np.flatnonzero(chosen)
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
        Images, one per row.
    shape : tuple (height, width)
        Shape of an image; ``height * width`` must be n.
    share : float, default=0.1
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
    X_new, y_new, touched : ndarray of shape (N, n), (N,) and (N, n)
        X_new is clipped to the range of X, as images are.

    Examples
    --------
    >>> import numpy as np
    >>> from cappedlda.noise import image_noise
    >>> X = np.random.default_rng(0).random((20, 100))
    >>> _, _, touched = image_noise(X, np.zeros(20), shape=(10, 10), random_state=0)
    >>> int(touched.any(axis=1).sum()), int(touched.sum())
    (2, 60)
    """
    X, y, chosen, rng = _begin(X, y, share, random_state)
    if len(shape) != 2 or shape[0] * shape[1] != X.shape[1]:
        raise ValueError(f"shape={shape!r} does not fit rows of {X.shape[1]} pixels.")
    check_choice("kind", kind, ("gaussian", "salt_pepper"))
    touched = np.zeros(X.shape, dtype=bool)
    for row in np.flatnonzero(chosen):
        touched[row] = _rectangle(shape, cover, rng).ravel()
    low, high = X.min(), X.max()
    if kind == "gaussian":
        noise = np.sqrt(variance) * (high - low) * rng.normal(size=X.shape)
        X[touched] = np.clip(X + noise, low, high)[touched]
    else:
        touched &= rng.random(X.shape) < density
        X[touched] = np.where(rng.random(X.shape) < 0.5, low, high)[touched]
    return X, y, touched


def _begin(X, y, share, random_state):
    """Return copies of X, as floats, and y, a mask of the chosen rows, and the generator."""
    X, y = np.array(X), np.array(y)
    if not np.issubdtype(X.dtype, np.floating):
        X = X.astype(np.float64)
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(f"X must be (N, n) and y (N,), got shapes {X.shape} and {y.shape}.")
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31 - 1)
    rng = np.random.default_rng(random_state)
    return X, y, _choose_rows(y, share, rng), rng


def _choose_rows(y, share, rng):
    """Return a mask of a random share of the rows of each class, rounded to whole rows."""
    if not 0 <= share <= 1:
        raise ValueError(f"share must be from 0 to 1, got {share!r}.")
    chosen = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        chosen[rng.permutation(rows)[: round(share * len(rows))]] = True
    return chosen


def _within(X, y):
    """Return codes, class means, deviations from these in units of each feature, the units."""
    labels, codes = np.unique(y, return_inverse=True)
    means = np.stack([X[codes == i].mean(axis=0) for i in range(len(labels))])
    deviations = X - means[codes]
    scale = deviations.std(axis=0)
    scale[scale == 0] = 1
    return codes, means, deviations / scale, scale


def _one_deviation(scaled, scale, direction):
    """Return a vector along a direction of scaled features, one within-class deviation long."""
    length = np.linalg.norm(direction)
    unit = direction / length if length > 0 else np.ones_like(scale) / np.sqrt(len(scale))
    return np.std(scaled @ unit) * scale * unit


def _far_steps(X, y, count, size, rng):
    """Return the displacements (count, n) of `scatter`."""
    *_, scale = _within(X, y)
    steps = rng.normal(size=(count, X.shape[1]))
    steps *= np.sqrt(X.shape[1]) / np.linalg.norm(steps, axis=1, keepdims=True)
    return size * rng.uniform(1, 2, size=(count, 1)) * steps * scale


def _rectangle(shape, cover, rng):
    """Return a mask of a rectangle anywhere in an image, with its proportions."""
    height, width = (max(1, min(side, round(side * np.sqrt(cover)))) for side in shape)
    width = max(1, min(shape[1], round(cover * shape[0] * shape[1] / height)))
    top = rng.integers(shape[0] - height + 1)
    left = rng.integers(shape[1] - width + 1)
    mask = np.zeros(shape, dtype=bool)
    mask[top : top + height, left : left + width] = True
    return mask
