"""The README's first example is short, and its table is that of the demo."""

import json
import re
from pathlib import Path

from cappedlda._cli import main
from cappedlda._util.tables import table

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def code_blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_the_first_example_has_five_lines():
    assert code_blocks("python")[0].count(">>>") == 5


def test_the_table_is_that_of_the_demo(capsys, tmp_path):
    main(["demo", "--json", "--out", str(tmp_path / "demo.png")])
    results = json.loads(capsys.readouterr().out)["results"]
    for result in results:
        del result["ms"]
    assert code_blocks("text") == [table(results) + "\n"]
