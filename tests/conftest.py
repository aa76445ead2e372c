"""Fixtures that every test may use, and the hypothesis profile of the suite."""

import contextlib
import functools
import os
import sys

import numpy as np
import pytest
from common import ENGINES, make_classes, missing_for, spoil
from hypothesis import HealthCheck, settings

settings.register_profile(
    "suite",
    deadline=None,  # nothing here is timed: the machine may be busy
    max_examples=25,
    derandomize=True,
    database=None,
    # Fixtures only choose a build of the kernels, the same for all examples.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
# `make fuzz`: many more examples, other ones each time.
settings.register_profile(
    "fuzz",
    settings.get_profile("suite"),
    max_examples=int(os.environ.get("CAPPEDLDA_EXAMPLES", "2000")),
    derandomize=False,
    print_blob=True,
)
settings.load_profile(os.environ.get("CAPPEDLDA_PROFILE", "suite"))


collect_ignore = ["data/test_spark.py"] if missing_for("pyspark") else []


def pytest_terminal_summary(terminalreporter):
    missing = {engine: missing_for(engine) for engine in ENGINES}
    reasons = ", ".join(f"{engine} ({what})" for engine, what in missing.items() if what)
    if reasons:
        terminalreporter.write_line(f"Left out are the tests of {reasons}: make engines.")


@pytest.fixture
def in_tmp(tmp_path):
    """A folder of its own, which is the current one."""
    with contextlib.chdir(tmp_path):
        yield tmp_path


@pytest.fixture
def without(monkeypatch):
    """`without(name)` makes a module look as if it were not installed."""
    return lambda name: monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture
def array_api(monkeypatch):
    """Without the variable scikit-learn's check of array-API input would not run."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


class Calls(list):
    """The arguments of each call; `results` has what was returned."""

    def __init__(self):
        self.results = []

    def clear(self):
        super().clear()
        self.results.clear()


@pytest.fixture
def spy(monkeypatch):
    """`spy(owner, name)` returns the calls of a function, which does what it did."""

    def watch(owner, name):
        function, calls = getattr(owner, name), Calls()

        @functools.wraps(function)
        def noting(*args, **options):
            calls.append(args)
            calls.results.append(function(*args, **options))
            return calls.results[-1]

        monkeypatch.setattr(owner, name, noting)
        return calls

    return watch


@pytest.fixture
def rng():
    return np.random.default_rng(20260101)


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def dtype(request):
    return np.dtype(request.param)


@pytest.fixture
def clean(rng):
    """Three overlapping Gaussian classes in 6 dimensions: X (150, 6), y (150,)."""
    return make_classes(rng, [50, 40, 60], 6)


@pytest.fixture
def dirty(rng, clean):
    """Clean classes with every tenth row thrown far away: X, y, spoilt rows."""
    X, y = clean
    spoilt = np.zeros(len(y), dtype=bool)
    spoilt[::10] = True
    return spoil(rng, X, spoilt), y, spoilt
