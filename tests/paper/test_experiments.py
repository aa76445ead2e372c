"""The experiments of the paper: soundness of the protocol, tables, resuming, exit status."""

import json
from functools import partial

import numpy as np
import pytest
from scipy.stats import friedmanchisquare
from sklearn.datasets import load_digits, load_iris
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import FunctionTransformer

from cappedlda import CappedLDA, CappedLDACV
from cappedlda._cli import main
from cappedlda.noise import feature_noise
from cappedlda.paper.datasets import make_artificial
from cappedlda.paper.experiments import METHODS, TABLES, protocol, report, reproduce, run, tables
from cappedlda.paper.experiments.methods import Method, start_quantile, up_to
from cappedlda.paper.experiments.protocol import Outcome, Trial, run_trial
from cappedlda.paper.experiments.tables import PRINTED

quickly = partial(reproduce, quick=True, n_jobs=1, verbose=False)


@pytest.fixture
def folder(tmp_path):
    """A folder with the iris data."""
    X, y = load_iris(return_X_y=True)
    np.savez(tmp_path / "iris.npz", X=X, y=y)
    return tmp_path


@pytest.fixture
def trial(rng):
    """Continuous data, so that no two rows share a value; a few gaps in the training part."""
    X, y = rng.normal(size=(120, 4)), np.repeat([0, 1, 2], 40)
    X[:, 0] += 1.5 * y
    order = rng.permutation(120)
    train, test = order[:90], order[90:]
    X[train[:3], 1] = np.nan
    return Trial(X[train], y[train], X[test], y[test])


def command(table, folder, *more):
    out = str(folder / "out")
    return main(
        ["reproduce", table, "--quick", "--n-jobs", "1", "--data", str(folder), "--out", out, *more]
    )


def read_table(folder, name="uci"):
    return json.loads((folder / "out" / f"{name}.json").read_text(encoding="utf-8"))


# Methods


def test_the_rows_of_the_tables():
    assert list(METHODS) == [
        "1-NN", "LDA", "RDA", "RLDA", "LDA-L1", "L2BLDA", "CLDA", "TrimmedLDA", "CappedLDA",
        "CappedLDA.predict", "CappedLDACV",
    ]  # fmt: skip
    gammas = [params["gamma"] for params in METHODS["RDA"].grid]
    np.testing.assert_allclose(gammas, [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10])
    rates = [params["learning_rate"] for params in METHODS["LDA-L1"].grid]
    np.testing.assert_allclose(rates, 10.0 ** np.arange(-6, 3))


@pytest.mark.parametrize("name", METHODS)
def test_dimensions_ascend_and_can_be_fitted(name, clean):
    X, y = clean
    dimensions = METHODS[name].dimensions(3, X.shape[1])
    assert dimensions == sorted(set(dimensions))
    method = METHODS[name]
    params = method.grid[0] if method.tune is None else method.tune(X, y)
    model = method.fit(X, y, dimensions[-1], **params)
    assert model.transform(X).shape == (len(X), dimensions[-1])


@pytest.mark.parametrize(("most", "expected"), [(1, [1]), (3, [1, 2, 3])])
def test_few_dimensions_are_all_tried(most, expected):
    assert up_to(most) == expected


def test_many_dimensions_are_thinned():
    dimensions = up_to(256)
    assert dimensions[0] == 1
    assert dimensions[-1] == 256
    assert len(dimensions) <= 24


def test_epsilon_of_the_published_method_is_a_quantile_of_its_start(clean):
    X, y = clean
    norms = np.abs(X[:, 0] - np.array([X[y == i, 0].mean() for i in range(3)])[y])
    assert start_quantile(X[:, :1], y, "within", 0.9) == pytest.approx(np.quantile(norms, 0.9))
    assert start_quantile(X[:, :1], y, "between", 2.0) == np.inf


def test_tuned_cap_is_the_choice_of_the_estimator(dirty):
    X, y, _ = dirty
    params = METHODS["CappedLDACV"].tune(X, y)
    model = CappedLDACV().fit(X, y)
    assert params == {"multiplier": model.best_multiplier_}
    fixed = METHODS["CappedLDACV"].fit(X, y, 2, **params)
    np.testing.assert_array_equal(fixed.scalings_, model.scalings_)
    np.testing.assert_array_equal(fixed.outliers_, model.outliers_)


