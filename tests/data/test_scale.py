"""The same answer everywhere: rows in memory, mapped, in files, in chunks.

These adapters cut rows into the same slabs as arrays and add in the same order, so that
the results are equal bit for bit; dask, which cuts elsewhere, has test_dask.py.
"""

import pickle

import h5py
import numpy as np
import pandas as pd
import pytest
import zarr
from common import make_classes
from sklearn.base import clone

import cappedlda
from cappedlda import load_model, save_model
from cappedlda._data import progress
from cappedlda._data.array import ArrayRows
from cappedlda._data.chunks import ChunkRows
from cappedlda._data.jobs import histograms_of
from cappedlda._data.kinds import kind_of
from cappedlda._regime import Regime
from cappedlda._rules.fences import quantiles
from cappedlda.sources import Chunk, NpyFolder, NpzFolder, ParquetFolder

FITTED = ["classes_", "priors_", "means_", "xbar_", "scalings_", "explained_variance_ratio_"]
FITTED += ["coef_", "intercept_", "epsilon_", "caps_", "objective_path_", "n_iter_", "n_passes_"]
# Slabs of 256 rows and a sample of 250, so that 2,000 rows are many.
SMALL = Regime(slab_elements=1, least_slab_rows=256, least_sample_rows=250)


class CappedLDA(cappedlda.CappedLDA):
    _regime = SMALL


class CappedLDACV(cappedlda.CappedLDACV):
    _regime = SMALL


class CappedNormLDA(cappedlda.CappedNormLDA):
    _regime = SMALL


class CLDA(cappedlda.paper.CLDA):
    _regime = SMALL


ESTIMATORS = [
    CappedLDA(),
    CappedLDA(epsilon=3.0),
    CappedLDA(epsilon=np.inf),
    CappedNormLDA(),
    CappedNormLDA(q=2.0),
    CappedNormLDA(centres="mean"),
    CappedNormLDA(start="lda"),
    CLDA(epsilon=1e3),
]


@pytest.fixture(params=["unweighted", "weighted"])
def data(request, rows):
    X, y, weight = rows
    return X, y, weight if request.param == "weighted" else None


def chunks_of(cuts, *arrays):
    """A function that gives the rows in chunks cut at some places."""
    arrays = [array for array in arrays if array is not None]
    edges = [0, *cuts, len(arrays[0])]
    pieces = [slice(*edge) for edge in zip(edges, edges[1:], strict=False)]
    return lambda: (tuple(array[piece] for array in arrays) for piece in pieces)


def assert_same_model(model, expected):
    for name in FITTED:
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name), name)


def assert_same_samples(model, expected):
    for name in ("distances_", "weights_", "outliers_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name), name)


class Sliced:
    """The least that an array on a disk can do."""

    def __init__(self, X):
        self._X = X
        self.shape, self.dtype = X.shape, X.dtype
        self.largest = 0

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        part = self._X[rows]
        self.largest = max(self.largest, len(part))
        return part


def stored(kind, X, folder):
    if kind == "memmap":
        np.save(folder / "X.npy", X)
        return np.load(folder / "X.npy", mmap_mode="r")
    if kind == "h5py":
        return h5py.File(folder / "X.h5", "w").create_dataset("X", data=X, chunks=(90, 2))
    if kind == "zarr":
        array = zarr.create_array(folder / "X", shape=X.shape, dtype=X.dtype, chunks=(77, 5))
        array[:] = X
        return array
    return Sliced(X)


@pytest.mark.parametrize("kind", ["memmap", "h5py", "zarr", "sliced"])
@pytest.mark.parametrize("estimator", ESTIMATORS[:4], ids=str)
def test_stored_arrays_give_what_arrays_give(data, tmp_path, kind, estimator):
    X, y, weight = data
    expected = clone(estimator).fit(X, y, weight)
    X = stored(kind, X, tmp_path)
    model = clone(estimator).fit(X, y, weight)
    assert_same_model(model, expected)
    assert_same_samples(model, expected)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_stored_arrays_are_never_read_as_a_whole(rows, n_jobs):
    X, y, _ = rows
    X = Sliced(X)
    model = CappedLDA(n_jobs=n_jobs).fit(X, y)
    for predicted in (model.transform(X), model.predict(X), model.outlyingness(X, y)):
        assert len(predicted) == 2000
    assert 0 < X.largest <= 256


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.float16, ">f8"])
def test_numbers_of_any_type_are_converted_slab_by_slab(rows, tmp_path, dtype):
    X, y, _ = rows
    X = (10 * X).astype(dtype)
    expected = CappedLDA().fit(X, y)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert (kind_of(mapped) == "sliced") == (X.dtype != np.float32)
    for source in (mapped, Sliced(X)):
        assert_same_model(CappedLDA().fit(source, y), expected)


