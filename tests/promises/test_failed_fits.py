"""A fit that fails leaves the estimator as it was and no thread behind; the next one is right."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from common import make_classes

from cappedlda import CappedLDA, capped
from cappedlda._data.threads import ordered_map


class BrokenError(Exception):
    """What a source raises here."""


def rows_of(n_rows=3000):
    return make_classes(np.random.default_rng(0), [n_rows, n_rows], 5)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("broken", [1, 2, 3, 4])
def test_a_source_that_raises_in_a_pass(broken, n_jobs):
    X, y = rows_of(60_000)  # too many to be loaded: they are passed over several times
    n_passes = 0

    def chunks():
        nonlocal n_passes
        n_passes += 1
        for i in range(0, len(y), 10_000):
            if n_passes == broken and i >= 50_000:
                raise BrokenError
            yield X[i : i + 10_000], y[i : i + 10_000]

    lda = CappedLDA(n_jobs=n_jobs)
    n_threads = threading.active_count()
    with pytest.raises(BrokenError):
        lda.fit_chunks(chunks)
    assert not hasattr(lda, "coef_")
    assert threading.active_count() == n_threads
    lda.fit_chunks(chunks)  # in later passes all is well
    np.testing.assert_array_equal(lda.coef_, CappedLDA().fit(X, y).coef_)


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y = rows_of(100)
    lda = CappedLDA().fit(X, y)
    before = dict(vars(lda))
    for bad in (X * np.nan, np.ones_like(X), X[:1]):
        with pytest.raises(ValueError):  # noqa: PT011
            lda.fit(bad, y[: len(bad)])
        assert vars(lda) == before


INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
from cappedlda import CappedLDA
folder = sys.argv[1]
# Also where the tests run in the background, whose children ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
X = rng.normal(size=(40000, 20)); y = np.arange(len(X)) % 3; X[:, 0] += 4 * y
def chunks():
    for start in range(0, len(y), 7_000):
        yield X[start : start + 7_000], y[start : start + 7_000]
def fit(lda):
    return FIT
expected = fit(CappedLDA()).coef_
begin = time.perf_counter(); fit(CappedLDA()); seconds = time.perf_counter() - begin
caught = 0
for delay in rng.uniform(0.0, seconds, 15):
    lda = CappedLDA()
    timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    try:  # there is one signal, and it comes in here
        timer.start()
        try:
            fit(lda)
        finally:
            timer.join()
        time.sleep(0.2)
    except KeyboardInterrupt:
        caught += 1
    timer.join()
    assert vars(lda).keys() >= {"n_components", "epsilon"}
    assert not hasattr(lda, "coef_") or np.array_equal(lda.coef_, expected)
assert np.array_equal(fit(CappedLDA()).coef_, expected)
assert not os.listdir(folder)
names = [thread.name for thread in threading.enumerate()]
assert len(names) == 1, names
print("caught", caught)
"""


@pytest.mark.parametrize(
    "fit", ["lda.fit(X, y)", "lda.fit_chunks(chunks)", "lda.fit_chunks(chunks, cache=folder)"]
)
def test_interrupts_at_random_moments(tmp_path, fit):
    """No thread or file is left, nothing is half-fitted, and the next fit is right."""
    argv = [sys.executable, "-c", INTERRUPTED.replace("FIT", fit), str(tmp_path)]
    found = subprocess.run(argv, capture_output=True, text=True, timeout=600)
    last = found.stdout.strip().splitlines()[-1:] or [found.stderr]
    assert found.returncode == 0, found.stderr
    assert last == ["caught 15"], found.stdout


@pytest.mark.parametrize("bad", ["one class", "weights", "n_components", "n_jobs", "interrupt"])
def test_a_failed_refit_leaves_the_old_fit_alone(rng, monkeypatch, bad):
    X, y = make_classes(rng, [10, 10, 10], 4)
    model = CappedLDA().fit(X, y)
    expected, probabilities = model.transform(X), model.predict_proba(X)
    narrow = X[:, :3]
    labels, options = y, {}
    if bad == "one class":
        labels = np.zeros_like(y)
    elif bad == "weights":
        options = {"sample_weight": -np.ones(30)}
    elif bad == "n_components":
        model.set_params(n_components=9)
    elif bad == "n_jobs":
        model.set_params(n_jobs=0)
    else:

        def interrupted(*arguments, **options):
            raise KeyboardInterrupt

        monkeypatch.setattr(capped, "fit_capped", interrupted)
    with pytest.raises((ValueError, KeyboardInterrupt)):
        model.fit(narrow, labels, **options)
    assert model.n_features_in_ == 4
    np.testing.assert_array_equal(model.transform(X), expected)
    np.testing.assert_array_equal(model.predict_proba(X), probabilities)


def test_a_dead_thread_is_an_error_and_not_waited_for(monkeypatch):
    """As when there is no memory left to tell the executor of an error."""
    monkeypatch.setattr("cappedlda._data.threads.PATIENCE", 0.05)
    monkeypatch.setattr("threading.excepthook", lambda args: None)
    from concurrent.futures import Future

    def no_memory(self, error):
        raise MemoryError

    monkeypatch.setattr(Future, "set_exception", no_memory)

    def fails(item):
        raise MemoryError

    with pytest.raises(MemoryError, match="a thread of the fit has died"):
        list(ordered_map(fails, range(5), 2))


def test_no_room_for_a_thread_is_a_memory_error(monkeypatch):
    def full(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", full)
    with pytest.raises(MemoryError, match="can't start new thread.*use n_jobs=1"):
        list(ordered_map(abs, range(5), 2))
