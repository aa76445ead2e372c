"""How rows are classified, against NumPy."""

import numpy as np
import pytest

from cappedlda._kernels import judgement

LOG_PRIORS = np.log([0.2, 0.5, 0.3])


@pytest.fixture
def classified(rng):
    distances = 20.0 * rng.random((200, 3))
    return distances, rng.integers(3, size=200).astype(np.int32)


def distances_without(h, i, u, means, covariance, weights, freedom):
    """Squared distances of one row, of which a weight u is taken out of mean and covariance."""
    nu = weights[i] / (weights[i] - u)
    moved = means.copy()
    moved[i] -= (nu - 1.0) * h
    steps = means[i] + h - moved
    rest = covariance - u * nu / freedom * np.outer(h, h)
    return np.einsum("kj,jk->k", steps, np.linalg.solve(rest, steps.T))


@pytest.mark.parametrize("n_rows", [0, 1, 512, 1100], ids="{} rows".format)
@pytest.mark.parametrize("by_row", [False, True])
def test_left_out_distances(rng, n_rows, by_row):
    n, weights, freedom = 64, np.array([300.0, 500.0, 400.0]), 1197.0
    X, codes = rng.normal(size=(n_rows, n)), rng.integers(3, size=n_rows).astype(np.int32)
    means, moves = rng.normal(size=(2, 3, n))
    T = np.triu(rng.normal(size=(n, n)) / n) + np.eye(n)
    left_out = rng.integers(3, size=n_rows) * 0.5
    between = np.sum(((means[:, None] - means) @ T) ** 2, axis=2)
    found = np.empty((n_rows, 3))
    judgement.left_out_distances(
        0, n_rows, X, codes, moves, T, T @ T.T @ means.T, between[codes] if by_row else between,
        by_row, left_out, weights, freedom, 1e-6, found,
    )  # fmt: skip
    covariance = np.linalg.inv(T @ T.T)
    rows = zip(X - moves[codes], codes, left_out, strict=True)
    expected = [distances_without(*row, means, covariance, weights, freedom) for row in rows]
    np.testing.assert_allclose(found, np.reshape(expected, (n_rows, 3)), rtol=1e-9)


def test_distances_of_some_rows_only(rng):
    found = np.full((5, 2), -1.0)
    one, two = np.eye(1), np.ones((2, 1))
    judgement.left_out_distances(
        1, 3, rng.normal(size=(5, 1)), np.zeros(5, np.int32), two, one, two.T, np.zeros((2, 2)),
        False, np.zeros(5), np.ones(2), 1.0, 1e-6, found,
    )  # fmt: skip
    np.testing.assert_array_equal((found >= 0.0).all(axis=1), [False, True, True, False, False])


def test_hits_are_the_rows_of_the_best_class(classified, rng):
    distances, codes = classified
    weights, core = rng.integers(3, size=200) * 0.5, rng.random(200) < 0.7
    hits = np.zeros((2, 3))
    judgement.add_hits(distances, codes, weights, core, LOG_PRIORS, hits)
    right = (LOG_PRIORS - 0.5 * distances).argmax(axis=1) == codes
    expected = [np.bincount(codes, weights * right * of, 3) for of in (~core, core)]
    np.testing.assert_array_equal(hits, expected)


def test_of_equal_scores_the_first_class_wins():
    hits, rows = np.zeros((2, 3)), (np.arange(3, dtype=np.int32), np.ones(3), np.ones(3, bool))
    judgement.add_hits(np.ones((3, 3)), *rows, np.zeros(3), hits)
    np.testing.assert_array_equal(hits, [[0, 0, 0], [1, 0, 0]])


def test_rows_whose_distances_are_no_numbers_are_no_hits():
    hits, rows = np.zeros((2, 2)), (np.zeros(2, np.int32), np.ones(2), np.ones(2, bool))
    judgement.add_hits(np.array([[np.nan, 1.0], [1.0, np.nan]]), *rows, np.zeros(2), hits)
    assert not hits.any()


@pytest.mark.parametrize("sharpness", [0.02, 1.0, 50.0])
def test_log_loss_of_the_core(classified, rng, sharpness):
    distances, codes = classified
    weights, core = rng.integers(3, size=200) * 0.5, rng.random(200) < 0.7
    scores = LOG_PRIORS - 0.5 * sharpness * distances
    own = scores[np.arange(200), codes]
    odds = np.exp(scores - own[:, None])
    expected = weights * core * np.log(odds.sum(axis=1))
    found = np.empty(200)
    rows = distances, codes, weights, core, LOG_PRIORS
    total, slope = judgement.log_loss(*rows, sharpness, found)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(total, expected.sum(), rtol=1e-12)
    steps = 0.5 * (distances[np.arange(200), codes, None] - distances)
    slopes = np.sum(odds * steps, axis=1) / odds.sum(axis=1)
    np.testing.assert_allclose(slope, (weights * core) @ slopes, rtol=1e-12)


@pytest.mark.parametrize(("weight", "inside"), [(0.0, True), (1.0, False)])
def test_rows_that_do_not_count_have_no_loss(classified, weight, inside):
    distances, codes = classified
    distances[0] = np.nan
    weights, core = np.ones(200), np.ones(200, bool)
    weights[0], core[0] = weight, inside
    losses = np.empty(200)
    found = judgement.log_loss(distances, codes, weights, core, LOG_PRIORS, 1.0, losses)
    assert losses[0] == 0.0
    others = distances[1:], codes[1:], np.ones(199), np.ones(199, bool)
    assert found == judgement.log_loss(*others, LOG_PRIORS, 1.0, losses[1:])
