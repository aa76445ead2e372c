"""How often files are read: labels alone, ahead of the compute, once with a cache."""

import errno
import gc
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from common import make_classes, spoil

import cappedlda
from cappedlda._data import chunk_cache
from cappedlda._data.chunks import ChunkRows
from cappedlda._data.threads import read_ahead
from cappedlda._regime import Regime
from cappedlda.sources import NpyFolder, NpzFolder, ParquetFolder

FITTED = ["classes_", "priors_", "means_", "scalings_", "coef_", "intercept_", "caps_"]
# Slabs of 256 rows and a sample of 250, so that 2,000 rows are many.
SMALL = Regime(slab_elements=1, least_slab_rows=256, least_sample_rows=250)


class CappedLDA(cappedlda.CappedLDA):
    _regime = SMALL


@pytest.fixture
def rows(rng):
    """Three classes with 8 % of the rows far off: X (2000, 5), y, weights."""
    X, y = make_classes(rng, [1200, 770, 30], 5)
    return spoil(rng, X, rng.random(2000) < 0.08), y, rng.integers(3, size=2000).astype(float)


def assert_same_model(model, expected):
    for name in FITTED:
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name), name)


class Counted:
    """A source of chunks that counts how often rows and labels are read."""

    def __init__(self, *arrays, size=300):
        self.arrays, self.size = arrays, size
        self.n_reads = 0

    def __call__(self):
        self.n_reads += 1
        for start in range(0, len(self.arrays[0]), self.size):
            yield tuple(array[start : start + self.size] for array in self.arrays)


@pytest.fixture
def parquet(rows, tmp_path):
    X, y, weight = rows
    for part, some in enumerate(np.array_split(np.arange(2000), 3)):
        frame = pd.DataFrame(X[some], columns=list("abcde"))
        frame = frame.assign(y=y[some], w=weight[some])
        frame.to_parquet(tmp_path / f"part{part}.parquet", row_group_size=170)
        np.savez(tmp_path / f"part{part}.npz", X=X[some], y=y[some], w=weight[some])
        for name, values in (("X", X), ("y", y), ("w", weight)):
            np.save(tmp_path / f"{name}{part}.npy", values[some])
    return tmp_path


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labels", ["numbers", "words"])
def test_a_cache_reads_the_source_once_and_changes_nothing(
    rows, tmp_path, n_jobs, weighted, labels
):
    X, y, weight = rows
    y = y if labels == "numbers" else np.array(["red", "green", "a long name"])[y]
    arrays = (X, y, weight) if weighted else (X, y)
    expected = CappedLDA(n_jobs=n_jobs).fit(*arrays)
    source = Counted(*arrays)
    model = CappedLDA(n_jobs=n_jobs).fit_chunks(source, cache=tmp_path)
    assert source.n_reads == 1
    assert_same_model(model, expected)


def test_a_fit_without_a_cache_reads_the_rows_once_for_each_step(rows):
    X, y, _ = rows
    source = Counted(X, y)
    CappedLDA().fit_chunks(source)
    assert source.n_reads == 4  # labels, sample, support, evaluation


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_a_cache_keeps_numbers_of_any_type(rows, dtype):
    X, y, _ = rows
    X = (10 * X).astype(dtype)
    model = CappedLDA().fit_chunks(Counted(X, y), cache=True)
    assert_same_model(model, CappedLDA().fit(X, y))


@pytest.fixture
def files(spy):
    """All files that a cache has made."""
    return spy(chunk_cache, "TemporaryFile").results


def living_maps():
    """Memory maps that somebody still holds."""
    return [held for held in gc.get_objects() if issubclass(type(held), np.memmap)]


def test_living_maps_are_found(tmp_path):
    held = np.memmap(tmp_path / "numbers", np.int32, "w+", shape=3)
    assert any(found is held for found in living_maps())


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_left_of_a_cache(rows, tmp_path, files, fails):
    X, y, _ = rows
    n_maps = len(living_maps())
    if fails:
        X = X.copy()
        X[1234, 2] = np.nan
        with pytest.raises(ValueError, match="chunk 4 contains NaN, .* in its row 34, column 2"):
            CappedLDA().fit_chunks(Counted(X, y), cache=tmp_path)
    else:
        CappedLDA().fit_chunks(Counted(X, y), cache=tmp_path)
    assert len(files) == 3
    assert all(file.closed for file in files)
    assert list(tmp_path.iterdir()) == []
    assert len(living_maps()) == n_maps


