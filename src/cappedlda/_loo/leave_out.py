"""Leave out only what hurts: the least trimming that does not harm the rows we trust.

The rows inside gate and caps are the *core*: rows we trust. Every other row is unusual, which alone
is no reason to leave it out. The supports {ratio <= level} are nested. Plain LDA on each of
them is judged on the core, every row left out of its own fit. A level is admissible if it
classifies the core about as well as the core alone does. The fit takes the admissible level that
classifies most rows correctly. Contamination cannot buy its way in, since the core decides what is
admissible.
"""

import math
from bisect import bisect_right
from functools import cached_property, partial

import numpy as np

from cappedlda._data.array import ArrayRows
from cappedlda._data.moments import Moments
from cappedlda._data.threads import shared_threads
from cappedlda._initial.dense import Pieces
from cappedlda._initial.standardize import in_units
from cappedlda._kernels import initial as initial_kernels
from cappedlda._kernels import loo
from cappedlda._loo.distances import PlainLDA
from cappedlda._metrics.plain import units_of
from cappedlda._rules.fences import FLAG_LEVEL

# Nested supports, in units of gate and cap; rows are flagged beyond the second.
LEVELS = np.array([1.0, FLAG_LEVEL, 2.2, 3.3, 5.0, 10.0, 100.0, np.inf])
# Each further row may raise the total log-loss of the core by this, as if the class of one row that
# we trust became a tenth less probable. And ten further rows may cost the core one correct row.
MOST_COST = 0.1
# Where a support costs this many times as much as all further rows may, no wider one is tried.
HOPELESS = 4.0
# Supports whose weights differ by less than this share of the core's are judged together, widest
# first; a narrower one only if that does harm.
LEAST_STEP = 0.002
# Standard errors beyond which a loss of correct rows is not chance.
SURE = 2.0
# The loss is the least over these factors of the squared distances, so only their shape counts,
# not how confident they are.
SHARPNESS = np.geomspace(0.02, 2.0, 12)
LIKELY = int(np.searchsorted(SHARPNESS, 1.0)) - 1  # where to look first
TRIED = 1000  # rows at most by which it is found
# A smaller variance within the core, in units of the frame, may be rounding.
LEAST_KNOWN = 1e-6


class Scores:
    """How rows are classified by squared leave-one-out distances from all classes.

    The rows are in the order of nested supports, which end at `ends`; the first support is the
    core. `measure(first, stop)` returns the distances (k, c) of some rows. The search for the best
    sharpness starts at `near`: a good guess saves steps.
    """

    def __init__(self, measure, codes, weights, ends, log_priors, near=LIKELY):
        self._measure, self._codes, self._weights = measure, codes, weights
        self._ends, self._log_priors, self._near = ends, log_priors, near

    def _classified(self, first, stop):
        """Return distances, codes and weights of some rows, and the priors."""
        known = self._codes[first:stop], self._weights[first:stop], self._log_priors
        return self._measure(first, stop), *known

    @cached_property
    def _core(self):
        return self._classified(0, self._ends[0])

    @cached_property
    def _core_weight(self):
        return self._weights[: self._ends[0]].sum()

    def hits(self, step):
        """Return the weight of the rows of a support that are classified correctly."""
        first, stop = self._ends[0], self._ends[step]
        return self.core_hits + (loo.hits(*self._classified(first, stop)) if stop > first else 0.0)

    @cached_property
    def core_hits(self):
        """Weight of the rows of the core that are classified correctly."""
        return loo.hits(*self._core)

    def loses(self, core, further):
        """Return whether further rows do harm to the core, by its correct rows.

        Their weight is relative to that of the core, which has the scores `core` without them.
        """
        return harm(core.core_hits - self.core_hits, further * self._core_weight) > 0.0

    @cached_property
    def loss(self):
        """Mean log-loss of the core; not finite if the core is too small for leave-one-out."""
        near, (*rows, log_priors) = self._near, self._core
        if self._ends[0] > TRIED:  # a part tells where to look; the loss has one minimum
            step = self._ends[0] // TRIED + 1
            part = [np.ascontiguousarray(array[::step]) for array in rows]
            *_, (_, _, near) = losses_downhill((*part, log_priors), near)
        *_, (least, _, self._near) = losses_downhill(self._core, near)
        return least / self._core_weight

    def costs_more(self, core, *prices):
        """Return if the mean log-loss of the core is above that of other scores and each price.

        The loss is convex in the sharpness: its slope tells how far it may fall at most.
        """
        limits = [(core.loss + price) * self._core_weight for price in prices]
        for loss, slope, k in losses_downhill(self._core, core._near):
            least = loss + slope * (SHARPNESS[-1 if slope < 0.0 else 0] - SHARPNESS[k])
            if all(loss <= limit or least > limit for limit in limits):
                break
        return [not loss <= limit for limit in limits]

    @property
    def temperature(self):
        """Factor of all scores, at most 1, with the least log-loss of the rows not flagged.

        It changes no predicted class, only the confidence. The core alone would choose too large a
        factor, since the first rows beyond it are classified worse.
        """
        stop = self._ends[1]  # the first level beyond the core is FLAG_LEVEL
        parts = self._core[0], self._measure(self._ends[0], stop)
        scores = np.concatenate(parts) - 2.0 * self._log_priors
        tempered = scores, self._codes[:stop], self._weights[:stop], np.zeros(scores.shape[1])
        *_, (_, _, best) = losses_downhill(tempered, LIKELY, LIKELY + 2)
        return min(float(SHARPNESS[best]), 1.0)


