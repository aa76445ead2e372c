"""Fingerprints, by which rows are recognised when they are read again; they add up."""

from functools import cache

import numpy as np

from cappedlda._kernels import kernels_for

# What the lines of a fingerprint, of shape (3, c), are.
WHAT = ("number", "sum of the weights, as bits,", "checksum")


def fingerprint_of(rows):
    """Return the fingerprint of rows in memory, and whether all their numbers are finite."""
    found = count_rows(rows.codes, rows.sample_weight, rows.n_classes)
    return found, add_checksums(rows.X, rows.codes, rows.sample_weight, found[2])


def count_rows(codes, sample_weight, n_classes):
    """Return the fingerprint of rows without X: the checksums are 0."""
    found = np.zeros((3, n_classes), np.uint64)
    found[0] = np.bincount(codes, minlength=n_classes)
    if sample_weight is not None:
        np.add.at(found[1], codes, sample_weight.view(np.uint64))
    return found


def add_checksums(X, codes, sample_weight, checksums):
    """Add the checksums of rows to those of their classes; return whether numbers are finite."""
    n = X.shape[1]
    return kernels_for(n).add_checksums(X, codes, sample_weight, checksum_keys(n), checksums)


@cache
def checksum_keys(n_features):
    """Return odd keys, two for each number of a row (one of 64 bits is two words), and one more."""
    random = np.random.default_rng(0)
    return random.integers(1 << 32, size=2 * n_features + 1, dtype=np.uint32) | 1
