"""Why a row was flagged: the table of `explain`."""

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from common import make_classes
from scipy import sparse

from cappedlda import CappedLDA, CappedLDACV, load_model, save_model
from cappedlda._model.explain import contributions
from cappedlda._rules.rule import RowRule
from cappedlda.paper import CLDA


@pytest.fixture
def spoiled(clean):
    """Clean rows of which one is far off in one feature."""
    X, y = clean
    X = X.copy()
    X[4, 2] += 100.0
    return X, y


def test_a_value_that_is_far_off_is_named_with_its_usual_value(spoiled):
    X, y = spoiled
    lda = CappedLDA().fit(X, y)
    first = lda.explain(X, y).iloc[0]
    assert first["row"] == 4
    assert first["class"] == y[4]
    assert first["flagged"]
    assert first["left_out"] == lda.left_out_[4]
    assert first["feature_1"] == 2
    assert first["value_1"] == X[4, 2]
    assert first["usual_1"] == lda._flag_rule.centres[y[4], 2]
    expected = (X[4, 2] - lda._flag_rule.centres[y[4], 2]) / lda._flag_rule.gate.scale[2]
    np.testing.assert_allclose(first["z_1"], expected, rtol=1e-12)
    assert first["z_1"] > 50.0
    assert first["beyond"] in ("gate", "both")


def test_the_lines_are_the_unusual_rows_in_order(dirty):
    X, y, _ = dirty
    lda = CappedLDA().fit(X, y)
    table = lda.explain(X, y)
    unusual = lda.outliers_ | lda.left_out_
    assert sorted(table["row"]) == np.flatnonzero(unusual).tolist()
    assert np.all(np.diff(table["outlyingness"]) <= 0.0)
    rows = table["row"].to_numpy()
    np.testing.assert_array_equal(table["flagged"], lda.outliers_[rows])
    np.testing.assert_array_equal(table["left_out"], lda.left_out_[rows])
    np.testing.assert_array_equal(table["outlyingness"], lda.outlyingness(X, y)[rows])
    np.testing.assert_array_equal(table["predicted"], lda.predict(X)[rows])


def test_beyond_says_which_of_the_two_cut_offs(dirty):
    X, y, _ = dirty
    lda = CappedLDA().fit(X, y)
    table = lda.explain(X, y, rows="all").set_index("row").sort_index()
    cap = lda.outlyingness(X, y, space="projected") > 1
    gate = lda.outlyingness(X, y, space="full") > 1
    expected = np.select([cap & gate, cap, gate], ["both", "cap", "gate"], "")
    np.testing.assert_array_equal(table["beyond"], expected)
    assert {"", "both"} <= set(expected)


def test_beyond_the_cap_the_parts_of_the_discriminant_distance_count(rng):
    """Two features that only together separate: each value is usual, their difference is not."""
    y = np.repeat([0, 1], 200)
    common = 10.0 * rng.normal(size=400)
    X = np.column_stack([common + y, common, rng.normal(size=400)])
    X[:, :2] += 0.1 * rng.normal(size=(400, 2))
    X[0, :2] = [5.0, -5.0]
    lda = CappedLDA().fit(X, y)
    first = lda.explain(X, y, n_features=2).iloc[0]
    assert first["row"] == 0
    assert first["beyond"] == "cap"
    assert {first["feature_1"], first["feature_2"]} == {0, 1}
    assert abs(first["z_1"]) < 2.0


def test_without_labels_a_row_is_measured_from_where_it_fits_best(dirty):
    X, y, _ = dirty
    lda = CappedLDA().fit(X, y)
    table = lda.explain(X)
    assert "left_out" not in table
    rows = table["row"].to_numpy()
    np.testing.assert_array_equal(np.sort(rows), np.flatnonzero(lda.outlyingness(X) > 1))
    np.testing.assert_allclose(
        lda.outlyingness(X[rows], table["class"].to_numpy()), table["outlyingness"], rtol=1e-12
    )


def test_without_labels_wrong_cells_are_those_that_predict_ignores(rng):
    y = np.repeat([0, 1, 2], 80)
    X = rng.normal(size=(240, 8)) + 3.0 * np.eye(3, 8)[y]
    lda = CappedLDA().fit(X, y)
    X[::3, 1] += 40.0  # nearer to the class with large values there
    table = lda.explain(X, rows="all").set_index("row").sort_index()
    assert (table["class"] != table["predicted"]).any()
    np.testing.assert_array_equal(table["wrong_cells"] != "", lda.wrong_cells(X).any(axis=1))
    expected = lda.expected_cells(X)[0, 1]
    assert table["wrong_cells"][0].startswith("feature ")
    assert table["wrong_cells"][0].endswith(f"expected about {expected:.3g}")


