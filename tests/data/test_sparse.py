"""Sparse rows: the record and the answer of dense ones, without a dense copy."""

import tracemalloc

import numpy as np
import pytest
from common import TOLERANCE, angle, assert_close_record, in_regime, make_classes, rows_of
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from cappedlda import CappedLDA, CappedLDACV, CappedNormLDA
from cappedlda._data.kinds import SlicedArray
from cappedlda._data.sparse import SparseRows
from cappedlda._initial import initial_estimate, standardize
from cappedlda._initial.sparse import medians_and_scale
from cappedlda._regime import REGIME, Regime
from cappedlda._rules.rule import Query
from cappedlda.paper.datasets import make_zipf_text

FORMATS = [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix]
# Of the same rows in float64: the systems are solved to 1e-3 of the tolerance of 1e-4.
WIDE_ANGLE = 1e-5


MANY_SLABS = Regime(slab_entries_per_feature=0.2)


@pytest.fixture
def thinned(rng, dtype):
    """Three classes in 12 dimensions with many zeros, some empty rows: X (300, 12), y."""
    X, y = make_classes(rng, [120, 100, 80], 12, dtype=dtype)
    X *= rng.random(X.shape) < np.linspace(0.1, 0.9, 12)
    X[::29] = 0.0
    return X, y


@pytest.fixture(scope="module")
def text():
    return make_zipf_text(400, 1200, 3, length=60, outlier_share=0.05, random_state=1)


def messy(X, index_dtype=np.int64):
    """The same matrix with explicit zeros, duplicates, and indices in no order."""
    X = sparse.coo_array(X)
    rows, columns = X.coords
    data = np.concatenate([0.25 * X.data, 0.75 * X.data, np.zeros(7)])
    rows = np.concatenate([rows, rows, np.zeros(7, int)])
    columns = np.concatenate([columns, columns, np.arange(7)])
    order = np.lexsort((-columns, rows))
    ends = np.searchsorted(rows[order], np.arange(X.shape[0] + 1))
    indices = columns[order].astype(index_dtype)
    messed = sparse.csr_array((data[order], indices, ends.astype(index_dtype)), shape=X.shape)
    assert not messed.has_canonical_format
    return messed


# ------------------------------------------------------------------------ passes


def make_query(rng, X, y, q=1.0, **wanted):
    centres = np.stack([X[y == i].mean(axis=0) for i in range(3)]).astype(float)
    W = rng.normal(size=(X.shape[1], 2)) / 3.0
    scale = rng.uniform(0.5, 2.0, X.shape[1])
    return Query(W, centres, scale, np.array([3.0, 4.0, np.inf]), q, 0.05, **wanted)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("q", [1.0, 2.0])
def test_record_is_that_of_dense_rows(rng, thinned, q, weighted):
    X, y = thinned
    codes, weight = y.astype(np.int32), rng.uniform(0, 2, len(y)) if weighted else None
    query = make_query(rng, X, y, q)
    dense, distances = rows_of(X, codes, weight), np.empty(len(y))
    expected = dense.run(query, distances)
    wide = SparseRows(sparse.csr_array(X), codes, 3, weight, regime=MANY_SLABS)
    assert len(wide.slabs()) > 3
    found = np.empty(len(y))
    record = wide.run(query, found)
    rtol = TOLERANCE[X.dtype].pass_rtol
    np.testing.assert_allclose(found, distances, rtol=10 * rtol)
    V = rng.normal(size=(12, 4))
    product = record.scatter.sums(record.scatter.images(V))
    expected_product = expected.scatter @ V
    np.testing.assert_allclose(
        product, expected_product, atol=rtol * np.abs(expected_product).max()
    )
    record.scatter = np.zeros((0, 0))
    expected.scatter = np.zeros((0, 0))
    # Weight slides between neighbouring bins when a distance is rounded.
    np.testing.assert_allclose(record.histograms, expected.histograms, atol=256 * rtol * len(X))
    record.histograms = expected.histograms
    assert_close_record(record, expected, 10 * rtol)


def test_record_does_not_depend_on_threads(rng, thinned):
    X, y = thinned
    query = make_query(rng, X, y)
    one, three = (
        SparseRows(sparse.csr_array(X), y.astype(np.int32), 3, n_jobs=n, regime=MANY_SLABS).run(
            query
        )
        for n in (1, 3)
    )
    np.testing.assert_array_equal(one.sums, three.sums)
    V = rng.normal(size=(12, 2))
    np.testing.assert_array_equal(*(s.scatter.sums(s.scatter.images(V)) for s in (one, three)))


