"""Leave out only what hurts: the least trimming that does not harm the rows we trust.

The rows inside gate and caps are the *core*: rows we trust. Every other row is unusual, which
alone is no reason to leave it out. The supports {outlyingness <= level} are nested; plain
discriminant analysis on each of them is judged on the core, every row left out of its own fit. A
level is admissible if the core is classified as well as by the core alone. Of the admissible
levels the one is taken that classifies most rows correctly: contamination cannot buy its way in,
since the core decides what is admissible.
"""

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cappedlda._data.array import ArrayRows
from cappedlda._data.threads import serial_map, shared_threads
from cappedlda._initial.csteps import Pieces
from cappedlda._initial.standardize import in_units
from cappedlda._kernels import judgement
from cappedlda._kernels import start as start_kernels
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
# Many rows are judged by those of doubt first: one in so many, if they are as many as this and have
# at least this share of the loss. What these lose too much, all do.
DOUBTFUL_PART, LEAST_DOUBTFUL, DOUBTFUL_LOSS = 8, 100, 0.9
# A variance within the core that is smaller, in units of the frame, may be rounding.
LEAST_KNOWN = 1e-6


class Judgement:
    """How rows are classified by a support, each left out of its own fit.

    Parameters
    ----------
    rows : JudgedRows
    discriminant : PlainLDA
        Of the support.
    support : ndarray of shape (N,), bool
    further : float
        Weight of the rows outside the core in the support, over that of the core.
    """

    def __init__(self, rows, discriminant, support, further):
        self._rows = rows
        self._fit = discriminant, support
        self.further = further

    def by(self, rows):
        """Return how other rows are classified by the same support."""
        return Judgement(rows, *self._fit, self.further)

    @cached_property
    def _distances(self):
        return self._rows.distances(*self._fit)

    @cached_property
    def _hits(self):
        return self._rows.hits(self._distances)

    @property
    def core(self):
        """Weight of the core rows of each class, shape (c,)."""
        return self._rows.core_weights

    @property
    def hits(self):
        """Weight of those that are classified correctly, shape (c,)."""
        return self._hits[1]

    @property
    def all_hits(self):
        """Weight of all rows that are classified correctly."""
        return self._hits.sum()

    @property
    def tells(self):
        """Whether the core can be classified without each of its rows: not if these are few."""
        return math.isfinite(self.loss)

    @cached_property
    def _least(self):
        return self._rows.least_loss(self._distances)

    @property
    def loss(self):
        """Mean log-loss of the core."""
        return self._least[0]

    def loss_up_to(self, enough):
        """Return the mean log-loss of the core, or a larger number that is not above `enough`."""
        return self._rows.least_loss(self._distances, enough)[0]

    @cached_property
    def doubtful(self):
        """The few rows that have nearly all of the loss, or None if these are not few."""
        return self._rows.part_with(self._least[1]) if self._rows.are_many else None


