"""Compiled kernels: blocks of rows in, sums out. They trust their caller.

The same source is built for any machine and, on x86-64, once more for AVX2 and for AVX-512.
The fastest build that runs here is taken; the environment variable
CAPPEDLDA_KERNELS=baseline, avx2 or avx512 asks for another.
"""

import os
from importlib import import_module
from importlib.util import find_spec

from cappedlda._core import _checksums as checksums
from cappedlda._core import _sparse as sparse_kernels
from cappedlda._core._cpu import instruction_sets

# Module of each build that is installed and that this machine can run, the fastest first.
BUILDS = {
    name: module
    for name in instruction_sets()
    if find_spec(module := f"{__name__}._kernels{'' if name == 'baseline' else '_' + name}")
}


def _chosen_build():
    wanted = os.environ.get("CAPPEDLDA_KERNELS") or next(iter(BUILDS))
    if wanted not in BUILDS:
        raise ImportError(
            f"CAPPEDLDA_KERNELS={wanted}, but the kernels that run here are "
            f"{', '.join(BUILDS)}: name one of these, or unset the variable."
        )
    return import_module(BUILDS[wanted])


kernels = _chosen_build()

__all__ = ["BUILDS", "checksums", "kernels", "sparse_kernels"]