def test_recentred_scatter_is_that_about_the_means(rng, thinned):
    X, y = thinned
    codes = y.astype(np.int32)
    query = make_query(rng, X, y, q=2.0)
    V, scatters = rng.normal(size=(12, 2)), []
    for rows in (rows_of(X, codes), SparseRows(sparse.csr_array(X), codes, 3)):
        record = rows.run(query)
        moments = record.moments(query.centres, query.scale).recentred()
        means = query.centres + record.sums / record.kept[:, 1:]
        np.testing.assert_allclose(moments.centres, means)
        scatters.append(moments.scatter)
    dense, wide = scatters
    rtol = 10 * TOLERANCE[X.dtype].pass_rtol
    np.testing.assert_allclose(
        wide.sums(wide.images(V)), dense @ V, atol=rtol * np.abs(dense @ V).max()
    )
    np.testing.assert_allclose(wide.diagonal(), np.diag(dense), rtol=rtol)


def test_norms_are_those_of_dense_rows(rng, thinned):
    X, y = thinned
    codes = y.astype(np.int32)
    centres, scale = rng.normal(size=(3, 12)), rng.uniform(0.5, 2, 12)
    expected, _ = rows_of(X, codes).norms(centres, scale)
    found, _ = SparseRows(sparse.csr_array(X), codes, 3).norms(centres, scale)
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE[X.dtype].pass_rtol)
    # A row at its centre is at distance 0, whatever rounding says.
    at_centre = SparseRows(sparse.csr_array(centres[:1]), np.zeros(1, np.int32), 3)
    assert at_centre.norms(centres, scale)[0][0] < 1e-7


@pytest.mark.parametrize("weighted", [False, True])
def test_medians_and_scale_are_those_of_dense_rows(rng, thinned, weighted):
    regime = Regime(slab_elements=700)  # several blocks of features
    X, y = thinned
    X[:, 3] = 0.0
    X[:, 4] = -np.abs(X[:, 4])
    codes, weight = y.astype(np.int32), rng.integers(1, 4, len(y)) * 1.0 if weighted else None
    expected = standardize.medians_and_scale(rows_of(X, codes, weight))
    rows = SparseRows(sparse.csr_array(X), codes, 3, weight, regime=regime)
    found = medians_and_scale(rows)
    assert expected[2].any()
    assert not expected[2].all()
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
def test_initial_estimate_is_that_of_dense_rows(rng, text, weighted):
    X, codes = text.X.toarray(), text.y.astype(np.int32)
    X[7] *= 1e9  # beyond what is cut off
    weight = rng.integers(1, 4, len(codes)) * 1.0 if weighted else None
    expected = initial_estimate(rows_of(X, codes, weight), robust=True)
    rows = SparseRows(sparse.csr_array(X), codes, 3, weight)
    before = rows.X.data.copy()
    found = initial_estimate(rows, robust=True)
    np.testing.assert_array_equal(rows.X.data, before)
    assert expected.centres.any()
    np.testing.assert_allclose(found.centres, expected.centres, atol=1e-12)
    np.testing.assert_allclose(found.scale, expected.scale, rtol=1e-14)
    np.testing.assert_array_equal(found.support, expected.support)


def test_half_zero_features_have_the_median_between():
    X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 5.0], [4.0, 5.0]])
    codes = np.zeros(4, np.int32)
    rows = SparseRows(sparse.csr_array(X), codes, 1)
    centres, _ = medians_and_scale(rows)
    np.testing.assert_array_equal(centres, np.median(X, axis=0)[None])


# -------------------------------------------------------------------------- fits


