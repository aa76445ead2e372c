"""What rows are recognised by when they are read again."""

from functools import cache

import numpy as np

from cappedlda._kernels import kernels, kernels_for, selection


class SourceFingerprint:
    """What rows are recognised by: for each class their number, and checksums; additive."""

    def __init__(self, n_classes):
        self.counts = np.zeros(n_classes, np.int64)  # all of shape (c,)
        self.weights = np.zeros(n_classes, np.uint64)
        self.checksums = np.zeros(n_classes, np.uint64)

    def add(self, X, codes, sample_weight, build=None):
        """Add a C-ordered block of rows; return whether all its numbers are finite."""
        self.count(codes, sample_weight)
        return add_checksums(X, codes, sample_weight, self.checksums, build)

    def count(self, codes, sample_weight):
        """Add a block of rows of which the checksums are added elsewhere."""
        selection.count_rows(codes, self.counts)
        if sample_weight is not None:
            self.weights += sums_of_bits(sample_weight, codes, len(self.counts))

    def __iadd__(self, other):
        self.counts += other.counts
        self.weights += other.weights
        self.checksums += other.checksums
        return self


def add_checksums(X, codes, sample_weight, checksums, build=None):
    """Add the checksums of rows to those of their classes; return whether all numbers are finite.

    Each build of the kernels has checksums of its own; None takes the fastest one here.
    """
    n_features, weight = X.shape[1], np.empty(0) if sample_weight is None else sample_weight
    build = kernels_for(n_features) if build is None else build
    return build.add_checksums(X, codes, weight, checksum_keys(n_features), checksums)


@cache
def checksum_keys(n_features):
    """Return odd keys, two for each number of a row: one of 64 bits is two words."""
    random, count = np.random.default_rng(0), 2 * n_features + kernels.CHECKSUM_KEYS
    return random.integers(1 << 32, size=count, dtype=np.uint32) | 1


def sums_of_bits(sample_weight, codes, n_classes):
    """Return checksums of the weights of each class, which do not depend on their order."""
    sums = np.zeros(n_classes, np.uint64)
    np.add.at(sums, codes, sample_weight.view(np.uint64))
    return sums


def check_same(fingerprint, before, classes, source, remedy):
    """Check that rows have the counts, weights and checksums of the first pass, `before`.

    An error names the source of the rows, and the remedy.
    """
    now = fingerprint.counts, fingerprint.weights, fingerprint.checksums
    for what, found, first in zip(
        ("number", "sum of the weights, as bits,", "checksum"), now, before, strict=True
    ):
        if not np.array_equal(found, first):
            i = int(np.argmax(found != first))
            raise ValueError(
                f"{source} gives other rows than in the first pass: the {what} of those of class "
                f"{classes[i]} is {found[i]}, and was {first[i]}; {remedy}."
            )
