"""What the commands read: arrays, labels, standard input, missing values, and wrong usage."""

from pathlib import Path

import numpy as np
import pytest
from commands import KINDS, NAMES, error_of, printed_table, run

from cappedlda import CappedLDA, load_model
from cappedlda._cli import main

pd = pytest.importorskip("pandas")


def test_npy_with_the_target_in_a_column(dirty, folder, capsys):
    X, y, spoilt = dirty
    np.save("data.npy", np.insert(X, 2, y, axis=1))
    run(capsys, "fit", "data.npy", "--target", "2", "--model", "m.npz")
    np.testing.assert_array_equal(load_model("m.npz").scalings_, CappedLDA().fit(X, y).scalings_)
    # The file of the fit has the target, others need not have it.
    found = printed_table(run(capsys, "outliers", "m.npz", "data.npy").out)
    np.testing.assert_array_equal(np.sort(found["row"]), np.flatnonzero(spoilt))
    np.save("new.npy", X)
    for file in ("data.npy", "new.npy"):
        found = printed_table(run(capsys, "predict", "m.npz", file).out)
        np.testing.assert_array_equal(found["prediction"], CappedLDA().fit(X, y).predict(X))
    assert "no labels were given" in run(capsys, "outliers", "m.npz", "new.npy").err


@pytest.mark.parametrize("labels", ["y.npy", "y.npz", "y.csv"])
def test_labels_in_a_file(labels, dirty, folder, capsys):
    X, y, spoilt = dirty
    np.save("X.npy", X.astype(np.float32))
    if labels == "y.npy":
        np.save(labels, y)
    elif labels == "y.npz":
        np.savez(labels, y=y)
    else:
        pd.Series(y, name="kind").to_csv(labels, index=False)
    run(capsys, "fit", "X.npy", "--labels", labels, "--model", "m.npz")
    found = printed_table(run(capsys, "outliers", "m.npz", "X.npy", "--labels", labels).out)
    np.testing.assert_array_equal(np.sort(found["row"]), np.flatnonzero(spoilt))
    np.save("short.npy", y[:-1])
    message = error_of(capsys, "fit", "X.npy", "--labels", "short.npy")
    assert "149 labels; give one label per row" in message


def test_npz(dirty, folder, capsys):
    X, y, spoilt = dirty
    np.savez("data.npz", X=X, y=KINDS[y], A=X[:, :4], kind=y)
    run(capsys, "fit", "data.npz", "--model", "m.npz")
    assert load_model("m.npz").classes_.tolist() == KINDS.tolist()
    found = printed_table(run(capsys, "outliers", "m.npz", "data.npz").out)
    np.testing.assert_array_equal(np.sort(found["row"]), np.flatnonzero(spoilt))
    run(capsys, "fit", "data.npz", "--key", "A", "--target", "kind", "--model", "m.npz")
    assert load_model("m.npz").means_.shape == (3, 4)


def test_standard_input(csv, fitted, capsys, pipe):
    pipe(csv)
    assert "150 rows" in run(capsys, "fit", "-", "--target", "kind").out
    expected = run(capsys, "predict", "m.npz", "data.csv").out
    pipe(csv)
    assert run(capsys, "predict", "m.npz", "-").out == expected


def test_missing_values(csv, capsys):
    csv.loc[[7, 9], "f3"] = np.nan
    csv.loc[11, "kind"] = None
    csv.to_csv("data.csv", index=False)
    message = error_of(capsys, "fit", "data.csv", "--target", "kind")
    assert "data.csv, column 'f3', row 7 (counted from 0): the value is missing" in message
    assert "--skip-missing" in message
    argv = ["fit", "data.csv", "--target", "kind", "--skip-missing", "--model", "m.npz"]
    assert run(capsys, *argv).out.startswith(
        "data.csv: 147 rows, 6 features; 3 rows with missing values ignored\n"
    )
    message = error_of(capsys, "outliers", "m.npz", "data.csv", "--drop", "f3")
    assert "row 7" in message
    found = printed_table(run(capsys, "predict", "m.npz", "data.csv", "--skip-missing").out)
    assert sorted(set(range(150)) - set(found["row"])) == [7, 9]
    rows = printed_table(run(capsys, "outliers", "m.npz", "data.csv", "--skip-missing").out)["row"]
    assert set(rows) == set(range(0, 150, 10))  # numbers of the file, not of what is left
    csv["f3"] = csv["f3"].fillna(0.0)
    csv.to_csv("data.csv", index=False)
    message = error_of(capsys, "fit", "data.csv", "--target", "kind")
    assert "column 'kind', row 11 (counted from 0): the label is missing" in message


@pytest.mark.parametrize(
    ("change", "argv", "message"),
    [
        ({"f1": "red"}, [], "column 'f1', row 0 (counted from 0): 'red' is not a number"),
        ({"f1": np.inf}, [], "column 'f1', row 0 (counted from 0): the value is infinite"),
        ({"kind": "ant"}, [], "data.csv, column 'kind': there is only one class, 'ant'"),
        ({"kind": range(150)}, [], "data.csv, column 'kind': there are 150 different labels"),
        ({"f1": np.nan}, ["--skip-missing"], "data.csv has no rows without a missing value"),
        ({}, ["--target", "knid"], "no column 'knid' for --target; did you mean 'kind'?"),
        ({}, ["--drop", "f9"], "no column 'f9' for --drop"),
        ({}, [word for name in NAMES for word in ("--drop", name)], "no column left"),
        ({}, ["--n-components", "9"], "n_components=9"),
        ({}, ["--model", "no/m.npz"], "--model no/m.npz: there is no directory no"),
        ({}, ["--labels", "none.npy"], "none.npy"),
    ],
)
def test_bad_data(change, argv, message, csv, capsys):
    csv.assign(**change).to_csv("data.csv", index=False)
    assert message in error_of(capsys, "fit", "data.csv", "--target", "kind", *argv)


