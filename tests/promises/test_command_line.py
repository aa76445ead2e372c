"""The command line ends with 0, 1 or 2 and a line that says why, never with a traceback."""

import contextlib
import io

import pytest
from common import EDITS
from hypothesis import assume, given
from hypothesis import strategies as st

from cappedlda import load_model
from cappedlda._cli import main

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def run(*argv):
    """Run a command; return its status and what it wrote on standard error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(list(map(str, argv)))
        except SystemExit as exit_:
            status = exit_.code
    return status, err.getvalue()


def check_command(*argv):
    status, err = run(*argv)
    assert status in (0, 1, 2)
    assert "Traceback" not in err
    if status:
        assert any(line.startswith(("cappedlda ", "cappedlda: ")) for line in err.splitlines())
    return status


SUFFIXES = st.sampled_from([".csv", ".tsv", ".npy", ".npz", ".parquet", ".arff", ".csv.gz", ".xyz"])


@given(SUFFIXES, st.binary(max_size=200))
def test_tables_of_noise(folder, suffix, content):
    path = folder / f"noise{suffix}"
    path.write_bytes(content)
    check_command("fit", path, "--target", "0", "--quiet")
    assert check_command("predict", folder / "good.npz", path, "--quiet") != 0 or content


ODD_CELLS = [
    *("1_000", "nan", "NA", "inf", "-inf", "1e999", "1,5", "0x10", "1e-320"),
    *('"', "'", ";", "٣", "ß", "", " ", "1.5.5", "--", "#", "\x00"),
]


CELLS = st.one_of(st.floats(-5.0, 5.0).map(str), st.sampled_from(ODD_CELLS), st.text(max_size=3))


@given(
    st.lists(st.lists(CELLS, min_size=1, max_size=5), max_size=12),
    st.sampled_from([",", ";", "\t", " "]),
    st.sampled_from([[], ["--skip-missing"], ["--no-header"], ["--delimiter", ";"]]),
)
def test_untidy_csv(folder, lines, separator, options):
    text = "\n".join(separator.join(line) for line in lines)
    assume("\r" not in text)
    path = folder / "untidy.csv"
    path.write_text(text, encoding="utf-8", errors="ignore")
    model = folder / "untidy.npz"
    if check_command("fit", path, "--target", "0", "--quiet", "--model", model, *options) == 0:
        load_model(model)


@given(EDITS, st.sampled_from(["predict", "transform", "outliers", "fit"]))
def test_edited_data_files(folder, edits, command):
    content = (folder / "data.npz").read_bytes()
    for kind, place, text in edits:
        i = int(place * len(content))
        after = i if kind == "insert" else i + len(text)
        content = content[:i] + (b"" if kind == "delete" else text) + content[after:]
    path = folder / "edited-data.npz"
    path.write_bytes(content)
    check_command(command, *([] if command == "fit" else [folder / "good.npz"]), path, "--quiet")


PRINTED = st.characters(min_codepoint=33, max_codepoint=126)


@given(st.lists(st.text(PRINTED, max_size=8), max_size=6))
def test_command_lines(words):
    """Words that nobody would type."""
    command = ["fit", "predict", "outliers", "transform"][len(words) % 4]
    assume(not {"-", "-h", "--help"} & set(words))
    assume(not any("--he".startswith(word) or word.startswith("-h") for word in words if word))
    check_command(command, *words)
