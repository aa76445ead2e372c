"""A sample of rows that have no order: it is drawn by a hash of each row.

Equal rows have different hashes, by how often they came before in their block; which of them comes
first does not matter.
"""

import zlib
from dataclasses import dataclass

import numpy as np

from cappedlda._data.array import ArrayRows
from cappedlda._data.fingerprint import add_checksums
from cappedlda._kernels import BUILDS

# The build of which all machines have the same checksums.
EVERYWHERE = BUILDS["baseline"]
# Rows of a sample that may have a twin in another block before blocks are told apart.
MOST_TWINS = 0.1
# Standard deviations by which more rows are drawn than are wanted.
MARGIN = 6.0

_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class Drawn:
    """Rows of a sample, with their hashes; additive.

    Attributes
    ----------
    keys : ndarray of shape (k,), uint64
    X : ndarray of shape (k, n)
    codes : ndarray of shape (k,), int32
    weight : ndarray of shape (k,) or None
    """

    keys: np.ndarray
    X: np.ndarray
    codes: np.ndarray
    weight: np.ndarray | None

    def __iadd__(self, other):
        for name in ("keys", "X", "codes", "weight"):
            parts = getattr(self, name), getattr(other, name)
            setattr(self, name, None if parts[0] is None else np.concatenate(parts))
        return self

    def has_twins(self):
        """Return whether many rows have the key of another one."""
        return len(np.unique(self.keys)) < (1.0 - MOST_TWINS) * len(self.keys)

    def rows(self, counts, regime):
        """Return as many rows of each class, those of the least keys, or None if there are less."""
        order = np.argsort(self.keys, kind="stable")
        codes = self.codes[order]
        chosen = [np.flatnonzero(codes == k)[:count] for k, count in enumerate(counts)]
        if [len(some) for some in chosen] != list(counts):
            return None
        order = order[np.sort(np.concatenate(chosen))]
        weight = None if self.weight is None else self.weight[order]
        return ArrayRows(self.X[order], self.codes[order], len(counts), weight, regime=regime)


@dataclass(frozen=True)
class Draw:
    """Draws the rows whose hash is at most the limit of their class.

    Attributes
    ----------
    limits : ndarray of shape (c,), uint64
    seed : int
    by_block : bool
        Whether equal rows of different blocks have different hashes.
    weightless : bool
        Whether to draw rows of weight 0, too.
    """

    limits: np.ndarray
    seed: int = 0
    by_block: bool = False
    weightless: bool = False

    @classmethod
    def of_all(cls, n_classes):
        """Return what draws all rows."""
        limits = np.full(n_classes, np.iinfo(np.uint64).max, np.uint64)
        return cls(limits, weightless=True)

    @classmethod
    def of_some(cls, wanted, counts, seed, by_block):
        """Return what draws at least the wanted rows of each class, of those that it has."""
        share = (wanted + MARGIN * np.sqrt(wanted) + MARGIN) / counts
        most = np.iinfo(np.uint64).max
        limits = [most if part >= 1.0 else int(part * 2.0**64) for part in share.tolist()]
        return cls(np.array(limits, np.uint64), seed, by_block)

    def begin(self, number):
        """Return what draws from a block of this number."""
        return BlockDraw(self, number if self.by_block else 0)


class BlockDraw:
    """Draws from the rows of a block, which come in pieces.

    Parameters
    ----------
    draw : Draw
    number : int
        Of the block.
    """

    def __init__(self, draw, number):
        self._draw, self._number = draw, np.uint64(number)
        self._occurrences = Occurrences()

    def drawn_from(self, rows):
        """Return what is drawn from the next rows, an `ArrayRows`."""
        weight, draw = rows.sample_weight, self._draw
        keys = keys_of(rows, draw.seed)
        keys = mixed(keys + _ODD * self._occurrences.count(keys))
        keys = mixed(keys + _ODD * self._number)
        chosen = keys <= draw.limits[rows.codes]
        if weight is not None and not draw.weightless:
            chosen &= weight > 0.0
        some = rows.take(np.flatnonzero(chosen))
        return Drawn(keys[chosen], some.X, some.codes, some.sample_weight)


class Occurrences:
    """Counts how often keys have come; it keeps each of them."""

    def __init__(self):
        self._keys, self._counts = np.empty(0, np.uint64), np.empty(0, np.uint64)

    def count(self, keys):
        """Return for each of the next keys how often it came before, as uint64."""
        distinct, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
        counts = counts.astype(np.uint64)
        at = np.searchsorted(self._keys, distinct)
        known = np.append(self._keys, np.uint64(0))[at] == distinct
        known &= at < len(self._keys)
        before = np.zeros(len(distinct), np.uint64)
        before[known] = self._counts[at[known]]
        self._counts[at[known]] += counts[known]
        self._keys = np.insert(self._keys, at[~known], distinct[~known])
        self._counts = np.insert(self._counts, at[~known], counts[~known])
        return before[inverse] + ranks_of(inverse)


def ranks_of(groups):
    """Return for each entry how many equal ones come before it, as uint64."""
    order = np.argsort(groups, kind="stable")
    places = np.arange(len(groups), dtype=np.uint64)
    first = np.diff(groups[order], prepend=-1) != 0
    ranks = np.empty_like(places)
    ranks[order] = places - np.maximum.accumulate(np.where(first, places, 0))
    return ranks


def keys_of(rows, seed):
    """Return a hash of 64 bits for each row: of its numbers, its class and its weight."""
    keys, each = np.zeros(len(rows.codes), np.uint64), np.arange(len(rows.codes), dtype=np.int32)
    add_checksums(rows.X, each, rows.sample_weight, keys, EVERYWHERE)
    return mixed(keys + mixed(rows.codes.astype(np.uint64) + np.uint64(seed)))


def mixed(numbers):
    """Return numbers of 64 bits, of which each bit depends on all bits: splitmix64."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def seed_of(ranks):
    """Return a seed for rows without ranks from those that were drawn."""
    return zlib.crc32(np.concatenate(ranks).astype("<i8").tobytes())