def test_a_full_disk_is_an_error_that_says_what_to_do(rows, tmp_path, monkeypatch):
    X, y, _ = rows

    class Full:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def write(self, numbers):
            if len(numbers) > 4000:
                raise OSError(errno.ENOSPC, "no space")
            return len(numbers)

    monkeypatch.setattr(chunk_cache, "TemporaryFile", lambda **_: Full())
    lda = CappedLDA()
    with pytest.raises(OSError, match="do not fit into a cache in .*; name a folder") as caught:
        lda.fit_chunks(Counted(X, y), cache=tmp_path)
    assert caught.value.errno == errno.ENOSPC
    assert not hasattr(lda, "coef_")


def test_what_is_written_in_parts_is_written_whole(rows, tmp_path, monkeypatch):
    X, y, _ = rows
    temporary_file = chunk_cache.TemporaryFile

    class Slow:
        def __init__(self, **options):
            self._file = temporary_file(**options)
            self.fileno, self.seek, self.tell = (
                self._file.fileno,
                self._file.seek,
                self._file.tell,
            )

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self._file.close()

        def write(self, numbers):
            return self._file.write(numbers[:1000])

        def read(self, *size):
            return self._file.read(*size)

    monkeypatch.setattr(chunk_cache, "TemporaryFile", Slow)
    model = CappedLDA().fit_chunks(Counted(X, y), cache=tmp_path)
    assert_same_model(model, CappedLDA().fit(X, y))


@pytest.mark.parametrize(
    ("cache", "message"),
    [
        (3, "cache=3 must be True, False or"),
        ("nowhere", "cache='nowhere' is not a folder; make it"),
    ],
)
def test_a_bad_cache_is_named(rows, cache, message):
    X, y, _ = rows
    with pytest.raises((TypeError, ValueError), match=message):
        CappedLDA().fit_chunks(Counted(X, y), cache=cache)


def test_labels_are_read_without_the_rows(rows, parquet):
    _, y, weight = rows
    for source in (
        ParquetFolder(parquet, "y", sample_weight="w"),
        NpzFolder(parquet, sample_weight="w"),
        NpyFolder(parquet, sample_weight="w*.npy"),
    ):
        chunks = list(source.read_labels())
        assert all(chunk.X is None for chunk in chunks)
        np.testing.assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), y)
        weights = np.concatenate([chunk.sample_weight for chunk in chunks])
        np.testing.assert_array_equal(weights, weight)


def test_a_source_of_ones_own_may_read_labels_alone(rows):
    class Own(Counted):
        def read_labels(self):
            for start in range(0, 2000, 700):
                yield None, *(array[start : start + 700] for array in self.arrays[1:])

    source = Own(*rows)
    assert_same_model(CappedLDA().fit_chunks(source), CappedLDA().fit(*rows))
    assert source.n_reads == 4  # the first chunk for its features, then three times all


def test_labels_that_differ_from_those_of_the_rows_are_detected(rows):
    X, y, _ = rows

    class Other(Counted):
        def read_labels(self):
            yield None, y[:-1]

    with pytest.raises(ValueError, match="gives other rows than in the first pass: the number"):
        CappedLDA().fit_chunks(Other(X, y))


def test_a_folder_is_read_ahead_and_no_thread_is_left(rows, parquet):
    n_threads = threading.active_count()
    source = ParquetFolder(parquet, "y", list("abcde"), batch_rows=100)
    chunks = source()
    first = next(chunks)
    np.testing.assert_array_equal(first.X, rows[0][:100])
    assert threading.active_count() == n_threads + 1
    chunks.close()
    assert threading.active_count() == n_threads


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_thread_is_left_by_a_fit_that_fails(rows, tmp_path, n_jobs):
    X, y, _ = rows
    X[300] = np.inf
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=y)
    frame.to_parquet(tmp_path / "rows.parquet")
    n_threads = threading.active_count()
    with pytest.raises(ValueError, match="infinity, first in its row 0, column 'a'") as caught:
        CappedLDA(n_jobs=n_jobs).fit_chunks(ParquetFolder(tmp_path, "y", batch_rows=100))
    assert caught.tb is not None  # while somebody looks at the error
    assert threading.active_count() == n_threads


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_thread_is_left_by_a_job_that_fails(rows, parquet, n_jobs):
    source = ParquetFolder(parquet, "y", list("abcde"), batch_rows=100)
    chunks, n_threads = ChunkRows(source, n_jobs=n_jobs, regime=SMALL), threading.active_count()

    def broken(*slab):
        raise OSError("broken")

    with pytest.raises(OSError, match="broken") as caught:
        chunks.reduce(broken)
    assert caught.tb is not None
    assert threading.active_count() == n_threads