def test_few_rows_and_more_features_than_rows_are_loaded(rng, tmp_path):
    X, y = make_classes(rng, [20, 15, 15], 80)
    expected = CappedLDA().fit(X, y)
    assert_same_model(CappedLDA().fit(Sliced(X), y), expected)
    assert_same_model(CappedLDA().fit_chunks(chunks_of([7, 30], X, y)), expected)


def test_cross_validation_takes_stored_arrays(rows):
    X, y, _ = rows
    settings = {"multipliers": (1.0, 2.0), "cv": 2}
    expected = CappedLDACV(**settings).fit(X, y)
    assert_same_model(CappedLDACV(**settings).fit(Sliced(X), y), expected)
    with pytest.raises(TypeError, match="cannot cut chunks into folds"):
        CappedLDACV(**settings).fit_chunks(chunks_of([], X, y))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_chunks_give_what_arrays_give(data, estimator):
    X, y, weight = data
    expected = clone(estimator).fit(X, y, weight)
    # Whole; odd sizes with empty chunks and single rows; many.
    for cuts in ([], [0, 1, 1, 2, 257, 700, 1999], range(61, 2000, 61)):
        model = clone(estimator).fit_chunks(chunks_of(cuts, X, y, weight))
        assert_same_model(model, expected)
        assert not hasattr(model, "outliers_")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_chunks_of_few_slabs_give_what_arrays_give(rows, n_jobs):
    X, y, _ = rows
    X, y = X[::2], y[::2]
    assert ArrayRows(X, y, 3, regime=SMALL).slab_rows == 250
    expected = CappedLDA(n_jobs=n_jobs).fit(X, y)
    for cuts in ([], [256, 300, 777]):
        model = CappedLDA(n_jobs=n_jobs).fit_chunks(chunks_of(cuts, X, y))
        assert_same_model(model, expected)


def test_results_per_sample_are_streamed_on_request(rows):
    X, y, _ = rows
    make_chunks = chunks_of([100, 100, 1500], X, y)
    model = CappedLDA().fit(X, y)
    expected = model.distances_, model.weights_, model.outliers_, model.left_out_
    model.fit_chunks(make_chunks)
    assert not hasattr(model, "distances_")  # not those of the fit before
    found = list(model.measure_chunks(make_chunks))
    assert [len(samples.outliers) for samples in found] == [100, 1400, 500]
    distances, weights, *masks = (np.concatenate(part) for part in zip(*found, strict=True))
    np.testing.assert_allclose(distances, expected[0], rtol=1e-10)
    np.testing.assert_allclose(weights, expected[1], rtol=1e-10)
    np.testing.assert_array_equal(masks, expected[2:])


@pytest.mark.parametrize("name", ["distances_", "weights_", "outliers_", "left_out_"])
def test_what_chunks_do_not_keep_is_an_error_that_says_where_it_is(rows, tmp_path, name):
    X, y, _ = rows
    message = f"no {name}: fit_chunks, a model file and a fit to Spark keep .* Use measure_chunks"
    model = cappedlda.CappedLDA().fit_chunks(lambda: [(X, y)])
    save_model(model, tmp_path / "model.npz")
    for lacking in (model, load_model(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))):
        with pytest.raises(AttributeError, match=message):
            getattr(lacking, name)
    with pytest.raises(AttributeError, match=f"'CappedLDA' object has no attribute '{name}'"):
        getattr(CappedLDA(), name)  # not fitted


def test_chunks_are_measured_by_the_names_of_their_features(rows):
    X, y, _ = rows
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = CappedLDA().fit_chunks(chunks_of([600], frame, y))
    flagged = sum(samples.outliers.sum() for samples in model.measure_chunks(lambda: [(frame, y)]))
    assert flagged == CappedLDA().fit(X, y).outliers_.sum()
    with pytest.raises(ValueError, match="feature names"):
        list(model.measure_chunks(lambda: [(frame[list("edcba")], y)]))


def test_chunks_may_be_lists(rows):
    X, y, _ = rows
    model = CappedLDA().fit_chunks(lambda: [(X.tolist(), y.tolist())])
    assert_same_model(model, CappedLDA().fit(X, y))


