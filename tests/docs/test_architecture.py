"""The map of the package is current, and what it says is where it says."""

import re
import runpy
from pathlib import Path

import cappedlda

ROOT = Path(__file__).parents[2]
PACKAGE = Path(cappedlda.__file__).parent
PAGE = (ROOT / "docs/develop/architecture.md").read_text("utf-8")
RECIPES = (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def source(name):
    """The text of a module; of a compiled one, where its source is not installed, its name."""
    path = PACKAGE / name
    if path.suffix == ".pyx" and not path.exists():
        (compiled,) = path.parent.glob(f"{path.stem}.*")
        return compiled.name
    return path.read_text("utf-8")


def test_the_tables_are_those_of_the_code():
    updated = runpy.run_path(str(ROOT / "docs/update_architecture.py"))["updated"]
    assert updated(PAGE) == PAGE, "run: python docs/update_architecture.py"


def check_places(text):
    """Check that each `name` stands in the file that follows; return how many files there are."""
    places = re.findall(r"((?:`\w+`(?:, | and ))*`\w+`) in `([\w/]+\.pyx?)`", text)
    for names, file in places:
        found = source(file)
        for name in re.findall(r"`(\w+)`", names):
            assert name in found or not (PACKAGE / file).exists(), (name, file)
    return len(places)


def test_what_the_page_looks_for_is_there():
    assert check_places(PAGE.split("Where is...")[1].split("\n## ")[0]) >= 15
    for file in re.findall(r"\(`([\w/]+\.py)`\)", PAGE):
        assert source(file)


def test_recipes_name_few_files_that_are_there():
    recipes = re.findall(r"^\| an? .*$", RECIPES, re.MULTILINE)
    assert len(recipes) == 10
    assert check_places("\n".join(recipes)) >= 10
    for recipe in recipes:
        files = set(re.findall(r"`([\w/-]+(?:/|\.pyx?|\.md))`", recipe))
        assert 1 <= len(files) <= 4, recipe
        for file in files:
            assert (PACKAGE / file).exists() or (ROOT / file).exists() or source(file), file
