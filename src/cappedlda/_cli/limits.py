"""How much of a table is in memory, listed and told of at a time."""

from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Limits:
    """Numbers that a large table meets; `using` lets a small one meet them."""

    block_numbers: int = 2_000_000  # in memory at a time
    training_bytes: int = 2**30  # read into memory; more are read anew in each pass
    sampled_rows: int = 20_000  # in pictures and cross-validation
    listed_rows: int = 200  # unusual rows in a report
    listed_classes: int = 100  # in the table of a report
    told_numbers: int = 20_000_000  # in memory, of which a fit tells each pass
    seconds: float = 10.0  # between two lines of progress


LIMITS = Limits()


@contextmanager
def using(**limits):
    before = vars(LIMITS).copy()
    vars(LIMITS).update(limits)
    try:
        yield
    finally:
        vars(LIMITS).update(before)