def test_a_frame_gives_its_index_and_the_names_of_its_features(spoiled):
    X, y = spoiled
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names, index=[f"id{i}" for i in range(len(X))])
    first = CappedLDA().fit(frame, y).explain(frame, pd.Series(y)).iloc[0]
    assert (first["row"], first["feature_1"]) == ("id4", "x2")
    with pytest.warns(UserWarning, match="fitted without feature names"):
        table = CappedLDA().fit(X, y).explain(frame, y)
    assert table.loc[0, "feature_1"] == "x2"  # of the frame, as the model has none


@pytest.mark.parametrize(
    "convert",
    [np.asfortranarray, sparse.csr_array, np.ndarray.tolist, lambda X: Slices(X)],
    ids=["other order", "sparse", "lists", "slices"],
)
def test_other_kinds_of_rows_give_the_same_table(dirty, convert):
    X, y, _ = dirty
    lda = CappedLDA().fit(X, y)
    pd.testing.assert_frame_equal(lda.explain(convert(X), y), lda.explain(X, y))


class Slices:
    """Rows that can only be read by slices."""

    def __init__(self, X):
        self.X = X
        self.shape, self.dtype = X.shape, X.dtype

    def __getitem__(self, rows):
        return self.X[rows]

    def __len__(self):
        return len(self.X)


@pytest.mark.parametrize("estimator", [CappedLDA(), CappedLDACV(cv=2, multipliers=(1.0,))])
def test_a_model_file_gives_the_same_table(dirty, tmp_path, estimator):
    X, y, _ = dirty
    frame = pd.DataFrame(X, columns=list("abcdef"))
    lda = estimator.fit(frame, y)
    save_model(lda, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    pd.testing.assert_frame_equal(loaded.explain(frame, y), lda.explain(frame, y))


def test_without_pandas_it_is_a_structured_array(dirty, without):
    X, y, _ = dirty
    lda = CappedLDA().fit(X, y)
    frame = lda.explain(X, y)
    without("pandas")
    table = lda.explain(X, y)
    assert type(table) is np.ndarray
    assert list(table.dtype.names) == list(frame.columns)
    for name in frame.columns:
        np.testing.assert_array_equal(table[name], frame[name])


@pytest.mark.parametrize(
    ("rows", "expected"), [([3, -1], [3, 149]), (np.arange(150) == 5, [5]), ([], []), ("all", None)]
)
def test_rows_can_be_chosen(clean, rows, expected):
    X, y = clean
    table = CappedLDA().fit(X, y).explain(X, y, rows=rows)
    assert sorted(table["row"]) == (list(range(150)) if expected is None else expected)


@pytest.mark.parametrize("labels", [None, np.array(["u", "v", "w"])], ids=["numbers", "words"])
def test_a_frame_of_polars_gives_one_of_polars(dirty, labels):
    X, y, _ = dirty
    y = y if labels is None else labels[y]
    frame = pd.DataFrame(X, columns=list("abcdef"))
    expected = CappedLDA().fit(frame, y).explain(frame, y)
    assert len(expected) > 10
    X = pl.from_pandas(frame)
    lda = CappedLDA().fit(X, pl.Series(y))
    found = lda.explain(X, pl.Series(y))
    assert isinstance(found, pl.DataFrame)
    assert found.columns == expected.columns.tolist()
    assert found.to_dicts() == expected.to_dict("records")
    assert found.schema["feature_1"] == pl.String
    none = lda.explain(X, y, rows=[])
    assert none.columns == found.columns
    assert none.schema["wrong_cells"] == pl.String
    assert len(none) == 0


def test_nothing_unusual_is_an_empty_table(clean):
    X, y = clean
    lda = CappedLDA().fit(X, y)
    usual = ~(lda.outliers_ | lda.left_out_)
    table = lda.explain(X[usual], y[usual])
    assert len(table) == 0
    assert table.columns[:7].tolist() == [
        "row", "class", "predicted", "flagged", "left_out", "beyond", "outlyingness",
    ]  # fmt: skip
    assert table.columns[-5:].tolist() == ["feature_3", "value_3", "usual_3", "z_3", "wrong_cells"]


def test_without_a_gate_deviations_are_those_of_the_kept_rows(dirty):
    X, y, _ = dirty
    lda = CappedLDA(epsilon=np.inf).fit(X, y)
    assert lda._flag_rule.gate is None
    table = lda.explain(X, y, n_features=1, rows=[1])
    j = table.loc[0, "feature_1"]
    expected = (X[1, j] - lda.means_[y[1], j]) / np.sqrt(lda.covariance_[j, j])
    np.testing.assert_allclose(table.loc[0, "z_1"], expected, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2])
