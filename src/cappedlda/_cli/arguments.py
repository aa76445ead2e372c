"""What a subcommand is, and how its arguments are parsed."""

import argparse
from collections.abc import Callable
from typing import NamedTuple


class Command(NamedTuple):
    """A subcommand: what runs it, and its arguments as `add_argument` takes them."""

    run: Callable
    arguments: tuple


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


JSON = argument("--json", action="store_true", help="print JSON, for machines")
