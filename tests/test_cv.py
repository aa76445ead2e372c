"""Cross-validation: the choice and its table, the warm path, what it costs and what it gains."""

import numpy as np
import pytest
from common import angle, make_classes, rows_of, spoil
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks

from cappedlda import CappedLDA, CappedLDACV, cv, noise
from cappedlda._data.array import ArrayRows
from cappedlda._fit import Options, fit_capped, fit_path
from cappedlda._initial import dense
from cappedlda._metrics.frame import Objective
from cappedlda._model.folds import share_in_score
from cappedlda._rules.fences import FLAG_LEVEL, Fences

GRID = (0.5, 0.7, 1.0, 1.4, 2.0, np.inf)
SMALL = {"multipliers": (1.0, np.inf), "cv": 3}


# The checks fit random rows, ten or so, which may well deserve a warning.
@pytest.mark.filterwarnings("ignore:The cap would have removed")
@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([CappedLDACV(multipliers=(1.0, np.inf), cv=2)])
@pytest.mark.usefixtures("array_api")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_table_holds_every_candidate_and_the_best_is_in_it(dirty):
    X, y, _ = dirty
    model = CappedLDACV("all", multipliers=(0.7, 1, np.inf), cv=4).fit(X, y)
    table = model.cv_results_
    assert {len(column) for column in table.values()} == {3 * 2}
    names = ("param_multiplier", "param_n_components")
    assert len(set(zip(*(table[name] for name in names), strict=True))) == 6
    splits = np.array([table[f"split{k}_test_score"] for k in range(4)])
    assert model.n_splits_ == 4
    assert "split4_test_score" not in table
    np.testing.assert_allclose(table["mean_test_score"], splits.mean(axis=0))
    np.testing.assert_allclose(table["std_test_score"], splits.std(axis=0))
    np.testing.assert_array_equal(
        table["rank_test_score"],
        [1 + np.sum(table["mean_test_score"] > mean + 1e-9) for mean in table["mean_test_score"]],
    )
    best = model.best_index_
    chosen = (model.best_multiplier_, model.best_n_components_)
    assert chosen == tuple(table[name][best] for name in names)
    assert model.best_score_ == table["mean_test_score"][best]
    assert model.best_epsilon_ == model.epsilon_
    assert model.transform(X).shape == (len(y), model.best_n_components_)


def test_the_default_candidate_is_the_fit_of_capped_lda(dirty):
    X, y, _ = dirty
    model = CappedLDACV(multipliers=[1], cv=2).fit(X, y)
    single = CappedLDA().fit(X, y)
    assert (model.best_multiplier_, model.best_n_components_) == (1.0, 2)
    for name in vars(single):
        if name.endswith("_"):
            np.testing.assert_array_equal(getattr(model, name), getattr(single, name), name)
    np.testing.assert_array_equal(model.outlyingness(X, y), single.outlyingness(X, y))
    np.testing.assert_array_equal(model.predict_proba(X), single.predict_proba(X))


def test_the_multiplier_inf_leaves_out_nothing(dirty):
    X, y, _ = dirty
    model = CappedLDACV(multipliers=[np.inf], cv=2, cells="all").fit(X, y)
    single = CappedLDA(epsilon=np.inf).fit(X, y)
    assert model.best_epsilon_ == np.inf
    assert not model.outliers_.any()
    assert not model.left_out_.any()
    np.testing.assert_array_equal(model.coef_, single.coef_)
    plain = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=0.02)


@pytest.mark.parametrize("multiplier", [0.5, 0.7, 1.4, 2.0])
def test_a_multiplier_scales_the_cap(clean, multiplier):
    X, y = clean
    model = CappedLDACV(multipliers=[multiplier], cv=2).fit(X, y)
    # Not exactly: other rows are kept, so that the fence is not quite the same.
    assert model.epsilon_ == pytest.approx(multiplier * CappedLDA().fit(X, y).epsilon_, rel=0.15)
    assert np.all(model.caps_ >= model.epsilon_)


