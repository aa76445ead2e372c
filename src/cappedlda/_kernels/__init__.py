"""Compiled kernels: blocks of rows in, sums out. They trust their caller.

The same source is built for any machine and, on x86-64, once more for AVX2 and for AVX-512.
The fastest build that runs here is taken, for few features that for AVX2; the environment
variable CAPPEDLDA_KERNELS=baseline, avx2 or avx512 asks for one of them.
"""

import os
from importlib import import_module
from importlib.util import find_spec

from cappedlda._kernels import _algebra as algebra
from cappedlda._kernels import _checksums as checksums
from cappedlda._kernels import _fences as fences
from cappedlda._kernels import _marks as marks
from cappedlda._kernels import _selection as selection
from cappedlda._kernels import _sparse as sparse_kernels
from cappedlda._kernels import _start as start_kernels
from cappedlda._kernels._cpu import instruction_sets

# Module of each build that is installed and that this machine can run, the fastest first.
BUILDS = {
    name: module
    for name in instruction_sets()
    if find_spec(module := f"{__name__}._kernels{'' if name == 'baseline' else '_' + name}")
}


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
    return import_module(BUILDS[wanted])


kernels = _build(next(iter(BUILDS)))
_kernels_for_few = _build("avx2" if "avx2" in BUILDS else "baseline")


def kernels_for(n_features):
    """Return the build that is the fastest for rows of so many features."""
    return _kernels_for_few if n_features < _FEW_FEATURES else kernels


__all__ = [
    "BUILDS",
    "algebra",
    "checksums",
    "fences",
    "kernels",
    "kernels_for",
    "marks",
    "selection",
    "sparse_kernels",
    "start_kernels",
]
