"""Changes of the data that must not change the answer, or change it in a known way.

Each test fits twice and compares: which rows are flagged, the directions as a subspace in the
original features, and the predictions. Tolerances are those of rounding, which the iteration may
magnify until it stops: `tol` is 1e-4 of a relative change, and what follows a stop is polished.
"""

import numpy as np
import pytest
from common import angle, make_classes, spoil
from sklearn.base import clone

from cappedlda import CappedLDA, CappedNormLDA
from cappedlda.paper.datasets import make_zipf_text

# Largest angle in radians between subspaces that differ by rounding only: the order of sums
# changes 1e-16 relative, the iteration stops alike, and polishing solves one linear system.
ROUNDING = 1e-8
# The same for sums of numbers in single precision, 6e-8 relative.
SINGLE = 2e-3
# Fits that start from different samples of the rows, as large data are: the support is the same.
SAMPLED = 1e-4


def dirty_rows(sizes, n, seed, share=0.1):
    rng = np.random.default_rng(seed)
    X, y = make_classes(rng, sizes, n)
    return spoil(rng, X, rng.random(len(y)) < share), y


DATA = {
    "three classes": lambda: dirty_rows([60, 50, 40], 6, 1),
    "two classes": lambda: dirty_rows([80, 70], 4, 2),
    "many classes": lambda: dirty_rows([30] * 8, 5, 3),
    "unbalanced": lambda: dirty_rows([200, 20], 5, 4, 0.05),
    "more features than rows": lambda: dirty_rows([15, 15, 10], 60, 5),
    "thousands of rows": lambda: dirty_rows([3000, 2000], 8, 6),
}


@pytest.fixture(params=DATA)
def data(request):
    return DATA[request.param]()


@pytest.fixture(params=[CappedLDA(), CappedNormLDA(q=2.0)], ids=str)
def model(request):
    return request.param


def fit(X, y, sample_weight=None, model=CappedLDA(), **options):  # noqa: B008
    return clone(model).set_params(**options).fit(X, y, sample_weight)


def check_same(found, expected, W=None, outliers=None, tolerance=ROUNDING):
    """Check directions (W if they had to be mapped back) and flagged rows against a fit."""
    W = found.scalings_ if W is None else W
    outliers = found.outliers_ if outliers is None else outliers
    np.testing.assert_array_equal(outliers, expected.outliers_)
    assert angle(W, expected.scalings_) < tolerance
    assert found.status_ == expected.status_


def test_permuted_rows(data, model):
    X, y = data
    order = np.random.default_rng(0).permutation(len(y))
    found, expected = fit(X[order], y[order], model=model), fit(X, y, model=model)
    check_same(found, expected, outliers=found.outliers_[np.argsort(order)])


def test_permuted_features(data, model):
    X, y = data
    order = np.random.default_rng(0).permutation(X.shape[1])
    found, expected = fit(X[:, order], y, model=model), fit(X, y, model=model)
    check_same(found, expected, W=found.scalings_[np.argsort(order)])


def test_relabelled_classes(data, model):
    X, y = data
    names = np.array(list("hgfedcba"))
    found, expected = fit(X, names[y], model=model), fit(X, y, model=model)
    check_same(found, expected)
    np.testing.assert_array_equal(found.predict(X), names[expected.predict(X)])
    # The probabilities of the classes, in their new order.
    order = np.argsort(names[: len(expected.classes_)])
    difference = found.predict_proba(X) - expected.predict_proba(X)[:, order]
    assert np.abs(difference).max() < 1e-6


def test_duplicated_rows_with_half_weights(data, model):
    X, y = data
    twice = np.repeat(np.arange(len(y)), 2)
    found = fit(X[twice], y[twice], np.full(2 * len(y), 0.5), model=model)
    # Weights of a mean below 1 only count relative to each other.
    expected = fit(X[twice], y[twice], model=model)
    check_same(found, expected)
    np.testing.assert_array_equal(found.outliers_[::2], found.outliers_[1::2])


def test_weights_of_one_are_no_weights(data, model):
    X, y = data
    check_same(fit(X, y, np.ones(len(y)), model=model), fit(X, y, model=model))


def test_rows_of_weight_zero_are_as_if_not_there(data, model):
    X, y = data
    strange = np.full((5, X.shape[1]), 7.0)
    more = np.concatenate([X, strange]), np.concatenate([y, y[:5]])
    found = fit(*more, np.append(np.ones(len(y)), np.zeros(5)), model=model)
    check_same(found, fit(X, y, model=model), outliers=found.outliers_[: len(y)])


def test_powers_of_two_as_units_change_no_bit(data, model):
    X, y = data
    units = 2.0 ** np.random.default_rng(0).integers(-20, 20, X.shape[1])
    found, expected = fit(X * units, y, model=model), fit(X, y, model=model)
    check_same(found, expected, W=found.scalings_ * units[:, None])


