"""What a subcommand is, and how its arguments are parsed."""

import argparse
import codecs
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

COLUMNS = "columns and rows"
WRITTEN = "how the table is written"


class Command(NamedTuple):
    """A subcommand: `run` takes the parsed arguments, and may return an exit status."""

    run: Callable
    arguments: tuple
    writes: Mapping = MappingProxyType({})  # files to write, and the suffixes that they may have


def argument(usage, text, heading=None, **options):
    """Return a heading of the help, the name of an argument, and options of `add_argument`.

    The usage of a positional argument is "DATA", of a switch "--json", of an option "--out FILE",
    and of one that can be repeated "--na TEXT...".
    """
    name, _, value = usage.partition(" ")
    if not name.startswith("-"):
        name, value = name.lower(), name
    elif not value:
        options["action"] = "store_true"
    elif value.endswith("..."):
        options |= {"action": "append", "default": []}
    if value and "choices" not in options:
        options["metavar"] = value.removesuffix("...")
    return heading, name, {"help": text, **options}


class UsageError(ValueError):
    """Arguments that do not go together."""


def natural(text):
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a non-negative integer")
    return int(text)


def positive(text):
    if natural(text) == 0:
        raise argparse.ArgumentTypeError("0 is not a positive integer")
    return int(text)


def delimiter(text):
    """Parse the character between columns; a tab may be written as "tab" or escaped."""
    text = "\t" if text in (r"\t", "tab") else text
    if len(text) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one character")
    return text


def mark(allowed):
    """Return a parser of one of some marks: as `choices` they would confuse shells."""

    def parse(text):
        if len(text) != 1 or text not in allowed:
            known = ", ".join(map(repr, allowed))
            raise argparse.ArgumentTypeError(f"{text!r} is not one of {known}")
        return text

    return parse


def encoding(text):
    try:
        "".encode(text)  # refuses codecs that are no encodings of text, such as rot13
        return codecs.lookup(text).name
    except (LookupError, UnicodeError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an encoding; try utf-8, cp1252 or utf-16"
        ) from None


def number(wanted, highest, *words):
    """Return a parser of positive numbers up to the highest, and of words."""

    def parse(text):
        if text in words:
            return text
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if not 0.0 < value <= highest:
            raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}")
        return value

    return parse


JSON = argument("--json", "print the results as JSON")
DATA = argument(
    "DATA",
    "table to read: a .csv, .tsv, .xlsx, .parquet, .arff, .npy or .npz file, a folder of .parquet "
    "files, or - for CSV from standard input",
)
MODEL = argument("MODEL", "model file that cappedlda fit wrote")
TARGET = "column of the classes, by name or number from 0; for an .npz file, the name of an array"
LABELS = (
    argument("--target COLUMN", TARGET),
    argument("--labels FILE", "file with one class per row, if the table has no such column"),
)
SEP = "character between columns of a CSV file (default: comma, semicolon or tab, as in line 1)"
RECOGNISED = "(default: recognised from the first 100 lines)"
DECIMAL = f"decimal mark, point or comma {RECOGNISED}"
THOUSANDS = f"thousands separator: point, comma, space or apostrophe {RECOGNISED}"
NA = "text that means a missing value, as empty cells, NA and null always do; can be repeated"
ENCODING = "character encoding of a CSV or ARFF file (default: utf-8)"
KEY = "array with the rows in an .npz file (default: X)"
# How a table is read, and what is told.
TABLE = (
    argument("--delimiter C", SEP, WRITTEN, type=delimiter),
    argument("--decimal C", DECIMAL, WRITTEN, type=mark(".,")),
    argument("--thousands C", THOUSANDS, WRITTEN, type=mark(".,' ")),
    argument("--na TEXT...", NA, WRITTEN),
    argument("--encoding E", ENCODING, WRITTEN, type=encoding, default="utf-8"),
    argument("--no-header", "the first line holds values, not column names", WRITTEN),
    argument("--sheet NAME", "sheet of an .xlsx file (default: the first)", WRITTEN),
    argument("--key NAME", KEY, WRITTEN, default="X"),
    argument("--drop COLUMNS...", "columns to ignore, separated by commas", COLUMNS),
    argument("--skip-missing", "ignore rows with missing or infinite values", COLUMNS),
    argument("--quiet", "do not show progress"),
    JSON,
)
COPY = "columns to copy to the output, separated by commas (default: those that fit kept)"
APPLIED = (MODEL, DATA, argument("--keep COLUMNS...", COPY, COLUMNS), *TABLE)