def test_a_small_multiple_still_keeps_half_of_every_class(rng):
    fences = Fences(8.0, np.array([8.0, 9.0]), np.array([5.0, 6.0]), 4.0)
    for multiplier, epsilon, caps in [
        (0.1, 5.0, [5.0, 6.0]),
        (0.7, 5.6, [5.6, 6.3]),
        (1.0, 8.0, [8.0, 9.0]),
        (2.0, 16.0, [16.0, 18.0]),
    ]:
        found = fences.times(multiplier)
        assert found[0] == pytest.approx(epsilon)
        np.testing.assert_allclose(found[1], caps)
    X, y = make_classes(rng, [100, 60], 20)
    model = CappedLDACV(multipliers=[1e-3], cv=2).fit(X, y)
    for i in range(2):
        inside = model.distances_[y == i] <= model.caps_[i] / FLAG_LEVEL
        assert 0.45 <= inside.mean() <= 0.6


def path_options(rows):
    return Options(rows.class_shares)


@pytest.mark.parametrize("kind", ["gap", "sample", "few rows"])
def test_the_warm_path_ends_where_single_fits_end(rng, kind):
    # No multiple of the fence cuts through these balls. Where a cap cuts through dense rows
    # there are many fixed points near each other, and none of them is the right one.
    sizes, n = {"gap": ([80, 60, 90], 3), "sample": ([9000] * 3, 3), "few rows": ([14] * 3, 60)}[
        kind
    ]
    y = rng.permutation(np.repeat(np.arange(3), sizes))
    steps = rng.normal(size=(len(y), n))
    steps *= rng.uniform(size=(len(y), 1)) ** (1 / n) / np.linalg.norm(steps, axis=1, keepdims=True)
    X = 5.0 * rng.normal(size=(3, n))[y] + steps
    X = spoil(rng, X, rng.uniform(size=len(y)) < 0.1)
    rows = rows_of(X, y)
    grid = GRID if kind != "few rows" else (0.7, 1.0, 2.0)
    default = Objective()
    rules = [default.multiplied(m) for m in grid] + [Objective(2.0).multiplied(m) for m in grid]
    rules.sort(key=default.distance)
    warm = fit_path(rows, rules, path_options(rows))
    for rule, solution in zip(rules, warm, strict=True):
        cold = fit_capped(rows, rule, path_options(rows))
        np.testing.assert_array_equal(solution.samples.outliers, cold.samples.outliers, str(rule))
        np.testing.assert_array_equal(solution.samples.left_out, cold.samples.left_out, str(rule))
        assert angle(X @ solution.W, X @ cold.W) < 1e-3, rule


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_on_real_data_the_warm_path_flags_nearly_the_same_rows(rng, load):
    X, y = load(return_X_y=True)
    rows = rows_of(spoil_some(rng, X), y)
    rules = sorted([Objective().multiplied(m) for m in GRID], key=Objective().distance)
    for rule, solution in zip(rules, fit_path(rows, rules, path_options(rows)), strict=True):
        cold = fit_capped(rows, rule, path_options(rows))
        allowed = 0.0 if rule.multiplier >= 1.0 else 0.03
        assert np.mean(solution.samples.outliers != cold.samples.outliers) <= allowed, rule


def spoil_some(rng, X, share=0.15):
    """Throw some rows far away, in units of the range of each feature."""
    X = X.copy()
    spoilt = rng.uniform(size=len(X)) < share
    X[spoilt] += 5 * np.ptp(X, axis=0) * rng.normal(size=(spoilt.sum(), X.shape[1]))
    return X


class Visits:
    """The numbers that all passes read, and those of the start: for moments and distances.

    A row in the discriminant space, where clouds are looked for, has few of them.
    """

    def __init__(self, spy):
        self._passes = spy(ArrayRows, "run")
        self._distances = spy(dense, "shrunk_distances")

    def count(self):
        """Return how many there were since the last count."""
        numbers = [np.prod(rows.shape) for rows, *_ in self._passes]
        numbers += [2 * np.prod(pieces.shape) for pieces, *_ in self._distances]
        self._passes.clear()
        self._distances.clear()
        return sum(numbers)


@pytest.fixture
def visits(spy):
    return Visits(spy)


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_it_costs_less_than_the_fits_that_it_replaces(rng, load, visits):
    X, y = load(return_X_y=True)
    X = spoil_some(rng, X)
    model = CappedLDACV("all", cv=2, n_jobs=1, cells="all").fit(X, y)
    cost = visits.count()
    refit = Objective().multiplied(model.best_multiplier_)
    fits = [(np.arange(len(y)), refit)]
    for train, _ in StratifiedKFold(2).split(X, y):
        fits += [(train, Objective().multiplied(m)) for m in GRID]
    for train, rule in fits:
        rows = rows_of(X[train], y[train])
        fit_capped(rows, rule, path_options(rows))
    # The start is shared; the loop of every multiple is its own.
    assert 0 < cost <= 0.9 * visits.count()


