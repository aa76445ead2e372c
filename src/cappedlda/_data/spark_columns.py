"""The columns of a Spark DataFrame, as Arrow has them for the executors: as lists of numbers.

Numbers side by side come as one list per row, which is faster than a column for each.
"""

from itertools import groupby
from typing import NamedTuple

import numpy as np

from cappedlda._validation import listed

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


class NumberList(NamedTuple):
    """Numbers that Arrow has as one list per row: columns side by side, or one with vectors."""

    columns: list  # of str
    width: int
    kind: str | None  # type of Spark, None for columns of numbers

    @property
    def names(self):
        """Name of each number; those of a vector have its name and a number."""
        if self.kind is None:
            return self.columns
        return [f"{self.columns[0]}[{k}]" for k in range(self.width)]

    def expression(self, frame, word):
        """Return the list as a column of Spark, of numbers of a type of floating point."""
        if self.kind is not None:
            return vectors(frame, self.columns[0], self.kind, word)
        from pyspark.sql.functions import array

        return array(*(frame[quoted(name)].cast(word) for name in self.columns))

    def of_batch(self, values, gaps):
        """Return an Arrow column as an array of shape (rows, width); gaps may be NaN or not."""
        if values.null_count:
            raise null_in(self.columns[0])
        lengths = values.value_lengths().to_numpy(zero_copy_only=False)
        odd = lengths[lengths != self.width]
        if len(odd):
            raise ValueError(
                f"X has vectors of {self.width} and of {odd[0]} numbers in the column "
                f"{self.columns[0]!r}; make them of one length."
            )
        items = values.flatten()
        if items.null_count and not gaps:
            first = int(np.argmax(items.is_null().to_numpy(zero_copy_only=False)))
            raise null_in(self.columns[first % self.width if self.kind is None else 0])
        return items.fill_null(np.nan).to_numpy().reshape(len(values), self.width)


class Layout(NamedTuple):
    """How rows are found in a DataFrame, and in the Arrow batches of it."""

    lists: list  # of NumberList
    word: str  # "float" or "double"
    label: str | None = None  # names of columns
    weight: str | None = None

    @classmethod
    def of(cls, frame, columns, label=None, weight=None):
        """Return the layout of a DataFrame, of which some columns have the features."""
        kinds = dict(frame.dtypes)
        check_types(kinds, columns, label, weight)
        lists = []
        for kind, names in groupby(columns, lambda n: None if is_number(kinds[n]) else kinds[n]):
            names = list(names)
            if kind is None:
                lists.append(NumberList(names, len(names), None))
            else:
                lists += [NumberList([name], width_of(frame, name, kind), kind) for name in names]
        single = all(item_type(kinds[name]) == "float" for name in columns)
        return cls(lists, "float" if single else "double", label, weight)

    @property
    def feature_names(self):
        """Name of each feature."""
        return [name for part in self.lists for name in part.names]

    def columns_of(self, frame):
        """Return the columns of Spark that the batches are to have."""
        columns = [
            part.expression(frame, self.word).alias(f"f{k}") for k, part in enumerate(self.lists)
        ]
        if self.label is not None:
            columns.append(frame[quoted(self.label)].alias("y"))
        if self.weight is not None:
            columns.append(frame[quoted(self.weight)].cast("double").alias("weight"))
        return columns

    def block(self, batch, gaps=False):
        """Return features, labels and weights of a batch; gaps, nulls among numbers, may be NaN."""
        parts = [part.of_batch(batch.column(f"f{k}"), gaps) for k, part in enumerate(self.lists)]
        return (
            parts[0] if len(parts) == 1 else np.hstack(parts),
            column_of(batch, "y", self.label),
            column_of(batch, "weight", self.weight),
        )


def column_of(batch, field, name):
    """Return a column of a batch as an array, None for one without a name."""
    if name is None:
        return None
    values = batch.column(field)
    if values.null_count:
        raise null_in(name)
    return values.to_numpy(zero_copy_only=False)


def check_frame(frame):
    """Check that X is a DataFrame of Spark SQL."""
    if not hasattr(frame, "mapInArrow"):
        raise TypeError(
            f"X is a {type(frame).__name__} of pyspark; give a DataFrame of Spark SQL, as "
            "X.to_spark() returns it for one of pyspark.pandas."
        )


def check_types(kinds, columns, label, weight):
    """Check the types of the columns of a DataFrame."""
    odd = [name for name in columns if item_type(kinds[name]) is None]
    if odd:
        raise ValueError(
            f"X has other things than numbers in the columns {listed(odd)} (type "
            f"{kinds[odd[0]]}); encode these columns as numbers, or drop them."
        )
    if not columns:
        raise ValueError("X has no column with features; a fit needs at least 1.")
    if label is not None and kinds[label] not in LABELS:
        raise ValueError(
            f"y={label!r} is a column of type {kinds[label]}; cast it to string or to integers."
        )
    if weight is not None and not is_number(kinds[weight]):
        raise ValueError(
            f"sample_weight={weight!r} is a column of type {kinds[weight]}; give numbers."
        )


def is_number(kind):
    """Return whether a type of Spark is one of numbers."""
    return kind.partition("(")[0] in NUMBERS


def item_type(kind):
    """Return the type of the numbers of a column, or None if it has other things."""
    if kind == "vector":
        return "double"
    kind = kind.removeprefix("array<").removesuffix(">")
    return kind if is_number(kind) else None


def vectors(frame, name, kind, word):
    """Return a column of arrays, or of vectors of MLlib, as arrays of floating point."""
    if kind != "vector":
        return frame[quoted(name)].cast(f"array<{word}>")
    from pyspark.ml.functions import vector_to_array

    return vector_to_array(frame[quoted(name)], "float32" if word == "float" else "float64")


def width_of(frame, name, kind):
    """Return the length of the first vector of a column."""
    from pyspark.sql.functions import size

    first = frame.select(size(vectors(frame, name, kind, "double"))).head()
    if first is None:
        raise no_rows()
    if first[0] is None or first[0] < 1:
        raise null_in(name)
    return first[0]


def quoted(name):
    """Return the name of a column as Spark takes it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def no_rows():
    """Return the error for a DataFrame that has no rows."""
    return ValueError("X has no rows; give some.")


def null_in(name):
    """Return the error for a column that has a null."""
    return ValueError(
        f"X has nulls in the column {name!r}; remove such rows (X.dropna(subset=[{name!r}])), or "
        "impute them."
    )