def losses_downhill(classified, k, stop=None):
    """Yield log-losses of rows, their slopes and which sharpnesses, from the k-th on."""
    loss, slope = loo.log_loss(*classified, SHARPNESS[k])
    yield loss, slope, k
    forward, least = 1 if slope < 0.0 else -1, loss
    while forward * slope < 0.0 and 0 <= k + forward < (stop or len(SHARPNESS)):
        k += forward
        loss, slope = loo.log_loss(*classified, SHARPNESS[k])
        if not loss < least:
            return
        yield loss, slope, k
        least = loss


@np.errstate(over="ignore", invalid="ignore")  # by rows that are far off
def harmless_level(rows, ratios, frame, shrinkage=0.0, known=None):
    """Return the multiple of caps and gate beyond which rows are left out, and a temperature.

    The level is inf if no row is left out. The temperature is the factor of the class scores that
    makes probabilities no more confident than they should be. The ratios (N,) are at most 1 in
    the core. The frame has the priors, and the units of features if there are few rows. The scatter
    is shrunk by `shrinkage`. `known` may be the result of `known_core`.
    """
    counted = rows.row_weights > 0.0
    if not counted.all():
        rows, ratios = rows.take(counted), ratios[counted]
    if ratios.max() <= FLAG_LEVEL:  # where no row is flagged, none is left out
        return np.inf, 1.0
    core = ratios <= 1.0
    if not np.bincount(rows.codes[core], minlength=rows.n_classes).all():
        return 1.0, 1.0
    order, ends = nested(np.searchsorted(LEVELS, ratios), len(LEVELS))
    with shared_threads(threads_for(rows)) as map_:
        supports = scored_supports(rows, order, ends, frame, shrinkage, known, map_)
        _, core, _ = next(supports)
        harmless, hopeless = {0: core}, False  # the levels that cost the core no more than they may
        for step in steps_of(supports):
            for k, scores, further in step:
                too_much, never = costs_too_much(scores, core, *further)
                hopeless |= never
                if not too_much:
                    harmless[k] = scores
                    break
            if hopeless:
                break
        if not math.isfinite(core.loss):
            return 1.0, 1.0
        # Rows beyond all of these levels are out in any case, and do not count.
        widest = max(harmless)
        best = max(harmless, key=lambda k: (harmless[k].hits(widest), k))
        # A wider level may have the same rows.
        level = float(LEVELS[bisect_right(ends, ends[best]) - 1])
        return level, 1.0 if level == np.inf else harmless[best].temperature


def steps_of(supports):
    """Yield scored supports by steps of some size, the widest of each first.

    Of those with few more rows than the last, the widest tells enough if it is harmless.
    """
    step, last = [], 0.0
    for support in supports:
        step.insert(0, support)
        _, _, (further, _) = support
        if further - last >= LEAST_STEP:
            yield step
            step, last = [], further
    if step:
        yield step