@pytest.mark.parametrize("spoilt", [0.0, 0.2])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_it_is_not_worse_than_the_default_by_more_than_a_standard_error(rng, load, spoilt):
    X, y = load(return_X_y=True)
    gains, rates = [], []
    for seed in range(2):
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, train_size=min(200, len(y) // 2), random_state=seed, stratify=y
        )
        X_train = spoil_some(rng, X_train, spoilt)
        model = CappedLDACV(multipliers=(0.5, 1.0, 2.0, np.inf), cv=3).fit(X_train, y_train)
        rates.append(CappedLDA().fit(X_train, y_train).score(X_test, y_test))
        gains.append(model.score(X_test, y_test) - rates[-1])
    # The standard error of an accuracy; no errors in few rows do not mean that it is zero.
    rate = min(np.mean(rates), 1 - 1 / len(y_test))
    assert np.mean(gains) >= -np.sqrt(rate * (1 - rate) / len(y_test))


def test_a_tight_cap_wins_against_swapped_labels(rng):
    X, y = make_classes(rng, [150, 150, 150], 3, spread=1.5)
    labels = np.where(rng.uniform(size=len(y)) < 0.25, (y + 1) % 3, y)
    model = CappedLDACV(multipliers=(0.5, np.inf)).fit(X, labels)
    assert model.best_multiplier_ == 0.5
    assert model.score(X, y) >= CappedLDA(epsilon=np.inf).fit(X, labels).score(X, y)


def test_no_cap_wins_on_clean_data_where_a_cap_would_cost_half_of_the_rows(rng):
    X, y = make_classes(rng, [80, 80], 40, spread=0.35)
    model = CappedLDACV(multipliers=(0.05, np.inf), leave_out="flagged").fit(X, y)
    assert model.best_multiplier_ == np.inf
    assert not model.outliers_.any()


def with_a_rare_level(rng, n_rows, share=0.02):
    """Classes that overlap, and a discrete feature with a rare level of class 1 alone."""
    y = np.arange(n_rows) % 2
    X = rng.normal(size=(n_rows, 4))
    X[:, 0] += y
    rare = (rng.random(n_rows) < 2.0 * share) & (y == 1)
    X[:, 3] = np.where(rare, 15.0, rng.integers(0, 2, n_rows))
    return X, y, rare


@pytest.mark.parametrize("seed", [0, 2])
def test_a_cap_that_erases_rare_rows_is_seen(seed):
    X, y, rare = with_a_rare_level(np.random.default_rng(seed), 2000)
    for multiplier in (0.5, 1.0):
        settings = {"leave_out": "flagged", "cells": "all"}
        erasing = CappedLDACV(multipliers=[multiplier], cv=2, **settings)
        assert erasing.fit(X, y).left_out_[rare].all()
        assert erasing.score(X[rare], y[rare]) < 0.5
    model = CappedLDACV(multipliers=(0.5, 1.0, np.inf), **settings).fit(X, y)
    assert model.best_multiplier_ == np.inf
    assert model.score(X[rare], y[rare]) > 0.9


@pytest.mark.parametrize("leave_out", ["harmful", "flagged"])
@pytest.mark.parametrize("share", [0.2, 0.3])
@pytest.mark.parametrize("spread", [0.7, 1.5])
def test_contamination_does_not_buy_the_score(rng, spread, share, leave_out):
    # Plain LDA fits the planted rows: on all held-out rows it would look better than it is.
    X, y = make_classes(rng, [400, 400, 400], 6, spread=spread)
    X_dirty, y_dirty, planted = noise.leverage(X[:600], y[:600], share=share, random_state=0)
    model = CappedLDACV(multipliers=(0.5, 1.0, np.inf), leave_out=leave_out)
    model.fit(X_dirty, y_dirty)
    no_cap = model.cv_results_["param_multiplier"] == np.inf
    assert model.best_multiplier_ != np.inf
    assert model.cv_results_["mean_test_score"][no_cap] < model.best_score_ - 0.1
    oracle = LinearDiscriminantAnalysis().fit(X_dirty[~planted], y_dirty[~planted])
    assert model.score(X[600:], y[600:]) >= oracle.score(X[600:], y[600:]) - 0.01


