"""The commands fit, transform, predict and outliers, as users call them."""

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr

import numpy as np
import pytest
from commands import KINDS, NAMES, error_of, printed_table, run, run_json
from common import angle

from cappedlda import CappedLDA, CappedLDACV, load_model
from cappedlda._cli import main
from cappedlda._util.progress import Progress

pd = pytest.importorskip("pandas")


def test_fit_prints_a_table(csv, dirty, capsys):
    captured = run(capsys, "fit", "data.csv", "--target", "kind", "--model", "m.npz")
    lines = captured.out.splitlines()
    assert lines[0] == "data.csv: 150 rows, 6 features"
    assert lines[2].split() == ["class", "rows", "flagged", "left", "out"]
    assert [line.split()[0] for line in lines[3:7]] == ["ant", "bee", "cow", "all"]
    assert lines[6].split() == ["all", "150", "15", "15"]
    assert "converged, iterations: " in captured.out
    assert lines[-1] == "Model: m.npz"
    assert captured.err == "Fitting 150 rows of 6 features\n"


def test_fit_json(csv, fitted, capsys):
    model, _, _ = fitted
    facts = run_json(capsys, "fit", "data.csv", "--target", "kind", "--quiet")
    assert facts["rows"] == 150
    assert facts["flagged"] == model.outliers_.sum() == 15
    assert sum(row["flagged"] for row in facts["classes"]) == 15
    assert facts["left_out"] == model.left_out_.sum()
    assert sum(row["left_out"] for row in facts["classes"]) == facts["left_out"]
    assert [row["class"] for row in facts["classes"]] == KINDS.tolist()
    assert facts["epsilon"] == pytest.approx(model.epsilon_)
    assert facts["status"] == "converged"
    assert facts["parameters"]["epsilon"] == "auto"
    assert facts["model"] is None


def test_fit_tells_what_cross_validation_chose(csv, capsys):
    argv = ["fit", "data.csv", "--target", "kind", "--quiet", "--cv"]
    facts = run_json(capsys, *argv)
    assert facts["parameters"]["best_score_"] > 0.9
    assert facts["parameters"]["best_multiplier_"] in (0.5, 0.7, 1.0, 1.4, 2.0, "inf")
    main(argv)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "Chosen by" in line]
    assert f"{facts['parameters']['best_multiplier_']} times" in line
    assert f"directions: {facts['parameters']['best_n_components_']};" in line


def test_the_model_is_that_of_the_library(fitted):
    model, X, _ = fitted
    loaded = load_model("m.npz")
    assert loaded.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(loaded.scalings_, model.scalings_)
    assert loaded.classes_.tolist() == KINDS.tolist()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--epsilon", "4.5"], CappedLDA(epsilon=4.5)),
        (["--epsilon", "inf"], CappedLDA(epsilon=np.inf)),
        (["--epsilon", "auto", "--n-components", "1"], CappedLDA(1)),
        (["--n-jobs", "2"], CappedLDA(n_jobs=2)),
        (["--cv"], CappedLDACV()),
    ],
)
def test_parameters(options, expected, csv, capsys):
    run(capsys, "fit", "data.csv", "--target", "kind", "--model", "m.npz", *options)
    loaded = load_model("m.npz")
    assert repr(loaded) == repr(expected)
    expected.fit(csv[NAMES].to_numpy(), csv["kind"].to_numpy(str))
    np.testing.assert_array_equal(loaded.scalings_, expected.scalings_)


def test_transform(fitted, capsys):
    model, X, _ = fitted
    found = printed_table(run(capsys, "transform", "m.npz", "data.csv").out)
    assert found.columns.tolist() == ["row", "cappedlda0", "cappedlda1"]
    np.testing.assert_array_equal(found["row"], np.arange(150))
    np.testing.assert_allclose(found.to_numpy()[:, 1:], model.transform(X), rtol=1e-12)


def test_predict(fitted, capsys):
    model, X, _ = fitted
    found = printed_table(run(capsys, "predict", "m.npz", "data.csv", "--proba").out)
    assert found.columns.tolist() == [
        "row",
        "prediction",
        *(f"probability_{k}" for k in KINDS),
        "ignored",
    ]
    np.testing.assert_array_equal(found["prediction"], model.predict(X))
    # Softmax of large scores: their rounding, relative to their size of some thousand.
    np.testing.assert_allclose(
        found.to_numpy()[:, 2:-1].astype(float), model.predict_proba(X), 1e-9
    )


