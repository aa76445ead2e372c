"""How much of a table is in memory, listed and told of at a time."""

from types import SimpleNamespace

LIMITS = SimpleNamespace(
    block_numbers=2_000_000,  # in memory at a time
    training_bytes=2**30,  # read into memory; more are read anew in each pass
    sampled_rows=20_000,  # in pictures and cross-validation
    listed_rows=200,  # unusual rows in a report
    listed_classes=100,  # in the table of a report
    told_numbers=20_000_000,  # in memory, of which a fit tells each pass
    seconds=10.0,  # between two lines of progress
)
