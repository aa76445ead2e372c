"""The columns of a Spark DataFrame, which executors get as one list of numbers per row.

That is faster than a column for each feature.
"""

from itertools import groupby
from typing import NamedTuple

import numpy as np

from cappedlda._data.blocks import check_numbers
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


class Layout(NamedTuple):
    """How rows are found in a DataFrame, and in the Arrow batches of it."""

    columns: list  # names of those with features
    widths: list  # numbers of each column; None for a column of numbers, not of vectors
    word: str  # "float" or "double"
    label: str | None = None  # names of columns
    weight: str | None = None

    @classmethod
    def of(cls, frame, columns, label=None, weight=None):
        kinds = dict(frame.dtypes)
        check_types(kinds, columns, label, weight)
        widths = [
            None if is_number(kinds[name]) else width_of(frame, name, kinds[name])
            for name in columns
        ]
        single = all(item_type(kinds[name]) == "float" for name in columns)
        return cls(columns, widths, "float" if single else "double", label, weight)

    @property
    def feature_names(self):
        """Name of each feature; those of a vector have its name and a number."""
        return [
            name if k is None else f"{name}[{k}]"
            for name, width in zip(self.columns, self.widths, strict=True)
            for k in ([None] if width is None else range(width))
        ]

    def columns_of(self, frame):
        """Return the columns of Spark that the batches are to have: features as one list."""
        from pyspark.sql import functions as F

        kinds, lists = dict(frame.dtypes), []
        for width, names in groupby(
            self.columns, dict(zip(self.columns, self.widths, strict=True)).get
        ):
            if width is None:
                lists.append(F.array(*(frame[quoted(name)].cast(self.word) for name in names)))
                continue
            gap = F.array_repeat(F.lit(None).cast(self.word), width)
            lists += [F.coalesce(vectors(frame, n, kinds[n], self.word), gap) for n in names]
        columns = [(lists[0] if len(lists) == 1 else F.concat(*lists)).alias("X")]
        if self.label is not None:
            columns.append(frame[quoted(self.label)].alias("y"))
        if self.weight is not None:
            columns.append(frame[quoted(self.weight)].cast("double").alias("weight"))
        return columns

    def block(self, batch, gaps=False):
        """Return features, labels and weights of a batch; gaps, nulls among numbers, may be NaN."""
        names, values = self.feature_names, batch.column("X")
        lengths = values.value_lengths().to_numpy(zero_copy_only=False)
        odd = lengths[lengths != len(names)]
        if len(odd):
            vectors = [c for c, width in zip(self.columns, self.widths, strict=True) if width]
            raise ValueError(
                f"X has rows of {len(names)} and of {odd[0]} numbers; make the vectors of one "
                f"length in the column {listed(vectors)}."
            )
        items = values.flatten()
        if items.null_count and not gaps:
            first = int(np.argmax(items.is_null().to_numpy(zero_copy_only=False)))
            raise null_in(columns_with([names[first % len(names)]], self.columns)[0])
        return (
            items.fill_null(np.nan).to_numpy().reshape(len(values), len(names)),
            column_of(batch, "y", self.label),
            column_of(batch, "weight", self.weight),
        )


def columns_with(names, columns):
    """Return the columns that have features of these names, each once, in their order."""
    found = [n if n in columns or "[" not in n else n.rpartition("[")[0] for n in names]
    return list(dict.fromkeys(found))


def column_of(batch, field, name):
    if name is None:
        return None
    values = batch.column(field)
    if values.null_count:
        raise null_in(name)
    return values.to_numpy(zero_copy_only=False)


def check_frame(frame):
    if not hasattr(frame, "mapInArrow"):
        raise TypeError(
            f"X is a {type(frame).__name__} of pyspark; give a DataFrame of Spark SQL, as "
            "X.to_spark() returns it for one of pyspark.pandas."
        )


def check_types(kinds, columns, label, weight):
    check_numbers({name: kinds[name] for name in columns if item_type(kinds[name]) is None})
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
    from pyspark.sql.functions import size

    first = frame.select(size(vectors(frame, name, kind, "double"))).head()
    if first is None:
        raise no_rows()
    if first[0] is None or first[0] < 1:
        raise null_in(name)
    return first[0]


def quoted(name):
    return "`" + name.replace("`", "``") + "`"


def no_rows():
    return ValueError("X has no rows; give some.")


def null_in(name):
    return ValueError(
        f"X has nulls in the column {name!r}; remove such rows (X.dropna(subset=[{name!r}])), or "
        "impute them."
    )
