"""The command line tells which cells it ignored, what was expected, and which rows it rejects."""

import json
from itertools import compress

import numpy as np
import pytest
from commands import NAMES, error_of, printed_table, run, run_json

from cappedlda._cli import main


@pytest.fixture
def typos(fitted, csv):
    """The table with a wrong cell in two rows, and a row that fits no class."""
    new, good = csv.copy(), np.flatnonzero(~fitted[0].outliers_)
    new.loc[good[:2], "f2"] = 1e6
    new.loc[good[2], NAMES] = 1e4
    new.to_csv("new.csv", index=False)
    return new, good[:3]


def test_predict_names_ignored_cells(fitted, typos, capsys):
    model = fitted[0]
    X = typos[0][NAMES].to_numpy()
    found = printed_table(run(capsys, "predict", "m.npz", "new.csv").out)
    assert found.columns.tolist() == ["row", "prediction", "ignored"]
    expected = ["; ".join(compress(NAMES, row)) for row in model.wrong_cells(X)]
    assert found["ignored"].fillna("").tolist() == expected
    assert [expected[i] for i in typos[1][:2]] == ["f2", "f2"]


def test_predict_rejects_rows_on_request(fitted, typos, capsys):
    model = fitted[0]
    X = typos[0][NAMES].to_numpy()
    captured = run(capsys, "predict", "m.npz", "new.csv", "--reject", "0.05", "--json")
    rows = json.loads(captured.out)
    rejected = model.is_rejected(X, alpha=0.05)
    assert [row["rejected"] for row in rows] == rejected.tolist()
    assert rows[typos[1][2]]["rejected"]
    n_cells = np.count_nonzero(model.wrong_cells(X))
    words = f"; cells ignored because they do not fit the rest of their row: {n_cells}; "
    assert words in captured.err
    assert f"{rejected.sum()} rejected, too far from every class" in captured.err


@pytest.mark.parametrize(
    ("argv", "words", "status"),
    [
        (["--reject", "1e-9"], "alpha=1e-09 is too small for this model", 1),
        (["--reject", "0.1", "--out", "p.npy"], "use --out with .npz, not .npy", 2),
    ],
)
def test_what_cannot_be_rejected(fitted, capsys, argv, words, status):
    assert words in error_of(capsys, "predict", "m.npz", "data.csv", *argv, status=status)
    with pytest.raises(SystemExit):
        main(["predict", "m.npz", "data.csv", "--reject", "2"])
    assert "'2' is not a share above 0 and up to 0.5" in capsys.readouterr().err


def test_an_array_of_predictions_has_only_these(fitted, csv, capsys):
    run(capsys, "predict", "m.npz", "data.csv", "--out", "p.npy")
    np.testing.assert_array_equal(np.load("p.npy"), fitted[0].predict(fitted[1]))


def test_outliers_and_report_tell_what_was_expected(fitted, typos, capsys):
    run(capsys, "outliers", "m.npz", "new.csv", "--out", "odd.csv")
    import pandas as pd

    odd = pd.read_csv("odd.csv").set_index("row")
    words = odd.loc[typos[1][0], "wrong_cells"]
    assert words.startswith("f2 1,000,000, expected about ")
    pytest.importorskip("matplotlib")
    run(capsys, "report", "m.npz", "new.csv", "--out", "r.html")
    with open("r.html", encoding="utf-8") as file:
        assert f"Does not fit the rest of the row: {words}" in file.read()


def test_without_labels_outliers_tells_of_rows_that_predict_puts_elsewhere(fitted, typos, capsys):
    typos[0].drop(columns="kind").to_csv("new.csv", index=False)
    captured = run(capsys, "outliers", "m.npz", "new.csv")
    found = printed_table(captured.out)
    n_rows = int((found["class"] != found["predicted"]).sum())
    assert n_rows > 0
    assert f"from which they are measured, is not the predicted one: {n_rows}\n" in captured.err
    facts = run_json(capsys, "outliers", "m.npz", "data.csv", "--out", "odd.csv")
    assert "nearest_not_predicted" not in facts
