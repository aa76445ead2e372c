"""How fast is it? Measures what docs/speed.md shows: seconds, and units of one X.T @ X.

    python benchmarks/speed.py                      # all, some minutes on a quiet machine
    python benchmarks/speed.py --only passes        # one part; the others stay as they are
    python benchmarks/speed.py --draw               # only renew pictures and pages
    python benchmarks/speed.py --out speed --quick

One thread unless a row says otherwise; everything in a row of a table is measured in turn in one
process. Written to the folder, which is named for the instructions of the kernels: speed.json
(all figures, machine, date and versions) and two pictures (see `speed_report.py`). The tables go
into docs/speed.md and docs/develop/benchmarks.md, or into tables.md of another folder. tabmat is
compared with if it is installed.
"""

import argparse
import json
import multiprocessing
import os
import platform
import time
from datetime import date
from importlib import metadata
from itertools import product
from pathlib import Path

import numpy as np
from scipy.linalg import subspace_angles
from speed_report import GEMM_SIZE, OTHERS, PAGES, PARTS, THREADS_GAIN, write
from speed_seconds import measure_seconds
from suite.common import heavy_tailed, interleaved, log_normal, ratio, ratio_of
from suite.fits import (
    MIDDLE_SHAPES,
    TARGET_SHAPES,
    FitByThreads,
    FitProblem,
    FitsAtOnce,
    FittedModel,
    Memory,
    SmallFit,
    ratio_of_imports,
)
from suite.passes import ROWS, PassProblem
from threadpoolctl import threadpool_limits

from cappedlda import CappedLDA, CappedNormLDA
from cappedlda._kernels import kernels
from cappedlda._regime import Regime

TIMES_SMALLER = 10  # --quick
# Codes, weights, distances and flags: what a fit keeps for each row, whatever its features.
BYTES_PER_ROW = 21
FREEDOMS = (30, 10, 5, 3, 2)  # of Student's distribution: the fewer, the heavier the tails
GROWTH = {
    "rows": (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000),
    "features": (5, 10, 20, 50, 100, 200),
    "classes": (2, 5, 10, 50, 100),
}
# Parts in which libraries use as many threads as they like.
THREADED = ("seconds", "threads", "others")

# ---------------------------------------------------------------------------------------------
# Measuring: each part returns a list of records
# ---------------------------------------------------------------------------------------------


