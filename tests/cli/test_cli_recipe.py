"""Columns of awkward tables, one by one: notations of numbers, sheets, categories, gaps."""

from collections import Counter

import numpy as np
import pytest

from cappedlda._cli import main, recipe
from cappedlda._cli.dialects import notation_of
from cappedlda._cli.formats import open_table
from cappedlda._cli.recipe import RowSample
from cappedlda._model_file.recipe import Category, Log, RawTable, Recipe, texts

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize("unit", ["ns", "s"])
def test_dates_of_parquet_are_no_numbers(unit, tmp_path):
    since = np.array(["2024-01-31", "2024-02-29"], dtype=f"datetime64[{unit}]")
    pd.DataFrame({"since": since, "x": [1.0, 2.0]}).to_parquet(tmp_path / "d.parquet")
    with pytest.raises(ValueError, match="'since' holds dates"):
        list(open_table(str(tmp_path / "d.parquet")).blocks(["since", "x"]))


GERMAN = "since;amount;rate;count\n01.02.2024;1.234,50;0,5;1.000\n31.12.2023;17,5;1,25;12\n"


def test_thousands_separators_are_recognised_and_dates_stay_dates(tmp_path):
    """For pandas 01.02.2024 is the number 1022024 if points separate thousands."""
    (tmp_path / "t.csv").write_text(GERMAN)
    table = open_table(str(tmp_path / "t.csv"))
    assert table.notation == (",", ".")
    (block,) = table.blocks(["amount", "rate", "count"], ["since"])
    np.testing.assert_array_equal(block.X, [[1234.5, 0.5, 1000.0], [17.5, 1.25, 12.0]])
    assert block.others.iloc[:, 0].tolist() == ["01.02.2024", "31.12.2023"]
    with pytest.raises(ValueError, match="'01.02.2024' is not a number.*'since' holds dates"):
        list(table.blocks(["since", "amount"]))


@pytest.mark.parametrize(
    ("cells", "sep", "notation"),
    [
        (["1.5", "2"], ";", (".", None)),
        (["1,5", "2"], ";", (",", None)),
        (["1,5", "2"], ",", (".", None)),
        (["1.234", "2.5"], ",", (".", None)),
        (["1.234", "2,5"], ";", (",", ".")),
        (["1,234", "2.5"], ",", (".", ",")),
        (["1,234,567"], ",", (".", ",")),
        (["1 234,5", "12"], ";", (",", " ")),
        (["1\u202f234,5", "12"], ";", (",", " ")),
        (["1'234.50"], ",", (".", "'")),
        (["01.02.2024", "1.5"], ";", (".", None)),
        (["030 123 456"], ",", (".", None)),
        ([], ",", (".", None)),
    ],
)
def test_the_notation_of_numbers(cells, sep, notation):
    assert notation_of(cells, sep) == notation


def test_marks_that_are_given_are_not_guessed(tmp_path, capsys):
    (tmp_path / "t.csv").write_text(GERMAN)
    assert open_table(str(tmp_path / "t.csv"), thousands="'").notation.thousands == "'"
    assert open_table(str(tmp_path / "t.csv"), decimal=".").notation.decimal == "."
    argv = ["fit", str(tmp_path / "t.csv"), "--target", "count"]
    assert main([*argv, "--decimal", ",", "--thousands", ","]) == 2
    message = capsys.readouterr().err
    assert "--decimal and --thousands are both ','; they must differ" in message
    assert main([*argv, "--drop", "since", "--decimal", "."]) == 1
    message = capsys.readouterr().err
    assert "numbers in 'amount', 'rate' are not written with the decimal mark '.'" in message


@pytest.fixture
def book(tmp_path):
    pytest.importorskip("openpyxl")
    path = tmp_path / "book.xlsx"
    with pd.ExcelWriter(path) as writer:
        pd.DataFrame({"x": [1.5, None, 2.5], "kind": ["a", "b", "a"]}).to_excel(
            writer, sheet_name="first", index=False, startrow=2
        )
        pd.DataFrame({"y": ["1.234,5", "2"]}).to_excel(writer, sheet_name="second", index=False)
        pd.DataFrame([["x", "x"], [1, 2]]).to_excel(
            writer, sheet_name="twice", index=False, header=False
        )
        pd.DataFrame().to_excel(writer, sheet_name="empty")
    return str(path)


def test_spreadsheets(book):
    table = open_table(book)
    assert table.columns == ["x", "kind"]
    (block,) = table.blocks(["x"], ["kind"])
    np.testing.assert_array_equal(block.X[:, 0], [1.5, np.nan, 2.5])
    assert block.others.iloc[:, 0].tolist() == ["a", "b", "a"]
    (block,) = open_table(book, sheet="second", decimal=",", thousands=".").blocks(["y"])
    np.testing.assert_array_equal(block.X[:, 0], [1234.5, 2.0])


@pytest.mark.parametrize(
    ("sheet", "message"),
    [
        ("third", "has no sheet 'third'; it has 'first', 'second', 'twice', 'empty'"),
        ("twice", "has two columns 'x'"),
        ("empty", "cannot be read as a spreadsheet: the sheet is empty"),
    ],
)
def test_other_sheets_are_refused(sheet, message, book):
    with pytest.raises(ValueError, match=message):
        open_table(book, sheet=sheet)


def test_spreadsheets_without_openpyxl(book, without):
    without("openpyxl")
    with pytest.raises(ValueError, match=r'Reading .xlsx needs openpyxl.*"cappedlda\[cli\]"'):
        open_table(book)


CATEGORY = Category("plan", ["basic", "plus", "pro"], ["gold"], True)


