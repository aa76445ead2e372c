"""Tables in files, by the suffix of their names: CSV, ARFF, .xlsx, Parquet, .npy and .npz."""

import lzma
import re
import shutil
import sys
import tempfile
import warnings
import weakref
import zlib
from contextlib import contextmanager
from pathlib import Path
from zipfile import BadZipFile

from cappedlda._cli.dialects import Notation, dialect_of
from cappedlda._cli.files import STDIN
from cappedlda._cli.tables import Table, needs, refuse_repeated
from cappedlda._util.files import map_npy, npz_names, open_parquet, read_npz

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
CSV = {".csv": ",", ".txt": ",", ".data": ",", ".tsv": "\t", ".tab": "\t"}
# What readers of compressed files raise besides ValueError and OSError.
DAMAGED = (EOFError, zlib.error, lzma.LZMAError)


def open_table(path, *, key="X", sheet=None, encoding="utf-8", **text):
    """Return the table in a file, by the suffix of its name; `text` says how text is written."""
    needs("pandas", "Reading tables")
    if path == STDIN:
        return stdin_table(encoding=encoding, **text)
    if Path(path).is_dir():
        return parquet_table(path, sorted(Path(path).glob("*.parquet")))
    if not Path(path).exists():
        raise FileNotFoundError(f"there is no file {path}")
    suffix = suffix_of(path)
    if suffix in CSV:
        return csv_table(path, Path(path), CSV[suffix], encoding=encoding, **text)
    if suffix == ".parquet":
        return parquet_table(path, [path])
    if suffix == ".xlsx":
        needs("openpyxl", "Reading .xlsx")
        text.pop("delimiter", None)
        return sheet_table(path, sheet, **text)
    if suffix == ".arff":
        return arff_table(path, encoding)
    if suffix in (".npy", ".npz"):
        return array_table(path, read_array(path, key))
    if suffix in (".xls", ".ods"):
        raise ValueError(f"{path}: {suffix} files are not read; save the table as .xlsx or .csv.")
    known = ", ".join([*CSV, ".parquet", ".xlsx", ".arff", ".npy", ".npz"])
    raise ValueError(f"{path}: unknown kind of file; the suffix must be one of {known}.")


def suffix_of(path):
    """Return the suffix of a file, before that of a compression."""
    path = Path(path)
    return Path(path.stem if path.suffix in COMPRESSIONS else path.name).suffix.lower()


def array_table(label, array):
    from pandas import DataFrame

    if array.ndim != 2 or array.dtype.kind not in "fiub":
        found = f"{label} has shape {array.shape} and type {array.dtype}"
        raise ValueError(f"{found}; a table must be a two-dimensional array of numbers.")

    def frames(wanted, text, n_rows):
        for start in range(0, len(array), n_rows):
            yield DataFrame(array[start : start + n_rows, as_slice(wanted)], columns=wanted)

    return Table(label, range(array.shape[1]), frames, array=array)


def as_slice(positions):
    """Return positions that follow each other as a slice, which needs no copy."""
    if positions and positions == list(range(positions[0], positions[-1] + 1)):
        return slice(positions[0], positions[-1] + 1)
    return positions


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
    return npz_names(path) if suffix_of(path) == ".npz" else []


def parquet_table(label, paths):
    needs("pyarrow", "Reading Parquet")
    if not paths:
        raise IsADirectoryError(f"{label} is a directory without .parquet files; give one file.")
    files = [open_parquet(path) for path in paths]
    names = files[0].schema_arrow.names
    refuse_repeated(label, names)
    for path, file in zip(paths, files, strict=True):
        if file.schema_arrow.names != names:
            remedy = "give all files the same columns"
            raise ValueError(f"{path} has other columns than {paths[0]}; {remedy}.")

    def frames(wanted, text, n_rows):
        for file in files:
            for batch in file.iter_batches(n_rows, columns=wanted):
                yield batch.to_pandas(ignore_metadata=True)[wanted]

    return Table(label, names, frames)


def sheet_table(path, sheet, *, header=True, na=(), decimal=None, thousands=None, notation=None):
    """Return the table in a sheet, in memory: a sheet has a million rows at most."""
    cells = read_cells(path, sheet, na)
    # Rows and columns may have a format but no values.
    cells = cells.dropna(how="all").dropna(how="all", axis=1)
    if cells.empty:
        raise ValueError(f"{path} cannot be read as a spreadsheet: the sheet is empty")
    names = range(cells.shape[1])
    if header:
        first = cells.iloc[0]
        unnamed = [f"Unnamed: {j}" for j in range(len(first))]
        names = [str(name) for name in first.where(first.notna(), unnamed)]
        refuse_repeated(path, names)
        cells = cells.iloc[1:]
    if decimal or thousands or notation is None:
        notation = Notation(decimal or ".", thousands)
    cells = cells.infer_objects().set_axis(names, axis=1)

    def frames(wanted, text, n_rows):
        for start in range(0, len(cells), n_rows):
            yield cells.iloc[start : start + n_rows][wanted]

    return Table(path, names, frames, notation)


