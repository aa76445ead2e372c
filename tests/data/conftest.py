"""Rows that several tests of the data side fit."""

import signal
import tempfile

import pytest
from common import make_classes, spoil


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder of temporary files, empty."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def rows(rng):
    """Three classes, one of them small, with 8 % of the rows far off: X (2000, 5), y, weights."""
    X, y = make_classes(rng, [1200, 770, 30], 5)
    X = spoil(rng, X, rng.random(2000) < 0.08)
    return X, y, rng.integers(0, 3, size=2000).astype(float)


@pytest.fixture
def interruptible():
    """Let interrupts in, also where the tests run in the background and ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
