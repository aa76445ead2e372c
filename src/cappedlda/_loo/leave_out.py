"""Leave out only what hurts: the least trimming that does not harm the rows we trust.

The rows inside gate and caps are the *core*: rows we trust. Every other row is unusual, which
alone is no reason to leave it out. The supports {outlyingness <= level} are nested; plain
discriminant analysis on each of them is judged on the core, every row left out of its own fit. A
level is admissible if the core is classified about as well as by the core alone. Of the admissible
levels the one is taken that classifies most rows correctly: contamination cannot buy its way in,
since the core decides what is admissible.
"""

import math
from functools import cached_property

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

# Nested supports, in units of gate and cap: each about half as wide again as the one before.
LEVELS = np.array([1.0, 1.5, 2.2, 3.3, 5.0, 7.5, 11.0, 17.0, 25.0, 40.0, 100.0, np.inf])
# Each further row may raise the log-loss of the core, summed over its rows, by this: as if one row
# that we trust had a probability of its class that is a tenth lower. And ten further rows may cost
# the core one that is classified correctly.
MOST_COST = 0.1
# Standard errors of the number of rows that the core loses beyond which it has lost any.
SURE = 2.0
# The loss is the least over these factors of the squared distances: only their shape counts, not
# how confident they are.
SHARPNESS = np.geomspace(0.02, 2.0, 12)
LIKELY = int(np.searchsorted(SHARPNESS, 1.0)) - 1  # where to look first
# A variance within the core that is smaller, in units of the frame, may be rounding.
LEAST_KNOWN = 1e-6


class Scores:
    """How rows are classified by squared leave-one-out distances (N, c) from all classes.

    The step (N,) is the first of some nested supports that has the row; 0 is the core, the rows we
    trust. Of the sharpnesses one is looked at first: the nearer it is, the fewer steps.
    """

    def __init__(self, distances, codes, weights, step, log_priors, near=LIKELY):
        self._distances, self._codes, self._log_priors = distances, codes, log_priors
        self._weights, self._step = weights, step
        self._core = weights * (step == 0)  # and 0 for other rows
        self._core_weight = self._core.sum()
        self._near = near

    def hits(self, step):
        """Return the weight of the rows of a support that are classified correctly."""
        weights = self._weights * (self._step <= step)
        return loo.hits(self._distances, self._codes, weights, self._log_priors)

    @cached_property
    def core_hits(self):
        """Weight of the rows of the core that are classified correctly."""
        return self.hits(0)

    def loses(self, core, price):
        """Return whether surely more of the core than a price is no longer classified correctly.

        It was by other scores, `core`; the price is over the weight of the core.
        """
        lost = max(core.core_hits - self.core_hits, 0.0)
        return lost - SURE * math.sqrt(lost) > price * self._core_weight

    @cached_property
    def loss(self):
        """Mean log-loss of the core; not finite where it is too small to be left out of itself."""
        return self._least[0] / self._core_weight

    @cached_property
    def _least(self):
        """The least log-loss of the core over the sharpnesses, and which of them has it."""
        *_, (least, _, self._near) = self._losses()
        return least, self._near

    def costs_more(self, core, price):
        """Return whether the mean log-loss of the core is above that of other scores and a price.

        The loss is convex in the sharpness: its slope tells how far it may fall at most.
        """
        most, self._near = (core.loss + price) * self._core_weight, core._near
        for loss, slope, k in self._losses():
            last = SHARPNESS[-1 if slope < 0.0 else 0]
            if loss <= most or loss + slope * (last - SHARPNESS[k]) > most:
                return not loss <= most
        return True

    @property
    def temperature(self):
        """Factor of all scores, at most 1, with the least log-loss of the rows not flagged.

        It changes no decision between classes, only how confident it is. The core alone would
        choose too large a factor: the first rows beyond it are classified worse.
        """
        scores, priors = self._distances - 2.0 * self._log_priors, np.zeros_like(self._log_priors)
        # The first level beyond the core is FLAG_LEVEL.
        known = self._codes, self._weights, np.maximum(self._step - 1, 0)
        tempered = Scores(scores, *known, priors, self._near)
        return min(float(SHARPNESS[tempered._least[1]]), 1.0)

    def _losses(self):
        """Yield log-losses of the core, their slopes and which sharpnesses, going downhill."""
        k = self._near
        loss, slope = self._loss(k)
        yield loss, slope, k
        forward, least = 1 if slope < 0.0 else -1, loss
        while forward * slope < 0.0 and 0 <= k + forward < len(SHARPNESS):
            k += forward
            loss, slope = self._loss(k)
            if not loss < least:
                return
            yield loss, slope, k
            least = loss

    def _loss(self, k):
        """Return the log-loss of the core, and how it grows with the sharpness."""
        found = self._distances, self._codes, self._core, self._log_priors
        return loo.log_loss(*found, SHARPNESS[k])


