"""Clouds that fit inside the usual fences."""

import numpy as np
import pytest
from common import in_regime
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as LDA

import cappedlda._fit as fit
from cappedlda import CappedLDA
from cappedlda._data.array import ArrayRows
from cappedlda._fit import hidden_cloud
from cappedlda._initial.dense import concentrated_support
from cappedlda._initial.standardize import medians_and_scale
from cappedlda._loo.leave_out import harm, right_rows
from cappedlda._metrics.frame import Frame
from cappedlda._rules.fences import STRICT_REACH

N_FEATURES = 6
STEP = np.eye(N_FEATURES)[0]  # between the means of the classes: one deviation


def equal_frame():
    return Frame.of(np.zeros((2, N_FEATURES)), np.ones(N_FEATURES), np.full(2, 0.5), N_FEATURES)


def two_classes(rng, count):
    y = np.arange(count) % 2
    return rng.normal(size=(count, N_FEATURES)) + y[:, None] * STEP, y


def beyond_the_other_class(X, y, share):
    """Move part of each class to where it is five times as far from the other, on its far side."""
    X, planted = X.copy(), np.zeros(len(y), bool)
    for label, side in ((0, 5.0), (1, -5.0)):
        rows = np.flatnonzero(y == label)[: round(share * np.sum(y == label))]
        X[rows] += side * STEP
        planted[rows] = True
    return X, planted


@pytest.mark.parametrize("share", [0.2, 0.3])
def test_a_cloud_of_five_deviations_is_left_out(rng, share):
    X, y = two_classes(rng, 1000)
    X_new, y_new = two_classes(rng, 4000)
    dirty, planted = beyond_the_other_class(X, y, share)
    oracle = LDA().fit(X[~planted], y[~planted]).score(X_new, y_new)
    assert LDA().fit(dirty, y).score(X_new, y_new) < 0.5  # the directions are turned round
    model = CappedLDA().fit(dirty, y)
    assert model.score(X_new, y_new) > oracle - 0.02
    assert np.mean(model.left_out_[planted]) > 0.8
    assert np.mean(model.left_out_[~planted]) < 0.02


def test_a_cloud_that_makes_the_class_means_coincide_is_left_out(rng):
    X, y = two_classes(rng, 1000)
    X_new, y_new = two_classes(rng, 4000)
    # A tenth of each class, five times as far: the directions turn away from the cloud.
    dirty, planted = beyond_the_other_class(X, y, 0.1)
    model = CappedLDA().fit(dirty, y)
    assert (
        model.score(X_new, y_new) > LDA().fit(X[~planted], y[~planted]).score(X_new, y_new) - 0.02
    )
    assert np.mean(model.left_out_[planted]) > 0.8


@pytest.mark.parametrize("seed", [1, 3])
def test_a_cloud_at_the_edge_of_the_fences_does_not_creep_in(seed):
    """Its near side is inside the strict fences, and would draw in the rest step by step."""
    X, y = two_classes(np.random.default_rng(seed), 3000)
    dirty, planted = beyond_the_other_class(1.17 * X, y, 0.3)
    assert np.mean(CappedLDA().fit(dirty, y).left_out_[planted]) > 0.85


def test_nor_does_it_where_a_sample_decides():
    rng = np.random.default_rng(3)
    X, y = two_classes(rng, 40_000)
    dirty, planted = beyond_the_other_class(1.2 * X, y, 0.3)
    order = rng.permutation(len(y))
    model = CappedLDA().fit(dirty[order], y[order])
    assert model.n_sampled_ > 0
    assert np.mean(model.left_out_[planted[order]]) > 0.85


def test_some_rows_of_every_class_are_looked_at(rng):
    codes = np.append(np.arange(4998) % 2, [2, 2]).astype(np.int32)
    rows = ArrayRows(rng.normal(size=(5000, 2)), codes, 3)
    counts = np.bincount(codes[rows.every(np.full(3, 5))])
    np.testing.assert_array_equal(counts, [500, 500, 1])


def test_rows_are_classified_by_lda_that_they_are_left_out_of(rng):
    X, y = two_classes(rng, 80)
    support = rng.random(80) < 0.8
    rows, frame = ArrayRows(X, y.astype(np.int32), 2), equal_frame()
    expected = []
    for j in range(80):
        others = support & (np.arange(80) != j)
        # Equal priors, and the class means of all other rows of the support.
        lda = LDA(priors=[0.5, 0.5]).fit(X[others], y[others])
        expected.append(lda.predict(X[j : j + 1])[0] == y[j])
    right = right_rows(rows, support, np.arange(80), frame)
    np.testing.assert_array_equal(right, expected)
    np.testing.assert_array_equal(right_rows(rows, support, np.arange(3, 50), frame), right[3:50])


def test_a_support_that_overflows_tells_nothing(rng):
    X, y = two_classes(rng, 600)
    rows = ArrayRows(np.where(y[:, None], X, 1e200 * X), y.astype(np.int32), 2)
    assert right_rows(rows, np.ones(600, bool), np.arange(600), equal_frame()) is None


def test_it_is_found_on_the_sample_of_large_data(rng):
    X, y = two_classes(rng, 40_000)
    X_new, y_new = two_classes(rng, 4000)
    dirty, planted = beyond_the_other_class(X, y, 0.3)
    model = CappedLDA().fit(dirty, y)
    assert model.n_sampled_ > 0
    assert np.mean(model.left_out_[planted]) > 0.8
    assert model.score(X_new, y_new) > 0.65


