"""A table with wrong rows in a folder of its own, and the model that `fit` writes."""

import pytest
from commands import KINDS, NAMES

from cappedlda import CappedLDA
from cappedlda._cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
