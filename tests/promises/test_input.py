"""An input is refused by an error that names it and the remedy, or the answer is right."""

import subprocess
import sys
import warnings

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from common import angle, estimator_of, in_regime, make_classes, rows_of
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from cappedlda import CappedLDA, CappedLDACV, CappedNormLDA, capped, norm
from cappedlda._initial import stratified_sample
from cappedlda.paper import CLDA, _clda, compared
from cappedlda.paper.datasets import make_zipf_text

N, n = 30, 4


@pytest.fixture
def data(rng):
    return make_classes(rng, [10, 10, 10], n)


# parameter, value, error, what the message must say: the argument, its value, the remedy
PARAMETERS = [
    ("n_components", 0, ValueError, "n_components=0 .*from 1 to n_features=4"),
    ("n_components", -2, ValueError, "n_components=-2 .*from 1 to n_features=4"),
    ("n_components", 5, ValueError, "n_components=5 .*from 1 to n_features=4"),
    ("n_components", 1.5, TypeError, "n_components=1.5 .*integer"),
    ("n_components", "2", TypeError, "n_components='2' .*integer"),
    ("n_components", True, TypeError, "n_components=True .*integer"),
    ("epsilon", 0, ValueError, "epsilon=0 .*positive number or inf"),
    ("epsilon", -1.0, ValueError, "epsilon=-1.0 .*positive number or inf"),
    ("epsilon", -np.inf, ValueError, "epsilon=-inf .*positive number or inf"),
    ("epsilon", np.nan, ValueError, "epsilon=nan .*positive number or inf"),
    ("epsilon", "large", ValueError, "epsilon='large' is unknown; use \"auto\""),
    ("epsilon", None, TypeError, 'epsilon=None .*use "auto"'),
    ("epsilon", True, TypeError, 'epsilon=True .*use "auto"'),
    ("q", 0, ValueError, "q=0 .*0 < q <= 2"),
    ("q", -1, ValueError, "q=-1 .*0 < q <= 2"),
    ("q", 2.001, ValueError, "q=2.001 .*0 < q <= 2"),
    ("q", np.nan, ValueError, "q=nan .*0 < q <= 2"),
    ("q", "1", TypeError, "q='1' .*0 < q <= 2"),
    ("centres", "median", ValueError, "centres='median' is unknown; use one of 'kept', 'mean'"),
    ("start", "random", ValueError, "start='random' is unknown; use one of 'robust'"),
    ("start", np.eye(4, 3), ValueError, r"start has shape \(4, 3\), .* needs .*\(4, 2\)"),
    ("start", np.eye(5, 2), ValueError, r"start has shape \(5, 2\), .* needs .*\(4, 2\)"),
    ("start", np.ones(4), ValueError, r"start has shape \(4,\), .* needs .*\(4, 2\)"),
    ("start", np.full((4, 2), np.nan), ValueError, "start contains NaN or infinity"),
    ("start", None, (TypeError, ValueError), "start"),
    ("ridge", 0.0, ValueError, "ridge=0.0 .*small positive number"),
    ("ridge", -1.0, ValueError, "ridge=-1.0 .*small positive number"),
    ("ridge", np.nan, ValueError, "ridge=nan .*small positive number"),
    ("ridge", np.inf, ValueError, "ridge=inf .*small positive number"),
    ("tol", 0.0, ValueError, "tol=0.0 .*small positive number"),
    ("tol", None, TypeError, "tol=None .*small positive number"),
    ("max_iter", 0, ValueError, "max_iter=0 .*positive integer"),
    ("max_iter", 1.5, TypeError, "max_iter=1.5 .*positive integer"),
    ("priors", [0.5, 0.5], ValueError, r"priors has shape \(2,\), .*3 classes; give a positive"),
    ("priors", [0.5, 0.6, -0.1], ValueError, "priors=.*must be positive"),
    ("priors", [0.5, 0.6, np.nan], ValueError, "priors=.*must be positive"),
    ("n_jobs", 0, ValueError, "n_jobs=0 .*None, a positive or a negative int"),
    ("n_jobs", 1.5, TypeError, "n_jobs=1.5 .*int"),
    ("n_jobs", "all", TypeError, "n_jobs='all' .*int"),
    ("random_state", "seed", (TypeError, ValueError), "random_state='seed'|'seed' cannot be used"),
]

