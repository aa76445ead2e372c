"""How rows are classified, against NumPy."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from cappedlda._kernels import loo

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
    loo.left_out_distances(
        X, codes, moves, T, T @ T.T @ means.T, between[codes] if by_row else between,
        by_row, left_out, weights, freedom, 1e-6, found, 0, n_rows,
    )  # fmt: skip
    covariance = np.linalg.inv(T @ T.T)
    rows = zip(X - moves[codes], codes, left_out, strict=True)
    expected = [distances_without(*row, means, covariance, weights, freedom) for row in rows]
    np.testing.assert_allclose(found, np.reshape(expected, (n_rows, 3)), rtol=1e-9)


def test_distances_of_some_rows_only(rng):
    found = np.full((5, 2), -1.0)
    one, two = np.eye(1), np.ones((2, 1))
    loo.left_out_distances(
        rng.normal(size=(5, 1)), np.zeros(5, np.int32), two, one, two.T, np.zeros((2, 2)),
        False, np.zeros(5), np.ones(2), 1.0, 1e-6, found, 1, 3,
    )  # fmt: skip
    np.testing.assert_array_equal((found >= 0.0).all(axis=1), [False, True, True, False, False])


def test_hits_are_the_rows_of_the_best_class(classified, rng):
    distances, codes = classified
    weights = rng.integers(3, size=200) * 0.5
    right = (LOG_PRIORS - 0.5 * distances).argmax(axis=1) == codes
    assert 0.0 < weights @ right < weights.sum()
    assert loo.hits(distances, codes, weights, LOG_PRIORS) == weights @ right


@pytest.mark.parametrize(("code", "hit"), [(0, 1.0), (1, 0.0), (2, 0.0)])
def test_of_equal_scores_the_first_class_wins(code, hit):
    codes = np.full(1, code, np.int32)
    assert loo.hits(np.ones((1, 3)), codes, np.ones(1), np.zeros(3)) == hit


@pytest.mark.parametrize("distances", [[np.nan, 1.0], [1.0, np.nan]])
def test_rows_whose_distances_are_no_numbers_are_no_hits(distances):
    assert loo.hits(np.array([distances]), np.zeros(1, np.int32), np.ones(1), np.zeros(2)) == 0.0


@pytest.mark.parametrize("sharpness", [0.02, 1.0, 50.0])
def test_log_loss_and_how_it_grows_with_the_sharpness(classified, rng, sharpness):
    distances, codes = classified
    weights = rng.integers(3, size=200) * 0.5
    scores = LOG_PRIORS - 0.5 * sharpness * distances
    own = np.arange(200), codes
    losses, probabilities = -log_softmax(scores, axis=1)[own], softmax(scores, axis=1)
    total, slope = loo.log_loss(distances, codes, weights, LOG_PRIORS, sharpness)
    assert total == pytest.approx(weights @ losses, rel=1e-12)
    slopes = 0.5 * (distances[own] - np.sum(probabilities * distances, axis=1))
    assert slope == pytest.approx(weights @ slopes, rel=1e-12)


def test_rows_of_no_weight_have_no_loss(classified):
    distances, codes = classified
    distances[0], weights = np.nan, np.ones(200)
    weights[0] = 0.0
    found = loo.log_loss(distances, codes, weights, LOG_PRIORS, 1.0)
    assert np.isfinite(found).all()
    assert found == loo.log_loss(distances[1:], codes[1:], weights[1:], LOG_PRIORS, 1.0)


def test_the_loss_of_distances_that_are_no_numbers_is_none_either(classified):
    distances, codes = classified
    distances[3, 1] = np.nan
    assert np.isnan(loo.log_loss(distances, codes, np.ones(200), LOG_PRIORS, 1.0)).all()
