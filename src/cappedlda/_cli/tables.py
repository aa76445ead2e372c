"""Tables: columns found by name, blocks of rows, and errors that name the place.

A table knows its columns by position; `names` is None where a file has none. It may be read
any number of times. What a reader needs is imported when it is used. CSV and ARFF are in
`text_tables`, spreadsheets in `spreadsheets`, and `formats` opens a file by its suffix.
"""

import re
import shlex
from difflib import get_close_matches
from itertools import chain
from typing import NamedTuple

import numpy as np

from cappedlda._files import arrow_to_numpy, open_parquet

BLOCK_NUMBERS = 2_000_000  # that are in memory at a time
MOST_NAMED = 8  # columns that a message lists
# Dates as people and databases write them, with or without a time of day.
DATE = re.compile(
    r"([0-9]{4}[-./][0-9]{1,2}[-./][0-9]{1,2}|[0-9]{1,2}[-./][0-9]{1,2}[-./]([0-9]{4}|[0-9]{2}))"
    r"([ T][0-9]{1,2}:[0-9]{2}.*)?"
)
CURRENCY = re.compile(r"[$€£¥₹]|\b(EUR|USD|GBP|CHF|JPY)\b")
HARD_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'"})


class Block(NamedTuple):
    """Some rows of a table: the number of the first, the features, and other columns."""

    start: int
    X: np.ndarray
    columns: list


class Table:
    """What all tables share: finding columns, and errors that name the place.

    Attributes
    ----------
    label : str
        The file, for messages.
    names : list of str or None
    n_columns : int
    notation : Notation
        How numbers are written, where they are text.
    may_drop : bool
        Whether a column of text could be left out; not if a model needs it.
    encoded : bool
        Whether columns are encoded already that are text in the first rows.
    """

    def __init__(self, label, names, n_columns, notation=None):
        self.label = label
        self.names = names
        self.n_columns = n_columns
        self.notation = notation or Notation()
        self.may_drop = True
        self.encoded = False

    def blocks(self, features, others=(), width=None):
        """Yield the rows in order.

        Parameters
        ----------
        features : list of int
            Columns of numbers, which become X. Missing values become NaN.
        others : list of int
            Further columns, as they are; of a CSV file, as text.
        width : int, optional
            Numbers that a row will take, if these are not its columns.
        """
        n_rows = block_rows(width or len(features) + len(others))
        start = 0
        for columns in self._columns(sorted({*features, *others}), list(others), n_rows):
            X = self._matrix(start, features, columns)
            yield Block(start, X, [columns[j] for j in others])
            start += len(X)

    def first_columns(self, positions):
        """Return columns of the first block by position, as they are; none of an empty table."""
        return next(iter(self._columns(sorted(positions), [], block_rows(len(positions)))), {})

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

    def _matrix(self, start, features, columns):
        """Return columns as one matrix, in float32 if all of them are."""
        numbers, wrong = [], {}
        for position in features:
            try:
                numbers.append(self.numbers(columns[position]))
            except NotANumberError as error:
                wrong[position] = error
        if wrong:
            raise self._not_numbers(start, wrong)
        narrow = bool(numbers) and all(values.dtype == np.float32 for values in numbers)
        n_rows = len(next(iter(columns.values())))
        X = np.empty((n_rows, len(numbers)), np.float32 if narrow else np.float64)
        for j, values in enumerate(numbers):
            X[:, j] = values
        return X

    def numbers(self, values):
        """Return a column as numbers, NaN where a value is missing."""
        if values.dtype.kind in "fiub":
            return values
        numbers = np.empty(len(values))
        # Dates of NumPy would become numbers, by their unit.
        values = values.astype(str) if values.dtype.kind in "mM" else values
        for i, value in enumerate(values.tolist()):
            try:
                numbers[i] = np.nan if is_missing(value) else self.notation.number(value)
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


