"""What those find who come from scikit-learn's LinearDiscriminantAnalysis."""

import inspect
import pickle

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import sklearn
from common import make_classes, spoil
from scipy import sparse
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.fixes import parse_version

from cappedlda import CappedLDA, CappedLDACV, CappedNormLDA, load_model, save_model


def residuals(X, y):
    means = np.stack([X[y == k].mean(axis=0) for k in np.unique(y)])
    return X - means[y]


def standardized(rng, sizes, n):
    """Classes with unit variance of every feature within them."""
    X, y = make_classes(rng, sizes, n)
    return X / residuals(X, y).std(axis=0), y


def test_the_covariance_is_that_of_scikit_learn_where_nothing_is_left_out(clean):
    X, y = clean
    plain = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    lda = CappedLDA(epsilon=np.inf).fit(X, y)
    np.testing.assert_allclose(lda.covariance_, plain.covariance_, rtol=1e-9, atol=1e-12)


def test_the_covariance_is_that_of_the_kept_rows(dirty):
    X, y, spoilt = dirty
    lda = CappedLDA().fit(X, y)
    assert lda.left_out_[spoilt].all()
    H = residuals(X[~lda.left_out_], y[~lda.left_out_])
    np.testing.assert_allclose(lda.covariance_, H.T @ H / len(H), rtol=1e-9, atol=1e-12)


def test_the_covariance_counts_weights_and_is_stored(dirty, tmp_path):
    X, y, _ = dirty
    weights = np.arange(len(y)) % 3
    weighted = CappedLDA().fit(X, y, sample_weight=weights)
    repeated = CappedLDA().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.covariance_, repeated.covariance_, rtol=1e-9, atol=1e-12)
    save_model(weighted, tmp_path / "model.npz")
    np.testing.assert_array_equal(
        load_model(tmp_path / "model.npz").covariance_, weighted.covariance_
    )


def test_the_covariance_of_few_rows_is_that_of_their_span(rng):
    X, y = make_classes(rng, [10, 12], 40)
    lda = CappedLDA(epsilon=np.inf).fit(X, y)
    H = residuals(X, y)
    np.testing.assert_allclose(lda.covariance_, H.T @ H / len(H), rtol=1e-7, atol=1e-9)


def test_chunks_and_dask_have_the_same_covariance(dirty):
    X, y, _ = dirty
    expected = CappedLDA().fit(X, y).covariance_
    chunked = CappedLDA().fit_chunks(lambda: [(X[:70], y[:70]), (X[70:], y[70:])])
    np.testing.assert_array_equal(chunked.covariance_, expected)
    lazy = CappedLDA().fit(da.from_array(X, chunks=(50, 6)), da.from_array(y, chunks=50))
    np.testing.assert_allclose(lazy.covariance_, expected, rtol=1e-12)


def differences(model):
    """The coefficients of all classes relative to the first: what a rule depends on."""
    return model.coef_[1:] - model.coef_[:1]


def test_the_rule_is_that_of_r_with_n_minus_c(clean):
    """As MASS::lda: pooled covariance over n - c, of which solve(S, means) are the coefficients."""
    X, y = clean
    H = residuals(X, y)
    means = np.stack([X[y == k].mean(axis=0) for k in range(3)])
    coefficients = np.linalg.solve(H.T @ H / (len(y) - 3), means.T).T
    lda = CappedLDA(epsilon=np.inf, cells="all").fit(X, y)
    np.testing.assert_allclose(differences(lda), coefficients[1:] - coefficients[0], rtol=1e-8)
    Z = lda.transform(H + lda.xbar_)
    np.testing.assert_allclose(Z.T @ Z / (len(y) - 3), np.eye(2), atol=1e-9)


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_scikit_learn_divides_by_n(clean, solver):
    X, y = clean
    plain = LinearDiscriminantAnalysis(solver=solver).fit(X, y)
    lda = CappedLDA(epsilon=np.inf, cells="all").fit(X, y)
    by_n = solver != "svd" or parse_version(sklearn.__version__) >= parse_version("1.9")
    factor = len(y) / (len(y) - 3) if by_n else 1.0
    np.testing.assert_allclose(differences(plain), factor * differences(lda), rtol=1e-7)
    np.testing.assert_array_equal(lda.predict(X), plain.predict(X))
    if solver == "svd":
        ratio = np.abs(plain.transform(X) / lda.transform(X))
        np.testing.assert_allclose(ratio, np.sqrt(factor), rtol=1e-6)


