"""The README's examples and its table are true."""

import doctest
import json
import re
from pathlib import Path

import pytest
from common import check_console

from cappedlda._cli import main
from cappedlda._util.tables import table

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


def test_first_example_has_five_lines(readme):
    assert code_blocks(readme, "python")[0].count(">>>") == 5


def test_table(readme, capsys, tmp_path):
    main(["demo", "--json", "--out", str(tmp_path / "demo.png")])
    results = json.loads(capsys.readouterr().out)["results"]
    for result in results:
        del result["ms"]
    assert code_blocks(readme, "text") == [table(results) + "\n"]


@pytest.mark.usefixtures("in_tmp")
def test_commands(readme, capsys):
    assert check_console(readme, capsys) == 2
