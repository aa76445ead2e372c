"""No command destroys a file: inputs are never written to, and outputs are whole or not there."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cappedlda import CappedLDA, load_model, save_model
from cappedlda._cli import main
from cappedlda._util.files import replacing

pytest.importorskip("pandas")


@pytest.fixture
def folder(dirty, in_tmp):
    """A folder with a model and a table in several formats, and links to them."""
    X, y, _ = dirty
    save_model(CappedLDA().fit(X, y), "m.npz")
    np.savez("d.npz", X=X, y=y)
    np.savez("y.npz", y=y)
    np.savetxt("d.csv", X, delimiter=",", header="a,b,c,d,e,f", comments="")
    os.symlink("d.csv", "soft.csv")
    os.link("d.csv", "hard.csv")
    os.symlink("m.npz", "soft.npz")
    os.mkdir("inner")
    return in_tmp


def contents(folder):
    return {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    "line",
    [
        "predict m.npz d.csv --out d.csv",
        "predict m.npz d.csv --out ./inner/../d.csv",
        "predict m.npz d.csv --out soft.csv",
        "predict m.npz soft.csv --out d.csv",
        "predict m.npz d.csv --out hard.csv",
        "transform m.npz d.csv --out m.npz",
        "transform m.npz d.csv --out soft.npz",
        "outliers m.npz d.csv --out d.csv",
        "outliers m.npz d.csv --labels y.npz --out y.npz",
        "fit d.npz --model d.npz",
        "fit d.csv --labels y.npz --model y.npz",
        "demo --out x.csv --csv x.csv",
        "demo --out ./x.csv --csv inner/../x.csv",
    ],
)
def test_an_output_that_is_an_input_is_refused(line, folder, capsys):
    before = contents(folder)
    assert main(line.split()) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "is the same file as" in message
    assert contents(folder) == before


@pytest.mark.parametrize("redirected", ["- --out d.csv < d.csv", "d.csv >> d.csv"])
def test_redirected_inputs_are_safe_too(redirected, folder):
    before = contents(folder)
    line = f"{sys.executable} -m cappedlda predict m.npz {redirected}"
    found = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=600)
    assert found.returncode == 2
    assert "is the same file as" in found.stderr
    assert contents(folder) == before


def test_an_input_may_be_in_the_directory_of_the_output(folder):
    for _ in range(2):  # the second replaces the first
        assert main(["predict", "m.npz", "d.csv", "--out", "p.csv", "--quiet"]) == 0
    assert Path("p.csv").read_text().startswith("row,prediction,")


def test_a_link_stays_a_link_and_a_file_keeps_its_mode(folder):
    Path("p.csv").write_text("old")
    Path("p.csv").chmod(0o600)
    os.symlink("p.csv", "q.csv")
    assert main(["predict", "m.npz", "d.csv", "--out", "q.csv", "--quiet"]) == 0
    assert Path("q.csv").is_symlink()
    assert Path("p.csv").read_text().startswith("row,")
    assert Path("p.csv").stat().st_mode & 0o777 == 0o600


def test_devices_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with replacing(tmp_path / "pipe") as path:
        assert path == tmp_path / "pipe"
    assert (tmp_path / "pipe").is_fifo()


def test_a_full_standard_output_is_named(folder):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    argv = [sys.executable, "-m", "cappedlda", "predict", "m.npz", "d.csv", "--quiet"]
    with open("/dev/full", "wb") as full:
        found = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, timeout=600)
    assert found.returncode == 1
    assert found.stderr == "cappedlda predict: standard output: No space left on device\n"


def test_swapped_arguments_get_a_hint(folder, capsys):
    assert main(["predict", "d.csv", "m.npz"]) == 1
    assert "The model comes first, then the table: MODEL DATA." in capsys.readouterr().err


def test_a_folder_of_parquet_files(folder, dirty, capsys):
    pd = pytest.importorskip("pandas")
    X, y, _ = dirty
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(y=y)
    os.mkdir("parts")
    for i in range(3):
        frame[50 * i : 50 * (i + 1)].to_parquet(f"parts/{i}.parquet", index=False)
    frame.to_parquet("whole.parquet", index=False)
    for name in ("parts", "whole.parquet"):
        assert main(["fit", name, "--target", "y", "--model", f"{name}.npz", "--quiet"]) == 0
    found, expected = load_model("parts.npz"), load_model("whole.parquet.npz")
    np.testing.assert_array_equal(found.scalings_, expected.scalings_)
    assert main(["predict", "parts.npz", "parts", "--out", "parts/1.parquet"]) == 2
    assert "is the same file as parts/1.parquet" in capsys.readouterr().err
    frame.drop(columns="a").to_parquet("parts/3.parquet", index=False)
    assert main(["fit", "parts", "--target", "y"]) == 1
    assert "parts/3.parquet has other columns than parts/0.parquet" in capsys.readouterr().err
