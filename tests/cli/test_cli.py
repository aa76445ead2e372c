"""The command line: output, exit status, errors."""

import json
import subprocess
import sys

import numpy as np
import pytest

import cappedlda
from cappedlda import _cli
from cappedlda._cli import main
from cappedlda._cli.arguments import Command
from cappedlda._cli.demo import demo_data, german_number
from cappedlda._kernels import BUILDS
from cappedlda._util.tables import table


@pytest.fixture
def picture(tmp_path):
    return tmp_path / "demo.png"


def test_demo_prints_table_and_picture(picture, capsys):
    assert main(["demo", "--seed", "1", "--out", str(picture)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Wine data: 89 training rows, 18 of them made outliers; 89 clean")
    assert lines[2].split() == [
        "method", "accuracy", "found", "missed", "false", "iterations", "ms",
    ]  # fmt: skip
    assert lines[3].startswith("scikit-learn LDA ")
    assert lines[4].startswith("CappedLDA ")
    assert len({len(line) for line in lines[2:5]}) == 1
    assert lines[-1] == f"Picture: {picture}"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_demo_json(picture, capsys):
    assert main(["demo", "--json", "--out", str(picture)]) == 0
    report = json.loads(capsys.readouterr().out)
    plain, capped = report["results"]
    assert report["picture"] == str(picture)
    assert plain["found"] is None
    assert plain["iterations"] is None
    assert capped["found"] + capped["missed"] == 18
    assert capped["found"] >= 15
    assert capped["false"] <= 3
    assert capped["iterations"] >= 1
    assert capped["accuracy"] > plain["accuracy"] + 0.1
    assert 0 < capped["ms"] < 60_000


@pytest.mark.parametrize("seed", [0, 3])
def test_demo_data(seed):
    data = demo_data(seed)
    again = demo_data(seed)
    assert data.X.shape == data.X_test.shape == (89, 13)
    assert data.planted.mean() == pytest.approx(0.2, abs=0.02)
    np.testing.assert_array_equal(data.X, again.X)
    assert set(data.y) == set(data.y_test) == {"class_0", "class_1", "class_2"}
    # The planted rows are far from the others, feature by feature.
    clean = data.X[~data.planted]
    far = np.abs(data.X - clean.mean(axis=0)) / clean.std(axis=0)
    assert far[data.planted].max(axis=1).min() > far[~data.planted].max(axis=1).mean()


def test_demo_writes_a_business_table(tmp_path, capsys):
    pd = pytest.importorskip("pandas")
    path = tmp_path / "customers.csv"
    assert main(["demo", "--customers", str(path)]) == 0
    assert capsys.readouterr().out.endswith(f"Try: cappedlda fit {path} --target status\n")
    frame = pd.read_csv(path, sep=";", dtype=str)
    assert len(frame) == 1200
    assert frame["customer"].is_unique
    assert frame["since"].str.fullmatch(r"[0-3]\d\.[01]\d\.202\d").all()
    assert (frame["revenue"] == "9.999.999,00").sum() == (frame["calls"] == "999").sum() == 6
    assert frame[["plan", "age"]].isna().mean().between(0.01, 0.1).all()
    assert frame.drop(columns=["plan", "age"]).notna().all(axis=None)
    assert german_number(1234567.5) == "1.234.567,50"


def test_demo_without_matplotlib(picture, capsys, without):
    without("matplotlib")
    assert main(["demo", "--out", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "CappedLDA " in out
    assert 'pip install "cappedlda[plot]"' in out
    assert not picture.exists()


def test_info(capsys):
    assert main(["info"]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["cappedlda"] == cappedlda.__version__
    assert lines["numpy"] == np.__version__
    assert "threads" in lines["blas"]


def test_info_json(capsys):
    assert main(["info", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["cappedlda"] == cappedlda.__version__
    assert facts["python"] == sys.version.split()[0]
    assert facts["usable cores"] >= 1
    assert facts["kernels"] in BUILDS
    assert all(library["threads"] >= 1 for library in facts["blas"])


@pytest.mark.parametrize(
    ("out", "expected"),
    [("missing/demo.png", "there is no directory"), ("demo.nonsense", "nonsense")],
)
def test_errors_are_one_line(out, expected, tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / out)]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("cappedlda demo: ")
    assert expected in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize(
    "argv", [["nonsense"], ["demo", "--seed", "x"], ["demo", "--seed", "-1"], ["info", "x"]]
)
def test_wrong_usage_exits_with_2(argv, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(argv)
    assert exit_.value.code == 2
    assert "usage: cappedlda" in capsys.readouterr().err


def test_no_command_prints_help(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: cappedlda")
    assert "Fit a model to a table" in out


def test_interrupt(monkeypatch):
    def interrupted(args):
        """Stop."""
        raise KeyboardInterrupt

    monkeypatch.setitem(_cli.COMMANDS, "info", Command(interrupted, ()))
    assert main(["info"]) == 130


def test_module_runs():
    done = subprocess.run(
        [sys.executable, "-m", "cappedlda", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"cappedlda {cappedlda.__version__}"


def test_table_aligns():
    rows = [{"method": "a", "found": None, "ms": 1.25}, {"method": "bcd", "found": 12, "ms": 100.0}]
    assert table(rows) == "method  found     ms\na           -    1.2\nbcd        12  100.0"