def test_names_of_features_come_from_frames(rows):
    X, y, _ = rows
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = CappedLDA().fit_chunks(chunks_of([600], frame, y))
    assert model.feature_names_in_.tolist() == list("abcde")
    with pytest.raises(ValueError, match=r"chunk 1 has feature names .*'e', 'd'.*first"):
        CappedLDA().fit_chunks(lambda: iter([(frame, y), (frame[list("abced")], y)]))


def test_labels_are_words_too(rows):
    X, y, _ = rows
    names = np.array(["red", "green", "a long name"])[y]
    expected = CappedLDA().fit(X, names)
    for labels in (names, names.astype(object)):
        model = CappedLDA().fit_chunks(chunks_of([5, 900], X, labels))
        assert_same_model(model, expected)


BAD_CHUNKS = {
    "width": (lambda X, y, w: (X[:, :3], y, w), "chunk 1 has n_features 3, but the first .* 5"),
    "dtype": (lambda X, y, w: (X.astype("f4"), y, w), "chunk 1 has dtype float32, .* float64"),
    "label": (lambda X, y, w: (X, np.full_like(y, 7), w), r"y of chunk 1 has unknown labels \[7\]"),
    "NaN": (lambda X, y, w: (np.where(X[3, 2] == X, np.nan, X), y, w), "X of chunk 1 .* row 3"),
    "infinity": (lambda X, y, w: (np.where(X[2, 2] == X, np.inf, X), y, w), "chunk 1 .* row 2"),
    "numbers": (lambda X, y, w: (X, y + 0.5, w), "chunk 1 has type of y numbers, .* integers"),
    "one dimension": (lambda X, y, w: (X[:, 0], y, w), "X of chunk 1 has 1 dimensions"),
    "length": (lambda X, y, w: (X[1:], y, w), "y of chunk 1 has 100 entries for 99 rows"),
    "weights": (lambda X, y, w: (X, y, w[1:]), "sample_weight of chunk 1 has 99 entries"),
    "negative": (lambda X, y, w: (X, y, w - 5), "sample_weight of chunk 1 has negative"),
    "unweighted": (lambda X, y, w: (X, y), "chunk 1 has sample_weight none, .* given"),
    "list": (lambda X, y, w: [X, y, w], "chunk 1 is a list; give a tuple"),
    "named": (lambda X, y, w: Chunk(X[:, 1:], y, w, "b.npz"), r"chunk 1 \(b.npz\) has n_features"),
}


MISSING = {
    "NaN": ([0.0, 1.0, 0.0], [1.0, np.nan, 0.0]),
    "None": (["a", "b", "a"], ["b", None, "a"]),
    "NaN among words": (["a", "b", "a"], ["b", np.nan, "a"]),
    "NA": (["a", "b", "a"], ["b", pd.NA, "a"]),
}


@pytest.mark.parametrize("case", MISSING)
def test_missing_labels_are_named(rng, case):
    labels = [np.array(part, None if case == "NaN" else object) for part in MISSING[case]]
    X = rng.normal(size=(3, 2))
    with pytest.raises(ValueError, match=r"y of chunk 1 has missing labels, .* in its row 1 \("):
        CappedLDA().fit_chunks(lambda: [(X, part) for part in labels])


def test_labels_of_several_types_are_named(rng):
    labels, X = np.array(["a", 1, "a"], object), rng.normal(size=(3, 2))
    with pytest.raises(ValueError, match="y of chunk 0 has labels of several types"):
        CappedLDA().fit_chunks(lambda: [(X, labels)])


@pytest.mark.parametrize("case", BAD_CHUNKS)
def test_bad_chunks_are_named(rows, case):
    spoil_chunk, message = BAD_CHUNKS[case]
    parts = [tuple(array[some] for array in rows) for some in (slice(0, 900), slice(900, 1000))]
    with pytest.raises((ValueError, TypeError), match=message):
        CappedLDA().fit_chunks(lambda: iter([parts[0], spoil_chunk(*parts[1])]), classes=[0, 1, 2])


def test_classes_that_are_announced_must_come(rows):
    X, y, _ = rows
    make_chunks = chunks_of([900], X, y)
    expected = CappedLDA().fit_chunks(make_chunks)
    assert_same_model(CappedLDA().fit_chunks(make_chunks, classes=[2, 1, 0]), expected)
    with pytest.raises(ValueError, match=r"has \[3\], but no row has that class"):
        CappedLDA().fit_chunks(make_chunks, classes=[0, 1, 2, 3])