def test_outliers_are_those_of_the_fit(fitted, capsys):
    model, X, y = fitted
    captured = run(capsys, "outliers", "m.npz", "data.csv")
    found = printed_table(captured.out)
    frame = pd.DataFrame(X, columns=NAMES)
    expected = CappedLDA().fit(frame, y).explain(frame, y)
    assert found.columns.tolist() == expected.columns.tolist()
    np.testing.assert_array_equal(np.sort(found["row"]), np.flatnonzero(model.outliers_))
    assert found["flagged"].all()
    for name in ("row", "class", "predicted", "left_out", "beyond", "feature_1", "feature_3"):
        assert found[name].tolist() == expected[name].tolist(), name
    for name in ("outlyingness", "value_1", "usual_1", "z_1", "z_3"):  # four digits
        np.testing.assert_allclose(found[name], expected[name], rtol=5e-4)
    assert all(len(f"{value:g}") <= 8 for value in found["outlyingness"])
    assert captured.err == (
        "150 rows; 15 flagged, unusually far from their class; 15 of the kind the fit leaves out\n"
    )


@pytest.mark.parametrize(("harmful", "left_out"), [(False, 0), (True, 1)])
def test_flagged_rows_that_do_no_harm_are_not_left_out(harmful, left_out, folder, capsys):
    """A row that is far off in a feature that does not matter is unusual, no more."""
    y = np.repeat(np.arange(3), 50)
    X = np.random.default_rng(0).normal(size=(150, 6)) + 4.0 * np.eye(3, 6)[y]
    X[0, 4] = 20.0
    if harmful:
        X[1, 0] = 1e6
    model = CappedLDA().fit(X, y)
    np.savez("far.npz", X=X, y=y)
    facts = run_json(capsys, "fit", "far.npz", "--quiet", "--model", "far-model.npz")
    assert (facts["flagged"], facts["left_out"]) == (1 + harmful, left_out)
    argv = ["outliers", "far-model.npz", "far.npz", "--all", "--sort", "row"]
    found = printed_table(run(capsys, *argv).out)
    np.testing.assert_array_equal(found["flagged"], model.outliers_)
    np.testing.assert_array_equal(found["left_out"], model.left_out_)


def test_outliers_without_labels(fitted, capsys):
    model, X, _ = fitted
    argv = ["outliers", "m.npz", "data.csv", "--unlabelled", "--all", "--sort", "row"]
    captured = run(capsys, *argv)
    found = printed_table(captured.out)
    assert "left_out" not in found.columns
    np.testing.assert_allclose(found["outlyingness"], model.outlyingness(X), rtol=5e-4)
    np.testing.assert_array_equal(found["flagged"], model.outlyingness(X) > 1.0)
    np.testing.assert_array_equal(found["predicted"], model.predict(X))
    assert "no labels were given" in captured.err


def test_a_swapped_label_is_found_with_labels_only(fitted, csv, capsys):
    csv.loc[1, "kind"] = "ant" if csv.loc[1, "kind"] != "ant" else "bee"
    csv.to_csv("swapped.csv", index=False)
    with_labels = printed_table(run(capsys, "outliers", "m.npz", "swapped.csv").out)
    without = printed_table(run(capsys, "outliers", "m.npz", "swapped.csv", "--unlabelled").out)
    assert 1 in with_labels["row"].tolist()
    assert 1 not in without["row"].tolist()


@pytest.mark.parametrize("all_rows", [[], ["--all"]])
def test_outliers_are_sorted(all_rows, fitted, capsys, limit):
    argv = ["outliers", "m.npz", "data.csv", "--features", "1", *all_rows]
    by_row = printed_table(run(capsys, *argv, "--sort", "row").out)
    assert by_row["row"].is_monotonic_increasing
    assert by_row.columns[-5:-1].tolist() == ["feature_1", "value_1", "usual_1", "z_1"]
    limit(block_numbers=100)
    found = printed_table(run(capsys, *argv).out)
    assert found["outlyingness"].is_monotonic_decreasing
    assert set(found["row"]) == set(by_row["row"])
    by_class = printed_table(run(capsys, *argv, "--sort", "class").out)
    assert by_class["class"].is_monotonic_increasing
    assert by_class.groupby("class")["outlyingness"].is_monotonic_decreasing.all()
    assert set(by_class["row"]) == set(by_row["row"])


