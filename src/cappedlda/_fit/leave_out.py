"""Leave out only what hurts: the least trimming that does not harm the rows we trust.

The rows inside gate and caps are the *core*: rows we trust. Every other row is unusual, which
alone is no reason to leave it out. The supports {outlyingness <= level} are nested; plain
discriminant analysis on each of them is judged on the core, every row left out of its own fit. A
level is admissible if the core is classified as well as by the core alone. Of the admissible
levels the one is taken that classifies most rows correctly: contamination cannot buy its way in,
since the core decides what is admissible.
"""

import math
from functools import cached_property, partial

import numpy as np

from cappedlda._data.array import ArrayRows
from cappedlda._data.threads import shared_threads
from cappedlda._initial.csteps import Pieces
from cappedlda._initial.standardize import in_units
from cappedlda._kernels import judgement, start_kernels
from cappedlda._solvers.leave_one_out import ClassMoments, PlainLDA
from cappedlda._solvers.plain import units_of

# Nested supports, in units of gate and cap: each about half as wide again as the one before.
LEVELS = np.array([1.0, 1.5, 2.2, 3.3, 5.0, 7.5, 11.0, 17.0, 25.0, 40.0, 100.0, np.inf])
# Each further row may raise the log-loss of the core, summed over its rows, by this: as if one row
# that we trust had a probability of its class that is a tenth lower.
MOST_COST = 0.1
# Where the classes are far apart every loss is small, and only its ratio tells that the directions
# have turned.
MOST_RISE = 2.0
# No class of the core may lose more hits than one and this many standard errors of its errors.
HIT_TOLERANCE = 2.0
# The loss is the least over these factors of the squared distances: only their shape counts, not
# how confident they are.
SHARPNESS = np.geomspace(0.02, 2.0, 12)
LIKELY = int(np.searchsorted(SHARPNESS, 1.0)) - 1  # where to look first


class Judgement:
    """How the rows are classified by a support, each left out of its own fit.

    Parameters
    ----------
    core : ndarray of shape (c,)
        Weight of the core rows of each class.
    hits : ndarray of shape (c,)
        Weight of those that are classified correctly.
    others : float
        Weight of the other rows that are classified correctly.
    further : float
        Weight of the other rows in the support, over that of the core.
    least_loss : callable
        Returns the mean log-loss of the core, or a larger number that is not above the given one;
        only asked if all else is well.
    """

    def __init__(self, core, hits, others, further, least_loss):
        self.core = core
        self.hits = hits
        self.others = others
        self.further = further
        self.loss_up_to = least_loss

    @property
    def all_hits(self):
        """Weight of all rows that are classified correctly."""
        return self.hits.sum() + self.others

    @property
    def tells(self):
        """Whether the core can be classified without each of its rows: not if these are few."""
        return math.isfinite(self.loss)

    @cached_property
    def loss(self):
        """Mean log-loss of the core."""
        return self.loss_up_to(-np.inf)


@np.errstate(over="ignore", invalid="ignore")  # by rows that are far off
def harmless_level(rows, outlyingness, frame, shrinkage=None):
    """Return the level beyond which rows are left out: inf if none has to be.

    Parameters
    ----------
    rows : ArrayRows
    outlyingness : ndarray of shape (N,)
        At most 1 in the core.
    frame : Frame
        With the priors, and the units of features where the rows are few.
    shrinkage : float, optional
        Of the scatter; None is the one that few rows have.
    """
    core = outlyingness <= 1.0
    if core.all() or not np.bincount(rows.codes[core], minlength=rows.n_classes).all():
        return np.inf if core.all() else 1.0
    first, best, most = None, 0, 0.0
    step = np.searchsorted(LEVELS, outlyingness)  # the first level that has the row
    for k, verdict in enumerate(judgements(rows, step, len(LEVELS), frame, shrinkage)):
        if first is None:
            first, most = verdict, verdict.all_hits
        elif verdict is None:
            best += best == k - 1
        elif verdict.all_hits >= most and admissible(verdict, first):
            best, most = k, verdict.all_hits
    return float(LEVELS[best]) if best > 0 and first.tells else 1.0


