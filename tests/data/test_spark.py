"""Spark DataFrames: the answer of an array in memory, by executors of local[2]."""

import copy
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from common import angle, make_classes, spoil
from py4j.protocol import Py4JJavaError
from pyspark import TaskContext
from pyspark.errors import PythonException
from pyspark.ml.functions import array_to_vector
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import cappedlda
from cappedlda._data import spark as spark_rows
from cappedlda._data.array import ArrayRows
from cappedlda._data.draw import Draw, least, seed_of
from cappedlda._data.record import Record
from cappedlda._regime import Regime

pytestmark = [
    pytest.mark.spark,
    pytest.mark.xdist_group("spark"),  # of one session
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

# Batches are added in another order than the slabs of an array. The rounding that makes differ,
# 1e-15, is far below this.
SAME = 1e-6
FEATURES = list("abcde")
# Executors find what is pickled by name in these tests.
HERE = Path(__file__).parent
PYTHONPATH = os.pathsep.join([str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")])


class CappedLDA(cappedlda.CappedLDA):
    _regime = Regime(least_sample_rows=250)


class CappedNormLDA(cappedlda.CappedNormLDA):
    _regime = Regime(least_sample_rows=250)


class HashedRows(ArrayRows):
    """Rows in memory, from which the sample is drawn by hashes."""

    def pick(self, ranks):
        wanted = np.array([len(rank) for rank in ranks])
        draw = Draw.of_some(wanted, self.class_counts, seed_of(ranks), by_block=False)
        rows = self.with_features(np.ascontiguousarray(self.X))
        return least(*draw.of_block([rows], 0), wanted)[0]


class InMemory:
    """Fits an estimator to arrays, with the sample that Spark draws."""

    def _check_data(self, X, y, sample_weight):
        rows, classes, priors = super()._check_data(X, y, sample_weight)
        hashed = object.__new__(HashedRows)
        vars(hashed).update(vars(rows))
        return hashed, classes, priors


class CappedLDAInMemory(InMemory, CappedLDA):
    pass


class CappedNormLDAInMemory(InMemory, CappedNormLDA):
    pass


@contextmanager
def session(master, folder):
    """Begin Spark, with its files in a folder."""
    settings = {
        "spark.executorEnv.PYTHONPATH": PYTHONPATH,
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "600m",
        "spark.executor.memory": "600m",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "150",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.log.level": "OFF",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    # Otherwise workers are the first python3 of the path.
    environment = mock.patch.dict(os.environ, PYSPARK_PYTHON=sys.executable)
    with environment, builder.getOrCreate() as spark:
        yield spark


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """Two threads on this machine; a task may fail once."""
    with session("local[2,2]", tmp_path_factory.mktemp("spark")) as spark:
        yield spark


@pytest.fixture
def table(rng):
    return make_table(rng)


def make_table(rng):
    """Three classes, one of them small, with 8 % of the rows far off."""
    X, y = make_classes(rng, [1200, 770, 30], 5)
    X = spoil(rng, X, rng.random(2000) < 0.08)
    frame = pd.DataFrame(X, columns=FEATURES)
    return frame.assign(
        label=np.array(["u", "v", "w"])[y],
        weight=rng.integers(0, 3, size=2000).astype(float),
        row=np.arange(2000),
    )


@pytest.fixture
def frame(spark, table):
    """The same in four partitions."""
    return spark.createDataFrame(table).repartition(4)


def rows_of(frame, weight=None):
    return frame.select(*FEATURES, "label", *([] if weight is None else [weight]))


def fitted(estimator, table, weight=None):
    weights = None if weight is None else table[weight]
    return estimator.fit(table[FEATURES], table["label"], weights)


def assert_same(model, expected, more_passes=0):
    assert angle(model.scalings_, expected.scalings_) < SAME
    for name in ("means_", "coef_", "intercept_", "epsilon_", "caps_", "priors_"):
        value = getattr(expected, name)
        size = np.max(np.abs(value))
        np.testing.assert_allclose(getattr(model, name), value, rtol=SAME, atol=SAME * size)
    np.testing.assert_array_equal(model.classes_, expected.classes_)
    assert model.n_passes_ + more_passes == expected.n_passes_
    assert model.n_iter_ == expected.n_iter_
    assert model.n_sampled_ == expected.n_sampled_
    assert model.feature_names_in_.tolist() == FEATURES


@pytest.mark.parametrize("weight", [None, "weight"])
def test_executors_give_what_arrays_give(frame, table, weight):
    model = CappedLDA().fit(rows_of(frame, weight), "label", weight)
    expected = fitted(CappedLDAInMemory(), table, weight)
    assert_same(model, expected)
    assert model.n_sampled_ > 0
    found = model.transform_frame(frame, "label").toArrow().to_pandas().sort_values("row")
    assert list(found)[:8] == list(table)
    np.testing.assert_array_equal(found["flagged"], expected.outliers_)
    np.testing.assert_array_equal(found["left_out"], expected.left_out_)
    X = table[FEATURES]
    np.testing.assert_array_equal(found["prediction"], expected.predict(X))
    p = np.stack(found["probability"])
    np.testing.assert_allclose(p, expected.predict_proba(X), rtol=SAME, atol=1e-9)
    outlyingness = expected.outlyingness(X, table["label"])
    np.testing.assert_allclose(found["outlyingness"], outlyingness, rtol=SAME)
    assert not hasattr(model, "outliers_")


def test_wrong_labels_are_weighed_as_in_an_array(spark, rng):
    X, y = make_classes(rng, [900, 1100], 5, spread=1.5)
    y = np.where(rng.random(2000) < 0.1, 1 - y, y)
    table = pd.DataFrame(X, columns=FEATURES).assign(label=np.array(["u", "v"])[y])
    frame = spark.createDataFrame(table.assign(row=np.arange(2000))).repartition(4)
    model = CappedLDA(label_noise=0.1).fit(rows_of(frame), "label")
    expected = fitted(CappedLDAInMemory(label_noise=0.1), table)
    assert model.label_status_ == "found"
    assert_same(model, expected, more_passes=1)  # for label_quality_, which an array keeps
    found = model.transform_frame(frame, "label").toArrow().to_pandas().sort_values("row")
    np.testing.assert_allclose(found["label_quality"], expected.label_quality_, rtol=SAME)


def test_few_rows_are_fitted_as_an_array(frame, table):
    few = frame.where("row % 5 = 0 or label = 'w'")
    expected = fitted(CappedLDA(), table[(table["row"] % 5 == 0) | (table["label"] == "w")])
    assert expected.n_sampled_ == 0
    assert_same(CappedLDA().fit(rows_of(few), "label"), expected)


def test_partitions_may_be_many_skewed_empty_and_of_one_class(frame, table):
    """By label: three partitions have rows, of very different number, and the others none."""
    expected = fitted(CappedLDAInMemory(), table)
    assert_same(CappedLDA().fit(rows_of(frame).repartition(6, "label"), "label"), expected)
    many = rows_of(frame).repartition(40)  # more than are added at once
    assert_same(CappedLDA().fit(many, "label"), expected)


def test_only_sums_and_the_sample_come_to_the_driver(frame, spy):
    """However many rows there are."""
    sums, sizes = spy(spark_rows, "tree_sum"), []
    for times in (1, 3):
        copies = F.explode(F.sequence(F.lit(1), F.lit(times)))
        rows = rows_of(frame).withColumn("copy", copies)
        rows = rows.withColumn("a", F.col("a") + 0.001 * F.col("copy")).drop("copy")
        sums.clear()
        model = CappedLDA().fit(rows, "label")
        found = [total for _, total in sums.results]
        drawn = sum(len(keys) for total in found if isinstance(total, list) for keys, _ in total)
        assert 0 < model.n_sampled_ <= drawn < 2.5 * model.n_sampled_ < 1000
        records = [total for total in found if isinstance(total, Record)]
        assert len(records) + 1 == len(found)
        sizes.append([record.scatter.nbytes + record.histograms.nbytes for record in records])
    assert sizes[0][0] == sizes[1][0] == max(max(sizes))


def fails_at_first(batches):
    context = TaskContext.get()
    if context.attemptNumber() == 0 and context.partitionId() == 0:
        raise RuntimeError("lost")
    if context.attemptNumber() == 0 and context.partitionId() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    yield from batches


def test_tasks_that_fail_or_are_killed_are_repeated(frame, table):
    flaky = rows_of(frame)
    flaky = flaky.mapInArrow(fails_at_first, flaky.schema)
    assert_same(CappedLDA().fit(flaky, "label"), fitted(CappedLDAInMemory(), table))


def test_vectors_of_mllib_are_features(frame, table):
    vectors = frame.select(array_to_vector(F.array(*FEATURES)).alias("v"), "label")
    model = CappedLDA().fit(vectors, "label")
    assert model.feature_names_in_.tolist() == [f"v[{k}]" for k in range(5)]
    expected = fitted(CappedLDAInMemory(), table)
    assert angle(model.scalings_, expected.scalings_) < SAME
    found = model.transform_frame(vectors).toArrow()
    assert found.column_names[1:] == [
        *("label", "prediction", "probability", "outlyingness", "flagged"),
    ]
    counts = found["prediction"].value_counts().to_pylist()
    labels, expected = np.unique(expected.predict(table[FEATURES]), return_counts=True)
    assert {c["values"]: c["counts"] for c in counts} == dict(zip(labels, expected, strict=True))


def test_columns_of_all_kinds_are_features(spark, frame, table):
    """Numbers and arrays side by side, whole numbers, and names that Spark has to be told apart."""
    odd = "a.b `c`"
    kinds = frame.select(
        F.col("a").alias(odd),
        F.array("b", "c").alias("pair"),
        F.floor(10 * F.col("d")).cast("int").alias("whole"),
        F.col("e").cast("decimal(38,18)").alias("decimal"),
        (F.col("row") % 2 == 0).alias("even"),
        F.col("label").alias("the label"),
    )
    X = table[FEATURES].to_numpy(copy=True)
    X[:, 3] = np.floor(10 * X[:, 3])
    X = np.column_stack([X, table["row"] % 2 == 0])
    names = [odd, "pair[0]", "pair[1]", "whole", "decimal", "even"]
    model = CappedLDA().fit(kinds, "the label")
    assert model.feature_names_in_.tolist() == names
    expected = CappedLDAInMemory().fit(pd.DataFrame(X, columns=names), table["label"])
    # Doubles become decimals of 18 digits.
    assert angle(model.scalings_, expected.scalings_) < SAME
    found = model.transform_frame(kinds.withColumn("n", F.lit(1)), "the label").toArrow()
    assert np.sum(found["flagged"]) == expected.outliers_.sum()


def test_single_precision_stays_single(frame, table):
    singles = rows_of(frame).select(*(F.col(c).cast("float") for c in FEATURES), "label")
    X = table[FEATURES].astype(np.float32)
    model, expected = CappedLDA().fit(singles, "label"), CappedLDAInMemory().fit(X, table["label"])
    assert angle(model.scalings_, expected.scalings_) < 1e-4  # sums of float32


def in_any_order(batches):
    """The rows of a partition, in another order each time."""
    batches = [batch for batch in batches if batch.num_rows]
    random.SystemRandom().shuffle(batches)
    for batch in batches:
        yield batch.take(np.random.default_rng().permutation(batch.num_rows))


def test_the_order_of_rows_does_not_matter(frame, table):
    rows = rows_of(frame, "weight")
    shuffled = rows.mapInArrow(in_any_order, rows.schema)
    model = CappedLDA().fit(shuffled, "label", "weight")
    assert_same(model, fitted(CappedLDAInMemory(), table, "weight"))


def test_equal_rows_are_drawn_as_others(frame, table):
    """Most rows have twins in other partitions, so the sample depends on the partitions."""
    coarse = [F.round(F.col(name) / 3).alias(name) for name in FEATURES[:2]]
    model = CappedLDA().fit(frame.select(*coarse, "label"), "label")
    X = (table[FEATURES[:2]] / 3).round()
    assert len(X.drop_duplicates()) < 0.5 * len(X)
    expected = CappedLDA().fit(X, table["label"])
    assert model.n_sampled_ == expected.n_sampled_ > 0
    assert np.mean(model.predict(X) == expected.predict(X)) > 0.98


def another(value):
    """Another number in each pass; F.rand() has a seed, and so the same in all passes."""
    return value + random.SystemRandom().random()


def test_a_source_that_changes_is_recognised(frame, tmp_path):
    model, rows, passes = CappedLDA(), rows_of(frame), tmp_path / "passes"
    passes.touch()

    def one_less_each_time(batches):
        for number, batch in enumerate(batches):
            if number == 0 and TaskContext.get().partitionId() == 0:
                yield batch.slice(passes.stat().st_size)
                with passes.open("a") as file:
                    file.write(".")
            else:
                yield batch

    changes = rows.withColumn("a", F.udf(another, "double").asNondeterministic()("a"))
    with pytest.raises(ValueError, match=r"gives other rows than in the first pass.*cache\(\) it"):
        model.fit(changes, "label")
    with pytest.raises(ValueError, match=r"gives other rows than in the first pass: the number of"):
        model.fit(rows.mapInArrow(one_less_each_time, rows.schema), "label")
    assert vars(model) == vars(CappedLDA())
    model.fit(changes.cache(), "label")


def test_new_rows_with_gaps_name_the_column(frame):
    model = CappedLDA().fit(rows_of(frame), "label")
    for gap in (None, float("nan")):
        new = frame.withColumn("c", F.when(F.col("row") != 7, F.col("c")).otherwise(F.lit(gap)))
        with pytest.raises(PythonException, match="X contains NaN, first in .*'c'"):
            model.transform_frame(new.coalesce(1)).collect()
        ignoring = copy.copy(model).set_params(missing="ignore")
        found = ignoring.transform_frame(new, "label").where("row = 7").first()
        assert np.isfinite(found.outlyingness)
        assert found.flagged == (found.outlyingness > 1.0)
    vectors = frame.select(F.array(*FEATURES).alias("v"), "label", "row")
    model.fit(vectors.drop("row"), "label")
    null, short = F.lit(None), F.array(F.lit(1.0))
    odd = "5 and of 1 numbers; .* column 'v'"
    messages = (null, "X contains NaN, .*'v", "nulls in the column 'v'"), (short, odd, odd)
    for value, message, message_of_fit in messages:
        new = vectors.withColumn("v", F.when(F.col("row") != 7, F.col("v")).otherwise(value))
        first = new.where("row != 7").limit(1).union(new)  # it tells how many features there are
        with pytest.raises(PythonException, match=message):
            model.transform_frame(first.coalesce(1)).collect()
        with pytest.raises(ValueError, match=message_of_fit):
            model.fit(first.coalesce(1).drop("row"), "label")


def test_errors_name_the_column_and_leave_the_estimator_as_it_was(frame):
    rows = rows_of(frame, "weight")
    model = CappedLDA().fit(rows_of(frame), "label")
    before = dict(vars(model))
    gap = F.when(F.col("a") > 0, F.col("a"))
    cases = [
        (rows.withColumn("a", gap), "label", "nulls in the column 'a'; remove"),
        (rows.withColumn("label", F.lit(None).cast("string")), "label", "nulls in the column 'lab"),
        (
            rows.withColumn("c", F.lit(float("nan"))),
            "label",
            "NaN, first in partition .*'c'",
        ),
        (rows.withColumn("word", F.lit("x")), "label", "than numbers in the columns 'word'"),
        (rows, "colour", r"but not \['colour'\]"),
        (rows.withColumn("weight", F.lit(None).cast("double")), "label", "column 'weight'"),
        (rows.limit(0), "label", "X has no rows"),
    ]
    for X, y, message in cases:
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, "weight")
        assert vars(model) == before
    with pytest.raises(TypeError, match="names of columns"):
        model.fit(rows, [1, 2])
    with pytest.raises(TypeError, match="use transform_frame"):
        model.predict(rows)


@pytest.fixture
def fitted_before(frame, temporary):
    """A fitted model. In the end it is as it was, and there are no files, threads or caches."""
    model = CappedLDA().fit(rows_of(frame), "label")
    before, threads = dict(vars(model)), set(threading.enumerate())
    stored = frame.sparkSession.sparkContext._jsc.getPersistentRDDs
    of_others = set(stored())  # what other tests have cached
    yield model
    assert vars(model) == before
    assert set(threading.enumerate()) <= threads
    assert not list(temporary.iterdir())
    assert set(stored()) <= of_others


def test_workers_that_are_lost_for_good_are_an_error(frame, tmp_path, fitted_before):
    passes = tmp_path / "passes"
    passes.touch()

    def lost(batches):
        with passes.open("a") as file:
            file.write(".")
        if passes.stat().st_size > 3:
            os.kill(os.getpid(), signal.SIGKILL)
        yield from batches

    rows = rows_of(frame).coalesce(1)
    with pytest.raises(Py4JJavaError, match="Job aborted due to stage failure"):
        fitted_before.fit(rows.mapInArrow(lost, rows.schema), "label")
    assert passes.stat().st_size > 3


def is_in_first_pass(reads):
    """Note one more read in a file; return whether labels and sample were read before."""
    with reads.open("a") as file:
        file.write(".")
    return reads.stat().st_size == 3


def test_an_interrupt_in_a_pass_ends_the_fit_and_its_jobs(frame, tmp_path, fitted_before):
    driver, rows = os.getpid(), rows_of(frame)
    reads, caught = tmp_path / "reads", tmp_path / "caught"

    def interrupting(batches):
        yield from batches
        if TaskContext.get().partitionId() == 1 and is_in_first_pass(reads):
            os.kill(driver, signal.SIGINT)
            while not caught.exists():
                time.sleep(0.05)

    with pytest.raises(KeyboardInterrupt):
        fitted_before.fit(rows.mapInArrow(interrupting, rows.schema), "label")
    caught.touch()
    jobs = frame.sparkSession.sparkContext.statusTracker().getActiveJobsIds
    deadline = time.monotonic() + 600
    while jobs() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not jobs()


def test_a_full_disk_is_an_error(frame, fitted_before, monkeypatch):
    """In the second pass; Spark stores what it shuffles in files, here for the 40 partitions."""
    java = frame.sparkSession.sparkContext._gateway.proc.pid
    resource = pytest.importorskip("resource")  # not on Windows
    _, hard = usual = resource.prlimit(java, resource.RLIMIT_FSIZE)
    passes, tree_sum = [], spark_rows.tree_sum

    def full_later(*arguments):
        passes.append(1)
        resource.prlimit(java, resource.RLIMIT_FSIZE, (100, hard) if len(passes) == 2 else usual)
        return tree_sum(*arguments)

    monkeypatch.setattr(spark_rows, "tree_sum", full_later)
    try:
        with pytest.raises(Py4JJavaError, match="Job aborted due to stage failure.*File too large"):
            fitted_before.fit(rows_of(frame).repartition(40), "label")
    finally:
        resource.prlimit(java, resource.RLIMIT_FSIZE, usual)
    assert len(passes) == 2


LOST_EXECUTOR = """
import os, signal, sys
from pathlib import Path
import numpy as np, psutil, pyspark
import test_spark as t

folder = Path(sys.argv[1])
home, lost = folder / "home", folder / "lost"
home.mkdir()  # the executors' logs are written here
for path in Path(pyspark.__file__).parent.iterdir():
    (home / path.name).symlink_to(path)
os.environ["SPARK_HOME"] = str(home)

def loses_executor(batches):
    from pyspark import TaskContext
    yield from batches
    executor = next(p for p in psutil.Process().parents() if p.name() == "java")
    if TaskContext.get().partitionId() == 2 and t.is_in_first_pass(folder / "reads"):
        lost.write_text(str(executor.pid))
        executor.kill()

table = t.make_table(np.random.default_rng(0))
with t.session("local-cluster[2,1,1024]", folder) as spark:
    rows = t.rows_of(spark.createDataFrame(table).repartition(4))
    model = t.CappedLDA().fit(rows.mapInArrow(loses_executor, rows.schema), "label")
    t.assert_same(model, t.fitted(t.CappedLDAInMemory(), table))
    driver, executor = spark.sparkContext._gateway.proc.pid, int(lost.read_text())
    assert executor != driver and not psutil.pid_exists(executor)
"""


def test_a_lost_executor_does_no_harm(tmp_path):
    """Two executors in processes of their own, of which one is killed in the middle of a pass."""
    done = subprocess.run(
        [sys.executable, "-c", LOST_EXECUTOR, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_without_java_the_error_names_it():
    program = "from pyspark.sql import SparkSession; SparkSession.builder.getOrCreate()"
    environment = {**os.environ, "PATH": str(Path(sys.executable).parent), "JAVA_HOME": ""}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "[JAVA_GATEWAY_EXITED]" in done.stderr  # as docs/guide/large.md has it
