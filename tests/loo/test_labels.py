"""Wrong labels: the two rounds, what they find, and what they must not change."""

import pickle

import numpy as np
import pytest
import reference
from common import in_regime, make_classes, spoil
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import subspace_angles
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from cappedlda import CappedLDA, CappedLDACV, load_model, save_model
from cappedlda._data.array import ArrayRows
from cappedlda._data.moments import Moments
from cappedlda._fit import labels as labels_of_fit
from cappedlda._initial.dense import Pieces
from cappedlda._kernels import loo
from cappedlda._loo import labels
from cappedlda._loo.distances import PlainLDA
from cappedlda._metrics.shrinkage import agreements
from cappedlda._model.distances import columns_of
from cappedlda._model.labels import doubts as doubts_of

ATTRIBUTES = ("scalings_", "coef_", "intercept_", "means_", "priors_", "covariance_", "weights_")
LABEL_ATTRIBUTES = ("label_noise_", "label_gain_", "label_quality_", "mislabelled_")


def flipped(rng, y, share):
    """Labels of which a share is replaced by another class, and which they are."""
    wrong = np.zeros(len(y), bool)
    wrong[rng.permutation(len(y))[: round(share * len(y))]] = True
    steps = rng.integers(1, y.max() + 1, len(y))
    return np.where(wrong, (y + steps) % (y.max() + 1), y), wrong


@pytest.fixture
def noisy(rng):
    """Four classes that overlap a little, a tenth of the labels wrong: X, y, wrong ones."""
    X, y = make_classes(rng, [120, 150, 100, 130], 5, spread=1.1)
    return X, *flipped(rng, y, 0.1)


def test_directions_survive_wrong_labels(rng):
    y = rng.integers(0, 3, 200_000)
    X = 2.0 * np.eye(3, 5)[y] + rng.normal(size=(200_000, 5))
    z, _ = flipped(rng, y, 0.3)
    right, noisy = (LinearDiscriminantAnalysis(solver="eigen").fit(X, t).scalings_ for t in (y, z))
    assert np.degrees(subspace_angles(right[:, :2], noisy[:, :2])).max() < 1.0


def test_distances_with_weights_are_those_of_fits_without_the_row(rng):
    X, y = make_classes(rng, [20, 15, 18], 4)
    weights = rng.uniform(0.05, 1.0, len(y)) * (np.arange(len(y)) % 7 > 0)
    codes, centres = y.astype(np.int32), np.zeros((3, 4))
    rows = Pieces(ArrayRows(X - centres[y], codes, 3, weights))
    moments = Moments(*rows.sums(np.ones(len(y), bool)))
    found = PlainLDA(moments, centres).distances(rows, weights)
    freedom = weights.sum() - 3
    for j in range(len(y)):
        others = np.where(np.arange(len(y)) == j, 0.0, weights)
        means = np.stack([np.average(X[y == k], axis=0, weights=others[y == k]) for k in range(3)])
        H = X - means[y]
        inverse = np.linalg.inv((H.T * others) @ H / freedom)
        steps = X[j] - means
        expected = np.einsum("ki,ij,kj->k", steps, inverse, steps)
        np.testing.assert_allclose(found[j], expected, rtol=1e-9)


@pytest.mark.parametrize("shrinkage", [None, 0.2])
def test_rounds_are_those_of_the_reference(shrinkage, noisy):
    X, y, _ = noisy
    model = CappedLDA(shrinkage=shrinkage, label_noise="auto").fit(X, y)
    expected = reference.label_noise(X, y, ~model.left_out_, model.shrinkage_)
    assert model.label_status_ == "found"
    assert model.label_noise_ == pytest.approx(expected.rate, rel=1e-6)
    assert model.label_gain_ == pytest.approx(expected.gain, rel=1e-6)
    kept = ~model.left_out_
    np.testing.assert_allclose(model.label_quality_[kept], expected.quality[kept], rtol=1e-6)


def test_a_typo_in_a_label_does_not_hide_wrong_ones(noisy):
    X, y, wrong = noisy
    typos = y.copy()
    typos[np.flatnonzero(~wrong)[:2]] = [7, 8]  # classes of one row each
    model, other = (CappedLDA(label_noise="auto").fit(X, labels) for labels in (y, typos))
    assert other.label_status_ == "found"
    assert (other.mislabelled_ == model.mislabelled_)[wrong].mean() > 0.9


