"""What a subcommand is, and how its arguments are parsed."""

import argparse
import codecs
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np


class Command(NamedTuple):
    """A subcommand.

    Attributes
    ----------
    run : callable
        Takes the parsed arguments and returns the exit status.
    arguments : tuple
        As `add_argument` takes them.
    reads : tuple of str
        The arguments that are files to read.
    writes : mapping of str to tuple of str or None
        The arguments that are files to write, and the suffixes that they may have.
    """

    run: Callable
    arguments: tuple
    reads: tuple = ()
    writes: Mapping = MappingProxyType({})


def argument(*names, **options):
    """Return an argument for `Command`."""
    return names, options


def natural(text):
    """Parse an integer that is not negative."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer of 0 or more")
    return int(text)


def positive(text):
    """Parse an integer above 0."""
    if natural(text) == 0:
        raise argparse.ArgumentTypeError("0 is not an integer of 1 or more")
    return int(text)


class UsageError(ValueError):
    """Arguments that do not go together."""


JSON = argument("--json", action="store_true", help="print JSON instead of text")
QUIET = argument("--quiet", action="store_true", help="show no progress on standard error")


def delimiter(text):
    """Parse the character between columns; a tab may be written as "tab" or escaped."""
    text = "\t" if text in (r"\t", "tab") else text
    if len(text) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one character")
    return text


def encoding(text):
    """Parse the name of an encoding of text."""
    try:
        "".encode(text)  # refuses codecs that are no encodings of text, such as rot13
        return codecs.lookup(text).name
    except (LookupError, UnicodeError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an encoding; try utf-8, cp1252 or utf-16"
        ) from None


def epsilon(text):
    """Parse the cap: auto, or a number above 0, or inf."""
    return text if text == "auto" else number(text, np.inf, "auto, a number above 0 or inf")


def exponent(text):
    """Parse the exponent of the norm."""
    return number(text, 2.0, "a number above 0, up to 2")


def number(text, highest, wanted):
    """Parse a number above 0 and up to the highest."""
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not 0.0 < value <= highest:
        raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}")
    return value


DATA = (
    "table to read: a .csv, .tsv, .parquet, .arff, .npy or .npz file, a folder of .parquet files, "
    "or - for CSV from standard input"
)
# How a table is read.
TABLE = (
    argument(
        "--delimiter",
        type=delimiter,
        metavar="C",
        help="column separator of CSV (default: the one of , ; and tab that the first line has)",
    ),
    argument(
        "--decimal",
        choices=(".", ","),
        metavar="C",
        help="decimal mark of CSV (default: a comma if columns are separated by ; or tabs "
        "and numbers are written so, else a point)",
    ),
    argument(
        "--thousands",
        choices=(".", ",", " ", "'"),
        metavar="C",
        help="thousands separator of CSV: point, comma, space or apostrophe (default: none)",
    ),
    argument(
        "--encoding",
        type=encoding,
        default="utf-8",
        metavar="E",
        help="encoding of CSV and ARFF (default: utf-8)",
    ),
    argument("--no-header", action="store_true", help="the first line of CSV has no column names"),
    argument(
        "--key",
        default="X",
        metavar="NAME",
        help="array of the rows in .npz (default: X)",
    ),
    argument(
        "--drop",
        action="append",
        default=[],
        metavar="COLUMN",
        help="leave columns out: a name, or several with commas between them",
    ),
    argument("--skip-missing", action="store_true", help="leave out rows with missing values"),
)
LABELS = (
    argument(
        "--target",
        metavar="COLUMN",
        help="column of the classes, by name or by number from 0; the name of an array in .npz",
    ),
    argument("--labels", metavar="FILE", help="file of the classes, if they are not in the table"),
)
