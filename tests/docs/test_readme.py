"""The README's examples and commands are true."""

import doctest
import re
from pathlib import Path

import pytest
from common import check_console

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture(scope="module")
def readme():
    return README.read_text(encoding="utf-8")


def code_blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def test_examples(readme):
    blocks = code_blocks(readme, "python")
    assert len(blocks) == 2
    test = doctest.DocTestParser().get_doctest("".join(blocks), {}, "README", str(README), 0)
    assert len(test.examples) >= 8
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
    report = []
    runner.run(test, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


@pytest.mark.usefixtures("in_tmp")
def test_commands(readme, capsys):
    assert check_console(readme, capsys) == 2