def test_the_likelihood_does_not_fall_in_the_steps(rng):
    distances = rng.chisquare(3.0, size=(200, 3)) * 2.0
    codes, weights = rng.integers(0, 3, 200).astype(np.int32), rng.random(200)
    log_priors = np.log([0.2, 0.3, 0.5])
    own, settings = np.empty(200), (0.7, 0.3, 1e-6, 0.6, 2)
    found = [
        loo.fit_label_rate(distances, codes, weights, log_priors, *settings, steps, own)[1]
        for steps in range(12)
    ]
    assert np.diff(found).min() >= 0.0
    scores = log_priors - 0.35 * distances
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p = (p / p.sum(axis=1, keepdims=True))[np.arange(200), codes]
    np.testing.assert_allclose(own, p, rtol=1e-12)
    none = loo.fit_label_rate(distances, codes, weights, log_priors, *settings, 0, own)[2]
    assert none == pytest.approx(weights @ np.log(p), rel=1e-12)


@pytest.mark.parametrize("n", [2, 10])
@pytest.mark.parametrize("apart", [8.0, 12.0, 20.0])
@pytest.mark.parametrize("size", [100, 300])
def test_the_flipped_rows_of_classes_far_apart_are_named(rng, n, apart, size):
    y = np.repeat([0, 1], size)
    X = rng.normal(size=(2 * size, n))
    X[:, 0] += apart * y
    z, wrong = flipped(rng, y, 0.1)
    model = CappedLDA(label_noise="auto").fit(X, z)
    np.testing.assert_array_equal(model.mislabelled_, wrong)
    np.testing.assert_array_equal(model.suggested_labels_, y)
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("apart", [8.0, 9.0, 20.0])
@pytest.mark.parametrize("n_wrong", [3, 12])
@pytest.mark.parametrize("n_outliers", [0, 2])
def test_few_wrong_labels_of_classes_far_apart_are_named(apart, n_wrong, n_outliers):
    for seed in (1, 34):  # in which blurred distances explain the labels about as well
        rng = np.random.default_rng(seed)
        y, X = rng.integers(0, 2, 300), rng.normal(size=(300, 3))
        X[:, 1] += apart * y
        X[20 : 20 + n_outliers, 0] = 12.0
        z = np.where(np.arange(300) < n_wrong, 1 - y, y)
        model = CappedLDA(label_noise="auto").fit(X, z)
        np.testing.assert_array_equal(model.mislabelled_, z != y)
        assert (model.label_quality_[z != y] < 0.5).all()


def test_labels_count_for_less_only_if_that_pays(rng):
    y = rng.integers(0, 4, 2000)  # classes of other widths: in the wide ones many look doubtful
    X = rng.normal(size=(2000, 6)) * np.array([0.4, 1.0, 2.0, 3.0])[y, None] + 3.0 * np.eye(4, 6)[y]
    plain, model = CappedLDA().fit(X, y), CappedLDA(label_noise="auto").fit(X, y)
    assert model.label_status_ == "found"
    assert model.mislabelled_.any()
    for name in ATTRIBUTES:
        np.testing.assert_array_equal(getattr(model, name), getattr(plain, name))
    (samples,) = model.measure_chunks(lambda: [(X, y)])
    np.testing.assert_array_equal(samples.weights, model.weights_)


def test_found_labels_tell_how_much_to_shrink(rng):
    X, y = make_classes(rng, [110, 120, 130], 20, spread=1.0)
    z, _ = flipped(rng, y, 0.4)
    model = CappedLDA(label_noise=0.3).fit(X, z)
    assert CappedLDA().fit(X, z).shrinkage_ == 0.0  # 18 rows per feature are not few
    assert model.shrinkage_ > 0.1
    # By the agreement of labels with scores, of the weighted rows in units of their deviations.
    totals = np.bincount(z, model.weights_)
    _, within = reference.moments(X, z, model.weights_)
    unit = np.sqrt(within.diagonal() / totals.sum())
    means = (model.means_ - model.priors_ @ model.means_) / unit
    within /= unit * unit[:, None]
    ridges, agreement = agreements(within + (means.T * totals) @ means, totals, means, 20)
    ridge = 20 * ridges[agreement.argmax()]
    assert model.shrinkage_ == pytest.approx(ridge / (within.trace() + ridge), rel=1e-6)
    for shrinkage in (None, 0.3):
        given = CappedLDA(shrinkage=shrinkage, label_noise=0.3).fit(X, z)
        assert given.shrinkage_ == (shrinkage or 0.0)