def test_other_differences_are_as_the_page_tells(clean):
    X, y = clean
    words = pd.Series(np.array(["a", "b", "c"])[y])
    plain, lda = LinearDiscriminantAnalysis().fit(X, words), CappedLDA().fit(X, words)
    assert lda.classes_.dtype == object
    np.testing.assert_array_equal(lda.classes_, plain.classes_)
    with np.errstate(divide="ignore"):
        LinearDiscriminantAnalysis(priors=[0.5, 0.5, 0.0]).fit(X, y)
    with pytest.raises(ValueError, match="priors=.* must be positive; remove classes"):
        CappedLDA(priors=[0.5, 0.5, 0.0]).fit(X, y)
    doubled = np.c_[X[:, 0], 2.0 * X[:, 0]]
    assert LinearDiscriminantAnalysis().fit(doubled, y).transform(doubled).shape == (150, 1)
    with pytest.warns(ConvergenceWarning, match="rank_deficient: Only 1 of 2 directions"):
        lda = CappedLDA().fit(doubled, y)
    assert lda.status_ == "rank_deficient"
    assert lda.transform(doubled).shape == (150, 2)
    for model in (LinearDiscriminantAnalysis(), CappedLDA()):
        with pytest.raises(ValueError, match="number of samples must be more than the number of c"):
            model.fit(X, np.arange(150))


@pytest.mark.parametrize("shrinkage", [0.0, 0.3, 1.0])
def test_a_fixed_shrinkage_decides_as_scikit_learn(rng, shrinkage):
    """On features of unit variance, where its units are ours."""
    X, y = standardized(rng, [60, 50, 40], 6)
    plain = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(X, y)
    lda = CappedLDA(epsilon=np.inf, shrinkage=shrinkage).fit(X, y)
    assert lda.shrinkage_ == shrinkage
    # Its covariance is divided by the rows, ours by the degrees of freedom.
    ratio = 150 / (150 - 3)
    steps = [model.coef_[1:] - model.coef_[:1] for model in (plain, lda)]
    np.testing.assert_allclose(ratio * steps[1], steps[0], rtol=1e-6)
    np.testing.assert_array_equal(lda.predict(X), plain.predict(X))


def mean_advice(H, y):
    """Mean over the rows of what Ledoit and Wolf advise for the deviations of their class."""
    advised = [ledoit_wolf_shrinkage(H[y == i], assume_centered=True) for i in np.unique(y)]
    return np.average(advised, weights=np.bincount(y))


def test_auto_is_the_rule_of_ledoit_and_wolf(rng):
    X, y = standardized(rng, [40, 30, 20], 8)
    expected = mean_advice(residuals(X, y), y)
    lda = CappedLDA(epsilon=np.inf, shrinkage="auto").fit(X, y)
    assert 0.01 < expected < 0.9
    np.testing.assert_allclose(lda.shrinkage_, expected, rtol=1e-6)


def test_auto_looks_at_kept_rows_only(dirty):
    X, y, spoilt = dirty
    lda = CappedLDA(shrinkage="auto").fit(X, y)
    kept = ~lda.left_out_
    assert not spoilt[kept].any()
    H = residuals(X[kept], y[kept])
    expected = mean_advice(H / H.std(axis=0), y[kept])
    np.testing.assert_allclose(lda.shrinkage_, expected, rtol=1e-6)


def test_auto_is_the_same_for_every_kind_of_rows(dirty):
    X, y, _ = dirty
    expected = CappedLDA(shrinkage="auto").fit(X, y)
    others = [
        CappedLDA(shrinkage="auto").fit_chunks(lambda: [(X[:70], y[:70]), (X[70:], y[70:])]),
        CappedLDA(shrinkage="auto").fit(sparse.csr_array(X), y),
        CappedLDA(shrinkage="auto").fit(
            da.from_array(X, chunks=(50, 6)), da.from_array(y, chunks=50)
        ),
    ]
    for other in others:
        np.testing.assert_allclose(other.shrinkage_, expected.shrinkage_, rtol=1e-12)
        np.testing.assert_allclose(other.coef_, expected.coef_, rtol=1e-9)


def test_the_default_shrinks_few_rows_only_and_none_never(rng):
    X, y = make_classes(rng, [40, 40], 30)
    assert CappedLDA().fit(X, y).shrinkage_ > 0.0
    assert CappedLDA(shrinkage=None).fit(X, y).shrinkage_ == 0.0
    X, y = make_classes(rng, [100, 100], 5)
    assert CappedLDA().fit(X, y).shrinkage_ == 0.0
    assert CappedLDACV(cv=2, multipliers=(1.0,), shrinkage=0.2).fit(X, y).shrinkage_ == 0.2


