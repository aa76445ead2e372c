"""Compiled kernels: blocks of rows in, sums out. They trust their caller.

The inner loops of the pass are built for any machine and, on x86-64, once more for AVX2 and for
AVX-512, on aarch64 for NEON. The fastest build that runs here is used (with few features, that
for AVX2). The environment variable CAPPEDLDA_KERNELS=baseline, avx2, avx512 or neon chooses one.
"""

import os
from contextlib import contextmanager

from cappedlda._kernels import algebra, cells, histograms, initial, loo, selection, sparse
from cappedlda._kernels.passes import builds

# The builds that this machine can run by name, the fastest first.
BUILDS = builds()


# With few features the AVX2 build is the faster one: on Ice Lake up to 24 for both types of
# numbers, about as fast with 32, and slower from 40 on.
_FEW_FEATURES = 40


def _build(default):
    wanted = os.environ.get("CAPPEDLDA_KERNELS") or default
    if wanted not in BUILDS:
        raise ImportError(
            f"CAPPEDLDA_KERNELS={wanted}, but the kernels that run here are "
            f"{', '.join(BUILDS)}: name one of these, or unset the variable."
        )
    return BUILDS[wanted]


kernels = _build(next(iter(BUILDS)))
_kernels_for_few = _build("avx2" if "avx2" in BUILDS else kernels.name)


_asked_for = None


def kernels_for(n_features):
    """Return the build that is the fastest for rows with this number of features."""
    return _asked_for or (_kernels_for_few if n_features < _FEW_FEATURES else kernels)


@contextmanager
def using(build):
    """Let passes use one of `BUILDS` within a `with` block."""
    global _asked_for
    before, _asked_for = _asked_for, build
    try:
        yield build
    finally:
        _asked_for = before


__all__ = [
    "BUILDS",
    "algebra",
    "cells",
    "histograms",
    "initial",
    "kernels",
    "kernels_for",
    "loo",
    "selection",
    "sparse",
    "using",
]
