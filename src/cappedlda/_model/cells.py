"""Wrong and missing cells of new rows: scores without them, completed rows, what was expected.

A row for which no class within reach drops a cell is left to the linear rule. The cut-off is CUT,
unless training rows show that this does harm: then features with long tails have larger ones.
"""

from dataclasses import replace

import numpy as np
from scipy.sparse import issparse
from scipy.special import softmax

from cappedlda._data.base import first_not_finite, slices_of
from cappedlda._data.threads import blas_threads, ordered_map, single_threaded_blas
from cappedlda._metrics.cells import CUT, MOST_WRONG, REACH, WRONG, make_metric
from cappedlda._model.discriminant import check_finite, not_finite_in
from cappedlda._model.distances import spread
from cappedlda._regime import REGIME

# Where CUT misclassifies more training rows, by these standard errors and by this share, a feature
# has a cut-off that one of some shares of them is beyond: the first that does no such harm. After
# these, nothing is capped.
MOST_HARM, MOST_LOST = 2.0, 0.005
SHARES = (0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0)
FEW = 0.1  # share of the cells of a new row that may be wrong without the row being a strange one
# What a feature that is constant within the classes may differ by, relative to its size and to its
# unit: rounding, even that of float32. The mean of a feature that is 0 in all kept rows is rounding
# too, where other rows were in the mean before.
SAME_CONSTANT = 1e-6
MOST_MARKS = 1 << 22  # bytes of marks that are worked on at a time


def choose_cuts(metric, X, codes, weights):
    """Return the least cut-offs (n,) that do no harm to the classification of training rows."""

    @np.errstate(over="ignore", invalid="ignore")  # by rows that are far off
    def work(rows, block, dropped):
        linear = (block - metric.centre) * metric.root @ metric.images.T + metric.intercepts
        before = linear.argmax(axis=1) == codes[rows]
        now = metric.scores(block, dropped).argmax(axis=1) == codes[rows]
        return weights[rows] @ (before & ~now), weights[rows] @ (now & ~before)

    for cuts in candidates(metric, X, codes):
        metric = metric.with_cuts(cuts)
        changes = [change for _, change in over_rows(metric, X, work)]
        lost, gained = np.sum(changes, axis=0) if changes else (0.0, 0.0)
        harm = max(MOST_HARM * np.sqrt(lost + gained), MOST_LOST * weights.sum())
        if lost - gained <= harm:
            break
    return metric.cuts


@np.errstate(over="ignore", invalid="ignore")  # by rows that are far off
def candidates(metric, X, codes):
    """Yield cut-offs to try, in rising order."""
    yield CUT
    residuals = np.abs((X - metric.centre) * metric.root @ metric.R - metric.images[codes])
    residuals = residuals[np.isfinite(residuals).all(axis=1)]
    for share in SHARES:
        yield np.maximum(CUT, np.quantile(residuals, 1.0 - share, axis=0))
    yield np.inf


