"""A model, the table that it was fitted to, and edits that spoil files."""

import numpy as np
import pytest
from common import make_classes, spoil

from cappedlda import CappedLDA, save_model


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X, y = make_classes(rng, [30, 30, 30], 4)
    return spoil(rng, X, np.arange(90) % 10 == 0), y


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    """A model, and the table that it was fitted to."""
    folder = tmp_path_factory.mktemp("hostile")
    save_model(CappedLDA().fit(*rows), folder / "good.npz")
    np.savez(folder / "data.npz", X=rows[0], y=rows[1])
    return folder
