"""Wrong cells of training rows: the right cells of such rows take part in the fit.

A row with a wrong cell is left out whole, which is enough while few rows have one. Where cells far
from their class are in many rows, the fit is tried without them:

1. Cells beyond CUT robust deviations from the median of their class are put there, and LDA is
   fitted as ever. It only has to be near enough to begin with.
2. Its metric tells which cells do not fit the others of their row. They are drawn anew from what
   the others let expect: the mean given these, and a deviate of the variance given these, or else
   the covariance would be too small. LDA is fitted to the completed rows, twice.
3. Wrong cells are dropped only if leaving them in costs the rows we trust more than it may, by
   the price at which rows are left out.
"""

from typing import NamedTuple

import numpy as np

from cappedlda._initial.standardize import medians_and_scale
from cappedlda._loo.cells import cells_cost_too_much, left_out_distances
from cappedlda._metrics.cells import CUT, CellMetric, metric_of_plane

# Share of the rows with a far cell from which on the fit is tried without such cells.
LEAST_HIT = 0.05
# A row of which more cells than this share are wrong is no good row with a typo: it stays as it is.
MOST_WRONG = 1.0 / 3.0
ROUNDS = 2
# Of the variance of cells that are dropped together, in conditional ones of each: less is rounding.
LEAST_KNOWN = 1e-9


class Completed(NamedTuple):
    """Rows with wrong cells drawn anew.

    Attributes
    ----------
    rows : ArrayRows
    wrong : ndarray of shape (N, n), bool
    """

    rows: object
    wrong: np.ndarray


def fit_right_cells(rows, plain, fit):
    """Return the solution on right cells, or the plain one if wrong ones cost little.

    Parameters
    ----------
    rows : ArrayRows
    plain : Solution
        On all cells.
    fit : callable
        Returns the solution on rows.
    """
    centres, scale, _ = medians_and_scale(rows)
    centres = centres[rows.codes]
    far = np.abs(rows.X - centres) > CUT * scale
    weights = np.ones(len(far)) if rows.sample_weight is None else rows.sample_weight
    if weights @ far.any(axis=1) < LEAST_HIT * weights.sum():
        return plain
    solution = fit(rows.with_features(np.where(far, centres, rows.X).astype(rows.dtype)))
    for _ in range(ROUNDS):
        metric = metric_of(solution)
        if metric is None:
            return plain
        completed = without_wrong_cells(rows, metric)
        solution = fit(completed.rows)
    if not is_worthwhile(rows, plain, completed, solution):
        return plain
    return of_all_cells(rows, completed, solution)


def metric_of(solution):
    """Return how cells are measured by a solution, or None if no covariance is known."""
    calibrator = solution.calibrator()
    if calibrator is None:
        return None
    return metric_of_plane(calibrator.whitener(), solution.centres, solution.priors)


def without_wrong_cells(rows, metric):
    """Return the rows with cells that do not fit the others drawn anew, `Completed`."""
    X, wrong = np.array(rows.X, np.float64), np.zeros(rows.shape, bool)
    draw = np.random.default_rng(0)
    for k in range(rows.n_classes):
        (some,) = np.nonzero(rows.codes == k)
        own, block = metric.of_class(k), X[some]
        dropped, _ = own.drop(block, np.inf)
        few = np.count_nonzero(dropped[:, 0], axis=1) <= MOST_WRONG * X.shape[1]
        some, block, dropped = some[few], block[few], dropped[few]
        X[some] = own.complete(block, dropped, np.ones((len(some), 1)))
        wrong[some] = dropped[:, 0]
    for i in np.flatnonzero(wrong.any(axis=1)):
        (cells,) = np.nonzero(wrong[i])
        X[i, cells] += deviate(metric, cells, draw)
    return Completed(rows.with_features(X.astype(rows.dtype, copy=False)), wrong)


def deviate(metric: CellMetric, cells, draw):
    """Return a deviate with the covariance of some cells given all others."""
    values, vectors = np.linalg.eigh(metric.R[np.ix_(cells, cells)])
    known = values > LEAST_KNOWN
    sizes = np.where(known, 1.0 / np.sqrt(np.where(known, values, 1.0)), 0.0)
    return vectors @ (sizes * draw.standard_normal(len(cells))) / metric.root[cells]


def is_worthwhile(rows, plain, completed, solution):
    """Return whether wrong cells in the fit cost the rows we trust more than they may."""
    wrong = completed.wrong
    trusted = np.ones(len(wrong), bool)
    for found in (plain.samples, solution.samples):
        trusted &= ~(found.left_out | found.outliers)
    if not (wrong.any() and np.bincount(rows.codes[trusted], minlength=rows.n_classes).all()):
        return False
    distances = []
    for fitted, in_fit in ((plain, rows), (solution, completed.rows)):
        metric = metric_of(fitted)
        if metric is None:
            return False
        weights, freedom = fitted.within.weights, fitted.within.freedom
        of_rows = 1.0 if rows.sample_weight is None else np.minimum(rows.sample_weight, 1.0)
        left_out = of_rows * fitted.samples.weights
        distances.append(left_out_distances(metric, freedom, weights, rows, in_fit, left_out))
    return cells_cost_too_much(
        *distances, rows, trusted, wrong.any(axis=1), np.log(solution.priors)
    )


def of_all_cells(rows, completed, solution):
    """Return the solution with what is found about each row by all its cells."""
    rule = solution.flag_rule
    distances = rule.distances(rows)
    outliers = ~rule.contains(rows, distances)
    solution.samples = solution.samples._replace(distances=distances, outliers=outliers)
    solution.wrong_cells = completed.wrong
    return solution