@given(seed=st.integers(0, 1000), share=st.sampled_from([0.0, 0.03, 0.2]))
def test_labels_called_wrong_are_doubtful(seed, share):
    rng = np.random.default_rng(seed)
    X, y = make_classes(rng, [60, 80, 50], 3, spread=2.0)
    X *= rng.standard_t(3, size=(len(y), 1))
    model = CappedLDA(label_noise="auto").fit(X, flipped(rng, y, share)[0])
    assert (model.label_quality_[model.mislabelled_] < 0.5).all()


def test_nothing_found_is_the_fit_without(clean):
    X, y = clean
    plain, model = CappedLDA().fit(X, y), CappedLDA(label_noise="auto").fit(X, y)
    assert model.label_status_ == "none"
    assert model.label_noise_ == 0.0
    assert not model.mislabelled_.any()
    np.testing.assert_array_equal(model.suggested_labels_, y)
    assert model.label_quality_.min() < 1.0  # a ranking all the same
    for name in (*ATTRIBUTES, "distances_", "outliers_", "left_out_", "caps_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(plain, name))


def test_found_labels_count_for_less_in_their_own_class(noisy):
    X, y, wrong = noisy
    plain, model = CappedLDA().fit(X, y), CappedLDA(label_noise="auto").fit(X, y)
    assert model.label_status_ == "found"
    assert model.label_noise_ == pytest.approx(0.1, abs=0.04)
    called = model.mislabelled_
    assert wrong[called].mean() > 0.8
    assert called[wrong].mean() > 0.5
    kept = ~model.left_out_
    weights = np.maximum(model.label_quality_, 0.01)  # no row is given up altogether
    np.testing.assert_array_equal(model.weights_[kept], weights[kept])
    assert not model.weights_[~kept].any()
    shares = np.bincount(y, model.weights_)
    np.testing.assert_allclose(model.priors_, shares / shares.sum(), rtol=1e-12)
    for k in range(4):
        mean = np.average(X[y == k], axis=0, weights=model.weights_[y == k])
        np.testing.assert_allclose(model.means_[k], mean, rtol=1e-9)
    for name in ("outliers_", "left_out_", "distances_", "caps_"):  # they keep their meaning
        np.testing.assert_array_equal(getattr(model, name), getattr(plain, name))
    assert (model.suggested_labels_ != y)[called].all()
    assert (model.suggested_labels_ == y)[~called].all()


@pytest.mark.parametrize("seed", range(4))
def test_a_feature_that_only_doubtful_rows_vary_in_still_tells(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 100)
    X = np.column_stack([y == 0, 2.5 * (y == 1) + rng.normal(size=300), rng.normal(size=300)])
    z, wrong = flipped(rng, y, 0.1)
    model = CappedLDA(label_noise="auto", cells="all").fit(X, z)
    assert model.label_status_ == "found"
    (first,) = np.nonzero(z == 0)
    assert (model.label_quality_ < 0.5)[first][wrong[first]].all()
    assert (model.predict(X) == 0)[y == 0].all()
    assert (model.predict(X) != 0)[y != 0].all()


def test_given_priors_stay(noisy):
    X, y, _ = noisy
    model = CappedLDA(label_noise="auto", priors="uniform").fit(X, y)
    assert model.label_status_ == "found"
    np.testing.assert_array_equal(model.priors_, np.full(4, 0.25))


def test_a_rate_to_begin_with_takes_wrong_labels_for_granted(clean):
    model = CappedLDA(label_noise=0.2).fit(*clean)
    assert model.label_status_ == "found"
    assert 0.0 < model.label_noise_ < 0.2


@given(seed=st.integers(0, 1000), share=st.sampled_from([0.0, 0.1, 0.4]))
def test_weights_leave_every_class_its_rows(seed, share):
    rng = np.random.default_rng(seed)
    X, y = make_classes(rng, [40, 60, 30], 3, spread=1.0)
    z, _ = flipped(rng, y, share)
    model = CappedLDA(label_noise="auto").fit(X, z)
    assert ((model.label_quality_ >= 0.0) & (model.label_quality_ <= 1.0)).all()
    assert (model.weights_ <= 1.0).all()
    assert np.bincount(z, model.weights_).min() >= 2.0


def test_order_shift_and_units_change_nothing(rng, noisy):
    X, y, _ = noisy
    model = CappedLDA(label_noise="auto").fit(X, y)
    order, units = rng.permutation(len(y)), np.array([1e-3, 1.0, 10.0, 1e4, 3.0])
    moved = CappedLDA(label_noise="auto").fit((X * units + 5.0)[order], 3 - y[order])
    for name in LABEL_ATTRIBUTES:
        expected = getattr(model, name)
        expected = expected[order] if np.ndim(expected) else expected
        np.testing.assert_allclose(getattr(moved, name), expected, rtol=1e-5, atol=1e-9)
    np.testing.assert_array_equal(moved.suggested_labels_, 3 - model.suggested_labels_[order])


def test_integer_weights_are_repeated_rows(noisy):
    X, y, _ = noisy
    weights = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    repeated = np.repeat(np.arange(len(y)), weights.astype(int))
    model = CappedLDA(label_noise="auto").fit(X, y, sample_weight=weights)
    same = CappedLDA(label_noise="auto").fit(X[repeated], y[repeated])
    assert model.label_noise_ == pytest.approx(same.label_noise_, rel=1e-6)
    assert model.label_gain_ == pytest.approx(same.label_gain_, rel=1e-6)
    np.testing.assert_allclose(model.label_quality_[repeated], same.label_quality_, rtol=1e-6)
    np.testing.assert_allclose(model.coef_, same.coef_, rtol=1e-6)


def test_single_precision_finds_the_same(noisy):
    X, y, _ = noisy
    model, single = (CappedLDA(label_noise="auto").fit(x, y) for x in (X, X.astype(np.float32)))
    np.testing.assert_array_equal(single.mislabelled_, model.mislabelled_)
    # Distances of float32 rows have 1e-6 of their size, and probabilities the same absolutely.
    np.testing.assert_allclose(single.label_quality_, model.label_quality_, atol=1e-3)


def test_far_rows_are_left_out_and_judged_all_the_same(rng, noisy):
    X, y, wrong = noisy
    spoilt = np.arange(len(y)) % 20 == 0
    X = spoil(rng, X, spoilt, size=1e5)
    model = CappedLDA(label_noise="auto").fit(X, y)
    assert model.left_out_[spoilt].all()
    assert not model.mislabelled_[spoilt].any()  # they fit no class
    assert np.isfinite(model.label_quality_).all()
    assert wrong[model.mislabelled_].mean() > 0.8


def test_a_row_that_is_left_out_but_fits_another_class_is_named(rng):
    y = np.repeat([0, 1, 2], 60)
    X = 30.0 * np.eye(3)[y] + rng.normal(size=(180, 3))
    z = y.copy()
    z[:3] = 1
    model = CappedLDA(label_noise="auto").fit(X, z)
    np.testing.assert_array_equal(np.flatnonzero(model.mislabelled_), [0, 1, 2])
    np.testing.assert_array_equal(model.suggested_labels_, y)


def test_quality_of_new_rows(noisy, rng):
    X, y, _ = noisy
    model = CappedLDA(label_noise="auto").fit(X, y)
    found = model.label_quality(X, y)
    kept = ~model.left_out_
    # Each row has a part in the fit that judges it: of 500, little.
    assert np.corrcoef(found[kept], model.label_quality_[kept])[0, 1] > 0.999
    np.testing.assert_allclose(found[~kept], model.label_quality_[~kept], rtol=1e-9)
    right = model.predict(X)
    assert model.label_quality(X, right).mean() > 0.95
    others = model.predict_proba(X).argmin(axis=1)
    assert model.label_quality(X, others).mean() < 0.15


def test_quality_is_stored_in_a_model_file(noisy, tmp_path):
    X, y, _ = noisy
    model = CappedLDA(label_noise="auto").fit(X, y)
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert again.label_noise_ == model.label_noise_
    assert again.label_status_ == "found"
    np.testing.assert_array_equal(again.label_quality(X, y), model.label_quality(X, y))
    with pytest.raises(AttributeError, match=r"use label_quality\(X, y\)"):
        again.label_quality_  # noqa: B018


def test_too_few_rows(rng):
    X, y = make_classes(rng, [10, 12, 14], 3)
    plain = CappedLDA().fit(X, y)
    with pytest.warns(UserWarning, match="too_few_rows: Judging labels needs 20 rows per"):
        model = CappedLDA(label_noise="auto").fit(X, y)
    assert model.label_status_ == "too_few_rows"
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.label_quality_.min() < 1.0  # a ranking all the same
    assert model.label_quality(X, y).shape == (36,)
    assert not model.mislabelled_.any()


@pytest.mark.parametrize("size", [60, 110])
def test_too_few_rows_of_which_the_others_tell_anything(size, tmp_path):
    rng = np.random.default_rng(1)
    y = np.arange(size) % 2
    X = rng.normal(size=(size, 100)) + 3.0 * (np.arange(100) < 5) * y[:, None]
    plain = CappedLDA(shrinkage=None).fit(X, y)
    with pytest.warns(UserWarning, match="too_few_rows"):
        model = CappedLDA(label_noise="auto", shrinkage=None).fit(X, y)
    assert model.label_status_ == "too_few_rows"
    assert not model.mislabelled_.any()
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert np.isfinite(again.label_quality(X, y)).all()


def test_a_class_that_would_be_lost(clean, monkeypatch):
    monkeypatch.setattr(labels, "LEAST_WEIGHT", 45.0)  # one class has only 40 rows
    plain = CappedLDA().fit(*clean)
    with pytest.warns(UserWarning, match="class_lost: Nearly all labels of a class"):
        model = CappedLDA(label_noise=0.3).fit(*clean)
    assert model.label_status_ == "class_lost"
    assert model.label_noise_ == 0.0
    np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_small_classes_are_not_judged(rng, noisy):
    X, y, _ = noisy
    X, y = np.vstack([X, X[:6]]), np.append(y, [4] * 6)
    model = CappedLDA(label_noise="auto").fit(X, y)
    assert model.label_status_ == "found"
    kept = ~model.left_out_
    assert (model.weights_[kept & (y == 4)] == 1.0).all()
    assert (model.label_quality_[kept & (y == 4)] < 1.0).all()


def test_fewer_rows_than_features(rng):
    X, y = make_classes(rng, [60, 60], 200, spread=1.0)
    z, wrong = flipped(rng, y, 0.1)
    model = CappedLDA(label_noise=0.1).fit(X, z)
    assert model.label_status_ == "found"
    assert model.label_quality_[wrong].mean() < 0.5 < model.label_quality_[~wrong].mean()
    left_out = model.left_out_
    found = model.label_quality(X, z)
    np.testing.assert_allclose(found[left_out], model.label_quality_[left_out], rtol=1e-6)


@pytest.fixture
def correlated(rng):
    """Three classes whose features share a factor, a tenth of the labels wrong: X, y, z, wrong."""
    y = rng.integers(0, 3, 600)
    X = 4.0 * np.eye(3, 8)[y] + rng.normal(size=(600, 8)) + 2.0 * rng.normal(size=(600, 1))
    return X, y, *flipped(rng, y, 0.1)


def test_completed_cells(rng, correlated):
    X, y, z, wrong = correlated
    dirty = X + (rng.random(X.shape) < 0.1) * 60.0
    model = CappedLDA(label_noise="auto").fit(dirty, z)
    assert model.wrong_cells_.nnz > 300
    assert model.label_status_ == "found"
    assert wrong[model.mislabelled_].mean() > 0.8
    called = model.mislabelled_ & wrong & (dirty != X).any(axis=1)
    assert called.sum() > 10
    assert (model.suggested_labels_ == y)[called].mean() > 0.8
    # New rows are completed without their label, and by the mean, not a deviate from it.
    quality = model.label_quality(dirty, z)
    assert (np.abs(quality - model.label_quality_) > 0.5).mean() < 0.05
    (samples,) = model.measure_chunks(lambda: [(dirty, z)])
    doubts = doubts_of(model, dirty, z)
    for left_out in (samples.left_out, columns_of(model, dirty, z)["left_out"], doubts["left_out"]):
        assert (left_out != model.left_out_).mean() < 0.05
    for flagged in (samples.outliers, columns_of(model, dirty, z)["flagged"], doubts["flagged"]):
        np.testing.assert_array_equal(flagged, model.outliers_)
    assert (doubts["mislabelled"] != model.mislabelled_).mean() < 0.05


def test_missing_cells(rng, correlated):
    X, y, z, wrong = correlated
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    model = CappedLDA(missing="ignore", label_noise="auto").fit(X, z)
    assert model.label_status_ == "found"
    called = model.mislabelled_ & wrong & np.isnan(X).any(axis=1)
    assert called.sum() > 10
    assert (model.suggested_labels_ == y)[called].mean() > 0.8
    assert (np.abs(model.label_quality(X, z) - model.label_quality_) > 0.5).mean() < 0.05
    (samples,) = model.measure_chunks(lambda: [(X, z)])
    assert (samples.left_out != model.left_out_).mean() < 0.05


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("gaps", [[], [0], [1, 4, 7], range(8)])
def test_quality_is_that_of_the_cells_there_are(gaps, n_classes, correlated):
    X, _, z, _ = correlated
    some = z < n_classes
    X, z = X[some], z[some]
    options = {"missing": "ignore", "cells": "all", "shrinkage": None}
    model = CappedLDA(label_noise=0.1, **options).fit(X, z)
    gaps, rule = list(gaps), model._label_rule
    # Scores are logarithms of normal densities: of a part of the cells by that part of the means
    # and of the covariance, in the sharpness of the rule.
    steps = model.means_ - model.xbar_
    covariance = model.covariance_ * len(z) / (len(z) - n_classes)
    coef = rule.coef - (rule.coef @ model.priors_)[:, None]
    sharpness = np.vdot(coef, covariance @ coef) / np.vdot(coef, steps.T)
    means = model.xbar_ + (covariance @ coef).T / sharpness
    at_centre = model.xbar_ @ rule.coef + rule.intercept
    log_priors = at_centre + 0.5 * np.einsum("ki,ik->k", means - model.xbar_, coef)
    there = np.setdiff1d(np.arange(8), gaps)
    r = X[:, None, there] - means[:, there]
    P = sharpness * np.linalg.inv(covariance[np.ix_(there, there)])
    scores = log_priors - 0.5 * np.einsum("jki,il,jkl->jk", r, P, r)
    odds = np.exp(scores - scores[np.arange(len(z)), z][:, None]).sum(axis=1) - 1.0
    holey = X.copy()
    holey[:, gaps] = np.nan
    expected = 1.0 / (1.0 + rule.odds * odds)
    np.testing.assert_allclose(model.label_quality(holey, z), expected, rtol=1e-6, atol=1e-9)


def test_cells_drawn_by_a_label_do_not_speak_for_it(correlated):
    X, y, z, wrong = correlated
    X = X.copy()
    X[::2, :3] = np.nan  # all that tells
    model = CappedLDA(missing="ignore", label_noise="auto").fit(X, z)
    assert model.label_status_ == "found"
    holey = np.isnan(X).any(axis=1)
    np.testing.assert_array_equal(model.label_quality_[holey], model.label_quality(X, z)[holey])
    # The other cells tell next to nothing: of such labels only the rate is known.
    assert model.label_quality_[holey].min() > 0.5
    assert model.label_quality_[holey & ~wrong].mean() < 0.95
    assert model.label_quality_[~holey & ~wrong].mean() > 0.95


@pytest.mark.parametrize("kind", ["missing", "wrong", "far"])
def test_only_the_last_fit_looks_for_wrong_labels(kind, rng, correlated, spy):
    X, y, z, _ = correlated
    if kind == "missing":
        X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    elif kind == "wrong":
        X = X + (rng.random(X.shape) < 0.1) * 60.0
    else:  # which does not pay to do without
        X = rng.standard_t(1.5, size=X.shape) + 20.0 * np.eye(3, 8)[y]
    looked = spy(labels_of_fit, "label_noise")
    model = CappedLDA(missing="ignore", label_noise="auto").fit(X, z)
    assert (model.wrong_cells_.nnz > 0) == (kind == "wrong")
    assert len(looked) == 1
    plain = CappedLDA(missing="ignore").fit(X, z)
    assert len(looked) == 1
    np.testing.assert_array_equal(model.left_out_, plain.left_out_)


def test_rows_with_gaps_that_are_left_out_are_named(rng):
    y = np.repeat([0, 1, 2], 60)
    X = 30.0 * np.eye(3, 4)[y] + rng.normal(size=(180, 4))
    X[::2, 3] = np.nan
    z = np.where(np.arange(180) < 4, 1, y)
    options = {"leave_out": "flagged", "missing": "ignore", "label_noise": "auto"}
    model = CappedLDA(**options).fit(X, z)
    assert model.left_out_[:4].all()
    np.testing.assert_array_equal(np.flatnonzero(model.mislabelled_), [0, 1, 2, 3])
    np.testing.assert_array_equal(model.suggested_labels_, y)


def test_a_typo_does_not_make_a_label_wrong(correlated):
    X, y, z, _ = correlated
    model = CappedLDA(label_noise="auto").fit(X, z)
    X = X + 1000.0 * (np.arange(8) == 5)
    right = model.predict(X) == y
    assert right.mean() > 0.9
    assert (model.label_quality(X, y) > 0.5)[right].mean() > 0.95
    wrong = (y + 1) % 3
    assert (model.label_quality(X, wrong) < 0.5)[right].mean() > 0.9


@pytest.mark.parametrize("missing", ["error", "ignore"])
def test_rows_left_out_are_judged_as_new_ones(missing, correlated):
    X, y, z, _ = correlated
    X, typos = X.copy(), np.arange(600) % 40 == 0  # too few for the fit to complete cells
    X[typos, 5] += 1000.0
    z = np.where(typos, np.where(np.arange(600) % 80 == 0, (y + 1) % 3, y), z)
    if missing == "ignore":
        X[::7, 7] = np.nan  # which tells little
    options = {"leave_out": "flagged", "missing": missing}
    model = CappedLDA(label_noise="auto", **options).fit(X, z)
    assert model.wrong_cells_.nnz == 0
    assert model.left_out_[typos].all()
    out = model.left_out_
    quality = model.label_quality(X, z)[out]
    np.testing.assert_array_equal(model.label_quality_[out], quality)
    assert ((quality > 0.5) == (z == y)[out]).all()
    doubts = doubts_of(model, X, z)
    np.testing.assert_array_equal(doubts["mislabelled"][out], model.mislabelled_[out])
    np.testing.assert_array_equal(doubts["suggested"][out], model.suggested_labels_[out])


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0, -0.1, "yes", np.nan])
def test_bad_values(value, clean):
    with pytest.raises(ValueError, match='label_noise=.*use None, "auto" or a rate between'):
        CappedLDA(label_noise=value).fit(*clean)