@pytest.mark.parametrize("spread", [0.5, 1.0])
def test_nothing_is_lost_on_clean_data(rng, spread):
    X, y = make_classes(rng, [1000, 1000, 1000], 6, spread=spread)
    model, plain = CappedLDACV().fit(X[:600], y[:600]), LinearDiscriminantAnalysis()
    plain.fit(X[:600], y[:600])
    # A standard error of the difference, if a twentieth of the rows are classified otherwise.
    assert model.score(X[600:], y[600:]) >= plain.score(X[600:], y[600:]) - np.sqrt(0.05 / 2400)


def scored(X, y):
    """The default fit, and which of its rows would count if they were held out."""
    rows = rows_of(np.ascontiguousarray(X), y)
    solution = fit_capped(rows, Objective(), path_options(rows))
    weight = share_in_score(rows, solution)
    assert weight.sum() == pytest.approx(1.0)
    return solution, weight > 0.0


def test_unusual_rows_are_scored():
    X, y, rare = with_a_rare_level(np.random.default_rng(2), 2000)
    solution, counts = scored(X, y)
    assert solution.samples.outliers[rare].any()
    assert counts.all()


def test_harmful_rows_are_not_scored(rng):
    X, y = make_classes(rng, [400, 400], 5, spread=1.5)
    X, y, planted = noise.leverage(X, y, share=0.2, random_state=0)
    solution, counts = scored(X, y)
    assert counts[planted].mean() < 0.02  # the nearest of them may be within what does no harm
    assert counts[~planted].mean() > 0.97
    np.testing.assert_array_equal(counts, ~solution.samples.left_out)


def test_at_least_half_of_every_class_is_scored(rng):
    X, y = make_classes(rng, [200, 200], 4)
    train = rows_of(spoil(rng, X, rng.uniform(size=400) < 0.1), y)
    solution = fit_capped(train, Objective(), path_options(train))
    assert np.isfinite(solution.level)
    X[(y == 1) & (rng.uniform(size=400) < 0.8)] += 1e3
    for sample_weight in (None, rng.uniform(size=400)):
        weight = share_in_score(rows_of(X, y, sample_weight), solution)
        given = np.ones(400) if sample_weight is None else sample_weight
        for i in range(2):
            assert given[(weight > 0.0) & (y == i)].sum() >= 0.5 * given[y == i].sum()
        assert np.mean(weight[y == 1] > 0.0) < 0.6


@pytest.mark.parametrize("others", [{"leave_out": "flagged"}, {"multipliers": (np.inf, 0.5)}])
def test_the_rows_of_the_score_do_not_depend_on_how_candidates_are_fitted(others):
    X, y, _ = with_a_rare_level(np.random.default_rng(2), 2000)
    scores = []
    for parameters in ({"multipliers": (np.inf,)}, others):
        table = CappedLDACV(**{"cv": 3, **parameters}).fit(X, y).cv_results_
        no_cap = table["param_multiplier"] == np.inf
        scores.append([table[f"split{k}_test_score"][no_cap] for k in range(3)])
    # The same plain LDA, however it is fitted, classifies the same rows.
    np.testing.assert_array_equal(*scores)


def candidates_of(multipliers, counts=(1,)):
    return [(Objective().multiplied(m), k) for m in multipliers for k in counts]


def test_ties_go_to_the_default():
    candidates = candidates_of(GRID, (1, 3, 2))
    scores = np.full((5, len(candidates)), 0.8)
    rule, count = candidates[cv.choose(candidates, scores, Objective())]
    assert (rule.multiplier, count) == (1.0, 3)
    # Without the default itself, to what is next to it.
    candidates = candidates_of((np.inf, 0.5, 1.4))
    assert cv.choose(candidates, np.full((5, 3), 0.8), Objective()) == 2


def test_a_gain_within_its_standard_error_is_left_alone():
    candidates = candidates_of((1.0, 2.0))
    default = np.array([0.8, 0.8, 0.9, 0.9])
    doubtful = np.column_stack([default, default + [0.05, -0.04, 0.02, -0.02]])
    clear = np.column_stack([default, default + [0.05, 0.04, 0.02, 0.03]])
    assert cv.choose(candidates, doubtful, Objective()) == 0
    assert cv.choose(candidates, clear, Objective()) == 1
    assert cv.choose(candidates, clear[:1], Objective()) == 1  # a single split has no error