# what is wrong, change of X, change of y, error, message
DATA = [
    ("no rows", lambda X: X[:0], lambda y: y[:0], ValueError, r"0 sample\(s\)"),
    ("one row", lambda X: X[:1], lambda y: y[:1], ValueError, r"minimum of 2 is required"),
    ("no features", lambda X: X[:, :0], None, ValueError, r"0 feature\(s\)"),
    ("one class", None, np.zeros_like, ValueError, "y has only one class .*two or more"),
    ("short y", None, lambda y: y[:-1], ValueError, "inconsistent numbers of samples"),
    ("long y", None, lambda y: np.append(y, 0), ValueError, "inconsistent numbers of samples"),
    ("no y", None, lambda y: None, ValueError, "requires y to be passed"),
    ("continuous y", None, lambda y: y + 0.5, ValueError, "Unknown label type"),
    ("nan in y", None, lambda y: np.where(y == 2, np.nan, y), ValueError, "y contains NaN"),
    ("y of two columns", None, lambda y: np.eye(3)[y][:, :2], ValueError, "y should be a 1d array"),
    ("words", lambda X: np.full(X.shape, "a", object), None, ValueError, "convert string to float"),
    ("complex", lambda X: X + 1j, None, ValueError, "Complex data not supported"),
    ("1 dimension", lambda X: X[:, 0], None, ValueError, "Expected 2D array, got 1D"),
    ("3 dimensions", lambda X: X[:, :, None], None, ValueError, "dim 3.*2"),
    (
        "sparse nan",
        lambda X: sp.csr_array(X * np.nan),
        None,
        ValueError,
        "X contains NaN",
    ),
]

WEIGHTS = [
    ("negative", -np.ones(N), ValueError, "[Nn]egative values .*sample_weight"),
    ("one negative", np.append(np.ones(N - 1), -1), ValueError, "[Nn]egative .*sample_weight"),
    ("nan", np.full(N, np.nan), ValueError, "sample_weight contains NaN"),
    ("inf", np.full(N, np.inf), ValueError, "sample_weight contains infinity"),
    ("huge", np.full(N, 1e305), ValueError, r"sample_weight adds up to \S+e\+30\d; divide it"),
    ("all zero", np.zeros(N), ValueError, "[Ss]ample.weights? .*zero"),
    ("short", np.ones(N - 1), ValueError, "sample_weight.shape == .*expected"),
    ("two columns", np.ones((N, 2)), ValueError, "[Ss]ample.weight.* 1D"),
    ("words", np.full(N, "a"), ValueError, "convert string to float"),
]


WORK = ((capped, "fit_capped"), (norm, "fit_norm"), (_clda, "PaperIteration"))


def check_refused(model, X, y, error, match, spy, **fit_options):
    """Check for the error, before any work, and that nothing of a fit is left behind."""
    work = [spy(*function) for function in WORK]
    check_no_trace(model, X, y, error, match, **fit_options)
    assert not any(work)


def check_no_trace(model, X, y, error, match, **fit_options):
    """Check for the error, and that nothing of a fit is left behind."""
    with pytest.raises(error, match=match):
        model.fit(X, y, **fit_options)
    left = [name for name in vars(model) if name.endswith("_") or name == "_flag_rule"]
    assert left == []
    with pytest.raises(NotFittedError):
        model.transform(np.zeros((2, n)))


@pytest.mark.parametrize(
    ("name", "value", "error", "match"),
    PARAMETERS,
    ids=[f"{p[0]}-{i}" for i, p in enumerate(PARAMETERS)],
)
def test_bad_parameters(data, spy, name, value, error, match):
    check_refused(estimator_of(**{name: value}), *data, error, match, spy)


@pytest.mark.parametrize(
    ("change_X", "change_y", "error", "match"), [d[1:] for d in DATA], ids=[d[0] for d in DATA]
)
@pytest.mark.parametrize("estimator", [CappedLDA, CappedNormLDA, CLDA])
def test_bad_data(data, spy, estimator, change_X, change_y, error, match):
    X, y = data
    X = X if change_X is None else change_X(X)
    y = y if change_y is None else change_y(y)
    check_refused(estimator(), X, y, error, match, spy)


