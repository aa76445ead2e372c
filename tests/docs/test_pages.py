"""The Python examples in the pages of the documentation are true."""

import doctest
from pathlib import Path

import pytest
from common import check_console

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(
    path
    for path in DOCS.rglob("*.md")
    if not path.relative_to(DOCS).parts[0].startswith("_") and ">>>" in path.read_text("utf-8")
)
CONSOLES = [path for path in DOCS.rglob("*.md") if "```console" in path.read_text("utf-8")]


def python_blocks(text):
    """Return the Python blocks of a page, at the lines where they stand."""
    lines = text.split("\n")
    inside = False
    for number, line in enumerate(lines):
        fence = line.startswith("```")
        if fence or not inside:
            inside = line == "```python"
            lines[number] = ""
    return "\n".join(lines)


def test_there_are_pages():
    names = {path.relative_to(DOCS).as_posix() for path in PAGES}
    assert {"index.md", "tutorial.md", "guide/diagnostics.md"} <= names
    assert DOCS / "guide" / "command-line.md" in CONSOLES


@pytest.mark.usefixtures("in_tmp")
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_examples(page, capsys):
    pytest.importorskip("matplotlib").use("agg")
    if page in CONSOLES:  # its files
        check_console(page.read_text("utf-8"), capsys)
    test = doctest.DocTestParser().get_doctest(
        python_blocks(page.read_text("utf-8")), {}, page.stem, str(page), 0
    )
    assert test.examples
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
    runner.run(test, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


@pytest.mark.usefixtures("in_tmp")
@pytest.mark.parametrize("page", CONSOLES, ids=lambda path: path.stem)
def test_commands(page, capsys):
    assert check_console(page.read_text("utf-8"), capsys) > 0
