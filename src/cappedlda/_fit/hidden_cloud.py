"""A cloud inside the fences: a part of a class that they do not separate from the rest.

The fences are wide, because real features have long tails. A cloud five deviations off, where the
classes differ, fits inside, and turns the directions so that they no longer separate the rest of
the classes. So strict fences find the larger part of every class in the discriminant space, and LDA
on it gives the next such space, until the two agree. The cloud may have turned the first directions
away from itself, but then it shows between the class means, which the first space also spans. If
LDA on all rows inside the usual fences classifies fewer rows of this part correctly than LDA on the
part alone, the further rows do harm, and the fit continues with the strict fences.
"""

import math

import numpy as np

from cappedlda._data.array import ArrayRows
from cappedlda._fit.reweighting import (
    evaluate,
    lda_on_support,
    reweight,
    share_changed,
    with_caps_by_distances,
)
from cappedlda._initial.dense import InitialEstimate, concentrated_support
from cappedlda._initial.standardize import medians_and_scale
from cappedlda._loo.leave_out import harm, judged_rows, right_rows
from cappedlda._metrics.linalg import RANK_CUTOFF, orthonormal
from cappedlda._rules.fences import STRICT_REACH
from cappedlda._solvers.base import Trace

SEARCH_STEPS = 3
# A smaller share of the core is a tail, not a cloud.
LEAST_CLOUD = 0.05
# Directions that differ by less, relative to their length, are the same.
SAME_DIRECTION = 0.01
# With many rows, look at about this many first: there is no cloud if fewer than this share of
# LEAST_CLOUD are beyond.
LOOKED_AT, SURELY = 1000, 0.5
# A first sample decides whether a cloud does harm if its result is at least this many standard
# errors from the limit.
DECIDED = 3.0


class UndecidedError(Exception):
    """A sample is too small to tell whether a cloud does harm."""


def core_without_cloud(sample, core, objective, gate, options, shrinkage=0.0, decides=True):
    """Return the core within strict fences if the usual ones enclose a cloud, or None.

    The result is the objective with the reach of the strict fences, a `Reweighted`, the core and a
    `Trace`. For the shrinkage see `harmless_level`. A sample that need not decide raises an
    `UndecidedError` where another might decide otherwise.
    """
    frame, inside = core.frame, core.ratios <= 1.0
    if frame.W.shape[1] == 0:
        return None
    spaces = [frame.changed(W=with_class_means(frame)), frame]
    spaces = spaces_to_search(sample, spaces, inside)
    if not spaces:
        return None

    judged = judged_rows(sample)
    weights, trusted = sample.row_weights[judged], inside[judged]
    settings = judged, frame, shrinkage
    right = right_rows(sample, inside, *settings)
    # The larger part cannot lose more rows than LDA on the core classifies wrongly.
    if right is None or harm(weights @ (trusted & ~right), LEAST_CLOUD * weights @ trusted) <= 0.0:
        return None

    for space in spaces:
        part = nearer_rows(sample, space)
        if few_others(sample, part, inside, LEAST_CLOUD):
            continue
        part, found, n_passes = larger_part(sample, space, part, options.priors)
        own, alone = part[judged], right_rows(sample, part, *settings)
        if alone is None:
            continue
        lost, won = weights @ (own & alone & ~right), weights @ (own & right & ~alone)
        done = harm(lost - won, weights @ (trusted & ~own))
        if not decides and abs(done) < DECIDED * math.sqrt(lost + won):
            raise UndecidedError
        if done > 0.0:
            return strict_core(sample, found, objective, gate, options, n_passes)
    return None


def with_class_means(frame):
    """Return directions (n, k) that span those of a frame and those between the class means."""
    W, B = frame.W / np.linalg.norm(frame.W, axis=0), orthonormal(frame.B, RANK_CUTOFF)
    return orthonormal(np.hstack([W, B]), SAME_DIRECTION)


def strict_core(sample, frame, objective, gate, options, n_passes):
    """Return what `core_without_cloud` does, given LDA on the larger part as a frame.

    There is one step only: each further one would let in more of a cloud that reaches into the
    fences.
    """
    strict = objective._replace(reach=STRICT_REACH)
    settings = 1.0, strict, gate, options
    first = reweight(sample, frame, *settings)
    core = evaluate(sample, first.frame, strict)
    found = {"change": share_changed(first, core), "objective_path": [first.objective]}
    trace = Trace("converged", n_iter=1, n_passes=n_passes + 3, **found)
    return strict, reweight(sample, core.frame, *settings), core, trace


def larger_part(sample, frame, part, priors):
    """Return the concentrated part of every class in its own discriminant space.

    It begins with a part (N,). The result is the part, LDA on it with strict fences as a `Frame`,
    and the number of passes.
    """

    def lda_on(part):
        support = InitialEstimate(frame.centres, frame.scale, part, frame.least)
        return lda_on_support(sample, support, priors, frame.n_features)[0]

    own, n_passes = lda_on(part), 2
    for _ in range(SEARCH_STEPS - 1):
        nearer = nearer_rows(sample, own)
        if (nearer == part).all():
            break
        part, own, n_passes = nearer, lda_on(nearer), n_passes + 1
    return part, with_caps_by_distances(sample, own, STRICT_REACH), n_passes


def spaces_to_search(rows, spaces, inside):
    """Return the spaces but those where some rows show that nearly all of the core is one part."""
    step = rows.shape[0] // LOOKED_AT
    if step < 2:
        return spaces
    numbers = rows.every(np.full(rows.n_classes, step))
    some, inside, share = rows.take(numbers), inside[numbers], SURELY * LEAST_CLOUD
    return [
        space for space in spaces if not few_others(some, nearer_rows(some, space), inside, share)
    ]


def nearer_rows(rows, frame):
    """Return the concentrated part of every class in the discriminant space, (N,)."""
    counted, weights = counted_rows(rows)
    images, nearer = images_of(rows, frame, counted, weights), np.zeros(rows.shape[0], bool)
    nearer[counted] = concentrated_support(images, medians_and_scale(images), STRICT_REACH)
    return nearer


def counted_rows(rows):
    """Return which rows count, and their weights; None if all are 1."""
    weights, counted = rows.sample_weight, slice(None)
    if weights is not None:
        counted = weights > 0.0
        weights = weights[counted]
        weights = None if (weights == 1.0).all() else weights
    return counted, weights


@np.errstate(over="ignore", invalid="ignore")  # far rows
def images_of(rows, frame, counted, weights):
    """Return some rows in the discriminant space, with other weights."""
    images = np.asarray(rows.X, np.float64) @ (frame.W / frame.scale[:, None])
    known = rows.codes[counted], rows.n_classes, weights, rows.n_jobs, rows.regime
    return ArrayRows(images[counted], *known)


def few_others(rows, part, inside, share):
    """Return whether a part has all of the core but a share."""
    return rows.weight_of(inside & ~part) < share * rows.weight_of(inside)
