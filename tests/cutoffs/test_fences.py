"""Compiled fences on histograms against their slow and obvious versions."""

import numpy as np
import pytest
import reference
from reference import POSITIONS

from cappedlda._cutoffs import gate
from cappedlda._cutoffs.fences import (
    MAX_GROWTH,
    MIN_GAP,
    crossing_moment,
    fixed_point_caps,
    nearer_half,
    quantiles,
    update_caps,
)
from cappedlda._data.jobs import histograms_of
from cappedlda._regime import REGIME

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
    levels = [0.1, 0.25, 0.5, 0.99]
    found, weights = quantiles(histograms, levels, caps)
    inside = np.where(caps[:, None] >= POSITIONS, histograms, 0.0)
    inside = np.vstack([inside, inside.sum(axis=0)])
    expected = [reference.histogram_quantiles(each, levels) for each in inside]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(weights, inside.sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("reach", [8.0, 1.0])
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
    caps = nearer_half(histograms) if start is None else start
    for _ in range(MAX_GROWTH):
        grown = update_caps(histograms, caps, 2.0)
        if np.allclose(grown.caps, caps, rtol=1e-6, atol=0.0):
            break
        caps = grown.caps
    for found, expected in zip(settled, grown, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("caps", [CAPS[0], np.array([3.0, INF, 25.0])])
def test_first_gaps(histograms, caps):
    expected = []
    for weights, cap in zip(histograms, caps, strict=True):
        q1, q2 = reference.histogram_quantiles(weights, [0.25, 0.5])
        unit = max(q2 - q1, MIN_GAP * q2)
        limits = gate.GAP, gate.GAP_ROWS, gate.GAP_SHARE
        large = weights.sum() >= REGIME.least_class_weight
        expected.append(reference.first_gap(weights, cap, unit, *limits) if large else INF)
    found = gate.first_gaps(histograms, caps)
    np.testing.assert_allclose(found, 1.025 * np.array(expected), rtol=1e-12)


def test_a_part_that_lies_apart_ends_a_class_at_the_gap(rng):
    near, far = rng.uniform(1.0, 2.0, size=150), rng.uniform(9.0, 10.0, size=50)
    histogram = histograms_of(np.append(near, far), np.zeros(200, np.int32), 1)
    (gap,) = gate.first_gaps(histogram, np.array([INF]))
    assert near.max() < gap < 1.1 * near.max()
    # Rows beyond the cap are out anyhow and prove nothing.
    assert gate.first_gaps(histogram, np.array([5.0])) == INF


@pytest.mark.parametrize("move", [1e-10, 0.3, 50.0])
def test_moment_of_what_may_cross(histograms, move):
    low, high = np.array([2.0, 3.0, 4.0]), np.array([2.5, 3.0, INF])
    found = crossing_moment(histograms, low, high, move)
    expected = reference.crossing_moment(histograms, low, high, move)
    assert found == pytest.approx(expected, rel=1e-12)