class Notation(NamedTuple):
    """How numbers are written: the decimal mark, and what separates thousands, if anything."""

    decimal: str = "."
    thousands: str | None = None

    def __str__(self):
        between = "" if self.thousands is None else f" and {self.thousands!r} between thousands"
        return f"the decimal mark {self.decimal!r}{between}"

    def number(self, value):
        """Return the number that a value is; raise a ValueError or TypeError if it is none."""
        return float(self._plain(value.strip()) if isinstance(value, str) else value)

    def reads(self, text):
        """Tell whether text is a number in this notation."""
        try:
            self.number(text)
        except ValueError:
            return False
        return True

    def _plain(self, text):
        if self.thousands is not None:
            text = text.translate(HARD_SPACES)
            # Only in groups of three, for 01.02.2024 is a date.
            if self._grouped().fullmatch(text):
                text = text.replace(self.thousands, "")
        if self.decimal != "." and "." in text:
            raise ValueError(f"{text!r} has a point")
        text = text.replace(self.decimal, ".")
        if "_" in text:  # Python reads 1_000 as 1000; a table does not
            raise ValueError(f"{text!r} has an underscore")
        return text

    def _grouped(self):
        between, mark = re.escape(self.thousands), re.escape(self.decimal)
        return re.compile(rf"[-+]?[1-9][0-9]{{0,2}}({between}[0-9]{{3}})+({mark}[0-9]*)?")


# From the plainest on.
NOTATIONS = tuple(
    Notation(decimal, thousands)
    for thousands in (None, ".", ",", " ", "'")
    for decimal in (".", ",")
    if decimal != thousands
)


def is_number_elsewhere(value):
    """Tell whether text is a number in some notation, or but for a currency sign."""
    if not isinstance(value, str):
        return False
    plain = CURRENCY.sub("", value).strip()
    return any(notation.reads(plain) for notation in NOTATIONS)


def has_currency(value):
    """Tell whether text is a number with a currency sign."""
    return is_number_elsewhere(value) and CURRENCY.search(value) is not None


def is_date(value):
    """Tell whether a value is a date, or text that looks like one."""
    if isinstance(value, str):
        return DATE.fullmatch(value.strip()) is not None
    return hasattr(value, "year")


def is_missing(value):
    """Tell whether a value stands for none."""
    return value is None or value != value


class ArrayTable(Table):
    """A two-dimensional array of numbers; its rows are read where they are."""

    def __init__(self, label, array):
        if array.ndim != 2 or array.dtype.kind not in "fiub":
            raise ValueError(
                f"{label} has shape {array.shape} and type {array.dtype}; "
                "a table has to be a two-dimensional array of numbers."
            )
        super().__init__(label, None, array.shape[1])
        self.array = array

    def blocks(self, features, others=(), width=None):
        """Yield the rows in order; X is a part of the array if its columns stand together."""
        n_rows = block_rows(width or len(features) + len(others))
        chosen = as_slice(features)
        for start in range(0, len(self.array), n_rows):
            rows = self.array[start : start + n_rows]
            yield Block(start, np.asarray(rows[:, chosen]), [rows[:, j] for j in others])

    def _columns(self, wanted, text, n_rows):
        yield {j: self.array[:n_rows, j] for j in wanted}


def as_slice(positions):
    """Return positions that follow each other as a slice, which needs no copy."""
    if positions and positions == list(range(positions[0], positions[-1] + 1)):
        return slice(positions[0], positions[-1] + 1)
    return positions


class ParquetTable(Table):
    """Parquet files with the same columns, read by pyarrow one after the other."""

    def __init__(self, label, paths):
        self._files = [open_parquet(path) for path in paths]
        names = self._files[0].schema_arrow.names
        refuse_repeated(label, names)
        for path, file in zip(paths, self._files, strict=True):
            if file.schema_arrow.names != names:
                raise ValueError(f"{path} has other columns than {paths[0]}; make them alike.")
        super().__init__(label, names, len(names))

    def _columns(self, wanted, text, n_rows):
        names = {j: self.names[j] for j in wanted}
        batches = (file.iter_batches(n_rows, columns=list(names.values())) for file in self._files)
        for batch in chain.from_iterable(batches):
            yield {j: arrow_to_numpy(batch.column(name)) for j, name in names.items()}


def needs(module, task):
    """Refuse a task whose library is missing, with the remedy."""
    from importlib.util import find_spec

    if find_spec(module) is None:
        raise ValueError(f'{task} needs {module}. Try: pip install "cappedlda[cli]"')
