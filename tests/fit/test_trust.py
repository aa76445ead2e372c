"""The default does no harm: situations in which it once lost to plain LDA, silently."""

import warnings

import numpy as np
import pytest
from common import in_regime
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import subspace_angles
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning

from cappedlda import CappedLDA, load_model, save_model


def gaussian(rng, n_rows, n_features, n_classes, gap=2.0):
    """Classes of equal size and unit covariance, with random centres."""
    y = np.arange(n_rows) % n_classes
    return rng.normal(size=(n_rows, n_features)) + gap * rng.normal(size=(n_classes, n_features))[
        y
    ], y


def plain(X, y):
    return LinearDiscriminantAnalysis().fit(X, y)


def coef_of(reference, X, y):
    """scikit-learn divides the scatter by N, the unbiased covariance divides by N - c."""
    return reference.coef_ * (len(X) - len(np.unique(y))) / len(X)


def multiplied(X, share, factor, rng):
    rows = rng.random(len(X)) < share
    X = X.copy()
    X[rows] *= factor
    return X, rows


@pytest.mark.parametrize("nonzero", [0.03, 0.2, 0.4])
def test_mostly_constant_feature_beside_huge_rows(nonzero):
    # Its unit must not come from the huge rows: it would be erased from the answer.
    rng = np.random.default_rng(0)
    X, y = gaussian(rng, 900, 8, 3, gap=0.7)
    flag = rng.random(900) < nonzero
    X[:, 7] = np.where(flag, 1.0 + y, 0.0)
    clean_X, clean_y = X[600:], y[600:]
    dirty, rows = multiplied(X[:600], 0.1, 1000.0, rng)
    lda = CappedLDA().fit(dirty, y[:600])
    kept = plain(dirty[~lda.left_out_], y[:600][~lda.left_out_])
    assert lda.left_out_[rows].mean() > 0.95
    assert lda.score(clean_X, clean_y) >= kept.score(clean_X, clean_y) - 0.02


def test_many_features_with_a_near_cloud_can_be_fitted():
    rng = np.random.default_rng(1)
    X, y = gaussian(rng, 420, 150, 2, gap=0.3)
    X[:, 75:] = (X[:, 75:] > 1.5) * 1.0  # mostly constant features
    cloud = rng.random(420) < 0.2
    X[cloud] += 1.5 * np.where(y[cloud, None] == 0, 1.0, -1.0)
    lda = CappedLDA().fit(X, y)
    assert np.isfinite(lda.coef_).all()


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_coinciding_rows_do_not_close_the_cap(shift):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 2000)
    X = (
        rng.random((2000, 3)) < np.where(y[:, None] == 1, [0.6, 0.3, 0.1], [0.25, 0.1, 0.05])
    ).astype(float)
    X[:, 0] += shift
    lda = CappedLDA().fit(X, y)
    assert lda.epsilon_ > 1.0
    assert lda.outliers_.mean() < 0.02
    assert lda.score(X, y) >= plain(X, y).score(X, y) - 0.01


def test_half_of_a_class_in_one_point():
    rng = np.random.default_rng(3)
    X, y = gaussian(rng, 1500, 4, 2)
    same = (rng.random(1500) < 0.55) & (y == 0)
    X[same] = X[y == 0].mean(axis=0)
    lda = CappedLDA().fit(X, y)
    assert lda.epsilon_ > 1.0
    assert lda.outliers_.mean() < 0.05
    assert lda.score(X, y) >= plain(X, y).score(X, y) - 0.01


def rare_flag(rng, n_rows, share):
    X, y = gaussian(rng, n_rows, 5, 2, gap=0.5)
    chance = np.where(y == 1, 1.7, 0.3) * share
    flag = rng.random(n_rows) < chance
    return np.column_stack([X, flag * 1.0]), y, flag


@pytest.mark.parametrize("share", [0.01, 0.02, 0.05])
def test_rare_binary_feature_is_not_erased(share):
    X, y, flag = rare_flag(np.random.default_rng(4), 2100, share)
    lda, reference = CappedLDA().fit(X, y), plain(X, y)
    assert lda.outliers_[flag].mean() < 0.1
    assert lda.left_out_[flag].mean() < 0.1
    assert_allclose(lda.coef_[0, -1], reference.coef_[0, -1], rtol=0.25)


