"""Compiled kernels: blocks of rows in, sums out. They trust their caller.

The same source is built for any machine and, on x86-64, once more for AVX2. The
environment variable CAPPEDLDA_KERNELS=baseline asks for the former.
"""

import os

from cappedlda._core import _checksums as checksums
from cappedlda._core import _sparse as sparse_kernels
from cappedlda._core._cpu import has_avx2

if has_avx2() and os.environ.get("CAPPEDLDA_KERNELS") != "baseline":
    from cappedlda._core import _kernels_avx2 as kernels
else:
    from cappedlda._core import _kernels as kernels

__all__ = ["checksums", "kernels", "sparse_kernels"]
