"""Robust linear discriminant analysis with capped norms.

The map of the package is in docs/develop/architecture.md; a fit is told step by step in `_fit`.
"""

import importlib

from cappedlda._model_file import load_model, save_model
from cappedlda._version import __version__
from cappedlda.capped import CappedLDA
from cappedlda.cv import CappedLDACV
from cappedlda.norm import CappedNormLDA
from cappedlda.remover import OutlierRemover

__all__ = [
    "CappedLDA",
    "CappedLDACV",
    "CappedNormLDA",
    "OutlierRemover",
    "__version__",
    "load_model",
    "save_model",
]

# Imported when first used: `import cappedlda; cappedlda.plotting` works and costs nothing before.
_SUBMODULES = {"noise", "onnx", "paper", "plotting", "sources"}


def __getattr__(name):
    if name in _SUBMODULES:
        return importlib.import_module(f"cappedlda.{name}")
    raise AttributeError(f"module 'cappedlda' has no attribute {name!r}")


def __dir__():
    return sorted(set(globals()) | _SUBMODULES)
