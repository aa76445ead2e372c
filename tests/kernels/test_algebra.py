"""The compiled steps on small matrices, against the same in NumPy."""

import numpy as np
import pytest
from scipy import linalg

from cappedlda._data.record import Record
from cappedlda._metrics import linalg as metrics_linalg
from cappedlda._metrics.frame import kept_covariance
from cappedlda._metrics.linalg import (
    RANK_CUTOFF,
    between_factor,
    cholesky,
    constrained_minimiser,
    eigh,
    eigh_whitener,
    fix_signs,
    leading_directions,
    order_by_discrimination,
    pinv_psd,
    ridged,
    solve_on_range,
    solve_spd,
    triangular_whitener,
    typical_length,
)
from cappedlda._metrics.plain import NO_DEVIATION, NO_VARIANCE, units_of
from cappedlda._rules.rule import Query

SIZES = [1, 2, 3, 7, 40]


def semi_definite(rng, n, rank):
    root = rng.normal(size=(n, rank))
    return root @ root.T


def pseudo_inverse(C):
    return np.linalg.pinv(C, rcond=RANK_CUTOFF, hermitian=True)


def other_layouts(array):
    """Return views of equal arrays that are not C-ordered."""
    wide = np.zeros((2 * array.shape[0], 3 * array.shape[1]))
    wide[::2, ::3] = array
    return np.asfortranarray(array), wide[::2, ::3]


def record_of(rng, n, d, weights):
    """Return a record with random sums, and the centres of its pass."""
    c = len(weights)
    centres = rng.normal(size=(c, n))
    caps = np.full(c, np.inf)
    record = Record.empty(Query(rng.normal(size=(n, d)), centres, np.ones(n), caps, 2.0, 0.0))
    record.kept[:, 1] = weights
    kept = record.kept[:, 1:] > 0.0
    record.scatter += 100.0 * semi_definite(rng, n, n)
    record.image_scatter += 100.0 * semi_definite(rng, d, d)
    record.sums += rng.normal(size=(c, n)) * kept
    record.image_sums += rng.normal(size=(c, d)) * kept
    return record, centres


@pytest.mark.parametrize("n", SIZES)
def test_eigenvectors_are_those_of_numpy(rng, n):
    C = semi_definite(rng, n, n)
    values, vectors = eigh(C)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(C), atol=1e-12 * values[-1])
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n), atol=1e-12)
    np.testing.assert_allclose(C @ vectors, vectors * values, atol=1e-12 * values[-1])


@pytest.mark.parametrize(
    ("n", "c", "rank"), [(1, 2, 1), (4, 3, 2), (3, 5, 3), (6, 4, 1), (60, 9, 8)]
)
def test_minimiser_and_leading_directions_match_their_formulas(rng, n, c, rank):
    A = semi_definite(rng, n, n + 5)
    B = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, c))
    Y = np.linalg.solve(A, B)
    K = rng.normal(size=(2, n)) @ B
    expected = Y @ pseudo_inverse(B.T @ Y) @ K.T
    size = np.abs(expected).max()
    for given in (B, *other_layouts(B)):
        W = constrained_minimiser(solve_spd(A, given), given, np.asfortranarray(K))
        np.testing.assert_allclose(W, expected, atol=1e-8 * size)
        leading = leading_directions(solve_spd(A, given), given)
        assert leading.shape == (n, rank)
        np.testing.assert_allclose(leading.T @ A @ leading, np.eye(rank), atol=1e-8)
        strengths = np.diag(leading.T @ B @ B.T @ leading)
        expected_strengths = linalg.eigh(B @ B.T, A, eigvals_only=True)[::-1][:rank]
        np.testing.assert_allclose(strengths, expected_strengths, rtol=1e-7)


def test_nothing_leads_where_all_means_coincide(spd):
    B = np.zeros((4, 3))
    assert leading_directions(solve_spd(spd, B), B).shape == (4, 0)
    W = constrained_minimiser(solve_spd(spd, B), B, np.zeros((2, 3)))
    np.testing.assert_array_equal(W, np.zeros((4, 2)))


def test_a_matrix_of_no_rows_has_nothing_in_it():
    empty = np.zeros((0, 0))
    assert pinv_psd(empty).shape == (0, 0)
    assert eigh(empty)[0].shape == (0,)
    assert eigh_whitener(empty).shape == (0, 0)


@pytest.fixture
def spd(rng):
    """Symmetric positive definite matrix (4, 4)."""
    return semi_definite(rng, 4, 9)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("rank", [1, 40])
