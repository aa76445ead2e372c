"""Wrong cells of training rows: the right cells of such rows take part in the fit.

If many rows have a cell far from their class, those cells are moved to the median of the class. If
LDA then classifies the rows we trust notably better, these rows are fitted, and their metric shows
which cells do not fit the others of their row. Such cells are drawn given the others (their mean
alone would make the covariance too small), and LDA is fitted to the completed rows. Missing cells
are drawn in the same way before, by the metric of a fit with medians in their place.
"""

from functools import partial

import numpy as np
from scipy.special import ndtri

from cappedlda._initial.standardize import medians_and_scale
from cappedlda._kernels import cells as cell_kernels
from cappedlda._loo.cells import left_out_distances, wrong_cells_cost
from cappedlda._metrics.cells import CUT, MISSING, MOST_WRONG, WRONG, CellMetric, metric_of_plane
from cappedlda._metrics.linalg import triangular_whitener
from cappedlda._metrics.plain import FLAT
from cappedlda._rules.rule import Query
from cappedlda._validation import column_name

# The fit is tried without far cells if at least this share of the rows has one. If fewer have one,
# leaving out whole rows costs little.
LEAST_HIT = 0.25
# The trial is judged by this many distances of rows from classes. It needs this many rows per class
# on average: medians of fewer rows follow the very cells they would judge.
JUDGED, JUDGED_PER_CLASS = 4_000, 15
# A smaller joint variance of dropped cells, relative to their conditional ones, is rounding.
LEAST_KNOWN = 1e-9
GOLDEN_RATIO = (1.0 + 5.0**0.5) / 2.0
ROUNDED = 9  # decimals of deviations that are not rounding


def fit_right_cells(rows, plain, fit, fit_last):
    """Return the solution without wrong cells, or `plain`, with all cells, if these cost little.

    `fit` returns intermediate solutions on rows, and `fit_last` the final one.
    """
    centres, scale, _ = medians_and_scale(rows)
    medians = centres[rows.codes]
    far = np.abs(rows.X - medians) > CUT * scale
    near = rows.with_features(np.where(far, medians, rows.X).astype(rows.dtype))
    trial = near.reweighted(has_few(far))
    moments = trial.run(Query.of_all_rows(centres, scale)).moments(centres, scale).recentred()
    plain.trace.n_passes += 1
    if not is_worthwhile(rows, plain, trial, moments):
        return plain
    found = fit(near)
    completed, wrong = drawn_anew(rows, metric_of(found), wrong_of_few)
    solution = fit_last(completed)
    solution.trace.n_passes += plain.trace.n_passes + found.trace.n_passes
    # Distances and flags are those of all cells.
    distances = solution.flag_rule.distances(rows)
    outliers = ~solution.flag_rule.contains(rows, distances)
    solution.samples = solution.samples._replace(distances=distances, outliers=outliers)
    solution.wrong_cells = wrong
    return solution


def has_few(marks):
    """Return which rows (N,) have few marked cells."""
    return np.count_nonzero(marks, axis=1) <= MOST_WRONG * marks.shape[1]


def wrong_of_few(marks):
    return (marks == WRONG) & has_few(marks)[:, None]


def without_gaps(rows, fit):
    """Return rows with missing cells drawn given the others; `fit` returns a solution on rows."""
    gaps = np.isnan(rows.X)
    if not gaps.any():
        return rows
    metric = metric_of(fit(rows.with_features(np.where(gaps, medians_of(rows, gaps), rows.X))))
    if metric is None:
        raise ValueError(
            'missing="ignore" needs a covariance of all features to fit rows with missing cells: '
            "at least as many rows as features, and a class with two rows; impute them."
        )
    return drawn_anew(rows, metric, lambda marks: marks == MISSING)[0]


def medians_of(rows, gaps):
    """Return the median of its class for each cell with a gap in its column."""
    medians = np.zeros((rows.n_classes, rows.shape[1]), rows.dtype)
    for j in np.flatnonzero(gaps.any(axis=0)):
        known = rows.with_features(rows.X[:, [j]]).take(~gaps[:, j])
        held = np.bincount(known.codes, known.row_weights, rows.n_classes)
        if not held.all():
            label = rows.class_names[held.argmin()]
            raise ValueError(
                f"X has no value in column {column_name(j, rows.feature_names)} for the class "
                f"{label}; remove the column or the class, or impute the values."
            )
        medians[:, j] = medians_and_scale(known)[0][:, 0]
    return medians[rows.codes]