def seen_level(outlyingness):
    """Return the first level that has all of some rows.

    A sample cannot vouch for rows that are farther off than any of its own.
    """
    return float(LEVELS[np.searchsorted(LEVELS, outlyingness.max())])


@np.errstate(over="ignore", invalid="ignore")
def does_harm(rows, core, wider, frame, shrinkage=None):
    """Return whether the further rows of a wider support cost the core more than they may.

    Parameters
    ----------
    rows : ArrayRows
    core, wider : ndarray of shape (N,), bool
    frame, shrinkage
        As in `harmless_level`.
    """
    step = np.where(core, 0, np.where(wider, 1, 2))
    verdicts = judgements(rows, step, 2, frame, shrinkage)
    first, second = next(verdicts, None), next(verdicts, None)
    return first is not None and second is not None and costs_too_much(second, first)


def judgements(rows, step, count, frame, shrinkage=None):
    """Yield how nested supports classify the rows, None for one that is the same as the last.

    They end with rows that are so far off that they cannot even be summed.

    Parameters
    ----------
    rows : ArrayRows
    step : ndarray of shape (N,), int
        The first support that has the row; the rows of support 0 are the core.
    count : int
        Of the supports.
    frame, shrinkage
        As in `harmless_level`.
    """
    regime, core = rows.regime, step == 0
    weights = np.ones(rows.shape[0]) if rows.sample_weight is None else rows.sample_weight
    X = np.ascontiguousarray(rows.X, np.float64)
    codes = rows.codes.astype(np.int32, copy=False)
    n_jobs = rows.n_jobs if X.size >= regime.threaded_elements else 1
    rows = ArrayRows(X, codes, rows.n_classes, weights, n_jobs, regime)
    few_rows = weights[core].sum() < regime.unshrunk_rows_per_feature * frame.n_features
    with shared_threads(n_jobs) as map_:
        rows, centres = about_core(rows, core, frame.scale, map_)
        levels = Levels(rows, step, count, map_)
        judge = Judge(rows, core, np.log(frame.priors), map_)
        unit = None if few_rows else core_units(levels.core, centres)
        for k, moments in levels:
            if moments is None:
                yield None
                continue
            if not math.isfinite(moments.scatter.trace()):
                return
            settings = frame.n_features, regime, unit, shrinkage
            discriminant = PlainLDA(moments, centres, *settings)
            yield judge(discriminant, levels.support(k))


class Levels:
    """The moments of the nested supports, made from those of the rows that each level adds.

    Parameters
    ----------
    rows : ArrayRows
    step : ndarray of shape (N,), int
        The first level that has the row.
    count : int
        Of the levels.
    map_ : callable
        As `serial_map`, perhaps on threads.

    Attributes
    ----------
    core : ClassMoments
        Of the first level.
    """

    def __init__(self, rows, step, count, map_):
        self._pieces = Pieces(rows, map_)
        self._step, self._count = step, count
        self.core = ClassMoments(*self._pieces.sums(self.support(0)))

    def support(self, k):
        """Return which rows are in level k."""
        return self._step <= k

    def __iter__(self):
        """Yield the levels and their moments, None if the support is that of the last level."""
        moments = self.core
        yield 0, moments
        for k in range(1, self._count):
            new = self._step == k
            if not new.any():
                yield k, None
                continue
            moments = moments.plus(self._pieces.sums(new))
            yield k, moments


def about_core(rows, core, scale, map_):
    """Return rows about the centres of their classes in the core, and these, in units of a scale.

    The centres are about their mean.
    """
    c, n = rows.n_classes, rows.shape[1]
    weights, sums = np.zeros(c), np.zeros((c, n))
    sample = start_kernels.Sample(rows.X, rows.codes, rows.sample_weight)
    sample.add_moments(0, len(core), core, weights, sums, np.empty((0, 0)))
    means = sums / weights[:, None]
    deviations, _ = in_units(rows, means, scale, map_=map_, farthest=np.inf)
    centre = weights @ means / weights.sum()
    return rows.with_features(deviations), (means - centre) / scale