@np.errstate(over="ignore", invalid="ignore")  # by rows that are far off
def harmless_level(rows, outlyingness, frame, shrinkage=0.0, known=None):
    """Return the multiple of caps and gate beyond which rows are left out, and a temperature.

    The level is inf if no row has to be; the temperature is the factor of the scores of classes
    that makes probabilities as confident as they may be. The outlyingness (N,) is at most 1 in the
    core; the frame has the priors, and the units of features where the rows are few. The scatter
    is shrunk, and moments may be those of `known_core`.
    """
    core = outlyingness <= 1.0
    if core.all() or not np.bincount(rows.codes[core], minlength=rows.n_classes).all():
        return (np.inf if core.all() else 1.0), 1.0
    step = np.searchsorted(LEVELS, outlyingness)  # the first level that has the row
    scored = scored_supports(rows, step, len(LEVELS), frame, shrinkage, known)
    harmless = {}  # the levels whose rows cost the core no more than they may
    for k, (scores, further) in enumerate(scored):
        if scores is None:  # the same rows as before
            if k - 1 in harmless:
                harmless[k] = harmless[k - 1]
        elif k == 0 or not costs_too_much(scores, further, harmless[0]):
            harmless[k] = scores
    if not math.isfinite(harmless[0].loss):
        return 1.0, 1.0
    # Rows beyond all of these levels are out whatever is chosen, and have no say in it.
    widest = max(harmless)
    best = max(harmless, key=lambda k: (harmless[k].hits(widest), k))
    level, chosen = float(LEVELS[best]), harmless[best]
    return level, 1.0 if level == np.inf else chosen.temperature


@np.errstate(over="ignore", invalid="ignore")
def vouched_level(outlyingness, level):
    """Return the level up to which a sample can vouch for rows that are not in it.

    It has judged those up to its farthest row within the level, and knows nothing of a gap beyond:
    there other rows may lie, up to the edge of what is left out. So the level is not more than one
    step farther than that row.
    """
    farthest = outlyingness.max(where=outlyingness <= level, initial=1.0)
    return min(level, float(LEVELS[1] * farthest))


@np.errstate(over="ignore", invalid="ignore")
def does_harm(rows, core, wider, frame, shrinkage=0.0):
    """Return whether the further rows of a wider support cost the core more rows than they may.

    Only what turns the directions counts: every tail raises the loss a little. Core and support
    are masks (N,); for frame and shrinkage see `harmless_level`.
    """
    step = np.where(core, 0, np.where(wider, 1, 2))
    scored = list(scored_supports(rows, step, 2, frame, shrinkage))
    if len(scored) < 2 or scored[1][0] is None:
        return False
    (first, _), (scores, further) = scored
    return scores.loses(first, MOST_COST * further)


