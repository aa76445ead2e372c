"""Files of tables, opened by the suffix of their names."""

import shutil
import sys
import tempfile
import weakref
from pathlib import Path

from cappedlda._cli.files import STDIN
from cappedlda._cli.spreadsheets import sheet_table
from cappedlda._cli.tables import ArrayTable, ParquetTable, needs
from cappedlda._cli.text_tables import CsvTable, Dialect, arff_table, head_of
from cappedlda._files import map_npy, npz_names, read_npz

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
CSV = {".csv": ",", ".txt": ",", ".data": ",", ".tsv": "\t", ".tab": "\t"}


def open_table(path, *, key="X", sheet=None, **text):
    """Return the table in a file, by the suffix of its name; `-` is CSV from standard input.

    Parameters
    ----------
    path : str
    key : str
        The array in an .npz file.
    sheet : str, optional
        The sheet of an .xlsx file.
    **text
        How text is written: `delimiter`, `header`, `encoding`, `decimal`, `thousands`, `na`, and
        the `notation` of numbers that is expected.
    """
    if path == STDIN:
        return stdin_table(**text)
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
        return csv_table(path, Path(path), CSV[suffix], **text)
    if suffix == ".parquet":
        needs("pyarrow", "Reading Parquet")
        return ParquetTable(path, [path])
    if suffix == ".xlsx":
        needs("pandas", "Reading .xlsx")
        needs("openpyxl", "Reading .xlsx")
        used = ("header", "na", "decimal", "thousands", "notation")
        return sheet_table(path, sheet, **{name: text[name] for name in used if name in text})
    if suffix == ".arff":
        needs("pandas", "Reading ARFF")
        return arff_table(path, text.get("encoding", "utf-8"))
    if suffix in (".npy", ".npz"):
        return ArrayTable(path, read_array(path, key))
    if suffix in (".xls", ".ods"):
        raise ValueError(f"{path}: {suffix} files are not read; save the table as .xlsx or .csv.")
    known = ", ".join([*CSV, ".parquet", ".xlsx", ".arff", ".npy", ".npz"])
    raise ValueError(f"{path}: the suffix tells the format, and has to be one of {known}.")


def stdin_table(**text):
    """Return the table in CSV from standard input."""
    spool = tempfile.SpooledTemporaryFile(max_size=2**26)  # noqa: SIM115 (the table keeps it)
    shutil.copyfileobj(sys.stdin.buffer, spool)
    table = csv_table("standard input", spool, ",", **text)
    weakref.finalize(table, spool.close)
    return table


def csv_table(label, source, usual, *, delimiter=None, header=True, encoding="utf-8", na=(), **how):
    """Return the table in CSV.

    Parameters
    ----------
    label : str
        The file, for messages.
    source : Path or file
    usual : str
        What separates columns, if the first line does not tell.
    delimiter : str, optional
        What separates columns. By default what the first line has.
    header : bool
        Whether the first line has the names of the columns.
    encoding : str
    na : list of str
        Text that stands for a missing value, besides the usual.
    **how
        `decimal` and `thousands`, by default what the first lines have, and `notation`, what is
        expected.
    """
    needs("pandas", "Reading CSV")
    dialect = Dialect.of(head_of(source, encoding), usual, delimiter, **how)
    options = {"header": header, "encoding": encoding, "na_values": list(na)}
    return CsvTable(label, source, **dialect._asdict(), **options)


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
