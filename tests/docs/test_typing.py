"""The public interface has complete type hints, and they are shipped."""

import importlib.resources
import inspect

import pytest
import typed_user
from test_docs import OBJECTS, is_record

CALLABLES = [item for item in OBJECTS if not is_record(item.values[0])]


def own_methods(value):
    """The constructor and the public methods that are written here, of a class."""
    for name, method in inspect.getmembers(value, inspect.isroutine):
        public = name == "__init__" or not name.startswith("_")
        if public and getattr(method, "__module__", "").startswith("cappedlda"):
            yield method


def without_hint(function):
    signature = inspect.signature(function)
    missing = [
        name
        for name, parameter in signature.parameters.items()
        if parameter.annotation is parameter.empty and name not in ("self", "cls")
    ]
    return missing + ["return"] * (signature.return_annotation is signature.empty)


def test_the_package_says_that_it_is_typed():
    assert (importlib.resources.files("cappedlda") / "py.typed").is_file()


@pytest.mark.parametrize("value", CALLABLES)
def test_every_parameter_has_a_hint(value):
    functions = own_methods(value) if inspect.isclass(value) else [value]
    missing = {function.__qualname__: without_hint(function) for function in functions}
    assert {name: names for name, names in missing.items() if names} == {}


def test_the_typed_program_runs():
    pytest.importorskip("matplotlib").use("agg")
    assert typed_user.main() > 1.0
