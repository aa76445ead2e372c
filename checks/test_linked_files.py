"""Files that the pages name are there, and no larger than a page bears."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text("utf-8")


def test_files_that_the_readme_links_exist():
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^):]+)\)", README)]
    assert "docs/_static/demo.png" in links
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("name", ["demo.png", "report.png"])
def test_pictures_of_the_readme_are_small(name):
    assert (DOCS / "_static" / name).stat().st_size < 150_000


def test_pictures_that_examples_save_are_in_the_repository():
    texts = [path.read_text("utf-8") for path in DOCS.rglob("*.md")]
    saved = {name: text for text in texts for name in re.findall(r'savefig\("(\w+\.png)"\)', text)}
    assert {"both.png", "churn.png", "reasons.png"} <= set(saved)
    for name, text in saved.items():
        assert f"_static/{name})" in text
        assert 2_000 < (DOCS / "_static" / name).stat().st_size < 100_000


def test_every_example_of_the_gallery_has_a_title():
    examples = sorted((DOCS / "gallery").glob("plot_*.py"))
    assert len(examples) >= 8
    for path in examples:
        assert re.match(r'"""\n\S.*\n=+\n', path.read_text("utf-8")), path.name