def test_whitener_matches_numpy(rng, n, rank):
    C = semi_definite(rng, n, min(n, rank))
    values, vectors = np.linalg.eigh(C)
    lengths = np.sqrt(np.maximum(values, RANK_CUTOFF * values[-1]))
    expected = (vectors / lengths) @ (vectors / lengths).T  # the same for any signs
    for given in (C, *other_layouts(C)):
        R = eigh_whitener(given)
        np.testing.assert_allclose(R @ R.T, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("n", SIZES)
def test_order_matches_the_generalised_eigenproblem(rng, n):
    C, images = semi_definite(rng, n, n + 5), rng.normal(size=(n, 3))
    expected = linalg.eigh(images @ images.T, C, eigvals_only=True)[::-1]
    for given in (images, *other_layouts(images)):
        V, strengths = order_by_discrimination(C, given)
        np.testing.assert_allclose(V.T @ C @ V, np.eye(n), atol=1e-9)
        np.testing.assert_allclose(strengths, expected, atol=1e-9 * expected[0])
        spread = V.T @ images @ images.T @ V
        np.testing.assert_allclose(spread, np.diag(strengths), atol=1e-9 * expected[0])
        assert strengths.min() >= 0.0


@pytest.mark.parametrize("shape", [(1, 1), (5, 2)])
def test_typical_length_is_a_geometric_mean(rng, shape):
    R = rng.normal(size=shape)
    expected = np.prod(np.linalg.norm(R, axis=0)) ** (1.0 / shape[1])
    assert typical_length(R) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("shape", [(1, 1), (6, 4), (3, 0)])
def test_signs_are_fixed_in_any_layout(rng, shape):
    W = rng.normal(size=shape)
    signs = [np.sign(column[np.argmax(np.abs(column))]) for column in W.T]
    before = W.copy()
    for given in (W, *other_layouts(W)):
        np.testing.assert_array_equal(fix_signs(given), W * signs)
    np.testing.assert_array_equal(W, before)


def test_the_first_of_equal_entries_decides_the_sign():
    W = np.array([[-1.0, 1.0, 0.0], [1.0 + 1e-12, -1.0, -0.0]])
    np.testing.assert_array_equal(fix_signs(W)[0], [1.0, 1.0, 0.0])
    with_nan = np.array([[-1.0, 2.0], [np.nan, -3.0]])
    np.testing.assert_array_equal(fix_signs(with_nan), [[1.0, -2.0], [np.nan, 3.0]])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("n", [2, 5])
def test_what_is_not_finite_is_an_error_or_not_finite(bad, n):
    C, B = np.full((n, n), bad), np.full((n, 3), bad)
    for result in (
        lambda: eigh(C)[0],
        lambda: eigh_whitener(C),
        lambda: order_by_discrimination(C, B)[1],
        lambda: order_by_discrimination(np.eye(n), B)[1],
        lambda: constrained_minimiser(B, B, np.ones((2, 3))),
    ):
        try:
            assert not np.isfinite(result()).all()
        except linalg.LinAlgError as error:
            assert "scale it" in str(error)  # noqa: PT017


@pytest.mark.parametrize("function", [eigh, eigh_whitener])
def test_a_single_number_that_is_not_one_has_no_eigenvalue(function):
    with pytest.raises(linalg.LinAlgError, match="scale it"):
        function(np.array([[np.nan]]))


@pytest.mark.parametrize(("n", "d"), [(1, 1), (4, 2), (30, 7)])
@pytest.mark.parametrize("weights", [[5.0, 8.0, 3.0], [5.0, 0.0]])
def test_means_and_covariances_of_a_record(rng, n, d, weights):
    record, centres = record_of(rng, n, d, weights)
    kept = np.maximum(record.kept[:, 1:], np.finfo(float).tiny)
    between = (record.image_sums / kept).T @ record.image_sums
    expected = (record.image_scatter - between) / sum(weights)
    np.testing.assert_allclose(kept_covariance(record), expected, rtol=1e-12, atol=1e-12)
    halved = kept_covariance(record, consistency=2.0)
    np.testing.assert_allclose(halved, 0.5 * expected, rtol=1e-12, atol=1e-12)

    scale = rng.uniform(0.5, 2.0, n)
    means = centres + record.sums / kept
    np.testing.assert_allclose(record.means(centres), means, rtol=1e-14)
    moves = (means - centres) / scale
    scatter = record.scatter - 2.0 * (moves * np.array(weights)[:, None]).T @ moves
    for given in (centres, *other_layouts(centres)):
        moved, _ = record_of(rng, n, d, weights)
        moved.scatter, moved.sums = record.scatter.copy(), record.sums
        moments = moved.moments(given, scale).recentred()
        np.testing.assert_allclose(moments.centres, means, rtol=1e-14)
        np.testing.assert_allclose(moments.scatter, scatter, rtol=1e-11, atol=1e-11)


def test_deviations_of_centres_in_any_layout(rng):
    centres, priors, scale = rng.normal(size=(3, 4)), np.array([0.2, 0.3, 0.5]), np.arange(1.0, 5.0)
    expected = (np.sqrt(priors)[:, None] * (centres - priors @ centres) / scale).T
    for given in (centres, *other_layouts(centres)):
        B = between_factor(given, priors[::-1][::-1], np.repeat(scale, 2)[::2])
        np.testing.assert_allclose(B, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("n", SIZES)
def test_a_definite_matrix_is_whitened_by_the_inverse_of_its_cholesky_factor(rng, n):
    C = semi_definite(rng, n, n + 5)
    expected = np.linalg.inv(np.linalg.cholesky(C)).T
    T = triangular_whitener(C, 1e-10)
    np.testing.assert_allclose(T, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(np.tril(T, -1), 0.0)
    B = rng.normal(size=(n, 3))
    np.testing.assert_allclose(solve_on_range(C, B, 1e-10), T @ T.T @ B, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("n", SIZES[1:])
def test_what_is_nearly_singular_or_indefinite_is_solved_in_its_range(rng, n):
    flat, B = semi_definite(rng, n, n - 1), rng.normal(size=(n, 2))
    inverse = pseudo_inverse(flat)
    size = np.abs(inverse).max()
    for C in (flat, flat - 1e-13 * np.eye(n)):
        T = triangular_whitener(C, 1e-10)
        np.testing.assert_array_equal(np.tril(T, -1), 0.0)
        np.testing.assert_allclose(T @ T.T, inverse, atol=1e-6 * size)
        np.testing.assert_allclose(solve_on_range(C, B, 1e-10), inverse @ B, atol=1e-5 * size)


@pytest.mark.parametrize("n", SIZES[1:])
def test_a_ridge_needs_no_eigenvectors(rng, n, spy):
    eigenvectors = spy(metrics_linalg, "eigh")
    flat, B = semi_definite(rng, n, n - 1), rng.normal(size=(n, 2))
    ridge = 1e-9 * flat.trace()
    C = flat + ridge * np.eye(n)
    T = triangular_whitener(C, 1e-10, ridge)
    np.testing.assert_allclose(T.T @ C @ T, np.eye(n), atol=1e-5)
    np.testing.assert_allclose(C @ solve_on_range(C, B, 1e-10, ridge), B, atol=1e-5)
    assert not eigenvectors


def test_a_ridge_is_added_in_any_layout(rng):
    scatter = semi_definite(rng, 4, 4)
    expected = scatter / 3.0 + 0.1 * np.eye(4)
    for same in (scatter, *other_layouts(scatter)):
        np.testing.assert_allclose(ridged(same, 3.0, 0.1), expected)


@pytest.mark.parametrize("within", [[4.0, 0.0, 1e-16], [0.0, 0.0, 0.0], [4.0, 9.0, np.nan]])
@pytest.mark.parametrize("rounding", [None, [0.0, 0.0, 1e-3]])
def test_units_of_features(rng, within, rounding):
    within, between = np.array(within), np.array([1.0, 2.0, 0.0])
    centres = rng.normal(size=(4, 3))
    rounding = None if rounding is None else np.array(rounding)
    least = np.square(NO_DEVIATION * np.abs(centres).max(axis=0))
    least = least if rounding is None else np.maximum(least, rounding)
    flat = within <= np.maximum(NO_VARIANCE * between, least)
    expected = np.sqrt(np.where(flat, 1.0, within))
    if flat.all():
        expected, flat = np.sqrt(np.where(between > least, between, 1.0)), np.zeros(3, bool)
    unit, found = units_of(within, between, centres, rounding)
    np.testing.assert_array_equal(unit, expected)
    np.testing.assert_array_equal(found, flat)


def test_definite_enough_is_told_by_the_norm_of_the_whole_matrix():
    # The first column of its upper triangle alone would be half as large.
    A = np.eye(9)
    A[0, 1:] = A[1:, 0] = 1.0
    A[0, 0] = 9.0
    inverse_condition = 1.0 / np.linalg.cond(A, 1)
    assert cholesky(A, 1.1 * inverse_condition) is None
    L = cholesky(A, 0.9 * inverse_condition)
    np.testing.assert_allclose(L @ L.T, A, atol=1e-12)
