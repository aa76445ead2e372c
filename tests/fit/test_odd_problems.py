"""Problems at the edge: few rows, few features, degenerate features, many classes."""

import warnings

import numpy as np
import pytest
from common import angle, estimator_of, in_regime, make_classes
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning

from cappedlda import CappedLDA, CappedNormLDA
from cappedlda._kernels import kernels
from cappedlda.paper import CLDA


def assert_finite(model, X):
    for name in ("scalings_", "means_", "coef_", "intercept_", "distances_", "weights_"):
        assert np.isfinite(getattr(model, name)).all(), name
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_two_classes_give_one_direction(rng):
    X, y = make_classes(rng, [60, 50], 5)
    model = CappedLDA().fit(X, y)
    assert model.scalings_.shape == (5, 1)
    assert model.coef_.shape == (1, 5)
    assert model.intercept_.shape == (1,)
    np.testing.assert_allclose(model.explained_variance_ratio_, [1.0])
    assert angle(model.coef_.T, model.scalings_) < 1e-7
    scores = model.decision_function(X)
    assert scores.shape == (110,)
    np.testing.assert_array_equal(model.predict(X), (scores > 0).astype(int))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-scores)))
    lda = LinearDiscriminantAnalysis().fit(X, y)
    assert angle(model.scalings_, lda.scalings_) < 0.2
    assert np.mean(model.predict(X) == lda.predict(X)) > 0.97


@pytest.mark.parametrize("n_classes", [2, 4])
def test_one_feature(rng, n_classes):
    codes = np.repeat(np.arange(n_classes), 30)
    X = 10.0 * codes[:, None] + rng.normal(size=(len(codes), 1))
    X[0] = 1e4
    model = CappedLDA().fit(X, codes)
    assert model.scalings_.shape == (1, 1)
    assert model.outliers_[0]
    assert model.outliers_.sum() <= 3  # the fence is at 3.2 standard deviations
    np.testing.assert_allclose(model.means_[:, 0], 10.0 * np.arange(n_classes), atol=1.0)
    assert model.score(X[1:], codes[1:]) == 1.0
    # Kept rows have unit variance in the projection.
    kept = ~model.outliers_
    within = (X[:, 0] - model.means_[codes, 0])[kept]
    spread = np.sqrt(np.sum(within**2) / (kept.sum() - n_classes))
    # Up to what the cap would cut off a normal distribution.
    assert model.scalings_[0, 0] == pytest.approx(1 / spread, rel=2e-2)


def test_a_class_with_one_row_is_kept(clean):
    X, y = clean
    X = np.vstack([X, X.mean(axis=0) + 8.0])
    y = np.append(y, 7)
    model = CappedLDA().fit(X, y)
    assert not model.outliers_[-1]
    np.testing.assert_allclose(model.means_[-1], X[-1])
    assert model.distances_[-1] == pytest.approx(0.0, abs=1e-9)
    assert model.predict(X[-1:])[0] == 7
    assert model.scalings_.shape == (6, 3)
    assert_finite(model, X)


def test_two_rows_per_class(rng):
    y = np.repeat(np.arange(15), 2)
    X = 20.0 * rng.normal(size=(15, 6))[y] + rng.normal(size=(30, 6))
    model = CappedLDA().fit(X, y)
    assert model.scalings_.shape == (6, 6)
    assert model.score(X, y) == 1.0
    assert not model.outliers_.any()
    np.testing.assert_allclose(model.means_, (X[::2] + X[1::2]) / 2, rtol=1e-9)
    assert_finite(model, X)


def test_one_row_per_class_and_one_more(rng):
    X = 5.0 * rng.normal(size=(4, 3))
    model = CappedLDA().fit(X, [0, 1, 2, 2])
    np.testing.assert_allclose(model.means_[:2], X[:2])
    np.testing.assert_allclose(model.means_[2], X[2:].mean(axis=0))
    assert not model.outliers_.any()
    assert_finite(model, X)


def test_classes_without_any_spread(rng):
    y = np.repeat([0, 1, 2], 5)
    X = rng.normal(size=(3, 4))[y]
    model = CappedLDA().fit(X, y)
    assert model.score(X, y) == 1.0
    assert not model.outliers_.any()
    np.testing.assert_allclose(model.distances_, 0.0, atol=1e-6)
    assert_finite(model, X)