def test_units(data, model):
    X, y = data
    units = 10.0 ** np.random.default_rng(0).uniform(-9, 9, X.shape[1])
    found, expected = fit(X * units, y, model=model), fit(X, y, model=model)
    check_same(found, expected, W=found.scalings_ * units[:, None])
    np.testing.assert_array_equal(found.predict(X * units), expected.predict(X))


def test_shifts(data, model):
    """A shift of a thousand deviations leaves 13 of 16 digits."""
    X, y = data
    shift = 1e3 * np.random.default_rng(0).normal(size=X.shape[1])
    found, expected = fit(X + shift, y, model=model), fit(X, y, model=model)
    check_same(found, expected, tolerance=1e-6)
    np.testing.assert_array_equal(found.predict(X + shift), expected.predict(X))


def test_reflections(data, model):
    X, y = data
    check_same(fit(-X, y, model=model), fit(X, y, model=model))


def test_a_constant_feature_changes_nothing(data, model):
    X, y = data
    more = np.column_stack([X, np.full(len(y), 3.0)])
    n_components = min(y.max(), X.shape[1])
    found, expected = (fit(rows, y, model=model, n_components=n_components) for rows in (more, X))
    np.testing.assert_array_equal(found.outliers_, expected.outliers_)
    # The share of a feature in the size of whole rows is another, and so is the shrinkage.
    assert angle(found.scalings_[:-1], expected.scalings_) < 6e-3
    np.testing.assert_array_equal(found.predict(more), expected.predict(X))


def test_single_precision(data, model):
    X, y = data
    found, expected = fit(X.astype(np.float32), y, model=model), fit(X, y, model=model)
    assert np.sum(found.outliers_ != expected.outliers_) <= 1  # on the border
    assert angle(found.scalings_, expected.scalings_) < SINGLE
    assert np.mean(found.predict(X.astype(np.float32)) == expected.predict(X)) > 0.99


def check_same_bits(found, expected):
    for name in ("scalings_", "coef_", "intercept_", "means_", "caps_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_any_number_of_threads_gives_the_same_bits(data, n_jobs):
    X, y = data
    check_same_bits(fit(X, y, n_jobs=n_jobs), fit(X, y))


def test_memory_order_and_maps_give_the_same_bits(data, tmp_path):
    X, y = data
    expected = fit(X, y)
    check_same_bits(fit(np.asfortranarray(X), y), expected)
    np.save(tmp_path / "X.npy", X)
    check_same_bits(fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y), expected)
    wider = np.repeat(X, 2, axis=1)
    check_same_bits(fit(wider[:, ::2], y), expected)


@pytest.mark.parametrize("rows", [1, 7, 64, 10**6])
def test_chunks_of_any_size_give_the_same_bits(data, rows):
    X, y = data
    if len(y) > 1000 and rows == 1:
        rows = 13
    starts = range(0, len(y), rows)
    found = CappedLDA().fit_chunks(lambda: [(X[i : i + rows], y[i : i + rows]) for i in starts])
    check_same_bits(found, fit(X, y))


def test_dask_agrees(data):
    da = pytest.importorskip("dask.array")
    X, y = data
    parts = {"chunks": (-(-len(y) // 3), X.shape[1])}
    found = fit(da.from_array(X, **parts), da.from_array(y, chunks=parts["chunks"][0]))
    expected = fit(X, y)
    assert angle(found.scalings_, expected.scalings_) < ROUNDING
    np.testing.assert_array_equal(np.asarray(found.outliers_), expected.outliers_)


def test_sparse_agrees_with_dense():
    sparse = pytest.importorskip("scipy.sparse")
    X, y, _ = make_zipf_text(400, 300, 3, outlier_share=0.05, random_state=0)
    found, expected = fit(X, y), fit(X.toarray(), y)
    check_same(found, expected)
    check_same(fit(sparse.csc_array(X), y), expected)


def test_rows_are_predicted_one_by_one_as_together(data):
    X, y = data
    lda = fit(X, y)
    for method in (lda.transform, lda.predict_proba, lda.outlyingness):
        together = method(X[:20])
        alone = np.concatenate([method(X[i : i + 1]) for i in range(20)])
        np.testing.assert_allclose(alone, together, rtol=1e-7, atol=1e-9)


def test_a_second_fit_forgets_the_first(data):
    X, y = data
    other = DATA["three classes" if X.shape[1] != 6 else "two classes"]()
    check_same_bits(CappedLDA().fit(*other).fit(X, y), fit(X, y))


def test_flagged_rows_may_be_farther_still(data, model):
    """What is left out is not used: a thousand times as far it changes nothing."""
    X, y = data
    expected = fit(X, y, model=model)
    farther = X.copy()
    centres = expected.means_[y]
    far = expected.left_out_ & (expected.outlyingness(X, y, space="full") > 3.0)
    farther[far] += 1e3 * (X - centres)[far]
    found = fit(farther, y, model=model)
    np.testing.assert_array_equal(found.outliers_, expected.outliers_)
    # The units of features move a little where few rows are left.
    assert angle(found.scalings_, expected.scalings_) < (0.1 if len(X) < X.shape[1] else 0.05)