@pytest.mark.parametrize("command", ["transform", "predict", "outliers"])
def test_blocks_change_nothing(command, fitted, capsys, limit):
    expected = printed_table(run(capsys, command, "m.npz", "data.csv").out)
    limit(block_numbers=100)
    found = printed_table(run(capsys, command, "m.npz", "data.csv").out)
    # Products of blocks may round in another way.
    pd.testing.assert_frame_equal(found, expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["data.csv", "data.parquet", "data.npz"])
def test_large_files_are_read_in_every_pass(name, fitted, csv, capsys, limit):
    model, X, y = fitted
    csv.to_parquet("data.parquet")
    np.savez("data.npz", X=X, kind=y)
    limit(training_bytes=0)
    limit(block_numbers=300)
    argv = ["fit", name, "--target", "kind", "--skip-missing", "--model", "s.npz"]
    captured = run(capsys, *argv, "--report", "s.html", "--json")
    facts = json.loads(captured.out)
    assert (facts["rows"], facts["flagged"]) == (150, 15)
    assert angle(load_model("s.npz").scalings_, model.scalings_) < 1e-9
    found = printed_table(run(capsys, "outliers", "s.npz", name, "--sort", "row").out)
    np.testing.assert_array_equal(found["row"], np.flatnonzero(model.outliers_))
    assert "needs all rows in memory" in error_of(capsys, *argv, "--cv")


@pytest.mark.parametrize("name", ["data.csv.gz", "-"])
def test_what_is_read_counts_not_the_size_of_the_file(name, csv, folder, capsys, limit, pipe):
    """Compressed files and standard input do not tell beforehand how large they are."""
    large = pd.concat([csv] * 20).astype(dict.fromkeys(NAMES, int))
    large.to_csv("data.csv.gz", index=False)
    n_bytes = 8 * len(NAMES) * len(large)
    assert (folder / "data.csv.gz").stat().st_size < n_bytes / 4
    for most, streamed in ((n_bytes, False), (n_bytes - 1, True)):
        pipe(large)
        limit(training_bytes=most)
        limit(seconds=0.0)
        assert ("Pass 1" in run(capsys, "fit", name, "--target", "kind").err) is streamed


@pytest.mark.parametrize("most_bytes", [0, 10**9], ids=["streamed", "in memory"])
def test_a_class_without_whole_rows_is_none(most_bytes, csv, capsys, limit):
    csv.loc[csv["kind"] == "bee", "f3"] = np.nan
    csv.sort_values("kind").to_csv("data.csv", index=False)
    limit(training_bytes=most_bytes)
    limit(block_numbers=70)  # some blocks have no whole row
    argv = ["fit", "data.csv", "--target", "kind", "--skip-missing", "--model", "m.npz"]
    facts = run_json(capsys, *argv)
    assert [item["class"] for item in facts["classes"]] == ["ant", "cow"]
    assert facts["skipped"] == (csv["kind"] == "bee").sum()
    found = printed_table(run(capsys, "predict", "m.npz", "data.csv", "--skip-missing").out)
    assert len(found) == facts["rows"]


@pytest.mark.parametrize("options", [[], ["--cv"]], ids=["fit", "cv"])
def test_fits_to_many_rows_in_memory_tell_their_passes(csv, capsys, limit, options):
    limit(told_numbers=0)
    argv = ["fit", "data.csv", "--target", "kind", "--model", "m.npz", *options]
    captured = run(capsys, *argv)
    assert "pass   1  objective" in captured.err
    assert "pass" not in captured.out
    assert load_model("m.npz").verbose == 0
    assert "pass" not in run(capsys, *argv, "--quiet").err


def test_progress_of_passes(csv, capsys, limit):
    limit(training_bytes=0)
    limit(seconds=0.0)
    err = run(capsys, "fit", "data.csv", "--target", "kind").err
    assert "Reading data.csv: 150 rows\n" in err
    assert "Pass 1: 150 rows\n" in err


def test_columns_go_by_name(fitted, csv, capsys):
    expected = run(capsys, "predict", "m.npz", "data.csv").out
    shuffled = csv[[*NAMES[::-1]]].assign(id="x")
    shuffled.to_parquet("shuffled.parquet")
    assert run(capsys, "predict", "m.npz", "shuffled.parquet").out == expected