def assert_same_fit(model, other, limit, rtol=1e-5):
    np.testing.assert_array_equal(model.outliers_, other.outliers_)
    assert angle(model.scalings_, other.scalings_) < limit
    np.testing.assert_allclose(model.epsilon_, other.epsilon_, rtol=rtol)
    np.testing.assert_allclose(model.means_, other.means_, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("container", FORMATS)
def test_few_features_give_the_fit_of_the_array(container, dirty):
    X, y, spoilt = dirty
    model = CappedLDA().fit(container(X), y)
    assert_same_fit(model, CappedLDA().fit(X, y), 1e-6)
    np.testing.assert_array_equal(model.outliers_, spoilt)


def test_many_rows_of_few_features_are_made_dense_in_slabs(rng, spy):
    X, y = make_classes(rng, [10_000, 10_000, 11_000], 5)
    X *= rng.random(X.shape) < 0.5
    X[::50] *= 30.0
    slabs = spy(SlicedArray, "__getitem__")
    # A sample four times as large would be all rows.
    model = in_regime(CappedLDA(), slab_elements=1, larger_sample=1).fit(sparse.csr_array(X), y)
    assert 0 < max(map(len, slabs.results)) < len(X)
    assert_same_fit(model, in_regime(CappedLDA(), larger_sample=1).fit(X, y), 1e-6)


@pytest.mark.parametrize("q", [1.0, 2.0])
def test_products_give_the_fit_of_the_array(rng, q):
    # Several hundred rows, twelve features: Cholesky and conjugate gradients, any q.
    X, y = make_classes(rng, [120, 100, 80], 12)
    X *= rng.random(X.shape) < np.linspace(0.3, 0.9, 12)
    X[::15] *= 20.0
    weight = rng.integers(1, 3, len(y)) * 1.0
    # The robust start needs covariances of few features. Conjugate gradients need a ridge.
    options = {"q": q, "start": "lda", "ridge": 1e-8}
    model = in_regime(CappedNormLDA(**options), most_dense_features=0)
    model.fit(sparse.csr_array(X), y, weight)
    assert_same_fit(model, CappedNormLDA(**options).fit(X, y, weight), WIDE_ANGLE)


@pytest.mark.parametrize("n_rows", [300, 400])
def test_text_has_the_fit_of_the_array(text, n_rows):
    X, y = text.X[:n_rows], text.y[:n_rows]
    assert X.shape[1] > REGIME.most_dense_features
    # An implicit scatter cannot be shrunk.
    model, dense = (CappedLDA(shrinkage=None).fit(rows, y) for rows in (X, X.toarray()))
    assert_same_fit(model, dense, WIDE_ANGLE)
    assert model.status_ == "converged"
    np.testing.assert_allclose(model.distances_, dense.distances_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), dense.predict_proba(X), atol=1e-4)


def test_float32_text(text):
    X = text.X.astype(np.float32)
    model, dense = CappedLDA().fit(X, text.y), CappedLDA().fit(text.X, text.y)
    assert angle(model.scalings_, dense.scalings_) < 1e-3
    np.testing.assert_array_equal(model.outliers_, dense.outliers_)
    assert model.transform(X).dtype == np.float32


def test_planted_documents_are_found(text):
    model = CappedLDA().fit(text.X, text.y)
    assert model.outliers_[text.outliers].all()
    assert model.outliers_[~text.outliers].mean() < 0.06


@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_messy_matrices_are_read_and_left_alone(text, index_dtype):
    X = messy(text.X, index_dtype)
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    model = CappedLDA().fit(X, text.y)
    model.outlyingness(X, text.y)
    for array, old in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(array, old)
        assert array.dtype == old.dtype
    assert_same_fit(model, CappedLDA().fit(text.X, text.y), 1e-6)


@pytest.mark.parametrize("method", ["transform", "predict", "predict_proba", "decision_function"])
def test_methods_take_sparse_rows(text, method):
    model = CappedLDA().fit(text.X, text.y)
    result = getattr(model, method)(text.X)
    assert isinstance(result, np.ndarray)
    dense = getattr(model, method)(text.X.toarray())
    if method == "predict":
        np.testing.assert_array_equal(result, dense)
    else:
        np.testing.assert_allclose(result, dense, atol=1e-8 * np.abs(dense).max())


@pytest.mark.parametrize("space", ["both", "projected", "full"])
@pytest.mark.parametrize("labelled", [True, False])
def test_outlyingness_of_sparse_rows(text, labelled, space):
    model = CappedLDA().fit(text.X, text.y)
    y = text.y if labelled else None
    found = model.outlyingness(text.X, y, space)
    np.testing.assert_allclose(found, model.outlyingness(text.X.toarray(), y, space), rtol=1e-6)
    if labelled and space == "both":
        np.testing.assert_array_equal(found > 1.0, model.outliers_)


def test_weights_repeat_documents(text):
    X, y = text.X[:200], text.y[:200]
    weight = np.where(np.arange(200) % 3 == 0, 2.0, 1.0)
    repeated = np.repeat(np.arange(200), weight.astype(int))
    model = CappedLDA().fit(X, y, weight)
    other = CappedLDA().fit(X[repeated], y[repeated])
    np.testing.assert_array_equal(model.outliers_[repeated], other.outliers_)
    assert angle(model.scalings_, other.scalings_) < 1e-4


