"""The data sets of the paper."""

from typing import NamedTuple

import numpy as np

__all__ = ["ArtificialData", "make_artificial"]

# Rectangles ((x_low, x_high), (y_low, y_high)) of the two classes. The paper gives words
# only: one class lies horizontally, the other vertically, and the ideal direction is
# parallel to the x axis. So both have the same height as centre, and a gap in x parts them.
_HORIZONTAL = ((0.0, 4.0), (-0.5, 0.5))
_VERTICAL = ((4.5, 5.5), (-2.0, 2.0))
# Where the paper puts its outliers can be seen in its figure only, which is not to be had.
# They fall anywhere in the box of all data enlarged so many times, outside the data's own.
_OUTLIER_REACH = 3.0


class ArtificialData(NamedTuple):
    """A draw of the artificial set: training and test part, and which training rows are outliers.

    Attributes
    ----------
    X_train : ndarray of shape (n_train, 2)
    y_train : ndarray of shape (n_train,)
    X_test : ndarray of shape (n_test, 2)
    y_test : ndarray of shape (n_test,)
    outliers : ndarray of shape (n_train,), bool
    """

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    outliers: np.ndarray


def make_artificial(*, n_samples=120, n_outliers=3, random_state=None):
    """Draw the paper's artificial set of two classes in the plane.

    Class 0 is uniform on a rectangle that lies horizontally, [0, 4] x [-0.5, 0.5], class 1
    on one that stands vertically beside it, [4.5, 5.5] x [-2, 2]. Half of each class, at
    random, is for training, the other half for testing; the training part gets extra
    outliers of each class. The ideal direction is parallel to the x axis.

    The paper describes the set in words only: the sizes of the rectangles, and outliers
    that are uniform on a box three times as wide and high as the data but outside the
    box of the data, are choices of this library.

    Parameters
    ----------
    n_samples : int, default=120
        Rows per class, training and test part together.
    n_outliers : int, default=3
        Extra training rows per class.
    random_state : None, int or numpy.random.Generator
        Source of randomness; an int makes the result reproducible.

    Returns
    -------
    data : ArtificialData

    Examples
    --------
    >>> from cappedlda.datasets import make_artificial
    >>> data = make_artificial(random_state=0)
    >>> data.X_train.shape, data.X_test.shape, int(data.outliers.sum())
    ((126, 2), (120, 2), 6)
    """
    rng = np.random.default_rng(random_state)
    n_train = n_samples // 2
    train, test = [], []
    for rectangle in (_HORIZONTAL, _VERTICAL):
        samples = rng.permutation(_uniform(rectangle, n_samples, rng))
        train += [samples[:n_train], _outliers(n_outliers, rng)]
        test.append(samples[n_train:])
    parts = np.array([n_train, n_outliers])
    return ArtificialData(
        X_train=np.concatenate(train),
        y_train=np.repeat([0, 1], parts.sum()),
        X_test=np.concatenate(test),
        y_test=np.repeat([0, 1], n_samples - n_train),
        outliers=np.tile(np.repeat([False, True], parts), 2),
    )


def _uniform(rectangle, n_samples, rng):
    low, high = np.transpose(rectangle)
    return rng.uniform(low, high, size=(n_samples, 2))


def _outliers(n_samples, rng):
    """Return points of the enlarged box that are not in the box of the data."""
    corners = np.hstack([_HORIZONTAL, _VERTICAL])
    low, high = corners.min(axis=1), corners.max(axis=1)
    centre, reach = (low + high) / 2.0, _OUTLIER_REACH * (high - low) / 2.0
    chosen = np.empty((0, 2))
    while len(chosen) < n_samples:
        points = rng.uniform(centre - reach, centre + reach, size=(n_samples, 2))
        outside = np.any((points < low) | (points > high), axis=1)
        chosen = np.concatenate([chosen, points[outside]])
    return chosen[:n_samples]
