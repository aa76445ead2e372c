"""One fused pass over the data, against what else one could do with the rows."""

import time
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from cappedlda._data.array import ArrayRows
from cappedlda._data.threads import single_threaded_blas
from cappedlda._rules.rule import Query

from .common import contaminated, ratio

ROWS = {20: 400_000, 50: 200_000, 256: 40_000, 784: 10_000, 2048: 4_000}
N_CLASSES = 10
FLOATS = ["float64", "float32"]


class PassProblem:
    """A pass with ten classes and nine directions, and other ways to the same scatter.

    Parameters
    ----------
    n_rows, n_features : int
    dtype : str
    order : {"C", "F"}
        Memory order of X.
    capped : float
        Share of the rows beyond the cap.
    threads : int
        Of the pass; those of the others belong to their libraries.
    sums : bool
        Whether the pass also sums the rows of each class.
    """

    def __init__(
        self, n_rows, n_features, dtype="float64", order="C", capped=0.0, threads=1, sums=False
    ):
        X, self.codes, _ = contaminated(n_rows, n_features, N_CLASSES, 0.0, np.dtype(dtype))
        rng = np.random.default_rng(1)
        self.X = np.asarray(X, order=order)
        self.rows = ArrayRows(self.X, self.codes, N_CLASSES, n_jobs=threads)
        self.query = Query(
            W=rng.standard_normal((n_features, N_CLASSES - 1)) / np.sqrt(n_features),
            centres=np.stack([X[self.codes == i].mean(axis=0) for i in range(N_CLASSES)]),
            scale=np.ones(n_features),
            caps=np.full(N_CLASSES, np.inf),
            q=1.0,
            floor=1e-3,
            sums=sums,
        )
        if capped:
            distances = np.empty(n_rows)
            self.rows.run(self.query, distances)
            cap = np.quantile(distances, 1.0 - capped)
            self.query = replace(self.query, caps=np.full(N_CLASSES, cap))
        self.W = self.query.W.astype(dtype)
        self.images = (self.query.centres @ self.query.W).astype(dtype)

    def run(self):
        """Run the pass."""
        with single_threaded_blas():
            return self.rows.run(self.query)

    def gram(self):
        """Return the product that is the unit of all ratios."""
        return self.X.T @ self.X

    def weights(self):
        """Return the weights of the rows, by NumPy."""
        Z = self.X @ self.W
        Z -= self.images[self.codes]
        distances = np.sqrt(np.einsum("ij,ij->i", Z, Z))
        weights = 1.0 / np.maximum(distances, self.query.floor)
        weights[distances > self.query.caps[0]] = 0.0
        return weights

    def by_numpy(self):
        """Return the scatter about zero, by NumPy alone."""
        scaled = self.X * np.sqrt(self.weights())[:, None]
        return scaled.T @ scaled

    def by_tabmat(self):
        """Return the scatter about zero, by tabmat's weighted product."""
        return self.tabmat.sandwich(self.weights())

    def prepare_tabmat(self):
        """Wrap X for tabmat; an ImportError where it is not installed."""
        from tabmat import DenseMatrix

        self.tabmat = DenseMatrix(self.X)


class _Passes:
    """Set-up of all benchmarks below: parameters are those of `PassProblem`, by name."""

    timeout = 300

    def setup(self, *values):
        options = dict(zip(self.param_names, values, strict=True))
        n_features = options.pop("n_features")
        self.problem = PassProblem(ROWS[n_features], n_features, **options)

    def ratio_to_gram(self):
        with threadpool_limits(1):
            return ratio(self.problem.run, self.problem.gram)


class Pass(_Passes):
    """The pass against X.T @ X of the same data, on one thread."""

    params = ([20, 50, 256, 784, 2048], FLOATS, [0.0, 0.3])
    param_names = ("n_features", "dtype", "capped")

    def track_ratio_to_gram(self, *_):
        """Return pass time / X.T @ X time."""
        return self.ratio_to_gram()


class TimedPass(_Passes):
    """The pass alone."""

    params = ([20, 256],)
    param_names = ("n_features",)

    def time_pass(self, *_):
        """Time the pass."""
        self.problem.run()


class PassWithSums(_Passes):
    """The pass that also sums the rows of each class."""

    params = ([20, 50, 256], [True])
    param_names = ("n_features", "sums")

    def track_ratio_to_gram(self, *_):
        """Return pass time / X.T @ X time."""
        return self.ratio_to_gram()


class PassOfFortranOrder(_Passes):
    """The pass over columns; X.T @ X of the same array is the unit."""

    params = ([50, 784], FLOATS, ["F"])
    param_names = ("n_features", "dtype", "order")

    def track_ratio_to_gram(self, *_):
        """Return pass time / X.T @ X time."""
        return self.ratio_to_gram()


class PassAgainstOthers(_Passes):
    """The pass against NumPy, and against NumPy's X @ W and tabmat's weighted product."""

    params = ([20, 50, 256, 784, 2048], FLOATS, [1, 2])
    param_names = ("n_features", "dtype", "threads")

    def against(self, other, threads):
        clock = time.process_time if threads == 1 else time.perf_counter
        with threadpool_limits(threads):
            return ratio(self.problem.run, other, clock=clock)

    def track_ratio_to_numpy(self, n_features, dtype, threads):
        """Return pass time / time of X @ W, weights and product in NumPy."""
        return self.against(self.problem.by_numpy, threads)

    def track_ratio_to_tabmat(self, n_features, dtype, threads):
        """Return pass time / time of X @ W, weights and tabmat's product; nan without tabmat."""
        try:
            self.problem.prepare_tabmat()
        except ImportError:
            return float("nan")
        return self.against(self.problem.by_tabmat, threads)


class Threads(_Passes):
    """Two threads against one."""

    params = ([50, 256, 784],)
    param_names = ("n_features",)

    def track_ratio_two_to_one(self, n_features):
        """Return time on two threads / time on one; 0.5 at best."""
        one = self.problem
        two = PassProblem(ROWS[n_features], n_features, threads=2)
        return ratio(two.run, one.run, clock=time.perf_counter)
