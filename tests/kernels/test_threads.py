"""Kernels in several threads at once, also on an interpreter without a global lock."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from common import make_classes

from cappedlda import CappedLDA
from cappedlda._data.jobs import PassJob
from cappedlda._rules.rule import Query

N_THREADS = 4


def in_threads(job):
    """Return what a job returns in threads that begin together."""
    barrier = Barrier(N_THREADS)

    def run(_):
        barrier.wait()
        return [job() for _ in range(5)]

    with ThreadPoolExecutor(N_THREADS) as pool:
        return [result for results in pool.map(run, range(N_THREADS)) for result in results]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_passes_over_the_same_rows_give_the_same_bits(rng, dtype):
    X, codes = make_classes(rng, [700, 800, 500], 24, dtype=dtype)
    codes = codes.astype(np.int32)
    c = codes.max() + 1
    query = Query(
        rng.normal(size=(24, 2)), rng.normal(size=(c, 24)), np.ones(24), np.full(c, 8.0), 1.0, 0.1
    )
    expected = PassJob(query)(X, codes, None)
    for record in in_threads(lambda: PassJob(query)(X, codes, None)):
        for name, value in vars(expected).items():
            np.testing.assert_array_equal(getattr(record, name), value, err_msg=name)


def test_fits_to_the_same_rows_are_the_same(rng):
    X, y = make_classes(rng, [200, 150], 6)
    expected = CappedLDA().fit(X, y)
    for fitted in in_threads(lambda: CappedLDA().fit(X, y)):
        np.testing.assert_array_equal(fitted.scalings_, expected.scalings_)
        np.testing.assert_array_equal(fitted.outliers_, expected.outliers_)


LOCK = """
import sys, numpy, scipy.linalg.cython_blas, scipy.linalg.cython_lapack
locked = getattr(sys, "_is_gil_enabled", lambda: True)
before = locked()
import cappedlda._kernels
assert locked() == before
"""


def test_modules_do_not_turn_the_global_lock_on():
    # As an interpreter without the lock does for a module that does not declare itself safe.
    subprocess.run([sys.executable, "-W", "error", "-c", LOCK], check=True)
