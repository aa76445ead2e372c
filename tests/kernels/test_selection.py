"""Rows picked out by class: within caps, by their ranks, and drawn at random."""

import numpy as np
import pytest
from common import rows_of

from cappedlda._data.record import BORDER, Border
from cappedlda._initial import drawn
from cappedlda._rules.rule import within


def test_within_is_a_comparison_with_the_cap_of_the_class(rng):
    codes = rng.integers(3, size=200).astype(np.int32)
    caps = np.array([0.5, np.inf, 0.0])
    distances = rng.uniform(size=200)
    distances[:6] = [np.nan, np.inf, 0.0, 0.5, np.nextafter(0.5, 1.0), np.inf]
    codes[:6] = [1, 1, 2, 0, 0, 0]
    with np.errstate(invalid="ignore"):
        expected = distances <= caps[codes]
    np.testing.assert_array_equal(within(distances, caps, codes), expected)
    assert within(np.empty(0), caps, codes[:0]).shape == (0,)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_picked_by_their_rank_among_those_that_count(rng, weighted):
    codes = rng.integers(4, size=300)
    weight = rng.integers(0, 2, size=300).astype(float) if weighted else None
    counts = np.ones(300, bool) if weight is None else weight > 0
    rows = rows_of(np.arange(300.0)[:, None], codes, weight)
    ranks = [np.array([0, 3, 4]), np.array([], int), np.array([7]), np.arange(5)]
    expected = np.concatenate(
        [np.flatnonzero((codes == i) & counts)[rank] for i, rank in enumerate(ranks)]
    )
    np.testing.assert_array_equal(rows.pick(ranks).X[:, 0], np.sort(expected))


@pytest.mark.parametrize("weighted", [False, True])
def test_marked_rows_are_counted_by_class(rng, weighted):
    codes, marked = rng.integers(4, size=300), rng.random(300) < 0.3
    weight = rng.integers(0, 2, size=300).astype(float) if weighted else None
    seen = marked if weight is None else marked & (weight > 0)
    counts = rows_of(np.zeros((300, 1)), codes, weight).count(marked)
    np.testing.assert_array_equal(counts, np.bincount(codes[seen], minlength=4))


@pytest.mark.parametrize(("count", "share"), [(10, 10), (10, 7), (10, 5), (10, 3), (10, 0)])
def test_every_number_is_drawn_as_often_as_others_and_once_at_a_time(count, share):
    random_state = np.random.RandomState(0)
    tally = np.zeros(count)
    for _ in range(4000):
        chosen = drawn(count, share, random_state)
        assert len(chosen) == share
        assert np.all(np.diff(chosen) > 0)
        tally[chosen] += 1
    # Five standard deviations of a binomial count.
    spread = 5.0 * np.sqrt(4000 * share / count * (1.0 - share / count))
    assert np.all(np.abs(tally - 4000 * share / count) <= spread)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_near_a_cap_are_noted(rng, weighted):
    codes, distances = rng.integers(3, size=200).astype(np.int32), rng.uniform(size=200)
    caps = np.array([0.2, 0.8, np.inf])
    low, high = (1.0 - BORDER) * caps, (1.0 + BORDER) * caps
    distances[:5], codes[:5] = [low[0], high[0], high[1], np.nan, np.inf], [0, 0, 1, 0, 2]
    weight = rng.integers(0, 2, size=200).astype(float) if weighted else None
    near = (distances > low[codes]) & (distances <= high[codes])
    expected = np.flatnonzero(near & (weight > 0.0) if weighted else near)
    noted = Border.of(distances, codes, weight, caps, 200)
    found = codes[expected], distances[expected], np.ones(len(expected))
    np.testing.assert_array_equal(noted.rows, found)
    assert not Border.of(distances[:0], codes[:0], None, caps, 200).rows.size