def test_sources_that_give_nothing_to_fit(rows):
    X, y, weight = rows
    with pytest.raises(TypeError, match="make_chunks is a list; give a function"):
        CappedLDA().fit_chunks([(X, y)])
    with pytest.raises(ValueError, match="gave no rows"):
        CappedLDA().fit_chunks(lambda: iter([(X[:0], y[:0])]))
    with pytest.raises(ValueError, match="only one class"):
        CappedLDA().fit_chunks(chunks_of([], X[y == 1], y[y == 1]))
    with pytest.raises(ValueError, match=r"every row of the classes \[1\]"):
        CappedLDA().fit_chunks(chunks_of([], X, y, np.where(y == 1, 0.0, weight)))


def changed(what, X, y, weight):
    X, y, weight = X.copy(), y.copy(), weight.copy()
    if what == "value":
        X[1234, 3] += 1e-9
    elif what == "weight":
        weight[77] += 1.0
    elif what == "label":
        y[np.argmax(y == 1)] = 0
    elif what == "pairs":  # the same rows and labels, but not together
        y = np.roll(y, 1)
    elif what == "columns":
        X[:, [1, 3]] = X[:, [3, 1]]
    elif what == "exchanged":  # rows of the same class have exchanged a number
        some = np.flatnonzero(y == 1)[[3, 300]]
        X[some, 2] = X[some[::-1], 2]
    else:
        return X[:-1], y[:-1], weight[:-1]
    return X, y, weight


CHANGES = ["value", "weight", "label", "pairs", "columns", "exchanged", "count"]


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("passes", [1, 2, 3])
def test_a_source_that_changes_is_detected(rows, what, passes):
    if passes == 1 and what not in ("weight", "label", "count"):
        passes = 2  # the first pass reads no X
    made = []

    def make_chunks():
        made.append(1)
        arrays = rows if len(made) <= passes else changed(what, *rows)
        return chunks_of([300, 1100], *arrays)()

    with pytest.raises(ValueError, match="other rows than in the first pass"):
        CappedLDA().fit_chunks(make_chunks)


def test_a_row_that_changes_in_the_last_pass_only_is_detected(rows):
    X, y, weight = rows
    n_passes = []
    CappedLDA().fit_chunks(lambda: n_passes.append(1) or chunks_of([300], X, y)())
    for row in range(1234, 1238):  # other passes recognise a quarter of the rows
        spoiled, made = X.copy(), []
        spoiled[row, 2] += 1e-9

        def make_chunks(spoiled=spoiled, made=made):
            made.append(1)
            return chunks_of([300], X if len(made) < len(n_passes) else spoiled, y)()

        with pytest.raises(ValueError, match="other rows than in the first pass"):
            CappedLDA().fit_chunks(make_chunks)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("size", [50, 600])
def test_a_source_may_use_its_memory_again(rows, n_jobs, size):
    X, y, _ = rows
    expected = CappedLDA(n_jobs=n_jobs).fit(X, y)

    def make_chunks():
        memory = np.empty((size, 5))
        for start in range(0, 2000, size):
            part = memory[: len(X) - start]
            part[:] = X[start : start + size]
            yield part, y[start : start + size]
            memory[:] = np.nan

    assert_same_model(CappedLDA(n_jobs=n_jobs).fit_chunks(make_chunks), expected)


def test_only_some_slabs_of_chunks_are_in_memory(rows):
    X, y, _ = rows
    rows = ChunkRows(chunks_of(range(100, 2000, 100), X, y), n_jobs=2, regime=SMALL)
    begun = []

    def fail(X, *_):
        begun.append(len(X))
        raise OSError("broken")

    with pytest.raises(OSError, match="broken"):
        rows.reduce(fail)
    assert len(begun) <= 6
    assert max(begun) <= 256


@pytest.fixture
def folder(rows, tmp_path):
    """The rows in five parts of .npy, .npz and Parquet files."""
    X, y, weight = rows
    for part, some in enumerate(np.array_split(np.arange(2000), 5)):
        names = {"X": X[some], "y": y[some], "w": weight[some]}
        for name, values in names.items():
            np.save(tmp_path / f"{name}{part}.npy", values)
        np.savez(tmp_path / f"part{part}.npz", **names)
        frame = pd.DataFrame(X[some], columns=list("abcde"))
        frame.assign(y=y[some], w=weight[some]).to_parquet(tmp_path / f"part{part}.parquet")
    return tmp_path


