"""Dialects: how numbers and dates are written in text, and what separates columns of CSV."""

import csv
import re
from typing import NamedTuple

from cappedlda._cli.arguments import UsageError

# Dates as people and databases write them, with or without a time of day.
DATE = re.compile(
    r"([0-9]{4}[-./][0-9]{1,2}[-./][0-9]{1,2}|[0-9]{1,2}[-./][0-9]{1,2}[-./]([0-9]{4}|[0-9]{2}))"
    r"([ T][0-9]{1,2}:[0-9]{2}.*)?"
)
CURRENCY = re.compile(r"[$€£¥₹]|\b(EUR|USD|GBP|CHF|JPY)\b")
HARD_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'"})


class Notation(NamedTuple):
    """How numbers are written: the decimal mark, and what separates thousands, if anything."""

    decimal: str = "."
    thousands: str | None = None

    def __str__(self):
        between = "" if self.thousands is None else f" and {self.thousands!r} between thousands"
        return f"the decimal mark {self.decimal!r}{between}"

    def number(self, value):
        """Return a value as a number; raise a ValueError or TypeError if it is not one."""
        return float(self._plain(value.strip()) if isinstance(value, str) else value)

    def reads(self, text):
        try:
            self.number(text)
        except ValueError:
            return False
        return True

    def _plain(self, text):
        if self.thousands is not None:
            text = text.translate(HARD_SPACES)
            between, mark = re.escape(self.thousands), re.escape(self.decimal)
            # Only in groups of three, for 01.02.2024 is a date.
            grouped = rf"[-+]?[1-9][0-9]{{0,2}}({between}[0-9]{{3}})+({mark}[0-9]*)?"
            if re.fullmatch(grouped, text):
                text = text.replace(self.thousands, "")
        if self.decimal != "." and "." in text:
            raise ValueError(f"{text!r} has a point")
        text = text.replace(self.decimal, ".")
        if "_" in text:  # Python reads 1_000 as 1000; a table does not
            raise ValueError(f"{text!r} has an underscore")
        return text


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


def kind_of_value(value):
    text = value.strip() if isinstance(value, str) else ""
    if DATE.fullmatch(text) or hasattr(value, "year"):
        return "date"
    if not is_number_elsewhere(value):
        return "text"
    return "currency" if CURRENCY.search(value) else "notation"


def dialect_of(head, usual, delimiter=None, decimal=None, thousands=None, notation=None):
    """Return what separates columns, and the notation of numbers, as given or as in the head."""
    first = head[0] if head else ""
    found = [usual, *(mark for mark in ";\t," if mark != usual)]
    sep = delimiter or next((mark for mark in found if mark in first), usual)
    try:
        cells = [cell for line in csv.reader(head[1:], delimiter=sep) for cell in line]
    except csv.Error:
        cells = []  # whoever reads the table will say what is wrong
    return sep, notation_of(cells, sep, decimal, thousands, notation)


WRITTEN = re.compile(r"[-+]?[0-9]+([.,' \u00a0\u202f\u2009\u2019][0-9]+)+")


def notation_of(cells, sep, decimal=None, thousands=None, expected=None):
    """Return the notation in which most cells are numbers: the expected or the plainest one."""
    possible = [
        notation
        for notation in (*([expected] if expected else []), *NOTATIONS)
        if decimal in (None, notation.decimal)
        and thousands in (None, notation.thousands)
        # Where commas separate columns, one within a number is not a decimal mark.
        and (decimal is not None or sep != "," or notation.decimal == ".")
    ]
    if not possible and decimal is not None:
        raise UsageError(f"--decimal and --thousands are both {decimal!r}; they must differ")
    if not possible:  # the decimal mark is a point, for commas separate the columns
        raise UsageError(
            f"--thousands {thousands} needs a decimal comma, but commas separate the columns; give "
            "--decimal , if numbers are in quotes, or name the column separator with --delimiter"
        )
    marked = [cell.strip() for cell in cells if WRITTEN.fullmatch(cell.strip())]
    return max(possible, key=lambda notation: sum(map(notation.reads, marked)))