@pytest.mark.parametrize("column", ["plan", 2])
@pytest.mark.parametrize("has_other", [True, False])
def test_a_raw_table_follows_a_recipe(column, has_other):
    category = CATEGORY._replace(column=column, has_other=has_other)
    recipe = Recipe([0] if column == 2 else ["age"], [category], [40.0])
    plan = np.array(["plus", " basic", None, "gold", "new", "pro", np.nan], dtype=object)
    table = pd.DataFrame({"age": [np.nan, 1, 2, 3, 4, 5, 6], "id": "x", "plan": plan})
    if column == 2:
        table.columns = range(3)
    with pytest.warns(UserWarning, match="unknown categories"):
        found = RawTable(recipe, 3).transform(table)
    expected = [
        [40, 1, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0], [3, 0, 0, 1], [4, 0, 0, 1], [5, 0, 1, 0],
        [6, 0, 0, 0],
    ]  # fmt: skip
    np.testing.assert_array_equal(found, np.array(expected)[:, : 3 + has_other])
    if column == "plan":
        assert found.columns.tolist() == recipe.feature_names()


def test_medians_come_back_exactly():
    medians = [1 / 3, 1e300, -5e-324]
    found = Recipe(["a", "b", "c"], [], medians).features(np.full((1, 3), np.nan), None)
    assert found.tolist() == [medians]


def test_codes_are_categories_however_they_are_written():
    values = pd.DataFrame({"code": [1, 1.0, "1", "1.0", "1.50", "a "]}, dtype=object)
    assert texts(values)["code"].tolist() == ["1", "1", "1", "1", "1.50", "a"]


def test_rare_categories_share_a_feature():
    counts = Counter({"b": 500, "a": 480, "c": 10, "d": 9, "e": 1})
    found = recipe.category_of(None, 2, counts, 1000)
    assert found == Category(2, ["b", "a", "c"], ["d", "e"], True)
    found = recipe.category_of(None, 2, Counter({"b": 500, "a": 491, "d": 9}), 1000)
    assert found == Category(2, ["b", "a"], ["d"], False)


def test_a_sample_of_many_rows():
    sample = RowSample(1, most_numbers=0)
    for part in np.split(np.arange(10_000.0)[:, None], 20):
        sample.add(part)
    assert sample.rows.shape == (1000, 1)
    assert len(np.unique(sample.rows)) == 1000
    assert np.median(sample.rows) == pytest.approx(5000, abs=500)  # three standard errors


LOG = Log("amount", 2.0, 500.0)


def test_logarithms_go_on_as_straight_lines():
    inside, outside = np.array([2.0, 3.0, 500.0]), np.array([-1e6, -1.0, 0.0, 1.0, 501.0, 1e7])
    np.testing.assert_allclose(LOG.take(inside), np.log(inside))
    expected = [np.log(2.0) + (x - 2.0) / 2.0 for x in outside[:4]]
    expected += [np.log(500.0) + (x - 500.0) / 500.0 for x in outside[4:]]
    np.testing.assert_allclose(LOG.take(outside), expected)
    for amounts in (inside, outside):
        np.testing.assert_array_equal(LOG.undo(LOG.take(amounts)), amounts)
    assert (np.diff(LOG.take(np.linspace(-50.0, 2000.0, 10_000))) > 0).all()


def test_amounts_come_back_as_they_were_written(rng):
    """An amount of the table is not 36763.00000000001 in the output."""
    for low, high in ((1e-6, 1e-3), (3.0, 400.0), (1e4, 1e9)):
        amounts = np.exp(rng.uniform(np.log(low / 10.0), np.log(1e3 * high), 10_000))
        amounts = np.array([float(f"{amount:.9g}") for amount in amounts])
        log = Log("amount", low, high)
        np.testing.assert_array_equal(log.undo(log.take(amounts)), amounts)


def test_the_usual_range_is_that_of_the_positive_amounts(rng):
    amounts = np.exp(rng.normal(4.0, 0.5, 4000))
    found = recipe.log_of(None, 3, np.r_[amounts, 0.0, -5.0, np.nan])
    assert found.column == 3
    reach = recipe.LOG_RANGE * 0.5
    # A quartile of 4000 normal numbers is exact to about 2 %.
    np.testing.assert_allclose(np.log([found.low, found.high]), [4 - reach, 4 + reach], atol=0.1)


TABLE = pd.DataFrame({"x": [1.0, 2.0, 3.0], "w": [1, 2, 3], "kind": ["a", "b", "a"]})
RAW = RawTable(Recipe(["x", "w"], [Category("kind", ["a", "b"], [], False)]))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (TABLE.assign(x=pd.Timestamp("2020-01-01")), "dates or times in the column 'x'"),
        (TABLE.assign(x=["1", "two", "3"]), "column 'x', row 1 .*'two' is not a number"),
        (TABLE.drop(columns=["x", "kind"]), "lacks the columns 'x', 'kind'; give a table"),
        (TABLE.to_numpy(), "lacks the columns 'x', 'w', 'kind'"),
        (pd.concat([TABLE, TABLE[["w"]]], axis=1), "more than one column 'w'"),
    ],
)
def test_a_raw_table_that_does_not_fit(table, message):
    with pytest.raises(ValueError, match=message):
        RAW.transform(table)


def test_a_raw_table_tells_its_columns():
    assert RAW.feature_names_in_.tolist() == ["x", "w", "kind"]
    assert RAW.n_features_in_ == 3
    features = RAW.transform(TABLE.astype({"x": str}))
    np.testing.assert_array_equal(features["x"], TABLE["x"])
