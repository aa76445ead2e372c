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

    fit: Callable  # ``fit(X, y, n_components, **params)`` returns the model
    grid: tuple = ({},)  # parameters to choose from
    # ``dimensions(n_classes, n_features)`` returns the dimensions to choose from, ascending.
    dimensions: Callable = lambda n_classes, n_features: up_to(n_features)
    # ``tune(X, y)`` returns the parameters that the method chooses by itself, instead of a grid.
    tune: Callable | None = None
    # By which of `protocol.RULES` the model classifies; of several the best is chosen.
    rules: tuple = ("nearest",)
    remark: str = ""  # what the reader of a table should know


def fits(estimator, **fixed):
    """Return a function that fits an estimator to rows."""

    def fit(X, y, n_components, **params):
        return estimator(n_components, **fixed, **params).fit(X, y)

    return fit


def fit_published(X, y, n_components, norms, quantile):
    """Fit Algorithm 1 as published, with epsilon at a quantile of the norms of its start."""
    epsilon = start_quantile(X[:, :n_components], y, norms, quantile)
    return CLDA(n_components, epsilon, n_jobs=1).fit(X, y)


def start_quantile(Z, y, norms, quantile):
    """Return a quantile of the norms of rows about class means, or of weighted class means."""
    if quantile > 1.0:
        return np.inf
    labels, codes, sizes = np.unique(y, return_inverse=True, return_counts=True)
    means = np.stack([Z[y == label].mean(axis=0) for label in labels])
    if norms == "within":
        vectors = Z - means[codes]
    else:
        # A little more, so that the largest one is inside and not on the cap.
        vectors = 1.001 * np.sqrt(sizes)[:, None] * (means - Z.mean(axis=0))
    return float(np.quantile(np.linalg.norm(vectors, axis=1), quantile))


def tuned_cap(X, y):
    """Return the multiple of the automatic cap that CappedLDACV chooses."""
    # No more folds than the largest class has rows.
    folds = min(CAPPED_FOLDS, int(np.unique(y, return_counts=True)[1].max()))
    model = CappedLDACV(cv=folds, n_jobs=1).fit(X, y)
    return {"multiplier": model.best_multiplier_}


def fit_with_cap(X, y, n_components, multiplier):
    """Fit CappedLDA with a multiple of its automatic cap."""
    # There is one candidate, so that the folds decide nothing.
    return CappedLDACV(n_components, multipliers=(multiplier,), cv=2, n_jobs=1).fit(X, y)


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


CLDA_QUANTILES = {"between": (2.0, 1.0, 0.5), "within": (0.95, 0.9, 0.75, 0.5)}

# Cross-validation decides whether training rows that the model flags are neighbours.
WITH_OR_WITHOUT_FLAGGED = ("nearest unflagged", "nearest")

METHODS = {
    "1-NN": Method(
        lambda X, y, n_components: FunctionTransformer().fit(X),
        dimensions=lambda n_classes, n_features: [n_features],
        remark="No projection at all.",
    ),
    "LDA": Method(fits(LDA), dimensions=_supervised),
    "RDA": Method(fits(RDA), grid=_powers_of_ten("gamma", -5, 1), dimensions=_supervised),
    "RLDA": Method(
        fits(RLDA),
        dimensions=lambda n_classes, n_features: up_to(min(n_features, RLDA_MOST)),
        remark="Its minimum does not depend on the rho that the paper tunes, which only steers "
        f"an algorithm that need not converge; the exact minimum is taken. At most {RLDA_MOST} "
        "directions.",
    ),
    "LDA-L1": Method(
        fits(LDAL1),
        grid=_powers_of_ten("learning_rate", -6, 2),
        dimensions=_few_per_class,
        remark=f"For its cost at most {LDAL1_PER_CLASS} directions per class, and {LDAL1_MOST} in "
        "all; the paper goes up to as many as features.",
    ),
    "L2BLDA": Method(fits(L2BLDA)),
    "CLDA": Method(
        fit_published,
        grid=tuple(
            {"norms": norms, "quantile": quantile}
            for norms, quantiles in CLDA_QUANTILES.items()
            for quantile in quantiles
        ),
        dimensions=_supervised,
        remark="Algorithm 1 as published. The paper does not say how epsilon was chosen: it is "
        "chosen among quantiles of the norms of the start, or no cap. One run serves all "
        "dimensions; no more than classes less one are defined.",
    ),
    "TrimmedLDA": Method(
        fits(CappedNormLDA, q=2.0, n_jobs=1),
        rules=WITH_OR_WITHOUT_FLAGGED,
        remark="CappedNormLDA with q=2.",
    ),
    "CappedLDA": Method(
        fits(CappedLDA, n_jobs=1),
        rules=WITH_OR_WITHOUT_FLAGGED,
        remark="With its default parameters.",
    ),
    "CappedLDA.predict": Method(
        fits(CappedLDA, n_jobs=1),
        dimensions=_all_directions,
        rules=("predict",),
        remark="The rule of the estimator itself instead of the nearest neighbour: nothing is "
        "chosen.",
    ),
    "CappedLDACV": Method(
        fit_with_cap,
        tune=tuned_cap,
        rules=WITH_OR_WITHOUT_FLAGGED,
        remark="The cap is what CappedLDACV chooses on the training part, the number of "
        "directions is chosen as for the others.",
    ),
}