def core_units(moments, centres):
    """Return the units of features in the core, relative to those of its moments.

    It is their deviation within the classes, or between them if they are constant within, or 1 if
    they are constant altogether.
    """
    shares = moments.weights / moments.weights.sum()
    _, scatter = moments.centred()
    within, between = scatter.diagonal() / moments.weights.sum(), shares @ centres**2
    unit, flat = units_of(within, between, centres)
    return np.where(flat & (between > 0.0), np.sqrt(between), unit)


class Judge:
    """Judges a discriminant by how it classifies the rows, each left out of its own fit.

    Parameters
    ----------
    rows : ArrayRows
    core : ndarray of shape (N,), bool
    log_priors : ndarray of shape (c,)
    map_ : callable
        As `serial_map`, perhaps on threads.
    """

    def __init__(self, rows, core, log_priors, map_):
        n_rows, n = rows.shape
        self._all_others = rows.sample_weight * ~core
        self._core_weight = float(rows.sample_weight @ core)
        step = 1 + n_rows * max(n, len(log_priors)) // rows.regime.most_judged
        self._judged = slice(None)
        if step > 1:
            # As many of each class, in the core and outside, whatever the order of the rows.
            self._judged = np.lexsort((core, rows.codes))[::step]
            rows, core = rows.take(self._judged), core[self._judged]
        self._pieces = Pieces(rows, map_)
        # A row of weight k is k rows, of which one is left out.
        self._at_most_one = np.minimum(rows.sample_weight, 1.0)
        self._rows = rows.codes, rows.sample_weight, core
        self._log_priors = log_priors
        self._sharpness = LIKELY
        self._core_weights = np.bincount(rows.codes, rows.sample_weight * core, len(log_priors))

    def __call__(self, discriminant, support):
        """Return the `Judgement` on a discriminant with a support of shape (N,)."""
        left_out = self._at_most_one * support[self._judged]
        distances = discriminant.distances(self._pieces, left_out)
        hits = np.zeros((2, len(self._log_priors)))
        judgement.add_hits(distances, *self._rows, self._log_priors, hits)
        others, core = hits
        further = float(self._all_others @ support) / self._core_weight
        loss = partial(self._least_loss, distances)
        return Judgement(self._core_weights, core, float(others.sum()), further, loss)

    def _least_loss(self, distances, enough):
        """Return the least log-loss of the core over all sharpnesses, in which it is convex.

        Or a larger one that is not above `enough`.
        """
        weight = self._core_weights.sum()

        def loss(k):
            rows = distances, *self._rows
            return judgement.log_loss(*rows, self._log_priors, SHARPNESS[k]) / weight

        k, least = self._sharpness, loss(self._sharpness)
        for step in (1, -1):
            while not least <= enough and 0 <= k + step < len(SHARPNESS):
                further = loss(k + step)
                if not further < least:
                    break
                k, least = k + step, further
        self._sharpness = k
        return least


def admissible(verdict, first):
    """Return whether a support classifies the core as well as the core alone, `first`."""
    errors = np.maximum(first.core - first.hits, 1.0)
    allowed = 1.0 + HIT_TOLERANCE * np.sqrt(errors)
    if np.any(first.hits - verdict.hits > allowed) or not first.tells:
        return False
    most = min(MOST_RISE * first.loss, most_loss(verdict, first))
    return bool(verdict.loss_up_to(most) <= most)


def costs_too_much(verdict, first):
    """Return whether the further rows of a support cost the core more than they may."""
    most = most_loss(verdict, first)
    return bool(verdict.loss_up_to(most) > most)


def most_loss(verdict, first):
    """Return the loss up to which the further rows of a support do not cost too much."""
    return first.loss + MOST_COST * verdict.further