@pytest.mark.parametrize("q", [0.5, 1.0])
def test_a_row_on_its_class_mean_has_a_finite_weight(clean, q):
    X, y = clean
    row = np.flatnonzero(y == 0)[0]
    others = (y == 0) & (np.arange(len(y)) != row)
    X[row] = X[others].mean(axis=0)
    model = CappedNormLDA(q=q, centres="mean", epsilon=20.0).fit(X, y)
    assert model.distances_[row] < 1e-8
    assert np.isfinite(model.weights_).all()
    assert np.argmax(model.weights_) == row
    assert_finite(model, X)


def test_a_constant_feature_changes_nothing(dirty):
    X, y, _ = dirty
    model = CappedLDA().fit(X, y)
    for value in (0.0, -3.0, 1e8):
        wide = np.insert(X, 2, value, axis=1)
        other = CappedLDA().fit(wide, y)
        np.testing.assert_array_equal(other.outliers_, model.outliers_)
        np.testing.assert_allclose(other.scalings_[2], 0.0, atol=1e-7)
        # The ridge is relative to the mean variance, now over 7 features.
        assert angle(np.delete(other.scalings_, 2, axis=0), model.scalings_) < 1e-3
        np.testing.assert_array_equal(other.predict(wide), model.predict(X))


def test_a_feature_that_is_constant_but_for_one_row(clean):
    X, y = clean
    spike = np.zeros((len(y), 1))
    spike[3] = 1.0
    model = CappedLDA().fit(np.hstack([X, spike]), y)
    assert_finite(model, np.hstack([X, spike]))
    assert model.score(np.hstack([X, spike]), y) >= CappedLDA().fit(X, y).score(X, y) - 0.02


def test_collinear_features_change_little(dirty):
    X, y, _ = dirty
    model = CappedLDA(cells="all").fit(X, y)
    wide = np.hstack([X, X[:, :2], X[:, :1] + X[:, 3:4]])
    other = CappedLDA(cells="all").fit(wide, y)
    np.testing.assert_array_equal(other.outliers_, model.outliers_)
    kept = ~model.outliers_
    centre = X[kept].mean(axis=0)
    images = (X[kept] - centre) @ model.scalings_
    others = (wide[kept] - wide[kept].mean(axis=0)) @ other.scalings_
    assert angle(others, images) < 1e-2
    assert np.mean(other.predict(wide) == model.predict(X)) > 0.98
    assert_finite(other, wide)


def test_collinear_class_means_are_reported():
    rng = np.random.default_rng(3)
    y = np.repeat(np.arange(4), 30)
    noise = rng.normal(size=(30, 5))
    X = np.vstack([noise + i * np.array([4.0, 2.0, 0.0, 1.0, 0.0]) for i in range(4)])
    with pytest.warns(UserWarning, match="rank_deficient: Only 1 of 3 .*decrease n_components"):
        model = CappedLDA(epsilon=np.inf).fit(X, y)
    assert model.status_ == "rank_deficient"
    # The columns beyond the first are unsupervised.
    assert model.scalings_.shape == (5, 3)
    np.testing.assert_allclose(model.explained_variance_ratio_, [1.0, 0.0, 0.0], atol=1e-9)
    assert_finite(model, X)
    assert CappedLDA(1, epsilon=np.inf).fit(X, y).status_ == "converged"


def test_more_features_than_rows(rng):
    X, y = make_classes(rng, [30, 30, 30], 400, spread=0.7)
    model = CappedLDA().fit(X[:60], y[:60])
    assert model.scalings_.shape == (400, 2)
    assert model.score(X[:60], y[:60]) > 0.95
    assert model.score(X[60:], y[60:]) > 0.9
    assert_finite(model, X)


@pytest.mark.parametrize("options", [{}, {"q": 2.0}])
def test_clean_rows_are_not_flagged_when_features_outnumber_them(rng, options):
    X, y = make_classes(rng, [50, 50, 50], 600, spread=0.7)
    model = estimator_of(**options).fit(X, y)
    assert model.outliers_.mean() <= 0.1


