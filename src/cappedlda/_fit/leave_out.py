"""Leave out only what hurts: the least trimming that does not harm the rows we trust.

The rows inside gate and caps are the *core*: rows we trust. Every other row is unusual, which
alone is no reason to leave it out. The supports {outlyingness <= level} are nested; plain
discriminant analysis on each of them is judged on the core, every row left out of its own fit. A
level is admissible if the core is classified as well as by the core alone. Of the admissible
levels the one is taken that classifies most of the other rows correctly: contamination cannot
buy its way in, since the core decides what is admissible.
"""

import math
from typing import NamedTuple

import numpy as np

from cappedlda._regime import REGIME
from cappedlda._solvers.leave_one_out import ClassMoments, PlainLDA
from cappedlda._solvers.plain import units_of

# Nested supports, in units of gate and cap: each about half as wide again as the one before.
LEVELS = np.array([1.0, 1.5, 2.2, 3.3, 5.0, 7.5, 11.0, 17.0, 25.0, 40.0, 100.0, np.inf])
# The log-loss of the core may rise by this share.
LOSS_TOLERANCE = 0.02
# No class of the core may lose more hits than one and this many standard errors of its errors.
HIT_TOLERANCE = 2.0
# The loss is the least over these factors of the squared distances: only their shape counts, not
# how confident they are.
SHARPNESS = np.geomspace(0.02, 2.0, 12)


class Judgement(NamedTuple):
    """How the rows are classified by a support, each left out of its own fit.

    Attributes
    ----------
    hits : ndarray of shape (c,)
        Weight of the core rows of each class that are classified correctly.
    loss : float
        Log-loss of all core rows.
    others : float
        Weight of the other rows that are classified correctly.
    """

    hits: np.ndarray
    loss: float
    others: float


@np.errstate(over="ignore", invalid="ignore")  # by rows that are far off
def harmless_level(X, codes, weights, outlyingness, frame, regime=REGIME):
    """Return the level beyond which rows are left out: inf if none has to be.

    Parameters
    ----------
    X : ndarray of shape (N, n)
    codes : ndarray of shape (N,)
    weights : ndarray of shape (N,)
    outlyingness : ndarray of shape (N,)
        At most 1 in the core.
    frame : Frame
        With the priors, and the units of features where the rows are few.
    regime : Regime
    """
    priors, core = frame.priors, outlyingness <= 1.0
    present = np.bincount(codes[core], minlength=len(priors))
    if core.all() or not present.all():
        return np.inf if core.all() else 1.0
    few_rows = weights[core].sum() < regime.unshrunk_rows_per_feature * frame.n_features
    unit = frame.scale if few_rows else None
    rows, centres = in_core_units(X, codes, weights, core, len(priors), unit)
    judge = Judge(rows, codes, weights, core, np.log(priors), regime.most_judged)
    first, moments = None, None
    best, gain = 0, 0.0
    step = np.searchsorted(LEVELS, outlyingness)  # the first level that has the row
    for k in range(len(LEVELS)):
        new = step == k
        if first is not None and not new.any():
            best += best == k - 1  # the same support
            continue
        more = ClassMoments.of(
            rows[new] - centres[codes[new]], codes[new], weights[new], len(priors)
        )
        moments = more if moments is None else moments + more
        if not math.isfinite(moments.scatter.trace()):
            break  # rows this far off cannot even be summed
        verdict = judge(PlainLDA(moments, centres, frame.n_features, regime), step <= k)
        if first is None:
            first = verdict
        elif admissible(verdict, first, judge.core_weights):
            lost = max(first.hits.sum() - verdict.hits.sum(), 0.0)
            if verdict.others - first.others - lost >= gain:
                best, gain = k, verdict.others - first.others - lost
    return float(LEVELS[best])


def in_core_units(X, codes, weights, core, n_classes, unit=None):
    """Return rows about the centre of the core, in its units, and the centres of its classes.

    The unit of a feature is its deviation within the classes of the core, or between them if it is
    constant within, or 1 if it is constant altogether. Few rows have a `unit` given.
    """
    inside, own = X[core], codes[core]
    shares = weights[core] / weights[core].sum()
    class_shares = np.bincount(own, shares, n_classes)
    means = np.zeros((n_classes, X.shape[1]))
    np.add.at(means, own, inside * shares[:, None])
    means /= class_shares[:, None]
    centre = class_shares @ means
    if unit is not None:
        return (X - centre) / unit, (means - centre) / unit
    within, between = shares @ (inside - means[own]) ** 2, class_shares @ (means - centre) ** 2
    unit, flat = units_of(within, between, means)
    unit = np.where(flat & (between > 0.0), np.sqrt(between), unit)
    return (X - centre) / unit, (means - centre) / unit


class Judge:
    """Judges a discriminant by how it classifies the rows, each left out of its own fit.

    Parameters
    ----------
    rows : ndarray of shape (N, n)
    codes : ndarray of shape (N,)
    weights : ndarray of shape (N,)
    core : ndarray of shape (N,), bool
    log_priors : ndarray of shape (c,)
    most_judged : int
        Numbers, rows times features or classes, that are looked at.
    """

    def __init__(self, rows, codes, weights, core, log_priors, most_judged):
        step = 1 + len(rows) * max(rows.shape[1], len(log_priors)) // most_judged
        # As many of each class, in the core and outside, whatever the order of the rows.
        judged = self._judged = np.lexsort((core, codes))[::step] if step > 1 else slice(None)
        self._rows, self._codes, self._weights = rows[judged], codes[judged], weights[judged]
        self._core = core[judged]
        self._log_priors = log_priors
        self._sharpness = len(SHARPNESS) // 2
        self.core_weights = self._per_class(self._core)

    def _per_class(self, chosen):
        return np.bincount(self._codes, self._weights * chosen, len(self._log_priors))

    def __call__(self, discriminant, support):
        """Return the `Judgement` on a discriminant with a support of shape (N,)."""
        # A row of weight k is k rows, of which one is left out.
        left_out = np.minimum(self._weights, 1.0) * support[self._judged]
        distances = discriminant.distances(self._rows, self._codes, left_out)
        hits = (self._log_priors - 0.5 * distances).argmax(axis=1) == self._codes
        return Judgement(
            self._per_class(hits & self._core),
            self._loss(distances[self._core]),
            float(self._weights @ (hits & ~self._core)),
        )

    def _loss(self, distances):
        """Return the least log-loss of the core over all sharpnesses, in which it is convex."""
        codes, weights = self._codes[self._core], self._weights[self._core]
        own = distances[np.arange(len(codes)), codes]
        excess = 0.5 * (own[:, None] - distances)
        odds = self._log_priors - self._log_priors[codes][:, None]

        def loss(k):
            return weights @ np.log(np.exp(odds + SHARPNESS[k] * excess).sum(axis=1))

        k, least = self._sharpness, loss(self._sharpness)
        for step in (1, -1):
            while 0 <= k + step < len(SHARPNESS) and (further := loss(k + step)) < least:
                k, least = k + step, further
        self._sharpness = k
        return float(least)


def admissible(verdict, first, core_weights):
    """Return whether a support classifies the core as well as the core alone, `first`."""
    errors = np.maximum(core_weights - first.hits, 1.0)
    allowed = 1.0 + HIT_TOLERANCE * np.sqrt(errors)
    kept = bool(np.all(first.hits - verdict.hits <= allowed))
    return kept and verdict.loss <= (1.0 + LOSS_TOLERANCE) * first.loss