def test_tuning_takes_no_more_folds_than_a_class_has_rows(rng):
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 10
    X[:, 0] += 3.0 * y
    assert set(METHODS["CappedLDACV"].tune(X, y)) == {"multiplier"}


# Protocol


class Spy:
    """Stands in for a model."""

    status_ = "converged"

    def __init__(self, n_components):
        self.n_components = n_components

    def transform(self, X):
        return X[:, : self.n_components]


class SpiedMethod:
    """A method with two candidates, and what its models were fitted on."""

    def __init__(self):
        self.fitted = []
        self.method = Method(self.fit, grid=({"shift": 0}, {"shift": 1}))

    def fit(self, X, y, n_components, shift):
        self.fitted.append(X)
        return Spy(n_components)


@pytest.fixture
def spy():
    return SpiedMethod()


def rows_of(X):
    return {tuple(row) for row in np.round(X, 9).tolist()}


def test_no_test_row_reaches_a_fit(spy, trial):
    run_trial(spy.method, trial, inner_folds=3)
    X, X_test = protocol.prepared(trial)
    seen = set.union(*(rows_of(fitted) for fitted in spy.fitted))
    assert seen == rows_of(X)
    assert not seen & rows_of(X_test)


@pytest.mark.parametrize("name", ["RDA", "CLDA", "CappedLDA", "CappedLDACV"])
def test_test_rows_do_not_change_the_choice(name, trial, rng):
    other = trial._replace(
        X_test=rng.normal(size=trial.X_test.shape), y_test=rng.permutation(trial.y_test)
    )
    first, second = (run_trial(METHODS[name], one, 3) for one in (trial, other))
    assert (first.params, first.rule) == (second.params, second.rule)


def test_one_fit_serves_every_dimension(spy, trial):
    outcome = run_trial(spy.method, trial, inner_folds=3)
    assert len(spy.fitted) == 2 * 3 + 1
    assert list(outcome.by_dimension) == [1, 2, 3, 4]
    assert outcome.accuracy == outcome.by_dimension[outcome.params["n_components"]]


