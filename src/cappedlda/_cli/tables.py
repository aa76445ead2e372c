"""Tables in files: CSV, Parquet, ARFF, .npy and .npz, read in blocks of rows.

A table knows its columns by position; `names` is None where a file has none. It may be read
any number of times. What a reader needs is imported when it is used.
"""

import lzma
import re
import shlex
import shutil
import sys
import tempfile
import warnings
import weakref
import zlib
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cappedlda._files import arrow_to_numpy, map_npy, npz_names, open_parquet, read_npz

BLOCK_NUMBERS = 2_000_000  # that are in memory at a time
MOST_NAMED = 8  # columns that a message lists
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
CSV = {".csv": ",", ".txt": ",", ".data": ",", ".tsv": "\t", ".tab": "\t"}
STDIN = "-"
# What readers of compressed files raise besides ValueError and OSError.
DAMAGED = (EOFError, zlib.error, lzma.LZMAError)


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
    may_drop : bool
        Whether a column of text could be left out; not if a model needs it.
    """

    def __init__(self, label, names, n_columns):
        self.label = label
        self.names = names
        self.n_columns = n_columns
        self.may_drop = True

    def blocks(self, features, others=()):
        """Yield the rows in order.

        Parameters
        ----------
        features : list of int
            Columns of numbers, which become X. Missing values become NaN.
        others : list of int
            Further columns, as they are; of a CSV file, as text.
        """
        n_rows = max(1, BLOCK_NUMBERS // max(1, len(features) + len(others)))
        yield from self._blocks(list(features), list(others), n_rows)

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
        single = [
            part
            for name in names
            for part in ([name] if name in (self.names or ()) else name.split(","))
        ]
        return [self.position(name, option) for name in single]

    def column_name(self, position):
        """Return the name of a column, or its number if it has none."""
        return str(position) if self.names is None else self.names[position]

    def column_argument(self, position):
        """Return what a shell takes as the name of a column."""
        return shlex.quote(self.column_name(position))

    def error_at(self, position, row, problem):
        """Return an error that names the place of a value."""
        name = position if self.names is None else repr(self.names[position])
        return ValueError(f"{self.label}, column {name}, row {row} (counted from 0): {problem}")

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

    def _not_numbers(self, start, wrong):
        """Return an error about all columns with text: positions, and what is wrong in each."""
        (first, error), *others = wrong
        problem = f"{error.value!r} is not a number"
        if others:
            names = ", ".join(repr(self.column_name(j)) for j, _ in others[:MOST_NAMED])
            more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
            problem += f", nor are values in {names}{more}"
        column, it = ("columns", "them") if others else ("column", "it")
        remedy = f"encode the {column} as numbers."
        if self.may_drop:
            names = shlex.quote(",".join(self.column_name(j) for j, _ in wrong))
            remedy = f"leave the {column} out with --drop {names}, or encode {it} as numbers."
        return self.error_at(first, start + error.index, f"{problem}; {remedy}")

    def _matrix(self, start, features, columns):
        """Return columns as one matrix, in float32 if all of them are."""
        if not columns:
            return np.empty((0, 0))
        numbers, wrong = [], []
        for position, values in zip(features, columns, strict=True):
            try:
                numbers.append(as_numbers(values))
            except NotANumberError as error:
                wrong.append((position, error))
        if wrong:
            raise self._not_numbers(start, wrong)
        narrow = all(values.dtype == np.float32 for values in numbers)
        X = np.empty((len(numbers[0]), len(numbers)), np.float32 if narrow else np.float64)
        for j, values in enumerate(numbers):
            X[:, j] = values
        return X


def refuse_repeated(label, names):
    """Refuse names of columns that are equal."""
    seen = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{label} has two columns {name!r}; rename one of them.")
        seen.add(name)


class NotANumberError(ValueError):
    """A value that is neither a number nor missing, and where it stands."""

    def __init__(self, index, value):
        super().__init__(f"{value!r} is not a number")
        self.index = index
        self.value = value


def as_numbers(values):
    """Return a column as numbers, NaN where a value is missing."""
    if values.dtype.kind in "fiub":
        return values
    numbers = np.empty(len(values))
    for i, value in enumerate(values.tolist()):
        try:
            numbers[i] = np.nan if is_missing(value) else plain_float(value)
        except (TypeError, ValueError):
            raise NotANumberError(i, value) from None
    return numbers


def plain_float(value):
    """Return the number that a value is; Python's own 1_000 is none in a table."""
    if isinstance(value, str) and "_" in value:
        raise ValueError(f"{value!r} has an underscore")
    return float(value)


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

    def _blocks(self, features, others, n_rows):
        chosen = as_slice(features)
        for start in range(0, len(self.array), n_rows):
            rows = self.array[start : start + n_rows]
            yield Block(start, np.asarray(rows[:, chosen]), [rows[:, j] for j in others])


