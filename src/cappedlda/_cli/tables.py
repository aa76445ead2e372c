"""Tables: columns found by name, blocks of rows, and errors that name the place.

A table knows its columns by position; `names` is None where a file has none. It may be read any
number of times. `formats` has the tables in files.
"""

import importlib.util
import shlex
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from cappedlda._cli.dialects import Notation, has_currency, is_date, is_number_elsewhere

BLOCK_NUMBERS = 2_000_000  # that are in memory at a time
MOST_NAMED = 8  # columns that a message lists


class Block(NamedTuple):
    """Some rows of a table: the features, and other columns, by position and number of the row."""

    X: np.ndarray
    others: Any  # a DataFrame


class Table:
    """What all tables share; `frames` of a subclass reads the rows."""

    may_drop = True  # whether a column of text could be left out; not if a model needs it
    encoded = False  # whether columns are encoded already that are text in the first rows

    def __init__(self, label, names, n_columns, notation=None):
        self.label = label  # the file, for messages
        self.names = names
        self.n_columns = n_columns
        self.notation = notation or Notation()

    def frames(self, wanted, text, n_rows):
        """Yield data frames of some rows with the wanted columns; some of a CSV file are text."""
        raise NotImplementedError

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
        """Return the positions of columns; a name that is none may be several with commas."""
        known = self.names or ()
        single = [part for name in names for part in ([name] if name in known else name.split(","))]
        # Blanks after commas are for the eye, unless a name begins with one.
        single = [name if name in known else name.strip() for name in single]
        return [self.position(name, option) for name in single]

    def column_name(self, position):
        """Return the name of a column, or its number if it has none."""
        return str(position) if self.names is None else self.names[position]

    def error_at(self, position, row, problem):
        """Return an error that names the place of a value."""
        return ValueError(self.place(position, row) + problem)

    def place(self, position, row):
        """Return where a value stands, for a message."""
        name = position if self.names is None else repr(self.names[position])
        return f"{self.label}, column {name}, row {row} (counted from 0): "

    def _unknown_column(self, name, option):
        if self.names is None:
            return (
                f"{self.label} has columns without names: {option} {name!r} has to be a "
                f"number from 0 to {self.n_columns - 1}."
            )
        near = [other for other in self.names if other.lower() == name.lower()]
        near = near or get_close_matches(name, self.names, n=1)
        if near:
            advice = f"did you mean {near[0]!r}?"
        else:
            shown = ", ".join(map(repr, self.names[:MOST_NAMED]))
            more = self.n_columns - MOST_NAMED
            advice = f"it has {shown}" + (f" and {more} more." if more > 0 else ".")
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
        """Return an error about all columns with text: what is wrong, by position."""
        first, error = next(iter(wrong.items()))
        problem = f"{str(error.value)!r} is not a number"
        if others := [repr(self.column_name(j)) for j in wrong][1:]:
            more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
            problem += f", nor are values in {', '.join(others[:MOST_NAMED])}{more}"
        kinds = (self._text_remedy, self._notation_remedy, self._currency_remedy, self.date_remedy)
        remedies = {remedy: [] for remedy in kinds}
        for j, other in wrong.items():
            remedies[self._remedy(other.value)].append(j)
        advice = "; ".join(remedy(columns) for remedy, columns in remedies.items() if columns)
        return ColumnError(f"{self.place(first, start + error.index)}{problem}; {advice}.", self)

    def _remedy(self, value):
        """Return the method that tells what to do about columns with such a value."""
        if is_date(value):
            return self.date_remedy
        if has_currency(value):
            return self._currency_remedy
        return self._notation_remedy if is_number_elsewhere(value) else self._text_remedy

    def _text_remedy(self, positions):
        if not self.may_drop:
            return f"the model was fitted to numbers in {self._listed(positions)}"
        columns = "columns" if len(positions) > 1 else "column"
        if self.encoded:
            return (
                f"in the first rows the {columns} held numbers: correct the text, declare it a "
                f"missing value with --na, or give {self.option('--categories', positions)}"
            )
        return (
            f"encode the {columns} with --encode, or leave the {columns} out with "
            f"{self.option('--drop', positions)}"
        )

    def _currency_remedy(self, positions):
        look = "look" if len(positions) > 1 else "looks"
        signs = "numbers with a currency sign: remove the sign from the file"
        return f"{self._listed(positions)} {look} like {signs}"

    def date_remedy(self, positions):
        """Return what to do about columns of dates."""
        hold, them = ("hold", "them") if len(positions) > 1 else ("holds", "it")
        text = f"{self._listed(positions)} {hold} dates: replace {them} by a number, such as "
        drop = f", or leave {them} out with {self.option('--drop', positions)}"
        return f"{text}the days since a fixed day{drop if self.may_drop else ''}"

    def date_error(self, positions):
        """Return an error about columns of dates."""
        return ColumnError(f"{self.label}: {self.date_remedy(positions)}.", self)

    def _notation_remedy(self, positions):
        return (
            f"numbers in {self._listed(positions)} are written in another way than with "
            f"{self.notation}: make the file consistent, or give --decimal and --thousands"
        )

    def _listed(self, positions):
        return ", ".join(repr(self.column_name(j)) for j in positions)

    def option(self, name, positions):
        """Return an option with columns, as a shell takes it."""
        names = [self.column_name(j) for j in positions]
        joined = [",".join(plain)] if (plain := [n for n in names if "," not in n]) else []
        values = [*joined, *(n for n in names if "," in n)]
        return " ".join(f"{name} {shlex.quote(value)}" for value in values)


def block_rows(width):
    """Return the number of rows in a block, each of which takes so many numbers."""
    return max(1, BLOCK_NUMBERS // max(1, width))


def refuse_repeated(label, names):
    """Refuse names of columns that are equal."""
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
