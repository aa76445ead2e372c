"""CappedNormLDA: the minimiser of the capped norm, and all that a fitted model does."""

import pickle

import numpy as np
import pytest
import reference
from common import angle, in_regime, make_classes
from scipy import linalg
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from cappedlda import CappedNormLDA, OutlierRemover, load_model, save_model


# The checks fit random rows, ten or so, which may well deserve a warning.
@pytest.mark.filterwarnings("ignore:The cap would have removed")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([CappedNormLDA(), CappedNormLDA(q=2, epsilon=np.inf)])
@pytest.mark.usefixtures("array_api")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("q", [0.5, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("start", ["robust", "lda", "identity"])
def test_the_objective_never_rises(dirty, q, start):
    X, y, _ = dirty
    model = CappedNormLDA(q=q, start=start).fit(X, y)
    path = model.objective_path_
    assert np.all(np.diff(path) <= 1e-9 * path[:-1])


@pytest.mark.parametrize("q", [0.5, 1.0, 2.0])
def test_the_weights_are_those_of_the_norm(dirty, q):
    X, y, _ = dirty
    model = CappedNormLDA(q=q).fit(X, y)
    # But for a floor of 1 % of the median.
    far = ~model.left_out_ & (model.distances_ > 0.5)
    expected = q * model.distances_[far] ** (q - 2.0)
    np.testing.assert_allclose(model.weights_[far], expected, rtol=1e-3)
    np.testing.assert_array_equal(model.left_out_, model.weights_ == 0.0)


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("q", [1.0, 2.0])
def test_the_weights_make_the_directions(load, q):
    X, y = load(return_X_y=True)
    X[::20] *= -5.0
    # Without a ridge, and to the end: then nothing but the weights decides.
    model = CappedNormLDA(q=q, ridge=1e-12, tol=1e-10, max_iter=1000).fit(X, y)
    rebuilt = reference.directions_from_weights(X, y, model.weights_, model.means_, model.priors_)
    assert angle(model.scalings_, linalg.orth(rebuilt)) < 1e-6


def test_centres_are_the_means_of_kept_or_of_all_rows(dirty):
    X, y, _ = dirty
    model = CappedNormLDA(centres="mean").fit(X, y)
    np.testing.assert_allclose(model.means_, [X[y == i].mean(axis=0) for i in range(3)])
    model = CappedNormLDA(q=2.0, centres="kept").fit(X, y)
    kept = ~model.left_out_
    np.testing.assert_allclose(
        model.means_, [X[kept & (y == i)].mean(axis=0) for i in range(3)], atol=2e-3
    )


def test_max_iter_warns(dirty):
    X, y, _ = dirty
    with pytest.warns(
        ConvergenceWarning, match=r"max_iter: .*after 2 passes; increase max_iter or tol"
    ):
        model = CappedNormLDA(max_iter=2, tol=1e-12).fit(X, y)
    assert model.status_ == "max_iter"
    assert model.n_iter_ == 2


def test_a_grid_search_chooses_q(dirty):
    X, y, _ = dirty
    search = GridSearchCV(CappedNormLDA(max_iter=300), {"q": [1.0, 2.0]}).fit(X, y)
    assert search.best_estimator_.q == search.best_params_["q"]
    copy = clone(CappedNormLDA(2, q=1.5, start=np.eye(6, 2)))
    assert copy.q == 1.5
    np.testing.assert_array_equal(copy.start, np.eye(6, 2))


# ------------------------------------------------------- all that a fitted model does


@pytest.fixture
def model(dirty):
    X, y, _ = dirty
    return CappedNormLDA(q=1.5).fit(X, y)


@pytest.mark.parametrize("store", ["file", "pickle"])
def test_a_stored_model_is_the_same_model(model, dirty, tmp_path, store):
    X, y, _ = dirty
    if store == "file":
        save_model(model, tmp_path / "model.npz")
        other = load_model(tmp_path / "model.npz")
    else:
        other = pickle.loads(pickle.dumps(model))
    assert type(other) is CappedNormLDA
    assert repr(other) == repr(model) == "CappedNormLDA(q=1.5)"
    for method in ("predict", "predict_proba", "transform", "outlyingness"):
        np.testing.assert_array_equal(getattr(other, method)(X), getattr(model, method)(X))
    assert str(other.summary()) == str(model.summary())
    (samples,) = other.measure_chunks(lambda: [(X, y)])
    for found, name in zip(samples, ("distances_", "weights_", "outliers_", "left_out_"), strict=1):
        np.testing.assert_allclose(found, getattr(model, name), rtol=1e-9, err_msg=name)


def test_the_summary_tells_the_exponent(model):
    assert "exponent: q = 1.5" in str(model.summary())
    assert "shrunk" not in str(model.summary())


def test_flagged_rows_are_explained(model, dirty):
    X, y, spoilt = dirty
    table = model.explain(X, y)
    assert set(np.flatnonzero(spoilt & model.outliers_)) <= set(table["row"])


def test_chunks_give_the_same_fit(model, dirty):
    X, y, _ = dirty
    parts = [(X[:90], y[:90]), (X[90:], y[90:])]
    other = CappedNormLDA(q=1.5).fit_chunks(lambda: parts)
    np.testing.assert_array_equal(other.scalings_, model.scalings_)


def test_a_sample_leads_to_the_same_rows(rng):
    X, y = make_classes(rng, [900, 900], 4)
    X[::10] += 50.0
    whole = CappedNormLDA().fit(X, y)
    sampled = in_regime(CappedNormLDA(), least_sample_rows=300).fit(X, y)
    assert sampled.n_sampled_ > 0
    assert sampled.left_out_[::10].all()
    assert angle(sampled.scalings_, whole.scalings_) < 0.1


def test_the_remover_takes_it(dirty):
    X, y, spoilt = dirty
    remover = OutlierRemover(CappedNormLDA(q=2.0)).fit(X, y)
    assert not spoilt[remover.sample_indices_].any()


def test_what_only_capped_lda_has_is_refused_with_its_name(model, dirty):
    with pytest.raises(AttributeError, match="CappedNormLDA has no covariance_: only CappedLDA"):
        _ = model.covariance_
    with pytest.raises(ValueError, match="or is not a CappedLDA"):
        model.is_rejected(dirty[0])
    assert not hasattr(model, "shrinkage_")
