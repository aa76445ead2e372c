"""Commands run as users run them, for the tests of the command line."""

import io
import json

import numpy as np

from cappedlda._cli import main

NAMES = [f"f{j}" for j in range(6)]
KINDS = np.array(["ant", "bee", "cow"])


def run(capsys, *argv, status=0):
    """Run a command and return what it prints; fail if the status is another."""
    capsys.readouterr()
    assert main(list(map(str, argv))) == status, capsys.readouterr().err
    return capsys.readouterr()


def run_json(capsys, *argv):
    return json.loads(run(capsys, *argv, "--json").out)


def error_of(capsys, *argv, status=1):
    """Return the one line that a failing command prints."""
    captured = run(capsys, *argv, status=status)
    lines = [line for line in captured.err.splitlines() if line.startswith("cappedlda ")]
    assert len(lines) == 1
    assert "Traceback" not in captured.err
    return lines[0]


def printed_table(text):
    import pandas as pd

    return pd.read_csv(io.StringIO(text))