def test_keep(fitted, csv, capsys):
    out = run(capsys, "predict", "m.npz", "data.csv", "--keep", "kind", "--keep", "f1").out
    found = printed_table(out)
    assert found.columns.tolist() == ["row", "kind", "f1", "prediction", "ignored"]
    np.testing.assert_array_equal(found["kind"], csv["kind"])
    np.testing.assert_allclose(found["f1"], csv["f1"])


def test_keep_never_replaces_what_is_written(fitted, csv, capsys):
    csv.assign(prediction=1, row=2).to_csv("more.csv", index=False)
    for name in ("prediction", "row"):
        assert main(["predict", "m.npz", "more.csv", "--keep", name]) == 2
        assert f"--keep {name}: the output already has a column" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "parquet", "npz", "npy"])
def test_out(suffix, fitted, capsys):
    facts = run_json(capsys, "predict", "m.npz", "data.csv", "--out", f"p.{suffix}")
    assert facts.pop("ignored") > 0
    assert facts == {"rows": 150, "skipped": 0, "out": f"p.{suffix}"}
    read = {
        "csv": pd.read_csv,
        "tsv": lambda path: pd.read_csv(path, sep="\t"),
        "json": pd.read_json,
        "parquet": pd.read_parquet,
        "npz": np.load,
        "npy": lambda path: {"prediction": np.load(path)},
    }[suffix]
    expected = printed_table(run(capsys, "predict", "m.npz", "data.csv").out)["prediction"]
    found = read(f"p.{suffix}")
    np.testing.assert_array_equal(found["prediction"], expected)
    if suffix == "npz":
        found.close()


def test_integer_labels_stay_integers(csv, capsys):
    csv["kind"] = np.searchsorted(KINDS, csv["kind"]) + 5
    csv.to_csv("data.csv", index=False)
    run(capsys, "fit", "data.csv", "--target", "kind", "--model", "m.npz")
    assert load_model("m.npz").classes_.tolist() == [5, 6, 7]
    rows = run_json(capsys, "predict", "m.npz", "data.csv")
    assert rows[1] == {"row": 1, "prediction": int(csv["kind"][1]), "ignored": ""}


def test_warnings_are_lines(csv, capsys):
    captured = run(capsys, "fit", "data.csv", "--target", "kind", "--epsilon", "1e-3", "--json")
    facts = json.loads(captured.out)
    assert len(facts["warnings"]) >= 1
    assert "cappedlda fit: warning: " in captured.err
    assert "Traceback" not in captured.err


def test_a_failed_prediction_leaves_no_file(fitted, csv, capsys, folder, limit):
    limit(block_numbers=60)
    csv.loc[149, "f0"] = np.nan
    csv.to_csv("late.csv", index=False)
    error_of(capsys, "predict", "m.npz", "late.csv", "--out", "p.csv")
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "late.csv", "m.npz"]


PARTS = [("abc",), ("abcd",)]  # of three and four rows


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_a_bar_on_a_terminal():
    pytest.importorskip("tqdm")
    with redirect_stderr(Terminal()) as terminal:
        assert list(Progress().count(PARTS, "Reading")) == PARTS
    assert "Reading" in terminal.getvalue()
    assert "\r" in terminal.getvalue()


def test_progress_is_lines_elsewhere(capsys):
    assert list(Progress(seconds=0.0).count(PARTS, "Reading")) == PARTS
    assert capsys.readouterr().err == "Reading: 3 rows\nReading: 7 rows\n"
    assert list(Progress(quiet=True).count(PARTS, "Reading")) == PARTS
    assert capsys.readouterr().err == ""


def test_processes(fitted, folder):
    """Commands in a pipe, and a reader that stops early."""
    command = f"{sys.executable} -m cappedlda outliers m.npz - < data.csv"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 16
    assert "15 flagged" in done.stderr
    code = "from cappedlda._cli.limits import LIMITS; LIMITS.block_numbers = 60; " \
        "import sys; from cappedlda._cli import main; sys.exit(main(sys.argv[1:]))"  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", code, "predict", "m.npz", "data.csv", "--proba"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    assert process.wait() == 1
    done = subprocess.run(
        [sys.executable, "-m", "cappedlda", "fit", "none.csv", "--target", "x"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "cappedlda fit: there is no file none.csv\n"
