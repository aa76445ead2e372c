"""The sample of rows without an order."""

import numpy as np
import pytest

from cappedlda._data.array import ArrayRows
from cappedlda._data.draw import Draw, least


def drawn(X, codes, wanted, step=100):
    counts = np.bincount(codes)
    draw = Draw.of_some(wanted, counts, 7, by_block=False)
    slices = [slice(start, start + step) for start in range(0, len(X), step)]
    pieces = (ArrayRows(X[rows], codes[rows], len(counts)) for rows in slices)
    return least([part for parts in draw.of_block(pieces, 0) for part in parts], wanted)[0]


@pytest.mark.parametrize("levels", [3, None])
def test_the_sample_does_not_depend_on_the_order_of_rows(rng, levels):
    X = rng.normal(size=(4000, 2)) if levels is None else rng.integers(levels, size=(4000, 2)) * 1.0
    codes, wanted = rng.integers(2, size=4000).astype(np.int32), np.array([200, 50])
    order = rng.permutation(4000)
    first = drawn(X, codes, wanted)
    again = drawn(np.ascontiguousarray(X[order]), codes[order], wanted, step=333)
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.codes, again.codes)
    np.testing.assert_array_equal(np.bincount(first.codes), wanted)


def test_equal_rows_have_their_share_of_the_sample(rng):
    X = np.where(rng.random((20_000, 1)) < 0.3, 0.0, rng.normal(size=(20_000, 1)))
    rows = drawn(X, np.zeros(20_000, np.int32), np.array([2000]))
    # Four standard deviations of a share of 2000 rows.
    assert abs(np.mean(rows.X == 0.0) - np.mean(X == 0.0)) < 4 * np.sqrt(0.3 * 0.7 / 2000)
