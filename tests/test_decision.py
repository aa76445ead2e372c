"""Decisions on new rows: false alarms as stated, unknown classes found, predictions rejected."""

import pickle

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from common import in_regime, make_classes, spoil
from scipy import sparse

from cappedlda import CappedLDA, CappedLDACV, CappedNormLDA, load_model, save_model
from cappedlda._model import decision
from cappedlda._model.decision import cut_offs, tail_weights
from cappedlda._model.distances import spread
from cappedlda.paper import CLDA


def three_classes(rng, n_rows, n_features=8):
    """Classes that differ in two features only."""
    y = rng.integers(0, 3, n_rows)
    X = rng.normal(size=(n_rows, n_features))
    X[:, :2] += np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])[y]
    return X, y


@pytest.fixture
def model(rng):
    return CappedLDA().fit(*three_classes(rng, 600))


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_the_rate_of_false_alarms_is_the_stated_one(rng, labelled, alpha):
    lda = CappedLDA().fit(*three_classes(rng, 2000))
    X, y = three_classes(rng, 20_000)
    found = lda.is_rejected(X, y if labelled else None, alpha=alpha).mean()
    # Of the training rows, the share beyond a quantile has this standard error.
    error = np.sqrt(alpha * (1.0 - alpha) / 2000)
    assert abs(found - alpha) < 3.0 * error


@pytest.mark.parametrize("n_rows", [90, 150], ids=["1.5 rows per feature", "2.5"])
def test_it_also_holds_with_few_rows_per_feature(rng, n_rows):
    """Without leaving rows out the rate would be several times as large."""
    alarms = []
    for _ in range(10):
        lda = CappedLDA().fit(*three_classes(rng, n_rows, 60))
        alarms.append(lda.is_rejected(three_classes(rng, 1000, 60)[0], alpha=0.1).mean())
    assert 0.05 < np.mean(alarms) < 0.15


def test_dirty_training_rows_do_not_move_it(rng):
    X, y = three_classes(rng, 2000)
    spoilt = np.arange(2000) % 10 == 0
    lda = CappedLDA().fit(spoil(rng, X, spoilt), y)
    assert 0.003 < lda.is_rejected(three_classes(rng, 20_000)[0]).mean() < 0.017
    assert lda.is_rejected(spoil(rng, X, spoilt)[spoilt]).all()


@pytest.mark.parametrize(("feature", "size"), [(5, 6.0), (0, 20.0)], ids=["off the plane", "in it"])
def test_an_unknown_class_is_found_in_either_space(rng, model, feature, size):
    X, _ = three_classes(rng, 500)
    X[:, feature] += size
    assert model.is_rejected(X).mean() > 0.9


def test_with_its_label_a_row_has_to_belong_to_that_class(rng, model):
    X, y = three_classes(rng, 500)
    wrong = (y + 1) % 3
    assert model.is_rejected(X, wrong).mean() > 0.7
    assert model.is_rejected(X).mean() < 0.05


def test_it_is_the_same_for_every_kind_of_rows(rng, model):
    X, y = three_classes(rng, 200)
    X[::7] += 4.0
    expected = model.is_rejected(X)
    assert 0 < expected.sum() < 200
    for convert in (np.asfortranarray, np.ndarray.tolist, sparse.csr_array):
        np.testing.assert_array_equal(model.is_rejected(convert(X)), expected)
    lazy = model.is_rejected(da.from_array(X, chunks=(50, 8)))
    np.testing.assert_array_equal(lazy.compute(), expected)
    lazy = model.predict_or_reject(da.from_array(X, chunks=(50, 8)))
    np.testing.assert_array_equal(lazy.compute(), model.predict_or_reject(X))
    labelled = model.is_rejected(X, y)
    np.testing.assert_array_equal(labelled, model.is_rejected(pd.DataFrame(X).to_numpy(), list(y)))


def test_chunks_and_sparse_rows_are_calibrated_as_arrays(rng):
    X, y = three_classes(rng, 600)
    new = three_classes(rng, 2000)[0]
    expected = CappedLDA().fit(X, y).is_rejected(new)
    chunked = CappedLDA().fit_chunks(lambda: [(X[:250], y[:250]), (X[250:], y[250:])])
    np.testing.assert_array_equal(chunked.is_rejected(new), expected)
    np.testing.assert_array_equal(
        CappedLDA().fit(sparse.csr_array(X), y).is_rejected(new), expected
    )