def test_a_row_of_weight_k_is_k_rows(rng):
    X, y = two_classes(rng, 600)
    dirty, planted = beyond_the_other_class(X, y, 0.04)
    weights = np.where(planted, 12, 1)  # a third of the weight
    rows = np.repeat(np.arange(600), weights)
    weighted = CappedLDA().fit(dirty, y, sample_weight=weights)
    repeated = CappedLDA().fit(dirty[rows], y[rows])
    np.testing.assert_array_equal(weighted.left_out_[rows], repeated.left_out_)
    assert weighted.left_out_[planted].mean() > 0.8


def skewed(rng, X):
    return np.exp(0.8 * X)


def discrete(rng, X):
    return np.round(X)


def flags(rng, X):
    return np.where(np.arange(X.shape[1]) < 3, X, X > 1.5)


@pytest.mark.parametrize("kind", [skewed, discrete, flags])
def test_clean_classes_stay_whole(rng, kind):
    X, y = two_classes(rng, 1000)
    X_new, y_new = two_classes(rng, 4000)
    X, X_new = kind(rng, X), kind(rng, X_new)
    model = CappedLDA().fit(X, y)
    assert model.score(X_new, y_new) > LDA().fit(X, y).score(X_new, y_new) - 0.01


def test_the_concentrated_part_of_a_class_in_one_direction(rng):
    X, y = two_classes(rng, 600)
    dirty, planted = beyond_the_other_class(X, y, 0.3)
    order = np.argsort(y, kind="stable")
    rows = ArrayRows(np.ascontiguousarray(dirty[order, :1]), y[order].astype(np.int32), 2)
    support = concentrated_support(rows, medians_and_scale(rows), STRICT_REACH)
    assert np.mean(support[planted[order]]) < 0.1
    assert np.mean(support[~planted[order]]) > 0.95


def harm_by(X, y, planted):
    """What planted rows cost the others, beyond chance and their price."""
    rows, judged = ArrayRows(X, y.astype(np.int32), 2), np.arange(len(y))
    alone, beside = (
        right_rows(rows, support, judged, equal_frame())
        for support in (~planted, np.ones(len(y), bool))
    )
    return harm(np.sum(alone[~planted]) - np.sum(beside[~planted]), planted.sum())


def test_harm_is_what_a_wider_support_does_to_the_core(rng):
    X, y = two_classes(rng, 600)
    dirty, planted = beyond_the_other_class(X, y, 0.3)
    assert harm_by(X, y, planted) < 0.0
    assert harm_by(dirty, y, planted) > 0.0


def test_a_cloud_among_many_features_is_left_out():
    """From 256 features on, rows remember their scatter."""
    rng = np.random.default_rng(0)
    X, y, step = rng.normal(size=(4000, 300)), np.arange(4000) % 2, np.eye(300)[0]
    X += 3.0 * y[:, None] * step
    planted = (y == 0) & (rng.random(4000) < 0.15)
    dirty = X + 6.0 * planted[:, None] * step
    model = CappedLDA().fit(dirty, y)
    assert model.left_out_[planted].mean() > 0.9
    assert model.score(X[~planted], y[~planted]) > 0.9


def test_a_tiny_class_does_not_hide_the_clouds_of_others(rng):
    # Half of six rows is no larger part of them; that says nothing of the other classes.
    X, y = two_classes(rng, 1000)
    dirty, planted = beyond_the_other_class(X, y, 0.3)
    dirty = np.vstack([dirty, rng.normal(size=(6, N_FEATURES)) + 3.0 * STEP])
    model = CappedLDA().fit(dirty, np.append(y, np.full(6, 2)))
    assert model.left_out_[:1000][planted].mean() > 0.8
    assert model.left_out_[:1000][~planted].mean() < 0.1


@pytest.mark.parametrize("seed", range(5))
def test_what_was_found_to_harm_is_not_taken_back(seed):
    rng = np.random.default_rng(seed)
    X, y = two_classes(rng, 800)
    dirty, planted = beyond_the_other_class(X, y, 0.3)
    assert CappedLDA().fit(dirty, y).left_out_[planted].mean() > 0.8


def test_a_loss_of_a_few_rows_may_be_chance(rng):
    X, y = two_classes(rng, 60)
    dirty, planted = beyond_the_other_class(X, y, 0.07)
    assert harm_by(dirty, y, planted) < 0.0


def test_a_larger_sample_decides_where_the_first_cannot(rng, spy, monkeypatch):
    X, y = two_classes(rng, 9000)
    dirty, planted = beyond_the_other_class(X, y, 0.3)
    drawn = spy(fit, "stratified_sample")
    model = in_regime(CappedLDA(random_state=0), least_sample_rows=500).fit(dirty, y)
    assert len(drawn) == 1
    assert model.n_sampled_ == 500  # the cloud is far beyond doubt
    monkeypatch.setattr(hidden_cloud, "DECIDED", 1e6)
    model = in_regime(CappedLDA(random_state=0), least_sample_rows=500).fit(dirty, y)
    assert len(drawn) == 3
    assert model.n_sampled_ == 2000
    assert model.left_out_[planted].mean() > 0.8