def test_features_are_filled_and_scaled_by_the_training_part(trial):
    X, X_test = protocol.prepared(trial)
    np.testing.assert_allclose(X.min(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(X.max(axis=0), 1.0)
    low, high = np.nanmin(trial.X_train, axis=0), np.nanmax(trial.X_train, axis=0)
    np.testing.assert_allclose(X_test, (trial.X_test - low) / (high - low))
    median = np.nanmedian(trial.X_train[:, 1])
    np.testing.assert_allclose(X[:3, 1], (median - low[1]) / (high[1] - low[1]))


def test_noise_goes_to_the_training_part_only(trial):
    X, X_test = protocol.prepared(trial)
    noisy, same = protocol.prepared(trial._replace(noise=feature_noise))
    again, _ = protocol.prepared(trial._replace(noise=feature_noise))
    assert np.any(noisy != X, axis=1).sum() == 9
    np.testing.assert_array_equal(same, X_test)
    np.testing.assert_array_equal(noisy, again)


def test_nearest_neighbour_in_every_dimension(rng):
    Z, y = rng.normal(size=(60, 5)), rng.integers(3, size=60)
    Z_test, y_test = rng.normal(size=(2000, 5)), rng.integers(3, size=2000)
    expected = [
        KNeighborsClassifier(1).fit(Z[:, :d], y).score(Z_test[:, :d], y_test) for d in (1, 2, 5)
    ]
    found = protocol.nearest_accuracies(Z, y, Z_test, y_test, [1, 2, 5, 9])
    np.testing.assert_allclose(found, [*expected, expected[-1]])


def test_flagged_rows_are_no_neighbours(dirty):
    X, y, spoilt = dirty
    model = CappedLDA().fit(X, y)
    flagged = model.outliers_
    assert flagged.sum() >= 10
    # Labels of flagged rows are made wrong, which misleads their neighbours.
    wrong = np.where(flagged, (y + 1) % 3, y)
    at_flagged = X[flagged], y[flagged], [2]
    assert protocol.nearest(model, X, wrong, *at_flagged) == [0.0]
    assert protocol.nearest_unflagged(model, X, wrong, *at_flagged)[0] > 0.0


def test_cross_validation_decides_whether_flagged_rows_are_neighbours(dirty):
    X, y, spoilt = dirty
    own = Trial(X, y, X, y)
    assert run_trial(METHODS["CappedLDA"], own, 3).rule in METHODS["CappedLDA"].rules
    assert METHODS["CappedLDA"].rules == ("nearest unflagged", "nearest")

    class Fooled(FunctionTransformer):
        """Flags every row of class 0, so that it is better off with its flagged rows."""

        def fit(self, X, y):
            self.outliers_ = y == 0
            return self

    method = METHODS["1-NN"]._replace(
        fit=lambda X, y, n_components: Fooled().fit(X, y), rules=METHODS["CappedLDA"].rules
    )
    assert run_trial(method, own, 3).rule == "nearest"


def test_the_own_rule_of_the_estimator_is_a_row(trial):
    outcome = run_trial(METHODS["CappedLDA.predict"], trial, 3)
    X, X_test = protocol.prepared(trial)
    assert outcome.accuracy == CappedLDA().fit(X, trial.y_train).score(X_test, trial.y_test)
    assert outcome.params == {"n_components": 2}


def test_choice_is_made_on_some_rows_of_large_data(rng):
    y = np.repeat([0, 1], [900, 100])
    X, thin = protocol.thinned(np.arange(1000.0)[:, None], y, 100, seed=0)
    np.testing.assert_array_equal(y[X[:, 0].astype(int)], thin)
    assert np.bincount(thin).tolist() == [90, 10]


def test_a_method_that_fails_is_reported(trial):
    def fail(X, y, n_components):
        raise ValueError("no such luck")

    outcome = run_trial(Method(fail), trial, 2)
    assert outcome.accuracy is None
    assert outcome.status == "error: no such luck"
    row = report.make_row("x", "failing", [outcome], {})
    assert row["mean"] is None
    assert report.our_cell(row, "{mean}", best=1.0) == "failed"


def test_published_method_survives_a_first_feature_that_is_mostly_constant(trial):
    X = trial.X_train.copy()
    X[:, 0] = 0.0
    X[:4, 0] = 1.0
    outcome = run_trial(METHODS["CLDA"], trial._replace(X_train=X), 2)
    assert outcome.accuracy is not None


# Tables


def test_tables_have_the_data_of_the_paper():
    assert list(TABLES) == ["artificial", "uci", "uci-noise", "coil100", "usps"]
    for name, table in TABLES.items():
        assert set(PRINTED[name]) <= set(table.cases)
    assert set(TABLES["uci"].cases) == set(PRINTED["uci"]) == set(PRINTED["uci-noise"])
    assert "heartc_num" in TABLES["uci"].extra


@pytest.mark.parametrize("name", ["uci", "uci-noise"])
def test_ranks_of_the_paper_follow_from_its_figures(name):
    means = {dataset: [mean for mean, _ in row] for dataset, row in PRINTED[name].items()}
    ranks = report.compare_ranks(means, PRINTED["columns"])["average_ranks"]
    np.testing.assert_allclose(list(ranks.values()), PRINTED["average_ranks"][name], atol=1e-4)


def test_folds_of_a_table_are_apart(rng):
    X, y = rng.normal(size=(50, 2)), np.repeat([0, 1], 25)
    trials = tables.make_trials(
        TABLES["uci"], tables.Case("x"), (X, y), tables.Effort(trials=5), seed=3
    )
    assert [len(trial.y_test) for trial in trials] == [10] * 5
    assert set().union(*(rows_of(trial.X_test) for trial in trials)) == rows_of(X)
    for trial in trials:
        assert not rows_of(trial.X_train) & rows_of(trial.X_test)


def test_ties_do_not_depend_on_a_file_that_is_sorted_by_class():
    X, y = np.zeros((200, 1)), np.repeat([0, 1], 100)
    X[:, 0] = np.tile([0.0, 1.0], 100)
    trials = tables.make_trials(
        TABLES["uci"], tables.Case("x"), (X, y), tables.Effort(trials=10), seed=0
    )
    scores = [
        protocol.nearest_accuracies(t.X_train, t.y_train, t.X_train, t.y_train, [1])[0]
        for t in trials
    ]
    firsts = {int(trial.y_train[0]) for trial in trials}
    assert firsts == {0, 1}
    assert np.mean(scores) == pytest.approx(0.5, abs=0.01)


def test_a_class_may_have_fewer_rows_than_there_are_folds(rng):
    X, y = rng.normal(size=(50, 2)), np.repeat([0, 1], [47, 3])
    trials = tables.make_trials(
        TABLES["uci"], tables.Case("x"), (X, y), tables.Effort(trials=5), seed=0
    )
    assert sum(np.sum(trial.y_test == 1) for trial in trials) == 3


def test_halves_take_the_same_rows_of_each_class(rng):
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1, 2], 20)
    case = tables.Case("x", rows_per_class=10)
    effort = tables.Effort(trials=2, most_classes=2)
    first, second = tables.make_trials(TABLES["coil100"], case, (X, y), effort, seed=0)
    assert np.bincount(first.y_train).tolist() == np.bincount(first.y_test).tolist() == [5, 5]
    assert not rows_of(first.X_train) & rows_of(first.X_test)
    assert rows_of(first.X_train) != rows_of(second.X_train)


