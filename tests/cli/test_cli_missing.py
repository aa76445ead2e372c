"""Tables with gaps that are neither filled in nor skipped: fit --missing ignore."""

import re

import numpy as np
import pytest
from commands import error_of, printed_table, run, run_json

from cappedlda import CappedLDA, load_model, save_model

pd = pytest.importorskip("pandas")
FIT = ["fit", "gaps.csv", "--target", "kind", "--model", "m.npz", "--quiet"]


@pytest.fixture
def gaps(folder, rng):
    """Two classes in three columns of numbers, a twentieth missing, and one of categories."""
    y = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 3)) + 2.0 * y[:, None]
    X[rng.random(X.shape) < 0.05] = np.nan
    plan = np.where(rng.random(400) < 0.3, "plus", "basic").astype(object)
    plan[::17] = None
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(plan=plan, kind=y)
    table.to_csv("gaps.csv", index=False)
    return table


def test_the_model_is_that_of_missing_ignore(gaps, capsys):
    facts = run_json(capsys, *FIT, "--missing", "ignore", "--drop", "plan")
    X, y = gaps[["a", "b", "c"]], gaps["kind"].to_numpy()
    assert facts["gaps_ignored"] == X.isna().sum().to_dict()
    expected = CappedLDA(missing="ignore").fit(X, y)
    found = load_model("m.npz")
    assert found.missing == "ignore"
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    captured = run(capsys, "predict", "m.npz", "gaps.csv", "--proba")
    table = printed_table(captured.out)
    np.testing.assert_array_equal(table["prediction"], expected.predict(X))
    np.testing.assert_allclose(table["probability_1"], expected.predict_proba(X)[:, 1], rtol=1e-12)
    assert f"Gaps ignored: {int(X['a'].isna().sum())} in a, " in captured.err


def test_a_missing_category_is_a_gap_in_all_of_its_features(gaps, capsys):
    run(capsys, *FIT, "--missing", "ignore", "--encode")
    plus = gaps["plan"].eq("plus").astype(float).where(gaps["plan"].notna())
    X, y = gaps[["a", "b", "c"]].assign(**{"plan=plus": plus}), gaps["kind"].to_numpy()
    expected = CappedLDA(missing="ignore").fit(X, y)
    model = load_model("m.npz")
    pd.testing.assert_frame_equal(model[:-1].transform(gaps), X, check_dtype=False)
    np.testing.assert_array_equal(model[-1].coef_, expected.coef_)
    np.testing.assert_array_equal(model.predict(gaps), expected.predict(X))
    found = printed_table(run(capsys, "predict", "m.npz", "gaps.csv").out)
    np.testing.assert_array_equal(found["prediction"], expected.predict(X))


def test_the_report_and_outliers_take_gaps(gaps, capsys, folder):
    pytest.importorskip("matplotlib")
    facts = run_json(capsys, *FIT, "--missing", "ignore", "--encode", "--report", "r.html")
    capped, plain = facts["accuracy"]["methods"]
    assert plain["method"] == "plain LDA, gaps filled in"
    assert capped["accuracy_all_rows"] > 0.9
    assert not re.search(r"\bnan\b", (folder / "r.html").read_text("utf-8"))
    found = printed_table(run(capsys, "outliers", "m.npz", "gaps.csv", "--all").out)
    assert found["outlyingness"].notna().all()


def test_models_of_python_take_gaps_too(gaps, capsys):
    X, y = gaps[["a", "b", "c"]], gaps["kind"].to_numpy()
    lda = CappedLDA(missing="ignore").fit(X, y)
    save_model(lda, "m.npz")
    found = printed_table(run(capsys, "predict", "m.npz", "gaps.csv").out)
    np.testing.assert_array_equal(found["prediction"], lda.predict(X))


def test_without_it_gaps_are_errors_that_name_it(gaps, capsys):
    words = "use the other cells of such rows with --missing ignore"
    assert words in error_of(capsys, *FIT, "--drop", "plan")
    gaps.dropna().to_csv("gaps.csv", index=False)
    run(capsys, *FIT, "--drop", "plan")
    gaps.to_csv("gaps.csv", index=False)
    words = "fit a model that takes gaps, with --missing ignore or --impute median"
    assert words in error_of(capsys, "predict", "m.npz", "gaps.csv")


def test_infinite_values_stay_errors(gaps, capsys):
    gaps.loc[3, "a"] = np.inf
    gaps.to_csv("gaps.csv", index=False)
    words = "column 'a', row 3 (counted from 0): the value is infinite"
    assert words in error_of(capsys, *FIT, "--missing", "ignore", "--encode")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (["--impute", "median"], "--missing ignore leaves no gaps to --impute"),
        (["--cv"], "--cv does not work with --missing ignore; use --impute median"),
    ],
)
def test_options_that_do_not_go_together(gaps, capsys, other, words):
    assert words in error_of(capsys, *FIT, "--missing", "ignore", *other, status=2)


def test_gaps_are_ignored_in_memory_only(gaps, capsys, limit):
    limit(training_bytes=1000)
    words = "use --impute median or --skip-missing"
    assert words in error_of(capsys, *FIT, "--missing", "ignore", "--drop", "plan")
