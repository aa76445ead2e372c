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
    arguments : tuple of Argument
    reads : tuple of str
        The arguments that are files to read.
    writes : mapping of str to tuple of str or None
        The arguments that are files to write, and the suffixes that they may have.
    """

    run: Callable
    arguments: tuple
    reads: tuple = ()
    writes: Mapping = MappingProxyType({})


class Argument(NamedTuple):
    """An argument: its names, how `add_argument` takes it, and its heading in the help."""

    names: tuple
    options: dict
    heading: str | None


def argument(*names, heading=None, **options):
    """Return an argument for `Command`."""
    return Argument(names, options, heading)


COLUMNS = "columns and rows"
WRITTEN = "how the table is written"
METHOD = "the method"


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


JSON = argument("--json", action="store_true", help="print the results as JSON")
QUIET = argument("--quiet", action="store_true", help="do not show progress")


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
            raise argparse.ArgumentTypeError(
                f"{text!r} is not one of {', '.join(map(repr, allowed))}"
            )
        return text

    return parse


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
    "table to read: a .csv, .tsv, .xlsx, .parquet, .arff, .npy or .npz file, a folder of .parquet "
    "files, or - for CSV from standard input"
)
# How a table is read.
TABLE = (
    argument(
        "--delimiter",
        heading=WRITTEN,
        type=delimiter,
        metavar="C",
        help="character between the columns of a CSV file (default: comma, semicolon or tab, "
        "whichever the first line has)",
    ),
    argument(
        "--decimal",
        heading=WRITTEN,
        type=mark(".,"),
        metavar="C",
        help="decimal mark, point or comma (default: recognised from the first 100 lines)",
    ),
    argument(
        "--thousands",
        heading=WRITTEN,
        type=mark(".,' "),
        metavar="C",
        help="thousands separator: point, comma, space or apostrophe (default: recognised from "
        "the first 100 lines)",
    ),
    argument(
        "--na",
        heading=WRITTEN,
        action="append",
        default=[],
        metavar="TEXT",
        help="text that stands for a missing value, besides empty cells, NA, null and the like; "
        "can be repeated",
    ),
    argument(
        "--encoding",
        heading=WRITTEN,
        type=encoding,
        default="utf-8",
        metavar="E",
        help="character encoding of a CSV or ARFF file (default: utf-8)",
    ),
    argument(
        "--no-header",
        heading=WRITTEN,
        action="store_true",
        help="say that the first line holds values, not column names",
    ),
    argument(
        "--sheet",
        heading=WRITTEN,
        metavar="NAME",
        help="sheet of an .xlsx file (default: the first)",
    ),
    argument(
        "--key",
        heading=WRITTEN,
        default="X",
        metavar="NAME",
        help="name of the array with the rows in an .npz file (default: X)",
    ),
    argument(
        "--drop",
        heading=COLUMNS,
        action="append",
        default=[],
        metavar="COLUMNS",
        help="columns to ignore: one name, or several separated by commas",
    ),
    argument(
        "--skip-missing",
        heading=COLUMNS,
        action="store_true",
        help="ignore rows with missing or infinite values",
    ),
)
LABELS = (
    argument(
        "--target",
        metavar="COLUMN",
        help="column of the classes, by name or by number counted from 0; in an .npz file the "
        "name of an array",
    ),
    argument(
        "--labels",
        metavar="FILE",
        help="file with one class per row, if the classes are not in the table",
    ),
)