def test_artificial_trials_are_draws():
    effort = tables.Effort(trials=2)
    case = TABLES["artificial"].cases["artificial"]
    trials = tables.make_trials(TABLES["artificial"], case, None, effort, seed=5)
    np.testing.assert_array_equal(trials[1].X_train, make_artificial(random_state=6).X_train)
    assert not trials[0].scale
    swapped = tables.make_trials(
        TABLES["artificial"], case._replace(reverse=True), None, effort, seed=5
    )
    np.testing.assert_array_equal(swapped[0].X_test, trials[0].X_test[:, ::-1])
    first, second = (run_trial(METHODS["LDA"], one, 2) for one in (trials[0], swapped[0]))
    assert first.angle == pytest.approx(second.angle)
    assert list(run_trial(METHODS["L2BLDA"], trials[0], 2).by_dimension) == [1]
    assert list(run_trial(METHODS["1-NN"], trials[0], 2).by_dimension) == [2]


# Reports


def test_friedman_test_and_critical_difference(rng):
    values = rng.normal(size=(14, 4)).round(1)
    means = {str(i): row.tolist() for i, row in enumerate(values)}
    means["gap"] = [1.0, None, 2.0, 3.0]
    found = report.compare_ranks(means, list("abcd"))
    expected = friedmanchisquare(*values.T)
    assert found["datasets"] == 14
    assert found["friedman_chi2"] == pytest.approx(expected.statistic)
    assert found["friedman_p"] == pytest.approx(expected.pvalue)
    assert list(found["average_means"].values()) == pytest.approx(values.mean(axis=0).tolist())
    # Demsar's example: 1.25 for 4 methods and 14 data sets.
    assert found["critical_difference"] == pytest.approx(1.25, abs=0.01)


@pytest.mark.parametrize("means", [{}, {"x": [1.0, None]}])
def test_ranks_of_nothing(means):
    assert report.compare_ranks(means, ["a", "b"]) == {"datasets": 0, "average_ranks": {}}


def test_equal_results_share_a_rank(tmp_path):
    assert quickly(["artificial"], out=tmp_path, methods=["LDA", "RLDA"])
    rows = json.loads((tmp_path / "artificial.json").read_text())["rows"]
    assert [row["rank"] for row in rows[:2]] == [1.5, 1.5]