def test_what_it_cannot_do(clean, rng):
    from scipy.sparse import random

    with pytest.raises(ValueError, match="label_noise='auto' does not work with epsilon=inf"):
        CappedLDA(label_noise="auto", epsilon=np.inf).fit(*clean)
    X = random(60, 1200, density=0.05, format="csr", random_state=0)
    with pytest.raises(ValueError, match="too many for label_noise='auto'"):
        CappedLDA(label_noise="auto").fit(X, np.arange(60) % 2)
    with pytest.raises(TypeError, match="label_noise"):
        CappedLDACV(label_noise="auto")
    with pytest.raises(ValueError, match="CappedLDACV does not judge labels; use CappedLDA"):
        CappedLDACV().fit(*clean).label_quality(*clean)
    model = CappedLDA().fit(*clean)
    with pytest.raises(ValueError, match='label_noise=None; fit it with label_noise="auto"'):
        model.label_quality(*clean)
    with pytest.raises(AttributeError, match=r'fit CappedLDA\(label_noise="auto"\)'):
        model.mislabelled_  # noqa: B018


def test_a_later_fit_forgets_labels(clean):
    model = CappedLDA(label_noise="auto").fit(*clean)
    model.set_params(label_noise=None).fit(*clean)
    assert not any(hasattr(model, name) for name in (*LABEL_ATTRIBUTES, "label_status_"))