def as_slice(positions):
    """Return positions that follow each other as a slice, which needs no copy."""
    if positions and positions == list(range(positions[0], positions[-1] + 1)):
        return slice(positions[0], positions[-1] + 1)
    return positions


class CsvTable(Table):
    """A text file with one row per line, read by pandas."""

    def __init__(self, label, source, *, header=False, names=None, **options):
        self._source = source
        self._options = {
            "header": 0 if header else None,
            "names": names,
            "index_col": False,
            "skipinitialspace": True,
            "low_memory": False,
            **options,
        }
        with self._reading(label):
            head = self._read(nrows=0 if header or names else 1)
            if header:
                # As they are written, for pandas renames equal names.
                first = self._read(nrows=1, header=None, dtype=str, keep_default_na=False)
                refuse_repeated(label, filter(None, first.iloc[0]))
        names = [str(name) for name in head.columns] if header else names
        super().__init__(label, names, len(head.columns))
        self._keys = list(head.columns)

    def _read(self, **options):
        import pandas as pd

        if not isinstance(self._source, Path):
            self._source.seek(0)
        # From 3.1 on pandas reads the nearest number anyway, and warns if it is asked for.
        exact = {} if pandas_version() >= (3, 1) else {"float_precision": "round_trip"}
        return pd.read_csv(self._source, **{**exact, **self._options, **options})

    def _blocks(self, features, others, n_rows):
        start = 0
        wanted = sorted({*features, *others})
        text = {self._keys[j]: str for j in others}
        with self._reading(self.label):
            # All columns, for only then does pandas object to lines that are too long.
            reader = self._read(dtype=text, chunksize=n_rows)
        with reader:
            while True:
                with self._reading(self.label):
                    frame = next(reader, None)
                if frame is None:
                    return
                columns = {j: frame[self._keys[j]].to_numpy() for j in wanted}
                X = self._matrix(start, features, [columns[j] for j in features])
                yield Block(start, X, [columns[j] for j in others])
                start += len(frame)

    @contextmanager
    def _reading(self, label):
        from pandas.errors import EmptyDataError, ParserWarning

        with warnings.catch_warnings():
            warnings.simplefilter("error", ParserWarning)
            try:
                yield
            except EmptyDataError:
                raise ValueError(f"{label} cannot be read as CSV: it is empty") from None
            except UnicodeError:
                encoding = self._options["encoding"]
                raise ValueError(
                    f"{label} is not text in {encoding}; name its encoding with --encoding, "
                    "for example cp1252 or utf-16."
                ) from None
            except (ValueError, OSError, ParserWarning, ImportError, *DAMAGED) as error:
                if label in str(error):
                    raise
                reason = (str(error).strip() or "it ends too early").splitlines()[0]
                reason = reason.removeprefix("Error tokenizing data. C error: ")
                raise ValueError(f"{label} cannot be read as CSV: {reason}") from None


def pandas_version():
    """Return the first two numbers of the version of pandas."""
    import pandas as pd

    return tuple(map(int, pd.__version__.split(".")[:2]))


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

    def _blocks(self, features, others, n_rows):
        wanted = [self.names[j] for j in {*features, *others}]
        start = 0
        batches = (file.iter_batches(n_rows, columns=wanted) for file in self._files)
        for batch in chain.from_iterable(batches):
            columns = {name: arrow_to_numpy(batch.column(name)) for name in wanted}
            X = self._matrix(start, features, [columns[self.names[j]] for j in features])
            yield Block(start, X, [columns[self.names[j]] for j in others])
            start += len(batch)


ATTRIBUTE = re.compile(r"""@attribute\s+(?:'([^']*)'|"([^"]*)"|(\S+))\s+\S""", re.IGNORECASE)


def arff_table(path, encoding):
    """Return the table in a dense ARFF file: a header, then what is nearly CSV."""
    names, n_lines = [], 0
    with open(path, encoding=encoding, errors="replace") as file:
        for line in map(str.strip, file):
            n_lines += 1
            if line.lower() == "@data":
                break
            if found := ATTRIBUTE.match(line):
                names.append(next(name for name in found.groups() if name is not None))
        else:
            raise ValueError(f"{path} cannot be read as ARFF: it has no line @data")
        first = next((line for line in map(str.strip, file) if line and line[0] != "%"), "")
    if first.startswith("{"):
        raise ValueError(f"{path} is sparse ARFF, which is not supported; write it as dense ARFF.")
    if not names:
        raise ValueError(f"{path} cannot be read as ARFF: it has no line @attribute")
    refuse_repeated(path, names)
    options = {"skiprows": n_lines, "comment": "%", "quotechar": "'", "na_values": "?"}
    return CsvTable(path, Path(path), names=names, encoding=encoding, **options)


