"""Tables as people have them: categories, gaps, dates, ids, thousands separators, spreadsheets."""

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from commands import run, run_json

from cappedlda import CappedLDA, load_model
from cappedlda._cli.formats import open_table
from cappedlda._cli.readers import RESULT_NAMES
from cappedlda._cli.report import digits, reasons
from cappedlda._cli.rows import RowReader
from cappedlda._model_file import read_model
from cappedlda._model_file.recipe import Recipe

pd = pytest.importorskip("pandas")
N = 400
OPTIONS = ["--target", "status", "--encode", "--impute", "median", "--keep", "customer"]


@pytest.fixture
def customers():
    """A business table; rows 7 and 77 have a code for an unknown amount."""
    rng = np.random.default_rng(5)
    left = np.arange(N) % 3 == 0
    plan = rng.choice(["basic", "plus", "pro"], N, p=[0.5, 0.3, 0.2])
    frame = pd.DataFrame(
        {
            "customer": [f"C{1000 + i}" for i in range(N)],
            "plan": np.where(left & (plan == "pro"), "basic", plan),
            "age": np.where(left, 35, 50) + rng.integers(-9, 10, N),
            "amount": np.where(left, 800.0, 1500.0) + 100.0 * rng.normal(size=N),
            "since": "2024-01-31",
            "status": np.where(left, "left", "stayed"),
        }
    ).astype({"age": "Int64"})
    frame.loc[[3, 33], "age"] = pd.NA
    frame.loc[[4, 44, 144], "plan"] = None
    frame.loc[[5, 55], "plan"] = "gold"
    frame["amount"] = frame["amount"].round(2)
    frame.loc[[7, 77], "amount"] = 9_999_999.0
    return frame


@pytest.fixture
def folder(customers, in_tmp):
    customers.drop(columns="since").to_csv("customers.csv", index=False)
    return in_tmp


def matrix(frame):
    """Return the features as the guide says that they are made."""
    plan = frame["plan"].fillna("basic")
    age = frame["age"].astype(float)
    return np.column_stack(
        [age.fillna(age.median()), frame["amount"], plan == "plus", plan == "pro"]
    ).astype(float)


def fit(capsys, *argv):
    """Fit the table and return what was said, as JSON."""
    line = ["fit", "customers.csv", *OPTIONS, "--model", "m.npz", "--json", "--quiet", *argv]
    return json.loads(run(capsys, *line).out)


def test_the_model_is_that_of_the_encoded_and_imputed_table(folder, customers, capsys):
    facts = fit(capsys)
    expected = CappedLDA().fit(matrix(customers), customers["status"].to_numpy(str))
    model = load_model("m.npz")[-1]
    names = ["age", "amount", "plan=plus", "plan=pro"]
    assert model.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(model.scalings_, expected.scalings_)
    assert facts["encoded"] == {"plan": ["plan=plus", "plan=pro"]}
    assert facts["imputed"] == {"age": 2, "plan": 3}
    assert facts["kept"] == ["customer"]
    assert facts["features"] == 4
    assert facts["flagged"] == expected.outliers_.sum()


def test_fit_tells_people(folder, capsys):
    lines = run(capsys, "fit", "customers.csv", *OPTIONS).out.splitlines()
    assert lines[:3] == [
        "customers.csv: 400 rows, 4 features",
        "Encoded columns (number of features): plan (2)",
        "Gaps filled in: 2 in age, 3 in plan",
    ]