def test_what_is_read_ahead_is_bounded_and_in_order():
    asked = []

    def numbers():
        for i in range(10):
            asked.append(i)
            yield i

    items = read_ahead(numbers(), depth=2)
    assert next(items) == 0
    items_after = [next(items) for _ in range(3)]
    assert items_after == [1, 2, 3]
    assert max(asked) <= 6
    assert list(items) == [4, 5, 6, 7, 8, 9]
    assert list(read_ahead([])) == []


def test_an_error_of_what_is_read_ahead_comes_in_its_place():
    def broken():
        yield 1
        raise OSError("gone")

    items = read_ahead(broken())
    assert next(items) == 1
    with pytest.raises(OSError, match="gone"):
        next(items)


@pytest.mark.parametrize("kind", ["float32", "integers", "mixed"])
def test_parquet_of_any_numbers_gives_what_its_array_gives(rows, tmp_path, kind):
    X, y, _ = rows
    frame = pd.DataFrame(10 * X, columns=list("abcde"))
    if kind == "float32":
        frame = frame.astype(np.float32)
    elif kind == "integers":
        frame = frame.round().astype(np.int32)
    else:
        frame = frame.astype({"a": np.float32, "b": np.int64, "c": np.int8}, errors="ignore")
    frame.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    model = CappedLDA().fit_chunks(ParquetFolder(tmp_path, "y", batch_rows=333))
    assert_same_model(model, CappedLDA().fit(frame, y))


def test_gaps_and_words_in_parquet_are_named(rows, tmp_path):
    X, y, _ = rows
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=y)
    frame.loc[700, "b"] = None
    frame.to_parquet(tmp_path / "rows.parquet")
    source = ParquetFolder(tmp_path, "y", batch_rows=500)
    with pytest.raises(ValueError, match=r"chunk 1 \(rows.parquet, batch 1\) .* in its row 200"):
        CappedLDA().fit_chunks(source)
    frame.assign(b="word").to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="X has text in the columns 'b'"):
        CappedLDA().fit_chunks(source)


def test_columns_that_parquet_lacks_are_named(rows, parquet):
    with pytest.raises(ValueError, match=r"part0.parquet has the columns .* not \['z'\]"):
        CappedLDA().fit_chunks(ParquetFolder(parquet, "z"))
    with pytest.raises(ValueError, match=r"part0.parquet has the columns .* not \['v'\]"):
        CappedLDA().fit_chunks(ParquetFolder(parquet, "y", list("av")))
    with pytest.raises(ValueError, match="X of chunk 0 .* has no features"):
        CappedLDA().fit_chunks(ParquetFolder(parquet, "y", []))


def test_measured_chunks_of_parquet(rows, parquet):
    X, y, _ = rows
    source = ParquetFolder(parquet, "y", list("abcde"))
    found = [
        samples.outliers
        for samples in CappedLDA().fit(X, y).fit_chunks(source).measure_chunks(source)
    ]
    np.testing.assert_array_equal(np.concatenate(found), CappedLDA().fit(X, y).outliers_)


@pytest.mark.parametrize(("read_only", "copied"), [(True, False), (False, True)])
def test_rows_that_nobody_can_write_to_are_not_copied(rows, read_only, copied):
    X, y, _ = rows
    X = X.copy()
    X.flags.writeable = not read_only
    chunks = ChunkRows(Counted(X, y, size=1024), n_jobs=2, regime=SMALL)
    slabs = [slab for _, slab in chunks._slabs()]
    assert np.shares_memory(slabs[0].X, X) != copied
    np.testing.assert_array_equal(np.concatenate([slab.X for slab in slabs]), X)


@pytest.mark.parametrize("size", [37, 256, 300, 2000])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_slabs_are_cut_as_those_of_an_array(rows, size, n_jobs):
    X, y, weight = rows
    chunks = ChunkRows(Counted(X, y, weight, size=size), n_jobs=n_jobs, regime=SMALL)
    starts, slabs = zip(*chunks._slabs(), strict=True)
    assert list(starts) == list(range(0, 2000, chunks.slab_rows))
    parts = zip(*((slab.X, slab.codes, slab.sample_weight) for slab in slabs), strict=True)
    for part, expected in zip(parts, (X, y, weight), strict=True):
        np.testing.assert_array_equal(np.concatenate(part), expected)


def test_parquet_needs_pyarrow(without, parquet):
    without("pyarrow")
    with pytest.raises(ImportError, match="ParquetFolder needs pyarrow"):
        ParquetFolder(Path(parquet), "y")()