def test_one_hot_columns_are_kept():
    rng = np.random.default_rng(5)
    X, y = gaussian(rng, 1800, 4, 3, gap=1.0)
    shares = np.r_[0.3, 0.2, 0.15, np.full(7, 0.045), 0.02, 0.015]
    category = rng.choice(12, size=1800, p=shares / shares.sum())
    X = np.column_stack([X, np.eye(12)[category]])
    lda = CappedLDA().fit(X, y)
    assert lda.outliers_.mean() < 0.02
    assert lda.score(X, y) >= plain(X, y).score(X, y) - 0.01


def test_zero_inflated_counts_are_kept():
    rng = np.random.default_rng(6)
    X, y = gaussian(rng, 2000, 4, 2, gap=0.6)
    counts = rng.poisson(np.where(y == 1, 3.0, 1.0)) * (rng.random(2000) < 0.02)
    X = np.column_stack([X, counts])
    lda = CappedLDA().fit(X, y)
    assert lda.left_out_.mean() < 0.01
    assert lda.score(X, y) >= plain(X, y).score(X, y) - 0.01


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1.0])
def test_normalised_weights_are_equal_weights(unit):
    X, y = load_wine(return_X_y=True)
    X[::20] *= -5.0
    equal = CappedLDA().fit(X, y)
    weighted = CappedLDA().fit(X, y, sample_weight=np.full(len(y), unit / len(y)))
    assert_array_equal(weighted.outliers_, equal.outliers_)
    assert_allclose(weighted.coef_, equal.coef_, rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e2, 1e3, 1e6])
def test_column_constant_within_classes_in_any_unit(unit):
    X, y = load_iris(return_X_y=True)
    lda = CappedLDA().fit(np.column_stack([X, (y == 0) * unit]), y)
    assert lda.score(np.column_stack([X, (y == 0) * unit]), y) >= 0.97


@pytest.mark.parametrize("condition", [1e3, 1e4, 1e6, 1e8])
def test_ill_conditioned_features_lose_nothing(condition):
    # The condition number of the covariance; plain LDA bears all of these.
    rng = np.random.default_rng(7)
    X, y = gaussian(rng, 3000, 10, 6, gap=1.0)
    rotation = np.linalg.qr(rng.normal(size=(10, 10)))[0]
    X = X * np.geomspace(1.0, condition**-0.5, 10) @ rotation
    lda, reference = CappedLDA().fit(X[:2000], y[:2000]), plain(X[:2000], y[:2000])
    assert lda.score(X[2000:], y[2000:]) >= reference.score(X[2000:], y[2000:]) - 0.002


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_flags_do_not_depend_on_the_order_of_rows(seed):
    rng = np.random.default_rng(8)
    X, y = gaussian(rng, 2525, 3, 2, gap=1.0)
    X[:, 2] = rng.integers(-1, 2, 2525)
    order = np.random.default_rng(seed).permutation(2525)
    first, second = CappedLDA().fit(X, y), CappedLDA().fit(X[order], y[order])
    assert_array_equal(second.outliers_, first.outliers_[order])
    assert_array_equal(second.left_out_, first.left_out_[order])


def test_no_cap_is_plain_lda():
    X, y = load_wine(return_X_y=True)
    lda, reference = CappedLDA(epsilon=np.inf).fit(X, y), plain(X, y)
    assert not lda.outliers_.any()
    assert not lda.left_out_.any()
    assert subspace_angles(lda.scalings_, reference.scalings_).max() < 1e-6
    assert_allclose(lda.coef_, coef_of(reference, X, y), rtol=1e-6)


@settings(max_examples=20, deadline=None)
@given(exponents=st.lists(st.integers(-6, 6), min_size=6, max_size=6))
def test_units_of_features_do_not_matter(exponents):
    # Also those of a constant, a mostly constant, a binary one and one constant within classes.
    rng = np.random.default_rng(9)
    X, y = gaussian(rng, 400, 2, 3)
    X = np.column_stack([X, np.ones(400), rng.random(400) < 0.03, rng.random(400) < 0.5, y == 1])
    X[::25, :2] *= 50.0
    units = 10.0 ** np.array(exponents)
    first, second = CappedLDA().fit(X, y), CappedLDA().fit(X * units, y)
    assert_array_equal(second.outliers_, first.outliers_)
    assert_array_equal(second.left_out_, first.left_out_)
    assert_array_equal(second.predict(X * units), first.predict(X))


def test_clean_data_give_the_answer_of_lda():
    rng = np.random.default_rng(10)
    X, y = gaussian(rng, 1000, 6, 4)
    lda, reference = CappedLDA().fit(X, y), plain(X, y)
    assert not lda.left_out_.any()
    assert_allclose(lda.coef_, coef_of(reference, X, y), rtol=1e-6)


