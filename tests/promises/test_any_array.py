"""Whatever is given to the estimators: a ValueError or TypeError, or a model without NaN."""

import warnings

import numpy as np
import pytest
from common import estimator_of, make_classes
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone

from cappedlda import CappedLDA, CappedLDACV, CappedNormLDA
from cappedlda.paper import CLDA

EXTREME = [0.0, -0.0, 1.0, -1.0, 1e-320, 1e-310, 1e-160, 1e160, 1e300, 1e308, -1.7e308, 3e38, 1e-45]
DTYPES = st.sampled_from(
    ["f8", "f4", "f2", "i8", "i1", "u8", "?", ">f8", "c16", "U3", "O", "M8[s]"]
)


def numbers(allow_odd):
    usual = st.floats(-10.0, 10.0, width=32)
    odd = st.one_of(usual, st.sampled_from(EXTREME), st.floats())
    return odd if allow_odd else usual


@st.composite
def problems(draw, max_rows=12, max_features=4):
    """X with a few odd numbers among many equal ones, and labels."""
    n_rows = draw(st.integers(0, max_rows))
    n_features = draw(st.integers(0, max_features))
    fill = draw(st.sampled_from([None, 0.0, 1.0]))
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    if fill is None:
        X = np.random.default_rng(draw(st.integers(0, 99))).normal(size=(n_rows, n_features))
    else:
        X = np.full((n_rows, n_features), fill)
    labels = draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows))
    y = np.array(labels, dtype=int)
    if X.size:
        X = X + y[:, None] * draw(st.sampled_from([0.0, 1.0, 1e-9, 1e9]))
        for _ in range(draw(st.integers(0, 4))):
            place = draw(st.integers(0, n_rows - 1)), draw(st.integers(0, n_features - 1))
            X[place] = draw(numbers(True))
    factor = draw(st.sampled_from([1.0, 1.0, 1e-300, 1e-30, 1e30, 1e300]))
    with np.errstate(all="ignore"):
        return (X * factor).astype(dtype), y


def check(fit, X):
    """Call a fit; what it returns has to be usable."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = fit()
        except (ValueError, TypeError) as error:
            assert str(error).strip()  # noqa: PT017  (the message matters)
            return
        for name in ("scalings_", "coef_", "intercept_", "means_", "xbar_", "priors_"):
            assert np.isfinite(getattr(model, name)).all(), name
        assert not np.isnan(model.caps_).any()
        X = X[:, : model.n_features_in_] if X.ndim == 2 else X
        assert not np.isnan(model.outlyingness(X)).any()
        try:
            found = [model.transform(X), model.predict_proba(X), model.predict_log_proba(X)]
        except ValueError as error:
            assert "products overflow" in str(error)  # noqa: PT017
        else:
            assert not any(np.isnan(array).any() for array in found)
            assert np.isfinite(found[0]).all()


@given(problems(), st.sampled_from([{}, {"q": 2.0}, {"epsilon": np.inf}, {"start": "lda"}]))
def test_arrays(problem, options):
    X, y = problem
    check(lambda: estimator_of(**options).fit(X, y), X)


@given(problems(), st.sampled_from([CLDA(), CappedNormLDA(), CappedNormLDA(centres="mean")]))
def test_arrays_with_rarer_estimators(problem, estimator):
    X, y = problem
    check(lambda: clone(estimator).fit(X, y), X)


@settings(max_examples=10)
@given(problems(max_rows=20))
def test_cross_validation(problem):
    X, y = problem
    check(lambda: CappedLDACV(multipliers=(1.0, np.inf), cv=2).fit(X, y), X)


@given(
    st.lists(st.one_of(st.floats(0.0, 2.0), st.sampled_from(EXTREME), st.floats()), max_size=12),
    st.sampled_from(["f8", "f4", "O"]),
)
def test_weights(values, dtype):
    X, y = make_classes(np.random.default_rng(0), [6, 6], 3)
    with np.errstate(over="ignore"):
        weights = np.array(values, dtype=float).astype(dtype)
    check(lambda: CappedLDA().fit(X, y, weights), X)
    check(lambda: CappedLDA().fit_chunks(lambda: [(X, y, weights)]), X)


@given(DTYPES, DTYPES, st.integers(0, 3), st.integers(0, 3))
def test_types_and_shapes(dtype, label_dtype, ndim, label_ndim):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = np.zeros((4,) * ndim).astype(dtype)
        y = (np.arange(4**label_ndim) % 2).reshape((4,) * label_ndim).astype("i8")
        y = y.astype(label_dtype)
    check(lambda: CappedLDA().fit(X, y), X)


@given(
    hnp.arrays(
        st.sampled_from([np.float64, np.float32]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
        elements=st.floats(width=32),
    )
)
def test_new_rows(X):
    """A good model, and rows from anybody."""
    model = CappedLDA().fit(*make_classes(np.random.default_rng(0), [20, 20, 20], 4))
    for method in (model.predict_proba, model.transform, model.outlyingness, model.predict):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                found = method(X)
        except ValueError as error:
            assert str(error).strip()  # noqa: PT017
        else:
            assert not np.isnan(found).any()


@st.composite
def chunk_lists(draw):
    """Chunks that may not fit together, some of which are no chunks."""
    X, y = make_classes(np.random.default_rng(0), [15, 15], 3)
    chunks, start = [], 0
    while start < len(y):
        step = draw(st.integers(1, 20))
        chunk = [X[start : start + step], y[start : start + step]]
        kind = draw(st.sampled_from(["good"] * 8 + ["f4", "narrow", "text", "short", "nan", "odd"]))
        if kind == "f4":
            chunk[0] = chunk[0].astype(np.float32)
        elif kind == "narrow":
            chunk[0] = chunk[0][:, :2]
        elif kind == "text":
            chunk[1] = chunk[1].astype(str)
        elif kind == "short":
            chunk[1] = chunk[1][:-1]
        elif kind == "nan":
            chunk[0] = chunk[0] * np.nan
        chunks.append(draw(st.sampled_from([None, 3, [], (1, 2)])) if kind == "odd" else (*chunk,))
        start += step
    return chunks


@given(chunk_lists(), st.one_of(st.none(), st.lists(st.integers(-1, 3), max_size=4)))
def test_chunks(chunks, classes):
    rows = np.zeros((3, 3))
    check(lambda: CappedLDA().fit_chunks(lambda: iter(chunks), classes=classes), rows)


@given(st.integers(1, 8), st.integers(0, 40))
def test_chunks_that_change_between_passes(pass_, row):
    X, y = make_classes(np.random.default_rng(0), [30, 30], 3)
    calls = []

    def chunks():
        calls.append(None)
        rows = X.copy()
        if len(calls) == pass_:
            rows[row, 1] += 1.0
        yield rows, y

    try:
        model = CappedLDA().fit_chunks(chunks)
    except ValueError as error:
        assert "gives other rows than in the first pass" in str(error)  # noqa: PT017
    else:
        # Never reached in that pass, or before any number was used (the labels are read first).
        assert len(calls) < pass_ or pass_ <= 2 or unchanged(model, X, y)


def unchanged(model, X, y):
    return np.allclose(model.scalings_, CappedLDA().fit(X, y).scalings_, atol=0.1)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("error", [OSError("gone"), RuntimeError("broken"), KeyboardInterrupt()])
def test_an_error_of_the_source_comes_through(n_jobs, error):
    X, y = make_classes(np.random.default_rng(0), [300, 300], 3)

    def chunks():
        yield X, y
        raise error

    with pytest.raises(type(error)):
        CappedLDA(n_jobs=n_jobs).fit_chunks(chunks)
