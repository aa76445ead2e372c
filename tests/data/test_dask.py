"""dask arrays and frames: the answer of an array in memory, on threads and on a cluster."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from common import angle, make_classes
from dask.callbacks import Callback
from distributed import Client, wait
from sklearn.base import clone

import cappedlda
from cappedlda import CappedLDACV
from cappedlda._data import dask as dask_module
from cappedlda._data.blocks import without_samples
from cappedlda._data.dask import DaskRows
from cappedlda._regime import REGIME, Regime
from cappedlda.paper import CLDA
from cappedlda.paper.compared import LDA

# The blocks are added in another order than the slabs of an array. The rounding that makes
# differ, 1e-15, is far below this.
SAME = 1e-6
BLOCKS = (700, 1, 0, 299, 1000)


class CappedLDA(cappedlda.CappedLDA):
    _regime = Regime(least_sample_rows=250)


class CappedNormLDA(cappedlda.CappedNormLDA):
    _regime = Regime(least_sample_rows=250)


ESTIMATORS = [
    CappedLDA(),
    CappedLDA(epsilon=3.0),
    CappedNormLDA(q=2.0),
    CappedNormLDA(centres="mean"),
    CLDA(epsilon=1e3),
]


@pytest.fixture(scope="module")
def cluster():
    """Two processes on this machine."""
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "600s"}),
        Client(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # any port: other tests may run beside these
            set_as_default=False,
        ) as client,
    ):
        yield client


@pytest.fixture
def client(cluster):
    """The cluster, in use for this test only."""
    with cluster.as_current(), dask.config.set(scheduler=cluster):
        yield cluster


def lazy(array, blocks=BLOCKS):
    return da.from_array(array, chunks=(blocks, *(-1 for _ in array.shape[1:])))


def assert_same(model, expected):
    assert angle(model.scalings_, expected.scalings_) < SAME
    for name in ("means_", "coef_", "intercept_", "epsilon_", "caps_", "priors_"):
        value = getattr(expected, name)
        size = np.max(np.abs(value))
        np.testing.assert_allclose(getattr(model, name), value, rtol=SAME, atol=SAME * size)
    assert isinstance(model.outliers_, da.Array)
    np.testing.assert_array_equal(model.outliers_.compute(), expected.outliers_)
    for name in ("distances_", "weights_"):
        found = getattr(model, name)
        assert found.shape == getattr(expected, name).shape
        np.testing.assert_allclose(found.compute(), getattr(expected, name), rtol=SAME)
    np.testing.assert_array_equal(model.classes_, expected.classes_)
    assert (model.n_passes_, model.n_iter_) == (expected.n_passes_, expected.n_iter_)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_threads_give_what_arrays_give(rows, estimator, weighted):
    X, y, weight = rows
    weight = weight if weighted else None
    expected = clone(estimator).fit(X, y, weight)
    lazy_weight = None if weight is None else lazy(weight, (1500, 500))
    model = clone(estimator).fit(lazy(X), lazy(y, (2, 1998)), lazy_weight)
    assert_same(model, expected)


@pytest.mark.parametrize("blocks", [(2000,), (20,) * 100])
def test_blocks_may_be_one_or_many(rows, blocks):
    X, y, weight = rows
    assert_same(CappedLDA().fit(lazy(X, blocks), y, weight), CappedLDA().fit(X, y, weight))


def test_few_rows_and_more_features_than_rows(rng):
    for n in (4, 90):
        X, y = make_classes(rng, [20, 15, 15], n)
        expected = CappedLDA().fit(X, y)
        assert_same(CappedLDA().fit(lazy(X, (30, 20)), lazy(y, (30, 20))), expected)


def test_other_types_of_numbers_and_labels(rows):
    X, y, _ = rows
    names = np.array(["red", "green", "a long name"])[y]
    for Z in (X.astype(np.float32), (10 * X).astype(int)):
        expected = CappedLDA().fit(Z, names)
        model = CappedLDA().fit(lazy(Z), lazy(names))
        assert angle(model.scalings_, expected.scalings_) < (1e-4 if Z.dtype == "f4" else SAME)
        np.testing.assert_array_equal(model.classes_, expected.classes_)
        assert model.predict(lazy(Z)).dtype == expected.predict(Z).dtype


def test_processes_give_what_arrays_give(client, rows):
    X, y, weight = rows
    for estimator in ESTIMATORS[1:3]:
        assert_same(clone(estimator).fit(lazy(X), y), clone(estimator).fit(X, y))
    processes = CappedLDA().fit(lazy(X), lazy(y), weight)
    assert_same(processes, CappedLDA().fit(X, y, weight))
    with dask.config.set(scheduler="threads"):
        threads = CappedLDA().fit(lazy(X), lazy(y), weight)
    np.testing.assert_array_equal(processes.scalings_, threads.scalings_)


def test_a_worker_that_dies_in_the_middle_does_no_harm(client, rows, monkeypatch, tmp_path):
    X, y, _ = rows
    expected = CappedLDA().fit(X, y)
    armed = tmp_path / "armed"
    X = lazy(X, (100,) * 20).map_blocks(die_if_armed, armed=str(armed), dtype=float)
    reduce, passes = DaskRows.reduce, []
    before = set(client.run(os.getpid).values())

    def reduce_with_a_death(self, job):
        passes.append(1)
        if len(passes) == 1:
            armed.touch()
        return reduce(self, job)

    monkeypatch.setattr(DaskRows, "reduce", reduce_with_a_death)
    assert_same(CappedLDA().fit(X, y), expected)
    assert len(passes) >= 2
    assert not armed.exists()
    assert before - set(client.run(os.getpid).values())


def die_if_armed(block, armed):
    """Kill the worker in which the first block of an armed pass is read."""
    with suppress(FileNotFoundError):
        os.unlink(armed)
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def becomes_empty(client):
    """Return whether the cluster has no task any more, after some time."""

    def is_empty():
        client.sync(client.scheduler.identity)
        return not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))

    deadline = time.monotonic() + 600
    while not is_empty() and time.monotonic() < deadline:
        time.sleep(0.05)
    return is_empty()


def test_a_fit_leaves_nothing_on_the_cluster(client, rows):
    X, y, _ = rows
    model = CappedLDA().fit(lazy(X), lazy(y))
    assert model.status_ == "converged"
    assert becomes_empty(client)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_in_a_pass_leaves_nothing_on_the_cluster(client, rows, tmp_path):
    X, y, _ = rows
    model = CappedLDA().fit(X, y)
    before, threads = dict(vars(model)), set(threading.enumerate())
    driver, reads, caught = os.getpid(), tmp_path / "reads", tmp_path / "caught"

    def interrupting(block):
        if len(block) == 299:
            with reads.open("a") as file:
                file.write(".")
            if reads.stat().st_size == 2:
                os.kill(driver, signal.SIGINT)
                while not caught.exists():
                    time.sleep(0.05)
        return block

    with pytest.raises(KeyboardInterrupt):
        model.fit(lazy(X).map_blocks(interrupting, dtype=float), lazy(y))
    caught.touch()
    assert reads.stat().st_size == 2
    assert vars(model) == before
    assert set(threading.enumerate()) <= threads
    assert becomes_empty(client)


def test_a_fit_that_fails_or_is_interrupted_leaves_nothing(rows, temporary, spy, monkeypatch):
    X, y, _ = rows
    model = CappedLDA().fit(lazy(X), lazy(y))
    before, threads = dict(vars(model)), set(threading.enumerate())
    reduce, passes = DaskRows.reduce, spy(DaskRows, "reduce")

    def lost_later(block):
        if passes:
            raise OSError("the disk of a worker is full")
        return block

    def interrupted_reduce(self, job):
        reduce(self, job)
        raise KeyboardInterrupt

    with pytest.raises(OSError, match="full"):
        model.fit(lazy(X).map_blocks(lost_later, dtype=float), lazy(y))
    assert passes
    monkeypatch.setattr(DaskRows, "reduce", interrupted_reduce)
    with pytest.raises(KeyboardInterrupt):
        model.fit(lazy(X), lazy(y))
    assert vars(model) == before
    assert set(threading.enumerate()) <= threads
    assert not list(temporary.iterdir())


def spill_at_once():
    """Begin two processes that keep as good as nothing in memory."""
    memory = {"target": 1e-6, "spill": 1e-6, "pause": False, "terminate": False}
    settings = {f"distributed.worker.memory.{name}": value for name, value in memory.items()}
    with dask.config.set(settings):
        return Client(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="8GiB",
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        )


def fill_disk():
    """Let this process write no file of more than some bytes."""
    import resource  # not on Windows

    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))


def bytes_on_disk(dask_worker):
    return dask_worker.data.spilled_total.disk


@pytest.mark.parametrize("full", [False, True])
def test_blocks_that_do_not_fit_on_the_disk_stay_in_memory(rows, full):
    X, y, _ = rows
    with spill_at_once() as client:
        if full:
            pytest.importorskip("resource")
            client.run(fill_disk)
        blocks = lazy(X).map_blocks(np.copy).persist()
        wait(blocks)
        assert_same(CappedLDA().fit(blocks, y), CappedLDA().fit(X, y))
        assert all((size == 0) == full for size in client.run(bytes_on_disk).values())


class Tasks(Callback):
    """Lists the tasks of each round trip."""

    def __init__(self):
        self.trips = []

    def _start(self, graph):
        self.trips.append([])

    def _pretask(self, key, graph, state):
        self.trips[-1].append(key[0] if isinstance(key, tuple) else key)


def test_a_pass_is_one_round_trip_with_one_task_per_block(rows, spy):
    X, y, _ = rows
    passes = spy(DaskRows, "reduce")
    X, y = (lazy(array, (100,) * 20) for array in (X, y))
    with Tasks() as tasks:
        CappedLDA().fit(X, y)
    # Labels, sample, and the passes.
    assert len(tasks.trips) == 2 + len(passes)
    for trip in tasks.trips[2:]:
        assert sum(key.startswith("job_on_block") for key in trip) == 20
        assert sum(key.startswith("_sum") for key in trip) == 3 + 1


def largest(results):
    """Return the bytes of the largest result, without rows near the caps, which have a limit."""
    sizes = []
    for total in results:
        arrays = {"": total} if isinstance(total, np.ndarray) else dict(vars(total))
        border = arrays.pop("border", None)
        assert border is None or border.rows.shape[1] <= REGIME.most_border_rows
        sizes.append(sum(np.asarray(array).nbytes for array in arrays.values()))
    return max(sizes)


def test_what_comes_back_does_not_grow_with_the_rows(rows, spy):
    X, y, _ = rows
    sums, sizes = spy(dask_module, "tree_sum"), []
    for times in (1, 4):
        sums.clear()
        tiled = da.from_array(np.tile(X, (times, 1)), chunks=(500, -1))
        CappedLDA().fit(tiled, np.tile(y, times))
        sizes.append(largest(s for s in sums.results if not isinstance(s, list)))
    assert sizes[0] == sizes[1]


def test_predictions_stay_lazy(rows):
    X, y, _ = rows
    model = CappedLDA().fit(lazy(X), lazy(y))
    plain = CappedLDA().fit(X, y)
    names = ["transform", "predict", "predict_proba", "predict_log_proba", "decision_function"]
    for name in names:
        found, expected = getattr(model, name)(lazy(X)), getattr(plain, name)(X)
        assert isinstance(found, da.Array)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        assert found.chunks[0] == BLOCKS
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-6, atol=1e-9)
    for labels in (None, y, lazy(y, (1999, 1))):
        for space in ("both", "full"):
            found = model.outlyingness(lazy(X), labels, space)
            assert isinstance(found, da.Array)
            expected = plain.outlyingness(X, None if labels is None else y, space)
            np.testing.assert_allclose(found.compute(), expected, rtol=1e-6)
    two = LDA().fit(X[y < 2], y[y < 2])
    np.testing.assert_array_equal(two.predict(lazy(X)).compute(), two.predict(X))


@pytest.fixture
def frame(rows):
    X, y, weight = rows
    frame = pd.DataFrame(X, columns=list("abcde"))
    return frame.assign(label=np.array(["u", "v", "w"])[y], weight=weight)


def test_frames_go_by_the_names_of_their_columns(rows, frame):
    X, _, weight = rows
    lazy_frame = dd.from_pandas(frame, npartitions=4)
    features = list("abcde")
    expected = CappedLDA().fit(frame[features], frame["label"], weight)
    for model in (
        CappedLDA().fit(lazy_frame, "label", "weight"),
        CappedLDA().fit(lazy_frame[features], lazy_frame["label"], lazy_frame["weight"]),
        CappedLDA().fit(lazy_frame[features], frame["label"].to_numpy(), weight),
    ):
        assert_same(model, expected)
        assert model.feature_names_in_.tolist() == features
        # The order of the columns, and further ones, do not matter.
        found = model.transform(lazy_frame[["label", *"edcba"]])
        np.testing.assert_allclose(found.compute(), expected.transform(frame[features]), rtol=1e-6)
    with pytest.raises(ValueError, match=r"columns .* but not \['c'\]"):
        model.predict(lazy_frame[["a", "b", "d", "e"]])
    with pytest.raises(ValueError, match=r"columns .* but not \['colour'\]"):
        CappedLDA().fit(lazy_frame, "colour")


@pytest.fixture
def folder(frame, tmp_path):
    """The frame in five files of uneven length, one of them empty; of few columns dask merges."""
    bounds = [0, 600, 601, 601, 1500, 2000]
    for k, (start, stop) in enumerate(zip(bounds, bounds[1:], strict=False)):
        part = frame.iloc[start:stop]
        part = part.assign(kind=part["label"].astype("category"))
        part.to_parquet(tmp_path / f"{k}.parquet", row_group_size=100)
    return tmp_path


# What dask does by itself depends on sizes: never merge, by its rule, merge all it can.
@pytest.mark.parametrize("merge", [-1, None, "1 TiB"], ids=["apart", "usual", "merged"])
@pytest.mark.parametrize("label", ["label", "kind", "number"])
@pytest.mark.parametrize("weighted", [False, True])
def test_parquet_gives_labels_and_features_of_the_same_rows(frame, folder, label, weighted, merge):
    features, weight = list("abcde"), "weight" if weighted else None
    codes = frame["label"].map({"u": 3, "v": 5, "w": 7})
    expected = CappedLDA().fit(
        frame[features],
        codes if label == "number" else frame["label"],
        frame["weight"] if weighted else None,
    )
    settings = {} if merge is None else {"dataframe.parquet.minimum-partition-size": merge}
    with dask.config.set(settings):
        lazy_frame = dd.read_parquet(folder)
        lazy_frame["number"] = lazy_frame["label"].map(
            {"u": 3, "v": 5, "w": 7}, meta=("number", "Int64")
        )
        named = lazy_frame[[*features, label, *([weight] if weighted else [])]]
        models = [
            CappedLDA().fit(named, label, weight),
            CappedLDA().fit(
                lazy_frame[features], lazy_frame[label], lazy_frame["weight"] if weighted else None
            ),
        ]
        for model in models:
            assert_same(model, expected)
            assert model.classes_.dtype == expected.classes_.dtype
            assert model.feature_names_in_.tolist() == features
        found = model.outlyingness(lazy_frame, label)
        again = model.outlyingness(lazy_frame[features], lazy_frame[label])
        truth = expected.outlyingness(
            frame[features], frame["label"].map(dict(zip("uvw", expected.classes_, strict=True)))
        )
        np.testing.assert_allclose(found.compute(), truth, rtol=SAME)
        np.testing.assert_allclose(again.compute(), truth, rtol=SAME)
        np.testing.assert_array_equal(
            model.predict(lazy_frame).compute(), expected.predict(frame[features])
        )


def test_labels_in_memory_fit_rows_of_parquet(frame, folder):
    features, lazy_frame = list("abcde"), dd.read_parquet(folder)
    expected = CappedLDA().fit(frame[features], frame["label"], frame["weight"])
    labels, weight = frame["label"].to_numpy(), frame["weight"].to_numpy()
    for X in (lazy_frame[features], lazy_frame[features].values.compute_chunk_sizes()):
        assert_same(CappedLDA().fit(X, labels, weight), expected)
        assert_same(CappedLDA().fit(X, lazy(labels), lazy(weight)), expected)
    assert_same(CappedLDA().fit(lazy_frame[[*features, "label"]], "label", weight), expected)


@pytest.mark.parametrize("bounds", [[0, 2000], [0, 600, 601, 601, 1500, 2000], [0, 7, 2000]])
def test_labels_of_another_frame_go_by_the_order_of_rows(frame, folder, tmp_path_factory, bounds):
    """The index of the files begins anew in each: dask would match rows by it."""
    features, other = list("abcde"), tmp_path_factory.mktemp("other")
    for k, (start, stop) in enumerate(zip(bounds, bounds[1:], strict=False)):
        part = frame.iloc[start:stop].reset_index(drop=True)
        part.to_parquet(other / f"{k}.parquet")
    expected = CappedLDA().fit(frame[features], frame["label"])
    lazy_frame, lazy_labels = dd.read_parquet(folder), dd.read_parquet(other)["label"]
    assert_same(CappedLDA().fit(lazy_frame[features], lazy_labels), expected)
    assert_same(CappedLDA().fit(lazy(frame[features].to_numpy()), lazy_labels), expected)


def test_errors_on_frames_name_what_is_wrong(frame, folder, tmp_path_factory):
    lazy_frame, features = dd.read_parquet(folder), list("abcde")
    other = tmp_path_factory.mktemp("other")
    frame.iloc[1:].to_parquet(other / "0.parquet")
    cases = [
        (lazy_frame, "label", "other things than numbers in the columns 'kind' .*encode"),
        (lazy_frame.assign(t="x"), "label", "other things .* in the columns 'kind', 't' .*encode"),
        (
            lazy_frame[features].assign(day=pd.Timestamp("2030-01-01")),
            lazy_frame["label"],
            "dates or times in the columns 'day'; turn them into numbers",
        ),
        (
            lazy_frame[features],
            dd.read_parquet(other)["label"],
            r"X has 2000 rows, but y has the shape \(1999,\)",
        ),
        (lazy_frame[features].values.compute_chunk_sizes(), "label", "y='label' is a name, but X"),
    ]
    for X, y, message in cases:
        with pytest.raises(ValueError, match=message):
            CappedLDA().fit(X, y)
    gap = lazy_frame[[*features, "label"]]
    gap = gap.assign(c=gap["c"].where(gap["c"] != frame["c"].iloc[700]))
    with pytest.raises(ValueError, match="X contains NaN, first in row 700, column 'c'; remove"):
        CappedLDA().fit(gap, "label")
    missing = gap.assign(label=gap["label"].where(gap["c"].notnull()))
    with pytest.raises(ValueError, match="y, in one of its blocks, has missing labels"):
        CappedLDA().fit(missing, "label")


def test_errors_say_what_to_do(rows):
    X, y, weight = rows
    rows_of_unknown_size = lazy(X)[lazy(X)[:, 0] > 0]
    cases = [
        (rows_of_unknown_size, y, None, r"unknown size; call X.compute_chunk_sizes\(\)"),
        (lazy(X).rechunk((500, 2)), y, None, r"3 blocks of columns; call X.rechunk\({1: -1}\)"),
        (lazy(X), y[1:], None, r"X has 2000 rows, but y has the shape \(1999,\)"),
        (lazy(X), lazy(y[1:], (1999,)), None, r"X has 2000 rows, but y has the shape \(1999,\)"),
        (lazy(X), y, weight[1:], r"but sample_weight has the shape \(1999,\)"),
        (lazy(X), y, -weight, "sample_weight has negative"),
        (lazy(X), y, np.where(y == 1, 0, weight), r"every row of the classes \[1\]"),
        (lazy(X), np.zeros(2000, int), None, "only one class"),
        (lazy(X), X[:, 0], None, "Unknown label type"),
        (lazy(X), None, None, "y is None"),
        (lazy(X)[:, 0], y, None, "1 dimensions"),
    ]
    for X_bad, y_bad, weight_bad, message in cases:
        with pytest.raises(ValueError, match=message):
            CappedLDA().fit(X_bad, y_bad, weight_bad)
    with pytest.raises(TypeError, match="complex128; give real numbers"):
        CappedLDA().fit(lazy(X).astype(complex), y)
    with pytest.raises(TypeError, match="CappedLDACV cannot cut into folds"):
        CappedLDACV().fit(lazy(X), y)
    model = CappedLDA().fit(X, y)
    with pytest.raises(ValueError, match="X has 4 features, but .* 5"):
        model.transform(lazy(X)[:, 1:])


@pytest.mark.parametrize("estimator", [CappedLDA, CappedNormLDA, CLDA])
def test_rows_with_nan_are_named(client, rows, estimator):
    X, y, _ = rows
    X[1234, 3] = np.nan
    where = "row 1234" if estimator is not CLDA else "row 234 of a block"
    with pytest.raises(ValueError, match=f"X contains NaN, first in {where}, column 3 .*; remove"):
        estimator().fit(lazy(X), y)
    with pytest.raises(ValueError, match="contains NaN"):
        CappedLDA().fit(np.nan_to_num(X), y).predict(lazy(X)).compute()


def test_dask_is_not_imported_without_dask_input():
    program = (
        "import sys; from sklearn.datasets import load_iris; from cappedlda import CappedLDA; "
        "CappedLDA().fit(*load_iris(return_X_y=True)); "
        "sys.exit(bool({'dask', 'distributed', 'h5py', 'pyarrow.parquet'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_nothing_of_the_size_of_the_training_rows_is_sent_to_blocks(rng):
    X, y = make_classes(rng, [300, 201, 100], 8, spread=1.0)
    X += 20.0 * X.std(axis=0) * (rng.random(X.shape) < 0.2)
    model = cappedlda.CappedLDA(label_noise="auto").fit(X, y)
    assert model.wrong_cells_.sum() > 0
    assert len(model.label_quality_) == 601
    kept = vars(without_samples(model))
    assert [name for name, value in kept.items() if 601 in getattr(value, "shape", ())] == []
    assert "_calibrator" not in kept  # which has training rows
