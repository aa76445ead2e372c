"""The estimator: scikit-learn's rules, real data, and what a user reads off a fit."""

import pickle
import re
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
import sklearn
from common import TOLERANCE, angle, in_regime, make_classes, rows_of, spoil
from scipy import linalg
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from cappedlda import CappedLDA, CappedNormLDA
from cappedlda._initial import stratified_sample
from cappedlda.paper import CLDA

LOADERS = [load_iris, load_wine, load_breast_cancer, load_digits]
ESTIMATORS = [CappedLDA(), CappedNormLDA(), CLDA(epsilon=np.inf)]


# The checks fit random rows, ten or so, which may well deserve a warning.
@pytest.mark.filterwarnings("ignore:The cap would have removed")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([CappedLDA(), CappedLDA(epsilon=np.inf)])
@pytest.mark.usefixtures("array_api")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "convert",
    [
        lambda X, y: (X.tolist(), y.tolist()),
        lambda X, y: (X.astype(">f8"), y),
        lambda X, y: (X.view(np.memmap), y.astype(">i2")),
        lambda X, y: (pd.DataFrame(X), y.astype(float)),
    ],
    ids=["lists", "other byte order", "subclass", "frame"],
)
def test_plain_arrays_and_what_must_be_converted_give_the_same_fit(dirty, convert):
    X, y, _ = dirty
    converted, plain = CappedLDA().fit(*convert(X, y)), CappedLDA().fit(X, y)
    np.testing.assert_array_equal(converted.scalings_, plain.scalings_)
    np.testing.assert_array_equal(converted.classes_, plain.classes_)
    assert converted.n_features_in_ == plain.n_features_in_ == X.shape[1]


def test_a_fit_on_a_plain_array_forgets_the_names_of_an_earlier_one(clean):
    X, y = clean
    model = CappedLDA().fit(pd.DataFrame(X, columns=list("abcdef")), y)
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert not hasattr(model.fit(X[:, :4], y), "feature_names_in_")
    assert model.n_features_in_ == 4


@pytest.mark.parametrize(
    "labels",
    [
        np.array([2**60, 2**60 + 1, 2**60 + 2], np.uint64),
        np.array([-100, 27, 127], np.int8),
        np.array([-(2**62), 5, 2**62]),
    ],
    ids=["uint64", "int8", "int64"],
)
def test_integers_of_any_size_may_be_labels(labels, clean):
    X, y = np.tile(clean[0], (4, 1)), np.tile(clean[1], 4)
    model = CappedLDA().fit(X, labels[y])
    np.testing.assert_array_equal(model.classes_, labels)
    np.testing.assert_array_equal(model.predict(X), labels[CappedLDA().fit(X, y).predict(X)])


