"""Rows of Spark DataFrames, worked on by the executors.

A pass is one query: a task for each partition, which reads its rows as Arrow batches, and a tree of
sums. Spark gives rows in any order, so nothing depends on it.
"""

import gc
import pickle
from functools import cache, partial

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from cappedlda._data.blocks import (
    BlockRows,
    check_columns,
    check_features_of,
    checked_block,
    without_samples,
)
from cappedlda._data.draw import Draw, least, seed_of
from cappedlda._data.fingerprint import fingerprint_of
from cappedlda._data.spark_columns import (
    LABELS,
    Layout,
    check_frame,
    columns_with,
    no_rows,
    null_in,
    quoted,
)
from cappedlda._data.threads import single_threaded_blas
from cappedlda._regime import REGIME
from cappedlda._validation import listed, refuse_missing_labels

# Results that are added in one task, on average.
FAN_IN = 32

SPARK_TYPES = {"b": "boolean", "i": "bigint", "u": "bigint", "f": "double"}

# What a partition returns: its number, by which results are dealt out to be added, and which is the
# same when a task is repeated; the fingerprint of its rows; and what was found.
RESULT = "part bigint, seen binary, found binary"

# What must not change, and how errors say so.
SOURCE = "X", "cache() it, or fit what it is computed from, if that is stored"


def pass_over(layout, make_rows, job, n_classes, batches):
    """Yield what the job of a pass, or a `Draw`, finds in a partition, as a batch of one row.

    An error is a result, too: a task that fails would be repeated, and its error one of Spark.
    """
    from pyspark import TaskContext

    spare_modules()
    number, seen = TaskContext.get().partitionId(), np.zeros((3, n_classes), np.uint64)

    def blocks():
        for batch in batches:
            if batch.num_rows:
                block = layout.block(batch)
                rows = make_rows(*block, f"partition {number}")
                np.add(seen, fingerprint_of(rows)[0], out=seen)
                yield rows

    try:
        with single_threaded_blas():
            if isinstance(job, Draw):
                found = total_of(job.of_block(blocks(), number))
            else:
                found = total_of(rows.reduce(job) for rows in blocks())
    except (ValueError, TypeError) as error:
        found = error
    yield packed(number, seen, found)


@cache
def spare_modules():
    """Keep modules out of the collection of garbage after each task, which takes 0.07 s."""
    gc.freeze()


def total_of(results):
    """Return the sum of results, None without rows; an error is the sum of it and anything."""
    total = None
    for result in results:
        if isinstance(result, Exception):
            return result
        if total is None:
            total = result
        elif result is not None:
            total += result
    return total


def packed(number, *results):
    import pyarrow as pa

    results = [pa.array([pickle.dumps(result)], pa.binary()) for result in results]
    return pa.RecordBatch.from_arrays(
        [pa.array([number], pa.int64()), *results], ["part", "seen", "found"]
    )


def add_results(batches):
    from pyspark import TaskContext

    results = [result for batch in batches for result in batch.to_pylist()]
    yield packed(TaskContext.get().partitionId(), *totals(results))


def totals(results):
    return [total_of(pickle.loads(row[name]) for row in results) for name in ("seen", "found")]