def test_harmless_unusual_rows_are_flagged_but_not_left_out():
    # Far off in a feature that does not matter, with the right labels.
    rng = np.random.default_rng(11)
    y = np.arange(1200) % 2
    X = rng.normal(size=(1200, 4))
    X[:, 0] += 2.5 * y
    X[:40, 3] += 12.0
    lda = CappedLDA().fit(X, y)
    assert lda.outliers_[:40].all()
    assert not lda.left_out_.any()
    assert_array_equal(lda.weights_ == 0.0, lda.left_out_)


def test_harmful_rows_are_left_out():
    rng = np.random.default_rng(12)
    X, y = gaussian(rng, 1200, 4, 2, gap=1.5)
    centres = np.array([X[y == k].mean(axis=0) for k in (0, 1)])
    bad = rng.random(1200) < 0.15
    X[bad] += 6.0 * (centres[1 - y[bad]] - centres[y[bad]])
    lda = CappedLDA().fit(X, y)
    assert lda.left_out_[bad].mean() > 0.98
    assert lda.left_out_[~bad].mean() < 0.02


def test_leave_out_flagged_leaves_out_what_is_flagged():
    X, y = load_wine(return_X_y=True)
    X[::20] *= -5.0
    lda = CappedLDA(leave_out="flagged").fit(X, y)
    assert_array_equal(lda.left_out_, lda.outliers_)


def test_warning_names_the_class_that_is_left_out():
    rng = np.random.default_rng(13)
    X, y = gaussian(rng, 600, 3, 3, gap=3.0)
    names = np.array(["ash", "birch", "cedar"])[y]
    bad = (y == 1) & (rng.random(600) < 0.4)
    X[bad] = X[y == 2].mean(axis=0) + 4.0 * (X[y == 2].mean(axis=0) - X[y == 1].mean(axis=0))
    with pytest.warns(UserWarning, match="birch"):
        CappedLDA().fit(X, names)


def test_clean_data_warn_of_nothing():
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CappedLDA().fit(X, y)


def test_a_category_of_a_few_rows_is_kept():
    rng = np.random.default_rng(2)
    y = np.arange(3000) % 2
    X = rng.normal(size=(3000, 6))
    X[:, 0] += 0.4 * y
    X[:, 5] = (rng.random(3000) < 0.04) & (y == 1)
    for leave_out in ("harmful", "flagged"):
        lda = CappedLDA(leave_out=leave_out).fit(X, y)
        assert not lda.left_out_[X[:, 5] == 1.0].any()
        assert lda.coef_[0, 5] > 1.0


def test_a_feature_that_is_constant_in_the_rest_has_no_influence():
    # What cancellation leaves of its scatter must not be taken for its spread.
    rng = np.random.default_rng(2)
    y = np.arange(3000) % 2
    X = rng.normal(size=(3000, 6))
    X[:, 0] += 0.4 * y
    X[:, 5] = (rng.random(3000) < 0.04) & (y == 1)
    X[X[:, 5] == 1.0, 1] += 50.0
    with pytest.warns(UserWarning, match="constant within each class"):
        lda = CappedLDA(leave_out="flagged").fit(X, y)
    assert lda.coef_[0, 5] == 0.0
    assert np.abs(CappedLDA().fit(X, y).coef_[0, 5]) < 5.0


def test_what_is_left_out_does_not_depend_on_how_labels_alternate():
    # Only some rows are judged where there are many numbers: of each class.
    rng = np.random.default_rng(1)
    y = np.arange(2000) % 2
    X = rng.normal(size=(2000, 4))
    X[:, 0] += 1.5 * y
    X[np.flatnonzero(y == 1)[:250], 0] += 30.0
    order = np.argsort(y, kind="stable")
    alternating = in_regime(CappedLDA(), most_judged=4000).fit(X, y)
    sorted_ = in_regime(CappedLDA(), most_judged=4000).fit(X[order], y[order])
    assert alternating.left_out_.sum() == 250
    assert_array_equal(sorted_.left_out_, alternating.left_out_[order])


def test_few_rows_in_any_order_leave_out_the_same():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y = np.arange(60) % 2
        X = rng.normal(size=(60, 100)) + 0.7 * y[:, None]
        X[:8] += 3.0 * rng.normal(size=(8, 100))
        order = rng.permutation(60)
        first, second = CappedLDA().fit(X, y), CappedLDA().fit(X[order], y[order])
        assert_array_equal(second.left_out_, first.left_out_[order])


