"""The rows of the tables: each method with its estimator, its grid and its dimensions."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.preprocessing import FunctionTransformer

from cappedlda.capped import CappedLDA
from cappedlda.cv import CappedLDACV
from cappedlda.norm import CappedNormLDA
from cappedlda.paper._clda import CLDA
from cappedlda.paper.compared import L2BLDA, LDA, LDAL1, RDA, RLDA

# At most this many dimensions are tried, in geometric steps.
MOST_TRIED = 24
# LDA-L1 pays for hundreds of passes per direction, RLDA for a factorisation.
LDAL1_PER_CLASS, LDAL1_MOST, RLDA_MOST = 3, 30, 100
# Folds in which CappedLDACV chooses its cap, where each class has that many rows.
CAPPED_FOLDS = 5


class Method(NamedTuple):
    """A row of the tables."""

    # ``make(n_components, **params)`` returns what has ``fit(X, y)``, which returns the model.
    make: Callable
    grid: tuple = ({},)  # parameters to choose from
    # ``dimensions(n_classes, n_features)`` returns the dimensions to choose from, ascending.
    dimensions: Callable = lambda n_classes, n_features: up_to(n_features)
    # ``tune(X, y)`` returns the parameters that the method chooses by itself, instead of a grid.
    tune: Callable | None = None
    # By which of `protocol.RULES` the model classifies; of several the best is chosen.
    rules: tuple = ("nearest",)
    remark: str = ""  # what the reader of a table should know


class PublishedCLDA:
    """Algorithm 1 as published, with epsilon at a quantile of the norms of its start."""

    def __init__(self, n_components, norms, quantile):
        self.n_components = n_components
        self.norms = norms  # "within": rows about class means; "between": weighted class means
        self.quantile = quantile  # above 1, no cap

    def fit(self, X, y):
        """Return the fitted CLDA."""
        epsilon = self._epsilon(X[:, : self.n_components], y)
        return CLDA(self.n_components, epsilon, n_jobs=1).fit(X, y)

    def _epsilon(self, Z, y):
        if self.quantile > 1.0:
            return np.inf
        _, codes, sizes = np.unique(y, return_inverse=True, return_counts=True)
        means = np.stack([Z[codes == i].mean(axis=0) for i in range(len(sizes))])
        if self.norms == "within":
            vectors = Z - means[codes]
        else:
            # A little more, so that the largest one is inside and not on the cap.
            vectors = 1.001 * np.sqrt(sizes)[:, None] * (means - Z.mean(axis=0))
        return float(np.quantile(np.linalg.norm(vectors, axis=1), self.quantile))


def tuned_cap(X, y):
    """Return the multiple of the automatic cap that CappedLDACV chooses."""
    # No more folds than the largest class has rows.
    folds = min(CAPPED_FOLDS, int(np.unique(y, return_counts=True)[1].max()))
    model = CappedLDACV(cv=folds, n_jobs=1).fit(X, y)
    return {"multiplier": model.best_multiplier_}


def with_cap(n_components, multiplier):
    """Return CappedLDA with a multiple of its automatic cap."""
    # There is one candidate, so that the folds decide nothing.
    return CappedLDACV(n_components, multipliers=(multiplier,), cv=2, n_jobs=1)


def up_to(most):
    """Return dimensions from 1 to `most`, all of them or in geometric steps."""
    if most <= MOST_TRIED:
        return list(range(1, most + 1))
    steps = np.geomspace(1.0, most, MOST_TRIED)
    return np.unique(np.round(steps).astype(int)).tolist()


def _supervised(n_classes, n_features):
    return up_to(min(n_classes - 1, n_features))


def _few_per_class(n_classes, n_features):
    return up_to(min(n_features, LDAL1_PER_CLASS * n_classes, LDAL1_MOST))


def _all_directions(n_classes, n_features):
    return [min(n_classes - 1, n_features)]


def _powers_of_ten(name, low, high):
    return tuple({name: 10.0**power} for power in range(low, high + 1))


CLDA_GRID = tuple(
    {"norms": norms, "quantile": quantile}
    for norms, quantile in (
        ("between", 2.0),
        ("between", 1.0),
        ("between", 0.5),
        ("within", 0.95),
        ("within", 0.9),
        ("within", 0.75),
        ("within", 0.5),
    )
)

# Cross-validation decides whether training rows that the model flags are neighbours.
WITH_OR_WITHOUT_FLAGGED = ("nearest unflagged", "nearest")

METHODS = {
    "1-NN": Method(
        lambda n_components: FunctionTransformer(),
        dimensions=lambda n_classes, n_features: [n_features],
        remark="No projection at all.",
    ),
    "LDA": Method(LDA, dimensions=_supervised),
    "RDA": Method(RDA, grid=_powers_of_ten("gamma", -5, 1), dimensions=_supervised),
    "RLDA": Method(
        RLDA,
        dimensions=lambda n_classes, n_features: up_to(min(n_features, RLDA_MOST)),
        remark="Its minimum does not depend on the rho that the paper tunes, which only steers "
        f"an algorithm that need not converge; the exact minimum is taken. At most {RLDA_MOST} "
        "directions.",
    ),
    "LDA-L1": Method(
        LDAL1,
        grid=_powers_of_ten("learning_rate", -6, 2),
        dimensions=_few_per_class,
        remark=f"For its cost at most {LDAL1_PER_CLASS} directions per class, and {LDAL1_MOST} in "
        "all; the paper goes up to as many as features.",
    ),
    "L2BLDA": Method(L2BLDA),
    "CLDA": Method(
        PublishedCLDA,
        grid=CLDA_GRID,
        dimensions=_supervised,
        remark="Algorithm 1 as published. The paper does not say how epsilon was chosen: it is "
        "chosen among quantiles of the norms of the start, or no cap. One run serves all "
        "dimensions; no more than classes less one are defined.",
    ),
    "TrimmedLDA": Method(
        lambda n_components: CappedNormLDA(n_components, q=2.0, n_jobs=1),
        rules=WITH_OR_WITHOUT_FLAGGED,
        remark="CappedNormLDA with q=2.",
    ),
    "CappedLDA": Method(
        lambda n_components: CappedLDA(n_components, n_jobs=1),
        rules=WITH_OR_WITHOUT_FLAGGED,
        remark="With its default parameters.",
    ),
    "CappedLDA.predict": Method(
        lambda n_components: CappedLDA(n_components, n_jobs=1),
        dimensions=_all_directions,
        rules=("predict",),
        remark="The rule of the estimator itself instead of the nearest neighbour: nothing is "
        "chosen.",
    ),
    "CappedLDACV": Method(
        with_cap,
        tune=tuned_cap,
        rules=WITH_OR_WITHOUT_FLAGGED,
        remark="The cap is what CappedLDACV chooses on the training part, the number of "
        "directions is chosen as for the others.",
    ),
}
