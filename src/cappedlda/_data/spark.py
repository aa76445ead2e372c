"""Rows of Spark DataFrames, worked on by the executors.

A pass is one Spark job: a task for each partition, which reads its rows as Arrow batches and
returns one result, and a tree of sums above them. The query goes to the executors, a record comes
back. Spark gives rows in any order, so nothing here depends on it. Functions import pyspark, pandas
and pyarrow where they need them: whoever has Spark input has them.
"""

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np

from cappedlda._data.blocks import (
    BlockJob,
    BlockRows,
    LabelCounts,
    check_columns,
    check_features_of,
    checked_block,
    without_samples,
)
from cappedlda._data.columns import Columns
from cappedlda._data.draw import EVERYWHERE, Draw, seed_of
from cappedlda._data.fingerprint import SourceFingerprint, check_same
from cappedlda._data.threads import single_threaded_blas
from cappedlda._regime import REGIME
from cappedlda._validation import listed

# Results that are added in one task, on average.
FAN_IN = 32

# Types of labels, and what NumPy calls them.
LABELS = {
    "string": "O",
    "boolean": "?",
    "tinyint": "i1",
    "smallint": "i2",
    "int": "i4",
    "bigint": "i8",
    "float": "f4",
    "double": "f8",
}
NUMBERS = {*LABELS, "decimal"} - {"string"}
SPARK_TYPES = {"b": "boolean", "i": "bigint", "u": "bigint", "f": "double"}

# What a partition returns, with its number, by which results are dealt out to be added: it is the
# same when a task is repeated, whatever the result.
RESULT = "part bigint, result binary"


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
    layout = Layout.of(frame, [c for c in frame.columns if c not in named], y, sample_weight)
    surveys = collected(
        frame.select(*layout.labels_of(frame)).mapInArrow(Task(layout, survey), RESULT)
    )
    total = None
    for part in surveys:
        total = added(total, part)
    if total is None:
        raise no_rows()
    rows = SparkRows(frame, layout, total, len(surveys))
    rows.regime = regime
    return rows, rows.classes


def check_frame(frame):
    """Check that X is a DataFrame of Spark SQL."""
    if not hasattr(frame, "mapInArrow"):
        raise TypeError(
            f"X is a {type(frame).__name__} of pyspark; give a DataFrame of Spark SQL, as "
            "X.to_spark() returns it for one of pyspark.pandas."
        )


@dataclass(frozen=True)
class Layout:
    """How rows are found in a DataFrame, and in the Arrow batches of it.

    Attributes
    ----------
    columns : list of str
        With features: numbers, arrays of numbers or vectors of MLlib.
    widths : list of int
        Features of each column, 0 for a number.
    dtype : dtype
    label, weight : str or None
        Names of columns.
    """

    columns: list
    widths: list
    dtype: np.dtype
    label: str | None
    weight: str | None

    @classmethod
    def of(cls, frame, columns, label=None, weight=None):
        """Return the layout of a DataFrame, of which some columns have the features."""
        types = dict(frame.dtypes)
        check_types(types, columns, label, weight)
        widths = [0] * len(columns)
        lists = [k for k, name in enumerate(columns) if not is_number(types[name])]
        if lists:
            from pyspark.sql.functions import size

            sizes = [size(numbers(frame, columns[k], types[columns[k]])) for k in lists]
            first = frame.select(*sizes).head()
            if first is None:
                raise no_rows()
            for k, width in zip(lists, first, strict=True):
                if width is None or width < 1:
                    raise null_in(columns[k])
                widths[k] = width
        single = all(item_type(types[name]) == "float" for name in columns)
        return cls(columns, widths, np.dtype(np.float32 if single else np.float64), label, weight)

    @property
    def n_features(self):
        """Number of features."""
        return sum(width or 1 for width in self.widths)

    @property
    def feature_names(self):
        """Name of each feature; those of a vector have its name and a number."""
        return [
            f"{name}[{k}]" if width else name
            for name, width in zip(self.columns, self.widths, strict=True)
            for k in range(width or 1)
        ]

    def features_of(self, frame):
        """Return the columns of the features, as Arrow is to have them."""
        types, word = dict(frame.dtypes), "float" if self.dtype == np.float32 else "double"
        return [
            numbers(frame, name, types[name], word).alias(f"f{k}")
            for k, name in enumerate(self.columns)
        ]

    def labels_of(self, frame):
        """Return the columns of labels and weights, if there are some."""
        labels = [frame[quoted(self.label)].alias("y")]
        if self.weight is not None:
            labels.append(frame[quoted(self.weight)].cast("double").alias("weight"))
        return labels

    def labels(self, batch):
        """Return labels and weights of a batch."""
        found = []
        for name, column in (("y", self.label), ("weight", self.weight)):
            values = None if column is None else batch.column(name)
            if values is not None and values.null_count:
                raise null_in(column)
            found.append(None if values is None else values.to_numpy(zero_copy_only=False))
        return found

    def block(self, batch):
        """Return features, labels and weights of a batch."""
        parts = []
        for k, (name, width) in enumerate(zip(self.columns, self.widths, strict=True)):
            values = batch.column(f"f{k}")
            if values.null_count:
                raise null_in(name)
            parts.append(items_of(values, name, width) if width else values)
        if any(self.widths):
            X = np.column_stack([np.asarray(part) for part in parts])
        else:
            import pyarrow as pa

            X = np.asarray(Columns.of_batch(pa.RecordBatch.from_arrays(parts, self.columns)))
        return X, *self.labels(batch)


