"""Rows that are left out of the fit, but not flagged."""

import numpy as np
import pytest
from commands import printed_table, run, run_json

from cappedlda import load_model

pd = pytest.importorskip("pandas")
FIT = ["fit", "tails.csv", "--target", "kind", "--model", "m.npz", "--quiet"]
BETWEEN = "6 rows are left out but not flagged: harmful to the fit, but not very unusual."


@pytest.fixture
def tails(folder):
    """Rows of long tails, and a model of them that leaves out more than it flags."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    X = np.exp(rng.normal(0.0, 1.2, (300, 3)))
    X[:, 0] = np.exp(rng.normal(0.0, 1.2, 300) + y)
    frame = pd.DataFrame(X.round(3), columns=["a", "b", "c"]).assign(kind=y)
    frame.to_csv("tails.csv", index=False)
    return frame


def test_fit_counts_rows_left_out_but_not_flagged(tails, capsys):
    facts = run_json(capsys, *FIT)
    assert (facts["flagged"], facts["left_out"], facts["left_out_not_flagged"]) == (12, 18, 6)
    assert load_model("m.npz").leave_out_level_ == 1.0
    told = "Flagged rows are unusual. Rows left out were not used to fit the model. "
    assert f"\n{told}{BETWEEN}\n" in run(capsys, *FIT).out


def test_outliers_list_these_rows_beyond_nothing(tails, capsys):
    run(capsys, *FIT)
    table = printed_table(run(capsys, "outliers", "m.npz", "tails.csv", "--quiet").out)
    between = table["left_out"] & ~table["flagged"]
    assert between.sum() == 6
    np.testing.assert_array_equal(table["beyond"].isna(), between)
    assert table.loc[between, "outlyingness"].max() <= 1.0
    assert set(table.loc[table["flagged"], "beyond"]) <= {"cap", "gate", "both"}


def test_the_report_does_not_contradict_itself(tails, folder, capsys):
    pytest.importorskip("matplotlib")
    run(capsys, *FIT, "--report", "r.html")
    page = (folder / "r.html").read_text("utf-8")
    assert page.count(BETWEEN) == 1
    assert page.count(">not flagged</td>") == 6
    assert "neither" not in page


def test_a_report_on_other_rows_does_not_say_that_they_were_in_the_fit(tails, folder, capsys):
    pytest.importorskip("matplotlib")
    run(capsys, *FIT)
    tails[::2].to_csv("other.csv", index=False)
    printed = run(capsys, "report", "m.npz", "other.csv", "--out", "r.html", "--quiet").out
    page = (folder / "r.html").read_text("utf-8")
    for text in (printed, page):
        assert "Rows left out are of the kind that the fit did not use" in text
        assert "not used to fit the model" not in text
    assert "left out of the fit (" not in page
