"""Wrong labels: how probable it is that the label of a row is right.

All labels are wrong at the same rate, and then each other class is equally likely to be the right
one (except tiny classes). The weight of each kept row is the probability that its label is right.
It counts in its own class only. Each of two rounds computes

1. leave-one-out distances of all rows from the classes, by LDA with these weights;
2. the rate of wrong labels, and how sharply distances separate the classes, by maximum likelihood,
   and from these new weights of the rows.

There are wrong labels if they explain the labels better than chance would (by BIC), or if the
classes are so far apart that nothing else explains them. The weights count only if LDA with them
predicts the given labels no worse: in a class wider than the others, right labels look doubtful.
"""

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from cappedlda._data.moments import Moments
from cappedlda._data.threads import shared_threads
from cappedlda._initial.dense import Pieces
from cappedlda._initial.standardize import in_units
from cappedlda._kernels import kernels_for, loo
from cappedlda._loo.distances import PlainLDA

ROUNDS = 2
# Steps of EM for the rate, from this one on.
STEPS = 8
FIRST_RATE = 0.1
# The rate stays below this, in units of the rate of labels drawn by chance. It stays above that of
# one wrong label, so that the quality ranks labels even if none is wrong.
MOST_RATE = 0.9
# Factors of the squared distances to choose from.
SHARPNESS = np.geomspace(0.05, 1.5, 8)
# Gain in log-likelihood that one more parameter may have by chance (BIC), in units of the logarithm
# of the number of rows.
CHANCE = 0.5
# Classes are far apart if overlap explains less than this share of the wrong labels. Then wrong
# labels cannot be told from blurred distances, and the sharpest factor is taken if it is worse by
# no more than the chance of two parameters, rate and factor.
MOST_OVERLAP = 0.2
LEAST_REST = 0.05  # 1 - leverage of a row about which the other rows say almost nothing
# Labels are judged with at least this many rows per class on average, and in the class itself.
LEAST_MEAN_ROWS = 20
LEAST_ROWS = 10
LEAST_SHARE = 0.01  # weight of a row whose label is certainly wrong
LEAST_WEIGHT = 2.0  # weight of a class of which nearly all labels would be wrong
NEARER = 2.0  # a row left out fits another class if it is this many times nearer to it
# Rows, and rows per feature, of a sample that tell as much as all of it.
LEAST_JUDGED, LEAST_PER_FEATURE = 2048, 20
# With more rows, all factors are tried on a part, and only the best one on all rows.
MOST_TRIED = 1024


@dataclass(frozen=True)
class LabelRule:
    """How probable it is that labels of rows outside the fit are right."""

    coef: np.ndarray  # (n, c), of raw features
    intercept: np.ndarray  # (c,)
    odds: float  # of each other class against that of the label, by the rate of wrong labels
    judged: np.ndarray  # (c,), bool; classes whose rows count for less if their label is doubtful

    @property
    def weighs(self):
        """Whether any row counts for less."""
        return bool(self.judged.any())

    def scores(self, X):
        """Return the log-probabilities of the classes, up to a number for each row."""
        with np.errstate(over="ignore", invalid="ignore"):
            if issparse(X):
                return X @ self.coef + self.intercept
            X, scores = np.ascontiguousarray(X, np.float64), np.empty((len(X), len(self.judged)))
            kernels_for(X.shape[1]).affine_images(X, self.coef, self.intercept, scores)
        return scores

    def __call__(self, X, codes):
        return self.judge(self.scores(X), codes)

    def judge(self, scores, codes):
        """Return the probability that each label is right, and the likeliest one, as codes (N,).

        The probability is 1 where nothing can be told. The likeliest label of a doubtful row is
        another one. The scores (N, c) are changed.
        """
        c = scores.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            scores -= scores.ravel().take(np.arange(0, scores.size, c) + codes)[:, None]
            odds = np.exp(scores) @ np.ones(c) - 1.0
            quality = right_label(odds, self.odds)
        quality[np.isnan(quality)] = 1.0
        return quality, likeliest(scores, quality, codes)

    def weights(self, X, codes):
        return weights_by(self(X, codes)[0], self.judged, codes)


def likeliest(scores, quality, codes):
    """Return the likeliest other class (N,) of doubtful rows, and their own of others."""
    (doubtful,), likely = np.nonzero(quality < 0.5), codes.copy()
    others = scores[doubtful]
    others[np.arange(len(doubtful)), codes[doubtful]] = -np.inf
    likely[doubtful] = others.argmax(axis=1)
    return likely


