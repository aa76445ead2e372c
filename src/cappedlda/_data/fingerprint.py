"""What rows are recognised by when they are read again: numbers of each class that add up."""

from functools import cache

import numpy as np

from cappedlda._kernels import kernels, kernels_for, selection

# The lines of a fingerprint, shape (3, c).
WHAT = ("number", "sum of the weights, as bits,", "checksum")


def fingerprint_of(rows, build=None):
    """Return the fingerprint of rows in memory, and whether all their numbers are finite.

    Each build of the kernels has checksums of its own; None takes the fastest one here.
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
    """Return odd keys, two for each number of a row: one of 64 bits is two words."""
    random, count = np.random.default_rng(0), 2 * n_features + kernels.CHECKSUM_KEYS
    return random.integers(1 << 32, size=count, dtype=np.uint32) | 1


def check_same(found, first, classes, source, remedy):
    """Check that rows have the fingerprint of the first pass.

    An error names the source of the rows, and the remedy.
    """
    if not np.array_equal(found, first):
        line, i = np.argwhere(found != first)[0]
        raise ValueError(
            f"{source} gives other rows than in the first pass: the {WHAT[line]} of those of class "
            f"{classes[i]} is {found[line, i]}, and was {first[line, i]}; {remedy}."
        )