def test_directions_stay_finite_beside_a_perfect_separator(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = np.column_stack([rng.normal(size=300) + 3.0 * (y == 0), y == 2])
    with pytest.warns(ConvergenceWarning, match="rank_deficient"):
        lda = CappedLDA().fit(X, y)
    assert np.isfinite(lda.transform(X)).all()
    save_model(lda, tmp_path / "model.npz")
    assert_array_equal(load_model(tmp_path / "model.npz").predict(X), lda.predict(X))


def test_new_rows_are_measured_by_the_level_that_was_decided():
    rng = np.random.default_rng(3)
    X, y = gaussian(rng, 200, 4, 2)
    lda = CappedLDA().fit(X, y)
    assert lda.leave_out_level_ == np.inf
    X[0] += 30.0
    (samples,) = lda.measure_chunks(lambda: iter([(X, y)]))
    assert samples.outliers[0]
    assert not samples.left_out.any()


NEARLY_THE_CLASS = [
    # features, skewness, rows in which it is wrong, seed: where the smaller support was the end
    (3, 0.5, 11, 3), (3, 0.5, 16, 8), (8, 0.5, 16, 2), (8, 1.0, 3, 5), (8, 1.0, 11, 2),
    (18, 0.5, 3, 1), (18, 0.5, 6, 5), (18, 0.5, 11, 8), (18, 1.0, 11, 7), (18, 1.0, 16, 9),
]  # fmt: skip


@pytest.mark.parametrize(("n_features", "skew", "n_wrong", "seed"), NEARLY_THE_CLASS)
def test_a_feature_that_is_nearly_the_class_is_not_lost(n_features, skew, n_wrong, seed):
    # Without the few rows in which it is wrong it is constant within the classes, and plain LDA
    # drops it; then these rows are no longer far off, and so on.
    rng = np.random.default_rng(seed)
    y = np.arange(160) % 2
    X = np.exp(skew * rng.normal(size=(160, n_features)))
    wrong = np.isin(np.arange(160), rng.permutation(160)[:n_wrong])
    X[:, 0] = y ^ wrong
    assert CappedLDA().fit(X, y).score(X, y) > 0.99 * (1.0 - wrong.mean())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the feature that is constant then
        flagged = CappedLDA(leave_out="flagged").fit(X, y)
    assert not np.any(flagged.outliers_ & ~flagged.left_out_)


@pytest.mark.parametrize("value", [30.0, 1e3, 1e6, 1e200])
@pytest.mark.parametrize("source", ["array", "chunks"])
def test_a_gross_row_that_is_not_in_the_sample_is_left_out(value, source):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=31_000)
    X = rng.normal(size=(31_000, 5))
    X[:, 0] += 3.0 * y
    dirty = X.copy()
    dirty[7, 0] = value
    if source == "array":
        lda = CappedLDA().fit(dirty, y)
        assert lda.left_out_[7]
        assert lda.left_out_.mean() < 1e-3
    else:
        lda = CappedLDA().fit_chunks(lambda: iter([(dirty, y)]))
    assert lda.n_sampled_ > 0
    assert lda.score(X, y) > LinearDiscriminantAnalysis().fit(X, y).score(X, y) - 0.005


def test_few_rows_are_shrunk_to_the_covariance_that_a_number_gives():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=80)
    X = rng.normal(size=(80, 300)) + (rng.normal(size=(3, 300)) * (np.arange(300) < 20))[y]
    few = CappedLDA().fit(X, y)
    given = CappedLDA(shrinkage=few.shrinkage_).fit(X, y)
    assert few.shrinkage_ > 0.5
    assert_allclose(few.coef_, given.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("n", [30, 200], ids=["more rows than features", "fewer"])
def test_few_rows_are_shrunk_to_the_variances_of_the_features(n):
    # Whatever their shape: the units of long tails by medians are too small.
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.standard_t(3, size=(90, n)) + rng.normal(size=(3, n))[y]
    X[:, ::4] = np.exp(X[:, ::4])
    lda = CappedLDA(epsilon=np.inf).fit(X, y)
    steps = X - lda.means_[y]
    scatter = steps.T @ steps / (90 - 3)
    a = lda.shrinkage_
    shrunk = (1.0 - a) * scatter + a * np.diag(scatter.diagonal())
    assert 0.1 < a < 0.99
    # With few rows a ridge of 1e-4 is added, in units of the features.
    expected = np.linalg.solve(shrunk, (lda.means_ - lda.xbar_).T).T
    unit = np.sqrt(scatter.diagonal())
    assert_allclose(lda.coef_ * unit, expected * unit, rtol=1e-3, atol=1e-3)