def test_artificial_table(tmp_path):
    methods = ["1-NN", "LDA", "CLDA", "CappedLDA"]
    assert quickly(["artificial"], out=tmp_path, methods=methods)
    summary = json.loads((tmp_path / "artificial.json").read_text(encoding="utf-8"))
    assert summary["command"] == (
        "cappedlda reproduce artificial --quick --methods 1-NN LDA CLDA CappedLDA"
    )
    assert summary["seed"] == 0
    assert set(summary["versions"]) == {"python", "cappedlda", "numpy", "scipy", "scikit-learn"}
    assert summary["comparison"]["average_ranks"].keys() == set(methods)
    for row in summary["rows"]:
        assert 50.0 <= row["mean"] <= 100.0
        assert row["mean"] == pytest.approx(np.mean(row["accuracies"]), abs=1e-3)
        assert row["std"] == pytest.approx(np.std(row["accuracies"], ddof=1), abs=1e-3)
        assert 1.0 <= row["rank"] <= 4.0
        assert len(row["params"]) == 5
        assert row["cpu_seconds"] > 0.0
    by_method = {row["method"]: row for row in summary["rows"] if row["dataset"] == "artificial"}
    assert by_method["CappedLDA"]["mean_angle"] < by_method["LDA"]["mean_angle"]
    text = (tmp_path / "artificial.md").read_text(encoding="utf-8")
    assert "*95.00*" in text
    assert "quick run" in text
    for name in ("artificial-directions.png", "artificial-projections.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_six_methods_are_ranked_as_in_the_paper(folder):
    assert command("uci", folder, "--datasets", "iris") == 0
    summary = read_table(folder)
    assert set(summary["comparison_of_six"]) == set(report.IN_THE_PLACE_OF_CLDA)
    ranks = summary["comparison_of_six"]["CappedLDA"]["average_ranks"]
    assert list(ranks) == ["LDA", "RDA", "RLDA", "LDA-L1", "L2BLDA", "CappedLDA"]
    assert sum(ranks.values()) == pytest.approx(21.0)
    text = (folder / "out" / "uci.md").read_text(encoding="utf-8")
    assert "1.93" in text
    assert "*96.67 ± 4.71*" in text


# Running


def test_finished_rows_are_not_run_again(folder, capsys):
    wanted = ("--datasets", "iris", "--methods", "LDA", "RDA")
    assert command("uci", folder, *wanted) == 0
    before = read_table(folder)
    (folder / "iris.npz").unlink()
    assert command("uci", folder, *wanted) == 0
    assert "2 rows were there" in capsys.readouterr().err
    after = read_table(folder)
    assert before["rows"] == after["rows"]


def test_other_settings_run_anew(folder):
    for seed in ("0", "1"):
        assert command("uci", folder, "--datasets", "iris", "--methods", "LDA", "--seed", seed) == 0
    assert read_table(folder)["seed"] == 1
    assert len(list((folder / "out" / "rows" / "uci").iterdir())) == 1


def test_interrupted_run_keeps_its_rows_and_says_how_to_go_on(folder, monkeypatch, capsys):
    real = run.run_trial

    def interrupted(method, *rest):
        if method is METHODS["RDA"]:
            raise KeyboardInterrupt
        return real(method, *rest)

    monkeypatch.setattr(run, "run_trial", interrupted)
    assert command("uci", folder, "--datasets", "iris", "--methods", "LDA", "RDA") == 130
    rows = folder / "out" / "rows" / "uci"
    assert [path.name for path in rows.iterdir()] == ["iris--LDA.json"]
    assert "the same command goes on from there" in capsys.readouterr().err


def test_rows_of_other_code_are_kept_and_told_of(folder, capsys):
    wanted = ("--datasets", "iris", "--methods", "LDA")
    assert command("uci", folder, *wanted) == 0
    path = folder / "out" / "rows" / "uci" / "iris--LDA.json"
    path.write_text(path.read_text().replace(report.code_digest(), "another"))
    assert command("uci", folder, *wanted) == 0
    assert "1 rows" in (told := capsys.readouterr().err)
    assert "made by another state of the code; delete them" in told
    assert read_table(folder)["rows"][0]["code"] == "another"


def test_damaged_row_is_named(folder, capsys):
    path = folder / "out" / "rows" / "uci" / "iris--LDA.json"
    path.parent.mkdir(parents=True)
    path.write_text("{")
    assert command("uci", folder, "--datasets", "iris", "--methods", "LDA") == 1
    assert str(path) in capsys.readouterr().err


def test_missing_file_is_named_and_the_others_are_run(folder, capsys):
    assert command("uci", folder, "--datasets", "glass", "iris", "--methods", "LDA") == 1
    error = capsys.readouterr().err
    assert str(folder / "glass.npz") in error
    assert "put glass.npz" in error
    summary = read_table(folder)
    assert list(summary["missing"]) == ["glass"]
    assert [row["dataset"] for row in summary["rows"]] == ["iris"]
    assert "**glass**" in (folder / "out" / "uci.md").read_text(encoding="utf-8")


def test_missing_folder_is_named(tmp_path, capsys):
    nowhere, out = str(tmp_path / "nowhere"), str(tmp_path / "out")
    assert main(["reproduce", "uci", "--data", nowhere, "--out", out, "--datasets", "iris"]) == 1
    told = capsys.readouterr().err
    assert nowhere in told
    assert "of the data set 'iris' is missing" in told


def save_corrupt(path):
    path.write_bytes(path.read_bytes()[:300])


def save_without_labels(path):
    np.savez(path, X=np.zeros((4, 2)))


def save_objects(path):
    np.savez(path, X=np.array([{}], dtype=object), y=np.zeros(1))


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (save_corrupt, "is damaged"),
        (save_without_labels, "has no array 'y'"),
        (save_objects, "not a file of plain arrays"),
    ],
)
def test_bad_file_is_named(spoil, expected, folder, capsys):
    spoil(folder / "iris.npz")
    assert command("uci", folder, "--datasets", "iris", "--methods", "LDA") == 1
    error = capsys.readouterr().err
    assert str(folder / "iris.npz") in error
    assert expected in error


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["nonsense"], "known are artificial, uci"),
        (["uci", "--datasets", "nonsense"], "known are artificial, artificial_swapped"),
        (["uci", "--methods", "LDA", "nonsense"], "known are 1-NN, LDA"),
        (["uci", "--n-jobs", "0"], "0 is not a positive integer"),
    ],
)
def test_unknown_names_list_the_known_ones(argv, expected, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["reproduce", *argv])
    assert exit_.value.code == 2
    assert expected in capsys.readouterr().err