@pytest.mark.parametrize("kind", ["npy", "npz", "parquet"])
@pytest.mark.parametrize("weighted", [False, True])
def test_folders_of_files_are_sources(rows, folder, kind, weighted):
    X, y, weight = rows
    expected = CappedLDA().fit(X, y, weight if weighted else None)
    if kind == "npy":
        source = NpyFolder(folder, sample_weight="w*.npy" if weighted else None)
    elif kind == "npz":
        source = NpzFolder(folder, sample_weight="w" if weighted else None)
    else:
        features = None if weighted else list("abcde")
        source = ParquetFolder(folder, "y", features, "w" if weighted else None, batch_rows=150)
    model = CappedLDA().fit_chunks(source)
    assert_same_model(model, expected)
    if kind == "parquet":
        assert model.feature_names_in_.tolist() == list("abcde")
        frame = pd.DataFrame(X[:10], columns=list("abcde"))
        np.testing.assert_array_equal(model.predict(frame), expected.predict(X[:10]))


def test_folders_say_what_is_wrong_with_them(folder):
    for source in (NpyFolder, NpzFolder):
        with pytest.raises(FileNotFoundError, match=r"nowhere has no file .*\.np"):
            source(folder / "nowhere")()
    with pytest.raises(ValueError, match=r"part0.npz has the arrays .*'y'.* not \['z'\]"):
        next(NpzFolder(folder, y="z")())
    with pytest.raises(ValueError, match=r"part0.parquet has the columns .* not \['z'\]"):
        next(ParquetFolder(folder, "z")())
    (folder / "part2.npz").write_bytes(b"not a zip file")
    with pytest.raises(ValueError, match=r"part2.npz cannot be read"):
        list(NpzFolder(folder)())
    np.save(folder / "y4.npy", np.zeros(3))
    with pytest.raises(ValueError, match=r"X4.npy 400, y4.npy 3"):
        list(NpyFolder(folder)())
    np.save(folder / "y4.npy", np.array(["an object"], dtype=object))
    with pytest.raises(ValueError, match=r"y4.npy cannot be read"):
        list(NpyFolder(folder)())
    (folder / "y4.npy").unlink()
    with pytest.raises(ValueError, match=r"has 5 X\*.npy, 4 y\*.npy"):
        NpyFolder(folder)()


def test_bad_stored_arrays_have_clear_errors(rows):
    X, y, _ = rows
    X[1500, 2] = np.nan
    with pytest.raises(ValueError, match="X contains NaN, first in row 1500, column 2"):
        CappedLDA().fit(Sliced(X), y)
    with pytest.raises(TypeError, match="X has the type complex128; give real numbers"):
        CappedLDA().fit(Sliced(X.astype(complex)), y)
    with pytest.raises(ValueError, match="X has 1 rows; a fit needs at least 2"):
        CappedLDA().fit(Sliced(X[:1]), y[:1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        CappedLDA().fit(Sliced(X), y[1:])


@pytest.mark.parametrize("level", [0.25, 0.5])
def test_quantiles_of_histograms_are_within_a_bin_of_the_exact_ones(rng, level):
    for _ in range(50):
        size = rng.integers(40, 3000)
        distances = 10.0 ** rng.uniform(-3, 3) * rng.gamma(rng.uniform(0.3, 9), size=size)
        halves = np.array_split(distances, rng.integers(1, 5))
        histograms = sum(histograms_of(d, np.zeros(len(d), np.int32), 1) for d in halves)
        found = quantiles(histograms, [level])[0][0, 0]
        # The two order statistics around the quantile, and a bin, 1/32, beyond them.
        low, high = (
            np.quantile(distances, level, method="lower"),
            np.quantile(distances, level, method="higher"),
        )
        assert low * (1 - 1 / 32) <= found <= high * (1 + 1 / 32)


@pytest.mark.parametrize("kind", ["array", "memmap", "chunks"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_within_a_pass_is_shown_on_request(
    rows, tmp_path, capsys, monkeypatch, kind, n_jobs
):
    X, y, _ = rows

    def printed(verbose):
        model = CappedLDA(verbose=verbose, n_jobs=n_jobs)
        if kind == "chunks":
            model.fit_chunks(chunks_of([300], X, y))
        else:
            model.fit(X if kind == "array" else stored(kind, X, tmp_path), y)
        return capsys.readouterr().out

    assert "of 2,000 rows" not in printed(2)  # a short pass has nothing to tell
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    assert "of 2,000 rows" not in printed(1)
    lines = [line for line in printed(2).splitlines() if "of 2,000 rows" in line]
    assert [line.split(" time")[0].strip() for line in lines[:7]] == [
        f"{done:,} of 2,000 rows ({done / 2000:.0%})" for done in range(256, 2000, 256)
    ]
    assert len(lines) % 7 == 0
    assert len(lines) >= 14