@pytest.mark.parametrize("n_folds", range(2, 12))
def test_a_gain_in_one_fold_alone_is_within_its_standard_error(n_folds):
    candidates = [(Objective(), 1), (Objective().multiplied(0.5), 1)]
    for fold in range(n_folds):
        scores = np.full((n_folds, 2), 1 / 3)
        scores[fold, 1] += 1 / 7
        assert cv.choose(candidates, scores, Objective()) == 0


def test_few_directions_are_chosen_where_more_add_noise(rng):
    # Classes on a line: the other directions of a small sample are noise.
    y = rng.permutation(np.repeat(np.arange(6), 60))
    X = rng.normal(size=(len(y), 40))
    X[:, 0] += 2.5 * y
    model = CappedLDACV("all", multipliers=(1.0,), cv=10).fit(X, y)
    assert model.best_n_components_ < 5
    assert model.scalings_.shape == (40, model.best_n_components_)
    X_new = rng.normal(size=(3000, 40))
    y_new = rng.integers(0, 6, size=3000)
    X_new[:, 0] += 2.5 * y_new
    # The rule is that of the chosen directions.
    assert np.linalg.matrix_rank(model.coef_, tol=1e-6) == model.best_n_components_
    assert model.score(X_new, y_new) >= CappedLDA().fit(X, y).score(X_new, y_new) - 0.01


def test_directions_may_be_given_and_may_exceed_the_supervised_ones(dirty):
    X, y, _ = dirty
    model = CappedLDACV([1, 2, 4], **SMALL).fit(X, y)
    mean = model.cv_results_["mean_test_score"].reshape(-1, 3)
    np.testing.assert_array_equal(mean[:, 1], mean[:, 2])
    assert model.best_n_components_ == 4  # a tie goes to the most
    assert CappedLDACV(1, **SMALL).fit(X, y).transform(X).shape == (len(y), 1)


def test_harmful_rows_do_not_count_in_the_score(dirty):
    X, y, _ = dirty
    model = CappedLDACV(multipliers=[1.0]).fit(X, y)
    assert CappedLDA().fit(X, y).score(X, y) < 0.97 <= model.best_score_


def test_threads_change_nothing(dirty):
    X, y, _ = dirty
    models = [CappedLDACV("all", cv=3, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 5)]
    for name, value in vars(models[0]).items():
        if name.endswith("_") and name != "cv_results_":
            for other in models[1:]:
                np.testing.assert_array_equal(getattr(other, name), value, name)
    for name, column in models[0].cv_results_.items():
        for other in models[1:]:
            np.testing.assert_array_equal(other.cv_results_[name], column, name)


def test_weights_count_as_repetitions(rng, dirty):
    X, y, _ = dirty
    weight = rng.integers(0, 3, size=len(y))
    fold = np.arange(len(y)) % 3
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    weighted = CappedLDACV(multipliers=GRID[2:], cv=splits).fit(X, y, sample_weight=weight)
    row = np.repeat(np.arange(len(y)), weight)
    splits = [(np.flatnonzero(fold[row] != k), np.flatnonzero(fold[row] == k)) for k in range(3)]
    repeated = CappedLDACV(multipliers=GRID[2:], cv=splits).fit(X[row], y[row])
    for name, column in weighted.cv_results_.items():
        np.testing.assert_allclose(column, repeated.cv_results_[name], atol=1e-9, err_msg=name)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5)


def test_splits_may_be_masks_splitters_or_a_single_one(dirty):
    X, y, _ = dirty
    test = np.arange(len(y)) % 4 == 0
    by_mask = CappedLDACV(multipliers=[1.0], cv=[(~test, test)]).fit(X, y)
    indices = [(np.flatnonzero(~test), np.flatnonzero(test))]
    by_index = CappedLDACV(multipliers=[1.0], cv=indices).fit(X, y)
    np.testing.assert_array_equal(by_mask.best_score_, by_index.best_score_)
    splitter = StratifiedKFold(3, shuffle=True, random_state=0)
    assert CappedLDACV(multipliers=[1.0], cv=splitter).fit(X, y).n_splits_ == 3


def test_a_class_that_a_fold_does_not_know_is_not_scored_there(clean):
    X, y = clean
    fold = np.where(y == 2, 0, np.arange(len(y)) % 3)
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    priors = [0.2, 0.3, 0.5]
    model = CappedLDACV(multipliers=[1.0], cv=splits, priors=priors).fit(X, y)
    assert model.best_score_ > 0.9
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])