def test_random_state_chooses_the_sample(text):
    thresholds = {
        "least_sample_rows": 80,
        "sample_rows_per_class": 20,
        "most_dense_features": 0,
    }
    X = text.X[:, :50]  # more rows than features: fitted on a sample first
    one, same, other = (
        in_regime(CappedLDA(random_state=s), **thresholds).fit(X, text.y) for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.scalings_, same.scalings_)
    assert not np.array_equal(one.scalings_, other.scalings_)


def test_cross_validation_takes_sparse_rows(text):
    model = CappedLDACV(multipliers=[1.0, 2.0], cv=2).fit(text.X, text.y)
    assert np.max(model.cv_results_["mean_test_score"]) > 0.4  # three classes


@pytest.mark.parametrize("start", ["identity", "lda"])
def test_other_starts_and_no_cap(text, start):
    X, y = text.X[:150], text.y[:150]
    for epsilon in ("auto", np.inf):
        options = {"start": start, "epsilon": epsilon, "q": 2.0}
        model = CappedNormLDA(**options).fit(X, y)
        assert_same_fit(model, CappedNormLDA(**options).fit(X.toarray(), y), WIDE_ANGLE)


def test_weighted_words_in_a_pipeline(text):
    X = TfidfTransformer(sublinear_tf=True).fit_transform(text.X)
    assert CappedLDA().fit(X, text.y).score(X, text.y) > 0.9


# ------------------------------------------------------------------------ memory


def test_no_dense_copy_is_made():
    text = make_zipf_text(3000, 20_000, 3, random_state=0)
    X = text.X
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    tracemalloc.start()
    try:
        CappedLDA(n_jobs=1).fit(X, text.y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The start tries 30 centres, each of n_features: together more than X in this small case.
    assert peak < 10 * size < 0.07 * X.shape[0] * X.shape[1] * 8


# ------------------------------------------------------------------- refused input


def test_unsupervised_directions_need_a_matrix(text):
    with pytest.raises(ValueError, match="n_components=3.*at most 2"):
        CappedLDA(n_components=3).fit(text.X, text.y)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_entries_must_be_finite(text, value):
    X = text.X.copy()
    X.data[17] = value
    with pytest.raises(ValueError, match="NaN|infinity"):
        CappedLDA().fit(X, text.y)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("times", [1e2, 1e6, 1e12, 1e200])
def test_far_documents_are_left_out(text, times, dense):
    # Fewer rows than features: no row can be judged by LDA without it.
    X, y, far = text.X.copy(), text.y, np.arange(0, 400, 10)
    for row in far:
        X.data[X.indptr[row] : X.indptr[row + 1]] *= times
    X = X.toarray() if dense else X
    model = CappedLDA().fit(X, y)
    assert model.left_out_[far].all()
    assert np.isfinite(model.scalings_).all()
    near = np.setdiff1d(np.flatnonzero(~text.outliers), far)
    assert model.score(X[near], y[near]) > 0.9


@pytest.mark.parametrize("seed", range(4))
def test_directions_that_fit_the_rows_exactly_still_classify_them(seed):
    # The caps of such rows are far below a deviation, and the covariance is not divided by what
    # normal rows would have left within them.
    data = make_zipf_text(900, 3000, 3, outlier_share=0.05, random_state=seed)
    model = CappedLDA().fit(data.X, data.y)
    assert model.score(data.X[~data.outliers], data.y[~data.outliers]) > 0.95


def test_entries_are_cut_off_far_from_the_centre_of_their_class(rng):
    X = rng.normal(size=(40, 3)) * (rng.random((40, 3)) < 0.8)
    X[5, 1], X[6, 2] = 1e9, -1e9
    codes, centres, reach = np.arange(40) % 2, rng.normal(size=(2, 3)), np.array([9.0, 8.0, 7.0])
    rows = SparseRows(sparse.csr_array(X), codes.astype(np.int32), 2)
    found = rows.clipped(centres, reach).X.toarray()
    middle = centres[codes]
    expected = np.where(X == 0.0, 0.0, np.clip(X, middle - reach, middle + reach))
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert rows.X[5, 1] == 1e9
    assert rows.clipped(centres, np.full(3, 1e10)) is rows