def test_few_features_are_all_named(rng, n):
    X, y = make_classes(rng, [50, 50], n)
    table = CappedLDA().fit(X, y).explain(X, y, rows="all")
    assert [name for name in table if name.startswith("feature_")] == ["feature_1", "feature_2"][:n]


def test_the_nearest_class_is_that_of_least_outlyingness(rng):
    X, y = make_classes(rng, [30] * 6, 4)
    X[::9] += rng.normal(size=X[::9].shape) * 20.0
    lda = CappedLDA().fit(X, y)
    each = np.stack([lda.outlyingness(X, np.full(180, label)) for label in lda.classes_])
    table = lda.explain(X, rows="all").set_index("row").sort_index()
    np.testing.assert_array_equal(table["class"], each.argmin(axis=0))
    np.testing.assert_array_equal(table["outlyingness"], each.min(axis=0))


def test_the_classes_are_searched_once(rng, spy):
    """Not once more for each class."""
    X, y = make_classes(rng, [20] * 10, 4)
    X[0] += 50.0
    lda = CappedLDA().fit(X, y)
    calls = spy(RowRule, "images")
    assert len(lda.explain(X)) > 0
    assert len(calls) <= 2  # one for all rows, one for the cap ratio of those to explain


def test_tables_of_pyarrow_are_read(dirty):
    X, y, _ = dirty
    table = pa.table({name: X[:, j] for j, name in enumerate("abcdef")})
    with pytest.warns(UserWarning, match="X has feature names"):
        found = CappedLDA().fit(X, y).explain(table, y)
    expected = CappedLDA().fit(pd.DataFrame(X, columns=list("abcdef")), y).explain(table, y)
    pd.testing.assert_frame_equal(found, expected)
    assert set(found["feature_1"]) <= set("abcdef")


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"rows": "some"}, ValueError, "rows='some' is unknown; use None"),
        ({"rows": [150]}, ValueError, "does not fit the 150 rows of X"),
        ({"rows": np.ones(3, bool)}, ValueError, "does not fit the 150 rows of X"),
        ({"rows": [0.5]}, TypeError, "must be integers or booleans"),
        ({"n_features": 0}, ValueError, "n_features=0 is out of range"),
        ({"y": [0]}, ValueError, "give one label per row"),
    ],
)
def test_bad_arguments_are_refused(clean, settings, error, words):
    X, y = clean
    lda = CappedLDA().fit(X, y)
    with pytest.raises(error, match=words):
        lda.explain(X, **{"y": y, **settings})


def test_a_fit_without_units_of_the_features_is_told_how(clean):
    X, y = clean
    lda = CLDA(epsilon=1e3).fit(X, y)
    with pytest.raises(ValueError, match="CappedNormLDA with start='robust'"):
        lda.explain(X, y)
    assert "largest loadings per unit of the feature" in str(lda.summary())


def test_dask_is_told_how(clean):
    X, y = clean
    lda = CappedLDA().fit(X, y)
    with pytest.raises(TypeError, match="and explain the result"):
        lda.explain(da.from_array(X, chunks=50), y)


def test_groups_of_features_are_named_by_what_they_add(rng):
    X, y = make_classes(rng, [200, 200], 12)
    X[5, 4:8] += 40.0 * X.std(axis=0)[4:8]
    model = CappedLDA().fit(X, y)
    groups = np.repeat(["left", "middle", "right"], 4)
    table = model.explain(X, y, groups=groups)
    line = table.iloc[0]
    assert (line["row"], line["group"]) == (5, "middle")
    parts = contributions(model, X[[5]], y[[5]])[0]
    assert line["group_share"] == pytest.approx(parts[4:8].sum() / parts.sum())
    plain = model.explain(X, y)
    assert set(table) - set(plain) == {"group", "group_share"}
    with pytest.raises(ValueError, match=r"groups has the shape \(3,\); give the group of each of"):
        model.explain(X, y, groups=[1, 2, 3])