def check_types(types, columns, label, weight):
    """Check the types of the columns of a DataFrame."""
    odd = [name for name in columns if item_type(types[name]) is None]
    if odd:
        raise ValueError(
            f"X has other things than numbers in the columns {listed(odd)} (type "
            f"{types[odd[0]]}); encode these columns as numbers, or drop them."
        )
    if not columns:
        raise ValueError("X has no column with features; a fit needs at least 1.")
    if label is not None and types[label] not in LABELS:
        raise ValueError(
            f"y={label!r} is a column of type {types[label]}; cast it to string or to integers."
        )
    if weight is not None and not is_number(types[weight]):
        raise ValueError(
            f"sample_weight={weight!r} is a column of type {types[weight]}; give numbers."
        )


def is_number(word):
    """Return whether a type of Spark is one of numbers."""
    return word.partition("(")[0] in NUMBERS


def item_type(word):
    """Return the type of the numbers of a column, or None if it has other things."""
    if word == "vector":
        return "double"
    word = word.removeprefix("array<").removesuffix(">")
    return word if is_number(word) else None


def numbers(frame, name, word, wanted="double"):
    """Return a column of some type as numbers of floating point, or arrays of these."""
    column = frame[quoted(name)]
    if word == "vector":
        from pyspark.ml.functions import vector_to_array

        return vector_to_array(column, "float32" if wanted == "float" else "float64")
    return column.cast(wanted if is_number(word) else f"array<{wanted}>")