def test_far_outliers_are_found_when_features_outnumber_the_rows(rng):
    X, y = make_classes(rng, [40, 40, 40], 300, spread=0.7)
    clean = X.copy()
    X[::10] += 50.0 * rng.normal(size=(12, 300))
    model = CappedLDA().fit(X, y)
    assert model.outliers_[::10].mean() >= 0.9
    assert model.score(clean, y) > 0.95


@pytest.mark.parametrize("n_components", [3, 10, 20, 21, 25, 40])
def test_any_number_of_components_when_features_outnumber_the_rows(rng, n_components):
    X, y = make_classes(rng, [8, 7, 6], 40)
    model = CappedLDA(n_components, epsilon=np.inf).fit(X, y)
    assert model.scalings_.shape == (40, n_components)
    assert np.isfinite(model.scalings_).all()
    np.testing.assert_allclose(
        (model.means_ - model.xbar_) @ model.scalings_[:, 2:],
        0.0,
        atol=1e-6 * np.abs(model.scalings_).max(),
    )
    assert np.linalg.matrix_rank(model.scalings_ / np.linalg.norm(model.scalings_, axis=0)) == (
        n_components
    )


def test_hundreds_of_classes(rng):
    y = np.repeat(np.arange(300), 6)
    X = 6.0 * rng.normal(size=(300, 12))[y] + rng.normal(size=(1800, 12))
    X[::60] += 500.0
    spoilt = np.zeros(1800, dtype=bool)
    spoilt[::60] = True
    model = CappedLDA().fit(X, y)
    assert model.scalings_.shape == (12, 12)
    np.testing.assert_array_equal(model.outliers_, spoilt)
    assert model.score(X[~spoilt], y[~spoilt]) > 0.99


def test_given_priors_are_used(clean):
    X, y = clean
    priors = np.array([0.7, 0.1, 0.2])
    model = CappedLDA(priors=10 * priors, epsilon=np.inf)
    with pytest.warns(UserWarning, match="priors do not sum to 1"):
        model.fit(X, y)
    lda = LinearDiscriminantAnalysis(priors=priors).fit(X, y)
    np.testing.assert_allclose(model.priors_, priors)
    np.testing.assert_allclose(model.xbar_, lda.xbar_)
    np.testing.assert_array_equal(model.predict(X), lda.predict(X))


def test_a_class_that_spreads_much_more_is_not_lost(rng):
    # One class scatters a hundred times wider than the two others.
    y = np.repeat([0, 1, 2], 60)
    X = rng.normal(size=(180, 3)) + 10.0 * np.eye(3)[y]
    X[y == 2] += 300.0 * rng.normal(size=(60, 3))
    model = CappedLDA().fit(X, y)
    assert model.outliers_[y == 2].mean() < 0.5
    assert model.outliers_[y < 2].mean() < 0.1
    assert_finite(model, X)


@pytest.mark.parametrize("epsilon", [1e-12, 1e-3])
def test_a_hopeless_epsilon_keeps_the_classes_with_a_warning(clean, epsilon):
    X, y = clean
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = CappedLDA(epsilon=epsilon).fit(X, y)
    messages = [str(w.message) for w in caught]
    assert any("would have removed the classes" in message for message in messages)
    assert not any(issubclass(w.category, RuntimeWarning) for w in caught)
    assert not model.outliers_.any()
    assert_finite(model, X)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("estimator", [CappedLDA, CappedNormLDA, CLDA])
def test_equal_rows_are_refused(estimator):
    with pytest.raises(ValueError, match="coincide|no scatter within"):
        estimator().fit(np.ones((20, 3)), np.arange(20) % 2)


def test_equal_centres_are_refused(rng):
    X = rng.normal(size=(30, 3))
    with pytest.raises(ValueError, match="class means coincide"):
        CappedLDA(epsilon=np.inf).fit(np.vstack([X, X]), np.repeat([0, 1], 30))


def test_a_sample_is_not_drawn_with_more_features_than_rows(rng):
    X, y = make_classes(rng, [60, 60], 150)
    plain = CappedLDA().fit(X, y)
    other = in_regime(CappedLDA(), least_sample_rows=20, sample_rows_per_class=5).fit(X, y)
    assert other.n_sampled_ == 0
    np.testing.assert_array_equal(other.scalings_, plain.scalings_)


