"""How rows are classified, against NumPy."""

import numpy as np
import pytest

from cappedlda._kernels import judgement

LOG_PRIORS = np.log([0.2, 0.5, 0.3])


@pytest.fixture
def classified(rng):
    distances = 20.0 * rng.random((200, 3))
    return distances, rng.integers(3, size=200).astype(np.int32)


def test_hits_are_the_rows_of_the_best_class(classified):
    distances, codes = classified
    hits = np.empty(200, np.uint8)
    judgement.mark_hits(distances, codes, LOG_PRIORS, hits)
    expected = (LOG_PRIORS - 0.5 * distances).argmax(axis=1) == codes
    np.testing.assert_array_equal(hits == 1, expected)


def test_of_equal_scores_the_first_class_wins():
    hits = np.empty(3, np.uint8)
    judgement.mark_hits(np.ones((3, 3)), np.arange(3, dtype=np.int32), np.zeros(3), hits)
    np.testing.assert_array_equal(hits, [1, 0, 0])


@pytest.mark.parametrize("sharpness", [0.02, 1.0, 50.0])
def test_log_loss(classified, rng, sharpness):
    distances, codes = classified
    weights = rng.integers(3, size=200) * 0.5
    scores = LOG_PRIORS - 0.5 * sharpness * distances
    own = scores[np.arange(200), codes]
    expected = np.log(np.exp(scores - own[:, None]).sum(axis=1))
    losses = np.empty(200)
    found = judgement.log_loss(distances, codes, weights, LOG_PRIORS, sharpness, losses)
    np.testing.assert_allclose(found, weights @ expected, rtol=1e-12)
    np.testing.assert_allclose(losses, expected * (weights > 0.0), rtol=1e-12)


def test_rows_of_no_weight_have_no_loss(classified):
    distances, codes = classified
    distances[0] = np.nan
    weights = np.arange(200) > 0
    losses, others = np.empty(200), np.empty(199)
    found = judgement.log_loss(distances, codes, weights * 1.0, LOG_PRIORS, 1.0, losses)
    rest = distances[1:], codes[1:], np.ones(199)
    assert found == judgement.log_loss(*rest, LOG_PRIORS, 1.0, others)
    np.testing.assert_array_equal(losses, np.append(0.0, others))