@pytest.fixture
def many(rng):
    """As noisy, but more rows than a sample of a small regime has."""
    X, y = make_classes(rng, [1200, 1500, 1000, 1300], 5, spread=1.3)
    return X, *flipped(rng, y, 0.1)


SAMPLED = {
    "least_sample_rows": 800,
    "larger_sample": 1,
    "least_slab_rows": 512,
    "slab_elements": 4096,
}


def sampled(**options):
    return in_regime(CappedLDA(label_noise="auto", **options), **SAMPLED)


def test_a_sample_judges_and_all_rows_are_weighed(many):
    X, y, wrong = many
    model = sampled().fit(X, y)
    assert model.n_sampled_ > 0
    assert model.label_status_ == "found"
    assert model.label_noise_ == pytest.approx(0.1, abs=0.04)
    assert wrong[model.mislabelled_].mean() > 0.8
    kept = ~model.left_out_
    weights = np.maximum(model.label_quality_, 0.01)
    np.testing.assert_array_equal(model.weights_[kept], weights[kept])
    np.testing.assert_allclose(model.label_quality_, model.label_quality(X, y), rtol=1e-12)
    for k in range(4):
        mean = np.average(X[y == k], axis=0, weights=model.weights_[y == k])
        np.testing.assert_allclose(model.means_[k], mean, rtol=1e-9)
    shares = np.bincount(y, model.weights_)
    np.testing.assert_allclose(model.priors_, shares / shares.sum(), rtol=1e-9)
    counts = np.bincount(y[model.left_out_], minlength=4)
    np.testing.assert_array_equal(model._class_counts[:, 2], counts)