def test_of_many_rows_a_sample_is_noted(rng):
    X, y = three_classes(rng, 6000)
    lda = in_regime(CappedLDA(), least_sample_rows=500).fit(X, y)
    assert lda.n_sampled_ == 500
    assert len(lda._calibration.weights) <= 500
    assert 0.02 < lda.is_rejected(three_classes(rng, 20_000)[0], alpha=0.05).mean() < 0.08


def test_a_weight_counts_as_so_many_rows(rng):
    X, y = three_classes(rng, 300)
    weights = rng.integers(1, 4, 300)
    weighted = CappedLDA().fit(X, y, sample_weight=weights)
    repeated = CappedLDA().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    new = three_classes(rng, 2000)[0]
    for alpha in (0.01, 0.1):
        np.testing.assert_array_equal(
            weighted.is_rejected(new, alpha=alpha), repeated.is_rejected(new, alpha=alpha)
        )


def test_rows_too_far_to_be_measured_are_outliers(rng, model):
    X, _ = three_classes(rng, 3)
    X[1] = 1e300
    assert model.is_rejected(X, alpha=0.01)[1]


def test_as_many_classes_as_features_leave_nothing_off_the_plane(rng):
    X, y = make_classes(rng, [100] * 4, 3)
    lda = CappedLDA().fit(X, y)
    assert not lda._calibration.off_plane.round(6).any()
    assert lda.is_rejected(X, alpha=0.05).mean() < 0.06


def twelve_classes(rng):
    """Nine features that the plane takes, and three constants that shrinkage lifts off zero."""
    y = np.arange(60) % 12
    X = 3.0 * rng.normal(size=(12, 9))[y] + rng.normal(size=(60, 9))
    return np.c_[X, np.tile([3.1, 0.7, 2.3], (60, 1))], y


def one_feature(rng):
    y = np.arange(300) % 2
    return np.c_[rng.normal(size=300) + 3.0 * y, np.full(300, 0.7)], y


@pytest.mark.filterwarnings("ignore:rank_deficient")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("make", "shrinkage"), [(twelve_classes, "few_rows"), (one_feature, "auto")]
)
def test_rounding_is_no_distance(rng, make, shrinkage, dtype):
    X, y = make(rng)
    X = X.astype(dtype)
    lda = CappedLDA(shrinkage=shrinkage).fit(X, y)
    assert not lda._calibration.off_plane.any()
    assert lda.is_rejected(X, alpha=0.05).mean() < 0.06
    assert lda.is_rejected(X, y, alpha=0.05).mean() < 0.06


@pytest.mark.parametrize("convert", [np.asarray, np.float32, sparse.csr_array])
def test_another_value_of_a_constant_feature_is_an_outlier(rng, convert):
    X, y = three_classes(rng, 600)
    X = np.c_[X, np.full(600, 7.1), np.array([0.0, 0.5, 0.5])[y]]
    lda = CappedLDA().fit(X, y)
    np.testing.assert_array_equal(lda._calibration.flat, [False] * 8 + [True] * 2)
    assert lda.is_rejected(convert(X), y).mean() < 0.02
    assert lda.is_rejected(convert(X)).mean() < 0.02
    for feature, value in ((8, 1e6), (8, 7.2), (8, 1e38), (9, 0.1)):
        strange = X.copy()
        strange[:, feature] = value
        assert lda.is_rejected(convert(strange)).all()
        assert lda.is_rejected(convert(strange), y).all()
    strange[:, 9] = 0.5  # of other classes than the first
    np.testing.assert_array_equal(lda.is_rejected(strange, y)[y == 0], True)
    assert lda.is_rejected(strange).mean() < 0.02


def rare_indicators(rng, n_rows, units):
    """Four classes and twelve indicators, each in its unit; few rows have one, which are odd."""
    y = rng.integers(0, 4, n_rows)
    X = rng.normal(size=(n_rows, 5))
    X[:, :2] += 3.0 * np.array([[0, 0], [1, 2], [2, -1], [-2, 1]])[y]
    rare = rng.random((n_rows, 12)) < 0.003
    odd = rare.any(axis=1)
    steps = rng.normal(size=(odd.sum(), 5))
    X[odd] += 5.0 * steps / np.linalg.norm(steps, axis=1, keepdims=True)
    return np.c_[X, rare * units], y, odd