def measure_passes(scale):
    """Yield times and ratios of the pass and of other ways, by number of features; one thread."""
    pairs = [
        ("pass float64", "gram float64"),
        ("sums float64", "gram float64"),
        ("capped float64", "pass float64"),
        ("pass float64", "pass float32"),
        *((f"{other} {dtype}", f"pass {dtype}") for other, dtype in OTHERS),
    ]
    for n, n_rows in ROWS.items():
        times = interleaved(pass_jobs(n_rows // scale, n), seconds=10.0 / scale)
        seconds = {name: float(np.median(values)) for name, values in times.items()}
        ratios = {f"{a} / {b}": ratio_of(times, a, b) for a, b in pairs if a in times}
        yield {"n": n, "rows": n_rows // scale, "seconds": seconds, "ratios": ratios}


def pass_jobs(n_rows, n):
    """Return what is measured for one number of features, by name."""
    jobs = {}
    for dtype in ("float64", "float32"):
        problem = PassProblem(n_rows, n, dtype)
        jobs |= {f"pass {dtype}": problem.run, f"gram {dtype}": problem.gram}
        jobs |= {f"NumPy {dtype}": problem.by_numpy, f"gemm {dtype}": gemm(dtype)}
        try:
            problem.prepare_tabmat()
            jobs[f"tabmat {dtype}"] = problem.by_tabmat
        except ImportError:
            print("tabmat is not installed: left out")
        flat = problem.X.ravel()
        jobs[f"read {dtype}"] = lambda flat=flat: flat @ flat
    jobs["sums float64"] = PassProblem(n_rows, n, sums=True).run
    jobs["capped float64"] = PassProblem(n_rows, n, capped=0.3).run
    return jobs


def measure_threads(scale):
    """Yield passes on two threads beside one, and other ways on two, by number of features."""
    for n, dtype in product(ROWS, ("float64", "float32")):
        one, two = (PassProblem(ROWS[n] // scale, n, dtype, threads=k) for k in (1, 2))
        others = {"NumPy": two.by_numpy}
        try:
            two.prepare_tabmat()
            others["tabmat"] = two.by_tabmat
        except ImportError:
            print("tabmat is not installed: left out")
        # Apart: the threads of libraries stay awake for a while after their work.
        options = {"seconds": 2.0 / scale, "clock": time.perf_counter}
        ratios = {"two": ratio(two.run, one.run, **options)}
        with threadpool_limits(2):
            times = interleaved({"pass": two.run, **others}, **options)
        ratios |= {name: ratio_of(times, name, "pass") for name in others}
        yield {"n": n, "dtype": dtype, "rows": len(two.X), "ratios": ratios}


def gemm(dtype):
    """Return a product of two square matrices, the fastest thing that BLAS does."""
    A = np.random.default_rng(0).standard_normal((GEMM_SIZE, GEMM_SIZE)).astype(dtype)
    return lambda: A @ A


def fit_problem(shape, scale):
    """Return the problem of a shape, or of a tenth of its rows."""
    rows, rest = shape.split("x", 1)
    return FitProblem(f"{int(rows) // scale}x{rest}")


def measure_fits(scale):
    """Yield fits by shapes that there are targets for; one thread."""
    for shape in TARGET_SHAPES:
        problem = fit_problem(shape, scale)
        yield {
            "shape": shape,
            **ratios_of_fits(problem.X, problem.y),
            "missed": float(np.mean(~problem.fit().outliers_[problem.planted])),
        }
    shape = 100_000 // scale, 50, 10
    skewed = {
        "t, 3 degrees of freedom": heavy_tailed(*shape, 3)[:2],
        "log-normal": log_normal(*shape),
    }
    for name, (X, y) in skewed.items():
        yield {"shape": f"100000x50x10 {name}", **ratios_of_fits(X, y), "missed": None}


def ratios_of_fits(X, y):
    """Return what records of fits have in common, for both estimators."""
    models = {"CappedLDA": CappedLDA(n_jobs=1), "CappedNormLDA": CappedNormLDA(n_jobs=1)}
    jobs = {name: lambda m=model: m.fit(X, y) for name, model in models.items()}
    times = interleaved({"gram": lambda: X.T @ X, **jobs}, seconds=5.0, least=3)
    return {
        "rows": len(X),
        "ratios": {name: ratio_of(times, name, "gram") for name in models},
        "passes": {name: model.n_passes_ for name, model in models.items()},
    }


def measure_sample(scale):
    """Yield angles between directions of a fit that samples, of one that does not, and the true."""
    for shape, freedom in product(("100000x20x5", "100000x50x10"), FREEDOMS):
        rows, n, c = map(int, shape.split("x"))
        X, y, true = heavy_tailed(rows // scale, n, c, freedom)
        sampled = [CappedLDA(n_jobs=1, random_state=seed).fit(X, y) for seed in range(3)]
        whole = CappedLDA(n_jobs=1)
        whole._regime = Regime(sample_worthwhile=np.inf)
        whole.fit(X, y)
        angles = [subspace_angles(model.scalings_, whole.scalings_).max() for model in sampled]
        other = [np.mean(model.outliers_ != whole.outliers_) for model in sampled]
        yield {
            "shape": shape,
            "rows": len(X),
            "freedom": freedom,
            "angle": float(max(angles)),
            "error": float(subspace_angles(whole.scalings_, true).max()),
            "other_flags": float(max(other)),
        }


def measure_lda(scale):
    """Yield fits of scikit-learn's LDA, each run once, by the same shapes; one thread."""
    for shape in TARGET_SHAPES:
        problem = fit_problem(shape, scale)
        ratios = {}
        for solver in ("svd", "eigen"):
            jobs = {"gram": problem.gram, "fit": lambda s=solver, p=problem: p.lda(s)}
            try:
                times = interleaved(jobs, seconds=0.0, least=1, warm_up=False)
            except np.linalg.LinAlgError:
                ratios[solver] = None
            else:
                ratios[solver] = ratio_of(times, "fit", "gram")
        yield {"shape": shape, "rows": len(problem.X), "ratios": ratios}


def measure_middle(scale):
    """Yield fits of the sizes of most data over those of LDA (svd), dirty and clean; one thread."""
    for shape, target in MIDDLE_SHAPES.items():
        rows, *sizes = shape.split("x")
        rows = max(int(rows) // scale, 100)
        problems = {
            kind: FitProblem("x".join([str(rows), *sizes]), share=share)
            for kind, share in (("dirty", 0.1), ("clean", 0.0))
        }
        ratios = {kind: problem.ratio_to_lda() for kind, problem in problems.items()}
        yield {"shape": shape, "rows": rows, "ratios": ratios, "target": target}


def measure_growth(scale):
    """Yield fits by number of rows, of features and of classes; one thread."""
    for name, size in ((name, size) for name, sizes in GROWTH.items() for size in sizes):
        shape = {"rows": 100_000, "features": 20, "classes": 5, name: size}
        shape["rows"] //= scale
        problem = FitProblem("x".join(map(str, shape.values())))
        times = interleaved({"gram": problem.gram, "fit": problem.fit}, seconds=2.0, least=3)
        yield {
            "by": name,
            **shape,
            "ratio": ratio_of(times, "fit", "gram"),
            "milliseconds": float(np.median(times["fit"])) * 1e3,
        }


def measure_others(_):
    """Yield small fits, imports, fitted models, threads and memory, with what is wanted."""
    for name, target in {"iris": 1.5, "wine": 1.5, "digits": 4.0}.items():
        small = SmallFit()
        small.setup(name)
        yield wanted(f"fit of {name} / LDA (svd)", small.track_ratio_to_lda(name), target)
    yield wanted("import / import of sklearn.discriminant_analysis", ratio_of_imports(), 1.3)
    for n in (20, 100, 784):
        model = FittedModel()
        model.setup(n, "float64")
        yield wanted(f"transform / X @ W, n = {n}", model.track_ratio_transform_to_product(), 1.2)
        yield wanted(f"predict / the bare rule, n = {n}", model.track_ratio_predict_to_rule(), 1.2)
    for shape in FitByThreads.params[0]:
        fits = FitByThreads()
        fits.setup(shape)
        value = fits.track_ratio_two_to_one(shape)
        yield wanted(f"fit on two threads / on one, {shape}", value, 1 / THREADS_GAIN)
        yield wanted(f"X.T @ X on two threads / on one, {shape}", fits.gram_on_two_to_one(), None)
    for callers in FitsAtOnce.params[0][1:]:
        fits = FitsAtOnce()
        fits.setup(callers)
        value = fits.track_ratio_to_one_after_the_other(callers)
        fits.teardown(callers)
        yield wanted(f"four fits from {callers} Python threads / from one", value, 1.0)
    for kind in Memory.params[0]:
        # Each in a process of its own, that has no freed memory to use again.
        with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
            values, (per_row, *_) = zip(*pool.map(extra_memory_of, [kind] * 3, 1), strict=True)
        yield wanted(f"extra memory of a fit / X, {kind}", np.median(values), 0.10 + per_row)


def wanted(what, value, target):
    """Return a record of a value that should not be above its target, if there is one."""
    return {"what": what, "value": float(value), "target": target}


def extra_memory_of(kind):
    """Return the memory that a fit takes beside X, and that of the results per row, over X."""
    memory = Memory()
    memory.setup(kind)
    value = memory.track_extra_over_X(kind)
    per_row = BYTES_PER_ROW * len(memory.X) / memory.X.nbytes
    memory.teardown(kind)
    return value, per_row


def machine():
    """Return where and with what this was measured."""
    names = ("cappedlda", "numpy", "scipy", "scikit-learn", "tabmat")
    installed = {dist.metadata["Name"]: dist.version for dist in metadata.distributions()}
    cpu = Path("/proc/cpuinfo")
    models = [line for line in cpu.read_text().splitlines() if line.startswith("model name")]
    return {
        "processor": models[0].partition(": ")[2] if models else platform.processor(),
        "kernels": kernels.name,
        "date": date.today().isoformat(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        **{name: installed.get(name) for name in names},
    }


MEASURE = {
    "seconds": measure_seconds,
    "middle": measure_middle,
    "passes": measure_passes,
    "threads": measure_threads,
    "fits": measure_fits,
    "sample": measure_sample,
    "lda": measure_lda,
    "growth": measure_growth,
    "others": measure_others,
}


def main():
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parents[1] / "docs" / "speed" / kernels.name
    parser.add_argument("--out", type=Path, default=default, help="folder, default docs/speed/...")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--draw", action="store_true", help="measure nothing, draw and tabulate")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    pages = PAGES if given.out == default else ()
    stored = given.out / "speed.json"
    results = json.loads(stored.read_text()) if stored.exists() else {}
    for part in () if given.draw else given.only:
        records = []
        size = "a tenth" if given.quick else "all"
        results[part] = {"machine": {"rows": size, **machine()}, "records": records}
        with threadpool_limits(None if part in THREADED else 1):
            for record in MEASURE[part](TIMES_SMALLER if given.quick else 1):
                print(record, flush=True)
                records.append(record)
                write(results, given.out, pages)
    write(results, given.out, pages)


if __name__ == "__main__":
    main()
