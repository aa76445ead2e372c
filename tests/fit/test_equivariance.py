"""What must not matter does not: order, units, place, repetition; nor do far outliers."""

import numpy as np
import pytest
from common import angle, estimator_of, make_classes, spoil
from scipy.stats import ortho_group

from cappedlda import CappedLDA, CappedNormLDA


def same_fit(model, other, X, other_X, atol=1e-6):
    """Check two fits for equal flags, distances, labels and rules."""
    np.testing.assert_array_equal(model.outliers_, other.outliers_)
    np.testing.assert_allclose(model.distances_, other.distances_, rtol=1e-4, atol=atol)
    assert model.epsilon_ == pytest.approx(other.epsilon_, rel=1e-4)
    np.testing.assert_allclose(
        model.predict_proba(X), other.predict_proba(other_X), rtol=1e-3, atol=1e-6
    )
    np.testing.assert_array_equal(model.predict(X), other.predict(other_X))


@pytest.mark.parametrize("options", [{}, {"q": 2}, {"epsilon": np.inf}, {"start": "lda"}])
def test_permuted_features(rng, dirty, options):
    X, y, _ = dirty
    order = rng.permutation(6)
    model = estimator_of(**options).fit(X, y)
    other = estimator_of(**options).fit(X[:, order], y)
    assert angle(other.scalings_, model.scalings_[order]) < 1e-8
    same_fit(model, other, X, X[:, order])


@pytest.mark.parametrize("options", [{}, {"q": 2}, {"epsilon": np.inf}])
def test_permuted_rows(rng, dirty, options):
    X, y, _ = dirty
    order = rng.permutation(len(y))
    model = estimator_of(**options).fit(X, y)
    other = estimator_of(**options).fit(X[order], y[order])
    assert angle(other.scalings_, model.scalings_) < 1e-8
    np.testing.assert_array_equal(other.outliers_, model.outliers_[order])
    np.testing.assert_allclose(other.distances_, model.distances_[order], rtol=1e-6)


@pytest.mark.parametrize("options", [{}, {"q": 2}, {"start": "lda", "epsilon": np.inf}])
def test_rotated_features(dirty, options):
    # Rotation changes the deviations of the features, in which the first look measures and
    # the ridge is fair. Up to a tiny ridge and the tolerance the answer does not change,
    # as long as both first looks see the same outliers.
    X, y, _ = dirty
    R = ortho_group.rvs(6, random_state=7)
    options = {"ridge": 1e-10, "tol": 1e-8, "max_iter": 500} | options
    model = estimator_of(**options).fit(X, y)
    other = estimator_of(**options).fit(X @ R, y)
    assert angle(R @ other.scalings_, model.scalings_) < 1e-5
    same_fit(model, other, X, X @ R, atol=1e-4)


@pytest.mark.parametrize("options", [{}, {"q": 2}, {"epsilon": np.inf}, {"start": "lda"}])
def test_shifted_data(dirty, options):
    X, y, _ = dirty
    shift = np.array([100.0, -50.0, 0.0, 1e4, 3.0, -1e3])
    model = estimator_of(**options).fit(X, y)
    other = estimator_of(**options).fit(X + shift, y)
    assert angle(other.scalings_, model.scalings_) < 1e-7
    np.testing.assert_allclose(other.means_, model.means_ + shift, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(other.transform(X + shift), model.transform(X), atol=1e-6)
    same_fit(model, other, X, X + shift)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e-3, 1e3, 1e30, 1e150])
@pytest.mark.parametrize("options", [{}, {"q": 2}, {"q": 0.5}, {"epsilon": 3.0}])
def test_scaled_data(dirty, scale, options):
    X, y, _ = dirty
    model = estimator_of(**options).fit(X, y)
    other = estimator_of(**options).fit(scale * X, y)
    assert angle(scale * other.scalings_, model.scalings_) < 1e-7
    np.testing.assert_allclose(other.transform(scale * X), model.transform(X), atol=1e-6)
    same_fit(model, other, X, scale * X)
    assert np.isfinite(other.coef_).all()
    assert np.isfinite(other.intercept_).all()
    np.testing.assert_allclose(
        other.outlyingness(scale * X), model.outlyingness(X), rtol=1e-5, atol=1e-8
    )


@pytest.mark.parametrize("scale", [1e-150, 1e-10, 1e10, 1e150])
@pytest.mark.parametrize("start", ["identity", "array"])
def test_scaled_data_from_a_start_in_raw_units(rng, clean, scale, start):
    X, y = clean
    start = rng.normal(size=(6, 2)) if start == "array" else start
    model = CappedNormLDA(start=start).fit(X, y)
    other = CappedNormLDA(start=start).fit(scale * X, y)
    assert angle(scale * other.scalings_, model.scalings_) < 1e-3
    np.testing.assert_array_equal(other.outliers_, model.outliers_)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_scaled_float32_data(dirty, scale):
    X, y, spoilt = dirty
    model = CappedLDA().fit(X, y)
    other = CappedLDA().fit((scale * X).astype(np.float32), y)
    np.testing.assert_array_equal(other.outliers_, spoilt)
    assert angle(scale * other.scalings_, model.scalings_) < 1e-4


