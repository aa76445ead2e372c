"""The page of results says what the JSON files of the runs say, and nothing else."""

import json
import re
from pathlib import Path

import pytest

from cappedlda.experiments import paper

DOCS = Path(__file__).parents[1] / "docs"
RESULTS = sorted((DOCS / "results").rglob("*.json"))
PAGE = (DOCS / "reproduction.md").read_text(encoding="utf-8")


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def numbers_in(value):
    """Every number in nested lists and dictionaries."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [number for item in value for number in numbers_in(item)]
    return [value] if isinstance(value, (int, float)) else []


def test_every_number_of_the_page_is_in_a_result_or_in_the_paper():
    printed = [vars(paper)[name] for name in vars(paper) if name.isupper()]
    known = {f"{number:.2f}" for number in numbers_in([[read(path) for path in RESULTS], printed])}
    found = re.findall(r"(?<![\d.])\d+\.\d\d(?!\d)", PAGE)
    assert len(found) > 20
    # The variance of the paper's noise is no result.
    assert set(found) - known <= {"0.05"}


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: str(path.relative_to(DOCS)))
def test_results_of_the_page_are_of_whole_runs(path):
    summary = read(path)
    assert not summary["settings"]["quick"]
    assert not summary["missing"]
    assert f"`{summary['command']}`" in PAGE
    assert all(row["mean"] is not None for row in summary["rows"])


def test_pictures_and_tables_of_the_page_exist():
    links = re.findall(r"\]\(([^):]+)\)", PAGE)
    assert links
    assert [link for link in links if not (DOCS / link).exists()] == []