def tree_sum(frame, task, n_partitions):
    """Return the sums of what a task returns for each partition, by one query."""
    results = frame.mapInArrow(task, RESULT)
    while n_partitions > FAN_IN:
        n_partitions = -(-n_partitions // FAN_IN)
        results = results.repartition(n_partitions, "part").mapInArrow(add_results, RESULT)
    seen, found = totals(results.collect())
    if isinstance(found, Exception):
        raise found
    return seen, found


def rows_from_spark(frame, y, sample_weight, regime=REGIME):
    """Return the rows of a Spark DataFrame, and the sorted classes.

    y and sample_weight are the names of columns; the others are features.
    """
    check_frame(frame)
    named = [y] if sample_weight is None else [y, sample_weight]
    for name in named:
        if not isinstance(name, str):
            raise TypeError(
                f"labels or weights are a {type(name).__name__}; of a Spark DataFrame y and "
                "sample_weight are names of columns of X."
            )
    check_columns(frame, named)
    features = [name for name in frame.columns if name not in named]
    layout = Layout.of(frame, features, y, sample_weight)
    rows = SparkRows(frame, layout, count_labels(frame, y, sample_weight))
    rows.regime = regime
    return rows, rows.classes


def count_labels(frame, label, weight):
    """Return a line for each label: rows, those drawable (of a weight above 0), and the weight."""
    from pyspark.sql import functions as F

    weights = F.lit(1.0) if weight is None else frame[quoted(weight)].cast("double")
    table = frame.select(
        frame[quoted(label)].alias("y"), weights.alias("w"), F.spark_partition_id().alias("part")
    )
    w = F.col("w")
    lines = table.groupBy("y").agg(
        F.count("*").alias("rows"),
        F.count_if(w > 0.0).alias("drawable"),
        F.sum(w).alias("weight"),
        F.count_if(w.isNull()).alias("nulls"),
        F.count_if((w < 0.0) | (w >= float("inf"))).alias("bad"),  # NaN is the largest of all
        F.max("part").alias("part"),
    )
    lines = lines.collect()
    if not lines:
        raise no_rows()
    if any(line.y is None for line in lines):
        raise null_in(label)
    if any(line.nulls for line in lines):
        raise null_in(weight)
    if any(line.bad for line in lines):
        raise ValueError(f"sample_weight={weight!r} has negative or infinite entries, or NaN.")
    labels = np.array([line.y for line in lines], LABELS[dict(frame.dtypes)[label]])
    refuse_missing_labels(labels, f"y={label!r}")
    check_classification_targets(labels)
    return lines


class SparkRows(BlockRows):
    """Rows of a Spark DataFrame; the lines come from `count_labels`."""

    def __init__(self, frame, layout, lines):
        from pandas import DataFrame

        counts = {line.y: (line.rows, line.drawable, line.weight) for line in lines}
        self.feature_names = layout.feature_names
        n_features = len(self.feature_names)
        words = layout.word, dict(frame.dtypes)[layout.label]
        super().__init__([counts], n_features, *(np.dtype(LABELS[word]) for word in words))
        self.example = DataFrame(np.empty((0, n_features)), columns=self.feature_names)
        self._frame, self._layout = frame.select(*layout.columns_of(frame)), layout
        self._n_partitions = 1 + max(line.part for line in lines)
        self._seen = np.zeros((3, self.n_classes), np.uint64)
        self._seen[0] = [counts[label][0] for label in self.classes.tolist()]

    def reduce(self, job):
        task = partial(pass_over, self._layout, self._maker(), job, self.n_classes)
        seen, found = tree_sum(self._frame, task, self._n_partitions)
        self._recognise(seen, *SOURCE)
        return found

    def pick(self, ranks):
        """Return as many rows of each class as there are ranks, which seed the choice.

        Equal rows in different partitions are chosen together, unless there are many of them.
        """
        wanted, seed = np.array([len(rank) for rank in ranks]), seed_of(ranks)
        for by_block in (False, True):
            drawn = self.reduce(Draw.of_some(wanted, self.class_counts, seed, by_block))
            rows, has_twins = least(drawn, wanted)
            if rows is not None and (by_block or not has_twins):
                return rows
        raise ValueError(
            f"a sample of {wanted.tolist()} rows of the classes was not found by {seed}; use "
            "another random_state."
        )

    def load(self):
        return least(self.reduce(Draw.of_all(self.n_classes)))[0]


def with_columns(model, find, frame, y):
    """Return a DataFrame with the columns that `find(model, X, y)` gives for its rows."""
    from pandas import DataFrame
    from pyspark.sql.functions import pandas_udf, struct

    check_frame(frame)
    names = list(getattr(model, "feature_names_in_", [c for c in frame.columns if c != y]))
    columns = columns_with(names, frame.columns)
    check_columns(frame, [*columns, *([] if y is None else [y])])
    layout = Layout.of(frame, columns, y)
    n_features = len(layout.feature_names)
    check_features_of(model, n_features)
    example = find(model, np.zeros((1, n_features)), None if y is None else model.classes_[:1])
    taken = [name for name in example if name in frame.columns]
    if taken:
        raise ValueError(f"X has columns {listed(taken)} already; drop or rename them.")
    model = without_samples(model)

    def table(batch: DataFrame) -> DataFrame:
        from pyarrow import RecordBatch

        spare_modules()
        X, y, _ = layout.block(RecordBatch.from_pandas(batch), gaps=True)
        found = find(model, checked_block(model, X), y)
        return DataFrame({k: list(v) if v.ndim == 2 else v for k, v in found.items()})

    schema = ",".join(f"{name}:{spark_type(values)}" for name, values in example.items())
    new = pandas_udf(table, f"struct<{schema}>")(struct(*layout.columns_of(frame)))
    found = frame.withColumn("found by cappedlda", new)
    return found.select(
        *(quoted(name) for name in frame.columns),
        *(f"`found by cappedlda`.{name}" for name in example),
    )


def spark_type(values):
    word = SPARK_TYPES.get(values.dtype.kind, "string")
    return f"array<{word}>" if values.ndim == 2 else word