@pytest.mark.parametrize("options", [{}, {"q": 2}, {"epsilon": np.inf}, {"start": "lda"}])
def test_single_features_in_other_units(dirty, options):
    X, y, _ = dirty
    units = np.array([1.0, 1e6, 1.0, 1e-6, 12.0, 1.0])
    model = estimator_of(**options).fit(X, y)
    other = estimator_of(**options).fit(X * units, y)
    assert angle(other.scalings_ * units[:, None], model.scalings_) < 1e-7
    same_fit(model, other, X, X * units)


@pytest.mark.parametrize(
    "options",
    [{}, {"q": 2}, {"epsilon": np.inf}, {"centres": "mean"}, {"start": "lda"}, {"n_components": 5}],
)
def test_integer_weights_are_repetitions(rng, dirty, options):
    X, y, _ = dirty
    weight = rng.integers(1, 4, size=len(y))
    weighted = estimator_of(**options).fit(X, y, sample_weight=weight)
    repeated = estimator_of(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    first = np.cumsum(weight) - weight
    assert angle(weighted.scalings_, repeated.scalings_) < 1e-7
    np.testing.assert_array_equal(weighted.outliers_, repeated.outliers_[first])
    np.testing.assert_allclose(weighted.distances_, repeated.distances_[first], rtol=1e-6)
    np.testing.assert_allclose(weighted.priors_, repeated.priors_)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("options", [{}, {"q": 2}, {"epsilon": np.inf}, {"centres": "mean"}])
def test_weight_zero_is_removal(rng, dirty, options):
    X, y, _ = dirty
    keep = rng.uniform(size=len(y)) < 0.7
    X[~keep] *= 100.0
    weighted = estimator_of(**options).fit(X, y, sample_weight=keep.astype(float))
    removed = estimator_of(**options).fit(X[keep], y[keep])
    assert angle(weighted.scalings_, removed.scalings_) < 1e-7
    np.testing.assert_allclose(weighted.means_, removed.means_, rtol=1e-7)
    np.testing.assert_array_equal(weighted.outliers_[keep], removed.outliers_)
    np.testing.assert_allclose(weighted.coef_, removed.coef_, rtol=1e-6, atol=1e-8)


def test_equal_weights_of_any_size_change_only_the_degrees_of_freedom(dirty):
    X, y, _ = dirty
    model = CappedLDA().fit(X, y)
    for weight in (3.7, 1e6):  # a class of weight below 20 would lose its own fence
        other = CappedLDA().fit(X, y, sample_weight=np.full(len(y), weight))
        assert angle(other.scalings_, model.scalings_) < 1e-7
        np.testing.assert_array_equal(other.outliers_, model.outliers_)
        assert other.epsilon_ == pytest.approx(model.epsilon_)


def test_every_row_twice_is_the_same_problem(dirty):
    X, y, _ = dirty
    model = CappedLDA().fit(X, y)
    double = CappedLDA().fit(np.vstack([X, X]), np.append(y, y))
    assert angle(double.scalings_, model.scalings_) < 1e-7
    np.testing.assert_array_equal(double.outliers_, np.tile(model.outliers_, 2))


def test_labels_of_any_kind_and_order(dirty):
    X, y, _ = dirty
    model = CappedLDA().fit(X, y)
    names = np.array(["zebra", "ant", "mole"])
    other = CappedLDA().fit(X, names[y])
    assert angle(other.scalings_, model.scalings_) < 1e-8
    assert list(other.classes_) == ["ant", "mole", "zebra"]
    np.testing.assert_array_equal(other.predict(X), names[model.predict(X)])
    np.testing.assert_allclose(other.means_, model.means_[[1, 2, 0]], rtol=1e-9)


@pytest.mark.parametrize("size", [10.0, 30.0, 100.0, 1e3, 1e6, 1e12])
@pytest.mark.parametrize("options", [{}, {"q": 2.0}, {"epsilon": 6.0}])
def test_outliers_are_found_however_far_they_are(rng, clean, size, options):
    X, y = clean
    spoilt = rng.uniform(size=len(y)) < 0.2
    model = estimator_of(**options).fit(spoil(rng, X, spoilt, size), y)
    oracle = estimator_of(**options).fit(X[~spoilt], y[~spoilt])
    # A short step may miss the two discriminant directions, and does no harm then.
    assert model.outliers_[spoilt].mean() >= (0.95 if size > 50 else 0.8)
    assert model.outliers_[~spoilt].mean() <= 0.05
    if size > 50:  # nearer ones may harm no other row, and take part in the fit
        assert angle(model.scalings_, oracle.scalings_) < 0.1
    assert model.score(X, y) > oracle.score(X, y) - 0.02


@pytest.mark.parametrize("share", [0.3, 0.45])
def test_nearly_half_of_the_rows_may_be_garbage(rng, share):
    X, y = make_classes(rng, [80, 80, 80], 6)
    spoilt = rng.uniform(size=240) < share
    model = CappedLDA().fit(spoil(rng, X, spoilt, 100.0), y)
    assert model.outliers_[spoilt].mean() >= 0.95
    assert model.outliers_[~spoilt].mean() <= 0.1
    assert model.score(X, y) > 0.95
