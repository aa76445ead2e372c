"""Whole fits: time, passes, memory; and what a fitted model costs to use."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from threadpoolctl import threadpool_limits

from cappedlda import CappedLDA

from .common import contaminated, extra_memory, ratio

# The shapes that the project has targets for take minutes: CAPPEDLDA_BENCH=full asks for them.
FULL = os.environ.get("CAPPEDLDA_BENCH") == "full"
TARGET_SHAPES = ["500000x50x10", "120000x256x10", "50000x784x10", "200000x20x5"]
# What most people fit, and the time that is wanted at most, over that of LDA() on one thread.
MIDDLE_SHAPES = {
    "100x4x3": 2.0,
    "1000x10x3": 1.8,
    "1000x50x5": 1.5,
    "3000x20x3": 1.5,
    "5000x50x10": 1.2,
    "5000x200x10": 1.0,
    "10000x20x3": 1.0,
    "1000x300x5": 1.0,
    "200x1000x4": 1.0,
    "1200x1200x20": 1.0,
    "5000x2000x10": 0.5,
    "10000x151x137": 5.0,
}
SHAPES = ["100000x50x10", "20000x256x10", "4000x784x10", "100000x20x5", "1000x1000x20"]


class FitProblem:
    """The default fit to convergence, with 10 % planted outliers.

    Parameters
    ----------
    shape : str
        Rows, features and classes, as "1000x20x5".
    dtype : str
    share : float
        Of the planted outliers.
    """

    def __init__(self, shape, dtype="float64", share=0.1, **options):
        sizes = map(int, shape.split("x"))
        self.X, self.y, self.planted = contaminated(*sizes, share=share, dtype=dtype)
        self.model = CappedLDA(**{"n_jobs": 1, **options})

    def fit(self):
        """Fit the model."""
        return self.model.fit(self.X, self.y)

    def gram(self):
        """Return the product that is the unit of all ratios."""
        return self.X.T @ self.X

    def lda(self, solver):
        """Fit scikit-learn's LDA."""
        return LinearDiscriminantAnalysis(solver=solver).fit(self.X, self.y)

    def ratio_to_gram(self):
        """Return fit time / X.T @ X time, one thread."""
        with threadpool_limits(1):
            return ratio(self.fit, self.gram, least=3)

    def ratio_to_lda(self, solver="svd"):
        """Return fit time / LinearDiscriminantAnalysis fit time, one thread."""
        with threadpool_limits(1):
            return ratio(self.fit, lambda: self.lda(solver), least=3)


class Fit:
    """Fits of moderate size."""

    params = (SHAPES,)
    param_names = ("shape",)
    timeout = 300

    def setup(self, shape):
        self.problem = FitProblem(shape)

    def track_ratio_to_gram(self, shape):
        """Return fit time / X.T @ X time, one thread."""
        return self.problem.ratio_to_gram()


class FitOfTargetShapes(Fit):
    """Fits of the shapes that there are targets for; only with CAPPEDLDA_BENCH=full."""

    params = (TARGET_SHAPES,)
    timeout = 1800

    def setup(self, shape):
        if not FULL:
            raise NotImplementedError
        super().setup(shape)


class FitAgainstLDA:
    """Fits against those of scikit-learn's LDA, which is not robust."""

    params = ([*SHAPES[:2], *MIDDLE_SHAPES], ["svd", "eigen"])
    param_names = ("shape", "solver")
    timeout = 600

    def setup(self, shape, solver):
        self.problem = FitProblem(shape)

    def track_ratio_to_lda(self, shape, solver):
        """Return fit time / LinearDiscriminantAnalysis fit time, one thread."""
        return self.problem.ratio_to_lda(solver)


class FitOfFloat32:
    """Fits of float32 rows against those of the same rows in float64."""

    params = (["100000x50x10", "20000x256x10"],)
    param_names = ("shape",)

    def setup(self, shape):
        self.single, self.double = FitProblem(shape, dtype="float32"), FitProblem(shape)

    def track_ratio_to_float64(self, shape):
        """Return float32 fit time / float64 fit time, one thread."""
        return ratio(self.single.fit, self.double.fit, least=3)


class FitByThreads:
    """Fits on two threads against one."""

    params = (["500000x50x10", "100000x256x10"],)
    param_names = ("shape",)

    def setup(self, shape):
        self.one = FitProblem(shape)
        self.two = copy(self.one)
        self.two.model = clone(self.one.model).set_params(n_jobs=2)

    def track_ratio_two_to_one(self, shape):
        """Return time on two threads / time on one; 0.5 at best."""
        return ratio(self.two.fit, self.one.fit, clock=time.perf_counter)

    def gram_on_two_to_one(self):
        """Return the same of X.T @ X by BLAS: what the memory of the machine allows."""

        def gram_on(threads):
            with threadpool_limits(threads):
                self.one.gram()

        return ratio(lambda: gram_on(2), lambda: gram_on(1), clock=time.perf_counter)


class FitsAtOnce:
    """Fits called from several Python threads at once, each with the default threads."""

    params = ([1, 2, 4],)
    param_names = ("n_callers",)

    def setup(self, n_callers):
        self.problems = [FitProblem("50000x50x10", n_jobs=None) for _ in range(4)]
        self.pool = ThreadPoolExecutor(n_callers)

    def teardown(self, n_callers):
        self.pool.shutdown()

    def track_ratio_to_one_after_the_other(self, n_callers):
        """Return time of four fits from some threads / from one; 1 or less is wanted."""
        return ratio(
            lambda: list(self.pool.map(FitProblem.fit, self.problems)),
            lambda: list(map(FitProblem.fit, self.problems)),
            clock=time.perf_counter,
        )


