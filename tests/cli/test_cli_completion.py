"""Completion in shells: what bash offers, and that every shell reads the code."""

import shutil
import subprocess

import pytest

from cappedlda._cli import COMMANDS, SHELLS, main

pytest.importorskip("shtab")


def code_of(shell, capsys):
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def offered(words, code):
    """Return what bash offers in place of the last word."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("this system has no bash")
    script = (
        f"{code}\nCOMP_WORDS=({' '.join(repr(word) for word in words)})\n"
        f"COMP_CWORD={len(words) - 1}\n_shtab_cappedlda cappedlda {words[-1]!r}\n"
        "printf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )
    done = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cappedlda ''", list(COMMANDS)),
        ("cappedlda --v", ["--version"]),
        ("cappedlda re", ["report", "reproduce"]),
        ("cappedlda fit --en", ["--encode", "--encoding"]),
        ("cappedlda fit data.csv --impute ''", ["median"]),
        ("cappedlda fit data.csv --impute median --mo", ["--model"]),
        ("cappedlda outliers m.npz d.csv --sort r", ["row"]),
        ("cappedlda completion ''", list(SHELLS)),
        ("cappedlda fit wine.c", ["wine.csv"]),
        ("cappedlda fit --model wine.n", ["wine.npz"]),
    ],
)
def test_bash(line, expected, capsys, in_tmp):
    for name in ("wine.csv", "wine.npz"):
        (in_tmp / name).touch()
    words = [word.strip("'") for word in line.split()]
    assert offered(words, code_of("bash", capsys)) == expected


@pytest.mark.parametrize("shell", [*filter(shutil.which, SHELLS)])
def test_shells_understand_it(shell, capsys, tmp_path):
    """A syntax error would show when a shell reads the code."""
    path = tmp_path / "code"
    path.write_text(code_of(shell, capsys), encoding="utf-8")
    done = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_shtab_there_is_a_remedy(capsys, without):
    without("shtab")
    assert main(["completion", "bash"]) == 1
    assert 'needs shtab. Try: pip install "cappedlda[cli]"' in capsys.readouterr().err
