"""The map of the package is current, and what it says is where it says."""

import re
import runpy
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import pytest

import cappedlda
from cappedlda._metrics.frame import Objective
from cappedlda._regime import REGIME

ROOT = Path(__file__).parents[2]
PACKAGE = Path(cappedlda.__file__).parent
PAGE = (ROOT / "docs/develop/architecture.md").read_text("utf-8")
CONSTANTS = (ROOT / "docs/develop/constants.md").read_text("utf-8")
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


def module(path):
    """The module of a path such as `_loo/labels`, below the package."""
    return import_module("cappedlda." + path.replace("/", "."))


def numbers(text):
    """The numbers of a list such as 0.7, 20,000, 1/3 or 1e-6."""
    plain = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    return [float(Fraction(part)) for part in plain.split(", ")]


def constants_of(section):
    """What the table of a section says: names, values and the module, of each line."""
    lines = CONSTANTS.split(f"## {section}\n")[1].split("\n## ")[0].splitlines()
    return [
        (re.findall(r"`([\w.]+)`", cells[1]), cells[2].strip(), cells[3].strip(" `"))
        for cells in (line.split("|") for line in lines if line.startswith("| `"))
    ]


def value_of(name, place):
    """The value of a constant in the code, or None of one that only C knows."""
    if place == "_regime":
        return getattr(REGIME, name)
    if name == "Objective.ridge":
        return Objective(epsilon="auto").ridge
    return None if place.startswith("_kernels") else getattr(module(place), name)


@pytest.mark.parametrize(
    ("section", "least"),
    [
        ("Constants of the method", 30),
        ("Wrong labels", 12),
        ("Cells of new rows", 3),
        ("Rounding and safety", 15),
    ],
)
def test_constants_are_where_and_what_the_page_says(section, least):
    n_names = 0
    for names, said, place in constants_of(section):
        n_names += len(names)
        values = [
            value_of(name, "_loo/labels" if section == "Wrong labels" else place) for name in names
        ]
        if re.fullmatch(r"[\d.,/e -]+", said) and None not in values:
            # A constant may lie a little below the number it stands for, against rounding.
            assert values == pytest.approx(numbers(said), rel=1e-8), names
    assert n_names >= least


def test_constants_are_counted():
    (counts,) = re.findall(r"The (\d+) that decide .* and (\d+) of rounding", CONSTANTS)
    for n, section in zip(counts, ("Constants of the method", "Rounding and safety"), strict=True):
        assert sum(len(names) for names, *_ in constants_of(section)) == int(n)


def test_other_constants_are_where_the_page_says():
    places = re.findall(
        r"((?:`[A-Z_]+`(?: and |, ))*`[A-Z_]+`) \(([^`()]*)`(_\w+/\w+)`\)", CONSTANTS
    )
    assert len(places) >= 12
    for names, said, place in places:
        values = [value_of(name, place) for name in re.findall(r"`(\w+)`", names)]
        if said:
            assert values == numbers(said.rstrip(", ")), names
