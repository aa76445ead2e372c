"""The small linear algebra of the solvers."""

import numpy as np
import pytest
import reference
from common import angle
from scipy import linalg

from cappedlda._metrics.linalg import (
    between_factor,
    constrained_minimiser,
    eigh,
    eigh_whitener,
    fix_signs,
    leading_directions,
    order_by_discrimination,
    pinv_psd,
    quietest_directions,
    rank_of,
    solve,
    solve_spd,
)


@pytest.fixture
def spd(rng):
    """Well-conditioned SPD matrix A (8, 8)."""
    root = rng.normal(size=(8, 30))
    return root @ root.T / 30


@pytest.fixture
def between(rng):
    """B (8, 4) of rank 3, as the deviations of 4 class means are."""
    priors = np.array([0.1, 0.2, 0.3, 0.4])
    return between_factor(rng.normal(size=(4, 8)), priors, np.ones(8))


def test_between_factor_matches_reference(rng):
    centres, scale = rng.normal(size=(3, 5)), rng.uniform(0.5, 2, size=5)
    priors = rng.dirichlet(np.ones(3))
    B = between_factor(centres, priors, scale)
    np.testing.assert_allclose(B, reference.between_factor(centres, priors, scale), rtol=1e-13)
    np.testing.assert_allclose(B @ np.sqrt(priors), 0.0, atol=1e-14)


def test_more_classes_than_features_have_a_factor_of_as_many_columns_as_features(rng):
    centres, scale = rng.normal(size=(9, 3)), rng.uniform(0.5, 2, size=3)
    priors = rng.dirichlet(np.ones(9))
    B, wide = (
        between_factor(centres, priors, scale),
        reference.between_factor(centres, priors, scale),
    )
    assert B.shape == (3, 3)
    np.testing.assert_allclose(B @ B.T, wide @ wide.T, rtol=1e-12)


def test_rank(between):
    assert rank_of(between) == 3
    assert rank_of(np.zeros((4, 3))) == 0
    assert rank_of(1e-200 * between) == 3


def test_solve_spd_solves_and_names_the_remedy(spd, between):
    np.testing.assert_allclose(spd @ solve_spd(spd, between), between, atol=1e-12)
    with pytest.raises(linalg.LinAlgError, match="CappedNormLDA with a larger ridge"):
        solve_spd(-spd, between)


def test_solve_matches_numpy_and_refuses_a_singular_matrix(rng):
    A, B = rng.normal(size=(4, 4)), rng.normal(size=(4, 2))
    np.testing.assert_allclose(solve(A, B), np.linalg.solve(A, B), rtol=1e-12)
    with pytest.raises(linalg.LinAlgError, match="singular"):
        solve(np.ones((2, 2)), np.ones((2, 1)))


def test_eigh_gives_ascending_values_and_refuses_what_is_not_a_number(spd):
    values, vectors = eigh(spd)
    assert np.all(np.diff(values) > 0.0)
    np.testing.assert_allclose((vectors * values) @ vectors.T, spd, atol=1e-12 * values[-1])
    with pytest.raises(linalg.LinAlgError, match="not found"):
        eigh(np.full((3, 3), np.nan))


def test_pinv_psd_matches_numpy(rng):
    root = rng.normal(size=(6, 3))
    C = root @ root.T
    np.testing.assert_allclose(pinv_psd(C), np.linalg.pinv(C, rcond=1e-9), atol=1e-10)
    np.testing.assert_array_equal(pinv_psd(np.zeros((3, 3))), np.zeros((3, 3)))


def test_constrained_minimiser_is_feasible_and_best(rng, spd, between):
    W0 = rng.normal(size=(8, 3))
    K = W0.T @ between
    W = constrained_minimiser(solve_spd(spd, between), between, K)
    np.testing.assert_allclose(W.T @ between, K, atol=1e-12)
    least = np.trace(W.T @ spd @ W)
    # Every feasible point is W plus columns that B does not see.
    free = linalg.null_space(between.T, rcond=1e-10)
    assert free.shape == (8, 5)
    for size in (1e-3, 1e-1, 10.0):
        for _ in range(20):
            other = W + size * free @ rng.normal(size=(5, 3))
            np.testing.assert_allclose(other.T @ between, K, atol=1e-11)
            assert np.trace(other.T @ spd @ other) > least
    np.testing.assert_allclose(free.T @ spd @ W, 0.0, atol=1e-12)


def test_leading_directions_solve_the_generalised_eigenproblem(spd, between):
    W = leading_directions(solve_spd(spd, between), between)
    values, vectors = linalg.eigh(between @ between.T, spd)
    assert W.shape == (8, 3)
    np.testing.assert_allclose(W.T @ spd @ W, np.eye(3), atol=1e-12)
    found = np.diag(W.T @ between @ between.T @ W)
    np.testing.assert_allclose(found, values[::-1][:3], rtol=1e-10)
    for k in range(3):
        assert angle(W[:, : k + 1], vectors[:, ::-1][:, : k + 1]) < 1e-7


def test_whitener_whitens(spd):
    R = eigh_whitener(spd)
    np.testing.assert_allclose(R.T @ spd @ R, np.eye(8), atol=1e-12)


def test_whitener_stays_finite_without_variance():
    R = eigh_whitener(np.diag([4.0, 0.0]))
    assert np.isfinite(R).all()
    np.testing.assert_allclose(R.T @ np.diag([4.0, 0.0]) @ R, np.diag([0.0, 1.0]), atol=1e-12)
    R = eigh_whitener(np.zeros((3, 3)))
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)


def test_order_puts_the_best_direction_first(rng, spd):
    images = rng.normal(size=(8, 3))
    V, values = order_by_discrimination(spd, images)
    np.testing.assert_allclose(V.T @ spd @ V, np.eye(8), atol=1e-11)
    spread = V.T @ images @ images.T @ V
    np.testing.assert_allclose(spread, np.diag(values), atol=1e-10)
    expected = linalg.eigh(images @ images.T, spd, eigvals_only=True)[::-1]
    np.testing.assert_allclose(values, expected, atol=1e-10)
    assert np.all(np.diff(values) <= 1e-12)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_quietest_directions_do_not_see_the_means(rng, spd, between, count):
    V = quietest_directions(spd, between, count)
    assert V.shape == (8, count)
    np.testing.assert_allclose(between.T @ V, 0.0, atol=1e-12)
    np.testing.assert_allclose(V.T @ spd @ V, np.eye(count), atol=1e-11)
    # Of least scatter per length among all directions that do not see the means.
    free = linalg.null_space(between.T, rcond=1e-10)
    least = linalg.eigh(free.T @ spd @ free, eigvals_only=True)[:count]
    np.testing.assert_allclose(1 / np.sum(V**2, axis=0), least, rtol=1e-10)


def test_signs_make_the_largest_entry_positive(rng):
    W = rng.normal(size=(6, 4))
    fixed = fix_signs(W)
    largest = np.argmax(np.abs(W), axis=0)
    assert np.all(fixed[largest, np.arange(4)] > 0)
    np.testing.assert_array_equal(np.abs(fixed), np.abs(W))
    np.testing.assert_array_equal(fix_signs(-W), fixed)
    np.testing.assert_array_equal(fix_signs(np.zeros((2, 2))), np.zeros((2, 2)))


def test_quietest_directions_of_no_scatter_are_finite():
    A = np.diag([2.0, 1.0, -1e-17])  # what rounding leaves of a direction without scatter
    B = np.eye(3)[:, :2]
    found = quietest_directions(A, B, 1)
    np.testing.assert_allclose(np.abs(found), [[0.0], [0.0], [1.0]], atol=1e-12)