def test_a_part_of_the_sample_judges(many, rng, monkeypatch, spy):
    X, y, wrong = many
    monkeypatch.setattr(labels_of_fit, "LEAST_JUDGED", 200)
    X, y = np.vstack([X, 20.0 + rng.normal(size=(60, 5))]), np.append(y, np.full(60, 4))
    looked = spy(labels_of_fit, "label_noise")
    model = sampled().fit(X, y)
    ((rows, *_),) = looked
    assert model.n_sampled_ > 600 > len(rows.codes)
    assert np.bincount(rows.codes).min() >= 50  # of every class enough, as in the sample
    assert model.label_status_ == "found"
    assert wrong[model.mislabelled_[: len(wrong)]].mean() > 0.8
    assert model.mislabelled_[: len(wrong)][wrong].mean() > 0.5
    assert len(model.label_quality_) == len(y)


def test_rows_are_judged_as_they_were_when_fitted(correlated):
    X, y, z, _ = correlated
    X = X.copy()
    X[::7, 7] = np.nan
    X[::40, 5] += 1000.0
    options = {"missing": "ignore", "label_noise": "auto", "leave_out": "flagged"}
    expected, model, copied = (CappedLDA(**options).fit(X, z) for _ in range(3))
    expected.label_quality_  # noqa: B018
    model.set_params(cells="all", missing="error")
    copied = pickle.loads(pickle.dumps(copied))
    X[:] = 0.0
    for name in ("label_quality_", "mislabelled_", "suggested_labels_"):
        for other in (model, copied):
            np.testing.assert_array_equal(getattr(other, name), getattr(expected, name))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_chunks_are_weighed_as_arrays(many, n_jobs):
    X, y, _ = many
    weights = 1.0 + np.arange(len(y)) % 2

    def chunks():
        for start in range(0, len(y), 700):
            part = slice(start, start + 700)
            yield X[part], y[part], weights[part]

    model = sampled(n_jobs=n_jobs).fit(X, y, sample_weight=weights)
    streamed = sampled(n_jobs=n_jobs).fit_chunks(chunks)
    assert streamed.label_status_ == "found"
    assert (streamed.label_noise_, streamed.label_gain_) == (model.label_noise_, model.label_gain_)
    for name in ("coef_", "priors_", "means_", "covariance_"):
        # Factors of the weights are computed for pieces of other lengths.
        np.testing.assert_allclose(getattr(streamed, name), getattr(model, name), rtol=1e-9)
    found = [part.weights for part in streamed.measure_chunks(chunks)]
    np.testing.assert_allclose(np.concatenate(found), model.weights_, rtol=1e-9, atol=1e-12)
    with pytest.raises(AttributeError, match=r"use label_quality\(X, y\)"):
        streamed.label_quality_  # noqa: B018


