"""Sparse rows with very many features."""

from cappedlda import CappedLDA
from cappedlda._data.threads import single_threaded_blas
from cappedlda.paper.datasets import make_zipf_text

from .common import ratio


class Text:
    """Documents as bags of words, a twentieth of them outliers."""

    params = (["2000x5000x5", "5000x20000x5"],)
    param_names = ("shape",)
    timeout = 600

    def setup(self, shape):
        """Draw the documents."""
        n_documents, n_words, n_classes = map(int, shape.split("x"))
        self.X, self.y, self.planted = make_zipf_text(
            n_documents, n_words, n_classes, outlier_share=0.05, random_state=0
        )
        self.model = CappedLDA(n_jobs=1)

    def track_ratio_to_products(self, shape):
        """Return fit time / time of X.T @ (X @ W), W of n_words x (n_classes - 1)."""
        W = self.model.fit(self.X, self.y).scalings_
        with single_threaded_blas():
            return ratio(
                lambda: self.model.fit(self.X, self.y), lambda: self.X.T @ (self.X @ W), least=3
            )

    def track_missed(self, shape):
        """Return the share of planted outliers that are not found."""
        return 1.0 - self.model.fit(self.X, self.y).outliers_[self.planted].mean()

    def peakmem_fit(self, shape):
        """Measure data and fit."""
        self.model.fit(self.X, self.y)
