"""Data sets that are drawn or follow from a rule."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy import sparse

from cappedlda._typing import Bools, Floats, Labels, RandomState
from cappedlda._validation import check_count

# Rectangles ((x_low, x_high), (y_low, y_high)) of the two classes, with one height as centre.
_HORIZONTAL = ((0.0, 4.0), (-0.5, 0.5))
_VERTICAL = ((4.5, 5.5), (-2.0, 2.0))
# Outliers fall in the box of all data, enlarged by this factor, outside the box itself.
_OUTLIER_REACH = 3.0
_SHIFT = 2.7  # Mandelbrot's, of ranks
# Each class uses this share of the words this many times as often as the others do.
_TOPIC_SHARE, _TOPIC_BOOST = 0.02, 8.0
_LENGTH_SPREAD = 0.5  # standard deviation of the logarithm of the length of a document
_OUTLIER_LENGTH = 10  # relative to other documents


class ArtificialData(NamedTuple):
    """What `make_artificial` returns."""

    X_train: np.ndarray  # (n_train, 2)
    y_train: np.ndarray  # (n_train,)
    X_test: np.ndarray  # (n_test, 2)
    y_test: np.ndarray  # (n_test,)
    outliers: np.ndarray  # (n_train,), bool


def make_artificial(
    *, n_samples: int = 120, n_outliers: int = 3, random_state: RandomState = None
) -> ArtificialData:
    """Draw the paper's artificial set of two classes in the plane.

    Class 0 is uniform on a rectangle that lies horizontally, [0, 4] x [-0.5, 0.5], class 1
    on one that stands vertically beside it, [4.5, 5.5] x [-2, 2]. The ideal direction is parallel
    to the x axis. A random half of each class is for training, and gets extra outliers, uniform
    on a box three times as wide and high as the data but outside the box of the data.

    The paper describes the set in words only: the sizes and the outliers are our choices.

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
        A tuple of X_train, y_train, X_test, y_test, and outliers, a mask of training rows.

    Examples
    --------
    >>> from cappedlda.paper.datasets import make_artificial
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


def make_waveform(
    n_samples: int = 5000, *, random_state: RandomState = None
) -> tuple[Floats, Labels]:
    """Draw Breiman's waveform data: three classes, 21 features.

    A row is a random convex combination of two of three triangular waves, which two
    being its class, plus Gaussian noise of variance 1 on each feature (Breiman, Friedman, Olshen,
    Stone, "Classification and Regression Trees", 1984, pages 49-55). Classes are equally likely.

    Parameters
    ----------
    n_samples : int, default=5000
    random_state : None, int or numpy.random.Generator
        Source of randomness; an int makes the result reproducible.

    Returns
    -------
    X : ndarray of shape (n_samples, 21)
    y : ndarray of shape (n_samples,)
        Class 0, 1 or 2.

    Examples
    --------
    >>> from cappedlda.paper.datasets import make_waveform
    >>> X, y = make_waveform(random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((5000, 21), [0, 1, 2])
    """
    rng = np.random.default_rng(random_state)
    # Triangular waves with these peaks; the classes are numbered as in UCI's file.
    peaks = np.array([[7.0], [15.0], [11.0]])
    waves = np.maximum(6.0 - np.abs(np.arange(1, 22) - peaks), 0.0)
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    y = rng.integers(3, size=n_samples)
    share = rng.uniform(size=(n_samples, 1))
    first, second = waves[pairs[y, 0]], waves[pairs[y, 1]]
    return share * first + (1.0 - share) * second + rng.normal(size=(n_samples, 21)), y


