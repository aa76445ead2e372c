"""Robust linear discriminant analysis with capped norms.

The layers, from the top; each uses only those below it:

- estimators: `capped` (`CappedLDA`), on the common `_base`
- solver: `_fit` (from rows to a solution), `_solver` and `_paper` (the iterations),
  `_start`, `_epsilon`, `_span`, `_linalg`; small matrices only
- data: `_passes` (one pass gives one additive record), `_threads`
- kernels: `_core` (compiled)
"""

from cappedlda._norms import capped_norm
from cappedlda._version import __version__
from cappedlda.capped import CappedLDA

__all__ = ["CappedLDA", "__version__", "capped_norm"]
