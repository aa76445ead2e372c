"""Tables of results, written block by block: CSV, JSON, Parquet, .npy, .npz."""

import json
import math
import sys
from pathlib import Path

import numpy as np

from cappedlda._cli.tables import needs
from cappedlda._util.files import replacing

SUFFIXES = (".csv", ".tsv", ".json", ".parquet", ".npy", ".npz")


def write_table(frames, out, as_json):
    """Write data frames one below the other: to a file, by its suffix, or to standard output."""
    if out is None:
        (write_json if as_json else write_csv)(frames, sys.stdout)
        return
    suffix = Path(out).suffix.lower()
    with replacing(out) as path:
        if suffix == ".parquet":
            needs("pyarrow", "Writing Parquet")
            write_parquet(frames, path)
        elif suffix in (".npy", ".npz"):
            write_arrays(frames, path, suffix)
        else:
            with open(path, "w", encoding="utf-8", newline="") as file:
                if suffix == ".json":
                    write_json(frames, file)
                else:
                    write_csv(frames, file, "\t" if suffix == ".tsv" else ",")


def write_csv(frames, file, sep=","):
    for k, frame in enumerate(frames):
        frame.to_csv(file, sep=sep, header=k == 0, index=False, lineterminator="\n")


def write_json(frames, file):
    before = "["
    for frame in frames:
        for row in frame.to_dict("records"):
            file.write(f"{before}\n{to_json(row)}")
            before = ","
    file.write("[]\n" if before == "[" else "\n]\n")


def write_parquet(frames, path):
    import pyarrow as pa
    from pyarrow import parquet

    writer = table = None
    try:
        for frame in frames:
            table = pa.Table.from_pandas(frame, preserve_index=False)
            if len(frame):  # a block without rows need not tell the type of a column
                writer = writer or parquet.ParquetWriter(path, table.schema)
                writer.write_table(table.cast(writer.schema))
        if writer is None:
            parquet.write_table(table, path)
    finally:
        if writer is not None:
            writer.close()


def write_arrays(frames, path, suffix):
    """Write columns as arrays of an .npz file, or all but `row` as one array in an .npy file."""
    from pandas import concat

    table = concat(frames)
    # Opened for reading too, a file is one that NumPy writes to by Python's means: by its own
    # it does not notice that a disk is full.
    with open(path, "w+b") as file:
        if suffix == ".npz":
            np.savez_compressed(file, **{name: plain_array(table[name]) for name in table})
        else:
            values = plain_array(table.drop(columns="row"))
            np.save(file, values[:, 0] if values.shape[1] == 1 else values)


def plain_array(column):
    """Return a column as an array that needs no pickle: text is text of NumPy."""
    array = column.to_numpy()
    return array.astype(np.str_) if array.dtype == object else array


def to_json(value, **options):
    """Return a value as JSON; numbers that JSON does not know become null."""
    return json.dumps(finite(value), allow_nan=False, ensure_ascii=False, default=str, **options)


def finite(value):
    """Return a value with None in place of infinities and NaN, and plain numbers for NumPy's."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
