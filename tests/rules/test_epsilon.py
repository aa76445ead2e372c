"""The histogram of distances, its quantiles, and the fence made from them."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from cappedlda._data.jobs import histograms_of
from cappedlda._rules import fences
from cappedlda._rules.fences import MIN_GAP, REACH, fixed_point_caps, update_caps

ONE_BIN = 1 / 32


def histogram_of(distances, weights=None):
    return histograms_of(distances, np.zeros(len(distances), np.int32), 1, weights)


def quantiles(histogram, levels):
    of_the_class, of_all = fences.quantiles(histogram, levels)[0]
    np.testing.assert_array_equal(of_the_class, of_all)
    return of_all


def fence(histogram):
    """Fence and median of one class, all of which counts."""
    epsilon, caps, _, median = update_caps(histogram, np.array([np.inf]))
    assert caps[0] == epsilon
    return epsilon, median


def test_bins_sit_where_the_specification_says():
    filled = np.eye(len(reference.POSITIONS))
    found, _ = fences.quantiles(filled, [0.5])
    np.testing.assert_array_equal(found[:-1, 0], reference.POSITIONS)


@pytest.mark.parametrize("sampler", ["exponential", "lognormal", "uniform"])
@pytest.mark.parametrize("level", [0.1, 0.25, 0.5, 0.75, 0.9])
def test_quantiles_are_within_one_bin(rng, sampler, level):
    # Many rows, so that neighbouring order statistics are closer than a bin.
    distances = getattr(rng, sampler)(size=20_000)
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], size=20_000)
    exact = reference.weighted_quantile(distances, weights, level)
    (quantile,) = quantiles(histogram_of(distances, weights), [level])
    assert quantile == pytest.approx(exact, rel=ONE_BIN)


def test_quantiles_of_equal_distances_are_the_distance():
    histogram = histogram_of(np.full(10, 1.5))
    np.testing.assert_allclose(quantiles(histogram, [0.5, 0.75, 0.9]), 1.5, rtol=ONE_BIN)


@given(seed=st.integers(0, 10**6), row=st.integers(0, 49))
def test_quantiles_move_continuously(seed, row):
    distances = np.random.default_rng(seed).exponential(size=50)
    levels = [0.5, 0.9]
    before = quantiles(histogram_of(distances), levels)
    moved = distances.copy()
    moved[row] *= 1 + 1e-9
    after = quantiles(histogram_of(moved), levels)
    np.testing.assert_allclose(after, before, rtol=1e-5)


@pytest.mark.parametrize("change", [-1e-9, 1e-9])
def test_quantiles_move_continuously_across_a_gap(change):
    # Half of the weight on either side of a gap: a grain of weight must not throw the median over.
    distances = np.append(np.linspace(1.0, 1.5, 50), np.linspace(100.0, 150.0, 50))
    weights = np.ones(100)
    before = quantiles(histogram_of(distances, weights), [0.5])
    weights[0] += change
    after = quantiles(histogram_of(distances, weights), [0.5])
    np.testing.assert_allclose(after, before, rtol=1e-5)


@pytest.mark.parametrize("sampler", ["exponential", "lognormal", "uniform"])
def test_a_fence_reaches_twice_as_far_beyond_nine_tenths_as_these_beyond_the_half(rng, sampler):
    distances = getattr(rng, sampler)(size=20_000)
    half, most = np.quantile(distances, [0.5, 0.9])
    epsilon, median = fence(histogram_of(distances))
    assert median == pytest.approx(half, rel=ONE_BIN)
    # Either quantile may be off by a bin.
    expected = most + 2.0 * (most - half)
    assert epsilon == pytest.approx(expected, abs=(3.0 * most + 2.0 * half) * ONE_BIN)


def test_equal_distances_do_not_fence_each_other_out():
    epsilon, median = fence(histogram_of(np.full(7, 1.3)))
    assert median == pytest.approx(1.3, rel=ONE_BIN)
    assert (1.0 + MIN_GAP) * median <= epsilon <= 1.2 * median


@pytest.mark.parametrize("far", [10.0, 1e3, 1e12, 1e300, np.inf])
def test_half_garbage_does_not_move_a_fence_that_grows_from_the_nearer_half(rng, far):
    good = rng.uniform(1.0, 2.0, size=510)
    found = fixed_point_caps(histogram_of(np.append(good, np.full(490, far))))
    assert good.max() <= found.epsilon <= 2.0 + REACH * (2.0 - 1.0)
    alone = fixed_point_caps(histogram_of(good), start=np.array([np.inf]))
    assert found.epsilon == pytest.approx(alone.epsilon)
    assert found.median == pytest.approx(alone.median)


def test_weights_count_as_repetitions(rng):
    distances = rng.exponential(size=60)
    weights = rng.integers(0, 4, size=60)
    weighted = histogram_of(distances, weights.astype(float))
    np.testing.assert_allclose(weighted, histogram_of(np.repeat(distances, weights)), atol=1e-12)
    assert fence(weighted) == pytest.approx(fence(histogram_of(np.repeat(distances, weights))))


def classes_of(*distances):
    codes = np.repeat(np.arange(len(distances), dtype=np.int32), [len(d) for d in distances])
    return histograms_of(np.concatenate(distances), codes, len(distances))


def test_caps_grow_from_the_half_to_the_gap(rng):
    good = [np.abs(rng.normal(3.0, 0.5, size=300)) for _ in range(2)]
    histograms = classes_of(np.append(good[0], np.full(200, 60.0)), good[1])
    epsilon, caps, _, _ = fixed_point_caps(histograms, REACH)
    assert np.all(caps >= epsilon)
    # 40 % of the first class lie beyond the gap; all good rows are within.
    assert np.all(caps > max(good[0].max(), good[1].max()))
    assert np.all(caps < 60.0)


def test_a_class_that_spreads_more_has_a_wider_fence(rng):
    narrow, wide = np.abs(rng.normal(size=(2, 400))) * [[1.0], [20.0]]
    epsilon, caps, _, _ = update_caps(classes_of(narrow, wide), np.full(2, np.inf))
    assert caps[1] > np.sort(wide)[-5]
    assert caps[0] == pytest.approx(epsilon)
    assert np.all(caps >= epsilon)


def test_every_class_keeps_half(rng):
    near, far = rng.uniform(1.0, 1.1, size=200), rng.uniform(50.0, 60.0, size=10)
    _, caps, _, _ = update_caps(classes_of(near, far), np.full(2, np.inf))
    assert np.mean(far <= caps[1]) >= 0.5
    assert caps[0] < 50.0
