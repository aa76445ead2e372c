"""Rows picked out by class: within caps, by their ranks, and drawn at random."""

import numpy as np
import pytest
from common import rows_of

from cappedlda._initial import drawn
from cappedlda._kernels import selection
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


@pytest.mark.parametrize(
    ("codes", "ascending"), [([], True), ([3], True), ([0, 0, 1, 4], True), ([0, 2, 1], False)]
)
def test_ascending_codes_are_known(codes, ascending):
    assert selection.are_ascending(np.array(codes, np.int32)) is ascending


def test_rows_are_counted_by_class(rng):
    codes, counts = rng.integers(4, size=300).astype(np.int32), np.array([5, 0, 0, 0, 7])
    selection.count_rows(codes, counts)
    np.testing.assert_array_equal(counts, np.bincount(codes, minlength=5) + [5, 0, 0, 0, 7])


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_between_two_limits_are_found(rng, weighted):
    codes, distances = rng.integers(3, size=200).astype(np.int32), rng.uniform(size=200)
    low, high = np.array([0.2, 0.5, np.inf]), np.array([0.4, 0.5, np.inf])
    distances[:5], codes[:5] = [0.2, 0.4, 0.5, np.nan, np.inf], [0, 0, 1, 0, 2]
    weight = rng.integers(0, 2, size=200).astype(float) if weighted else np.empty(0)
    near = (distances > low[codes]) & (distances <= high[codes])
    expected = np.flatnonzero(near & (weight > 0.0) if weighted else near)
    rows = np.empty(200, np.int32)
    found = selection.find_between(distances, codes, weight, low, high, rows)
    np.testing.assert_array_equal(rows[:found], expected)
    assert selection.find_between(distances[:0], codes[:0], weight[:0], low, high, rows[:0]) == 0
