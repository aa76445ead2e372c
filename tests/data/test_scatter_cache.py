"""Rows that recall a scatter: the record of a pass, without the pass."""

from dataclasses import replace

import numpy as np
import pytest
from common import TOLERANCE, angle, assert_close_record, in_regime, make_classes, rows_of, spoil
from sklearn.base import clone

from cappedlda import CappedLDA, CappedNormLDA
from cappedlda._data.array import ArrayRows, ScatterCacheRows
from cappedlda._rules.rule import Query


@pytest.fixture
def problem(rng, dtype):
    """Rows, a query of equal weights that caps some of them, and the cache of the others."""
    X, codes = make_classes(rng, [100, 60, 45], 6, dtype=dtype)
    weight = rng.uniform(0, 2, size=205) * (rng.uniform(size=205) < 0.9)
    rows = rows_of(X, codes, weight)
    scale = rng.uniform(0.5, 2, size=6)
    query = Query(rng.normal(size=(6, 2)), rows.class_means(), scale, np.full(3, 2.5), 2.0, 0.0)
    distances = np.empty(205)
    record = rows.run(query, distances)
    kept = (distances <= 2.5) & (weight > 0.0)
    assert 50 < kept.sum() < 150
    return rows, query, (kept, record.moments(query.centres, query.scale).recentred())


@pytest.fixture
def passes(spy):
    """Rows and query of each pass over an array."""
    return spy(ArrayRows, "run")


@pytest.mark.parametrize("centred", [True, False])
def test_the_same_kept_rows_have_the_same_record_without_a_scatter(problem, passes, centred):
    rows, query, (support, moments) = problem
    if centred:
        # About the very means; then the caps that keep the same rows are others.
        query = replace(query, centres=moments.centres, caps=np.full(3, np.inf))
        rows = rows.reweighted(support)
    expected = rows.run(query)
    passes.clear()
    record = ScatterCacheRows(rows, support, moments).run(query)
    assert [query.scatter for _, query, *_ in passes] == [False]
    assert_close_record(record, expected, TOLERANCE[rows.dtype].pass_rtol)


def test_other_weights_know_no_scatter(problem, rng):
    rows, query, cache = problem
    some = rng.random(205) < 0.7
    recalled, plain = ScatterCacheRows(rows, *cache).reweighted(some), rows.reweighted(some)
    tolerance = TOLERANCE[rows.dtype].pass_rtol
    assert_close_record(recalled.run(query), plain.run(query), tolerance)
    everything = Query.of_all_rows(query.centres, query.scale)
    assert_close_record(recalled.run(everything), plain.run(everything), tolerance)


def with_scatter(passes):
    """Return how many rows each pass has that makes a scatter."""
    return [rows.shape[0] for rows, query, *_ in passes if query.scatter]


@pytest.mark.parametrize("units", [1.0, 3.0])
def test_a_few_other_rows_change_the_scatter(problem, passes, units):
    rows, query, cache = problem
    caps = np.array([2.3, 2.6, 2.8])
    other = replace(query, caps=caps, centres=query.centres + 0.1, scale=units * query.scale)
    expected, near = rows.run(other), rows.run(replace(query, caps=caps))
    recalling = ScatterCacheRows(rows, *cache)
    passes.clear()
    for _ in range(2):  # the second time the very rows are known
        assert_close_record(recalling.run(other), expected, 10 * TOLERANCE[rows.dtype].pass_rtol)
    assert 0 < sum(with_scatter(passes)) < 0.25 * rows.shape[0]
    assert_close_record(
        recalling.run(replace(query, caps=caps)), near, 10 * TOLERANCE[rows.dtype].pass_rtol
    )


def test_of_many_other_rows_the_scatter_is_made_anew(problem, passes):
    rows, query, cache = problem
    wider = replace(query, caps=np.full(3, np.inf))
    expected = rows.run(wider)
    recalling = ScatterCacheRows(rows, *cache)
    passes.clear()
    for _ in range(2):
        assert_close_record(recalling.run(wider), expected, TOLERANCE[rows.dtype].pass_rtol)
    assert with_scatter(passes) == [rows.shape[0]]


def test_what_a_large_part_of_the_scatter_leaves_is_made_anew(problem, passes):
    rows, query, (support, moments) = problem
    (some,) = np.nonzero(support)
    X = rows.X.copy()
    X[some[0]] += 1e4  # beyond the cap now, and most of the scatter before
    rows = rows.with_features(X)
    whole = rows.run(Query.of_all_rows(query.centres, query.scale)).scatter
    recalling = ScatterCacheRows(rows, support, replace(moments, scatter=whole))
    passes.clear()
    expected = rows.run(query)
    assert_close_record(recalling.run(query), expected, TOLERANCE[rows.dtype].pass_rtol)
    assert rows.shape[0] in with_scatter(passes)[1:]


def test_other_weights_and_passes_without_a_scatter_recall_nothing(problem, passes):
    rows, query, cache = problem
    recalling = ScatterCacheRows(rows, *cache)
    for other in (replace(query, q=1.0, floor=0.1), replace(query, scatter=False)):
        expected = rows.run(other)
        assert_close_record(recalling.run(other), expected, TOLERANCE[rows.dtype].pass_rtol)
    assert [query.scatter for _, query, *_ in passes] == [True, True, False, False]


@pytest.mark.parametrize("estimator", [CappedLDA(), CappedNormLDA(), CappedNormLDA(q=2.0)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_fit_with_a_memory_is_the_fit_without(rng, passes, estimator, weighted):
    X, y = make_classes(rng, [150, 100, 90], 8)
    X = spoil(rng, X, rng.uniform(size=340) < 0.15)
    weight = rng.integers(0, 3, size=340).astype(float) if weighted else None
    found = []
    for least_features in (1, 100):
        passes.clear()
        model = in_regime(clone(estimator), cache_features=least_features).fit(X, y, weight)
        found.append((model, len(with_scatter(passes))))
    (recalled, few), (plain, many) = found
    assert few <= many
    np.testing.assert_array_equal(recalled.outliers_, plain.outliers_)
    assert recalled.n_passes_ == plain.n_passes_
    assert angle(recalled.scalings_, plain.scalings_) < 1e-9  # rounding
