"""Data, and ratios that a busy machine cannot distort much."""

import re
import time
from pathlib import Path

import numpy as np

BLOCK_ROWS = 50_000


def population(rng, n_features, n_classes):
    """Return means of classes (c, n), and a matrix (n, n) that mixes independent features."""
    means = 3.0 * rng.standard_normal((n_classes, n_features)) / n_features**0.25
    mixing = 0.3 * rng.standard_normal((n_features, n_features)) / np.sqrt(n_features)
    return means, np.eye(n_features) + mixing


def heavy_tailed(n_rows, n_features, n_classes, freedom, seed=0):
    """Return classes whose noise has Student's distribution, and their best directions."""
    rng = np.random.default_rng(seed)
    means, mixing = population(rng, n_features, n_classes)
    y = rng.integers(n_classes, size=n_rows).astype(np.int32)
    X = rng.standard_t(freedom, size=(n_rows, n_features)) @ mixing + means[y]
    return X, y, np.linalg.solve(mixing.T @ mixing, (means[1:] - means[0]).T)


def log_normal(n_rows, n_features, n_classes, seed=0):
    """Return classes with skewed features: exponentials of Gaussian ones."""
    rng = np.random.default_rng(seed)
    means, mixing = population(rng, n_features, n_classes)
    y = rng.integers(n_classes, size=n_rows).astype(np.int32)
    return np.exp(0.5 * (rng.standard_normal((n_rows, n_features)) @ mixing + means[y])), y


def contaminated(n_rows, n_features, n_classes, share=0.1, dtype=np.float64, seed=0, out=None):
    """Return Gaussian classes with correlated features and far outliers in a share of the rows.

    Made block by block: beside X itself, or `out`, which it is written to, nothing large is in
    memory.
    """
    rng = np.random.default_rng(seed)
    means, mixing = population(rng, n_features, n_classes)
    y = rng.integers(n_classes, size=n_rows).astype(np.int32)
    planted = rng.random(n_rows) < share
    X = np.empty((n_rows, n_features), dtype) if out is None else out
    for start in range(0, n_rows, BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, n_rows))
        block = rng.standard_normal((rows.stop - start, n_features)) @ mixing + means[y[rows]]
        far = planted[rows]
        block[far] += 15.0 * rng.standard_normal((far.sum(), n_features))
        X[rows] = block
    return X, y, planted


def interleaved(jobs, seconds=1.0, least=5, clock=time.process_time, warm_up=True):
    """Return the times of some jobs that run in turn.

    Parameters
    ----------
    jobs : dict of str to callable
    seconds : float
        Rounds go on until they have taken this long together.
    least : int
        But there are at least this many.
    clock : callable
        The time of this process by default, which does not run while others have the
        processor. For jobs in several threads take `time.perf_counter`.
    warm_up : bool
        Whether a round that does not count goes before; long jobs need none.

    Returns
    -------
    times : dict of str to list of float
        One entry per round.
    """
    for job in jobs.values() if warm_up else ():
        job()
    times = {name: [] for name in jobs}
    begin = time.perf_counter()
    while len(times[next(iter(times))]) < least or time.perf_counter() - begin < seconds:
        for name, job in jobs.items():
            start = clock()
            job()
            times[name].append(clock() - start)
    return times


def ratio_of(times, name, unit):
    """Return the time of one job over that of another, of the same `interleaved`.

    The median over rounds: what slows a round down as a whole cancels, what hits one job is rare.
    """
    return float(np.median(np.divide(times[name], times[unit])))


def ratio(job, unit, **options):
    """Return the time of `job` over that of `unit`, measured in turn (see `interleaved`)."""
    return ratio_of(interleaved({"job": job, "unit": unit}, **options), "job", "unit")


def extra_memory(job):
    """Return by how many bytes the memory of this process rises, at its peak, while `job` runs."""
    status, references = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not references.exists():
        raise NotImplementedError("The peak of the memory can be reset on Linux only.")

    def kilobytes(key):
        return int(re.search(rf"{key}:\s+(\d+) kB", status.read_text())[1])

    before = kilobytes("VmRSS")
    references.write_text("5")  # the peak starts again from what is in use now
    job()
    return max(0, kilobytes("VmHWM") - before) * 1024