@pytest.mark.parametrize(
    ("weight", "error", "match"), [w[1:] for w in WEIGHTS], ids=[w[0] for w in WEIGHTS]
)
def test_bad_weights(data, spy, weight, error, match):
    check_refused(CappedLDA(), *data, error, match, spy, sample_weight=weight)


def test_a_class_without_weight_is_named(data, spy):
    X, y = data
    match = r"sample_weight is zero for every row of the classes \[.*1.*\]; remove these rows"
    weight = (y != 1).astype(float)
    check_refused(CappedLDA(), X, y, ValueError, match, spy, sample_weight=weight)


METHODS = [
    "transform", "predict", "predict_proba", "predict_log_proba", "decision_function",
    "outlyingness",
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_methods_need_a_fit_and_its_features(data, method):
    X, y = data
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(CappedLDA(), method)(X)
    model = CappedLDA().fit(X, y)
    for columns in (3, 5):
        with pytest.raises(ValueError, match=f"X has {columns} features, .* expecting 4 features"):
            getattr(model, method)(np.zeros((2, columns)))
    with pytest.raises(ValueError, match="X contains NaN"):
        getattr(model, method)(np.full((2, 4), np.nan))
    with pytest.raises(ValueError, match="Expected 2D array"):
        getattr(model, method)(X[0])
    with pytest.raises(ValueError, match="X contains NaN"):
        getattr(model, method)(sp.csr_array(np.nan * X))


def test_outlyingness_names_bad_labels(data):
    X, y = data
    model = CappedLDA().fit(X, y)
    with pytest.raises(ValueError, match=r"y has unknown labels \[.*7.*\]; the known classes are"):
        model.outlyingness(X, np.where(y == 2, 7, y))
    with pytest.raises(ValueError, match="X has 30 rows and y has 29; give one label per row"):
        model.outlyingness(X, y[:-1])


def test_good_input_of_unusual_kind_is_accepted(data):
    X, y = data
    expected = CappedNormLDA(n_components=1, q=2).fit(X, y).scalings_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n_components, q in [(np.int64(1), np.float32(2)), (np.int32(1), np.int64(2))]:
            model = CappedNormLDA(n_components=n_components, q=q).fit(X.tolist(), y.tolist())
            np.testing.assert_array_equal(model.scalings_, expected)
        np.testing.assert_array_equal(
            CappedNormLDA(n_components=1, q=2)
            .fit(X.astype(object), y.astype(bool)[:, None].ravel() * y)
            .scalings_,
            expected,
        )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("drawn", [True, False])
@pytest.mark.parametrize(
    "estimator",
    [
        CappedLDA(epsilon=50.0),
        CappedLDA(epsilon=np.inf),
        CappedNormLDA(epsilon=50.0, centres="mean"),
        CappedNormLDA(epsilon=50.0, start="lda"),
        CLDA(epsilon=50.0),
    ],
    ids=str,
)
def test_numbers_that_are_not_finite_are_found_on_the_way(rng, estimator, drawn, value):
    # No pass looks for them alone: a sample is checked, then the gate sees all rows.
    X, y = make_classes(rng, [200, 200, 200], n)
    thresholds = {"least_sample_rows": 60, "sample_rows_per_class": 20}
    sample = stratified_sample(rows_of(X, y, **thresholds), None)[0].X
    row = np.flatnonzero(np.isin(X[:, 0], sample[:, 0]) == drawn)[-1]
    X[row, 1] = value
    model = in_regime(clone(estimator), **thresholds)
    found = "NaN" if np.isnan(value) else "infinity"
    message = rf"X contains {found}, first in row {row}, column 1 \(counted from 0\); remove"
    check_no_trace(model, X, y, ValueError, message)


@pytest.mark.parametrize("estimator", [CappedLDA, CappedLDACV])
def test_errors_name_the_columns_of_frames(rng, estimator):
    X, y = make_classes(rng, [40, 40, 40], 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    text = frame.assign(id=[f"C{i}" for i in range(120)], plan=pd.Categorical(["x", "y"] * 60))
    message = "X has text in the columns 'id', 'plan', but needs numbers; encode these columns"
    check_no_trace(estimator(), text, y, ValueError, message)
    with pytest.raises(ValueError, match="load_model returns"):
        estimator().fit(frame, y).predict(text)
    gap = frame.assign(b=frame["b"].where(np.arange(120) != 7))
    check_no_trace(estimator(), gap, y, ValueError, "first in row 7, column 'b'; remove or impute")


def test_numbers_in_columns_of_objects_are_no_text(rng):
    X, y = make_classes(rng, [40, 40, 40], 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    objects = frame.astype({"a": object, "b": "category"})
    found = CappedLDA().fit(objects, y).scalings_
    np.testing.assert_array_equal(found, CappedLDA().fit(frame, y).scalings_)


def test_large_numbers_are_outliers_only(rng):
    X, y = make_classes(rng, [40, 40, 40], n)
    X[7] = 1e300  # of which the norm is not finite
    assert CappedLDA().fit(X, y).outliers_.nonzero()[0].tolist() == [7]


def test_infinities_of_both_signs_are_an_error_without_a_warning(rng):
    X, y = make_classes(rng, [40, 40, 40], n)
    X[5, 0], X[9, 1] = np.inf, -np.inf
    message = "X contains infinity, first in row 5, column 0"
    check_no_trace(CappedLDA(), X, y, ValueError, message)


WHEN = np.arange(120) % 7 + np.datetime64("2030-01-01", "us")


@pytest.mark.parametrize("estimator", [CappedLDA, CappedLDACV])
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("values", [WHEN, WHEN - WHEN[0]], ids=["dates", "spans"])
def test_dates_are_named(rng, estimator, library, values):
    X, y = make_classes(rng, [40, 40, 40], 2)
    columns = {"a": X[:, 0], "when": values, "b": X[:, 1]}
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library](columns)
    message = "X has dates or times in the columns 'when'; turn them into numbers"
    check_no_trace(estimator(), frame, y, ValueError, message)
    check_no_trace(estimator(), values[:, None], y, ValueError, "X has dates or times, .*64")
    model = estimator().fit(np.c_[X, X[:, 0]], y)
    with pytest.raises(ValueError, match=message):
        model.predict(frame)


def test_columns_of_arrow_have_names(rng):
    X, y = make_classes(rng, [40, 40, 40], 2)
    X[7, 1] = np.nan
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    check_no_trace(
        CappedLDA(),
        table,
        y,
        ValueError,
        "X contains NaN, first in row 7, column 'b'; .*missing=.ignore",
    )
    words = pa.table({"a": X[:, 0], "b": ["x"] * 120})
    check_no_trace(CappedLDA(), words, y, ValueError, "X has text in the columns 'b'")


@pytest.mark.parametrize("estimator", [CappedLDA, CappedLDACV])
@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("n_features", [4, 1100])
def test_sparse_entries_that_are_not_finite_are_named(rng, estimator, container, n_features):
    X = sp.random_array((60, n_features), density=0.1, rng=rng, format="lil")
    X[7, 2], X[9, 0] = -np.inf, np.nan
    message = r"X contains infinity, first in row 7, column 2 \(counted from 0\); remove"
    check_no_trace(estimator(), container(X), np.arange(60) % 3, ValueError, message)


def test_a_query_that_has_not_run_is_refused(data):
    X, y = data
    query = pl.DataFrame(X).lazy()
    message = r"X is a LazyFrame, .*; give X.collect\(\), or read it in batches with fit_chunks"
    check_no_trace(CappedLDA(), query, y, TypeError, message)
    check_no_trace(CappedLDA(), X, pl.DataFrame(y).lazy(), TypeError, "y is a LazyFrame")
    model = CappedLDA().fit(X, y)
    for ask in (model.predict, model.explain, model.outlyingness):
        with pytest.raises(TypeError, match=message):
            ask(query)


def test_masked_entries_are_refused(data):
    X, y = data
    model = CappedLDA().fit(X, y)
    masked = np.ma.masked_array(X, np.zeros_like(X, dtype=bool))
    np.testing.assert_array_equal(CappedLDA().fit(masked, y).scalings_, model.scalings_)
    masked[3, :2] = np.ma.masked
    message = r"X is a masked array with 2 masked entries; fill them \(X.filled"
    check_no_trace(CappedLDA(), masked, y, ValueError, message)
    for ask in (model.predict, model.outlyingness, model.explain):
        with pytest.raises(ValueError, match=message):
            ask(masked)
    with pytest.raises(ValueError, match="y is a masked array"):
        model.outlyingness(X, np.ma.masked_array(y, np.arange(N) == 3))
    weights = np.ma.masked_array(np.ones(N), np.arange(N) == 3)
    for name, settings in {
        "y": {"y": np.ma.masked_array(y, np.arange(N) == 3)},
        "sample_weight": {"y": y, "sample_weight": weights},
    }.items():
        with pytest.raises(ValueError, match=f"{name} is a masked array with 1 masked"):
            CappedLDA().fit(X, **settings)
    for chunk, name in (((masked, y), "X"), ((X, np.ma.masked_array(y, y == 0)), "y")):
        with pytest.raises(ValueError, match=f"{name} of chunk 0 is a masked array"):
            CappedLDA().fit_chunks(lambda chunk=chunk: [chunk])


WORDS = np.array(["u", "v", "w"])[np.arange(N) % 3]
PRESENT = np.arange(N) != 7
MISSING = {
    "None": np.where(PRESENT, WORDS, None),
    "NaN": pd.Series(WORDS, dtype=object).where(PRESENT),
    "NA": pd.Series(WORDS, dtype="string").where(PRESENT, pd.NA),
    "str": pd.Series(WORDS).where(PRESENT),
    "category": pd.Series(pd.Categorical(WORDS)).where(PRESENT),
    "NaT": pd.Series(WORDS, dtype=object).where(PRESENT, pd.NaT),
    "polars": pl.Series(
        [word if there else None for word, there in zip(WORDS, PRESENT, strict=True)]
    ),
    "list": [word if there else float("nan") for word, there in zip(WORDS, PRESENT, strict=True)],
}


@pytest.mark.parametrize("kind", MISSING)
def test_missing_labels_are_named(rng, kind, tmp_path):
    X = rng.normal(size=(N, n))
    message = "y has missing labels, the first in its row 7 .*; remove such rows"
    np.save(tmp_path / "integers.npy", (10 * X).astype(int))
    read = np.load(tmp_path / "integers.npy", mmap_mode="r")
    for rows in (X, pd.DataFrame(X), read, sp.csr_array(X)):
        check_no_trace(CappedLDA(), rows, MISSING[kind], ValueError, message)


@pytest.mark.parametrize(
    "convert",
    [
        lambda X, y: (X, y),
        lambda X, y: (X.tolist(), y.tolist()),
        lambda X, y: (X, np.array(["u", "v", "w"])[y]),
        lambda X, y: (X, y[:, None]),
        lambda X, y: (pd.DataFrame(X), pd.Series(y)),
        lambda X, y: (pl.DataFrame(X), pl.Series(y)),
    ],
    ids=["arrays", "lists", "words", "column", "pandas", "polars"],
)
def test_swapped_arguments_are_told(data, convert):
    X, y = convert(*data)
    message = r"y has 4 columns and X has 1: they seem to be swapped; use fit\(X, y\)"
    check_no_trace(CappedLDA(), y, X, ValueError, message)


@pytest.mark.parametrize("weight", [5e-324, 1e-310])
def test_weights_too_small_to_be_added_are_refused(data, weight):
    X, y = data
    weights = np.full(N, weight)
    message = "sample_weight adds up to .*; multiply it by a large number"
    check_no_trace(CappedLDA(), X, y, ValueError, message, sample_weight=weights)
    with pytest.raises(ValueError, match=message):
        CappedLDA().fit_chunks(lambda: [(X, y, weights)])
    with pytest.raises(ValueError, match=message):
        CappedLDA().fit(da.from_array(X, chunks=(10, n)), y, weights)
    weights[1:] = 1.0  # one such row is as good as left out
    rest = CappedLDA().fit(X[1:], y[1:])
    assert angle(CappedLDA().fit(X, y, weights).scalings_, rest.scalings_) < 1e-9


@pytest.mark.parametrize("estimator", [CappedLDA, CappedLDACV])
@pytest.mark.parametrize("convert", [np.asarray, pd.DataFrame, sp.csr_array])
def test_the_number_of_a_row_is_no_class(rng, estimator, convert):
    X, ids = convert(rng.normal(size=(N, n))), [f"row {i}" for i in range(N)]
    message = (
        "number of samples must be more than the number of classes, but y has 30 classes in 30 "
        "rows; give several rows of a class"
    )
    check_no_trace(estimator(), X, ids, ValueError, message)


def test_neither_are_numbers_of_rows_in_chunks_and_blocks(rng):
    X, ids = rng.normal(size=(N, n)), np.arange(N)
    with pytest.raises(ValueError, match="y has 30 classes in 30 rows"):
        CappedLDA().fit_chunks(lambda: [(X[:10], ids[:10]), (X[10:], ids[10:])])
    with pytest.raises(ValueError, match="y has 30 classes in 30 rows"):
        CappedLDA().fit(da.from_array(X, chunks=(10, n)), ids)
    with pytest.raises(ValueError, match="y has 30 classes in 30 rows"):
        CappedLDA().fit(np.tile(X, (2, 1)), np.tile(ids, 2), np.repeat([1.0, 0.0], N))


COMPARED = [getattr(compared, name) for name in compared.__all__]


@pytest.mark.parametrize("n_rows", [20, 178, 5000])
def test_identical_rows_are_refused_as_all_ones_are(n_rows, rng, dtype):
    X = np.repeat(rng.normal(size=(1, 7)), n_rows, axis=0).astype(dtype)
    y = rng.integers(3, size=n_rows)
    for identical in (X, np.ones_like(X)):
        with pytest.raises(ValueError, match="class means coincide"):
            CappedLDA().fit(identical, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", [CappedLDACV(cv=3), *COMPARED])
def test_identical_rows_are_refused_by_all(model, rng):
    X = np.repeat(rng.normal(size=(1, 7)), 60, axis=0)
    model = model() if isinstance(model, type) else model
    problem = "class means coincide|means of all classes are the same"
    with pytest.raises(ValueError, match=problem):
        model.fit(X, rng.integers(3, size=60))


@pytest.mark.parametrize("signs", ["same", "mixed", "one"])
@pytest.mark.parametrize(("type_", "value"), [(np.float64, 1e308), (np.float32, 3e38)])
def test_rows_that_overflow(type_, value, signs, clean, rng):
    """They are very far from all classes, perhaps infinitely; a projection may be refused."""
    X, y = clean
    lda = CappedLDA().fit(X.astype(type_), y)
    row = {"same": np.ones(6), "mixed": np.array([1, -1] * 3), "one": np.eye(6)[2]}[signs]
    far = np.array([*X[:3], value * row]).astype(type_)
    for labels in (None, y[:4]):
        for space in ("both", "full"):
            ratio = lda.outlyingness(far, labels, space=space)
            assert ratio[3] > 1e30
            assert np.isfinite(ratio[:3]).all()
        assert lda.outlyingness(far, labels, space="projected")[3] > 1e30
    for method in (lda.predict_proba, lda.predict_log_proba, lda.predict, lda.decision_function):
        check_never_nan(method, far)
    check_never_nan(lda.transform, far)


def check_never_nan(method, X):
    try:
        found = method(X)
    except ValueError as error:
        if "products overflow" not in str(error):
            raise
    else:
        assert np.isfinite(found).all()


@pytest.mark.parametrize(
    ("type_", "size", "word"),
    [(np.float64, 1e-310, "little"), (np.float64, 1e305, "much"), (np.float32, 1e-38, "little")],
)
@pytest.mark.parametrize("estimator", [CappedLDA(), CappedNormLDA(start="lda")], ids=str)
def test_a_feature_of_odd_size_is_named(type_, size, word, estimator, clean):
    X, y = clean
    X[:, 4] *= size
    message = rf"in feature 4 \(counted from 0\), too {word} for numbers of type {type_.__name__}"
    with pytest.raises(ValueError, match=message):
        estimator.fit(X.astype(type_), y)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
@pytest.mark.parametrize("method", COMPARED)
def test_compared_methods_refuse_numbers_out_of_range(method, scale, clean):
    X, y = clean
    with pytest.raises(ValueError, match="powers of which are out of range; scale X"):
        method().fit(X * scale, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scale", [1e-65, 1e65])
@pytest.mark.parametrize("method", COMPARED)
def test_compared_methods_take_large_and_small_numbers(method, scale, clean):
    X, y = clean
    assert method().fit(X * scale, y).score(X * scale, y) > 0.5


def broken(kind, X):
    X = getattr(sp, f"{kind}_array")(X)
    if kind == "coo":
        X.row[5] = 10**6
    else:
        X.indices[5] = 10**6
    return X


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_a_damaged_sparse_matrix_is_refused(kind, clean):
    X, y = clean
    lda = CappedLDA().fit(X, y)
    X = broken(kind, X)
    for call in (lambda: lda.predict(X), lambda: lda.outlyingness(X), lambda: lda.fit(X, y)):
        with pytest.raises(ValueError, match="damaged sparse matrix"):
            call()


@pytest.mark.parametrize(
    ("name", "value"), [("indices", -1), ("indptr", -1), ("indptr", 10**6), ("indptr", 900)]
)
def test_each_array_of_a_csr_matrix_is_checked(name, value, clean):
    X, y = clean
    X = sp.csr_array(X)
    getattr(X, name)[-1 if value == 10**6 else 3] = value
    with pytest.raises(ValueError, match="damaged sparse matrix"):
        CappedLDA().fit(X, y)


TRUNCATED = """
import numpy as np, os
from cappedlda import CappedLDA
rng = np.random.default_rng(0)
X = rng.normal(size=(20000, 20))
y = np.arange(20000) % 3
X[:, 0] += 3 * y
np.save("X.npy", X.astype({dtype!r}))
X = np.load("X.npy", mmap_mode="r")
lda = CappedLDA().fit(X, y)
os.truncate("X.npy", 10000)
try:
    lda.{call}
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("dtype_name", ["float64", "int16"])
@pytest.mark.parametrize("call", ["fit(X, y)", "predict(X[7:])", "outlyingness(X)"])
def test_a_truncated_memory_map_is_an_error(call, dtype_name, tmp_path):
    """In a process of its own, which would die by SIGBUS."""
    code = TRUNCATED.format(dtype=dtype_name, call=call)
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert found.returncode == 0, found.stderr
    assert "of a memory map was truncated after it was opened" in found.stdout


@pytest.mark.parametrize("value", ["1", None, 1.5])
def test_verbose(value, clean):
    with pytest.raises(TypeError, match=f"verbose={value!r} must be an integer; use 0, 1 or 2"):
        CappedLDA(verbose=value).fit(*clean)


def test_priors_are_rescaled_with_a_warning(clean):
    with pytest.warns(UserWarning, match="The priors do not sum to 1. Renormalizing"):
        lda = CappedLDA(priors=[1.0, 2.0, 1.0]).fit(*clean)
    np.testing.assert_allclose(lda.priors_, [0.25, 0.5, 0.25])
    CappedLDA(priors=[0.333333, 0.333333, 0.333333]).fit(*clean)


@pytest.mark.parametrize(("classes", "message"), [([], "no class"), ([1], "only one class")])
def test_classes_of_chunks(classes, message, clean):
    with pytest.raises(ValueError, match=f"classes has {message}"):
        CappedLDA().fit_chunks(lambda: [clean], classes=classes)


@pytest.mark.parametrize("kind", [complex, "U3"])
def test_weights_of_chunks_are_real(kind, clean):
    X, y = clean
    with pytest.raises(TypeError, match="sample_weight of chunk 0 has the type"):
        CappedLDA().fit_chunks(lambda: [(X, y, np.ones(len(y)).astype(kind))])


@pytest.mark.parametrize(
    "arguments",
    [
        {"outlier_share": 3},
        {"outlier_share": -0.1},
        {"n_words": 0},
        {"n_classes": 0},
        {"length": 0},
    ],
)
def test_make_zipf_text(arguments):
    (name,) = arguments
    with pytest.raises(ValueError, match=name):
        make_zipf_text(**arguments)


@pytest.mark.parametrize("shape", [(5, 7), (5, 5), (6,)])
def test_to_onnx_takes_rows_of_the_right_width(shape, clean):
    to_onnx = pytest.importorskip("cappedlda.onnx").to_onnx
    with pytest.raises(ValueError, match="the model was fitted to 6 features"):
        to_onnx(CappedLDA().fit(*clean), np.zeros(shape))


def test_sizes_in_between_are_fitted(rng, dtype):
    """The limits are near those of the numbers themselves."""
    X, y = make_classes(rng, [40, 40], 4)
    for size in (1e-33, 1e33) if dtype == np.float32 else (1e-300, 1e300):
        scaled = (X * size).astype(dtype)
        assert CappedLDA().fit(scaled, y).score(scaled, y) > 0.9
