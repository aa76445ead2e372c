"""Robust units of features, also of those that are mostly constant."""

import numpy as np
import pytest
import reference
from common import rows_of
from scipy import sparse

from cappedlda._data.sparse import SparseRows
from cappedlda._initial import initial_estimate
from cappedlda._initial import sparse as sparse_estimate
from cappedlda._initial.dense import SPARSE_VARIANCE_FLOOR, VARIANCE_FLOOR
from cappedlda._initial.standardize import are_shared, medians_and_scale

CODES = np.arange(200, dtype=np.int32) % 2
RARE = np.arange(200) % 10 == 3  # a tenth of the rows, all of class 1


def normal(rng):
    return rng.normal(size=200)


def few_levels(rng):
    return rng.integers(0, 4, 200) * 1.0


def fine_and_coarse(rng):
    """Levels that are hardly apart, but for a third of the rows."""
    return np.where(rng.random(200) < 0.65, rng.integers(0, 3, 200) * 1e-3, rng.normal(size=200))


def indicator(rng):
    return RARE * 1.0


def counts(rng):
    return RARE * rng.integers(1, 4, 200) * 1.0


def indicator_with_errors(rng):
    values = RARE * 1.0
    values[:12:2] = rng.uniform(1e3, 1e6, 6)
    return values


def all_errors(rng):
    return np.where(RARE, rng.normal(size=200), 0.0)


def constant_in_classes(rng):
    return CODES * 5.0


def constant(rng):
    return np.full(200, 7.0)


KINDS = [normal, few_levels, fine_and_coarse, indicator, counts, indicator_with_errors]
KINDS += [all_errors, constant_in_classes, constant]


@pytest.mark.parametrize("kind", KINDS)
def test_units_are_those_of_the_specification(rng, kind):
    X = np.column_stack([kind(rng), rng.normal(size=200)])
    centres, scale, mostly_constant = medians_and_scale(rows_of(X, CODES))
    np.testing.assert_array_equal(centres, [np.median(X[i == CODES], axis=0) for i in (0, 1)])
    assert scale[0] == pytest.approx(reference.feature_unit(X[:, 0], CODES), rel=1e-12)
    deviations = np.abs(X - centres[CODES])
    np.testing.assert_array_equal(mostly_constant, np.median(deviations, axis=0) == 0.0)


def test_errors_of_any_size_do_not_change_the_unit_of_an_indicator(rng):
    X = np.column_stack([indicator(rng), indicator_with_errors(rng)])
    _, scale, _ = medians_and_scale(rows_of(X, CODES))
    assert scale[1] == scale[0] == pytest.approx(1.0 / 3.0)


def test_values_are_shared_if_they_occur_more_than_once():
    found = are_shared(np.array([3.0, 1.0, 0.0, 3.0, 2.0, 0.0, 0.0]), np.ones(7))
    np.testing.assert_array_equal(found, [True, False, True, True, False, True, True])
    assert not are_shared(np.array([1.0, 1.0 + 1e-15]), np.ones(2)).any()
    np.testing.assert_array_equal(are_shared(np.arange(3), np.array([1.0, 2.0, 1.5])), [0, 1, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_no_weight_have_no_say(rng, kind):
    X = np.column_stack([kind(rng), rng.normal(size=200)])
    weights = np.append(np.ones(200), np.zeros(200))  # each error once more, but not counted
    found = medians_and_scale(rows_of(np.vstack([X, X]), np.append(CODES, CODES), weights))
    for mine, expected in zip(found, medians_and_scale(rows_of(X, CODES)), strict=True):
        np.testing.assert_array_equal(mine, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_twice_as_much_weight_is_two_rows(rng, kind):
    X = np.column_stack([kind(rng), rng.normal(size=200)])
    weights = rng.integers(0, 3, 200)
    repeated = np.repeat(np.arange(200), weights)
    found = medians_and_scale(rows_of(X, CODES, 1.0 * weights))
    expected = medians_and_scale(rows_of(X[repeated], CODES[repeated]))
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_rows_have_the_same_units(rng, weighted):
    X = np.column_stack([kind(rng) for kind in KINDS])
    weights = rng.integers(0, 3, 200) * 1.0 if weighted else None
    centres, scale, _ = medians_and_scale(rows_of(X, CODES, weights))
    rows = SparseRows(sparse.csr_array(X), CODES, 2, weights)
    found = sparse_estimate.medians_and_scale(rows)
    np.testing.assert_array_equal(found[0], centres)
    np.testing.assert_allclose(found[1], scale, rtol=1e-14)


def test_the_least_deviations_are_larger_for_mostly_constant_features(rng):
    X = np.column_stack([3.0 * rng.normal(size=200), indicator(rng)])
    initial = initial_estimate(rows_of(X, CODES), robust=True)
    _, scale, _ = medians_and_scale(rows_of(X, CODES))
    floors = [VARIANCE_FLOOR, SPARSE_VARIANCE_FLOOR]
    np.testing.assert_allclose(initial.least, np.sqrt(floors) * scale, rtol=1e-12)
    assert initial_estimate(rows_of(X, CODES), robust=False).least is None