def test_data_set_of_another_table(tmp_path, capsys):
    assert command("usps", tmp_path, "--datasets", "iris") == 2
    assert "usps has only usps, usps_s30, usps_s40" in capsys.readouterr().err


def test_reproduce_checks_names():
    with pytest.raises(ValueError, match="'nonsense' is unknown; known are 1-NN, LDA"):
        reproduce(["uci"], methods=["nonsense"])


def test_several_processes_give_the_same(folder):
    for jobs in ("1", "2"):
        argv = ["reproduce", "uci-noise", "--quick", "--data", str(folder), "--n-jobs", jobs]
        argv += ["--out", str(folder / jobs), "--datasets", "iris", "--methods", "RDA", "CappedLDA"]
        assert main(argv) == 0
    one, two = (
        json.loads((folder / jobs / "uci-noise.json").read_text())["rows"] for jobs in ("1", "2")
    )
    assert [row["accuracies"] for row in one] == [row["accuracies"] for row in two]


def test_every_row_is_reported(folder, capsys):
    assert command("uci", folder, "--datasets", "iris", "--methods", "LDA", "RDA") == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[-3:] for line in lines] == [["(1", "of", "2)"], ["(2", "of", "2)"]]
    assert lines[0].startswith("uci: iris, LDA: ")


# Pictures


def test_pictures_of_images(tmp_path):
    digits = load_digits()
    X = np.rint(255.0 / 16.0 * digits.data)
    np.savez(tmp_path / "usps_8x8.npz", X=X[:300], y=digits.target[:300])
    methods = ("--methods", "1-NN", "LDA", "L2BLDA")
    assert command("usps", tmp_path, *methods) == 0
    for name in ("usps-dimensions.png", "usps-digits.png"):
        assert (tmp_path / "out" / name).read_bytes().startswith(b"\x89PNG")
    curve = read_table(tmp_path, "usps")["rows"][2]["by_dimension"]
    assert len(curve) > 10
    (tmp_path / "usps_8x8.npz").unlink()
    assert command("usps", tmp_path, *methods) == 0  # all rows are there


def test_tables_without_the_chosen_data_are_left_out(folder, capsys):
    assert command("all", folder, "--datasets", "iris", "--methods", "LDA") == 0
    made = sorted(path.name for path in (folder / "out").glob("*.md"))
    assert made == ["uci-noise.md", "uci.md"]
    assert "usps" not in capsys.readouterr().out


def test_no_pictures_without_matplotlib(folder, without):
    without("matplotlib")
    assert quickly(["artificial"], out=folder / "out", methods=["LDA"])
    assert not list((folder / "out").glob("*.png"))


def test_outcome_has_what_the_row_needs():
    outcomes = [
        Outcome(0.5, {"n_components": d}, "nearest", "converged", {1: 0.5}, 3.0, 1.0)
        for d in (1, 2)
    ]
    row = report.make_row("x", "LDA", outcomes, {"seed": 0})
    assert row["mean"] == 50.0
    assert row["std"] == 0.0
    assert row["params"] == [{"n_components": 1}, {"n_components": 2}]
    assert row["statuses"] == {"converged": 2}
    assert row["cpu_seconds"] == 2.0
    assert row["code"] == report.code_digest()
