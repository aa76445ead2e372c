"""Whole fits: time, passes, memory."""

import warnings

import numpy as np
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from cappedlda import CappedLDA
from cappedlda._threads import single_threaded_blas

from .common import contaminated, ratio

SHAPES = ["1000000x50x10", "200000x256x10", "100000x784x10", "100000x20x5"]


class Fit:
    """The default fit to convergence, with 10 % planted outliers."""

    params = (SHAPES, [1.0, 2.0])
    param_names = ("shape", "q")
    timeout = 900

    def setup(self, shape, q):
        n_rows, n_features, n_classes = map(int, shape.split("x"))
        self.X, self.y, self.planted = contaminated(n_rows, n_features, n_classes)
        self.model = CappedLDA(q=q, n_jobs=1)

    def track_ratio_to_gram(self, shape, q):
        """Return fit time / X.T @ X time, one thread."""
        with single_threaded_blas():
            return ratio(lambda: self.model.fit(self.X, self.y), lambda: self.X.T @ self.X, 3)

    def track_passes(self, shape, q):
        """Return the number of passes over all rows."""
        return self.model.fit(self.X, self.y).n_passes_

    def track_recall(self, shape, q):
        """Return the share of planted outliers that are found."""
        return self.model.fit(self.X, self.y).outliers_[self.planted].mean()

    def time_fit(self, shape, q):
        """Time the fit."""
        self.model.fit(self.X, self.y)


class SmallFit:
    """Iris, against scikit-learn's LDA."""

    def setup(self):
        self.X, self.y = load_iris(return_X_y=True)

    def track_ratio_to_lda(self):
        """Return fit time / LinearDiscriminantAnalysis fit time."""
        capped, lda = CappedLDA(), LinearDiscriminantAnalysis()
        return ratio(lambda: capped.fit(self.X, self.y), lambda: lda.fit(self.X, self.y), 200)

    def time_fit(self):
        """Time the fit."""
        CappedLDA().fit(self.X, self.y)


class Memory:
    """Peak memory of a fit on a C-ordered array of 160 MB; the reference only makes the data."""

    params = (["float64", "float32", "F"],)
    param_names = ("kind",)

    def setup(self, kind):
        dtype = np.float32 if kind == "float32" else np.float64
        self.X, self.y, _ = contaminated(400_000, 50, 10, dtype=dtype)
        if kind == "F":
            self.X = np.asfortranarray(self.X)

    def peakmem_reference(self, kind):
        """Measure the data alone."""

    def peakmem_fit(self, kind):
        """Measure data and fit."""
        CappedLDA(n_jobs=1).fit(self.X, self.y)


class Growth:
    """Cost per row over the number of rows."""

    params = ([10_000, 100_000, 1_000_000],)
    param_names = ("n_rows",)
    timeout = 600

    def setup(self, n_rows):
        self.X, self.y, _ = contaminated(n_rows, 20, 5)

    def track_ratio_to_gram(self, n_rows):
        """Return fit time / X.T @ X time."""
        with single_threaded_blas(), warnings.catch_warnings():
            model = CappedLDA(n_jobs=1)
            return ratio(lambda: model.fit(self.X, self.y), lambda: self.X.T @ self.X)


class Predict:
    """Transform and predict against the bare product."""

    def setup(self):
        self.X, self.y, _ = contaminated(200_000, 100, 10)
        self.model = CappedLDA().fit(self.X, self.y)

    def track_transform_to_product(self):
        """Return transform time / X @ W time."""
        W = self.model.scalings_
        with single_threaded_blas():
            return ratio(lambda: self.model.transform(self.X), lambda: self.X @ W)


class Import:
    """Import time."""

    def timeraw_import(self):
        """Time the import of cappedlda."""
        return "import cappedlda"

    def timeraw_import_sklearn_lda(self):
        """Time the import of what it is compared with."""
        return "import sklearn.discriminant_analysis"
