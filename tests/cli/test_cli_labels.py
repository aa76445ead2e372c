"""Wrong labels: fit --label-noise, columns of outliers, and a section of the report."""

from pathlib import Path

import numpy as np
import pytest
from commands import error_of, printed_table, run, run_json

from cappedlda import load_model
from cappedlda._cli import main

pd = pytest.importorskip("pandas")
FIT = ["fit", "table.csv", "--target", "kind", "--model", "m.npz", "--quiet"]
NAMES = np.array(["left", "right"])


@pytest.fixture
def table(folder, rng):
    """Two classes 9 deviations apart; the labels of the first 12 of 300 rows are wrong."""
    y = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 3))
    X[:, 1] += 9.0 * y
    labels = np.where(np.arange(300) < 12, 1 - y, y)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=NAMES[labels])
    frame.to_csv("table.csv", index=False)
    return frame.assign(right=NAMES[y])


def test_fit_tells_of_wrong_labels(table, capsys):
    facts = run_json(capsys, *FIT, "--label-noise", "auto")
    assert facts["labels"]["status"] == "found"
    assert facts["labels"]["mislabelled"] == 12
    assert load_model("m.npz").label_noise_ == facts["labels"]["rate"]
    printed = run(capsys, *FIT, "--label-noise", "0.1").out
    line = "\nWrong labels: 12 rows look mislabelled (0 left out, 12 in the fit); about 4.0% of "
    assert line in printed
    assert "labels" not in run_json(capsys, *FIT)


def test_outliers_have_columns_on_labels(table, capsys):
    run(capsys, *FIT, "--label-noise", "auto")
    found = printed_table(run(capsys, "outliers", "m.npz", "table.csv", "--quiet").out)
    wrong = found[found["kind"].isin(["label", "both"])]
    assert sorted(wrong["row"]) == list(range(12))
    np.testing.assert_array_equal(wrong["suggested"], table["right"][wrong["row"]])
    assert wrong["quality"].max() < 0.5
    everything = printed_table(
        run(capsys, "outliers", "m.npz", "table.csv", "--all", "--quiet").out
    )
    assert len(everything) == 300
    assert everything["quality"].between(0.0, 1.0).all()
    unlabelled = run(capsys, "outliers", "m.npz", "table.csv", "--unlabelled", "--quiet").out
    assert "quality" not in unlabelled.splitlines()[0]


def test_outliers_sorted_by_the_quality_of_labels(table, capsys):
    run(capsys, *FIT, "--label-noise", "auto")
    argv = ["outliers", "m.npz", "table.csv", "--all", "--sort", "quality"]
    captured = run(capsys, *argv)
    found = printed_table(captured.out)
    assert sorted(found["row"][:12]) == list(range(12))
    assert found["quality"].is_monotonic_increasing
    assert "; 12 that look mislabelled" in captured.err
    words = "--sort quality needs the quality of labels"
    assert words in error_of(capsys, *argv, "--unlabelled", status=2)
    run(capsys, *FIT)
    assert words in error_of(capsys, *argv, status=2)


def test_only_rows_that_fit_neither_class_are_both(table, capsys):
    # Rows 0 to 11 have a wrong label; the first two are far off in another feature too.
    table.loc[:1, "a"] = 9.0
    table.drop(columns="right").to_csv("table.csv", index=False)
    run(capsys, *FIT, "--label-noise", "auto")
    found = printed_table(run(capsys, "outliers", "m.npz", "table.csv", "--quiet").out)
    kinds = found.set_index("row")["kind"]
    assert (kinds[range(12)] == 2 * ["both"] + 10 * ["label"]).all()
    assert found["flagged"][found["kind"] == "label"].any()


def test_the_report_lists_rows_worth_checking(table, capsys):
    run(capsys, *FIT, "--label-noise", "auto", "--report", "r.html")
    page = Path("r.html").read_text(encoding="utf-8")
    section = page.partition("<h2>Labels</h2>")[2].partition("</section>")[0]
    assert "A row far inside another class is not proof of a wrong label." in section
    assert section.count("a wrong label</td>") == 12
    assert page.index("<h2>Labels</h2>") < page.index("<h2>Pictures</h2>")
    table.assign(id=[f"id-{i}" for i in range(300)]).drop(columns="right").to_csv(
        "table.csv", index=False
    )
    run(capsys, *FIT, "--label-noise", "auto", "--keep", "id", "--report", "r.html")
    page = Path("r.html").read_text(encoding="utf-8")
    section = page.partition("<h2>Labels</h2>")[2].partition("</section>")[0]
    assert all(f">id-{i}</td>" in section for i in range(12))
    run(capsys, *FIT, "--drop", "id", "--report", "r.html")
    assert "<h2>Labels</h2>" not in Path("r.html").read_text(encoding="utf-8")


def test_arguments_that_do_not_go_together(table, capsys):
    words = "--cv does not work with --label-noise; leave one of them out"
    assert words in error_of(capsys, *FIT, "--cv", "--label-noise", "auto", status=2)
    words = "--epsilon inf does not work with --label-noise; leave one of them out"
    found = error_of(capsys, *FIT, "--label-noise", "auto", "--epsilon", "inf", status=2)
    assert words in found


@pytest.mark.parametrize("rate", ["0", "0.5", "0.7", "nan", "many"])
def test_rates_out_of_range_are_refused_before_the_table_is_read(rate, capsys):
    arguments = ["fit", "no_such_table.csv", "--target", "kind", "--label-noise", rate]
    with pytest.raises(SystemExit):
        main(arguments)
    assert f"'{rate}' is not auto or a rate between 0 and 0.5" in capsys.readouterr().err


def test_doubtful_labels_of_a_file_read_in_blocks(table, capsys, limit):
    run(capsys, *FIT, "--label-noise", "auto", "--report", "r.html")
    whole = Path("r.html").read_text(encoding="utf-8").partition("<h2>Labels</h2>")[2]
    limit(block_numbers=200, training_bytes=500)
    run(capsys, "report", "m.npz", "table.csv", "--out", "r.html", "--quiet")
    parts = Path("r.html").read_text(encoding="utf-8").partition("<h2>Labels</h2>")[2]
    assert parts.partition("</section>")[0] == whole.partition("</section>")[0]
