"""Seconds that fits of a user's sizes take, beside scikit-learn's; a part of `speed.py`."""

import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from suite.common import contaminated

from cappedlda import CappedLDA

# Rows, features and classes of the table; the others are for the picture.
SIZES = ((100_000, 20, 5), (1_000_000, 50, 10))
PICTURE_ROWS = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
LEAST_ROWS = 100  # whatever the scale
PICTURE_FEATURES, PICTURE_CLASSES = 50, 10
MAP_GIGABYTES = (1, 2, 4)
LDA_SOLVERS = ("svd", "eigen")


def seconds_of(job, rounds=3):
    """Return the median time that a job takes on the clock; the first time does not count."""
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return float(np.median(times[1:]))


def measure_seconds(scale):
    """Yield seconds of fits with the threads that everybody takes by default."""
    shapes = {(rows, PICTURE_FEATURES, PICTURE_CLASSES) for rows in PICTURE_ROWS}
    for rows, n, c in sorted(shapes | set(SIZES)):
        X, y, _ = contaminated(max(rows // scale, LEAST_ROWS), n, c)
        jobs = {"CappedLDA": CappedLDA()}
        jobs |= {f"LDA ({name})": LinearDiscriminantAnalysis(solver=name) for name in LDA_SOLVERS}
        seconds = {name: seconds_of(lambda m=m, X=X, y=y: m.fit(X, y)) for name, m in jobs.items()}
        yield {"kind": "array", "rows": len(X), "features": n, "classes": c, "seconds": seconds}
    for gigabytes in MAP_GIGABYTES:
        yield measure_map(gigabytes * 10**9 // scale)


def measure_map(n_bytes):
    """Return the record of a fit to a memory map of some size."""
    n, c = PICTURE_FEATURES, PICTURE_CLASSES
    rows = n_bytes // (8 * n)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        out = np.lib.format.open_memmap(path, "w+", np.float64, (rows, n))
        _, y, _ = contaminated(rows, n, c, out=out)
        out.flush()
        del out
        seconds = seconds_of(lambda: CappedLDA().fit(np.load(path, mmap_mode="r"), y), rounds=1)
    shape = {"rows": rows, "features": n, "classes": c}
    return {"kind": "map", "bytes": n_bytes, **shape, "seconds": {"CappedLDA": seconds}}
