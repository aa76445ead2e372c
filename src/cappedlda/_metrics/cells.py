"""Cells of rows: how far each is from what the others predict, and distances without some.

For class k let r = x - m_k, and P the inverse of the covariance within the classes. Without cell j
the squared distance r'P r falls by t_j = (P r)_j^2 / P_jj, the square of its conditional residual
in its own deviations. Each class drops the cell of the largest t_j - cut^2 while this is
above 0, and each dropped cell costs cut^2. Missing cells are dropped before, and cost nothing.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg

from cappedlda._kernels import cells as cell_kernels

# Conditional deviations beyond which a cell is wrong. The square is also how far the score of a
# class may be behind the best one by the linear rule: of others, nothing is asked.
CUT = 4.5
REACH = CUT**2
# A training row of which more cells than this share are wrong is no good row with a typo.
MOST_WRONG = 1.0 / 3.0
WRONG, MISSING = 1, 2  # marks of cells that are dropped
# Conditional deviations from the centre beyond which the rounding of a cell hides all others.
FAR = 1e8
LARGEST_IMAGE = 1e30  # classes that are farther apart are too far for single precision
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

    def of_class(self, k):
        """Return the same metric for which there is only class k."""
        names = "means", "images", "intercepts", "log_priors"
        return replace(self, **{name: getattr(self, name)[k : k + 1] for name in names})

    @property
    def prices(self):
        """What wrong cells add to a squared distance, shape (n,)."""
        return np.where(self.cuts < np.inf, self.cuts, CUT) ** 2

    def may_drop(self, X, reach=REACH):
        """Return the numbers of rows that may have a cell to drop.

        In single precision a product of n numbers is off by at most n + 2 roundings of the product
        of lengths, which counts against a row.
        """
        if np.all(self.cuts == np.inf):  # only missing cells, and those too far off
            with np.errstate(over="ignore", invalid="ignore"):
                near = np.abs((X - self.centre) * self.root) <= self.far
            return np.flatnonzero(~near.all(axis=1))
        *numbers, slack, rounding, score_rounding = self._in_single
        found, bounds = np.empty(len(X), np.uint8), (reach + slack, rounding, score_rounding)
        rows = np.ascontiguousarray(X), self.centre, self.root
        cell_kernels.may_drop(*rows, *numbers, *bounds, found)
        return np.flatnonzero(found)

    @cached_property
    def _in_single(self):
        """What `may_drop` takes in single precision, and bounds of its rounding."""
        products = np.concatenate([self.R, self.images.T], axis=1)
        roundings = (
            SINGLE * (len(self.R) + 8) * np.linalg.norm(part, axis=1).max()
            for part in (self.R, self.images)
        )
        cuts = self.cuts - SINGLE * (8.0 * CUT + 2.0 * np.abs(self.images).max())
        cuts -= np.where(cuts < np.inf, SINGLE * cuts, 0.0)
        slack = 1.0 + 8.0 * SINGLE * np.abs(self.intercepts).max()
        low, high = self.images - cuts, self.images + cuts
        low, high = np.vstack([low, low.max(axis=0)]), np.vstack([high, high.min(axis=0)])
        parts = products, low, high, self.intercepts
        with np.errstate(over="ignore"):
            numbers = [np.ascontiguousarray(part, np.float32) for part in parts]
        return (*numbers, slack, *roundings)

    def drop(self, X, reach=REACH):
        """Return the marks of cells that classes drop (N, c, n), and rows with any in reach."""
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
        scores = self.temperature * (self.log_priors - 0.5 * (distances - common[:, None]))
        # A row without any cell gets the priors, however confident the rule is.
        empty = dropped[..., self.R.diagonal() > 0.0].all(axis=(1, 2))
        scores[empty] = self.log_priors
        return scores

    def complete(self, X, dropped, weights):
        """Return rows with dropped cells replaced as the classes, of weights (N, c), expect."""
        completed = np.empty_like(X)
        cell_kernels.complete(X, *self._classes, dropped, weights, completed)
        return completed

    def expect(self, X, dropped, codes):
        """Return what the class of each row expects of its cells, and their deviations."""
        expected, deviations = np.empty_like(X), np.empty_like(X)
        codes = np.ascontiguousarray(codes, np.int32)
        with np.errstate(all="ignore"):
            cell_kernels.expect(X, *self._classes, dropped, codes, expected, deviations)
        return expected, deviations


def metric_of_plane(whitener, means, priors):
    """Return the `CellMetric` of plain LDA with all its directions, or None."""
    xbar = priors @ means
    steps = means - xbar if len(means) > 2 else means[1:] - means[0]
    with np.errstate(all="ignore"):
        return make_metric(whitener, means, xbar, steps @ whitener @ whitener.T, priors)


def make_metric(whitener, means, xbar, coef, priors, temperature=1.0):
    """Return the `CellMetric` of a linear rule, or None if its numbers overflow.

    The rule may be sharper or blunter than the covariance says, and may use fewer directions: the
    metric is that of the rule, so that the two agree where no cell is dropped. Rows times the
    whitener (n, m) have unit covariance within the classes; it is 0 for features that are constant
    there. The coefficients are (c, n), or (1, n) for two classes. The temperature is a factor of
    their scores.
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
        parts = xbar, root, R, steps, images, intercepts, log_priors, temperature
        found = CellMetric(*parts, cuts=np.full(len(root), CUT))
        finite = all(np.isfinite(part).all() for part in vars(found).values())
        small = np.abs(images).max() < LARGEST_IMAGE
    return found if finite and small else None