def quoted(name):
    """Return the name of a column as Spark takes it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def items_of(values, name, width):
    """Return an Arrow column of lists as an array of shape (rows, width)."""
    check_lengths(values.value_lengths().to_numpy(zero_copy_only=False), name, width)
    items = values.flatten()
    if items.null_count:
        raise null_in(name)
    return items.to_numpy().reshape(len(values), width)


def check_lengths(lengths, name, width):
    """Check that the vectors of a column are of one length."""
    odd = [length for length in lengths if length != width]
    if odd:
        raise ValueError(
            f"X has vectors of {width} and of {odd[0]} numbers in the column {name!r}; make them "
            "of one length."
        )


def stacked(vectors, name, width):
    """Return a list of vectors, as pandas has them, as an array of shape (rows, width)."""
    if any(vector is None for vector in vectors):
        raise null_in(name)
    check_lengths(map(len, vectors), name, width)
    return np.stack(vectors)


def no_rows():
    """Return the error for a DataFrame that has no rows."""
    return ValueError("X has no rows; give some.")


def null_in(name):
    """Return the error for a column that has a null."""
    return ValueError(
        f"X has nulls in the column {name!r}; remove such rows (X.dropna(subset=[{name!r}])), or "
        "impute them."
    )


@dataclass(frozen=True)
class Task:
    """Works on a partition; what is wrong with its rows comes back as a result.

    A task that fails would be repeated, in vain, and its error would be one of Spark.

    Attributes
    ----------
    layout : Layout
    work : callable
        Gets layout, batches with rows, and the number of the partition. Returns something with
        `+=`, or None.
    """

    layout: Layout
    work: Any

    def __call__(self, batches):
        """Yield the result as a batch, if there is one."""
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        try:
            with single_threaded_blas():
                filled = (batch for batch in batches if batch.num_rows)
                result = self.work(self.layout, filled, number)
        except (ValueError, TypeError) as error:
            result = Failure(error)
        yield from packed(number, result)


@dataclass
class Failure:
    """An error, which is the sum of itself and anything."""

    error: Exception


def packed(number, result):
    """Yield a result as a batch of one row."""
    if result is not None:
        import pyarrow as pa

        columns = [pa.array([number], pa.int64()), pa.array([pickle.dumps(result)], pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, ["part", "result"])


def added(total, part):
    """Return the sum of two results; None is that of no rows."""
    if total is None or isinstance(part, Failure):
        return part
    if not isinstance(total, Failure):
        total += part
    return total


def add_results(batches):
    """Yield the sum of the results of some partitions."""
    from pyspark import TaskContext

    total = None
    for batch in batches:
        for result in batch.column("result"):
            total = added(total, pickle.loads(result.as_py()))
    yield from packed(TaskContext.get().partitionId(), total)


def collected(results):
    """Return results that the driver gets; an error is raised here."""
    found = [pickle.loads(row.result) for row in results.select("result").collect()]
    for result in found:
        if isinstance(result, Failure):
            raise result.error
    return found


def tree_sum(frame, task, n_partitions):
    """Return the sum of what a task returns for each partition, in one Spark job."""
    results = frame.mapInArrow(task, RESULT)
    while n_partitions > FAN_IN:
        n_partitions = -(-n_partitions // FAN_IN)
        results = results.repartition(n_partitions, "part").mapInArrow(add_results, RESULT)
    total = None
    for part in collected(results):
        total = added(total, part)
    return total


def survey(layout, batches, _):
    """Return the `LabelCounts` of a partition."""
    total = None
    for batch in batches:
        y, weight = layout.labels(batch)
        part = LabelCounts.of_block(y, weight, f"y={layout.label!r}")
        total = part if total is None else added(total, part).merged()
    return total


@dataclass
class Seen:
    """What a pass has found, and the fingerprint of its rows; additive."""

    fingerprint: SourceFingerprint
    value: Any

    def __iadd__(self, other):
        self.fingerprint += other.fingerprint
        self.value += other.value
        return self


@dataclass(frozen=True)
class Pass:
    """Does a job on a partition, and recognises its rows.

    Attributes
    ----------
    block_job : BlockJob
        With a job of `Rows.reduce`, or a `Draw`.
    """

    block_job: BlockJob

    def __call__(self, layout, batches, number):
        """Return a `Seen`, or None for a partition without rows."""
        job, total = self.block_job.job, None
        work = job.begin(number).drawn_from if isinstance(job, Draw) else lambda r: r.reduce(job)
        for batch in batches:
            block = layout.block(batch)
            rows = self.block_job.rows(*block, lambda _: f"partition {number}")
            fingerprint = SourceFingerprint(rows.n_classes)
            fingerprint.add(rows.X, rows.codes, rows.sample_weight, EVERYWHERE)
            total = added(total, Seen(fingerprint, work(rows)))
        return total


class SparkRows(BlockRows):
    """Rows of a Spark DataFrame.

    Parameters
    ----------
    frame : DataFrame
    layout : Layout
    survey : LabelCounts
        Of the labels.
    n_partitions : int
        That have rows.
    """

    def __init__(self, frame, layout, survey, n_partitions):
        from pandas import DataFrame

        label_type = np.dtype(LABELS[dict(frame.dtypes)[layout.label]])
        super().__init__(survey, layout.n_features, layout.dtype, label_type)
        self.feature_names = layout.feature_names
        self.example = DataFrame(np.empty((0, layout.n_features)), columns=self.feature_names)
        self._frame = frame.select(*layout.features_of(frame), *layout.labels_of(frame))
        self._layout, self._n_partitions = layout, n_partitions
        self._first = []  # what the rows of the first pass are recognised by

    def reduce(self, job):
        """Return the sum of what a job returns for each batch."""
        task = Task(self._layout, Pass(self._block_job(job)))
        seen = tree_sum(self._frame, task, self._n_partitions)
        found = SourceFingerprint(self.n_classes) if seen is None else seen.fingerprint
        if not self._first:
            self._first.append((found.counts, found.weights, found.checksums))
        remedy = "cache() it, or fit what it is computed from, if that is stored"
        check_same(found, self._first[0], self.classes, "X", remedy)
        now, before = found.counts, self.class_counts
        if self._layout.weight is not None:  # then rows of weight 0 are not in class_counts
            now, before = now.sum(), self.shape[0]
        if not np.array_equal(now, before):
            raise ValueError(
                f"X has {now} rows, but had {before} when its labels were counted; {remedy}."
            )
        self._is_checked = True
        return seen.value

    def pick(self, ranks):
        """Return as many rows of each class as there are ranks, which seed the choice.

        Equal rows in different partitions are chosen together, unless there are many of them: then
        the choice depends on the partitions.
        """
        wanted, seed = np.array([len(rank) for rank in ranks]), seed_of(ranks)
        for by_block in (False, True):
            drawn = self.reduce(Draw.of_some(wanted, self.class_counts, seed, by_block))
            rows = drawn.rows(wanted, self.regime)
            if rows is not None and (by_block or not drawn.has_twins()):
                return rows
        raise ValueError(
            f"a sample of {wanted.tolist()} rows of the classes was not found by {seed}; use "
            "another random_state."
        )

    def load(self):
        """Return all rows in memory, in the order of their hashes."""
        drawn = self.reduce(Draw.of_all(self.n_classes))
        return drawn.rows(np.bincount(drawn.codes, minlength=self.n_classes), self.regime)


def with_columns(model, find, frame, y):
    """Return a DataFrame with what `find(model, X, y)` gives for each row as further columns."""
    from pandas import DataFrame
    from pyspark.sql.functions import pandas_udf, struct

    check_frame(frame)
    names = list(getattr(model, "feature_names_in_", [c for c in frame.columns if c != y]))
    columns = columns_with(names, frame.columns)
    check_columns(frame, [*columns, *([] if y is None else [y])])
    layout = Layout.of(frame, columns, y)
    check_features_of(model, layout.n_features)
    example = find(
        model, np.zeros((1, layout.n_features)), None if y is None else model.classes_[:1]
    )
    taken = [name for name in example if name in frame.columns]
    if taken:
        raise ValueError(f"X has columns {listed(taken)} already; drop or rename them.")
    model = without_samples(model)

    def table(batch: DataFrame) -> DataFrame:
        y = batch.pop("y").to_numpy(object) if "y" in batch else None
        parts = [
            stacked(batch[field].to_list(), name, width)
            if width
            else batch[[field]].to_numpy(layout.dtype)
            for field, name, width in zip(batch, layout.columns, layout.widths, strict=True)
        ]
        found = find(model, checked_block(model, np.hstack(parts)), y)
        return DataFrame({k: list(v) if v.ndim == 2 else v for k, v in found.items()})

    fields = layout.features_of(frame)
    if y is not None:
        fields.append(frame[quoted(y)].alias("y"))
    schema = ",".join(f"{name}:{spark_type(values)}" for name, values in example.items())
    new = pandas_udf(table, f"struct<{schema}>")(struct(*fields))
    found = frame.withColumn("found by cappedlda", new)
    return found.select(
        *(quoted(name) for name in frame.columns),
        *(f"`found by cappedlda`.{name}" for name in example),
    )


def columns_with(names, columns):
    """Return the columns that have features of these names, each once, in their order."""
    found = [n if n in columns or "[" not in n else n.rpartition("[")[0] for n in names]
    return list(dict.fromkeys(found))


def spark_type(values):
    """Return the type of Spark for an array of results."""
    word = SPARK_TYPES.get(values.dtype.kind, "string")
    return f"array<{word}>" if values.ndim == 2 else word