def many_have_far_cells(rows, gate):
    """Return whether enough rows have a far cell for a trial, but not too many of them."""
    if rows.class_weights.sum() < JUDGED_PER_CLASS * rows.n_classes:
        return False
    most = int(MOST_WRONG * rows.shape[1])
    known = {"centres": gate.centres, "limits": CUT * gate.scale, "most": most}
    hit = rows.reduce(partial(cell_kernels.weight_of_hit, **known))
    return hit >= LEAST_HIT * rows.class_weights.sum()


def metric_of(solution):
    """Return how cells are measured by a solution, or None if no covariance is known."""
    calibrator = solution.calibrator()
    if calibrator is None:
        return None
    return metric_of_plane(calibrator.whitener, solution.centres, solution.priors)


def is_worthwhile(rows, plain, trial, moments):
    """Return whether LDA on moments of other rows classifies those we trust notably better.

    We trust rows that the plain fit neither flags nor leaves out: without some cells, foreign rows
    look like good ones.
    """
    before, samples = metric_of(plain), plain.samples
    if before is None or not moments.weights.all():
        return False
    whitener = triangular_whitener(moments.covariance, FLAT[rows.dtype]) / moments.scale[:, None]
    after = metric_of_plane(whitener, moments.centres, plain.priors)
    n_rows, c = rows.shape[0], rows.n_classes
    part = max(1, n_rows // max(JUDGED // c, JUDGED_PER_CLASS * c))
    # The same part of each class, of near and far rows, whatever the order of the rows.
    some = np.lexsort((samples.distances, rows.codes))[::part]
    weights = rows.row_weights[some]
    trusted = np.where((samples.left_out | samples.outliers)[some], 0.0, weights)
    if after is None or not np.bincount(rows.codes[some], trusted, rows.n_classes).all():
        return False
    single = np.minimum(weights, 1.0)
    left_out = single * samples.weights[some], single * (trial.row_weights[some] > 0.0)
    rows, trial = rows.take(some), trial.take(some)
    distances = (
        left_out_distances(before, plain.within, rows, rows, left_out[0]),
        left_out_distances(after, moments, rows, trial, left_out[1]),
    )
    return wrong_cells_cost(*distances, rows.codes, trusted, np.log(plain.priors))


def drawn_anew(rows, metric, choose):
    """Return rows with the cells that `choose` picks by their marks drawn given the others."""
    X, drawn = np.array(rows.X, np.float64), np.zeros(rows.shape, bool)
    deviations = np.zeros(rows.shape)
    for k in range(rows.n_classes):
        (some,) = np.nonzero(rows.codes == k)
        own, block = metric.of_class(k), X[some]
        dropped, _ = own.drop(block, np.inf)
        drawn[some] = choose(dropped[:, 0])
        completed = own.complete(block, dropped, np.ones((len(some), 1)))
        X[some] = np.where(drawn[some], completed, block)
        mean = metric.centre + metric.means[k] / metric.root
        deviations[some] = (completed - mean) * metric.root
    scores = normal_scores(deviations, drawn & (rows.row_weights > 0.0)[:, None])
    for i in np.flatnonzero(drawn.any(axis=1)):
        (cells,) = np.nonzero(drawn[i])
        X[i, cells] += conditional_root(metric, cells) @ scores[i, cells] / metric.root[cells]
    return rows.with_features(X.astype(rows.dtype, copy=False)), drawn


def normal_scores(values, chosen):
    """Return normal scores of the chosen cells, feature by feature, in a scrambled order.

    They replace random normal deviates, but do not depend on units or on the order of rows and
    features. Multiples of the golden ratio scramble the order: their fractional parts spread
    evenly.
    """
    scores = np.zeros(values.shape)
    for j in np.flatnonzero(chosen.any(axis=0)):
        (some,) = np.nonzero(chosen[:, j])
        _, rank = np.unique(values[some, j].round(ROUNDED), return_inverse=True)
        scores[some, j] = ndtri((rank + 0.5) * GOLDEN_RATIO % 1.0)
    return scores


def conditional_root(metric: CellMetric, cells):
    """Return the symmetric root of the covariance of some cells given all others."""
    values, vectors = np.linalg.eigh(metric.R[np.ix_(cells, cells)])
    known = values > LEAST_KNOWN
    sizes = np.where(known, 1.0 / np.sqrt(np.where(known, values, 1.0)), 0.0)
    return vectors * sizes @ vectors.T
