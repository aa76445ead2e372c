"""Completion in shells: what bash offers, and that other shells get every option."""

import shutil
import subprocess

import pytest

from cappedlda._cli import COMMANDS, main, parser
from cappedlda._cli.completion import SHELLS, subcommands


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
        f"COMP_CWORD={len(words) - 1}\n_cappedlda\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    )
    done = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cappedlda ''", [*COMMANDS, "--help", "--version"]),
        ("cappedlda f", ["fit"]),
        ("cappedlda re", ["report", "reproduce"]),
        ("cappedlda fit --en", ["--encode", "--encoding"]),
        ("cappedlda fit data.csv --impute ''", ["median"]),
        ("cappedlda fit data.csv --impute median --mo", ["--model"]),
        ("cappedlda outliers m.npz d.csv --sort ''", ["outlyingness", "row", "class"]),
        ("cappedlda outliers m.npz d.csv --sort r", ["row"]),
        ("cappedlda completion ''", ["-h", "--help", "bash", "zsh", "fish"]),
        ("cappedlda fit --model m", []),  # bash itself completes files
        ("cappedlda fit data", []),
        ("cappedlda nonsense ''", []),
    ],
)
def test_bash(line, expected, capsys):
    words = [word.strip("'") for word in line.split()]
    assert offered(words, code_of("bash", capsys)) == expected


@pytest.mark.parametrize("shell", SHELLS)
def test_every_option_is_there(shell, capsys):
    code = code_of(shell, capsys)
    for command in subcommands(parser()):
        assert command.name in code
        for option in command.options:
            for name in option.names:
                assert (f"-l {name[2:]}" if shell == "fish" and len(name) > 2 else name) in code


def test_the_tree_is_that_of_the_parser():
    found = {command.name: command for command in subcommands(parser())}
    assert found.keys() == COMMANDS.keys()
    options = {name: option for option in found["fit"].options for name in option.names}
    assert options["--impute"].choices == ("median",)
    assert options["--encode"].takes_value is False
    assert options["--target"].takes_value is True
    assert options["--decimal"].choices == ()  # marks, which are typed sooner than completed
    assert "(default: 3)" in {o.names: o.help for o in found["outliers"].options}[("--features",)]
    assert found["completion"].choices == ("bash", "zsh", "fish")


@pytest.mark.parametrize("shell", [*filter(shutil.which, SHELLS)])
def test_shells_understand_it(shell, capsys, tmp_path):
    """A syntax error would show when a shell reads the code."""
    path = tmp_path / "code"
    path.write_text(code_of(shell, capsys), encoding="utf-8")
    done = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
