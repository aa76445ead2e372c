"""A sample of rows without an order: it is drawn by a hash of each row.

Equal rows have different hashes, by how often they came before in their block.
"""

import zlib
from typing import NamedTuple

import numpy as np

from cappedlda._data.array import joined
from cappedlda._data.fingerprint import add_checksums

# Rows of a sample that may have a twin in another block before blocks are told apart.
MOST_TWINS = 0.1
# Standard deviations by which more rows are drawn than are wanted.
MARGIN = 6.0

_ODD = np.uint64(0x9E3779B97F4A7C15)
_MOST = np.iinfo(np.uint64).max


class Draw(NamedTuple):
    """Which rows are drawn: those whose hash is at most the limit of their class."""

    limits: np.ndarray  # (c,), uint64
    seed: int = 0
    by_block: bool = False  # whether equal rows of different blocks have different hashes
    weightless: bool = False  # whether rows of weight 0 are drawn, too

    @classmethod
    def of_all(cls, n_classes):
        return cls(np.full(n_classes, _MOST, np.uint64), weightless=True)

    @classmethod
    def of_some(cls, wanted, counts, seed, by_block):
        """Return what draws at least the wanted rows of each class, of those that it has."""
        share = (wanted + MARGIN * np.sqrt(wanted) + MARGIN) / counts
        limits = [_MOST if part >= 1.0 else int(part * 2.0**64) for part in share.tolist()]
        return cls(np.array(limits, np.uint64), seed, by_block)

    def of_block(self, pieces, number):
        """Yield lists of hashes and rows that are drawn from a block, of which the pieces come."""
        seen = np.empty(0, np.uint64)
        block = _ODD * np.uint64(number if self.by_block else 0)
        for rows in pieces:
            keys = keys_of(rows, self.seed)
            before, seen = occurrences(keys, seen)
            keys = mixed(mixed(keys + _ODD * before) + block)
            chosen = keys <= self.limits[rows.codes]
            if rows.sample_weight is not None and not self.weightless:
                chosen &= rows.sample_weight > 0.0
            yield [(keys[chosen], rows.take(np.flatnonzero(chosen)))]


def least(drawn, counts=None):
    """Return the rows of the least hashes, and whether many rows have the hash of another.

    There are as many of each class as counts say, None if there are less, and all without counts.
    """
    keys = np.concatenate([keys for keys, _ in drawn])
    order = np.argsort(keys, kind="stable")
    some = [rows for _, rows in drawn]
    rows = joined(some).take(order)
    has_twins = len(np.unique(keys)) < (1.0 - MOST_TWINS) * len(keys)
    if counts is None:
        return rows, has_twins
    chosen = [np.flatnonzero(rows.codes == k)[:count] for k, count in enumerate(counts)]
    if any(len(found) < count for found, count in zip(chosen, counts, strict=True)):
        return None, has_twins
    return rows.take(np.sort(np.concatenate(chosen))), has_twins


def occurrences(keys, seen):
    """Return for each key how often it came before, as uint64, and all keys seen by now, sorted."""
    order = np.argsort(keys)
    ordered = keys[order]
    first = np.searchsorted(seen, ordered)
    here = np.arange(len(keys)) - np.searchsorted(ordered, ordered)
    counts = np.empty(len(keys), np.uint64)
    counts[order] = np.searchsorted(seen, ordered, "right") - first + here
    return counts, np.insert(seen, first, ordered)


def keys_of(rows, seed):
    """Return a hash of 64 bits for each row: of its numbers, its class and its weight."""
    keys, each = np.zeros(len(rows.codes), np.uint64), np.arange(len(rows.codes), dtype=np.int32)
    add_checksums(rows.X, each, rows.sample_weight, keys)
    return mixed(keys + mixed(rows.codes.astype(np.uint64) + np.uint64(seed)))


def mixed(numbers):
    """Return numbers of 64 bits, of which each bit depends on all bits: splitmix64."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def seed_of(ranks):
    """Return a seed for rows without ranks from those that were drawn."""
    return zlib.crc32(np.concatenate(ranks).astype("<i8").tobytes())
