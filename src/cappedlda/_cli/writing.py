"""Tables of results, written block by block: CSV, JSON, Parquet, .npy, .npz."""

import csv
import json
import math
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from cappedlda._cli.tables import needs
from cappedlda._files import replacing


class CsvWriter:
    """Rows as text, with a header."""

    def __init__(self, file, delimiter=","):
        self._writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        self._started = False

    def write(self, columns):
        """Add rows: a dictionary of equally long columns."""
        if not self._started:
            self._writer.writerow(columns)
            self._started = True
        self._writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))

    def close(self):
        """End the table."""


class JsonWriter:
    """Rows as objects in one array."""

    def __init__(self, file):
        self._file = file
        self._before = "["

    def write(self, columns):
        """Add rows: a dictionary of equally long columns."""
        for row in zip(*(column.tolist() for column in columns.values()), strict=True):
            self._file.write(f"{self._before}\n{to_json(dict(zip(columns, row, strict=True)))}")
            self._before = ","

    def close(self):
        """End the table."""
        self._file.write("[]\n" if self._before == "[" else "\n]\n")


class ParquetWriter:
    """Rows as row groups of a Parquet file."""

    def __init__(self, path):
        self._path = path
        self._writer = None
        self._empty = {}

    def write(self, columns):
        """Add rows: a dictionary of equally long columns."""
        # A block without rows need not tell the type of a column.
        if len(next(iter(columns.values()))):
            self._add(columns)
        else:
            self._empty = columns

    def _add(self, columns):
        import pyarrow as pa
        from pyarrow import parquet

        table = pa.table({name: pa.array(column) for name, column in columns.items()})
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table.cast(self._writer.schema))

    def close(self):
        """End the table."""
        if self._writer is None:
            self._add(self._empty)
        self._writer.close()


class ArrayWriter:
    """Columns as arrays of an .npz file, or all but `row` as one array in an .npy file."""

    def __init__(self, path, names):
        self._path = path
        self._names = names
        self._blocks = []

    def write(self, columns):
        """Add rows: a dictionary of equally long columns."""
        self._blocks.append(columns)

    def close(self):
        """Write all of them."""
        names = self._blocks[0] if self._blocks else []
        joined = {name: np.concatenate([block[name] for block in self._blocks]) for name in names}
        joined = {name: plain_text(column) for name, column in joined.items()}
        # Opened for reading too, a file is one that NumPy writes to by Python's means: by its own
        # it does not notice that a disk is full.
        with open(self._path, "w+b") as file:
            if self._names:
                np.savez_compressed(file, **joined)
                return
            joined.pop("row", None)
            matrix = np.column_stack(list(joined.values())) if joined else np.empty((0, 0))
            np.save(file, matrix.ravel() if len(joined) == 1 else matrix)


def plain_text(column):
    """Return a column of strings as an array that needs no pickle."""
    return column.astype(np.str_) if column.dtype == object else column


def to_json(value, **options):
    """Return a value as JSON; numbers that JSON does not know become null."""
    return json.dumps(finite(value), allow_nan=False, ensure_ascii=False, **options)


def finite(value):
    """Return a value with None in place of infinities and NaN, and plain numbers for NumPy's."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


SUFFIXES = (".csv", ".tsv", ".json", ".parquet", ".npy", ".npz")


@contextmanager
def table_writer(out, as_json):
    """Give a writer for a file, by its suffix, or for standard output.

    A file takes its name only if all goes well.
    """
    if out is None:
        writer = JsonWriter(sys.stdout) if as_json else CsvWriter(sys.stdout)
        yield writer
        writer.close()
        return
    suffix = Path(out).suffix.lower()
    with replacing(out) as path:
        if suffix in (".csv", ".tsv", ".json"):
            with open(path, "w", encoding="utf-8", newline="") as file:
                writer = JsonWriter(file) if suffix == ".json" else csv_writer(file, suffix)
                yield writer
                writer.close()
            return
        if suffix == ".parquet":
            needs("pyarrow", "Writing Parquet")
            writer = ParquetWriter(path)
        else:
            writer = ArrayWriter(path, names=suffix == ".npz")
        yield writer
        writer.close()


def csv_writer(file, suffix):
    """Return the writer of text for a suffix."""
    return CsvWriter(file, "\t" if suffix == ".tsv" else ",")
