"""Shrinkage of a scatter towards a multiple of the identity: how much, by several rules.

A rule is called with the scatter of weights 2 (q = 2), the frame in whose units it is, its degrees
of freedom and the regime; it returns the amount, from 0 to 1.
"""

from functools import partial

import numpy as np

from cappedlda._metrics import linalg

# Shrunk further than this, nothing would be left of a scatter.
MOST_SHRUNK = 0.99
# A mean square of scaled deviations that is only rounding: a class of equal rows advises nothing.
NO_SPREAD = 1e-12
# Amounts to choose from by agreement.
SHARES = np.array([0.0, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99])
# Added to each of them: a singular scatter has no inverse.
LEAST_SHARE = 1e-6
# With a larger mean hat value nearly nothing is left of a row that is left out.
MOST_FITTED = 0.95


def shrinkage_rule(shrinkage, sample, support, totals):
    """Return the rule for a value of the parameter `shrinkage`.

    It is "few_rows", "auto", "agreement", a number or None; for the others see `class_shrinkage`.
    """
    if shrinkage == "agreement":
        return partial(agreement_shrinkage, totals=totals)
    if isinstance(shrinkage, str):
        rows = {"sample": sample, "support": support, "totals": totals}
        return partial(class_shrinkage, **rows, few_rows=shrinkage == "few_rows")
    amount = 0.0 if shrinkage is None else float(shrinkage)
    return lambda *_: amount


def class_shrinkage(scatter, frame, freedom, regime, sample, support, totals, few_rows):
    """Return the mean of what Ledoit and Wolf advise for each class.

    As `LinearDiscriminantAnalysis(shrinkage="auto")` of scikit-learn does, but by one amount, and
    with one unit of each feature. The `support` returns which rows of the sample made the scatter,
    and `totals` (c,) are the weights of the classes among all its rows. With `few_rows`, many rows
    per feature are not shrunk.
    """
    share = 1.0
    if few_rows:  # all of it up to half as many rows per feature as need none
        enough = regime.unshrunk_rows_per_feature * frame.n_features
        share = min(enough / max(freedom, 1.0) - 1.0, 1.0)
    if share <= 0.0 or frame.n_features < 2 or not scatter.trace() > 0.0:
        return 0.0
    return min(share * advised(sample.reweighted(support()), totals, frame), MOST_SHRUNK)


def advised(rows, totals, frame):
    """Return the mean of the shrinkages of the classes, by their totals."""
    advice = weight = 0.0
    for k, total in enumerate(totals):
        (own,) = np.nonzero((rows.codes == k) & (rows.sample_weight > 0.0))
        deviations = (rows.X[own] - frame.centres[k]) / frame.scale
        if np.vdot(deviations, deviations) > NO_SPREAD * deviations.size:
            weights = rows.sample_weight[own], total
            advice += total * ledoit_wolf(deviations, *weights, frame.n_features)
            weight += total
    return advice / weight if weight > 0.0 else 1.0


def agreement_shrinkage(scatter, frame, freedom, regime, totals):
    """Return the amount with which labels agree most with scores that did not see them.

    The scores are those of a regression on the classes, each row left out of its own fit; see
    `agreements`. The `totals` are the weights of the classes in the scatter.
    """
    trace, n = 0.5 * scatter.trace(), frame.n_features  # weights of a record are 2
    if n < 2 or not trace > 0.0:
        return 0.0
    means = (frame.centres - totals @ frame.centres / totals.sum()) / frame.scale
    between = (means.T * totals) @ means
    ridges, agreement = agreements(0.5 * scatter + between, totals, means, n)
    # Of equal ones the smaller; where nothing is left of a row, the largest.
    best = int(np.argmax(agreement)) if agreement[-1] > -np.inf else len(ridges) - 1
    ridge = n * ridges[best] if best > 0 else 0.0
    return min(ridge / (trace + ridge), MOST_SHRUNK)


def agreements(total, weights, means, n_features):
    """Return ridges on the total scatter, and how well left-out scores agree with labels.

    That is the correlation of the indicators of the classes with a ridge regression on the features
    in which each row was left out, with the mean hat value in place of each row's own: so it takes
    only sums. It is -inf where next to nothing is left of a row. The total scatter (m, m) is that
    of all rows about their mean, and so are the means (c, m); the coordinates may be a rotation of
    `n_features`.
    """
    values, vectors = linalg.eigh(total)
    values, weight = np.maximum(values, 0.0), weights.sum()
    seen = np.square((weights[:, None] * means) @ vectors).sum(axis=0)
    labels = weights @ (1.0 - weights / weight)
    ridges = (SHARES / (1.0 - SHARES) + LEAST_SHARE) * values.sum() / n_features
    inverse = 1.0 / (values + ridges[:, None])
    hat = (1.0 + inverse @ values) / weight
    product, square = inverse @ seen, inverse**2 @ (seen * values)
    left_out = square - 2.0 * hat * product + hat**2 * labels
    agreement = (product - hat * labels) / np.sqrt(np.maximum(left_out, np.finfo(float).tiny))
    return ridges, np.where(hat <= MOST_FITTED, agreement, -np.inf)


def ledoit_wolf(rows, weights, total, n_features):
    """Return the shrinkage of Ledoit and Wolf (Journal of Multivariate Analysis, 2004).

    The rows (k, n) are deviations from the mean, of all rows or of a sample; all have the weight
    `total`. The coordinates may be a rotation of `n_features`.
    """
    lengths, sampled = np.einsum("ij,ij->i", rows, rows), weights.sum()
    rows = rows * np.sqrt(weights)[:, None]
    products = rows @ rows.T if len(rows) < rows.shape[1] else rows.T @ rows
    squares = np.vdot(products, products) / sampled**2
    distance = squares - (weights @ lengths / sampled) ** 2 / n_features
    error = (weights @ lengths**2 / sampled - squares) / total
    return float(np.clip(error / distance, 0.0, 1.0)) if distance > 0.0 else 1.0


def shrinkage_ridge(shrinkage, trace, n):
    """Return the ridge that has the same directions as a shrinkage."""
    return shrinkage / (1.0 - shrinkage) * trace / n
