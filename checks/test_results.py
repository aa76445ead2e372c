"""The page of results says what the JSON files of the runs say, and nothing else."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from cappedlda.paper.experiments import METHODS, TABLES, report, tables

DOCS = Path(__file__).parents[1] / "docs"
RESULTS = sorted((DOCS / "results").rglob("*.json"))
TABLE_RESULTS = [DOCS / "results" / f"{name}.json" for name in TABLES]
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
    sources = [[read(path) for path in RESULTS], tables.PRINTED]
    known = {f"{number:.2f}" for number in numbers_in(sources)}
    found = re.findall(r"(?<![\d.])\d+\.\d\d(?!\d)", PAGE)
    assert len(found) > 20
    # The variance of the paper's noise is no result.
    assert set(found) - known <= {"0.05"}


def test_tables_of_the_page_are_those_of_the_results():
    spec = importlib.util.spec_from_file_location("update_results", DOCS / "update_results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.updated(PAGE) == PAGE
    assert re.findall(r"<!-- results: (\S+) -->", PAGE) == list(TABLES)


@pytest.mark.parametrize("path", TABLE_RESULTS, ids=lambda path: path.stem)
def test_text_beside_a_result_is_made_from_it(path):
    summary = read(path)
    text = path.with_suffix(".md").read_text(encoding="utf-8")
    assert text == report.markdown(summary)


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: str(path.relative_to(DOCS)))
def test_results_of_the_page_are_of_whole_runs(path):
    summary = read(path)
    assert not summary["settings"]["quick"]
    assert not summary["missing"]
    assert f"`{summary['command']}`" in PAGE
    assert all(row["mean"] is not None for row in summary["rows"])


@pytest.mark.parametrize("path", TABLE_RESULTS, ids=lambda path: path.stem)
def test_every_data_set_of_a_table_has_all_methods(path):
    rows = read(path)["rows"]
    datasets = {row["dataset"] for row in rows}
    assert datasets <= set(TABLES[path.stem].cases)
    if path.stem.startswith("uci"):
        assert datasets == set(TABLES[path.stem].cases)
    found = {(row["dataset"], row["method"]) for row in rows}
    assert found == {(dataset, method) for dataset in datasets for method in METHODS}


def test_pictures_and_tables_of_the_page_exist():
    links = re.findall(r"\]\(([^):]+)\)", PAGE)
    assert links
    assert [link for link in links if not (DOCS / link).exists()] == []
