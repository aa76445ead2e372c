"""Wrong and missing cells of new rows: capped distances, completed rows, what was expected.

For class k let r = x - m_k, and P the inverse of the covariance within the classes. If cell j is
dropped, the squared distance r'P r falls by t_j = (P r)_j^2 / P_jj, the square of the conditional
residual of the cell in its own deviations. That is capped: for each class the cell of the largest
t_j - cut^2 is dropped while this is above 0, and each dropped cell costs cut^2, what one at the
cut-off costs. Missing cells are dropped before, and cost nothing. A row for which no class within
reach drops a cell is left to the linear rule.

The cut-off is CUT, unless training rows show that this does harm: values far off may be usual for
a feature, and tell the classes apart. Then features with long tails have larger ones.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg
from scipy.sparse import issparse
from scipy.special import softmax

from cappedlda._data.base import slices_of
from cappedlda._data.threads import blas_threads, ordered_map, single_threaded_blas
from cappedlda._kernels import cells as cell_kernels
from cappedlda._regime import REGIME

# Conditional deviations beyond which a cell is wrong. The square is also how far the score of a
# class may be behind the best one by the linear rule: of others, nothing is asked.
CUT = 5.0
REACH = CUT**2
# Where that costs more than this share of training rows, a feature has a cut-off that one of these
# shares of them is beyond: the first that does no harm. After these, nothing is capped.
HARM = 0.01
SHARES = (0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0)
# Share of the cells of a row that may be wrong without the row being a strange one.
FEW = 0.1
# Marks of cells that are dropped.
WRONG = 1
# Bytes of marks that are worked on at a time.
MOST_MARKS = 1 << 22
# Conditional deviations from the centre beyond which the rounding of a cell hides all others.
FAR = 1e8
# Classes that are farther apart are too far for single precision.
LARGEST_IMAGE = 1e30
# What single precision rounds.
SINGLE = float(np.finfo(np.float32).eps)


@dataclass(frozen=True, eq=False)
class CellMetric:
    """How cells are measured: rows become z = (x - centre) * root, where cells have unit variance.

    The variance is that of a cell given all others.
    """

    centre: np.ndarray  # (n,)
    root: np.ndarray  # (n,)
    R: np.ndarray  # (n, n) P / (root root'), 0 for features that are constant within the classes
    means: np.ndarray  # (c, n) of the classes, as z
    images: np.ndarray  # (c, n) R means: the coefficients of the linear rule, for z
    intercepts: np.ndarray  # (c,)
    log_priors: np.ndarray  # (c,)
    temperature: float  # factor of the scores of the linear rule
    cuts: np.ndarray  # (n,) conditional deviations
    far: float = FAR  # deviations from the centre beyond which a cell is wrong in any case

    @property
    def _classes(self):
        return self.centre, self.root, self.R, self.means, self.images

    def with_cuts(self, cuts):
        """Return the same metric with other cut-offs: an array (n,) or a number for all."""
        return replace(self, cuts=np.broadcast_to(cuts, self.centre.shape).astype(float))

    def with_all_cells(self):
        """Return the same metric for which no cell is wrong; missing ones are dropped still."""
        return replace(self.with_cuts(np.inf), far=np.inf)

    @property
    def prices(self):
        """What wrong cells add to a squared distance, shape (n,)."""
        return np.where(self.cuts < np.inf, self.cuts, CUT) ** 2

    def screen(self, reach=REACH):
        """Return a function of some rows: the numbers of those that may have a cell to drop.

        It multiplies in single precision. A product of n numbers is then off by at most n + 2
        roundings of the product of lengths, which counts against a row.
        """
        if np.all(self.cuts == np.inf):
            return rows_with_gaps_or_far(self)
        *numbers, slack, rounding = self._in_single

        def may_drop(X):
            found = np.empty(len(X), np.uint8)
            rows = np.ascontiguousarray(X), self.centre, self.root
            cell_kernels.may_drop(*rows, *numbers, reach + slack, rounding, found)
            return np.flatnonzero(found)

        return may_drop

    @cached_property
    def _in_single(self):
        """What the screen takes in single precision, and bounds of its rounding."""
        products = np.concatenate([self.R, self.images.T], axis=1)
        rounding = SINGLE * (len(self.R) + 8) * np.linalg.norm(products, axis=0).max()
        cuts = self.cuts - SINGLE * (8.0 * CUT + 2.0 * np.abs(self.images).max())
        cuts -= np.where(cuts < np.inf, SINGLE * cuts, 0.0)
        slack = 1.0 + 8.0 * SINGLE * np.abs(self.intercepts).max()
        low, high = self.images - cuts, self.images + cuts
        low, high = np.vstack([low, low.max(axis=0)]), np.vstack([high, high.min(axis=0)])
        parts = products, low, high, self.intercepts
        with np.errstate(over="ignore"):
            numbers = [np.ascontiguousarray(part, np.float32) for part in parts]
        return (*numbers, slack, rounding)

    def drop(self, X, reach=REACH):
        """Return the marks of the cells that each class drops (N, c, n), and which rows have any.

        Only those of a class within reach make a row one that has any.
        """
        dropped = np.empty((len(X), len(self.means), X.shape[1]), np.uint8)
        capped = np.empty(len(X), np.uint8)
        rule = self.images, self.intercepts
        cell_kernels.drop_cells(
            X, *self._classes, *rule, self.cuts, self.far, reach, dropped, capped
        )
        return dropped, capped.view(bool)

    def distances(self, X, dropped):
        """Return the capped squared distances of rows from the classes, shape (N, c)."""
        found = np.empty(dropped.shape[:2])
        cell_kernels.distances_without(X, *self._classes, dropped, self.prices, found)
        return found

    def scores(self, X, dropped):
        """Return the scores of the classes (N, c), which the linear rule continues."""
        distances, priors = self.distances(X, dropped), np.exp(self.log_priors)
        sizes = np.einsum("ij,ij->i", self.means, self.images)
        # The linear rule leaves out (x - xbar)'P(x - xbar), which is what the classes have in
        # common: the mean of the squared distances, but for that of the means from each other.
        common = (distances - sizes) @ priors
        return self.temperature * (self.log_priors - 0.5 * (distances - common[:, None]))

    def complete(self, X, dropped, weights):
        """Return rows with what the other cells let expect where a class drops a cell.

        The classes count by their weights (N, c).
        """
        completed = np.empty_like(X)
        cell_kernels.complete(X, *self._classes, dropped, weights, completed)
        return completed

    def expect(self, X, dropped, codes):
        """Return what is expected for each cell in the class of each row, and deviations from it.

        Deviations are in standard deviations given the cells that are not dropped.
        """
        expected, deviations = np.empty_like(X), np.empty_like(X)
        codes = np.ascontiguousarray(codes, np.int32)
        with np.errstate(all="ignore"):
            cell_kernels.expect(X, *self._classes, dropped, codes, expected, deviations)
        return expected, deviations


def make_metric(whitener, means, xbar, coef, priors, temperature=1.0):
    """Return the `CellMetric` of a linear rule, or None if its numbers overflow.

    The rule may be sharper or blunter than the covariance says, and may use fewer directions than
    there are: the metric is that of the rule, so that the two agree where no cell is dropped.

    Parameters
    ----------
    whitener : ndarray of shape (n, m)
        Rows times it have unit covariance within the classes. Its rows are 0 for features
        that are constant there.
    means : ndarray of shape (c, n)
    xbar : ndarray of shape (n,)
    coef : ndarray of shape (c, n), or (1, n) for two classes
    priors : ndarray of shape (c,)
    temperature : float
        Factor that the scores of the rule have, and cells do not know.
    """
    with np.errstate(all="ignore"):
        coef = coef / temperature
        if len(means) == 2:
            coef = np.outer([-priors[1], priors[0]], coef[0])
        steps = means - xbar
        largest = np.abs(whitener).max(axis=1, initial=0.0)
        used = largest > 0.0
        root = np.where(used, largest, 1.0)
        lengths = np.linalg.norm(whitener / root[:, None], axis=1)
        root[used] *= lengths[used]
        spans = np.abs(steps).max(axis=0)
        root[~used] = 1.0 / np.where(spans > 0.0, spans, 1.0)[~used]
        T, coef = whitener / root[:, None], np.where(used, coef / root, 0.0)
        if not all(np.isfinite(part).all() for part in (T, coef, steps * root)):
            return None
        images = linalg.lstsq(T, coef.T, lapack_driver="gelsy")[0]
        size = np.vdot(coef, steps * root)
        sharpness = np.vdot(images, images) / size if size > 0.0 else 1.0
        root[used] *= np.sqrt(sharpness)
        images /= np.sqrt(sharpness)
        coef /= np.sqrt(sharpness)
        steps = steps * root
        steps += linalg.lstsq(T.T, images - T.T @ steps.T, lapack_driver="gelsy")[0].T
        R = T @ T.T
        np.fill_diagonal(R, used.astype(float))  # but for rounding it is
        images = np.ascontiguousarray(steps @ R)
        log_priors = np.log(priors)
        intercepts = log_priors - 0.5 * np.einsum("ij,ij->i", steps, images)
        found = CellMetric(
            xbar,
            root,
            R,
            steps,
            images,
            intercepts,
            log_priors,
            temperature,
            np.full(len(root), CUT),
        )
        finite = all(np.isfinite(part).all() for part in vars(found).values())
        small = np.abs(images).max() < LARGEST_IMAGE
    return found if finite and small else None


def rows_with_gaps_or_far(metric):
    """Return a function of some rows: the numbers of those with a missing or infinite cell."""

    def find(X):
        with np.errstate(over="ignore", invalid="ignore"):
            near = np.abs((X - metric.centre) * metric.root) <= metric.far
        return np.flatnonzero(~near.all(axis=1))

    return find


def choose_cuts(metric, X, codes, weights):
    """Return the least cut-offs (n,) that do no harm to the classification of rows, or inf.

    Harm is that more rows are lost than gained, by more than a share HARM of all rows and by more
    than two standard errors. Lost are those that all cells classify correctly and capped ones
    do not.

    Parameters
    ----------
    metric : CellMetric
    X : ndarray of shape (N, n)
        Training rows, also those that were left out.
    codes : ndarray of shape (N,)
    weights : ndarray of shape (N,)
    """
    total = weights.sum()
    for cuts in candidates(metric, X, codes):
        metric = metric.with_cuts(cuts)
        some = metric.screen()(X)
        X, codes, weights = X[some], codes[some], weights[some]  # larger ones find fewer
        lost = gained = 0.0
        for part in slices_of(len(X), max(1, MOST_MARKS // metric.means.size)):
            block, own = np.ascontiguousarray(X[part], np.float64), codes[part]
            dropped, capped = metric.drop(block)
            linear = linear_scores(metric, block).argmax(axis=1) == own
            now = np.where(capped, metric.scores(block, dropped).argmax(axis=1) == own, linear)
            lost += weights[part] @ (linear & ~now)
            gained += weights[part] @ (now & ~linear)
        if lost - gained <= max(2.0 * np.sqrt(lost + gained), HARM * total):
            break
    return metric.cuts


def candidates(metric, X, codes):
    """Yield cut-offs to try, in rising order."""
    yield CUT
    residuals = np.abs((X - metric.centre) * metric.root @ metric.R - metric.images[codes])
    for share in SHARES:
        yield np.maximum(CUT, np.quantile(residuals, 1.0 - share, axis=0))
    yield np.inf


def linear_scores(metric, X):
    """Return the scores of the linear rule before its temperature, (N, c), but for rounding."""
    return (X - metric.centre) * metric.root @ metric.images.T + metric.intercepts


def over_rows(metric, X, work, reach=REACH, every=False):
    """Yield the numbers of rows of X that have dropped cells, and what `work` gives for them.

    Slabs of rows go to as many threads as BLAS would have.

    Parameters
    ----------
    metric : CellMetric
    X : ndarray of shape (N, n)
    work : callable
        Takes the numbers of some rows, the rows (k, n) and the marks of their cells (k, c, n).
    reach : float
        Score below the best one with which a class is asked.
    every : bool
        Whether all rows count, also those without a dropped cell.
    """
    step = max(1, MOST_MARKS // metric.means.size)
    may_drop = metric.screen(reach)

    def of_slab(slab):
        found = []
        rows = np.arange(slab.start, slab.stop) if every else slab.start + may_drop(X[slab])
        for part in slices_of(len(rows), step):
            some = rows[part]
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


def metric_for(model, X):
    """Return how cells of X are measured for `model`, or None if all count as they are."""
    if (model.cells == "all" and model.missing == "error") or issparse(X):
        return None
    metric = model._cell_metric()
    return metric if metric is None or model.cells == "capped" else metric.with_all_cells()


def amend_scores(model, X, scores):
    """Replace the scores (N, c), or (N, 1) for two classes, of rows that have dropped cells."""
    metric = metric_for(model, X)
    if metric is None:
        return

    def work(_, block, dropped):
        found = metric.scores(block, dropped)
        return found[:, 1:] - found[:, :1] if found.shape[1] == 2 else found

    for rows, found in over_rows(metric, X, work):
        scores[rows] = bounded(found, scores.dtype)


def amend_projections(model, X, projected):
    """Replace the projections (N, d) of rows that have dropped cells by those of completed rows."""
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


def completed(model, X, codes=None, missing_only=False):
    """Return X with dropped cells replaced by what is expected, and what these cost (N,).

    The cost is added to squared distances; it is infinite if no cell is left. Wrong cells of rows
    that have more than a few stay as they are: such rows are no good rows with a typo.

    Parameters
    ----------
    model : CappedLDA
    X : ndarray or sparse matrix of shape (N, n)
    codes : ndarray of shape (N,), optional
        Classes; without them all classes count, by their probabilities.
    missing_only : bool
        Whether wrong cells of all rows stay as they are.
    """
    cost = np.zeros(X.shape[0])
    metric = metric_for(model, X)
    if metric is None:
        return X, cost
    if missing_only:
        metric = metric.with_cuts(np.inf)

    def work(rows, block, dropped):
        if codes is None:
            weights = softmax(metric.scores(block, dropped), axis=1)
        else:
            weights = np.eye(len(metric.means))[codes[rows]]
        marks = dropped[np.arange(len(rows)), weights.argmax(axis=1)]
        found, wrong = metric.complete(block, dropped, weights), marks == WRONG
        there = ~np.isnan(block)
        few = np.count_nonzero(wrong, axis=1) <= FEW * np.count_nonzero(there, axis=1)
        few &= not missing_only
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
    """Return X with missing cells replaced by what the others let expect; see `completed`."""
    return X if model.missing == "error" else completed(model, X, codes, True)[0]


def wrong_cells(model, X, codes, labelled):
    """Return which cells the classes of the rows drop as wrong, shape (N, n)."""
    wrong = np.zeros(X.shape, bool)
    metric = metric_for(model, X)
    if metric is not None:
        reach = np.inf if labelled else REACH

        def work(rows, _, dropped):
            return dropped[np.arange(len(rows)), codes[rows]] == WRONG

        for rows, found in over_rows(metric, X, work, reach):
            wrong[rows] = found
    return wrong


def expected_cells(model, X, codes):
    """Return what the other cells of each row let expect in its class, and deviations from it.

    Both have the shape (N, n). Cells that the class drops are not among the others.
    """
    metric = model._cell_metric()
    metric = metric if model.cells == "capped" else metric.with_all_cells()
    expected, deviations = np.empty((2, *X.shape))

    def work(rows, block, dropped):
        return metric.expect(block, dropped, codes[rows])

    for rows, found in over_rows(metric, X, work, np.inf, every=True):
        expected[rows], deviations[rows] = found
    return expected, deviations
