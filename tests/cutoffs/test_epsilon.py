"""The histogram of distances, its quantiles, and the fence made from them."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from cappedlda._cutoffs import fences
from cappedlda._cutoffs.fences import REACH, bin_positions, fixed_point_caps, update_caps
from cappedlda._data.jobs import histograms_of
from cappedlda._initial.separation import beyond_gap

ONE_BIN = 1 / 32


def histogram_of(distances, weights=None):
    return histograms_of(distances, np.zeros(len(distances), np.int32), 1, weights)


def quantiles(histogram, levels):
    of_the_class, of_all = fences.quantiles(histogram, levels)[0]
    np.testing.assert_array_equal(of_the_class, of_all)
    return of_all


def fence(histogram):
    q1, q2 = quantiles(histogram, [0.25, 0.5])
    return fences.fence(q1, q2), q2


def test_bins_sit_where_the_specification_says():
    np.testing.assert_array_equal(bin_positions(), reference.POSITIONS)


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
    np.testing.assert_allclose(quantiles(histogram, [0.25, 0.5, 0.75]), 1.5, rtol=ONE_BIN)


@given(seed=st.integers(0, 10**6), row=st.integers(0, 49))
def test_quantiles_move_continuously(seed, row):
    distances = np.random.default_rng(seed).exponential(size=50)
    levels = [0.25, 0.5]
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


def test_fence_is_the_median_and_a_multiple_of_the_lower_half(rng):
    distances = np.abs(rng.normal(5.0, 1.0, size=20_000))
    q1, q2 = np.quantile(distances, [0.25, 0.5])
    epsilon, median = fence(histogram_of(distances))
    assert median == pytest.approx(q2, rel=ONE_BIN)
    # Either quartile may be off by a bin.
    assert epsilon == pytest.approx(q2 + REACH * (q2 - q1), abs=2 * REACH * q2 * ONE_BIN)


def test_equal_distances_do_not_fence_each_other_out():
    epsilon, median = fence(histogram_of(np.full(7, 1.3)))
    assert median == pytest.approx(1.3, rel=ONE_BIN)
    assert epsilon >= 1.05 * median


@pytest.mark.parametrize("far", [10.0, 1e3, 1e12, 1e300, np.inf])
def test_fence_stays_bounded_with_49_percent_garbage(rng, far):
    good = rng.uniform(1.0, 2.0, size=510)
    epsilon, median = fence(histogram_of(np.append(good, np.full(490, far))))
    assert 1.0 <= median <= 2.0
    # The quartiles of the whole are within the range of the good half.
    assert median <= epsilon <= 2.0 + REACH * (2.0 - 1.0)
    where_garbage_does_not_matter = fence(histogram_of(np.append(good, np.full(490, 1e6))))
    assert (epsilon, median) == pytest.approx(where_garbage_does_not_matter)


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


def two_parts(rng, share, distance, count=200):
    """Return heights of two normal parts, and which are of the smaller one."""
    far = np.arange(count) < share * count
    return rng.normal(size=count) + distance * far, far


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("share", [0.1, 0.2, 0.4, 0.45])
def test_rows_beyond_a_wide_gap_are_found_on_either_side(rng, share, side):
    heights, far = two_parts(rng, share, 12.0)
    found = beyond_gap(side * heights, np.ones(len(far)), 0.5 * len(far))
    np.testing.assert_array_equal(found, far)


@pytest.mark.parametrize(
    ("share", "distance", "least"),
    [(0.2, 4.0, 0.5), (0.05, 12.0, 0.5), (0.48, 12.0, 0.5), (0.4, 12.0, 0.65)],
    ids=["no gap", "too few beyond", "no larger part", "too few inside"],
)
def test_no_part_is_cut_off(rng, share, distance, least):
    heights, far = two_parts(rng, share, distance)
    assert not beyond_gap(heights, np.ones(len(far)), least * len(far)).any()


def test_equal_heights_and_levels_of_a_sum_of_discrete_features_have_no_gap(rng):
    assert not beyond_gap(np.full(300, 2.0), np.ones(300), 150.0).any()
    levels = rng.integers(0, 2, (300, 4)).sum(axis=1) * 1.0
    assert not beyond_gap(levels, np.ones(300), 150.0).any()


def test_rows_of_weight_two_count_twice_and_of_weight_zero_not_at_all(rng):
    heights, _ = two_parts(rng, 0.3, 12.0)
    weight = rng.integers(0, 3, len(heights)) * 1.0
    heights[0], weight[0] = 6.0, 0.0  # it would halve the gap
    found = beyond_gap(heights, weight, 0.5 * weight.sum())
    repeated = np.repeat(np.arange(len(heights)), weight.astype(int))
    expected = beyond_gap(heights[repeated], np.ones(len(repeated)), 0.5 * len(repeated))
    assert expected.any()
    np.testing.assert_array_equal(found[repeated], expected)