@pytest.mark.filterwarnings("ignore:The features")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("units", [np.ones(12), 10.0 ** np.arange(-12, 12, 2)], ids=["same", "own"])
def test_the_rounding_of_a_mean_is_no_constant(dtype, units):
    """Rows with an indicator are in the first means, and not in the last: 0 is 1e-17 there."""
    for seed in range(8):
        X, y, odd = rare_indicators(np.random.default_rng(seed), 2000, units)
        X = X.astype(dtype)
        lda = CappedLDA().fit(X, y)
        flat = lda._calibration.flat
        lda.means_[:, flat] += 1e-16 * spread(lda)[flat]  # by chance it is 0 in some fits
        assert lda.is_rejected(X[~odd]).mean() < 0.05
        assert lda.is_rejected(X[~odd], y[~odd]).mean() < 0.05
        assert np.mean(lda.predict_or_reject(X[~odd]) == -1) < 0.05
        # What no kept row has is still an outlier, in any unit.
        for feature in np.flatnonzero(flat):
            strange = X[~odd]
            strange[:, feature] = units[feature - 5]
            assert lda.is_rejected(strange).all()


@pytest.mark.parametrize(("n_rows", "noted"), [(4095, 4095), (4096, 4096), (4100, 4096)])
def test_up_to_a_number_all_kept_rows_are_noted(rng, n_rows, noted):
    X, y = three_classes(rng, n_rows, 2)
    lda = CappedLDA(epsilon=np.inf).fit(X, y)
    assert len(lda._calibration.weights) == noted
    assert len(np.unique(lda._calibration.own)) == noted


@pytest.mark.parametrize("weight", [None, 0.1, 0.3 / 220], ids=["no weights", "0.1", "sum 0.3"])
def test_a_row_that_is_alone_in_its_class_is_not_noted(rng, weight):
    X, y = three_classes(rng, 200)
    X, y = np.vstack([X, 20.0 + rng.normal(size=(20, 8))]), np.append(y, 3 + np.arange(20))
    weights = None if weight is None else np.full(220, weight)
    calibration = CappedLDA(epsilon=np.inf).fit(X, y, sample_weight=weights)._calibration
    assert len(calibration.weights) == 200
    assert calibration.own.min() > 0.0


def test_without_min_proba_no_probabilities_are_computed(rng, model, spy):
    X, _ = three_classes(rng, 50)
    calls = spy(decision, "probabilities")
    expected = model.predict_or_reject(X, min_proba=1e-9)
    assert len(calls) == 1
    np.testing.assert_array_equal(model.predict_or_reject(X), expected)
    assert len(calls) == 1


@pytest.mark.parametrize("estimator", [CappedLDA(), CappedLDACV(cv=2, multipliers=(1.0,))])
def test_files_and_pickles_decide_the_same_and_hold_no_row(rng, tmp_path, estimator):
    X, y = three_classes(rng, 300)
    lda = estimator.fit(X, y)
    pickled = pickle.loads(pickle.dumps(lda))
    assert pickled._calibrator is None
    save_model(lda, tmp_path / "model.npz")
    new = three_classes(rng, 1000)[0] * 1.5
    expected = lda.is_rejected(new)
    assert expected.any()
    np.testing.assert_array_equal(pickled.is_rejected(new), expected)
    np.testing.assert_array_equal(load_model(tmp_path / "model.npz").is_rejected(new), expected)


@pytest.mark.parametrize(
    "estimator",
    [CappedNormLDA(), CLDA(epsilon=1e3)],
    ids=["norm", "paper"],
)
def test_without_a_covariance_the_error_says_what_to_do(clean, estimator):
    X, y = clean
    lda = estimator.fit(X, y)
    with pytest.raises(ValueError, match="Use outlyingness"):
        lda.is_rejected(X)
    with pytest.raises(AttributeError, match="only CappedLDA has one"):
        _ = lda.covariance_


