"""Tables in text: CSV in all its dialects, and dense ARFF, read by pandas."""

import csv
import lzma
import re
import warnings
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from cappedlda._cli.arguments import UsageError
from cappedlda._cli.tables import NOTATIONS, Notation, Table, refuse_repeated

# What readers of compressed files raise besides ValueError and OSError.
DAMAGED = (EOFError, zlib.error, lzma.LZMAError)


class CsvTable(Table):
    """A text file with one row per line, read by pandas."""

    def __init__(self, label, source, *, header=False, names=None, notation=None, **options):
        notation = notation or Notation()
        self._source = source
        self._options = {
            "header": 0 if header else None,
            "names": names,
            "index_col": False,
            "skipinitialspace": True,
            "low_memory": False,
            "decimal": notation.decimal,
            **options,
        }
        with self._reading(label):
            head = self._read(nrows=0 if header or names else 1)
            if header:
                # As they are written, for pandas renames equal names.
                first = self._read(nrows=1, header=None, dtype=str, keep_default_na=False)
                refuse_repeated(label, filter(None, first.iloc[0]))
        names = [str(name) for name in head.columns] if header else names
        super().__init__(label, names, len(head.columns), notation)
        self._keys = list(head.columns)

    def _read(self, **options):
        import pandas as pd

        if not isinstance(self._source, Path):
            self._source.seek(0)
        # From 3.1 on pandas reads the nearest number anyway, and warns if it is asked for.
        exact = {} if pandas_version() >= (3, 1) else {"float_precision": "round_trip"}
        return pd.read_csv(self._source, **{**exact, **self._options, **options})

    def _columns(self, wanted, text, n_rows):
        types = {self._keys[j]: str for j in text}
        if self.notation.thousands is not None:
            types = str  # pandas would make a number of a date, 01.02.2024
        with self._reading(self.label):
            # All columns, for only then does pandas object to lines that are too long.
            reader = self._read(dtype=types, chunksize=n_rows)
        with reader:
            while True:
                with self._reading(self.label):
                    frame = next(reader, None)
                if frame is None:
                    return
                yield {j: frame[self._keys[j]].to_numpy() for j in wanted}

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
    """How a CSV file is written: what is between columns, and how numbers are."""

    sep: str
    notation: Notation

    @classmethod
    def of(cls, head, usual, delimiter=None, decimal=None, thousands=None, notation=None):
        """Return the dialect of text that begins with some lines; what is given is not guessed.

        Parameters
        ----------
        head : list of str
            The first lines.
        usual : str
            The separator if the first line has neither it nor another one.
        delimiter, decimal, thousands : str, optional
        notation : Notation, optional
            How numbers are written if the lines do not tell.
        """
        first = head[0] if head else ""
        found = [usual, *(mark for mark in ";\t," if mark != usual)]
        sep = delimiter or next((mark for mark in found if mark in first), usual)
        cells = cells_of(head[1:], sep)
        return cls(sep, notation_of(cells, sep, decimal, thousands, notation))


def cells_of(lines, sep):
    """Return the cells of some lines, without the quotes."""
    try:
        return [cell for line in csv.reader(lines, delimiter=sep) for cell in line]
    except csv.Error:
        return []  # whoever reads the table will say what is wrong


WRITTEN = re.compile(r"[-+]?[0-9]+([.,' \u00a0\u202f\u2009\u2019][0-9]+)+")


def notation_of(cells, sep, decimal=None, thousands=None, expected=None):
    """Return the notation in which most cells are numbers; what is given is not guessed.

    Of those that explain as many cells, the expected one is taken, or else the plainest.
    """
    possible = [
        notation
        for notation in (*([expected] if expected else []), *NOTATIONS)
        if decimal in (None, notation.decimal)
        and thousands in (None, notation.thousands)
        # Where commas separate columns, one within a number is no decimal mark.
        and (decimal is not None or sep != "," or notation.decimal == ".")
    ]
    if not possible:
        raise no_notation(decimal, thousands)
    marked = [cell.strip() for cell in cells if WRITTEN.fullmatch(cell.strip())]
    return max(possible, key=lambda notation: sum(map(notation.reads, marked)))


def no_notation(decimal, thousands):
    """Return the error for marks that do not go together."""
    if decimal is None:  # then it is a point, for commas separate the columns
        return UsageError(
            f"--thousands {thousands} needs a decimal comma, but commas separate the columns; give "
            "--decimal , if numbers stand in quotes, or the separator of columns with --delimiter"
        )
    return UsageError(f"--decimal and --thousands are both {decimal!r}; they have to differ")


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
