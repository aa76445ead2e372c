"""The loops of the initial estimate against obvious versions; weights count as repeated rows."""

import numpy as np
import pytest
import reference
from common import make_classes, rows_of

from cappedlda._initial import dense, initial_estimate, standardize
from cappedlda._kernels import selection
from cappedlda._regime import REGIME

WEIGHTED = pytest.mark.parametrize("weighted", [False, True])


def some_weights(rng, n_rows, weighted):
    """Return integer weights, some of them 0, or None; and the rows that they repeat."""
    weight = rng.integers(0, 4, n_rows) if weighted else np.ones(n_rows, int)
    return weight * 1.0 if weighted else None, np.repeat(np.arange(n_rows), weight)


@pytest.mark.parametrize("n_rows", [1, 2, 12, 13, 50, 149, 150, 151, 1000])
@pytest.mark.parametrize("levels", [0, 3, None], ids=["equal", "few", "all different"])
@WEIGHTED
def test_selection_finds_what_sorting_finds(rng, n_rows, levels, weighted):
    values = rng.normal(size=(n_rows, 19))
    values = values if levels is None else np.round(values * levels)
    weight, repeated = some_weights(rng, n_rows, weighted)
    if weighted:
        weight[0] += 1.0
        repeated = np.r_[0, repeated]
    for level in (0.01, 0.25, 0.5, 0.7, 0.99):
        found = np.empty((1, 19))
        selection.column_quantiles(values, weight, np.array([level]), found)
        expected = np.quantile(values[repeated], level, axis=0, method="averaged_inverted_cdf")
        np.testing.assert_allclose(found[0], expected, rtol=1e-15, atol=1e-16)


def test_selection_takes_any_strides_and_infinite_values(rng):
    values = rng.normal(size=(40, 60))
    values[::5] = np.inf
    found = np.empty((1, 20))
    selection.column_quantiles(values.T[::2, ::2], None, np.array([0.5]), found)
    np.testing.assert_array_equal(found[0], np.median(values.T[::2, ::2], axis=0))


@WEIGHTED
def test_medians_and_deviations_are_those_of_each_class_and_of_all(rng, dtype, weighted):
    X, y = make_classes(rng, (30, 1, 17), 11, dtype=dtype)
    weight, _ = some_weights(rng, len(y), weighted)
    if weighted:
        weight[y == 1] = 2.0
    shuffled = rng.permutation(len(y))
    X, y, weight = X[shuffled], y[shuffled], None if weight is None else weight[shuffled]
    medians, quantiles = standardize.medians_and_deviations(rows_of(X, y, weight), (0.5, 0.7))
    repeated = np.repeat(np.arange(len(y)), 1 if weight is None else weight.astype(int))
    X, y = X[repeated].astype(float), y[repeated]
    expected = np.array([np.median(X[y == i], axis=0) for i in range(3)])
    np.testing.assert_array_equal(medians, expected)
    deviations = np.abs(X - expected[y])
    np.testing.assert_array_equal(quantiles[0], np.median(deviations, axis=0))
    np.testing.assert_allclose(
        quantiles[1], np.quantile(deviations, 0.7, axis=0, method="averaged_inverted_cdf")
    )


@pytest.mark.parametrize("order", [None, np.arange(49, 9, -1)], ids=["all", "some backwards"])
def test_rows_in_units_are_cut_off(rng, order):
    X, y = make_classes(rng, (20, 30), 5)
    X[13, 2], X[14, 2] = 1e30, -1e30
    centres, scale = rng.normal(size=(2, 5)), rng.uniform(1, 2, 5)
    rows = rows_of(X, y)
    X, y = (X, y) if order is None else (X[order], y[order])
    for farthest in (standardize.FARTHEST, 2.0, np.inf):
        limit = {"farthest": farthest, "order": order}
        scaled, squares = standardize.in_units(rows, centres, scale, **limit)
        expected = np.clip((X - centres[y]) / scale, -farthest, farthest)
        # A product with the reciprocal rounds once more than a quotient.
        np.testing.assert_allclose(scaled, expected, rtol=4e-16)
        np.testing.assert_allclose(squares, np.sum(expected**2, axis=1), rtol=1e-14)


def shrunk_distances(rows, kept, floor):
    return dense.shrunk_distances(dense.Pieces(rows), kept, floor)


@pytest.mark.parametrize("n", [1, 3, 40])
@WEIGHTED
def test_shrunk_distances_are_those_of_the_covariance(rng, n, weighted):
    X, y = make_classes(rng, (900, 700, 50), n, offset=0.0)
    weight = rng.uniform(0.0, 2.0, len(y)) if weighted else None
    kept, floor = rng.uniform(size=len(y)) < 0.7, rng.uniform(0.5, 1.2, n)
    found = shrunk_distances(rows_of(X, y, weight), kept, floor)
    expected = reference.shrunk_distances(X, y, weight, kept, floor, dense.MIN_SHRINKAGE)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@WEIGHTED
