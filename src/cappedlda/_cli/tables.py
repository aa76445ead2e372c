"""Tables: columns found by name, blocks of rows, and errors that name the place.

A table knows its columns by position; `names` is None where a file has none. It may be read any
number of times. `formats` has the tables in files.
"""

import importlib.util
import shlex
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from cappedlda._cli.dialects import Notation, kind_of_value
from cappedlda._cli.limits import LIMITS

MOST_NAMED = 8  # columns that a message lists


class Block(NamedTuple):
    """Some rows of a table: the features, and other columns, by position and number of the row."""

    X: np.ndarray
    others: Any  # a DataFrame


class Table:
    """Finds columns, reads blocks of rows, and makes errors that name the place.

    `frames(wanted, text, n_rows)` yields data frames of some rows with the wanted columns, by
    position; the columns in `text` of a CSV file stay text.
    """

    may_drop = True  # whether a column of text could be left out; not if a model needs it
    encoded = False  # whether columns are encoded already that are text in the first rows

    def __init__(self, label, names, n_columns, frames, notation=None, array=None):
        self.label = label  # the file, for messages
        self.names = names
        self.n_columns = n_columns
        self.frames = frames
        self.notation = notation or Notation()
        self.array = array  # the rows, if they are in memory or mapped

    def blocks(self, features, others=(), width=None):
        """Yield the rows in order, as `Block`; a row takes `width` numbers, or as many as columns.

        Features become numbers, NaN if they are missing. Other columns stay as they are, those of
        a CSV file as text.
        """
        n_rows = block_rows(width or len(features) + len(others))
        start = 0
        for frame in self.frames(sorted({*features, *others}), list(others), n_rows):
            frame.index = range(start, start + len(frame))
            yield Block(self._matrix(features, frame), frame[sorted({*others})])
            start += len(frame)

    def first_rows(self, positions):
        """Return columns of the first block, as they are; None of an empty table."""
        return next(iter(self.frames(sorted(positions), [], block_rows(len(positions)))), None)

    def position(self, name, option):
        """Return the position of a column, given by its name or its number."""
        if self.names is not None and name in self.names:
            return self.names.index(name)
        try:
            number = int(name)
        except ValueError:
            raise ValueError(self._unknown_column(name, option)) from None
        if not -self.n_columns <= number < self.n_columns:
            raise ValueError(
                f"{self.label} has {self.n_columns} columns, numbered from 0: "
                f"there is no column {number} for {option}."
            )
        return number % self.n_columns

    def positions(self, names, option):
        """Return the positions of columns; an unknown name may be several with commas."""
        known = self.names or ()
        single = [part for name in names for part in ([name] if name in known else name.split(","))]
        # Blanks after commas are for the eye, unless a name begins with one.
        single = [name if name in known else name.strip() for name in single]
        return [self.position(name, option) for name in single]

    def column_name(self, position):
        """Return the name of a column, or its number if it has none."""
        return str(position) if self.names is None else self.names[position]

    def place(self, position, row=None):
        """Return where a value or a column stands, or a label beside the table, for a message."""
        if position is None:
            column = f"labels of {self.label}"
        else:
            name = position if self.names is None else repr(self.names[position])
            column = f"{self.label}, column {name}"
        return column + (": " if row is None else f", row {row} (counted from 0): ")

    def _unknown_column(self, name, option):
        if self.names is None:
            return (
                f"{self.label} has columns without names: {option} {name!r} must be a "
                f"number from 0 to {self.n_columns - 1}."
            )
        near = [other for other in self.names if other.lower() == name.lower()]
        near = near or get_close_matches(name, self.names, n=1)
        shown, more = ", ".join(map(repr, self.names[:MOST_NAMED])), self.n_columns - MOST_NAMED
        advice = f"it has {shown}" + (f" and {more} more." if more > 0 else ".")
        if near:
            advice = f"did you mean {near[0]!r}?"
        if self.n_columns == 1:
            advice += " If commas do not separate the columns, give --delimiter."
        return f"{self.label} has no column {name!r} for {option}; {advice}"

    def _matrix(self, features, frame):
        """Return columns as one matrix, in float32 if all of them are."""
        numbers, wrong = [], {}
        for position in features:
            try:
                numbers.append(self.numbers(frame[position]))
            except NotANumberError as error:
                wrong[position] = error
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
        if others := [repr(self.column_name(j)) for j in wrong][1:]:
            more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
            problem += f", nor are values in {', '.join(others[:MOST_NAMED])}{more}"
        columns = {"text": [], "notation": [], "currency": [], "date": []}
        for j, other in wrong.items():
            columns[kind_of_value(other.value)].append(j)
        advice = "; ".join(self.remedy(kind, columns[kind]) for kind in columns if columns[kind])
        return ColumnError(f"{self.place(first, start + error.index)}{problem}; {advice}.", self)

    def remedy(self, kind, positions):
        several, listed = len(positions) > 1, self._listed(positions)
        if kind == "currency":
            looks = "look" if several else "looks"
            return f"{listed} {looks} like numbers with a currency sign: remove it from the file"
        if kind == "notation":
            return (
                f"numbers in {listed} are not written with {self.notation}: make the file "
                "consistent, or give --decimal and --thousands"
            )
        if kind == "date":
            holds, them = ("hold", "them") if several else ("holds", "it")
            drop = f", or leave {them} out with {self.option('--drop', positions)}"
            text = (
                f"{listed} {holds} dates: replace {them} with a number, such as the days since a "
            )
            return f"{text}fixed day{drop if self.may_drop else ''}"
        if not self.may_drop:
            return (
                f"the model was fitted to numbers in {listed}: correct the text, or declare it a "
                "missing value with --na"
            )
        columns = "columns" if several else "column"
        if self.encoded:
            return (
                f"in the first rows the {columns} held numbers: correct the text, declare it a "
                f"missing value with --na, or give {self.option('--categories', positions)}"
            )
        drop = f"leave the {columns} out with {self.option('--drop', positions)}"
        return f"encode the {columns} with --encode, or {drop}"

    def _listed(self, positions):
        return ", ".join(repr(self.column_name(j)) for j in positions)

    def option(self, name, positions):
        """Return an option with columns, as a shell takes it."""
        names = [self.column_name(j) for j in positions]
        joined = [",".join(plain)] if (plain := [n for n in names if "," not in n]) else []
        values = [*joined, *(n for n in names if "," in n)]
        return " ".join(f"{name} {shlex.quote(value)}" for value in values)


def block_rows(width):
    """Return the number of rows in a block, where each row takes `width` numbers."""
    return max(1, LIMITS.block_numbers // max(1, width))


def refuse_repeated(label, names):
    seen = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{label} has two columns {name!r}; rename one of them.")
        seen.add(name)


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
    """Refuse a task whose library is missing, with the remedy."""
    if importlib.util.find_spec(module) is None:
        raise ValueError(f'{task} needs {module}. Try: pip install "cappedlda[cli]"')