def scored_supports(rows, step, count, frame, shrinkage=0.0, known=None):
    """Yield the scores of nested supports, and the weight of what they have beside the core.

    The latter is over the weight of the core. For a support that is the same as the last there
    are no scores, None. They end with rows that are so far off that they cannot even be summed.
    The step (N,) is the first support that has the row, of some count; support 0 is the core. For
    the others see `harmless_level`.
    """
    regime, core = rows.regime, step == 0
    weights = rows.row_weights
    X = np.ascontiguousarray(rows.X, np.float64)
    codes = rows.codes.astype(np.int32, copy=False)
    n_jobs = rows.n_jobs if X.size >= regime.threaded_elements else 1
    rows = ArrayRows(X, codes, rows.n_classes, weights, n_jobs, regime)
    few_rows = weights[core].sum() < regime.unshrunk_rows_per_feature * frame.n_features
    with shared_threads(n_jobs) as map_:
        means = core_means(rows, core) if known is None else known.centres
        rows, centres = about_core(rows, core, means, frame.scale, map_)
        pieces = Pieces(rows, map_)
        first = Moments(*pieces.sums(core)) if known is None else known
        unit = None if few_rows else core_units(first, centres)
        chosen = judged_rows(rows, core)
        judged = rows if isinstance(chosen, slice) else rows.take(chosen)
        judged_pieces = Pieces(judged, map_)
        # A row of weight k is k rows, of which one is left out.
        at_most_one = np.minimum(judged.sample_weight, 1.0)
        scored = judged.codes, judged.sample_weight, step[chosen], np.log(frame.priors)
        core_weight = float(weights @ core)
        for k, moments in enumerate(nested_moments(pieces, first, step, count)):
            if moments is None:
                yield None, 0.0
                continue
            if not math.isfinite(moments.scatter.trace()):
                return
            settings = frame.n_features, unit, shrinkage
            discriminant = PlainLDA(moments, centres, *settings)
            support = step <= k
            distances = discriminant.distances(judged_pieces, at_most_one * support[chosen])
            yield Scores(distances, *scored), float(weights @ (support & ~core)) / core_weight


def nested_moments(pieces, core, step, count):
    """Yield the moments of nested supports, made from those of the rows that each adds.

    They begin with the core; None stands for the same support as the last.
    """
    moments, sizes = core, np.bincount(step, minlength=count)
    yield moments
    for k in range(1, count):
        if sizes[k] > 0:
            moments += Moments(*pieces.sums(step == k))
        yield moments if sizes[k] > 0 else None


def core_means(rows, core):
    """Return the means of the classes in the core."""
    c, n = rows.n_classes, rows.shape[1]
    weights, sums = np.zeros(c), np.zeros((c, n))
    sample = initial_kernels.Sample(rows.X, rows.codes, rows.sample_weight)
    sample.add_moments(core, 0, len(core), weights, sums, np.empty((0, 0)))
    return sums / weights[:, None]


def about_core(rows, core, means, scale, map_):
    """Return rows about the means of their classes in the core, and these, in units of a scale.

    The means are about their own.
    """
    deviations, _ = in_units(rows, means, scale, map_=map_, farthest=np.inf)
    weights = np.bincount(rows.codes, rows.sample_weight * core, rows.n_classes)
    centre = weights @ means / weights.sum()
    return rows.with_features(deviations), (means - centre) / scale


def known_core(reweighted, core, scale):
    """Return the moments of the core in units of a scale, if plain LDA has been made on it.

    They are about their own means. They are not known, None, where a feature is flat: what passes
    over rows leave of it is rounding.
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
    """Return the units of features in the core, relative to those of its moments about its means.

    It is their deviation within the classes, or between them if they are constant within, or 1 if
    they are constant altogether.
    """
    total = moments.weights.sum()
    within, between = moments.scatter.diagonal() / total, moments.weights @ centres**2 / total
    unit, flat = units_of(within, between, centres)
    return np.where(flat & (between > 0.0), np.sqrt(between), unit)


def judged_rows(rows, core):
    """Return the numbers of the rows by which supports are scored, or a slice of all.

    Of many rows they are as large a part of each class.
    """
    n_rows, n = rows.shape
    part = 1 + n_rows * max(n, rows.n_classes) // rows.regime.most_judged
    # As many of each class, in the core and outside, whatever the order of the rows.
    return slice(None) if part == 1 else np.lexsort((core, rows.codes))[::part]


def costs_too_much(scores, further, core):
    """Return whether further rows cost the core more than they may; alone it has scores `core`."""
    price = MOST_COST * further
    return scores.loses(core, price) or scores.costs_more(core, price)
