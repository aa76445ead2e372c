"""A generator of sparse data that are as texts are: few words are frequent, most are rare."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from cappedlda._typing import Bools, Labels, RandomState
from cappedlda._validation import check_count

# Zipf's law with Mandelbrot's shift: the word of rank k has a frequency of 1 / (k + 2.7).
_SHIFT = 2.7
# Each class uses this share of the words this many times as often as the others do.
_TOPIC_SHARE, _TOPIC_BOOST = 0.02, 8.0
# Lengths of documents vary by about this factor.
_LENGTH_SPREAD = 0.5
# Documents that do not belong are longer, and lack frequent words.
_OUTLIER_LENGTH = 10


class TextData(NamedTuple):
    """Counts of words in documents.

    Attributes
    ----------
    X : csr_array of shape (n_documents, n_words)
        How often each word occurs.
    y : ndarray of shape (n_documents,)
        Class of each document.
    outliers : ndarray of shape (n_documents,), bool
        Documents that do not belong to their class.
    """

    X: sparse.csr_array
    y: Labels
    outliers: Bools


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
    """Return words with some frequencies."""
    shares = np.cumsum(frequencies)
    return np.searchsorted(shares / shares[-1], rng.random(size), side="right")