class Dialect(NamedTuple):
    """How a CSV file is written: between columns, in numbers, and between thousands."""

    sep: str
    decimal: str
    thousands: str | None

    @classmethod
    def of(cls, head, usual, delimiter=None, decimal=None, thousands=None):
        """Return the dialect of text that begins with some lines; what is given is not guessed.

        Parameters
        ----------
        head : list of str
            The first lines.
        usual : str
            The separator if the first line has neither it nor another one.
        """
        first = head[0] if head else ""
        found = [usual, *(mark for mark in ";\t," if mark != usual)]
        sep = delimiter or next((mark for mark in found if mark in first), usual)
        if decimal is None:
            cells = [cell.strip() for line in head[1:] for cell in line.split(sep)]
            comma = any(DECIMAL_COMMA.fullmatch(cell) for cell in cells)
            point = any(DECIMAL_POINT.fullmatch(cell) for cell in cells)
            decimal = "," if sep != "," and thousands != "," and comma and not point else "."
        return cls(sep, decimal, thousands)


DECIMAL_COMMA, DECIMAL_POINT = re.compile(r"[-+]?[0-9]+,[0-9]+"), re.compile(r"[-+]?[0-9]+\.[0-9]+")
HEAD_LINES = 100  # from which the dialect is told


def head_of(source, encoding):
    """Return the first lines of a file that may be compressed, or of a spooled stream."""
    import pandas as pd

    options = {"header": None, "sep": "\x00", "engine": "c", "quoting": 3, "dtype": str}
    try:
        lines = pd.read_csv(source, nrows=HEAD_LINES, encoding=encoding, **options)[0]
    except (ValueError, OSError, ImportError, *DAMAGED):
        return []  # whoever reads the table will say what is wrong
    finally:
        if not isinstance(source, Path):
            source.seek(0)
    return [str(line) for line in lines]


def open_table(path, *, delimiter=None, header=True, encoding="utf-8", key="X", **numbers):
    """Return the table in a file, by the suffix of its name; `-` is CSV from standard input.

    Parameters
    ----------
    path : str
    delimiter : str, optional
        Between the columns of a CSV file. By default the one that its first line has.
    header : bool
        Whether the first line of a CSV file has the names of the columns.
    encoding : str
        Of CSV and ARFF.
    key : str
        The array in an .npz file.
    **numbers
        `decimal` and `thousands` of a CSV file.
    """
    text = {"encoding": encoding, "header": header}
    if path == STDIN:
        needs("pandas", "Reading CSV")
        spool = tempfile.SpooledTemporaryFile(max_size=2**26)  # noqa: SIM115 (the table keeps it)
        shutil.copyfileobj(sys.stdin.buffer, spool)
        dialect = Dialect.of(head_of(spool, encoding), ",", delimiter, **numbers)
        table = CsvTable("standard input", spool, **dialect._asdict(), **text)
        weakref.finalize(table, spool.close)
        return table
    if Path(path).is_dir():
        paths = sorted(Path(path).glob("*.parquet"))
        if not paths:
            raise IsADirectoryError(f"{path} is a directory without .parquet files; give one file.")
        needs("pyarrow", "Reading Parquet")
        return ParquetTable(path, paths)
    if not Path(path).exists():
        raise FileNotFoundError(f"there is no file {path}")
    suffix = suffix_of(path)
    if suffix in CSV:
        needs("pandas", "Reading CSV")
        head = head_of(Path(path), encoding)
        dialect = Dialect.of(head, CSV[suffix], delimiter, **numbers)
        return CsvTable(path, Path(path), **dialect._asdict(), **text)
    if suffix == ".parquet":
        needs("pyarrow", "Reading Parquet")
        return ParquetTable(path, [path])
    if suffix == ".arff":
        needs("pandas", "Reading ARFF")
        return arff_table(path, encoding)
    if suffix in (".npy", ".npz"):
        return ArrayTable(path, read_array(path, key))
    known = ", ".join([*CSV, ".parquet", ".arff", ".npy", ".npz"])
    raise ValueError(f"{path}: the suffix tells the format, and has to be one of {known}.")


def suffix_of(path):
    """Return the suffix of a file, before that of a compression."""
    path = Path(path)
    return Path(path.stem if path.suffix in COMPRESSIONS else path.name).suffix.lower()


def read_array(path, key):
    """Return the array in an .npy file, mapped, or the one under `key` in an .npz file."""
    if suffix_of(path) == ".npy":
        return map_npy(path)
    found = read_npz(path, [key])
    if key not in found:
        known = ", ".join(map(repr, npz_names(path)))
        raise ValueError(f"{path} has no array {key!r}; it has {known}.")
    return found[key]


def arrays_in(path):
    """Return the names of the arrays in an .npz file; in another file there are none."""
    return npz_names(path) if suffix_of(path) == ".npz" else []


def needs(module, task):
    """Refuse a task whose library is missing, with the remedy."""
    from importlib.util import find_spec

    if find_spec(module) is None:
        raise ValueError(f'{task} needs {module}. Try: pip install "cappedlda[cli]"')