@pytest.mark.parametrize("load", LOADERS)
def test_without_cap_it_is_scikit_learns_lda(load):
    X, y = load(return_X_y=True)
    model = CappedLDA(epsilon=np.inf, shrinkage=None, cells="all").fit(X, y)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    varies = X.std(axis=0) > 0  # a constant feature may have any coefficient
    d = model.scalings_.shape[1]
    assert d == len(lda.classes_) - 1
    assert angle(model.scalings_[varies], lda.scalings_[varies, :d]) < 1e-5
    for k in range(1, d):  # column by column, best first
        assert angle(model.scalings_[varies, :k], lda.scalings_[varies, :k]) < 1e-4
    np.testing.assert_allclose(model.means_, lda.means_, atol=1e-9)
    np.testing.assert_allclose(model.priors_, lda.priors_)
    np.testing.assert_array_equal(model.predict(X), lda.predict(X))
    np.testing.assert_allclose(
        model.explained_variance_ratio_, lda.explained_variance_ratio_, atol=1e-6
    )
    # The covariance has N - c degrees of freedom here; there N, from version 1.9 on.
    np.testing.assert_allclose(model.predict_proba(X), lda.predict_proba(X), atol=1e-2)
    recent = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)
    freedom = len(y) / (len(y) - len(lda.classes_)) if recent else 1.0
    np.testing.assert_allclose(
        model.coef_[:, varies] * freedom,
        lda.coef_[:, varies],
        atol=1e-4 * np.abs(lda.coef_[:, varies]).max(),
    )


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize(
    "estimator", [CappedLDA(), CappedNormLDA(max_iter=300), CappedNormLDA(q=2.0)], ids=str
)
def test_planted_outliers_are_found_and_do_no_harm(rng, load, estimator):
    X, y = load(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
    spoilt = rng.uniform(size=len(y)) < 0.15
    dirty = X.copy()
    dirty[spoilt] += 5 * np.ptp(X, axis=0) * rng.normal(size=(spoilt.sum(), X.shape[1]))
    model = clone(estimator).fit(dirty, y)
    oracle = LinearDiscriminantAnalysis().fit(X[~spoilt], y[~spoilt])
    naive = LinearDiscriminantAnalysis().fit(dirty, y)
    # In one direction of 30 (two classes) many far rows land near their class and do no harm.
    assert model.outliers_[spoilt].mean() >= (0.5 if load is load_breast_cancer else 0.95)
    assert model.outliers_[~spoilt].mean() <= 0.1
    assert model.score(X_test, y_test) >= oracle.score(X_test, y_test) - 0.04
    assert model.score(X_test, y_test) > naive.score(X_test, y_test)


def test_clean_data_lose_few_rows(clean):
    X, y = clean
    model = CappedLDA().fit(X, y)
    assert model.outliers_.mean() <= 0.03
    assert model.score(X, y) >= LinearDiscriminantAnalysis().fit(X, y).score(X, y) - 0.02
    assert model.status_ == "converged"
    assert 0 < model.n_iter_ < model.n_passes_


def test_flags_weights_and_distances_say_the_same(dirty):
    X, y, spoilt = dirty
    model = CappedLDA().fit(X, y)
    assert np.all(model.caps_ >= model.epsilon_)
    assert np.all(model.outliers_[model.distances_ > model.caps_[y]])
    np.testing.assert_array_equal(model.outliers_, model.weights_ == 0.0)
    assert model.outliers_[spoilt].mean() >= 0.9
    # The last step is LDA on the kept rows.
    np.testing.assert_array_equal(model.weights_, np.where(model.left_out_, 0.0, 1.0))
    for i in range(3):
        np.testing.assert_allclose(
            model.means_[i], X[(y == i) & ~model.outliers_].mean(axis=0), atol=2e-3
        )
    np.testing.assert_allclose(model.xbar_, model.priors_ @ model.means_)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_the_weights_make_the_directions(load):
    X, y = load(return_X_y=True)
    X[::20] *= -5.0
    model = CappedLDA().fit(X, y)
    rebuilt = reference.directions_from_weights(X, y, model.weights_, model.means_, model.priors_)
    assert angle(model.scalings_, linalg.orth(rebuilt)) < 1e-6


def test_decisions_are_told(rng, dirty):
    X, y, _ = dirty
    model = CappedLDA().fit(X, y)
    assert (model.shrinkage_, model.n_sampled_) == (0.0, 0)
    few = CappedLDA().fit(*make_classes(rng, [20] * 3, 40))
    assert 0.0 < few.shrinkage_ < 1.0
    many = in_regime(CappedLDA(), least_sample_rows=30, sample_rows_per_class=10).fit(X, y)
    assert 30 <= many.n_sampled_ < len(y)


def test_outlyingness_of_training_rows_is_their_distance_over_epsilon(dirty, dtype):
    X, y, _ = dirty
    X = X.astype(dtype)
    model = CappedLDA().fit(X, y)
    ratio = model.outlyingness(X, y)
    rtol = 1e-9 if dtype == np.float64 else 1e-3
    projected = model.outlyingness(X, y, space="projected")
    np.testing.assert_allclose(projected, model.distances_ / model.caps_[y], rtol=rtol)
    full = model.outlyingness(X, y, space="full")
    np.testing.assert_array_equal(ratio, np.maximum(projected, full))
    np.testing.assert_array_equal(ratio > 1, model.outliers_)
    every = [model.outlyingness(X, np.full(len(y), i)) for i in range(3)]
    np.testing.assert_allclose(model.outlyingness(X), np.min(every, axis=0), rtol=rtol)
    assert model.outlyingness(X[:1] + 1e4)[0] > 10
    np.testing.assert_allclose(
        model.outlyingness(model.means_.astype(dtype), space="projected"), 0, atol=1e-5
    )


def test_probabilities_are_those_of_the_scores(dirty):
    X, y, _ = dirty
    for labels in (y, np.minimum(y, 1)):
        model = CappedLDA().fit(X, labels)
        p, log_p = model.predict_proba(X), model.predict_log_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        np.testing.assert_allclose(np.exp(log_p), p, atol=1e-12)
        np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
        scores = model.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        expected = scores - logsumexp(scores, axis=1, keepdims=True)
        np.testing.assert_allclose(log_p, expected, atol=1e-12)
        assert model.score(X, labels) == np.mean(model.predict(X) == labels)


def test_the_rule_is_gaussian_in_the_projected_space(dirty):
    # Log-odds are half the difference of squared distances of the whitened projection.
    X, y, _ = dirty
    model = CappedLDA(cells="all").fit(X, y)
    Z, M = model.transform(X), model.transform(model.means_)
    expected = -0.5 * np.sum((Z[:, None] - M) ** 2, axis=2) + np.log(model.priors_)
    scores = model.decision_function(X)
    np.testing.assert_allclose(
        scores - scores[:, :1], expected - expected[:, :1], rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(Z, (X - model.xbar_) @ model.scalings_, atol=1e-9)


def test_fit_transform_is_fit_and_transform(dirty):
    X, y, _ = dirty
    np.testing.assert_array_equal(
        CappedLDA().fit_transform(X, y), CappedLDA().fit(X, y).transform(X)
    )


@pytest.mark.parametrize("space", ["both", "projected", "full"])
def test_unlabelled_rows_are_measured_from_the_class_where_they_fit_best(rng, space):
    X, y = make_classes(rng, [40] * 7, 5, spread=2.0)
    X[::9, 4] += 30.0  # far off in all features, hardly in the discriminant space
    model = CappedLDA().fit(X, y)
    new = np.vstack([X, X[:20] + rng.normal(size=(20, 5)) * 50.0])
    every = [model.outlyingness(new, np.full(len(new), i), space) for i in range(7)]
    np.testing.assert_allclose(model.outlyingness(new, space=space), np.min(every, axis=0))


def test_all_features_are_read_for_few_classes(rng, spy):
    X, y = make_classes(rng, [30] * 20, 6, spread=6.0)
    model = CappedLDA().fit(X, y)
    read = spy(type(model._flag_rule.gate), "ratios")
    model.outlyingness(X)
    assert 0 < sum(len(rows.codes) for _, rows, *_ in read) < 3 * len(X)


@pytest.mark.parametrize(("kind", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_frames_in_and_out(dirty, kind, frame):
    X, y, _ = dirty
    names = [f"feature_{k}" for k in range(6)]
    data = pd.DataFrame(X, columns=names) if kind == "pandas" else pl.DataFrame(X, schema=names)
    labels = np.array(["a", "b", "c"])[y]
    column = pd.Series(labels) if kind == "pandas" else pl.Series(labels)
    plain = CappedLDA().fit(X, labels)
    model = CappedLDA().set_output(transform=kind).fit(data, column)
    assert list(model.feature_names_in_) == names
    assert list(model.get_feature_names_out()) == ["cappedlda0", "cappedlda1"]
    Z = model.transform(data)
    assert isinstance(Z, frame)
    assert list(Z.columns) == ["cappedlda0", "cappedlda1"]
    np.testing.assert_allclose(np.asarray(Z), plain.transform(X), atol=1e-9)
    np.testing.assert_array_equal(model.predict(data), plain.predict(X))
    np.testing.assert_array_equal(model.outliers_, plain.outliers_)
    np.testing.assert_allclose(model.outlyingness(data, column), plain.outlyingness(X, labels))
    with pytest.raises(ValueError, match="feature names"):
        model.transform(data[names[::-1]])


def test_pipeline_grid_search_and_clone(dirty):
    X, y, _ = dirty
    pipeline = make_pipeline(StandardScaler(), CappedLDA())
    search = GridSearchCV(pipeline, {"cappedlda__epsilon": [3.0, 6.0]}).fit(X, y)
    assert search.best_score_ > 0.7
    assert search.best_estimator_[-1].epsilon == search.best_params_["cappedlda__epsilon"]
    copy = clone(CappedLDA(2, epsilon=1.5, priors=np.full(3, 1 / 3), n_jobs=2))
    assert copy.get_params()["epsilon"] == 1.5
    np.testing.assert_array_equal(copy.priors, np.full(3, 1 / 3))
    assert not hasattr(copy, "scalings_")


def test_a_pickled_model_is_the_same_model(dirty):
    X, y, _ = dirty
    model = CappedLDA().fit(X, y)
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(other.outlyingness(X, y), model.outlyingness(X, y))
    np.testing.assert_array_equal(other.outliers_, model.outliers_)


def test_any_layout_gives_the_same_answer(dirty, dtype, tmp_path):
    X, y, _ = dirty
    X = X.astype(dtype)
    model = CappedLDA().fit(X, y)
    np.save(tmp_path / "X.npy", X)
    frozen = X.copy()
    frozen.setflags(write=False)
    layouts = [
        np.asfortranarray(X),
        np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
        np.ascontiguousarray(X[::-1])[::-1],
        frozen,
        np.load(tmp_path / "X.npy", mmap_mode="r"),
    ]
    for other_X in layouts:
        other = CappedLDA().fit(other_X, y)
        assert angle(other.scalings_, model.scalings_) < 1e-6
        np.testing.assert_allclose(other.distances_, model.distances_, rtol=1e-4)
        np.testing.assert_array_equal(other.predict(other_X), model.predict(X))
        np.testing.assert_allclose(other.transform(other_X), model.transform(X), atol=1e-3)


def test_float32_data_give_nearly_the_answer_of_float64(dirty):
    X, y, _ = dirty
    model = CappedLDA().fit(X, y)
    other = CappedLDA().fit(X.astype(np.float32), y)
    assert angle(other.scalings_, model.scalings_) < TOLERANCE[np.dtype(np.float32)].fit_angle
    np.testing.assert_array_equal(other.outliers_, model.outliers_)
    assert other.transform(X.astype(np.float32)).dtype == np.float32
    assert model.transform(X).dtype == np.float64
    integers = np.round(100 * X).astype(np.int64)
    np.testing.assert_array_equal(
        CappedLDA().fit(integers, y).scalings_, CappedLDA().fit(integers.astype(float), y).scalings_
    )


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_the_fit_does_not_depend_on_the_number_of_threads(dirty, dtype, estimator):
    slabs = {"slab_elements": 1, "least_slab_rows": 16}
    X, y, _ = dirty
    models = [in_regime(clone(estimator).set_params(n_jobs=n), **slabs) for n in (1, 2, 4)]
    fits = [model.fit(X.astype(dtype), y) for model in models]
    for other in fits[1:]:
        for name in ("scalings_", "distances_", "weights_", "coef_", "means_", "objective_path_"):
            np.testing.assert_array_equal(getattr(other, name), getattr(fits[0], name))
        assert other.epsilon_ == fits[0].epsilon_


@pytest.mark.parametrize("estimator", [CappedNormLDA, CLDA])
def test_verbose_prints_one_line_per_pass(dirty, capsys, estimator):
    X, y, _ = dirty
    estimator(epsilon=30.0).fit(X, y)
    assert capsys.readouterr().out == ""
    model = estimator(epsilon=30.0, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"started with all rows, q [\d.]+, shrinkage 0", lines.pop())
    assert len(lines) == model.n_iter_
    form = re.compile(
        r"pass +(\d+) +objective +(settling|[\d.e+-]+) +kept +([\d.]+)% +"
        r"change +([\d.e+-]+|inf) +time +[\d.]+ s"
    )
    found = [form.fullmatch(line) for line in lines]
    assert all(found)
    assert [int(match[1]) for match in found] == list(range(1, model.n_iter_ + 1))
    kept = 100 * np.mean(~model.outliers_)
    assert float(found[-1][3]) == pytest.approx(kept, abs=1.0)
    assert float(found[-1][4]) < 1e-2


def large_problem(rng):
    """Every tenth row is far off in the plane of the class means, where it must be seen."""
    X, y = make_classes(rng, [4000, 5000, 3000], 8, spread=1.0)
    means = np.stack([X[y == i].mean(axis=0) for i in range(3)])
    plane = np.linalg.qr((means[1:] - means[0]).T)[0]
    turn = rng.uniform(0, 2 * np.pi, size=1200)
    spoilt = np.arange(len(y)) % 10 == 0
    X[spoilt] += 40.0 * np.column_stack([np.cos(turn), np.sin(turn)]) @ plane.T
    return X, y, spoilt


def test_a_sample_first_ends_where_all_rows_end(rng):
    X, y, spoilt = large_problem(rng)
    plain = in_regime(CappedLDA(), sample_worthwhile=np.inf).fit(X, y)
    sampled = in_regime(CappedLDA(), least_sample_rows=1000).fit(X, y)
    assert plain.n_sampled_ == 0
    assert 1000 <= sampled.n_sampled_ < len(y)
    assert angle(sampled.scalings_, plain.scalings_) < 3e-3  # a sample decides on the level
    differ = sampled.outliers_ != plain.outliers_
    assert np.all(np.abs(plain.distances_[differ] / plain.caps_[y[differ]] - 1) < 0.02)
    assert sampled.outliers_[spoilt].all()


@pytest.mark.parametrize("random_state", [None, 3])
def test_the_sample_is_a_fixed_choice(rng, random_state):
    X, y, _ = large_problem(rng)
    models = [CappedLDA(random_state=random_state) for _ in range(2)]
    fits = [in_regime(model, least_sample_rows=500).fit(X, y) for model in models]
    np.testing.assert_array_equal(fits[0].scalings_, fits[1].scalings_)
    np.testing.assert_array_equal(fits[0].distances_, fits[1].distances_)


def test_the_sample_is_stratified(rng):
    codes = rng.permutation(np.repeat([0, 1, 2], [9000, 2980, 20])).astype(np.int32)
    seed = np.random.RandomState(0)
    X = np.arange(12000.0)[:, None]
    sample, others = stratified_sample(rows_of(X, codes, least_sample_rows=1000), seed)
    assert others is None
    assert np.all(np.diff(sample.X[:, 0]) > 0)
    np.testing.assert_array_equal(sample.codes, codes[sample.X[:, 0].astype(int)])
    np.testing.assert_array_equal(np.bincount(sample.codes), [750, 248, 20])
    codes = np.arange(2999, dtype=np.int32) % 3
    few = rows_of(np.zeros((2999, 1)), codes, least_sample_rows=1000)
    assert stratified_sample(few, seed) == (None, None)


@pytest.mark.parametrize("weighted", [False, True])
def test_with_many_features_other_rows_are_drawn_beside_the_sample(rng, weighted):
    codes = rng.permutation(np.repeat([0, 1, 2], [9000, 2970, 30])).astype(np.int32)
    X = np.arange(12000.0)[:, None] * np.ones(30)
    weight = rng.integers(0, 2, 12000).astype(float) if weighted else None
    sample, others = stratified_sample(rows_of(X, codes, weight, least_sample_rows=1000), None)
    drawable = codes if weight is None else codes[weight > 0.0]
    sizes = np.bincount(drawable)
    shares = np.minimum(sizes, np.maximum(50, np.round(1000 * sizes / sizes.sum()))).astype(int)
    np.testing.assert_array_equal(np.bincount(sample.codes), shares)
    expected = np.minimum(sizes, 2 * shares) - shares  # none of a class that is all in the sample
    np.testing.assert_array_equal(np.bincount(others.codes, minlength=3), expected)
    numbers = np.concatenate([sample.X[:, 0], others.X[:, 0]]).astype(int)
    assert len(np.unique(numbers)) == len(numbers)
    np.testing.assert_array_equal(codes[numbers], np.concatenate([sample.codes, others.codes]))
    assert weight is None or np.all(weight[numbers] > 0.0)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_data_are_not_copied_whole(rng, dtype, estimator):
    X, y = make_classes(rng, [8000, 8000], 100, spread=0.3, dtype=dtype)
    clone(estimator).fit(X[:1000], y[:1000])  # imports and caches
    model = in_regime(clone(estimator).set_params(n_jobs=2), least_sample_rows=500)
    tracemalloc.start()
    try:
        model.fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Some vectors of N, some n x n matrices, a packed panel per thread, the sample.
    assert peak < 0.4 * X.nbytes


def test_verbose_tells_the_share_of_the_sample_that_is_kept(rng, capsys):
    X, y = make_classes(rng, [16_000, 16_000], 3)
    X = spoil(rng, X, np.arange(32_000) % 10 == 0)
    CappedLDA(verbose=1).fit(X, y)
    kept = [line.split("kept")[1].split("%")[0] for line in capsys.readouterr().out.splitlines()
            if line.startswith("pass")]  # fmt: skip
    assert kept
    assert all(85.0 < float(share) < 95.0 for share in kept)
