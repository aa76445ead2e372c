"""Rows that are far off, of other shape, or of the wrong class."""

from __future__ import annotations

import numpy as np

from cappedlda._typing import ArrayLike, RandomState
from cappedlda.noise._common import Contaminated, choose_rows, one_deviation, prepare, within


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
        Samples and their class labels.
    share : float, default=0.1
        Of the rows of each class, from 0 to 1.
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
    >>> int(touched.sum())
    20
    >>> bool(np.all(np.linalg.norm(X_new - X, axis=1)[touched] > 10))
    True
    """
    X, y, rng = prepare(X, y, random_state)
    touched = choose_rows(y, share, rng)
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
        Samples and their class labels, of at least two classes.
    share : float, default=0.1
        Of the rows of each class, from 0 to 1.
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
    X, y, rng = prepare(X, y, random_state)
    touched = choose_rows(y, share, rng)
    labels, means, scaled, scale = within(X, y)
    if len(labels) < 2:
        raise ValueError("leverage needs at least two classes in y, got one.")
    for i, label in enumerate(labels):
        step = means[(i + 1) % len(labels)] - means[i]
        step = step + size * one_deviation(scaled, scale, step / scale)
        X[touched & (y == label)] += step
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
        Samples and their class labels.
    share : float, default=0.1
        Of the rows of each class, from 0 to 1.
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
    X, y, rng = prepare(X, y, random_state)
    touched = choose_rows(y, share, rng)
    labels, means, scaled, scale = within(X, y)
    for mean, label in zip(means, labels, strict=True):
        rows = touched & (y == label)
        step = size * one_deviation(scaled, scale, rng.normal(size=X.shape[1]))
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
        Samples and their class labels.
    share : float, default=1.0
        Of the rows of each class, from 0 to 1.
    df : float, default=1.0
        Degrees of freedom; smaller is wilder.
    random_state : None, int, numpy.random.Generator or RandomState

    Returns
    -------
    X_new, y_new : ndarray of shape (N, n) and (N,)
    touched : ndarray of bool, shape (N,)
        The changed rows. Not all of them are outliers: many change little.

    Examples
    --------
    >>> import numpy as np
    >>> from cappedlda.noise import heavy_tails
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> X_new, _, touched = heavy_tails(X, np.zeros(1000), random_state=0)
    >>> bool(touched.all()), bool(abs(X_new).max() > 100)
    (True, True)
    """
    X, y, rng = prepare(X, y, random_state)
    touched = choose_rows(y, share, rng)
    labels, means, _, _ = within(X, y)
    centres = means[np.searchsorted(labels, y[touched])]
    factors = np.sqrt(df / rng.chisquare(df, size=len(centres)))
    X[touched] = centres + (X[touched] - centres) * factors[:, None]
    return X, y, touched


def swap_labels(
    X: ArrayLike,
    y: ArrayLike,
    *,
    share: float = 0.1,
    random_state: RandomState = None,
) -> Contaminated:
    """Give rows the label of another class, drawn uniformly from the other classes.

    Parameters
    ----------
    X, y : array-like of shape (N, n) and (N,)
        Samples, of which a copy is returned, and their labels, of at least two classes.
    share : float, default=0.1
        Of the rows of each class, from 0 to 1.
    random_state : None, int, numpy.random.Generator or RandomState

    Returns
    -------
    X_new, y_new : ndarray of shape (N, n) and (N,)
    touched : ndarray of bool, shape (N,)
        The rows whose label is now wrong.

    Examples
    --------
    >>> import numpy as np
    >>> from cappedlda.noise import swap_labels
    >>> y = np.repeat(["a", "b"], 5)
    >>> _, y_new, touched = swap_labels(np.zeros((10, 1)), y, share=0.2, random_state=0)
    >>> bool(np.array_equal(y_new != y, touched)), int(touched.sum())
    (True, 2)
    """
    X, y, rng = prepare(X, y, random_state)
    touched = choose_rows(y, share, rng)
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
        Samples and their class labels.
    share : float, default=0.4
        Share of the rows of the dirty class that is touched, from 0 to 1.
    label : scalar, optional
        The dirty class; None takes the first one.
    others : float, default=0.0
        Share of the rows of each other class that is touched.
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
    X, y, rng = prepare(X, y, random_state)
    label = y.min() if label is None else label
    if not np.any(y == label):
        raise ValueError(f"label={label!r} is not a class of y; choose one of its values.")
    dirty = y == label
    touched = choose_rows(y, share, rng) & dirty
    touched |= choose_rows(y, others, rng) & ~dirty
    X[touched] += _far_steps(X, y, int(touched.sum()), size, rng)
    return X, y, touched


def _far_steps(X, y, count, size, rng):
    """Displacements (count, n) of `scatter`: random directions, mean square (t * size)**2."""
    scale = within(X, y)[3]
    steps = rng.normal(size=(count, X.shape[1]))
    steps *= np.sqrt(X.shape[1]) / np.linalg.norm(steps, axis=1, keepdims=True)
    return size * rng.uniform(1, 2, size=(count, 1)) * steps * scale