@np.errstate(over="ignore", invalid="ignore")  # by rows that are far off
def harmless_level(rows, outlyingness, frame, shrinkage=None, known=None):
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
    known : KnownCore, optional
    """
    core = outlyingness <= 1.0
    if core.all() or not np.bincount(rows.codes[core], minlength=rows.n_classes).all():
        return np.inf if core.all() else 1.0
    first, best, most = None, 0, 0.0
    step = np.searchsorted(LEVELS, outlyingness)  # the first level that has the row
    for k, verdict in enumerate(judgements(rows, step, len(LEVELS), frame, shrinkage, known)):
        if first is None:
            first, most = verdict, verdict.all_hits
        elif verdict is None:
            best += best == k - 1
        elif admissible(verdict, first, most):
            best, most = k, verdict.all_hits
    return float(LEVELS[best]) if best > 0 and first.tells else 1.0


def vouched_level(outlyingness, level):
    """Return the level up to which a sample can vouch for rows that are not in it.

    It has judged those up to its farthest row within the level, and knows nothing of a gap beyond:
    there other rows may lie, up to the edge of what is left out. So the level is not more than one
    step farther than that row.

    Parameters
    ----------
    outlyingness : ndarray of shape (N,)
        Of the sample; at most 1 in the core.
    level : float
        That harms none of the sample.
    """
    farthest = outlyingness.max(where=outlyingness <= level, initial=1.0)
    return min(level, float(LEVELS[1] * farthest))


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


def judgements(rows, step, count, frame, shrinkage=None, known=None):
    """Yield how nested supports classify the rows, None for one that is the same as the last.

    They end with rows that are so far off that they cannot even be summed.

    Parameters
    ----------
    rows : ArrayRows
    step : ndarray of shape (N,), int
        The first support that has the row; the rows of support 0 are the core.
    count : int
        Of the supports.
    frame, shrinkage, known
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
        means = core_means(rows, core) if known is None else known.means
        rows, centres = about_core(rows, core, means, frame.scale, map_)
        levels = Levels(rows, step, count, map_, None if known is None else known.moments)
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
    core : ClassMoments, optional
        Of the first level, if they are known.

    Attributes
    ----------
    core : ClassMoments
        Of the first level.
    """

    def __init__(self, rows, step, count, map_, core=None):
        self._pieces = Pieces(rows, map_)
        self._step, self._count = step, count
        self.core = ClassMoments(*self._pieces.sums(self.support(0))) if core is None else core

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


def core_means(rows, core):
    """Return the means of the classes in the core."""
    c, n = rows.n_classes, rows.shape[1]
    weights, sums = np.zeros(c), np.zeros((c, n))
    sample = start_kernels.Sample(rows.X, rows.codes, rows.sample_weight)
    sample.add_moments(0, len(core), core, weights, sums, np.empty((0, 0)))
    return sums / weights[:, None]


def about_core(rows, core, means, scale, map_):
    """Return rows about the means of their classes in the core, and these, in units of a scale.

    The means are about their own.
    """
    deviations, _ = in_units(rows, means, scale, map_=map_, farthest=np.inf)
    weights = np.bincount(rows.codes, rows.sample_weight * core, rows.n_classes)
    centre = weights @ means / weights.sum()
    return rows.with_features(deviations), (means - centre) / scale


class KnownCore(NamedTuple):
    """Means and moments of the core, where plain LDA has been made on it.

    Attributes
    ----------
    means : ndarray of shape (c, n)
    moments : ClassMoments
        About these, in the units of a frame.
    """

    means: np.ndarray
    moments: ClassMoments

    @classmethod
    def of(cls, reweighted, core, scale):
        """Return that of plain LDA about the means of a support, or None if this is not the core.

        Nor is it known where a feature is flat: what passes over rows leave of it is rounding.

        Parameters
        ----------
        reweighted : Reweighted
        core : ndarray of shape (N,), bool
        scale : ndarray of shape (n,)
        """
        within, centres = reweighted.within, reweighted.measure.frame.centres
        if core.all():
            return None  # nothing to judge
        if within is None or not within.matrix.diagonal().min() > LEAST_KNOWN:
            return None
        if reweighted.mask is None or not np.array_equal(reweighted.mask, core):
            return None
        unit = within.scale / scale * np.sqrt(within.weight.sum())
        moments = within.weight, np.zeros_like(centres), within.matrix * unit * unit[:, None]
        return cls(centres, ClassMoments(*moments))


def core_units(moments, centres):
    """Return the units of features in the core, relative to those of its moments about its means.

    It is their deviation within the classes, or between them if they are constant within, or 1 if
    they are constant altogether.
    """
    total = moments.weights.sum()
    within, between = moments.scatter.diagonal() / total, moments.weights @ centres**2 / total
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
        self._others = rows.sample_weight * ~core
        self._core_weight = float(rows.sample_weight @ core)
        step = 1 + n_rows * max(n, len(log_priors)) // rows.regime.most_judged
        judged = slice(None)
        if step > 1:
            # As many of each class, in the core and outside, whatever the order of the rows.
            judged = np.lexsort((core, rows.codes))[::step]
            rows, core = rows.take(judged), core[judged]
        core_weights = np.bincount(rows.codes, rows.sample_weight * core, len(log_priors))
        self._rows = JudgedRows(rows, core, judged, log_priors, core_weights, map_)

    def __call__(self, discriminant, support):
        """Return the `Judgement` on a discriminant with a support of shape (N,)."""
        further = float(self._others @ support) / self._core_weight
        return Judgement(self._rows, discriminant, support, further)


class JudgedRows:
    """Rows by which discriminants are judged.

    Parameters
    ----------
    rows : ArrayRows
    core : ndarray of shape (k,), bool
    numbers : ndarray of shape (k,), int, or slice
        Of the rows, in the supports.
    log_priors : ndarray of shape (c,)
    core_weights : ndarray of shape (c,)
        Over the sum of which losses are means: that of these rows, or of more.
    map_ : callable
        As `serial_map`, perhaps on threads.

    Attributes
    ----------
    numbers, core_weights
        As given.
    """

    def __init__(self, rows, core, numbers, log_priors, core_weights, map_=serial_map):
        self._all, self._pieces = rows, Pieces(rows, map_)
        self.numbers = numbers
        # A row of weight k is k rows, of which one is left out.
        self._at_most_one = np.minimum(rows.sample_weight, 1.0)
        self._rows = rows.codes, rows.sample_weight, core
        self._log_priors = log_priors
        self._sharpness = LIKELY
        self.core_weights = core_weights

    def distances(self, discriminant, support):
        """Return the squared distances from all classes, shape (k, c), without each of the rows."""
        left_out = self._at_most_one * support[self.numbers]
        return discriminant.distances(self._pieces, left_out)

    def hits(self, distances):
        """Return the weight of hits outside the core and in it, by class, shape (2, c)."""
        hits = np.zeros((2, len(self._log_priors)))
        judgement.add_hits(distances, *self._rows, self._log_priors, hits)
        return hits

    def least_loss(self, distances, enough=-np.inf):
        """Return the least log-loss of the core over all sharpnesses, in which it is convex.

        Or a larger one that is not above `enough`. It is the mean over the core; the losses of
        the rows, shape (k,), are returned too.
        """
        k = self._sharpness
        least, slope, losses = self._loss(distances, k)
        step = 1 if slope < 0.0 else -1
        while not (least <= enough or step * slope >= 0.0) and 0 <= k + step < len(SHARPNESS):
            further, slope, others = self._loss(distances, k + step)
            if not further < least:
                break
            k, least, losses = k + step, further, others
        self._sharpness = k
        return least, losses

    def _loss(self, distances, k):
        losses = np.empty(len(distances))
        settings = self._log_priors, SHARPNESS[k], losses
        total, slope = judgement.log_loss(distances, *self._rows, *settings)
        return total / self.core_weights.sum(), slope, losses

    @property
    def are_many(self):
        """Whether a part of them is worth looking at first."""
        return self._pieces.shape[0] >= DOUBTFUL_PART * LEAST_DOUBTFUL

    def part_with(self, losses):
        """Return the few rows that have nearly all of some losses, or None if these are not few."""
        count = len(losses) // DOUBTFUL_PART
        largest = np.sort(np.argpartition(losses, -count)[-count:])
        if not losses[largest].sum() > DOUBTFUL_LOSS * losses.sum():
            return None
        numbers = largest if isinstance(self.numbers, slice) else self.numbers[largest]
        rows, core = self._all.take(largest), self._rows[2][largest]
        part = JudgedRows(rows, core, numbers, self._log_priors, self.core_weights)
        part._sharpness = self._sharpness
        return part


def admissible(verdict, first, hits):
    """Return whether a support classifies the core as well as the core alone, `first`.

    And at least as many of all rows as `hits`.
    """
    if first.doubtful is not None and loses_too_much(verdict.by(first.doubtful), first):
        return False
    errors = np.maximum(first.core - first.hits, 1.0)
    allowed = 1.0 + HIT_TOLERANCE * np.sqrt(errors)
    if verdict.all_hits < hits or np.any(first.hits - verdict.hits > allowed) or not first.tells:
        return False
    return not loses_too_much(verdict, first)


def loses_too_much(verdict, first):
    """Return whether the loss of the core is higher than a support may make it."""
    most = min(MOST_RISE * first.loss, most_cost(verdict, first))
    return not verdict.loss_up_to(most) <= most


def costs_too_much(verdict, first):
    """Return whether the further rows of a support cost the core more than they may."""
    most = most_cost(verdict, first)
    return bool(verdict.loss_up_to(most) > most)


def most_cost(verdict, first):
    """Return the loss of the core if each further row of a support cost it as much as it may."""
    return first.loss + MOST_COST * verdict.further
