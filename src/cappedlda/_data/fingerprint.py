"""Fingerprints, by which rows are recognised when they are read again; they add up."""

from functools import cache

import numpy as np

from cappedlda._kernels import kernels, kernels_for, selection

# What the lines of a fingerprint, of shape (3, c), are.
WHAT = ("number", "sum of the weights, as bits,", "checksum")


def fingerprint_of(rows, build=None):
    """Return the fingerprint of rows in memory, and whether all their numbers are finite.

    Each build of the kernels has its own checksums; None takes the fastest one here.
    """
    found = count_rows(rows.codes, rows.sample_weight, rows.n_classes)
    return found, add_checksums(rows.X, rows.codes, rows.sample_weight, found[2], build)


def count_rows(codes, sample_weight, n_classes):
    """Return the fingerprint of rows without X: the checksums are 0."""
    found = np.zeros((3, n_classes), np.uint64)
    selection.count_rows(codes, found[0].view(np.int64))
    if sample_weight is not None:
        np.add.at(found[1], codes, sample_weight.view(np.uint64))
    return found


def add_checksums(X, codes, sample_weight, checksums, build=None):
    """Add the checksums of rows to those of their classes; return whether numbers are finite."""
    n_features, weight = X.shape[1], np.empty(0) if sample_weight is None else sample_weight
    build = kernels_for(n_features) if build is None else build
    return build.add_checksums(X, codes, weight, checksum_keys(n_features), checksums)


@cache
def checksum_keys(n_features):
    """Return odd keys, one for each half of a number of 64 bits."""
    random, count = np.random.default_rng(0), 2 * n_features + kernels.CHECKSUM_KEYS
    return random.integers(1 << 32, size=count, dtype=np.uint32) | 1
