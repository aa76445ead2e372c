"""Quantiles of columns: those of NumPy, and with weights those of repeated rows."""

import numpy as np
import pytest
import reference

from cappedlda._initial.standardize import BLOCK_COLUMNS, column_medians, column_quantiles

LEVELS = (0.25, 0.5, 0.7)


@pytest.mark.parametrize("n_rows", [1, 2, 10, 31, 40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_quantiles_are_those_of_numpy(rng, n_rows, dtype):
    # More columns than are sorted at a time, and some values twice.
    values = np.round(rng.normal(size=(n_rows, BLOCK_COLUMNS + 3)), 1).astype(dtype)
    before = values.copy()
    expected = np.quantile(values.astype(float), LEVELS, axis=0, method="averaged_inverted_cdf")
    # NumPy rounds the mean of two values in another way.
    np.testing.assert_allclose(column_quantiles(values, LEVELS), expected, rtol=1e-15, atol=1e-16)
    np.testing.assert_array_equal(column_medians(values), np.median(values.astype(float), axis=0))
    np.testing.assert_array_equal(values, before)


def test_weighted_medians_are_medians_of_repeated_rows(rng):
    values = rng.normal(size=(31, 5))
    for _ in range(20):
        weights = rng.integers(0, 4, size=31)
        expected = reference.weighted_median(values, weights)
        np.testing.assert_allclose(column_medians(values, weights.astype(float)), expected)


def test_weighted_quantiles_are_quantiles_of_repeated_rows(rng):
    values = rng.normal(size=(31, BLOCK_COLUMNS + 3))
    weights = rng.integers(0, 4, size=31)
    repeated = column_quantiles(np.repeat(values, weights, axis=0), LEVELS)
    np.testing.assert_allclose(column_quantiles(values, LEVELS, weights.astype(float)), repeated)


@pytest.mark.parametrize("tiny", [0.0, 1e-15])
def test_a_value_of_hardly_any_weight_does_not_end_the_lower_half(tiny):
    values, weights = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, tiny, 1.0])
    assert column_medians(values, weights)[0] == 1.0


@pytest.mark.parametrize("n_cycles", [1, 9, 18, 36])
@pytest.mark.parametrize("weighted", [False, True])
def test_quantiles_of_values_that_rise_again_and_again(rng, n_cycles, weighted):
    values = np.tile(np.arange(1800.0 // n_cycles), n_cycles)[:, None]
    weights = rng.integers(0, 4, size=len(values)).astype(float) if weighted else None
    repeats = np.ones(len(values), int) if weights is None else weights.astype(int)
    expected = np.quantile(
        np.repeat(values, repeats, axis=0), LEVELS, axis=0, method="averaged_inverted_cdf"
    )
    np.testing.assert_array_equal(column_quantiles(values, LEVELS, weights), expected)


def test_equal_weights_of_any_size_are_no_weights(rng):
    values = rng.normal(size=(40, 7))
    for weight in (0.1, 1.0 / 3.0, 1e6):
        weighted = column_quantiles(values, LEVELS, np.full(40, weight))
        np.testing.assert_array_equal(weighted, column_quantiles(values, LEVELS))
