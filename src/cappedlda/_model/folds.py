"""A fold of a cross-validation: a path of fits to its training rows, scored by the others."""

from dataclasses import replace

import numpy as np

from cappedlda._fit import fit_capped, fit_path
from cappedlda._initial.standardize import column_medians
from cappedlda._model.discriminant import class_codes, linear_rule


class Fold:
    """Training rows, and the held-out rows that score what is fitted to them.

    Classes without training rows are left out. Priors of None are the shares of the training rows.
    """

    def __init__(self, rows, train, test, priors=None):
        trained, held_out = (class_weights_of(rows, chosen) for chosen in (train, test))
        self._known = np.flatnonzero(trained)
        if len(self._known) < 2:
            raise ValueError("cv leaves fewer than two classes to train on; use other folds.")
        if not held_out[self._known].any():
            raise ValueError("cv holds out no row of weight to score by; use other folds.")
        self._rows, self._train, self._test = rows, train, test
        shares = (trained if priors is None else priors)[self._known]
        self._priors = shares / shares.sum()

    def evaluate(self, path, counts, options):
        """Fit a path of objectives; score them by held-out rows that the first would keep."""
        train, test = self._part(self._train), self._part(self._test)
        scores, converged = [], []
        # A solution always has all supervised directions, and no others can classify.
        options = replace(options, priors=self._priors, n_components=1)
        # However the candidates are fitted, a robust fit decides which rows are scored.
        robust = replace(options, leave_out="harmful")
        weight = share_in_score(test, fit_capped(train, path[0], robust))
        for solution in fit_path(train, path, options):
            fitted = solution is not None
            hits = hits_by_count(test, solution, counts) if fitted else [0.0 * weight] * len(counts)
            scores.append([weight @ hit for hit in hits])
            converged.append([fitted and solution.trace.status == "converged"] * len(counts))
        return scores, converged

    def _part(self, chosen):
        """Return the chosen rows of known classes, for one thread."""
        chosen = np.arange(self._rows.shape[0])[chosen]
        rows = self._rows.take(chosen[np.isin(self._rows.codes[chosen], self._known)])
        codes = np.searchsorted(self._known, rows.codes).astype(np.int32)
        rows = rows.labelled(codes, len(self._known))
        rows.n_jobs = 1
        return rows


def class_weights_of(rows, chosen):
    weight = None if rows.sample_weight is None else rows.sample_weight[chosen]
    return np.bincount(rows.codes[chosen], weight, rows.n_classes).astype(np.float64)


def share_in_score(rows, solution):
    """Return weights, with sum 1, of the rows that a fit would not leave out.

    At least the nearer half of every class counts.
    """
    ratio = solution.leave_out_rule.ratios(rows)
    limits = np.maximum(class_medians(rows, ratio), 1.0)
    weight = rows.reweighted(ratio <= limits[rows.codes]).sample_weight
    return weight / weight.sum()


def class_medians(rows, values):
    """Return the median over the rows of each class, 0 for a class without any."""
    medians = np.zeros(rows.n_classes)
    for i in np.unique(rows.codes):
        own = rows.codes == i
        weight = None if rows.sample_weight is None else rows.sample_weight[own]
        medians[i] = column_medians(values[own, None], weight)[0]
    return medians


def hits_by_count(rows, solution, counts):
    """Yield which rows are classified rightly by the first directions, for each number."""
    Z = rows.X @ solution.W.astype(rows.X.dtype, copy=False)
    centres, covariance = solution.centres @ solution.W, solution.covariance
    for k in counts:
        axes = np.eye(len(covariance), k)[:, : len(covariance)]
        coef, intercept = linear_rule(axes, covariance[:k, :k], centres, solution.priors)
        scores = Z @ coef.T + intercept
        yield class_codes(scores.ravel() if len(coef) == 1 else scores) == rows.codes