def test_rows_of_no_weight_are_not_drawn_for_the_sample(rng):
    X, y = make_classes(rng, [2000, 2000], 3)
    weight = np.ones(4000)
    weight[np.flatnonzero(y == 0)[5:]] = 0.0
    model = in_regime(CappedLDA(), least_sample_rows=300).fit(X, y, sample_weight=weight)
    kept = weight > 0
    assert model.score(X[kept], y[kept]) > 0.99
    assert_finite(model, X)


@pytest.mark.parametrize("rows_per_feature", [1.5, 3, 5])
def test_weights_are_repetitions_for_few_rows_per_feature(rng, rows_per_feature):
    n = 30
    size = int(rows_per_feature * n / 3)
    X, y = make_classes(rng, [size] * 3, n)
    X[::11] += 50.0 * rng.normal(size=X[::11].shape)
    weighted = CappedLDA().fit(X, y, sample_weight=np.full(len(y), 2.0))
    repeated = CappedLDA().fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    np.testing.assert_array_equal(np.repeat(weighted.outliers_, 2), repeated.outliers_)
    assert angle(weighted.scalings_, repeated.scalings_) < 1e-6


@pytest.mark.parametrize("far", [1e60, 1e100, 1e150])
def test_rows_at_any_distance_leave_no_trace(rng, far):
    # Warnings are errors: no overflow may show either.
    X, y = make_classes(rng, [80, 80, 80], 5)
    clean = CappedLDA().fit(X[1:], y[1:])
    X[0] = far
    model = CappedLDA().fit(X, y)
    assert model.outliers_[0]
    assert angle(model.scalings_, clean.scalings_) < 1e-2


def test_far_rows_are_an_error_without_a_robust_start(rng):
    X, y = make_classes(rng, [40, 40], 3)
    X[0] = 1e200
    with pytest.raises(ValueError, match="overflow.*use CappedLDA with epsilon='auto'"):
        CappedNormLDA(start="lda").fit(X, y)


def test_unsupervised_columns_are_nested_for_collinear_features(rng):
    X, y = make_classes(rng, [50, 50, 50], 6)
    X = np.hstack([X, X[:, :3]])
    every = CappedLDA(n_components=9).fit(X, y).scalings_
    for d in (3, 4, 6):
        columns = CappedLDA(n_components=d).fit(X, y).scalings_
        np.testing.assert_allclose(columns, every[:, :d], atol=1e-9)


def test_outlyingness_of_not_a_number_is_not_small(rng):
    histograms = np.zeros((1, kernels.HISTOGRAM_BINS))
    negative_nan = np.copysign(np.array([np.nan]), -1.0)
    kernels.add_to_histograms(negative_nan, np.zeros(1, np.int32), None, histograms)
    assert histograms[0, -1] == 1.0


@pytest.mark.parametrize("shape", [(2000, 50), (9000, 100)])
def test_compositions_in_float32(shape):
    # Shares that add up to one, most of them tiny: rounding leaves the scatter indefinite.
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=shape[0])
    parts = rng.gamma(0.2 * (1.0 + (np.arange(shape[1]) % 3 == y[:, None])), size=shape)
    X = (parts / parts.sum(axis=1, keepdims=True)).astype(np.float32)
    single, double = (CappedLDA().fit(data, y) for data in (X, X.astype(float)))
    assert abs(single.score(X, y) - double.score(X, y)) < 0.02


@pytest.mark.parametrize("start", ["robust", "lda"])
@pytest.mark.parametrize("factor", [1e3, 1e6])
def test_single_precision_with_few_rows_and_extreme_ones(start, factor):
    # The rounding of the extreme rows makes the scatter of the others indefinite.
    for seed, shape in ((0, (30, 10)), (0, (40, 30)), (1, (60, 50))):
        rng = np.random.default_rng(seed)
        y = np.arange(shape[0]) % 2
        X = rng.normal(size=shape) + 2.0 * rng.normal(size=(2, shape[1]))[y]
        X[::7] *= factor
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = CappedNormLDA(start=start).fit(X.astype(np.float32), y)
        assert np.isfinite(model.coef_).all()