class Quality:
    """What the speed must not cost."""

    params = (["100000x50x10", "100000x20x5"],)
    param_names = ("shape",)

    def setup(self, shape):
        self.problem = FitProblem(shape)

    def track_passes(self, shape):
        """Return the number of passes over all rows."""
        return self.problem.fit().n_passes_

    def track_missed(self, shape):
        """Return the share of planted outliers that are not found."""
        return 1.0 - self.problem.fit().outliers_[self.problem.planted].mean()


class SmallFit:
    """Small data sets, against scikit-learn's LDA."""

    LOADERS = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
    params = (list(LOADERS),)
    param_names = ("name",)

    def setup(self, name):
        self.X, self.y = self.LOADERS[name](return_X_y=True)

    def track_ratio_to_lda(self, name):
        """Return fit time / LinearDiscriminantAnalysis fit time, one thread."""
        with threadpool_limits(1):
            return ratio(self.fit, lambda: LinearDiscriminantAnalysis().fit(self.X, self.y))

    def fit(self):
        """Fit the model on one thread."""
        return CappedLDA(n_jobs=1).fit(self.X, self.y)

    def time_fit(self, name):
        """Time the fit."""
        CappedLDA().fit(self.X, self.y)


class Memory:
    """Memory of a fit on 160 MB; the peak includes X, the share does not."""

    params = (["C float64", "C float32", "F float64", "memmap float64"],)
    param_names = ("kind",)

    def setup(self, kind):
        order, dtype = kind.split()
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "X.npy"
        # In a process of its own: making the data takes more memory than fitting them.
        make = (
            "import sys, numpy as np; from suite.common import contaminated\n"
            "X, y, _ = contaminated(200_000, 100, 10, dtype=sys.argv[2])\n"
            "np.save(sys.argv[1], np.asarray(X, order=sys.argv[3])); np.save('y.npy', y)"
        )
        arguments = [str(path), dtype, "F" if order == "F" else "C"]
        places = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        subprocess.run(
            [sys.executable, "-c", make, *arguments], check=True, env=places, cwd=self.folder.name
        )
        self.X = np.load(path, mmap_mode="r" if order == "memmap" else None)
        self.y = np.load(Path(self.folder.name) / "y.npy")

    def teardown(self, kind):
        del self.X
        self.folder.cleanup()

    def peakmem_fit(self, kind):
        """Measure data and fit."""
        CappedLDA(n_jobs=1).fit(self.X, self.y)

    def track_extra_over_X(self, kind):  # noqa: N802
        """Return the memory that a fit needs beside X / the size of X."""
        self.X.sum()  # a memory map is in memory before, if it fits
        CappedLDA(n_jobs=1).fit(self.X[:30_000], self.y[:30_000])  # what is only loaded once
        return extra_memory(lambda: CappedLDA(n_jobs=1).fit(self.X, self.y)) / self.X.nbytes


class Growth:
    """Cost over the number of rows: the ratio to X.T @ X should not grow."""

    params = ([10_000, 100_000, 1_000_000, 10_000_000],)
    param_names = ("n_rows",)
    timeout = 600

    def setup(self, n_rows):
        if n_rows > 1_000_000 and not FULL:
            raise NotImplementedError
        self.problem = FitProblem(f"{n_rows}x20x5")

    def track_ratio_to_gram(self, n_rows):
        """Return fit time / X.T @ X time."""
        return self.problem.ratio_to_gram()


class FittedModel:
    """Transform and predict against the bare products."""

    params = ([20, 100, 784], ["float64", "float32"])
    param_names = ("n_features", "dtype")

    def setup(self, n_features, dtype):
        self.problem = FitProblem(f"{4_000_000 // n_features}x{n_features}x10", dtype=dtype)
        self.X = self.problem.X
        self.model = self.problem.model.fit(self.X[:20_000], self.problem.y[:20_000])

    def transform(self):
        """Transform the rows."""
        return self.model.transform(self.X)

    def predict(self):
        """Predict the classes."""
        return self.model.predict(self.X)

    def product(self):
        """Return the bare X @ W."""
        return self.X @ self.model.scalings_.astype(self.X.dtype, copy=False)

    def rule(self):
        """Return the classes by the bare rule."""
        coef = self.model.coef_.astype(self.X.dtype, copy=False)
        scores = self.X @ coef.T + self.model.intercept_.astype(self.X.dtype, copy=False)
        return self.model.classes_[scores.argmax(axis=1)]

    def track_ratio_transform_to_product(self, *_):
        """Return transform time / X @ W time."""
        with threadpool_limits(1):
            return ratio(self.transform, self.product)

    def track_ratio_predict_to_rule(self, *_):
        """Return predict time / X @ coef, intercept, argmax time."""
        with threadpool_limits(1):
            return ratio(self.predict, self.rule)


def time_of_children():
    """Return the processor time of the processes that this one has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def ratio_of_imports(**options):
    """Return import time of cappedlda / that of sklearn.discriminant_analysis."""

    def importing(name):
        return lambda: subprocess.run([sys.executable, "-c", f"import {name}"], check=True)

    jobs = importing("cappedlda"), importing("sklearn.discriminant_analysis")
    return ratio(*jobs, clock=time_of_children, **options)


class Import:
    """Import time."""

    timeout = 300

    def track_ratio_to_lda(self):
        """Return import time / that of sklearn.discriminant_analysis."""
        return ratio_of_imports()
