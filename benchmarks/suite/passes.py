"""One fused pass over the data."""

import numpy as np

from cappedlda._passes import ArrayRows, Query
from cappedlda._threads import single_threaded_blas

from .common import contaminated, ratio

ROWS = {20: 400_000, 50: 200_000, 256: 40_000, 784: 10_000, 2048: 4_000}
N_CLASSES = 10


class _Pass:
    """A pass with ten classes and nine directions, a share of the rows beyond the cap."""

    timeout = 300

    def setup(self, n_features, dtype, capped):
        X, y, _ = contaminated(ROWS[n_features], n_features, N_CLASSES, 0.0, np.dtype(dtype))
        rng = np.random.default_rng(1)
        self.X = X
        self.rows = ArrayRows(X, y, N_CLASSES, n_jobs=1)
        self.query = Query(
            W=rng.standard_normal((n_features, N_CLASSES - 1)) / np.sqrt(n_features),
            centres=np.stack([X[y == i].mean(axis=0) for i in range(N_CLASSES)]),
            scale=np.ones(n_features),
            caps=np.full(N_CLASSES, np.inf),
            q=1.0,
            floor=1e-3,
            sums=False,
        )
        if capped:
            distances = np.empty(len(X))
            self.rows.run(self.query, distances)
            cap = np.quantile(distances, 1.0 - capped)
            self.query = Query(**{**vars(self.query), "caps": np.full(N_CLASSES, cap)})


class Pass(_Pass):
    """The pass against X.T @ X of the same data."""

    params = ([20, 50, 256, 784, 2048], ["float64", "float32"], [0.0, 0.3])
    param_names = ("n_features", "dtype", "capped")

    def track_ratio_to_gram(self, n_features, dtype, capped):
        """Return pass time / X.T @ X time."""
        with single_threaded_blas():
            return ratio(lambda: self.rows.run(self.query), lambda: self.X.T @ self.X)

    def time_pass(self, n_features, dtype, capped):
        """Time the pass alone."""
        self.rows.run(self.query)


class PassAgainstTabmat(_Pass):
    """The pass against what one would write otherwise: X @ W and a tabmat sandwich product."""

    params = ([20, 50, 256, 784], ["float64", "float32"], [0.0])
    param_names = ("n_features", "dtype", "capped")

    def track_ratio_to_tabmat(self, n_features, dtype, capped):
        """Return pass time / (X @ W, weights, tabmat sandwich) time."""
        import tabmat

        matrix = tabmat.DenseMatrix(self.X)
        W = self.query.W.astype(dtype)

        def other():
            weights = 1.0 / np.linalg.norm(self.X @ W, axis=1)
            return matrix.sandwich(weights)

        with single_threaded_blas():
            return ratio(lambda: self.rows.run(self.query), other)


class Threads(_Pass):
    """Two threads against one."""

    params = ([50, 256, 784], ["float64"], [0.0])
    param_names = ("n_features", "dtype", "capped")

    def track_speedup(self, n_features, dtype, capped):
        """Return time on one thread / time on two."""
        two = ArrayRows(self.X, self.rows.codes, N_CLASSES, n_jobs=2)
        with single_threaded_blas():
            return ratio(lambda: self.rows.run(self.query), lambda: two.run(self.query))