def weights_by(quality, judged, codes):
    """Return the weights of rows from the probabilities that their labels are right.

    None is 0, as features may vary only in such rows. Rows of classes that are not judged count in
    full.
    """
    weights = np.maximum(quality, LEAST_SHARE)
    return weights if judged.all() else np.where(judged[codes], weights, 1.0)


def n_others(judged):
    """Return how many other classes, of those judged (c,), may be right if a label is wrong."""
    return max(np.count_nonzero(judged) - 1, 1)


def odds_by_rate(rate, others):
    """Return the prior odds of each other class against that of the label."""
    return rate / (others * (1.0 - rate))


def right_label(odds, odds_before):
    """Return the probability of a label from the odds of all other classes against its own."""
    return 1.0 / (1.0 + odds_before * odds)


class RateFit(NamedTuple):
    """The rate of wrong labels for one sharpness of the distances."""

    likelihood: float  # of the labels, its logarithm
    without: float  # the same without wrong labels
    rate: float
    sharpness: float
    own: np.ndarray  # (N,), probability of the class of each label
    far_apart: bool  # whether rows with right labels hardly reach other classes

    @classmethod
    def of(cls, sharpness, distances, codes, weights, log_priors, first_rate, others):
        """Return the fit for squared leave-one-out distances (N, c)."""
        own = np.ones(len(codes))
        most = MOST_RATE * others / (others + 1)
        least = min(1.0 / max(weights.sum(), 1.0), most)
        limits = min(first_rate, most), least, most, others, STEPS
        given = distances, codes, weights, log_priors, sharpness
        rate, likelihood, without = loo.fit_label_rate(*given, *limits, own)
        rate = rate if weights.any() else limits[0]
        far_apart = False
        if sharpness == SHARPNESS[-1]:
            right = weights * right_label((1.0 - own) / own, odds_by_rate(rate, others))
            far_apart = bool(right @ (1.0 - own) < MOST_OVERLAP * rate * right.sum())
        return cls(likelihood, without, rate, sharpness, own, far_apart)


@dataclass(frozen=True)
class LabelNoise:
    """What is found about the labels of rows."""

    status: str  # "none", "found", "too_few_rows" or "class_lost"
    rate: float  # of wrong labels
    gain: float  # of the log-likelihood of the labels, by wrong ones
    rule: LabelRule
    quality: np.ndarray | None  # (N,), probability that each label is right; None if not kept
    likely: np.ndarray | None  # (N,), the likeliest labels as codes; see `LabelRule.judge`
    weights: np.ndarray  # of the sample that was judged; 1 of what it leaves out

    @property
    def weighs(self):
        """Whether rows with doubtful labels count for less."""
        return self.rule.weighs

    def weights_by_quality(self, codes):
        return weights_by(self.quality, self.rule.judged, codes)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # far rows
def label_noise(rows, kept, units, totals, rate=None, **shrunk):
    """Find out whether labels are wrong, and which; return the `LabelNoise`.

    The fit keeps the rows `kept` (N,). The units are the centres (c, n) and the scale (n,) of the
    features, inf for an unused one; the totals (c,) the weights of the classes, of whose rows these
    may be a sample. A given rate takes for granted that labels are wrong. `shrunk` goes to
    `PlainLDA`.
    """
    n_jobs = rows.n_jobs if rows.X.size >= rows.regime.threaded_elements else 1
    with shared_threads(n_jobs) as map_:
        judge = LabelJudge(rows, kept, units, totals, map_, shrunk)
        status, hits = "none", []
        while status == "none" and len(hits) < ROUNDS:
            likelihood = judge.take_round(FIRST_RATE if rate is None else rate)
            hits.append(judge.hits)
            if judge.judged_weight < LEAST_MEAN_ROWS * rows.n_classes:
                status = "too_few_rows"
            elif judge.lost:
                status = "class_lost"
        gain = likelihood - judge.without
        beyond_chance = gain > CHANCE * np.log(judge.judged_weight)
        clear = (judge.quality < 0.5).any() and (beyond_chance or judge.far_apart)
        if status == "none" and (rate is not None or clear):
            status = "found"
    pays = status == "found" and (rate is not None or hits[-1] >= hits[0])
    return LabelNoise(status, judge.rate, float(gain), *judge.answer(pays))


