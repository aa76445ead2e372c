"""No parameter is silently ignored: every pair of other values acts, or is refused."""

from itertools import combinations

import numpy as np
import pytest
from common import make_classes, spoil

from cappedlda import CappedLDA, CappedNormLDA

# Other values than the defaults, of all that should change the answer: `n_jobs` and `verbose` must
# not, `random_state`, `tol` and `max_iter` need not.
CAPPED = {
    "n_components": [1],
    "epsilon": [2.5, np.inf],
    "leave_out": ["flagged"],
    "shrinkage": ["auto", "agreement", 0.3, None],
    "priors": ["uniform", [0.2, 0.3, 0.5]],
    "cells": ["all"],
    "missing": ["ignore"],
    "label_noise": [0.1],
}
NORM = {
    "n_components": [1],
    "q": [0.5, 2.0],
    "epsilon": [4.0, np.inf],
    "centres": ["mean"],
    "start": ["identity", np.eye(20, 2)[::-1]],
    "ridge": [0.1],
    "priors": ["uniform", [0.2, 0.3, 0.5]],
}


def pairs(values):
    for (first, some), (second, others) in combinations(values.items(), 2):
        for one in some:
            for other in others:
                yield {first: one, second: other}


@pytest.fixture(scope="module")
def rows():
    """Fewer than five rows per feature, some far off, others harmful but not far enough to flag.

    With this seed enough rows are kept for labels to be judged, 20 per class.
    """
    rng = np.random.default_rng(11)
    X, y = make_classes(rng, [24, 34, 30], 20, spread=0.7)
    X += rng.standard_t(2.0, size=X.shape)
    return spoil(rng, X, np.arange(len(y)) % 12 == 0), y


def answer(estimator, rows):
    """All that a fit gives, in one array."""
    model = estimator.fit(*rows)
    names = "scalings_", "coef_", "intercept_", "means_", "weights_", "caps_"
    fitted = [getattr(model, name).ravel() for name in names]
    return np.concatenate([*fitted, *predictions(model)])


def predictions(model):
    """Scores of a row with a wrong cell and of one with a missing cell, inf if it is refused."""
    new = model.means_[:2].copy()
    new[0, 0], new[1, 0] = 1e3, np.nan
    for row in new:
        try:
            yield model.decision_function(row[None]).ravel()
        except ValueError:
            yield np.full(len(model.classes_), np.inf)


def differ(some, others):
    """Whether two answers differ by more than rounding."""
    return len(some) != len(others) or not np.allclose(some, others, rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("pair", list(pairs(CAPPED)), ids=str)
def test_pairs_of_capped_lda(rows, pair):
    if "leave_out" in pair and pair.get("epsilon", "auto") != "auto":
        words = f"leave_out='flagged' has no effect with epsilon={pair['epsilon']!r}, .*use epsilon"
        with pytest.raises(ValueError, match=words):
            CappedLDA(**pair).fit(*rows)
        return
    if "label_noise" in pair and pair.get("epsilon") == np.inf:
        with pytest.raises(ValueError, match="label_noise=0.1 does not work with epsilon=inf"):
            CappedLDA(**pair).fit(*rows)
        return
    both = answer(CappedLDA(**pair), rows)
    for name, value in pair.items():
        assert differ(both, answer(CappedLDA(**{name: value}), rows))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("pair", list(pairs(NORM)), ids=str)
def test_pairs_of_the_norm(rows, pair):
    if pair == {"epsilon": np.inf, "centres": "mean"}:
        with pytest.raises(ValueError, match="centres='mean' has no effect with epsilon=inf"):
            CappedNormLDA(**pair).fit(*rows)
        return
    both = answer(CappedNormLDA(**pair), rows)
    for name, value in pair.items():
        assert differ(both, answer(CappedNormLDA(**{name: value}), rows))


@pytest.mark.parametrize("value", [True, False])
def test_a_flag_is_no_rate_of_wrong_labels(rows, value):
    words = f'label_noise={value} must be a number; use None, "auto" or a rate'
    with pytest.raises(TypeError, match=words):
        CappedLDA(label_noise=value).fit(*rows)
