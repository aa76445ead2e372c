"""The methods of the robustness table: name -> f(problem) -> (fitted classifier, flagged rows).

Methods marked "told" are given the true share of planted rows, the others nothing. What several
methods need of one training set, such as the detectors of each class, is fitted once.
"""

from functools import cached_property

import numpy as np
from sklearn.base import clone
from sklearn.covariance import EllipticEnvelope, EmpiricalCovariance
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as LDA
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler

from cappedlda import CappedLDA, CappedNormLDA
from cappedlda.paper import CLDA

# With more classes the detectors would take minutes per fit; with fewer rows per feature the
# minimum covariance determinant does not exist.
MOST_CLASSES = 10
ROWS_PER_FEATURE = 2


class Problem:
    """A training set, its planted rows, and what is fitted to it once for several methods."""

    def __init__(self, X, y, share, touched):
        self.X, self.y, self.share, self.touched = X, y, share, touched
        self.labels, self.codes = np.unique(y, return_inverse=True)

    @property
    def classes(self):
        return [self.codes == i for i in range(len(self.labels))]

    @cached_property
    def cloud_distance(self):
        """Distance of the mean of the planted rows from that of the others, least of all classes.

        In Mahalanobis units of the rows that were not planted.
        """
        good = LDA(solver="lsqr", store_covariance=True).fit(
            self.X[~self.touched], self.codes[~self.touched]
        )
        planted = [rows & self.touched for rows in self.classes]
        moves = [
            self.X[rows].mean(axis=0) - mean
            for rows, mean in zip(planted, good.means_, strict=True)
            if rows.any()
        ]
        inverse = np.linalg.pinv(good.covariance_)
        return min((float(np.sqrt(move @ inverse @ move)) for move in moves), default=None)

    @cached_property
    def envelopes(self):
        """An EllipticEnvelope for each class."""
        if min(rows.sum() for rows in self.classes) <= ROWS_PER_FEATURE * self.X.shape[1]:
            raise Unfit("a class has too few rows")
        return self._detectors(EllipticEnvelope)

    @cached_property
    def forests(self):
        """An IsolationForest for each class."""
        return self._detectors(IsolationForest)

    def _detectors(self, kind):
        if len(self.labels) > MOST_CLASSES:
            raise Unfit("too many classes")
        return [kind(random_state=0).fit(self.X[rows]) for rows in self.classes]


class Unfit(Exception):
    """A method is not made for a problem."""


def flagging(estimator):
    """Make a method of an estimator that flags rows."""

    def fit(problem):
        model = clone(estimator).fit(problem.X, problem.y)
        return model, model.outliers_

    return fit


def plain(factory):
    """Make a method of a scikit-learn classifier that flags nothing."""
    return lambda problem: (factory().fit(problem.X, problem.y), None)


def oracle(**parameters):
    """Make "LDA without the planted rows" (with all rows of a class that would vanish)."""
    return lambda problem: lda_without(problem, problem.touched, **parameters)


def cleaned(detectors, told):
    """Make the method "an outlier detector in each class, then LDA on what it leaves".

    Both detectors find outliers by a threshold on a score; told the share, it is the quantile.
    """

    def fit(problem):
        flagged = np.zeros(len(problem.y), dtype=bool)
        for rows, detector in zip(problem.classes, getattr(problem, detectors), strict=True):
            scores = detector.score_samples(problem.X[rows])
            rate = min(problem.share, 0.5)
            threshold = np.percentile(scores, 100 * rate) if told else detector.offset_
            flagged[rows] = scores < threshold
        return lda_without(problem, flagged)

    return fit


def min_cov_det(problem):
    """Fit LDA with the MinCovDet covariance of each class (an EllipticEnvelope is one)."""
    found = iter(problem.envelopes)

    class Found(EmpiricalCovariance):
        def fit(self, X, y=None):
            self.covariance_ = next(found).covariance_
            return self

    return LDA(solver="lsqr", covariance_estimator=Found()).fit(problem.X, problem.y), None


def lda_without(problem, flagged, **parameters):
    """Fit LDA to the rows that are not flagged; a class left with less than two is kept whole."""
    flagged = flagged.copy()
    for rows in problem.classes:
        if np.sum(rows & ~flagged) < 2:
            flagged[rows] = False
    return LDA(**parameters).fit(problem.X[~flagged], problem.y[~flagged]), flagged


ORACLE = "oracle LDA"
SHRUNK_ORACLE = "oracle LDA shrinkage"
OURS = "CappedLDA"
METHODS = {
    "LDA": plain(LDA),
    "LDA shrinkage": plain(lambda: LDA(solver="lsqr", shrinkage="auto")),
    "RobustScaler + LDA": plain(lambda: make_pipeline(RobustScaler(), LDA())),
    "LDA + MinCovDet": min_cov_det,
    "EllipticEnvelope + LDA": cleaned("envelopes", told=False),
    "IsolationForest + LDA": cleaned("forests", told=False),
    "EllipticEnvelope + LDA, told": cleaned("envelopes", told=True),
    "IsolationForest + LDA, told": cleaned("forests", told=True),
    ORACLE: oracle(),
    SHRUNK_ORACLE: oracle(solver="lsqr", shrinkage="auto"),
    OURS: flagging(CappedLDA(n_jobs=1)),
    "CappedNormLDA q=1": flagging(CappedNormLDA(n_jobs=1)),
    "CappedNormLDA q=2": flagging(CappedNormLDA(q=2.0, n_jobs=1)),
    "CLDA": flagging(CLDA(n_jobs=1)),
}
# These take seconds per fit; a full run fits them on fewer splits.
SLOW = tuple(
    name for name in METHODS if "MinCovDet" in name or "Elliptic" in name or "Forest" in name
)
TOLD = tuple(name for name in METHODS if name.endswith("told"))
PEERS = tuple(
    name
    for name in METHODS
    if not name.startswith((OURS, "CappedNorm", "CLDA", ORACLE)) and name not in TOLD
)
