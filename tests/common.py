"""Data makers, comparisons and tolerances that several test files share."""

import importlib.util
import os
import re
import shlex
import shutil
from types import SimpleNamespace

import numpy as np
from hypothesis import strategies as st
from scipy.linalg import subspace_angles

from cappedlda import CappedLDA, CappedNormLDA
from cappedlda._data.array import ArrayRows
from cappedlda._regime import Regime
from cappedlda.paper.compared import L1BLDA, L2BLDA, LDA, LDAL1, RDA, RLDA

# Each of the compared methods, at settings that tests can afford.
COMPARED = [LDA(), RDA(), RLDA(), LDAL1(tol=1e-2), L2BLDA(), L1BLDA(tol=1e-2)]

# One pass adds some thousand products. In float64 the rounding of such a sum is a few
# 1e-13 of its size. In float32 every product already has an error of 6e-8, multiplied
# by about 10, the size of the rows over their distance to the centre.
TOLERANCE = {
    np.dtype(np.float64): SimpleNamespace(pass_rtol=1e-11, fit_angle=1e-9),
    np.dtype(np.float32): SimpleNamespace(pass_rtol=2e-5, fit_angle=1e-3),
}

# What may happen to the bytes of a file.
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["replace", "insert", "delete", "repeat"]),
        st.floats(0.0, 1.0, exclude_max=True),
        st.binary(min_size=1, max_size=20),
    ),
    min_size=1,
    max_size=3,
)

# What some tests need and others do without; `make engines` installs it.
ENGINES = ("pyspark", "ray", "duckdb", "polars")


def missing_for(engine):
    """Return what is missing here for the tests of an engine, or None."""
    if importlib.util.find_spec(engine) is None:
        return "not installed"
    if engine == "pyspark" and not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        return "no Java runtime: apt install default-jre-headless"
    return None


OF_THE_NORM = {"q", "centres", "start", "ridge", "max_iter", "tol"}


def estimator_of(**options):
    """CappedNormLDA if an option is one that only it has, else CappedLDA."""
    return (CappedNormLDA if OF_THE_NORM & options.keys() else CappedLDA)(**options)


def make_classes(rng, sizes, n, spread=3.0, offset=2.0, dtype=np.float64):
    """Gaussian classes with a common, correlated covariance; rows in random order."""
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    mixing = np.eye(n) + 0.3 * rng.normal(size=(n, n)) / np.sqrt(n)
    means = offset + spread * rng.normal(size=(len(sizes), n))
    X = means[codes] + rng.normal(size=(len(codes), n)) @ mixing
    return np.ascontiguousarray(X, dtype=dtype), codes


def spoil(rng, X, spoilt, size=30.0):
    """Throw the spoilt rows far away, each in a direction of its own."""
    X = X.copy()
    steps = rng.normal(size=(int(spoilt.sum()), X.shape[1]))
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    X[spoilt] += (size * np.sqrt(X.shape[1]) * steps).astype(X.dtype)
    return X


def rows_of(X, codes, sample_weight=None, n_jobs=1, n_classes=None, **thresholds):
    """Rows as the solver sees them, perhaps in a regime of their own."""
    codes = np.asarray(codes, dtype=np.int32)
    n_classes = int(codes.max()) + 1 if n_classes is None else n_classes
    return ArrayRows(X, codes, n_classes, sample_weight, n_jobs, Regime(**thresholds))


def in_regime(estimator, **thresholds):
    """The estimator, which will fit in a regime of its own."""
    estimator._regime = Regime(**thresholds)
    return estimator


def check_console(text, capsys):
    """Run the commands in the blocks of a page marked `console`; return how many there were.

    What a command prints must be what follows it, unless nothing does: an error for one that
    fails, and its output for others. The number of iterations may differ: it is a detail of the
    solver, which other tests hold to what it must be.
    """
    from cappedlda._cli import main

    blocks = re.findall(r"^```console\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    examples = [example for block in blocks for example in block.split("$ cappedlda ")[1:]]
    for example in examples:
        command, _, expected = example.partition("\n")
        capsys.readouterr()
        status = main(shlex.split(command))
        captured = capsys.readouterr()
        if expected:
            found = captured.out if status == 0 else captured.err
            details = re.compile(r"(?<=^converged, iterations: )[0-9]+", flags=re.MULTILINE)
            assert details.sub("", found) == details.sub("", expected), command
        else:
            assert status == 0, captured.err
    return len(examples)


def angle(U, V):
    """Largest principal angle between the column spaces of two matrices, in radians."""
    assert U.shape == V.shape
    U = U / np.linalg.norm(U, axis=0)
    V = V / np.linalg.norm(V, axis=0)
    return float(np.max(subspace_angles(U, V)))


def assert_same_bits(record, other):
    """Check that two records are equal to the last bit."""
    for name, value in vars(record).items():
        np.testing.assert_array_equal(value, getattr(other, name), err_msg=name)


def assert_close_record(record, expected, rtol):
    """Check two records for equality, relative to the largest entry of each sum."""
    for name, value in vars(expected).items():
        if value is None:
            assert getattr(record, name) is None, name
            continue
        size = max(np.max(np.abs(value), initial=0.0), 1e-300)
        np.testing.assert_allclose(
            getattr(record, name), value, rtol=rtol, atol=rtol * size, err_msg=name
        )
