"""Tables: columns found by name or number, blocks of rows, and errors that name the place."""

import importlib.util
import shlex
from collections import Counter
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from cappedlda._cli.dialects import Notation, kind_of_value
from cappedlda._cli.limits import LIMITS
from cappedlda._validation import listed


class Block(NamedTuple):
    """Some rows of a table."""

    X: np.ndarray  # the features
    others: Any  # a DataFrame of other columns, by the number of the row
    labels: np.ndarray | None


class Table:
    """A table that may be read any number of times.

    `frames(wanted, text, n_rows)` yields data frames of some rows with the wanted columns, in their
    order; the columns in `text` of a CSV file stay text.
    """

    may_drop = True  # whether a column of text could be left out; not if a model needs it
    encoded = False  # whether columns are encoded already that are text in the first rows

    def __init__(self, label, columns, frames, notation=None, array=None):
        self.label = label  # the file, for messages
        self.columns = list(columns)  # names, or numbers from 0
        self.has_names = any(isinstance(column, str) for column in self.columns)
        self.frames = frames
        self.notation = notation or Notation()
        self.array = array  # the rows, if they are in memory or mapped

    def blocks(self, features, others=(), target=None, width=None):
        """Yield the rows in order, as `Block`; a row takes `width` numbers, or as many as columns.

        Features become numbers, NaN if they are missing. Other columns stay as they are, in CSV as
        text. The target is the column of the labels, or has a label for each row, or is None.
        """
        text = [*others, *columns_of(target)]
        n_rows = block_rows(width or len(features) + len(text))
        start = 0
        for frame in self.frames(self._sorted({*features, *text}), text, n_rows):
            stop = start + len(frame)
            frame.index = range(start, stop)
            labels = target
            if columns_of(target):
                labels = frame[target].to_numpy()
            elif target is not None:
                self._check_labels(target, len(target) >= stop, f"at least {stop}")
                labels = target[start:stop]
            yield Block(self._matrix(features, frame), frame[self._sorted({*others})], labels)
            start = stop
        if isinstance(target, np.ndarray):
            self._check_labels(target, len(target) == start, start)

    def _check_labels(self, labels, fit, n_rows):
        if not fit:
            raise ValueError(
                f"{self.label} has {n_rows} rows, but there are {len(labels)} labels; give one "
                "label per row."
            )

    def _sorted(self, wanted):
        return [column for column in self.columns if column in wanted]

    def first_rows(self, columns):
        """Return columns of the first block, as they are; None of an empty table."""
        return next(iter(self.frames(self._sorted({*columns}), [], block_rows(len(columns)))), None)

    def find(self, name, option):
        if name in self.columns:
            return name
        try:
            number = int(name)
        except ValueError:
            raise ValueError(self._unknown_column(name, option)) from None
        try:
            return self.columns[number]
        except IndexError:
            found = f"{self.label} has {len(self.columns)} columns, numbered from 0"
            raise ValueError(f"{found}: there is no column {number} for {option}.") from None

    def find_all(self, names, option):
        """Return columns; an unknown name may be several with commas."""
        known = self.columns
        single = [part for name in names for part in ([name] if name in known else name.split(","))]
        # Blanks after commas are for the eye, unless a name begins with one.
        single = [name if name in known else name.strip() for name in single]
        return [self.find(name, option) for name in single]

    def place(self, column, row=None):
        """Return where a value stands, for a message; labels may be beside the table."""
        where = f"{self.label}, column {column!r}"
        where = f"labels of {self.label}" if isinstance(column, np.ndarray) else where
        return where + (": " if row is None else f", row {row} (counted from 0): ")

    def _unknown_column(self, name, option):
        if not self.has_names:
            wanted = f"a number from 0 to {len(self.columns) - 1}"
            return f"{self.label} has columns without names: {option} {name!r} must be {wanted}."
        near = [other for other in self.columns if other.lower() == name.lower()]
        near = near or get_close_matches(name, self.columns, n=1)
        advice = f"did you mean {near[0]!r}?" if near else f"it has {listed(self.columns)}."
        if len(self.columns) == 1:
            advice += " If commas do not separate the columns, give --delimiter."
        return f"{self.label} has no column {name!r} for {option}; {advice}"

    def _matrix(self, features, frame):
        numbers, wrong = [], {}
        for column in features:
            try:
                numbers.append(self.numbers(frame[column]))
            except NotANumberError as error:
                wrong[column] = error
        if wrong:
            raise self._not_numbers(frame.index[0], wrong)
        narrow = bool(numbers) and all(values.dtype == np.float32 for values in numbers)
        X = np.empty((len(frame), len(numbers)), np.float32 if narrow else np.float64)
        for j, values in enumerate(numbers):
            X[:, j] = values
        return X

    def numbers(self, column):
        """Return a column as numbers, NaN where a value is missing."""
        if column.dtype.kind in "fiub":
            return column.to_numpy()
        numbers = np.empty(len(column))
        for i, (value, missing) in enumerate(zip(column.tolist(), column.isna(), strict=True)):
            try:
                numbers[i] = np.nan if missing else self.notation.number(value)
            except (TypeError, ValueError):
                raise NotANumberError(i, value) from None
        return numbers

    def _not_numbers(self, start, wrong):
        first, error = next(iter(wrong.items()))
        problem = f"{str(error.value)!r} is not a number"
        if others := [str(column) for column in wrong][1:]:
            problem += f", nor are values in {listed(others)}"
        columns = {"text": [], "notation": [], "currency": [], "date": []}
        for j, other in wrong.items():
            columns[kind_of_value(other.value)].append(j)
        advice = "; ".join(self.remedy(kind, columns[kind]) for kind in columns if columns[kind])
        return ColumnError(f"{self.place(first, start + error.index)}{problem}; {advice}.", self)

    def remedy(self, kind, columns):
        several, names = len(columns) > 1, ", ".join(repr(str(column)) for column in columns)
        if kind == "currency":
            looks = "look" if several else "looks"
            return f"{names} {looks} like numbers with a currency sign: remove it from the file"
        if kind == "notation":
            return (
                f"numbers in {names} are not written with {self.notation}: make the file "
                "consistent, or give --decimal and --thousands"
            )
        if kind == "date":
            holds, them = ("hold", "them") if several else ("holds", "it")
            drop = f", or leave {them} out with {self.option('--drop', columns)}"
            text = f"{names} {holds} dates: replace {them} with a number, such as the days since a "
            return f"{text}fixed day{drop if self.may_drop else ''}"
        if not self.may_drop:
            return (
                f"the model was fitted to numbers in {names}: correct the text, or declare it a "
                "missing value with --na"
            )
        noun = "columns" if several else "column"
        if self.encoded:
            return (
                f"in the first rows the {noun} held numbers: correct the text, declare it a "
                f"missing value with --na, or give {self.option('--categories', columns)}"
            )
        drop = f"leave the {noun} out with {self.option('--drop', columns)}"
        return f"encode the {noun} with --encode, or {drop}"

    def option(self, name, columns):
        names = [str(column) for column in columns]
        joined = [",".join(plain)] if (plain := [n for n in names if "," not in n]) else []
        values = [*joined, *(n for n in names if "," in n)]
        return " ".join(f"{name} {shlex.quote(value)}" for value in values)


def columns_of(target):
    """Return the column of the labels in a list, which is empty if they are not in the table."""
    return [target] if isinstance(target, int | str) else []


def block_rows(width):
    return max(1, LIMITS.block_numbers // max(1, width))


def refuse_repeated(label, names):
    for name, n in Counter(names).items():
        if n > 1:
            raise ValueError(f"{label} has two columns {name!r}; rename one of them.")


class ColumnError(ValueError):
    """Columns of a table that cannot be features as they are."""

    def __init__(self, message, table):
        super().__init__(message)
        self.table = table


class NotANumberError(ValueError):
    """A value that is neither a number nor missing, and where it stands."""

    def __init__(self, index, value):
        super().__init__(f"{value!r} is not a number")
        self.index = index
        self.value = value


def needs(module, task):
    if importlib.util.find_spec(module) is None:
        raise ValueError(f'{task} needs {module}. Try: pip install "cappedlda[cli]"')
