"""A table with wrong rows in a folder of its own, and the model that `fit` writes."""

import io
import sys

import pytest
from commands import KINDS, NAMES

from cappedlda import CappedLDA
from cappedlda._cli import main
from cappedlda._cli.limits import LIMITS


@pytest.fixture
def folder(in_tmp):
    return in_tmp


@pytest.fixture
def limit(monkeypatch):
    """`limit(block_numbers=2)` lets a small table meet the limits of a large one."""

    def change(**limits):
        for name, value in limits.items():
            monkeypatch.setattr(LIMITS, name, value)

    return change


@pytest.fixture
def pipe(monkeypatch):
    """`pipe(frame)` writes a table to standard input."""

    def feed(frame):
        text = io.BytesIO(frame.to_csv(index=False).encode())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(text))

    return feed


@pytest.fixture
def frame(dirty):
    pd = pytest.importorskip("pandas")
    X, y, _ = dirty
    frame = pd.DataFrame(X, columns=NAMES)
    frame.insert(2, "kind", KINDS[y])
    return frame


@pytest.fixture
def csv(frame, folder):
    frame.to_csv("data.csv", index=False)
    return frame


@pytest.fixture
def fitted(csv):
    assert main(["fit", "data.csv", "--target", "kind", "--model", "m.npz", "--quiet"]) == 0
    X = csv[NAMES].to_numpy()
    return CappedLDA().fit(X, csv["kind"].to_numpy(str)), X, csv["kind"].to_numpy(str)