@pytest.mark.parametrize("shrinkage", [0.5, "auto"])
def test_more_features_than_rows_are_shrunk_in_their_span(rng, shrinkage):
    X, y = make_classes(rng, [30, 30], 80, spread=1.0)
    X = spoil(rng, X, np.arange(60) % 10 == 0)
    lda = CappedLDA(shrinkage=shrinkage, leave_out="flagged").fit(X, y)
    kept = ~lda.left_out_
    assert 0 < lda.left_out_.sum() <= 12
    assert lda.score(X[kept], y[kept]) == 1.0
    Z = residuals(X[kept], y[kept])
    expected = mean_advice(Z / Z.std(axis=0), y[kept]) if shrinkage == "auto" else 0.5
    np.testing.assert_allclose(lda.shrinkage_, expected, rtol=1e-6)


def test_uniform_priors(clean):
    X, y = clean
    uniform = CappedLDA(priors="uniform").fit(X, y)
    np.testing.assert_array_equal(uniform.priors_, np.full(3, 1.0 / 3.0))
    given = CappedLDA(priors=np.full(3, 1.0 / 3.0)).fit(X, y)
    np.testing.assert_array_equal(uniform.coef_, given.coef_)
    chunked = CappedLDA(priors="uniform").fit_chunks(lambda: [(X, y)])
    np.testing.assert_array_equal(chunked.coef_, given.coef_)


@pytest.mark.parametrize("estimator", [CappedLDA, CappedLDACV])
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("store_covariance", True, "leave it out: CappedLDA has covariance_ after every fit"),
        ("covariance_estimator", None, "leave it out: the covariance of CappedLDA is robust"),
        ("solver", "svd", "leave out any other: one solver handles all shapes"),
        ("solver", "paper", "solver='paper' is cappedlda.paper.CLDA"),
        ("q", 2.0, "q is a parameter of CappedNormLDA"),
        ("start", "lda", "start is a parameter of CappedNormLDA"),
        ("centers", "mean", "it is centres, a parameter of CappedNormLDA"),
        ("centres", "mean", "centres is a parameter of CappedNormLDA"),
        ("ridge", 0.1, "ridge is a parameter of CappedNormLDA"),
        ("max_iter", 9, "max_iter is a parameter of CappedNormLDA"),
        ("tol", 0.1, "tol is a parameter of CappedNormLDA"),
    ],
)
def test_parameters_that_are_not_there_say_where_they_are(estimator, name, value, words):
    with pytest.raises(TypeError, match=f"{estimator.__name__}.. has no parameter '{name}': ") as e:
        estimator(**{name: value})
    assert words in str(e.value)


@pytest.mark.parametrize("name", ["leave_out", "shrinkage", "centers", "solver"])
def test_the_norm_says_where_the_parameters_of_the_others_are(name):
    with pytest.raises(TypeError, match=f"CappedNormLDA.. has no parameter '{name}'"):
        CappedNormLDA(**{name: 1})


@pytest.mark.parametrize("estimator", [CappedLDA, CappedLDACV, CappedNormLDA])
def test_the_hints_leave_the_parameters_alone(estimator):
    with pytest.raises(TypeError, match="unexpected keyword argument 'epsilno'"):
        estimator(epsilno=3.0)
    names = list(inspect.signature(estimator).parameters)
    assert names[0] == "n_components"
    assert set(names) == set(estimator().get_params())
    model = estimator(n_components=2, priors="uniform")
    assert repr(pickle.loads(pickle.dumps(clone(model)))) == repr(model)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"shrinkage": "oas"}, ValueError, "shrinkage='oas' is unknown; use \"few_rows\""),
        ({"shrinkage": 1.5}, ValueError, "shrinkage=1.5 is out of range"),
        ({"shrinkage": -0.1}, ValueError, "shrinkage=-0.1 is out of range"),
        ({"shrinkage": [0.1]}, TypeError, "must be a number"),
        ({"shrinkage": np.array([0.1, 0.2])}, TypeError, r"shrinkage=array\(.* must be a number"),
        ({"shrinkage": False}, TypeError, 'shrinkage=False must be a number; use "few_rows"'),
        ({"priors": "equal"}, ValueError, "priors='equal' is unknown; use one of 'uniform'"),
    ],
)
def test_bad_values_are_refused(clean, settings, error, words):
    with pytest.raises(error, match=words):
        CappedLDA(**settings).fit(*clean)


def test_many_sparse_features_cannot_be_shrunk(rng):
    X = sparse.random_array((60, 1200), density=0.05, rng=rng, format="csr")
    y = np.arange(60) % 2
    with pytest.raises(ValueError, match=r"too many for shrinkage=0.1; use None"):
        CappedLDA(shrinkage=0.1).fit(X, y)
