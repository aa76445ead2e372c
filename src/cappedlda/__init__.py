"""Robust linear discriminant analysis with capped norms.

The layers, from the top; each uses only those below it:

- periphery: `plotting`, `noise`, `datasets`, `_cli`
- estimators: `capped` (`CappedLDA`), `cv` (`CappedLDACV`, on `_folds`), `compared`, on the
  common `_discriminant`; `_model_file` keeps what they found
- `_fit`: from rows to a solution
- `_initial`: the robust initial estimate, on a sample of the rows
- `_solvers`: the loop, and what it runs; small matrices only
- `_data`: who holds the rows, one pass over them, and the record that comes back
- `_cutoffs`: from histograms of distances to caps
- kernels: `_kernels` (compiled)
"""

import importlib

from cappedlda._model_file import load_model, save_model
from cappedlda._norms import capped_norm
from cappedlda._version import __version__
from cappedlda.capped import CappedLDA
from cappedlda.cv import CappedLDACV

__all__ = ["CappedLDA", "CappedLDACV", "__version__", "capped_norm", "load_model", "save_model"]

# Imported when first used: `import cappedlda; cappedlda.plotting` works and costs nothing before.
_SUBMODULES = {"compared", "datasets", "experiments", "noise", "onnx", "plotting", "sources"}


def __getattr__(name):
    if name in _SUBMODULES:
        return importlib.import_module(f"cappedlda.{name}")
    raise AttributeError(f"module 'cappedlda' has no attribute {name!r}")


def __dir__():
    return sorted(set(globals()) | _SUBMODULES)