def test_more_features_than_rows_cannot_decide(rng):
    X, y = make_classes(rng, [10, 10], 40)
    with pytest.raises(ValueError, match="more features than rows"):
        CappedLDA().fit(X, y).predict_or_reject(X)


@pytest.mark.parametrize(
    ("alpha", "error", "words"),
    [
        (0.0, ValueError, "alpha=0.0 is out of range; use a small share"),
        (0.6, ValueError, "alpha=0.6 is out of range"),
        ("1%", TypeError, "alpha='1%' must be a number"),
        (1e-4, ValueError, r"600 training rows \(at most 4096\); use 0.0017 or more"),
    ],
)
def test_a_share_that_cannot_be_is_refused(model, alpha, error, words):
    with pytest.raises(error, match=words):
        model.is_rejected(np.zeros((1, 8)), alpha=alpha)


def test_rejected_are_outliers_and_if_asked_uncertain_rows(rng, model):
    X, _ = three_classes(rng, 500)
    X[:50, 6] += 10.0
    X[50:100, :2] = [2.5, 0.0]  # between two classes
    found = model.predict_or_reject(X)
    outlier = model.is_rejected(X)
    np.testing.assert_array_equal(found == -1, outlier)
    np.testing.assert_array_equal(found[~outlier], model.predict(X)[~outlier])
    assert outlier[:50].all()
    uncertain = model.predict_proba(X).max(axis=1) < 0.9
    assert uncertain[50:100].all()
    found = model.predict_or_reject(X, min_proba=0.9, reject_label=99)
    np.testing.assert_array_equal(found == 99, outlier | uncertain)


def test_rejected_rows_get_a_label_like_the_classes(rng):
    X, y = three_classes(rng, 300)
    lda = CappedLDA().fit(X, np.array(["a", "b", "c"])[y])
    X[0] += 50.0
    found = lda.predict_or_reject(X)
    assert found[0] == "rejected"
    assert set(found[1:]) <= {"a", "b", "c", "rejected"}
    found = CappedLDA().fit(X, pd.Series(["a", "b", "c"], dtype="category")[y]).predict_or_reject(X)
    assert found[0] == "rejected"
    assert lda.predict_or_reject(X, reject_label="?")[0] == "?"
    boolean = CappedLDA().fit(X, y == 1).predict_or_reject(X)
    assert boolean[0] == -1
    assert set(boolean) <= {-1, 0, 1}


@pytest.mark.parametrize(
    ("classes", "settings", "error", "words"),
    [
        ([0, 1, 2], {"reject_label": 2}, ValueError, "reject_label=2 is a class; use a label"),
        (
            [0, 1, 2],
            {"reject_label": "no"},
            TypeError,
            "are numbers; use None or a label",
        ),
        ([0, 1, 2], {"reject_label": [1]}, TypeError, r"reject_label=\[1\] does not fit"),
        (["a", "b", "c"], {"reject_label": -1}, TypeError, "label=-1 does not .* are strings; use"),
        ([-1, 0, 1], {}, ValueError, "reject_label=-1 is a class; use a label other than"),
        (["a", "b", "rejected"], {}, ValueError, "reject_label='rejected' is a class; use a label"),
        ([0, 1, 2], {"min_proba": 1.5}, ValueError, "min_proba=1.5 is out of range"),
    ],
)
def test_a_label_that_does_not_fit_is_refused(rng, classes, settings, error, words):
    X, y = three_classes(rng, 300)
    lda = CappedLDA().fit(X, np.array(classes)[y])
    with pytest.raises(error, match=words):
        lda.predict_or_reject(X, **settings)


def test_cut_offs_share_alpha():
    """Ten of a hundred rows are far in one space, ten others in the other."""
    first, second = np.arange(100.0), np.arange(100.0)[::-1]
    cuts = cut_offs((first, second), np.ones(100), 0.2)
    assert cuts == [90.0, 90.0]
    assert cut_offs((first, first), np.ones(100), 0.2) == [80.0, 80.0]
    assert cut_offs((first, second), np.ones(100), 0.01) == [99.0, 99.0]


def test_tail_weights_count_equal_values():
    found = tail_weights(np.array([3.0, 1.0, 3.0, 2.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_array_equal(found, [4.0, 10.0, 4.0, 8.0])