def over_rows(metric, X, work, reach=REACH, every=False):
    """Yield the numbers of rows of X that have dropped cells, and what `work` gives for them.

    It takes the numbers of some rows, the rows (k, n) and the marks of their cells (k, c, n).
    Classes are asked whose score is within `reach` of the best one. With `every`, all rows count.
    """
    step = max(1, MOST_MARKS // metric.means.size)

    def of_slab(slab):
        found = []
        rows = np.arange(slab.stop - slab.start) if every else metric.may_drop(X[slab], reach)
        for part in slices_of(len(rows), step):
            some = slab.start + rows[part]
            block = np.ascontiguousarray(X[some], np.float64)
            dropped, capped = metric.drop(block, reach)
            if not every:
                some, block, dropped = some[capped], block[capped], dropped[capped]
            if len(some):
                found.append((some, work(some, block, dropped)))
        return found

    slabs, n_jobs = slices_of(X.shape[0], REGIME.slab_rows(X.shape[1])), blas_threads()
    with single_threaded_blas():
        for found in ordered_map(of_slab, slabs, n_jobs):
            yield from found


def metric_of(model):
    """Return how single cells are measured, made when first asked for; None: no covariance."""
    cache = vars(model).setdefault("_cell_cache", {})
    if "metric" not in cache:
        cache["metric"] = make_metric_of(model)
    return cache["metric"]


def make_metric_of(model):
    whitener = whitener_of(model)
    if whitener is None:
        return None
    rule = model.means_, model.xbar_, model.coef_, model.priors_, model._temperature
    metric, cuts = make_metric(whitener, *rule), model._cell_cuts
    if metric is not None and model._calibrator is not None:
        cuts = choose_cuts(metric, *model._calibrator.trial)
    return metric if metric is None or cuts is None else metric.with_cuts(cuts)


def whitener_of(model):
    """Return what gives rows unit covariance within the classes, (n, m); None: no covariance."""
    found = model._calibrator or model._calibration  # of a model file
    return None if found is None else found.whitener


def cuts_of(model):
    metric = metric_of(model)
    return np.full(model.n_features_in_, np.inf) if metric is None else metric.cuts


def check_finite_or_missing(model, X, first=0):
    """Raise an error for numbers that are not finite, unless such cells are ignored."""
    if issparse(X):
        check_finite(model, X)
        return
    row = first_not_finite(X)
    if row is None:
        return
    known = metric_of(model) is not None
    remedy = "remove or impute such rows"
    if model.missing == "error":
        if known:
            remedy += ', or predict without such cells by set_params(missing="ignore")'
    elif not known:
        remedy = (
            'impute these cells: missing="ignore" needs a covariance of all features, which '
            "this model does not have (see CappedLDA)"
        )
    elif model.cells == "all" and np.isinf(X).any():
        X = np.where(np.isnan(X), 0, X)
        row = first_not_finite(X)
        remedy = 'mark missing cells by NaN, or use cells="capped"'
    else:
        return
    raise not_finite_in(model, X, row, first, remedy)


def metric_for(model, X):
    """Return how cells of X are measured for `model`, or None if all count as they are."""
    if (model.cells == "all" and model.missing == "error") or issparse(X):
        return None
    metric = metric_of(model)
    return metric if metric is None or model.cells != "all" else metric.with_all_cells()


def amend_scores(model, X, scores):
    """Replace the scores (N, c), or (N, 1) for two classes, of rows with dropped cells."""
    metric = metric_for(model, X)
    if metric is None:
        return

    def work(_, block, dropped):
        found = metric.scores(block, dropped)
        return found[:, 1:] - found[:, :1] if found.shape[1] == 2 else found

    for rows, found in over_rows(metric, X, work):
        scores[rows] = bounded(found, scores.dtype)


def label_scores(model, X):
    """Return the scores (N, c) by which labels are judged, wrong cells as predicted."""
    completed = as_predicted(model, X)
    scores, metric = model._label_rule.scores(completed), None
    if completed is not X and np.isnan(X).any():
        metric = label_metric(model)
    if metric is not None:

        def work(_, block, dropped):
            return metric.scores(block, dropped)

        for rows, found in over_rows(metric, np.where(np.isnan(X), np.nan, completed), work):
            scores[rows] = found
    return scores


def label_metric(model):
    """Return a metric that continues the rule for labels if cells are missing, or None."""
    rule, priors = model._label_rule, model.priors_
    coef = (rule.coef - (rule.coef @ priors)[:, None]).T  # about the overall centre
    coef = coef if len(priors) > 2 else coef[1:] - coef[:1]
    metric = make_metric(whitener_of(model), model.means_, model.xbar_, coef, priors)
    if metric is None:
        return None
    intercepts = rule.intercept + model.xbar_ @ rule.coef
    log_priors = intercepts + 0.5 * np.einsum("ij,ij->i", metric.means, metric.images)
    return replace(metric, intercepts=intercepts, log_priors=log_priors).with_all_cells()


def amend_projections(model, X, projected):
    """Replace the projections (N, d) of rows with dropped cells by those of completed rows."""
    metric = metric_for(model, X)
    if metric is None:
        return

    def work(_, block, dropped):
        weights = softmax(metric.scores(block, dropped), axis=1)
        return (metric.complete(block, dropped, weights) - model.xbar_) @ model.scalings_

    for rows, found in over_rows(metric, X, work):
        projected[rows] = bounded(found, projected.dtype)


def bounded(numbers, dtype):
    """Return numbers in a type, large ones so that their differences are finite."""
    most = 0.25 * float(np.finfo(dtype).max)
    return np.clip(numbers, -most, most).astype(dtype)


def completed(model, X, codes=None, most_wrong=FEW, likeliest=False):
    """Return X with dropped cells replaced by what is expected, and what these cost (N,).

    The cost is added to squared distances; it is infinite if no cell is left. Rows with a larger
    share of wrong cells than `most_wrong` keep these: they are not just good rows with a typo.
    Without codes all classes count, by their probabilities, or the `likeliest` alone.
    """
    cost = np.zeros(X.shape[0])
    metric = metric_for(model, X)
    if metric is None:
        return X, cost
    if most_wrong == 0.0:
        metric = metric.with_cuts(np.inf)

    def work(rows, block, dropped):
        if codes is None:
            weights = softmax(metric.scores(block, dropped), axis=1)
        own = weights.argmax(axis=1) if codes is None else codes[rows]
        if likeliest or codes is not None:
            weights = np.eye(len(metric.means))[own]
        marks = dropped[np.arange(len(rows)), own]
        found, wrong = metric.complete(block, dropped, weights), marks == WRONG
        there = ~np.isnan(block)
        few = np.count_nonzero(wrong, axis=1) <= most_wrong * np.count_nonzero(there, axis=1)
        found = np.where(there & ~few[:, None], block, found)
        cost = np.where(few, wrong @ metric.prices, 0.0)
        cost[np.all(marks[:, metric.R.diagonal() > 0.0], axis=1)] = np.inf
        return found, cost

    filled = X
    reach = REACH if codes is None else np.inf
    for rows, (found, cost_of_rows) in over_rows(metric, X, work, reach):
        filled = X.copy() if filled is X else filled
        with np.errstate(over="ignore"):
            filled[rows] = found
        cost[rows] = cost_of_rows
    return filled, cost


def filled(model, X, codes=None):
    """Return X with missing cells replaced by what the other cells predict; see `completed`."""
    return X if model.missing == "error" else completed(model, X, codes, 0.0)[0]


def as_fitted(model, X, codes):
    """Return rows as a fit would take them: wrong cells completed, if those of training were."""
    if model._wrong_shares is None:
        return filled(model, X, codes)
    return completed(model, X, codes, MOST_WRONG)[0]


def as_predicted(model, X):
    """Return rows with missing and wrong cells completed by the predicted class, not the label."""
    return completed(model, X, most_wrong=MOST_WRONG, likeliest=True)[0]


def wrong_cells(model, X, codes, labelled):
    wrong = np.zeros(X.shape, bool)
    metric = metric_for(model, X)
    if metric is not None:
        reach = np.inf if labelled else REACH

        def work(rows, _, dropped):
            return dropped[np.arange(len(rows)), codes[rows]] == WRONG

        for rows, found in over_rows(metric, X, work, reach):
            wrong[rows] = found
    return wrong


def dense(X):
    return X.toarray() if issparse(X) else X


def expected_cells(model, X, codes):
    """Return what the other right cells of each row predict for its class, and deviations."""
    metric = metric_of(model)
    metric = metric if model.cells != "all" else metric.with_all_cells()
    expected, deviations = np.empty((2, *X.shape))

    def work(rows, block, dropped):
        return metric.expect(block, dropped, codes[rows])

    for rows, found in over_rows(metric, X, work, np.inf, every=True):
        expected[rows], deviations[rows] = found
    (flat,) = np.nonzero(metric.R.diagonal() == 0.0)
    if len(flat):  # any other value is infinitely many deviations off
        difference = X[:, flat] - expected[:, flat]
        rounding = rounding_of_constants(model.means_[:, flat], spread(model)[flat])
        with np.errstate(invalid="ignore"):  # of missing cells
            deviations[:, flat] = np.where(abs(difference) <= rounding, 0.0, difference * np.inf)
    return expected, deviations


def rounding_of_constants(constants, unit):
    """Return by how much features that are constant within the classes may differ, (f,)."""
    return SAME_CONSTANT * np.maximum(np.abs(constants).max(axis=0), unit)