@np.errstate(over="ignore", invalid="ignore")
def vouched_level(ratios, level):
    """Return the level up to which a sample can vouch for rows that are not in it.

    The sample has judged rows up to its farthest row within the level. It knows nothing of the gap
    beyond, where other rows may lie. So the level is at most one step beyond that row.
    """
    farthest = ratios.max(where=ratios <= level, initial=1.0)
    return min(level, float(LEVELS[1] * farthest))


@np.errstate(over="ignore", invalid="ignore")  # by rows that are far off
def right_rows(rows, support, judged, frame, shrinkage=0.0):
    """Return which of the judged rows LDA on a support classifies correctly.

    Each row of the support (N,) is left out of its own fit. `judged` has numbers of rows. The
    result is None if the support is too far off to be summed. For frame and shrinkage see
    `harmless_level`.
    """
    with shared_threads(threads_for(rows)) as map_:
        rows = as_judged(rows)
        means = core_means(rows, support)
        rows = rows.with_features(in_units(rows, means, frame.scale, map_, np.inf)[0])
        moments = Moments(*Pieces(rows, map_).sums(support))
        if not math.isfinite(moments.scatter.trace()):
            return None
        centres = (means - moments.weights @ means / moments.total) / frame.scale
        few_rows = moments.total < rows.regime.unshrunk_rows_per_feature * frame.n_features
        unit = None if few_rows else core_units(moments, centres)
        lda = PlainLDA(moments, centres, frame.n_features, unit, shrinkage)
        left_out = np.minimum(rows.row_weights, 1.0) * support
        if len(judged) < rows.shape[0]:
            rows, left_out = rows.take(judged), left_out[judged]
        distances = lda.distances(Pieces(rows, map_), left_out)
    return (distances - 2.0 * np.log(frame.priors)).argmin(axis=1) == rows.codes


def harm(lost, further):
    """Return how many correct rows are lost beyond chance and what further rows may cost."""
    return lost - SURE * math.sqrt(max(lost, 0.0)) - MOST_COST * further


def nested(step, count):
    """Return rows in the order of nested supports, and where each of these ends.

    The step (N,) is the first support that has the row; rows of no support are left out.
    """
    ends = np.bincount(step, minlength=count)[:count].cumsum().tolist()
    # Small integers are sorted in linear time.
    return np.argsort(step.astype(np.uint8), kind="stable")[: ends[-1]], ends


def threads_for(rows):
    """Return the threads for rows: few are judged faster by one."""
    n_rows, n = rows.shape
    return rows.n_jobs if n_rows * n >= rows.regime.threaded_elements else 1


def scored_supports(rows, order, ends, frame, shrinkage, known, map_):
    """Yield number and scores of nested supports, and the weight outside the core, here and in all.

    Order and ends are those of `nested`; support 0 is the core. Weights are relative to that of the
    core. A support equal to the last one is not scored. The supports end before rows so far off
    that their sums overflow. For the other arguments see `harmless_level`.
    """
    rows = as_judged(rows)
    means = core_means(rows, order[: ends[0]]) if known is None else known.centres
    rows, centres = about_core(rows, order, ends[0], means, frame.scale, map_)
    totals = rows.sample_weight.cumsum()[np.subtract(ends, 1)]
    further = ((totals - totals[0]) / totals[0]).tolist()
    few_rows = totals[0] < rows.regime.unshrunk_rows_per_feature * frame.n_features
    pieces, everything = Pieces(rows, map_), np.ones(rows.shape[0], bool)
    moments = known
    if known is None:
        moments = Moments(*pieces.between(0, ends[0]).sums(everything))
    unit = None if few_rows else core_units(moments, centres)
    chosen, judged, judged_ends, judged_pieces = judged_rows(rows), rows, ends, pieces
    if len(chosen) < rows.shape[0]:  # in the order of the supports, so near and far
        judged, judged_ends = rows.take(chosen), np.searchsorted(chosen, ends).tolist()
        judged_pieces = Pieces(judged, map_)
    # A row of weight k is k rows, of which one is left out.
    at_most_one = np.minimum(judged.sample_weight, 1.0)
    scored = judged.codes, judged.sample_weight, judged_ends, np.log(frame.priors)
    made = {}  # only of supports whose scores are looked at

    def measure(k, moments, first, stop):
        if k not in made:
            left_out = at_most_one.copy()
            left_out[judged_ends[k] :] = 0.0
            settings = frame.n_features, unit, shrinkage
            made[k] = PlainLDA(moments, centres, *settings), left_out
        discriminant, left_out = made[k]
        return discriminant.distances(judged_pieces.between(first, stop), left_out)

    for k, end in enumerate(ends):
        if k > 0:
            if end == ends[k - 1]:
                continue
            moments += Moments(*pieces.between(ends[k - 1], end).sums(everything))
        if not math.isfinite(moments.scatter.trace()):
            return
        scores = Scores(partial(measure, k, moments), *scored)
        yield k, scores, (further[k], further[-1])