def make_monks3() -> tuple[Floats, Labels]:
    """Return the third monks' problem: all 432 combinations of six attributes, free of noise.

    A row is in class 1 if attribute 5 is 3 and attribute 4 is 1, or if attribute 5 is
    not 4 and attribute 2 is not 3, counted from 1 (Thrun et al., "The MONK's problems: a
    performance comparison of different learning algorithms", CMU-CS-91-197, 1991).

    Returns
    -------
    X : ndarray of shape (432, 6)
        Attributes with 3, 3, 2, 3, 4 and 2 values, from 1.
    y : ndarray of shape (432,)
        Class 0 or 1.

    Examples
    --------
    >>> from cappedlda.paper.datasets import make_monks3
    >>> X, y = make_monks3()
    >>> X.shape, int(y.sum())
    ((432, 6), 228)
    """
    X = np.array(list(product(*(range(1, count + 1) for count in (3, 3, 2, 3, 4, 2)))), dtype=float)
    second, fourth, fifth = X[:, 1], X[:, 3], X[:, 4]
    y = ((fifth == 3) & (fourth == 1)) | ((fifth != 4) & (second != 3))
    return X, y.astype(np.int64)


class TextData(NamedTuple):
    """What `make_zipf_text` returns."""

    X: sparse.csr_array  # (n_documents, n_words)
    y: Labels  # (n_documents,)
    outliers: Bools  # (n_documents,)


def make_zipf_text(
    n_documents: int = 2000,
    n_words: int = 5000,
    n_classes: int = 5,
    *,
    length: int = 100,
    outlier_share: float = 0.0,
    random_state: RandomState = None,
) -> TextData:
    """Draw documents as bags of words with Zipf's law.

    The word of rank k has a frequency of 1 / (k + 2.7), but each class uses a random 2 % of
    the words, its topic, eight times as often. Outliers are what a broken scanner
    makes of a page: ten times as many words, drawn evenly from the whole vocabulary.

    Parameters
    ----------
    n_documents : int, default=2000
    n_words : int, default=5000
    n_classes : int, default=5
        All are equally likely.
    length : int, default=100
        Mean number of words in a document; lengths vary by a factor of about 1.6.
    outlier_share : float, default=0.0
        Share of the documents that are outliers, on average.
    random_state : None, int or numpy.random.Generator
        Source of randomness; an int makes the result reproducible.

    Returns
    -------
    data : TextData
        A tuple of X, how often each word occurs (a csr_array of shape (n_documents, n_words)), y,
        and outliers, a mask of the documents that do not belong to their class.

    Examples
    --------
    >>> from cappedlda.paper.datasets import make_zipf_text
    >>> data = make_zipf_text(random_state=0)
    >>> data.X.shape, data.X.nnz < 0.02 * 2000 * 5000
    ((2000, 5000), True)
    """
    for name, value in (("n_documents", n_documents), ("n_words", n_words), ("length", length)):
        check_count(name, value, 1, np.inf, "use a positive integer")
    check_count("n_classes", n_classes, 1, n_documents, "use 1 to n_documents")
    if not 0.0 <= outlier_share <= 1.0:
        raise ValueError(f"outlier_share={outlier_share!r} is out of range; use 0 to 1.")
    rng = np.random.default_rng(random_state)
    y = rng.integers(n_classes, size=n_documents)
    outliers = rng.random(n_documents) < outlier_share
    means = length * rng.lognormal(-0.5 * _LENGTH_SPREAD**2, _LENGTH_SPREAD, n_documents)
    lengths = rng.poisson(np.where(outliers, _OUTLIER_LENGTH, 1) * means)
    documents = np.repeat(np.arange(n_documents, dtype=np.int32), lengths)
    words = np.empty(len(documents), np.int32)
    for label in range(n_classes):
        frequencies = 1.0 / (np.arange(n_words) + _SHIFT)
        frequencies[rng.random(n_words) < _TOPIC_SHARE] *= _TOPIC_BOOST
        own = np.repeat(y == label, lengths)
        words[own] = _draw(frequencies, own.sum(), rng)
    strange = np.repeat(outliers, lengths)
    words[strange] = rng.integers(n_words, size=strange.sum())
    entries = (np.ones(len(words)), (documents, words))
    return TextData(sparse.coo_array(entries, (n_documents, n_words)).tocsr(), y, outliers)


def _draw(frequencies, size, rng):
    shares = np.cumsum(frequencies)
    return np.searchsorted(shares / shares[-1], rng.random(size), side="right")
