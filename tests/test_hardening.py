"""Odd inputs give an error that names the place and the remedy, or the right answer."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from common import make_classes

from cappedlda import CappedLDA, CappedLDACV, CappedNormLDA
from cappedlda._data.threads import ordered_map
from cappedlda.paper import compared
from cappedlda.paper.datasets import make_zipf_text

METHODS = [getattr(compared, name) for name in compared.__all__]


@pytest.mark.parametrize("n_rows", [20, 178, 5000])
def test_identical_rows_are_refused_as_all_ones_are(n_rows, rng, dtype):
    X = np.repeat(rng.normal(size=(1, 7)), n_rows, axis=0).astype(dtype)
    y = rng.integers(3, size=n_rows)
    for identical in (X, np.ones_like(X)):
        with pytest.raises(ValueError, match="class means coincide"):
            CappedLDA().fit(identical, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", [CappedLDACV(cv=3), *METHODS])
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
@pytest.mark.parametrize("method", METHODS)
def test_compared_methods_refuse_numbers_out_of_range(method, scale, clean):
    X, y = clean
    with pytest.raises(ValueError, match="powers of which are out of range; scale X"):
        method().fit(X * scale, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scale", [1e-65, 1e65])
@pytest.mark.parametrize("method", METHODS)
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
        with pytest.raises(ValueError, match=f"its {kind} indices are out of range"):
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


def test_a_dead_thread_is_an_error_and_not_waited_for(monkeypatch):
    """As when there is no memory left to tell the executor of an error."""
    monkeypatch.setattr("cappedlda._data.threads.PATIENCE", 0.05)
    monkeypatch.setattr("threading.excepthook", lambda args: None)
    from concurrent.futures import Future

    def no_memory(self, error):
        raise MemoryError

    monkeypatch.setattr(Future, "set_exception", no_memory)
    monkeypatch.setattr("concurrent.futures.thread._base.LOGGER.critical", lambda *args, **_: None)

    def fails(item):
        raise MemoryError

    with pytest.raises(MemoryError, match="a thread of the fit has died"):
        list(ordered_map(fails, range(5), 2))


def test_no_room_for_a_thread_is_a_memory_error(monkeypatch):
    def full(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", full)
    with pytest.raises(MemoryError, match="can't start new thread.*use n_jobs=1"):
        list(ordered_map(abs, range(5), 2))


@pytest.mark.parametrize("value", ["1", None, 1.5])
def test_verbose(value, clean):
    with pytest.raises(TypeError, match=f"verbose={value!r} must be an integer; use 0, 1 or 2"):
        CappedLDA(verbose=value).fit(*clean)


def test_priors_are_rescaled_with_a_warning(clean):
    with pytest.warns(UserWarning, match="The priors do not sum to 1. Renormalizing"):
        lda = CappedLDA(priors=[1.0, 2.0, 1.0]).fit(*clean)
    np.testing.assert_allclose(lda.priors_, [0.25, 0.5, 0.25])
    CappedLDA(priors=[0.333333, 0.333333, 0.333333]).fit(*clean)


@pytest.mark.parametrize(("classes", "message"), [([], "no class"), ([1], "one class only")])
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