@pytest.mark.parametrize("command", ["predict", "transform", "outliers"])
def test_models_take_the_raw_table(command, folder, customers, capsys):
    fit(capsys)
    expected = CappedLDA().fit(matrix(customers), customers["status"].to_numpy(str))
    customers[customers.columns[::-1]].to_csv("again.csv", index=False)
    captured = run(capsys, command, "m.npz", "again.csv", "--quiet")
    found = pd.read_csv(StringIO(captured.out))
    assert found.columns[:2].tolist() == ["row", "customer"]
    assert found["customer"].tolist() == customers["customer"][found["row"]].tolist()
    X = matrix(customers)
    if command == "predict":
        np.testing.assert_array_equal(found["prediction"], expected.predict(X))
    elif command == "transform":
        np.testing.assert_allclose(found["cappedlda0"], expected.transform(X)[:, 0])
    else:
        assert {7, 77} <= set(found["row"])
        assert set(found["row"]) == set(np.flatnonzero(expected.outliers_ | expected.left_out_))


def test_python_predicts_the_raw_table_too(folder, customers, capsys):
    fit(capsys)
    model = load_model("m.npz")
    expected = CappedLDA().fit(matrix(customers), customers["status"].to_numpy(str))
    shuffled = customers[customers.columns[::-1]]
    X = matrix(customers)
    np.testing.assert_array_equal(model.predict(shuffled), expected.predict(X))
    np.testing.assert_allclose(model.predict_proba(shuffled), expected.predict_proba(X))
    features = model[:-1].transform(customers)
    assert features.columns.tolist() == model[-1].feature_names_in_.tolist()
    why = model[-1].explain(features, customers["status"])
    assert {7, 77} <= set(why["row"])
    new = customers[:1].assign(plan="platinum", age=np.nan)
    with pytest.warns(UserWarning, match="unknown categories"):
        found = model.decision_function(new)
    known = customers[:1].assign(plan="basic", age=customers["age"].median())
    assert found == model.decision_function(known)
    with pytest.raises(ValueError, match="lacks the columns 'age'; give a table"):
        model.predict(customers.drop(columns="age"))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.filterwarnings("ignore:Found unknown categories:UserWarning")