class LabelJudge:
    """Weights rows by their labels, round by round."""

    def __init__(self, rows, kept, units, totals, map_, shrunk):
        self._map, self._codes = map_, rows.codes.astype(np.int32, copy=False)
        self._settings, (centres, self._scale) = {"dtype": rows.dtype, **shrunk}, units
        weights = rows.row_weights
        self._kept, self._of_rows = kept & (weights > 0.0), weights
        X, c = np.ascontiguousarray(rows.X, np.float64), rows.n_classes
        self._raw = rows.with_features(X).labelled(self._codes)
        self._deviations, _ = in_units(self._raw, *units, map_=map_)
        self._origin = centres.mean(axis=0)
        self._centres = (centres - self._origin) / self._scale
        self._judged_classes = np.bincount(self._codes, weights * self._kept, c) >= LEAST_ROWS
        # A small class may have more than its share in a sample.
        self._share_of_all = totals / np.bincount(self._codes, weights, c)
        self._log_priors = np.log(totals / totals.sum())
        self._weights, self.rate, self.lost = np.ones(len(weights)), None, False

    def take_round(self, first_rate):
        """Update the weights; return the log-likelihood of the labels if some are wrong."""
        discriminant, distances, judged = self._distances()
        weights = self._of_rows * judged
        self.judged_weight = weights.sum()
        likely = (self._log_priors - 0.5 * distances).argmax(axis=1)
        self.hits = weights @ (likely == self._codes)  # weight of rows that it classifies right
        best = self._best_fit(distances, weights, first_rate)
        own, self.rate, self.far_apart = best.own, best.rate, best.far_apart
        self._rule = self._rule_of(discriminant, best.sharpness)
        quality = right_label((1.0 - own) / own, self._odds)
        self.quality = np.where(judged, quality, 1.0)
        scores = self._log_priors - 0.5 * best.sharpness * distances
        self._likely = likeliest(scores, self.quality, self._codes)
        self._weights = weights_by(self.quality, self._judged_classes, self._codes)
        left = np.bincount(self._codes, self._of_rows * self._kept * self._weights)
        self.lost = bool((self._judged_classes & (left < LEAST_WEIGHT)).any())
        priors = left * self._share_of_all
        self._log_priors = np.log(priors / priors.sum())
        return best.likelihood

    def _best_fit(self, distances, weights, first_rate):
        given = distances, self._codes, weights
        part = -(-len(weights) // MOST_TRIED)
        some = given
        if part > 1:  # as large a part of each class
            rows = np.argsort(self._codes, kind="stable")[::part]
            some = tuple(np.ascontiguousarray(array[rows]) for array in given)
        settings = self._log_priors, self.rate or first_rate, n_others(self._judged_classes)
        tried = [RateFit.of(sharpness, *some, *settings) for sharpness in SHARPNESS]
        best, sharpest = max(tried, key=attrgetter("likelihood")), tried[-1]
        margin = 2.0 * CHANCE * np.log(some[2].sum())
        if sharpest.far_apart and sharpest.likelihood > best.likelihood - margin:
            best = sharpest
        if self.rate is None:  # the first round, in which no label is doubted yet
            plain = max(tried, key=attrgetter("without"))
            self.without = plain.without
            if part > 1:
                self.without = -loo.log_loss(*given, self._log_priors, plain.sharpness)[0]
        return best if part == 1 else RateFit.of(best.sharpness, *given, *settings)

    def _distances(self):
        """Return weighted LDA, the leave-one-out distances, and which rows are judged."""
        in_fit = self._kept * self._weights
        rows = self._raw.with_features(self._deviations)
        rows.sample_weight = self._of_rows * in_fit
        pieces = Pieces(rows, self._map)
        moments = Moments(*pieces.sums(np.ones(len(in_fit), bool)))
        discriminant = PlainLDA(moments, self._centres, **self._settings)
        # A row of weight k is k rows, of which one is left out.
        left_out = np.minimum(self._of_rows, 1.0) * in_fit
        distances = discriminant.distances(pieces, left_out)
        own = distances[np.arange(len(in_fit)), self._codes]
        of_class = moments.weights[self._codes]
        nu = of_class / (of_class - left_out)
        rest = nu / (nu + left_out / discriminant.freedom * own)
        return discriminant, distances, self._kept & (rest >= LEAST_REST)

    def _rule_of(self, discriminant, sharpness):
        coef, offset = discriminant.linear_scores()
        intercept = self._log_priors + sharpness * offset
        coef = sharpness * coef / self._scale[:, None]
        intercept = intercept - self._origin @ coef
        return LabelRule(coef, intercept, self._odds, self._judged_classes)

    @property
    def _odds(self):
        return odds_by_rate(self.rate, n_others(self._judged_classes))

    def answer(self, pays):
        """Return the rule, what it tells of labels, and the weights of the rows, if these pay."""
        quality, likely, (others,) = self.quality, self._likely, np.nonzero(~self._kept)
        told = self._rule(self._raw.X[others], self._codes[others])
        quality[others], likely[others] = told
        if pays:
            return self._rule, quality, likely, self._weights
        no_class = np.zeros_like(self._judged_classes)
        return replace(self._rule, judged=no_class), quality, likely, np.ones_like(self._weights)