def test_blanks_after_commas_are_no_part_of_names(csv, capsys):
    argv = ["fit", "data.csv", "--target", "kind", "--model", "m.npz", "--drop"]
    run(capsys, *argv, "f0, f3")
    assert load_model("m.npz").feature_names_in_.tolist() == ["f1", "f2", "f4", "f5"]
    csv.rename(columns={"f3": " f3"}).to_csv("data.csv", index=False)
    run(capsys, *argv, "f0, f3")
    assert load_model("m.npz").feature_names_in_.tolist() == ["f1", "f2", "f4", "f5"]


def test_drop_leaves_columns_out(csv, capsys):
    csv.assign(colour="red").to_csv("data.csv", index=False)
    argv = ["fit", "data.csv", "--target", "kind", "--drop", "colour", "--drop", "f0"]
    assert "5 features" in run(capsys, *argv, "--model", "m.npz").out
    assert load_model("m.npz").feature_names_in_.tolist() == NAMES[1:]
    run(capsys, "predict", "m.npz", "data.csv")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["fit", "none.csv", "--target", "kind"], "there is no file none.csv"),
        (["fit", ".", "--target", "kind"], ". is a directory without .parquet files; give one"),
        (["fit", "data.npz", "--target", "z"], "data.npz has no array 'z' for --target; it has"),
        (["fit", "empty.csv", "--target", "kind"], "empty.csv has no rows"),
        (["predict", "m.npz", "empty.csv"], "empty.csv has no rows"),
        (
            ["predict", "m.npz", "text.csv"],
            "'red' is not a number; the model was fitted to numbers in 'f1'",
        ),
        (["predict", "none.npz", "data.csv"], "predict: none.npz: No such file"),
        (["predict", ".", "data.csv"], "predict: .: Is a directory"),
        (["predict", "data.csv", "data.csv"], "data.csv is not a model of cappedlda"),
        (["predict", "m.npz", "other.csv"], "no column 'f1', which the model was fitted to"),
        (["predict", "m.npz", "other.csv"], "lacks 1 more"),
        (["predict", "m.npz", "wide.npy"], "wide.npy has 9 columns, but the model was fitted to 6"),
        (["predict", "m.npz", "data.csv", "--out", "no/p.csv"], "there is no directory no"),
        (["predict", "m.npz", "data.csv", "--out", "folder.csv"], "this is a directory"),
        (["outliers", "m.npz", "strange.csv"], "row 2 (counted from 0): the label 'dog' is not"),
        (["transform", "m.npz", "data.csv", "--keep", "nmae"], "no column 'nmae' for --keep"),
    ],
)
def test_bad_input(argv, message, fitted, csv, capsys):
    csv.drop(columns=["f1", "f2"]).to_csv("other.csv", index=False)
    csv[:0].to_csv("empty.csv", index=False)
    strange = csv.copy()
    strange.loc[2, "kind"] = "dog"
    strange.to_csv("strange.csv", index=False)
    csv.assign(f1="red").to_csv("text.csv", index=False)
    np.save("wide.npy", np.zeros((3, 9)))
    np.savez("data.npz", X=np.zeros((3, 6)), y=np.zeros(3))
    Path("folder.csv").mkdir()
    assert message in error_of(capsys, *argv)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["fit", "data.csv"], "give the column of the classes: --target COLUMN"),
        (["fit", "data.csv", "--target", "kind", "--cv", "--epsilon", "1"], "leave --epsilon out"),
        (
            ["fit", "data.csv", "--target", "kind", "--model", "m.pickle"],
            "the suffix must be .npz",
        ),
        (
            ["fit", "data.csv", "--target", "kind", "--report", "r.pdf"],
            "must be one of .html, .htm",
        ),
        (
            ["fit", "data.csv", "--target", "kind", "--thousands", "."],
            "--thousands . needs a decimal comma, but commas separate the columns",
        ),
        (["predict", "m.npz", "data.csv", "--out", "p.xlsx"], ".parquet, .npy, .npz"),
        (["outliers", "m.npz", "data.csv", "--out", "p.npy"], ".json, .parquet, .npz"),
        (["outliers", "m.npz", "data.csv", "--unlabelled", "--target", "kind"], "--unlabelled"),
        (
            ["report", "m.npz", "new.csv", "--out", "r.html"],
            "new.csv has no column 'kind', the classes of the model; a report needs the classes",
        ),
    ],
)
def test_arguments_that_do_not_go_together(argv, message, fitted, csv, capsys):
    pytest.importorskip("matplotlib")
    csv[NAMES].to_csv("new.csv", index=False)
    assert message in error_of(capsys, *argv, status=2)


@pytest.mark.parametrize(("command", "written"), [("predict", True), ("outliers", False)])
def test_help_names_what_can_be_written(command, written, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    listed = " ".join(capsys.readouterr().out.split()).partition("file to write, one of ")[2]
    assert (".npy" in listed.partition(" (default: print CSV)")[0]) == written


@pytest.mark.parametrize(
    "argv",
    [
        ["fit"],
        ["fit", "data.csv", "--epsilon", "-1"],
        ["fit", "data.csv", "--epsilon", "nan"],
        ["fit", "data.csv", "--q", "1"],
        ["fit", "data.csv", "--delimiter", "ab"],
        ["fit", "data.csv", "--encoding", "klingon"],
        ["predict", "m.npz"],
    ],
)
def test_wrong_usage(argv, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(argv)
    assert exit_.value.code == 2
