"""A program as typed users write it: `make lint` checks the types, a test runs it."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from cappedlda import CappedLDA, CappedLDACV, CappedNormLDA
from cappedlda.noise import scatter
from cappedlda.paper import CLDA, capped_norm
from cappedlda.plotting import DistanceDisplay, DistanceDistanceDisplay


def main() -> float:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    X = rng.normal(size=(90, 4)) + 4.0 * y[:, None]
    X, y, touched = scatter(X, y, share=0.1, random_state=0)
    lda = CappedLDA(epsilon="auto", leave_out="harmful").fit(X, y, sample_weight=np.ones(90))
    assert_type(lda, CappedLDA)
    assert_type(lda.outliers_, NDArray[np.bool_])
    assert_type(lda.transform(X), NDArray[np.floating[Any]])
    assert_type(lda.outlyingness(X.tolist(), space="full"), NDArray[np.floating[Any]])
    assert_type(lda.status_, str)
    search = CappedLDACV("all", multipliers=[1.0, np.inf], cv=3).fit(X, y)
    assert_type(search, CappedLDACV)
    assert_type(search.best_multiplier_, float)
    assert_type(CappedNormLDA(q=1.0, centres="kept").fit(X, y), CappedNormLDA)
    assert_type(CLDA(1, epsilon=1e3).fit(X, y), CLDA)
    display = DistanceDisplay.from_estimator(lda, X, y)
    display.figure_.clear()
    assert_type(display, DistanceDisplay)
    both = DistanceDistanceDisplay.from_estimator(lda, X, y, n_labels=2)
    assert_type(both.labels_[0].get_text(), str)
    both.figure_.clear()
    return float(np.mean(lda.outliers_[touched])) + capped_norm(X, epsilon=1.0)


if __name__ == "__main__":
    main()