def read_cells(path, sheet, na):
    import pandas as pd

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="openpyxl")  # styles that it does not know
        try:
            with pd.ExcelFile(path, engine="openpyxl") as book:
                known = book.sheet_names
                if sheet is None or sheet in known:
                    chosen = 0 if sheet is None else sheet
                    return pd.read_excel(book, chosen, header=None, na_values=list(na))
        except (BadZipFile, ValueError, KeyError, OSError) as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise ValueError(f"{path} cannot be read as a spreadsheet: {reason}") from None
    raise ValueError(f"{path} has no sheet {sheet!r}; it has {', '.join(map(repr, known))}.")


def csv_table(label, source, usual, *, delimiter=None, header=True, encoding, na=(), **how):
    """Return the table in CSV; columns are separated as usual if the first line does not tell."""
    sep, notation = dialect_of(head_of(source, encoding), usual, delimiter, **how)
    options = {"sep": sep, "encoding": encoding, "na_values": list(na)}
    return text_table(label, source, notation, header=0 if header else None, **options)


def text_table(label, source, notation, *, header=None, names=None, encoding, **options):
    """Return the table in a text file with one row per line, or in the part of ARFF that is one."""
    import pandas as pd

    # From 3.1 on pandas reads the nearest number anyway, and warns if it is asked for.
    newer = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
    options |= {} if newer else {"float_precision": "round_trip"}
    options |= {"header": header, "names": names, "encoding": encoding, "index_col": False}
    options |= {"skipinitialspace": True, "low_memory": False, "decimal": notation.decimal}

    def read(**others):
        return pd.read_csv(rewound(source), **(options | others))

    with reading_csv(label, encoding):
        columns = read(nrows=1 if header is names is None else 0).columns
        if header == 0:
            # As they are written, for pandas renames equal names.
            first = read(nrows=1, header=None, dtype=str, keep_default_na=False)
            refuse_repeated(label, filter(None, first.iloc[0]))

    def frames(wanted, text, n_rows):
        # Where points may separate thousands, pandas would take 01.02.2024 for a number.
        types = dict.fromkeys(text, str) if notation.thousands is None else str
        with reading_csv(label, encoding):
            # All columns, for only then does pandas object to lines that are too long.
            reader = read(dtype=types, chunksize=n_rows)
        with reader:
            while True:
                with reading_csv(label, encoding):
                    frame = next(reader, None)
                if frame is None:
                    return
                yield frame[wanted]

    return Table(label, columns, frames, notation)


@contextmanager
def reading_csv(label, encoding):
    from pandas.errors import EmptyDataError, ParserWarning

    with warnings.catch_warnings():
        warnings.simplefilter("error", ParserWarning)
        try:
            yield
        except EmptyDataError:
            raise ValueError(f"{label} cannot be read as CSV: it is empty") from None
        except UnicodeError:
            remedy = "name its encoding with --encoding, for example cp1252 or utf-16"
            raise ValueError(f"{label} is not text in {encoding}; {remedy}.") from None
        except (ValueError, OSError, ParserWarning, ImportError, *DAMAGED) as error:
            if label in str(error):
                raise
            reason = (str(error).strip() or "it ends too early").splitlines()[0]
            reason = reason.removeprefix("Error tokenizing data. C error: ")
            raise ValueError(f"{label} cannot be read as CSV: {reason}") from None


def stdin_table(**text):
    spool = tempfile.SpooledTemporaryFile(max_size=2**26)  # noqa: SIM115 (the table keeps it)
    shutil.copyfileobj(sys.stdin.buffer, spool)
    table = csv_table("standard input", spool, ",", **text)
    weakref.finalize(table, spool.close)
    return table


HEAD_LINES = 100  # from which the dialect is told


def head_of(source, encoding):
    import pandas as pd

    options = {"header": None, "sep": "\x00", "engine": "c", "quoting": 3, "dtype": str}
    try:
        lines = pd.read_csv(rewound(source), nrows=HEAD_LINES, encoding=encoding, **options)[0]
    except (ValueError, OSError, ImportError, *DAMAGED):
        return []  # whoever reads the table will say what is wrong
    return [str(line) for line in lines]


def rewound(source):
    if not isinstance(source, Path):
        source.seek(0)
    return source


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
    return text_table(path, Path(path), Notation(), names=names, encoding=encoding, **options)