def test_few_rows_are_measured_in_one_call_bit_for_bit(rng, weighted):
    X, y = make_classes(rng, (60, 50, 40), 4, offset=0.0)
    weight = rng.uniform(0.0, 2.0, len(y)) if weighted else None
    kept, floor = rng.uniform(size=len(y)) < 0.7, rng.uniform(0.5, 1.2, 4)
    few, many = (rows_of(X, y, weight, changed_products=limit) for limit in (1 << 21, 0))
    assert dense.Pieces(few).are_few
    assert not dense.Pieces(many).are_few
    found, expected = (shrunk_distances(rows, kept, floor) for rows in (few, many))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("size", [1.0, 1e6], ids=["like the others", "far off"])
def test_moments_that_change_are_those_made_anew(rng, spy, size):
    X, y = make_classes(rng, (300, 200), 5)
    X[:10] *= size  # their squares leave nothing but rounding when they go
    pieces = dense.Pieces(rows_of(X, y, rng.uniform(size=500), changed_products=0))
    add_up = pieces.sums
    made = spy(pieces, "sums")
    first = rng.uniform(size=500) < 0.5
    first[:10] = True
    for step in range(3):
        kept = first if step == 0 else first ^ (rng.uniform(size=500) < 0.05)
        kept[:10] = step == 0
        for found, expected in zip(pieces.moments(kept), add_up(kept), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
            found += 1.0  # which is not kept for the next step
    # The rows that go and those that come, twice; all of them at first, and where too much goes.
    assert len(made) == (5 if size == 1.0 else 6)


def test_a_class_of_no_kept_row_is_measured_from_the_origin(rng):
    X, y = make_classes(rng, (100, 100), 3)
    X[np.argmax(y)] = 0.0
    found = shrunk_distances(rows_of(X, y), y == 0, np.full(3, 0.1))
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(np.flatnonzero(found == 0.0), [np.argmax(y)])


@WEIGHTED
def test_the_initial_estimate_does_not_depend_on_the_order_of_the_rows(rng, weighted):
    X, y = make_classes(rng, (200, 150, 100), 6)
    X[rng.uniform(size=len(y)) < 0.2] += 8.0
    weight, _ = some_weights(rng, len(y), weighted)
    shuffled = rng.permutation(len(y))
    initial = initial_estimate(rows_of(X, y, weight), robust=True)
    weight = None if weight is None else weight[shuffled]
    other = initial_estimate(rows_of(X[shuffled], y[shuffled], weight), robust=True)
    assert 0 < initial.support.sum() < len(y)
    np.testing.assert_array_equal(other.support, initial.support[shuffled])
    np.testing.assert_allclose(other.centres, initial.centres, rtol=1e-13)


def test_the_initial_estimate_is_the_same_on_any_number_of_threads(rng):
    thresholds = {"threaded_elements": 0, "piece_elements": 1000}
    X, y = make_classes(rng, (400, 300, 200), 20)
    X[y == 1] += 15.0 * (rng.uniform(size=(300, 1)) < 0.3)
    alone = rows_of(X, y, **thresholds)
    assert len(standardize.row_pieces(*X.shape, alone.regime)[0]) == alone.regime.most_pieces
    alone = initial_estimate(alone, robust=True)
    assert 0 < alone.support.sum() < len(y)
    for n_jobs in (2, 3):
        estimate = initial_estimate(rows_of(X, y, n_jobs=n_jobs, **thresholds), robust=True)
        for found, expected in zip(estimate, alone, strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(1, 1), (150, 4), (5000, 50), (5000, 784), (100, 3000)])
def test_pieces_are_all_rows_in_their_order(shape):
    begins, ends = standardize.row_pieces(*shape, REGIME)
    assert [*begins, shape[0]] == [0, *ends]
    assert np.all(np.diff([0, *ends]) > 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_may_be_multiplied_in_single_precision(rng, weighted):
    X, y = make_classes(rng, [150, 170], 30)
    weight = rng.integers(0, 3, len(y)).astype(float) if weighted else None
    kept, floor = rng.random(len(y)) < 0.6, np.full(30, 0.1)
    rows = rows_of(X, y, weight)
    double, single = (dense.Pieces(rows, dtype=dtype) for dtype in (np.float64, np.float32))
    for exact, found in zip(double.sums(kept), single.sums(kept), strict=True):
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-4 * np.abs(exact).max())
    distances = [dense.shrunk_distances(pieces, kept, floor) for pieces in (double, single)]
    np.testing.assert_allclose(distances[1], distances[0], rtol=1e-4)


def test_single_precision_finds_the_same_rows(rng):
    X, y = make_classes(rng, [300, 300], 20)
    X[::10] += 12.0 * rng.normal(size=(60, 20))
    single, double = (
        initial_estimate(rows_of(X, y, single_features=limit), True) for limit in (1, 10_000)
    )
    np.testing.assert_array_equal(single.support, double.support)
    assert not single.support[::10].any()


@pytest.mark.parametrize(("changed", "settled"), [(0, True), (2, True), (3, False)])
def test_a_support_has_settled_when_hardly_a_row_comes_or_goes(rng, spy, changed, settled):
    rows = rows_of(*make_classes(rng, (500, 500), 2))
    measured = spy(dense, "shrunk_distances")
    distances = np.ones(1000)
    support = distances > 0.0
    support[:changed] = False  # all of them are within the fence
    start = dense.Pieces(rows), support, distances, np.full(2, 2.0), np.full(2, 0.1)
    dense.grow_support(*start)
    assert (len(measured) == 0) is settled