def test_the_same_seed_gives_the_same_choice_on_large_data(rng):
    X, y = make_classes(rng, [9000, 9000, 9000], 3, spread=1.0)
    fits = [
        CappedLDACV(multipliers=[1.0, 2.0], cv=2, random_state=seed).fit(X, y)
        for seed in (3, 3, np.random.RandomState(3))
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(
            other.cv_results_["split0_test_score"], fits[0].cv_results_["split0_test_score"]
        )
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("multipliers", (), ValueError, "multipliers=.* is empty; use positive numbers or inf"),
        ("multipliers", 1.0, TypeError, "multipliers=1.0 must be a sequence"),
        ("multipliers", "all", TypeError, "multipliers='all' must be a sequence"),
        ("multipliers", (1.0, 0.0), ValueError, "multipliers=0.0 .*positive numbers or inf"),
        ("multipliers", (np.nan,), ValueError, "multipliers=nan .*positive numbers or inf"),
        ("multipliers", ("1",), TypeError, "multipliers='1' .*positive numbers or inf"),
        ("n_components", 0, ValueError, "n_components=0 .*from 1 to n_features=6"),
        ("n_components", [1, 7], ValueError, "n_components=7 .*from 1 to n_features=6"),
        ("n_components", [], ValueError, "n_components=.* is empty"),
        ("n_components", 1.5, TypeError, "n_components=1.5 must be an integer"),
        ("n_components", True, TypeError, "n_components=True must be an integer"),
        ("n_components", "most", TypeError, "n_components='most' must be an integer; .*\"all\""),
        ("cv", 1, ValueError, "n_splits"),
        ("cv", "many", ValueError, "cv"),
        ("leave_out", "all", ValueError, "leave_out='all' is unknown"),
        ("shrinkage", 2.0, ValueError, "shrinkage=2.0 is out of range"),
        ("n_jobs", 0, ValueError, "n_jobs=0"),
        ("priors", [1.0], ValueError, "priors has shape"),
    ],
)
def test_bad_parameters_are_named_before_any_work(dirty, spy, name, value, error, message):
    X, y, _ = dirty
    work = [spy(cv, "fit_capped"), spy(cv.Fold, "evaluate")]
    model = CappedLDACV(**{name: value})
    with pytest.raises(error, match=message):
        model.fit(X, y)
    assert not any(work)
    assert vars(clone(model)).keys() == vars(model).keys()


def test_folds_that_cannot_be_used_are_named(clean):
    X, y = clean
    one_class = [(np.flatnonzero(y == 0), np.flatnonzero(y == 1))]
    with pytest.raises(ValueError, match="cv leaves fewer than two classes to train on"):
        CappedLDACV(cv=one_class).fit(X, y)
    unknown = [(np.flatnonzero(y < 2), np.flatnonzero(y == 2))]
    with pytest.raises(ValueError, match="cv holds out no row of weight to score by"):
        CappedLDACV(cv=unknown).fit(X, y)


def test_folds_that_converge_are_counted(dirty):
    X, y, _ = dirty
    model = CappedLDACV(multipliers=[1.0, np.inf], cv=2).fit(X, y)
    np.testing.assert_array_equal(model.cv_results_["n_converged"], [2, 2])


def test_flagged_rows_are_not_left_out_of_no_cap(dirty):
    X, y, _ = dirty
    model = CappedLDACV(multipliers=[np.inf], leave_out="flagged")
    with pytest.raises(ValueError, match="leave_out='flagged' has no effect with multipliers"):
        model.fit(X, y)


def test_it_prints_the_passes_of_the_last_fit_only(dirty, capsys):
    X, y, _ = dirty
    model = CappedLDACV(**SMALL, verbose=1).fit(X, y)
    # A line for each pass, and one for what was decided.
    assert len(capsys.readouterr().out.splitlines()) == model.n_iter_ + 1


def test_a_candidate_that_far_rows_overflow_is_not_chosen(rng):
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 3)).astype(np.float32)
    X[:, 0] += 3 * y
    X[7] = 1e30
    model = CappedLDACV(cv=3).fit(X, y)
    assert np.isfinite(model.best_multiplier_)
    without = model.cv_results_["param_multiplier"] == np.inf
    assert model.cv_results_["n_converged"][without].max() < 3
    assert model.outliers_[7]
