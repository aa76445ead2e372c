"""Docstrings: their examples run, and each public name says what it takes and gives."""

import doctest
import importlib
import inspect
import pkgutil
import pydoc
import re
import subprocess
import sys
from dataclasses import is_dataclass
from pathlib import Path

import pytest
from matplotlib import pyplot as plt
from numpydoc.validate import validate

import cappedlda

MODULES = ["cappedlda"] + [
    module.name
    for module in pkgutil.walk_packages(cappedlda.__path__, "cappedlda.")
    if "._" not in module.name
]
# Of numpydoc's checks: not every name needs more than a summary and what it takes and gives.
TASTE = {"ES01", "PR07", "RT02", "RT03", "SA01", "YD01"}


def public_objects():
    """Every function and class in the `__all__` of a public module, where it is defined."""
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in getattr(module, "__all__", []):
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                yield pytest.param(value, id=f"{module_name}.{name}")


def is_record(value):
    """Tell whether a class only holds results; such a class needs no example."""
    return inspect.isclass(value) and (hasattr(value, "_fields") or is_dataclass(value))


OBJECTS = list(public_objects())
WITH_EXAMPLES = [
    item
    for item in OBJECTS
    if not is_record(item.values[0]) or "Examples" in item.values[0].__doc__
]


def test_the_public_names_are_there():
    assert {"CappedLDA", "CappedLDACV", "CappedNormLDA", "__version__"} <= set(cappedlda.__all__)
    assert "cappedlda.capped" in MODULES


@pytest.mark.parametrize("value", OBJECTS)
def test_help_shows_types_by_name(value):
    """Aliases such as ArrayLike are not expanded into pages of NumPy's private types."""
    text = pydoc.plain(pydoc.render_doc(value))
    assert "numpy._typing" not in text
    assert "cappedlda._typing" not in text


def test_submodules_are_attributes_once_the_package_is_imported():
    """In a new process, where nothing else has imported them."""
    code = """
import cappedlda
assert not {"plotting", "noise", "paper"} & set(vars(cappedlda))
assert cappedlda.plotting.ProjectionDisplay and cappedlda.noise.scatter
assert {"plotting", "noise", "paper", "sources", "onnx"} <= set(dir(cappedlda))
assert not hasattr(cappedlda, "no_such_module")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def reference():
    """Full names that the pages in docs/api list or mention."""
    pages = sorted((Path(__file__).parents[2] / "docs/api").glob("*.rst"))
    text = "\n".join(page.read_text("utf-8") for page in pages)
    module, names = "", set()
    for line in text.splitlines():
        if line.startswith(".. currentmodule::"):
            module = line.split("::")[1].strip()
        elif re.fullmatch(r"   \w+", line):
            names.add(f"{module}.{line.strip()}")
    return names | set(re.findall(r"``(cappedlda[\w.]+)``", text))


def test_the_reference_lists_every_public_name():
    public = {
        f"{module}.{name}"
        for module in MODULES
        for name in getattr(importlib.import_module(module), "__all__", [])
    }
    assert len(public) > 30
    assert public - reference() - {"cappedlda.__version__"} == set()


def problems(name, allowed):
    return [error for error in validate(name)["errors"] if error[0] not in TASTE | allowed]


@pytest.mark.parametrize("value", OBJECTS)
def test_docstrings_are_those_of_numpydoc(value, request):
    name = request.node.callspec.id
    if is_record(value):  # its fields are attributes
        assert problems(name, {"PR01", "EX01"}) == []
        return
    assert problems(name, set()) == []
    if inspect.isclass(value):
        for method, function in inspect.getmembers(value, inspect.isfunction):
            if not method.startswith("_") and function.__module__.startswith("cappedlda"):
                assert problems(f"{name}.{method}", {"EX01"}) == []


@pytest.mark.parametrize("value", WITH_EXAMPLES)
def test_examples_in_docstrings_run(value):
    # The methods of a class may come from its bases.
    own = [
        base for base in getattr(value, "__mro__", ()) if base.__module__.startswith("cappedlda")
    ]
    examples = [
        test
        for item in own or [value]
        for test in doctest.DocTestFinder(recurse=True).find(
            item, item.__name__, module=inspect.getmodule(item)
        )
        if test.examples
    ]
    assert examples
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in examples:
        result = runner.run(test)
        assert result.failed == 0
        assert result.attempted > 0
    plt.close("all")


def test_fitted_attributes_are_the_documented_ones(dirty):
    X, y, _ = dirty
    model = cappedlda.CappedLDA(label_noise="auto").fit(X, y)
    documentation = inspect.cleandoc(cappedlda.CappedLDA.__doc__)
    attributes = documentation.split("Attributes\n")[1].split("See Also\n")[0]
    documented = {line.split(" : ")[0] for line in attributes.splitlines() if " : " in line}
    computed = {name for name, _ in inspect.getmembers(type(model), inspect.isdatadescriptor)}
    fitted = {name for name in vars(model).keys() | computed if re.fullmatch(r"[a-z].*_", name)}
    assert fitted <= documented
    missing = {name for name in documented if not hasattr(model, name)}  # some are made when read
    assert missing == {"feature_names_in_"}