def test_python_and_the_command_agree_on_any_table(seed, folder, capsys):
    """Gaps, rare, padded and unknown categories, and codes: on the training and on other rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 200)
    shares = [0.5, 0.3, 0.1, 0.07, 0.03]
    table = pd.DataFrame(
        {
            "size": rng.normal(size=200) + y,
            "colour": rng.choice(["red", "blue ", "1.0", "green", "gold"], 200, p=shares),
            "code": rng.choice([1.0, 2.0, 3.0, 10.0], 200),
        }
    ).mask(rng.random((200, 3)) < 0.05)
    table.assign(kind=y).to_csv("t.csv", index=False)
    options = ["--target", "kind", "--encode", "--categories", "code", "--impute", "median"]
    run(capsys, "fit", "t.csv", *options, "--model", "t.npz")
    other = table.copy()
    other.loc[rng.random(200) < 0.1, "colour"] = "violet"
    other.loc[rng.random(200) < 0.1, "code"] = 77.0
    for raw in (table, other):
        raw.to_csv("raw.csv", index=False)
        found = pd.read_csv(StringIO(run(capsys, "predict", "t.npz", "raw.csv", "--proba").out))
        model = load_model("t.npz")
        np.testing.assert_array_equal(model.predict(raw), found["prediction"])
        np.testing.assert_allclose(model.predict_proba(raw), found.iloc[:, 2:-1], rtol=1e-9)


def test_python_predicts_tables_without_names_too(folder, customers, capsys):
    frame = customers.drop(columns="since")
    frame.to_csv("plain.csv", index=False, header=False)
    options = ["--target", "4", "--keep", "0", "--encode", "--impute", "median", "--no-header"]
    run(capsys, "fit", "plain.csv", *options, "--model", "m.npz")
    fit(capsys, "--model", "n.npz")
    found = load_model("m.npz").predict(pd.read_csv("plain.csv", header=None))
    np.testing.assert_array_equal(found, load_model("n.npz").predict(frame))


def test_python_refuses_gaps_that_the_model_cannot_fill(folder, customers, capsys):
    argv = ["--target", "status", "--encode", "--keep", "customer", "--skip-missing"]
    run(capsys, "fit", "customers.csv", *argv, "--model", "m.npz")
    model = load_model("m.npz")
    whole = customers.dropna()
    found = pd.read_csv(StringIO(run(capsys, "predict", "m.npz", "customers.csv", argv[-1]).out))
    np.testing.assert_array_equal(model.predict(whole), found["prediction"])
    with pytest.raises(ValueError, match="Column 'plan', row 1 .* takes no gaps"):
        model.predict(customers.loc[[1, 4]])
    with pytest.raises(ValueError, match="NaN"):
        model.predict(customers.loc[[1, 3]])


def test_an_array_of_directions_has_no_ids(folder, customers, capsys):
    fit(capsys)
    run(capsys, "transform", "m.npz", "customers.csv", "--out", "z.npy")
    assert np.load("z.npy").dtype == np.float64
    assert np.load("z.npy").shape == (N,)


def test_unknown_categories_are_counted(folder, customers, capsys):
    fit(capsys)
    customers[:20].assign(plan="platinum").to_csv("new.csv", index=False)
    captured = run(capsys, "predict", "m.npz", "new.csv")
    assert captured.err.splitlines() == [
        "20 rows; cells ignored because they do not fit the rest of their row: 1",
        "Gaps filled in: 1 in age",
        "Categories unknown to the model: 20 in plan, taken as 'basic'",
    ]
    facts = json.loads(run(capsys, "predict", "m.npz", "new.csv", "--json", "--out", "p.csv").out)
    assert facts["unknown"] == {"plan": {"values": 20, "taken_as": "basic"}}
    assert facts["imputed"] == {"age": 1}
    customers[:20].assign(plan="basic").to_csv("new.csv", index=False)
    assert run(capsys, "predict", "m.npz", "new.csv").out == captured.out


def test_a_report_on_the_raw_table(folder, capsys):
    pytest.importorskip("matplotlib")
    facts = fit(capsys, "--report", "f.html")
    again = json.loads(
        run(capsys, "report", "m.npz", "customers.csv", "--out", "r.html", "--json").out
    )
    for key in ("encoded", "imputed", "kept", "flagged", "classes", "accuracy"):
        assert again[key] == facts[key]
    for name in ("f.html", "r.html"):
        text = Path(name).read_text("utf-8")
        row = text[text.index(">C1007<") :].split("</tr>")[0]
        assert "amount = 9,999,999 (usually" in row
        assert "Gaps filled in: 2 in age, 3 in plan." in text


@pytest.mark.parametrize(
    ("value", "n", "text"),
    [
        (9999999.0, 6, "9,999,999"),
        (0.123456, 4, "0.1235"),
        (-1e300, 6, "-1e+300"),
        (1644.2, 4, "1,644"),
    ],
)
def test_numbers_are_readable(value, n, text):
    assert digits(value, n) == text


def test_ids_of_listed_rows(folder, limit):
    limit(block_numbers=100)
    reader = RowReader(open_table("customers.csv"), Recipe(["plan"]), keep=["customer", "status"])
    found = reader.kept_at(np.array([0, 250, 399])).loc[[399, 0, 250]]
    assert found.to_dict("list") == {
        "customer": ["C1399", "C1000", "C1250"],
        "status": ["left", "left", "stayed"],
    }
    without = RowReader(open_table("customers.csv"), Recipe(["plan"])).kept_at(np.array([3]))
    assert without.loc[3].to_dict() == {}


def test_reasons_tell_categories_in_words():
    row = {"feature_1": "plan=pro", "value_1": 1.0, "usual_1": 0.02, "z_1": 9.0}
    row |= {"feature_2": "age", "value_2": 5.0, "usual_2": 1.25, "z_2": -4.0}
    row |= {"feature_3": "vip=yes", "value_3": 0.0, "usual_3": 0.9, "z_3": 3.0}
    row["wrong_cells"] = ""
    encoded = {"plan": ["plan=pro"], "vip": ["vip=yes"]}
    assert reasons(row, encoded) == [
        "plan is pro (as in 2% of the class)",
        "age = 5 (usually 1.25, z -4)",
        "vip is not yes (as in 10% of the class)",
    ]
    row["z_2"], row["z_3"] = -2.9, 2.9
    assert len(reasons(row, encoded)) == 1
    row["wrong_cells"] = "age 5, expected about 50"
    assert reasons(row, encoded)[1:] == [
        "Does not fit the rest of the row: age 5, expected about 50"
    ]
    row["value_1"] = np.nan
    assert reasons(row, encoded)[0] == "age = 5 (usually 1.25, z -2.9)"


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx", "standard input"])
def test_all_formats_give_the_same_model(kind, folder, customers, capsys, pipe):
    expected = fit(capsys)
    scalings = load_model("m.npz")[-1].scalings_
    frame = customers.drop(columns="since")
    name = f"other.{kind}"
    if kind == "xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(name, index=False)
    elif kind == "parquet":
        frame.astype({"plan": "category"}).to_parquet(name)
    else:
        frame.to_csv(name, index=False)
    if kind == "standard input":
        pipe(frame)
        name = "-"
    facts = json.loads(run(capsys, "fit", name, *OPTIONS, "--model", "o.npz", "--json").out)
    np.testing.assert_array_equal(load_model("o.npz")[-1].scalings_, scalings)
    assert facts["imputed"] == expected["imputed"]


def test_large_tables_are_encoded_in_every_pass(folder, capsys, limit):
    expected = fit(capsys)
    scalings = load_model("m.npz")[-1].scalings_
    limit(training_bytes=0)
    limit(block_numbers=300)
    assert fit(capsys)["imputed"] == expected["imputed"]
    np.testing.assert_allclose(load_model("m.npz")[-1].scalings_, scalings, rtol=1e-9)


def test_columns_without_names_go_by_place(folder, customers, capsys):
    frame = customers.drop(columns="since")
    frame.to_csv("plain.csv", index=False, header=False)
    argv = ["--no-header", "--quiet"]
    options = ["--target", "4", "--keep", "0", "--encode", "--impute", "median"]
    run(capsys, "fit", "plain.csv", *options, "--model", "m.npz", *argv)
    found = run(capsys, "predict", "m.npz", "plain.csv", *argv).out
    assert found.startswith("row,0,prediction,ignored\n0,C1000,")
    frame.drop(columns=["customer", "status"]).to_csv("short.csv", index=False, header=False)
    short = run(capsys, "predict", "m.npz", "short.csv", *argv)
    assert [line.split(",")[-2] for line in short.out.splitlines()] == [
        line.split(",")[-2] for line in found.splitlines()
    ]
    assert "short.csv has no column '0', which the fit kept." in short.err


def test_rows_without_a_label_teach_nothing(folder, customers, capsys):
    customers.loc[10:60, "status"] = None
    customers.loc[10:60, "age"] = 90
    customers.loc[10:60, "plan"] = "none of them"
    customers.drop(columns="since").to_csv("customers.csv", index=False)
    fit(capsys, "--skip-missing")
    recipe = read_model("m.npz")[1]
    labelled = customers.dropna(subset="status")
    assert recipe.medians == [labelled["age"].median(), labelled["amount"].median()]
    assert recipe.categories[0].rare == ["gold"]


def test_labels_in_a_file_are_checked_first(folder, customers, capsys):
    customers.drop(columns=["since", "status"]).to_csv("rows.csv", index=False)
    customers[["status"]].to_csv("labels.csv", index=False)
    customers[["status"]][:-1].to_csv("short.csv", index=False)
    argv = ["fit", "rows.csv", *OPTIONS[2:], "--model", "l.npz"]
    fit(capsys)
    run(capsys, *argv, "--labels", "labels.csv")
    np.testing.assert_array_equal(
        load_model("l.npz")[-1].scalings_, load_model("m.npz")[-1].scalings_
    )
    message = run(capsys, *argv, "--labels", "short.csv", status=1).err
    assert "rows.csv has at least 400 rows, but there are 399 labels" in message


@pytest.mark.parametrize("name", ["row", "prediction", "outlyingness"])
def test_ids_do_not_take_the_names_of_results(name, folder, customers, capsys):
    customers.drop(columns="since").rename(columns={"customer": name}).to_csv(
        "customers.csv", index=False
    )
    options = ["--target", "status", "--encode", "--impute", "median", "--keep", name]
    message = run(capsys, "fit", "customers.csv", *options, status=2).err
    assert f"--keep {name}: results have a column of that name; rename it" in message


def test_result_names_are_those_that_are_written(folder, capsys):
    fit(capsys)
    written = set()
    for command in (["predict", "--reject", "0.1"], ["outliers"]):
        header = run(capsys, *command, "m.npz", "customers.csv").out.splitlines()[0].split(",")
        written |= {name for name in header if not name[-1].isdecimal()}
    assert written - {"customer"} == RESULT_NAMES


def test_ids_that_are_numbers_are_suspected(folder, customers, capsys):
    customers.assign(number=np.arange(N)[::-1]).drop(columns="since").to_csv(
        "customers.csv", index=False
    )
    (text,) = fit(capsys)["warnings"]
    assert text.startswith("Column 'number' has a different integer in every row. If it is an id,")
    assert fit(capsys, "--keep", "number")["warnings"] == []


@pytest.mark.parametrize("gap", [False, True], ids=["whole", "gaps"])
def test_dates_that_are_numbers_are_suspected(gap, folder, customers, capsys):
    days = pd.date_range("2018-12-20", periods=N, freq="4D").strftime("%Y%m%d").astype(float)
    since = pd.Series(np.random.default_rng(0).permutation(days))
    if gap:
        since[::25] = np.nan
    customers.assign(since=since).to_csv("customers.csv", index=False)
    (text,) = fit(capsys)["warnings"]
    assert text == (
        "Column 'since' looks like dates written as numbers, such as 20200112. If 'since' holds "
        "dates: replace it with a number, such as the days since a fixed day, or leave it out with "
        "--drop since."
    )
    assert fit(capsys, "--drop", "since")["warnings"] == []


@pytest.mark.parametrize("amount", ["€ 1,234.50", "$12", "99.90 EUR", "-£7"])
@pytest.mark.parametrize("options", [[], ["--encode"]], ids=["plain", "encode"])
def test_currency_signs_are_named(amount, options, folder, customers, capsys):
    frame = pd.DataFrame({"amount": [amount] * N, "status": customers["status"]})
    frame.to_csv("amounts.csv", index=False)
    argv = ["fit", "amounts.csv", "--target", "status", *options, "--quiet"]
    message = run(capsys, *argv, status=1).err
    assert message.startswith(
        f"cappedlda fit: amounts.csv, column 'amount', row 0 (counted from 0): {amount!r} is not a "
        "number; 'amount' looks like numbers with a currency sign: remove it from the file."
    )


def test_codes_can_be_declared_categories(folder, customers, capsys):
    customers.assign(region=np.arange(N) % 4 + 1).drop(columns="since").to_csv(
        "customers.csv", index=False
    )
    facts = fit(capsys, "--categories", "region")
    assert facts["encoded"]["region"] == ["region=2", "region=3", "region=4"]
    found = pd.read_csv(StringIO(run(capsys, "predict", "m.npz", "customers.csv").out))
    raw = customers.assign(region=np.arange(N) % 4 + 1)
    for kind in (int, float, str):
        predicted = load_model("m.npz").predict(raw.astype({"region": kind}))
        np.testing.assert_array_equal(predicted, found["prediction"])
    message = run(capsys, "fit", "customers.csv", *OPTIONS, "--categories", "status", status=2).err
    assert "--categories status: this is not a feature" in message


def test_gaps_without_impute_are_refused_or_skipped(folder, capsys):
    argv = ["fit", "customers.csv", "--target", "status", "--encode", "--keep", "customer"]
    message = run(capsys, *argv, status=1).err
    assert "column 'age', row 3 (counted from 0): the value is missing; fill gaps with" in message
    assert message.endswith("Try adding: --impute median\n")
    assert "395 rows, 4 features; 5 rows with missing" in run(capsys, *argv, "--skip-missing").out


def test_one_error_names_all_options(folder, customers, capsys, pipe):
    customers.to_csv("raw.csv", index=False)
    wanted = "Try adding: --encode --impute median --keep customer --drop since\n"
    assert run(capsys, "fit", "raw.csv", "--target", "status", status=1).err.endswith(wanted)
    pipe(customers)
    assert run(capsys, "fit", "-", "--target", "status", status=1).err.endswith(wanted)
    run(capsys, "fit", "raw.csv", "--target", "status", *wanted.split()[2:])


@pytest.mark.parametrize("date", ["2024-01-31", "31.01.2024", "1/31/24", "2024-01-31T12:30:00Z"])
def test_dates_get_a_remedy(date, folder, customers, capsys):
    customers.assign(since=date).to_csv("dates.csv", index=False)
    for options in (OPTIONS, ["--target", "status", "--drop", "customer,plan"]):
        message = run(capsys, "fit", "dates.csv", *options, status=1).err
        assert "'since' holds dates: replace it with a number, such as the days since" in message
        assert "or leave it out with --drop since" in message


def test_ids_and_stray_text_are_no_categories(folder, customers, capsys):
    options = ["--target", "status", "--encode", "--impute", "median"]
    message = run(capsys, "fit", "customers.csv", *options, status=1).err
    assert "'customer': 400 different values in 400 rows are too many for categories" in message
    assert "copy it to the results with --keep customer" in message
    customers.astype({"age": object}).assign(
        age=lambda f: f["age"].where(f.index != 9, "not told")
    ).drop(columns="since").to_csv("stray.csv", index=False)
    message = run(capsys, "fit", "stray.csv", *OPTIONS, status=1).err
    assert "column 'age', row 9 (counted from 0): 'not told' is not a number, but most" in message
    facts = json.loads(run(capsys, "fit", "stray.csv", *OPTIONS, "--na", "not told", "--json").out)
    assert facts["imputed"]["age"] == 3


def test_text_that_comes_late_gets_a_remedy(folder, customers, capsys, limit):
    limit(block_numbers=300)
    codes = np.where(np.arange(N) < 300, np.arange(N) % 3, np.array(["A", "B"])[np.arange(N) % 2])
    customers.assign(code=codes).drop(columns="since").to_csv("customers.csv", index=False)
    message = run(capsys, "fit", "customers.csv", *OPTIONS, status=1).err
    assert "column 'code', row 300 (counted from 0): 'A' is not a number; in the first" in message
    assert "declare it a missing value with --na, or give --categories code" in message
    facts = fit(capsys, "--categories", "code")
    assert facts["encoded"]["code"] == ["code=1", "code=2", "code=A", "code=B"]


def test_an_empty_column_is_refused(folder, customers, capsys):
    customers.assign(empty=np.nan).drop(columns="since").to_csv("empty.csv", index=False)
    message = run(capsys, "fit", "empty.csv", *OPTIONS, status=1).err
    assert "column 'empty': all values are missing; ignore the column with --drop empty" in message


def test_a_model_remembers_how_numbers_are_written(folder, customers, capsys):
    """One row with the amount 1.234 does not tell whether the point separates thousands."""
    frame = customers.drop(columns=["since", "plan", "customer"]).dropna()
    for i, text in ((3, "unknown"), (9, "n.k.")):
        frame = frame.astype({"age": object})
        frame.loc[frame.index[i], "age"] = text
    amounts = [f"{x:,.2f}".translate(str.maketrans(",.", ".,")) for x in frame["amount"]]
    frame.assign(amount=amounts).to_csv("german.csv", sep=";", index=False)
    options = ["--target", "status", "--impute", "median", "--na", "unknown", "--na", "n.k."]
    run(capsys, "fit", "german.csv", *options, "--model", "m.npz")
    for amount, notation in (("1.234", "1234"), ("1234,0", "1234"), ("1234.5", "1234.5")):
        Path("one.csv").write_text(f"age;amount\nunknown;{amount}\n")
        Path("plain.csv").write_text(f"age;amount\n;{notation}\n")
        found = [run(capsys, "transform", "m.npz", f"{name}.csv").out for name in ("one", "plain")]
        assert found[0] == found[1], amount


def test_fit_says_how_numbers_are_read(folder, customers, capsys):
    text = customers.drop(columns=["since", "plan", "customer"]).dropna()
    text["amount"] = [f"{x:,.2f}" for x in text["amount"]]
    text.to_csv("comma.csv", index=False)
    err = run(capsys, "fit", "comma.csv", "--target", "status").err
    assert (
        "Numbers in comma.csv are read with the decimal mark '.' and ',' between thousands" in err
    )


def test_a_model_without_the_columns_says_so(folder, customers, capsys):
    fit(capsys)
    customers.drop(columns=["plan", "age"]).to_csv("less.csv", index=False)
    message = run(capsys, "predict", "m.npz", "less.csv", status=1).err
    assert (
        "less.csv has no column 'age', which the model was fitted to (and lacks 1 more)" in message
    )


@pytest.fixture
def amounts(folder):
    """Skewed amounts, 15 of them too large by a factor of 1000, and one of 0."""
    rng = np.random.default_rng(0)
    kind = np.where(rng.random(3000) < 0.3, "new", "old")
    frame = pd.DataFrame(rng.normal(0.0, 1.0, (3000, 2)) + (kind == "new")[:, None])
    frame = frame.set_axis(["a", "b"], axis=1)
    frame.insert(1, "amount", np.exp(rng.normal(4.0 - (kind == "new"), 1.2)))
    wrong = np.arange(3000) % 200 == 0
    frame.loc[wrong, "amount"] *= 1000
    frame.loc[1, "amount"] = 0.0
    frame.assign(kind=kind).to_csv("amounts.csv", index=False)
    return frame, kind, wrong


FIT_AMOUNTS = ["fit", "amounts.csv", "--target", "kind", "--log", "amount", "--model", "a.npz"]


def test_errors_are_found_on_the_raw_scale_and_the_fit_is_on_the_log_scale(amounts, capsys):
    frame, kind, wrong = amounts
    facts = json.loads(run(capsys, *FIT_AMOUNTS, "--json").out)
    assert facts["logarithms"] == ["amount"]
    assert "Logarithms taken: amount" in run(capsys, *FIT_AMOUNTS).out
    found = pd.read_csv(StringIO(run(capsys, "outliers", "a.npz", "amounts.csv").out))
    flagged = found[found["flagged"]]
    assert wrong[flagged["row"]].sum() >= 13
    assert (~wrong[flagged["row"]]).sum() <= 1
    assert facts["warnings"] == []
    (text,) = json.loads(run(capsys, *FIT_AMOUNTS[:4], "--json").out)["warnings"]
    assert text == (
        "Column 'amount' is strongly skewed, so good rows may be flagged. If it holds amounts, try "
        "--log amount."
    )
    raw = CappedLDA().fit(frame.to_numpy(), kind)
    assert raw.outliers_[~wrong].sum() > 40
    # What is said of a row is in the units of the table.
    flagged = flagged[flagged["feature_1"] == "amount"]
    np.testing.assert_allclose(flagged["value_1"], frame["amount"][flagged["row"]], rtol=1e-9)
    assert flagged["usual_1"].between(10.0, 100.0).all()


def test_numbers_that_are_skewed_only_over_all_classes_are_not_warned_of(in_tmp, rng, capsys):
    kind = rng.choice(3, 600, p=[0.7, 0.2, 0.1])
    table = {"kind": kind, "calls": rng.poisson(np.array([30, 120, 600])[kind])}
    table |= {"other": rng.normal(size=600), "amount": np.exp(rng.normal(kind, 1.2))}
    pd.DataFrame(table).to_csv("table.csv", index=False)
    (warning,) = run_json(capsys, "fit", "table.csv", "--target", "kind")["warnings"]
    assert warning.endswith("try --log amount.")


def test_unlisted_rows_with_a_wrong_cell_are_counted(in_tmp, rng, capsys):
    # Two features nearly agree; in ten rows they differ, by too little to flag the row.
    kind = rng.integers(2, size=400)
    a, c = rng.normal(size=(2, 400)) + 4.0 * kind
    b = a + 0.05 * rng.normal(size=400)
    b[:10] += 1.0
    pd.DataFrame({"a": a, "b": b, "c": c, "kind": kind}).to_csv("table.csv", index=False)
    run(capsys, "fit", "table.csv", "--target", "kind", "--model", "m.npz", "--report", "r.html")
    few = run(capsys, "outliers", "m.npz", "table.csv")
    every = pd.read_csv(StringIO(run(capsys, "outliers", "m.npz", "table.csv", "--all").out))
    listed = pd.read_csv(StringIO(few.out))["row"]
    n_others = (every["wrong_cells"].notna() & ~every["row"].isin(listed)).sum()
    assert n_others > 1
    assert f"\n{n_others} more rows have a wrong cell; --all shows them\n" in few.err
    page = Path("r.html").read_text(encoding="utf-8")
    assert f">{n_others} more rows have a wrong cell; cappedlda outliers --all shows" in page


def test_logarithms_are_part_of_the_model(amounts, capsys):
    frame, kind, _ = amounts
    run(capsys, *FIT_AMOUNTS)
    model = load_model("a.npz")
    (log,) = read_model("a.npz")[1].logs
    logged = frame.assign(amount=log.take(frame["amount"]))
    expected = CappedLDA().fit(logged.to_numpy(), kind)
    np.testing.assert_allclose(model[-1].scalings_, expected.scalings_, rtol=1e-9)
    shuffled = frame[frame.columns[::-1]]
    np.testing.assert_array_equal(model.predict(shuffled), expected.predict(logged.to_numpy()))
    found = pd.read_csv(StringIO(run(capsys, "predict", "a.npz", "amounts.csv").out))
    np.testing.assert_array_equal(found["prediction"], model.predict(frame))


def test_gaps_are_filled_before_logarithms_are_taken(amounts, capsys):
    frame, kind, _ = amounts
    frame.loc[5, "amount"] = np.nan
    frame.assign(kind=kind).to_csv("amounts.csv", index=False)
    run(capsys, *FIT_AMOUNTS, "--impute", "median")
    model = load_model("a.npz")
    filled = frame.fillna({"amount": frame["amount"].median()})
    np.testing.assert_allclose(model.transform(frame), model.transform(filled))


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (
            [-1.0, 0.0, 2.0, 0.0],
            "half of the values are 0 or negative",
        ),
        (
            [1.0, 5.0, 5.0, 5.0, 7.0],
            "half of the values are equal",
        ),
    ],
)
def test_columns_without_logarithms(values, problem, amounts, capsys):
    frame, kind, _ = amounts
    frame.assign(amount=np.resize(values, 3000), kind=kind).to_csv("amounts.csv", index=False)
    message = run(capsys, *FIT_AMOUNTS, status=1).err
    assert f"amounts.csv, column 'amount': at least {problem}, so no" in message
    assert "leave --log amount out." in message
    message = run(capsys, *FIT_AMOUNTS, "--log", "kind", status=2).err
    assert "--log kind: this is not a numeric column" in message
