"""Compiled fences on histograms against their slow and obvious versions."""

import numpy as np
import pytest
import reference
from reference import POSITIONS
from scipy.stats import chi2

from cappedlda._data.jobs import histograms_of
from cappedlda._regime import REGIME
from cappedlda._rules.fences import (
    MAX_GROWTH,
    MIN_GAP,
    REACH,
    STRICT_REACH,
    Fences,
    fixed_point_caps,
    least_fence,
    quantiles,
    update_caps,
)
from cappedlda._rules.rule import gate_caps

INF = np.inf


@pytest.fixture(params=["plain", "outliers", "two parts", "ties", "small class", "empty class"])
def histograms(rng, request):
    """Histograms of three classes, the last of which is special."""
    distances = np.abs(rng.normal(3.0, [[0.5], [1.0], [2.0]], size=(3, 200)))
    codes = np.repeat(np.arange(3, dtype=np.int32), 200)
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], size=600)
    special = {
        "outliers": lambda: distances[2, :80].fill(1e4),
        "two parts": lambda: distances[2, :60].__iadd__(20.0),
        "ties": lambda: distances[2].fill(0.0),
        "small class": lambda: weight[412:].fill(0.0),
        "empty class": lambda: weight[400:].fill(0.0),
    }
    special.get(request.param, lambda: None)()
    return histograms_of(distances.ravel(), codes, 3, weight)


CAPS = [np.full(3, INF), np.array([3.0, 2.0, 4.0]), np.array([0.1, 3.0, INF])]


@pytest.mark.parametrize("caps", CAPS)
def test_quantiles_within_caps(histograms, caps):
    levels = [0.1, 0.5, 0.9, 0.99]
    found, weights = quantiles(histograms, levels, caps)
    inside = np.where(caps[:, None] >= POSITIONS, histograms, 0.0)
    inside = np.vstack([inside, inside.sum(axis=0)])
    expected = [reference.histogram_quantiles(each, levels) for each in inside]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(weights, inside.sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("reach", [REACH, STRICT_REACH, 0.01])
@pytest.mark.parametrize("caps", CAPS)
def test_caps_grow_by_the_rows_within(histograms, caps, reach):
    before = caps.copy()
    fences = update_caps(histograms, caps, reach)
    np.testing.assert_array_equal(caps, before)
    halves = [1.05 * reference.histogram_quantiles(each, [0.5])[0] for each in histograms]
    epsilon, grown = reference.update_caps(
        histograms, caps, halves, reach, MIN_GAP, REGIME.least_class_weight
    )
    np.testing.assert_allclose(fences.halves, halves, rtol=1e-12)
    np.testing.assert_allclose(fences.caps, grown, rtol=1e-12)
    assert fences.epsilon == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize("start", [None, CAPS[1]])
def test_fixed_point_caps_are_where_growth_comes_to_rest(histograms, start):
    settled = fixed_point_caps(histograms, 2.0, start)
    caps = update_caps(histograms, None).halves if start is None else start
    for _ in range(MAX_GROWTH):
        grown = update_caps(histograms, caps, 2.0)
        if np.allclose(grown.caps, caps, rtol=1e-6, atol=0.0):
            break
        caps = grown.caps
    for found, expected in zip(settled, grown, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_no_fence_is_below_the_least_and_no_half_below_the_blur(histograms):
    free = fixed_point_caps(histograms)
    least = 1.2 * free.epsilon
    found = fixed_point_caps(histograms, least=least, blur=2.0)
    assert found.epsilon == least
    np.testing.assert_array_equal(found.caps, np.maximum(free.caps, least))
    np.testing.assert_array_equal(found.halves, np.maximum(free.halves, 2.0))
    assert fixed_point_caps(histograms, least=1.0, blur=2.0 * least).epsilon == 2.0 * least


@pytest.mark.parametrize("d", [1, 2, 30])
def test_the_least_fence_is_a_quantile_of_normal_rows(d):
    assert least_fence(d) ** 2 == pytest.approx(chi2.ppf(0.99, d), rel=1e-12)


@pytest.mark.parametrize("n", [1, 4])
def test_a_gate_grows_from_where_normal_rows_are(histograms, n):
    least = np.sqrt(chi2.ppf(0.99, n) / n)
    caps = np.full(3, least)
    for _ in range(MAX_GROWTH):
        caps = update_caps(histograms, caps).caps
    np.testing.assert_allclose(gate_caps(histograms, n), np.maximum(caps, least), rtol=1e-12)


def test_a_multiple_of_fences_keeps_half_of_each_class():
    fences = Fences(3.0, np.array([3.0, 5.0, 4.0]), np.array([1.0, 2.0, 4.0]), 1.5)
    epsilon, caps = fences.times(0.1)
    assert epsilon == 1.0
    np.testing.assert_array_equal(caps, [1.0, 2.0, 4.0])
    epsilon, caps = fences.times(2.0)
    assert epsilon == 6.0
    np.testing.assert_array_equal(caps, [6.0, 10.0, 8.0])