def test_few_chunks_are_judged_as_an_array(noisy):
    X, y, _ = noisy
    model = CappedLDA(label_noise="auto").fit(X, y)
    streamed = CappedLDA(label_noise="auto").fit_chunks(
        lambda: [(X[:200], y[:200]), (X[200:], y[200:])]
    )
    assert streamed.label_noise_ == model.label_noise_
    np.testing.assert_array_equal(streamed.coef_, model.coef_)


def test_dask_is_weighed_as_arrays(many):
    da = pytest.importorskip("dask.array")
    X, y, _ = many
    rows = da.from_array(X, chunks=(900, 5)), da.from_array(y, chunks=900)
    model, lazy = sampled().fit(X, y), sampled().fit(*rows)
    assert lazy.label_status_ == "found"
    assert lazy.label_noise_ == model.label_noise_
    np.testing.assert_allclose(lazy.coef_, model.coef_, rtol=1e-9)
    np.testing.assert_allclose(lazy.weights_.compute(), model.weights_, rtol=1e-9, atol=1e-12)
    found = lazy.label_quality(*rows)
    np.testing.assert_allclose(found.compute(), model.label_quality_, rtol=1e-9, atol=1e-12)


def test_nothing_found_in_a_sample_is_the_fit_without(rng):
    X, y = make_classes(rng, [1200, 1500], 5, spread=1.5)
    model = sampled().fit(X, y)
    plain = in_regime(CappedLDA(), **SAMPLED).fit(X, y)
    assert model.label_status_ == "none"
    for name in (*ATTRIBUTES, "distances_", "outliers_", "left_out_", "caps_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(plain, name))


def test_frames_and_sparse_rows(noisy):
    pd = pytest.importorskip("pandas")
    from scipy.sparse import csr_array

    X, y, _ = noisy
    names = np.array(["ash", "beech", "elm", "oak"])[y]
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = CappedLDA(label_noise="auto").fit(frame, names)
    plain = CappedLDA(label_noise="auto").fit(X, y)
    np.testing.assert_array_equal(model.label_quality_, plain.label_quality_)
    assert set(model.suggested_labels_[model.mislabelled_]) <= set(names)
    sparse = CappedLDA(label_noise="auto").fit(csr_array(X), y)
    np.testing.assert_allclose(sparse.label_quality_, plain.label_quality_, rtol=1e-6)
    plain.set_params(cells="all")  # those of sparse rows are not checked
    np.testing.assert_allclose(sparse.label_quality(csr_array(X), y), plain.label_quality(X, y))