def as_judged(rows):
    """Return rows of the types that the kernels take."""
    X, codes = np.ascontiguousarray(rows.X, np.float64), rows.codes.astype(np.int32, copy=False)
    return ArrayRows(X, codes, rows.n_classes, rows.sample_weight, rows.n_jobs, rows.regime)


def core_means(rows, core):
    """Return the means of the classes in the core, a mask or numbers of rows."""
    kept = np.zeros(rows.shape[0], bool)
    kept[core] = True
    weights, sums = np.zeros(rows.n_classes), np.zeros((rows.n_classes, rows.shape[1]))
    sample = initial_kernels.Sample(rows.X, rows.codes, rows.sample_weight)
    sample.add_moments(kept, 0, len(kept), weights, sums, np.empty((0, 0)))
    return sums / weights[:, None]


def about_core(rows, order, end, means, scale, map_):
    """Return rows about their class means in the core, and these means, in units of a scale.

    The rows are in another order, in which the core ends at `end`. The means are about their mean.
    """
    deviations, _ = in_units(rows, means, scale, map_, np.inf, order)
    known = rows.codes[order], rows.n_classes, rows.row_weights[order], rows.n_jobs, rows.regime
    rows = ArrayRows(deviations, *known)
    weights = np.bincount(rows.codes[:end], rows.sample_weight[:end], rows.n_classes)
    return rows, (means - weights @ means / weights.sum()) / scale


def known_core(reweighted, core, scale):
    """Return the moments of the core in units of a scale, if plain LDA was fitted to it, or None.

    They are about the class means of the core. They are None if a feature is flat, as only rounding
    is then left of it.
    """
    within = reweighted.within
    if core.all() or not within.dense:  # nothing to judge, or no way to
        return None
    covariance = within.covariance
    if not covariance.diagonal().min() > LEAST_KNOWN:
        return None
    if reweighted.mask is None or not np.array_equal(reweighted.mask, core):
        return None
    unit, centres = within.scale / scale * np.sqrt(within.weights.sum()), reweighted.frame.centres
    scatter = covariance * unit * unit[:, None]
    return Moments(within.weights, np.zeros_like(centres), scatter, centres)


def core_units(moments, centres):
    """Return the units of features in the core, relative to those of its moments.

    A unit is the deviation within the classes, or between them for a feature that is constant
    within, or 1 for a constant feature.
    """
    total = moments.weights.sum()
    within, between = moments.scatter.diagonal() / total, moments.weights @ centres**2 / total
    unit, flat = units_of(within, between, centres)
    return np.where(flat & (between > 0.0), np.sqrt(between), unit)


def judged_rows(rows):
    """Return the numbers of the rows by which supports are judged.

    If there are many rows, these are the same part of each class.
    """
    n_rows, n = rows.shape
    part = 1 + n_rows * max(n, rows.n_classes) // rows.regime.most_judged
    return np.arange(n_rows) if part == 1 else np.sort(rows.class_order()[::part])


def costs_too_much(scores, core, further, all_further):
    """Return whether further rows cost the core more than they may, and whether it is hopeless.

    The core alone has the scores `core`.
    """
    weights = further, HOPELESS * all_further
    lost = [scores.loses(core, weight) for weight in weights]
    if all(lost):
        return lost
    costs = scores.costs_more(core, *(MOST_COST * weight for weight in weights))
    return [a or b for a, b in zip(lost, costs, strict=True)]
