"""What a fit returns, and how far rows lie from its classes."""

from dataclasses import dataclass

import numpy as np

from cappedlda._cutoffs.gate import Gate
from cappedlda._data.samples import PerSample
from cappedlda._solvers import linalg
from cappedlda._solvers.base import Trace


@dataclass
class Solution:
    """A fitted projection and what was found on the way.

    Attributes
    ----------
    W : ndarray of shape (n, r)
        Supervised directions in raw features, best first.
    covariance : ndarray of shape (r, r)
        Within-class covariance of the kept rows projected by W.
    strengths : ndarray of shape (r,)
        Between-class over within-class variance along each of them.
    extra : ndarray of shape (n, k)
        Unsupervised directions after them.
    metric : ndarray of shape (n, r)
        The projection in which the distances are measured.
    centres : ndarray of shape (c, n)
    priors : ndarray of shape (c,)
    epsilon : float
    q, floor : float
        Of the weights.
    samples : PerSample or None
        None if they are not kept.
    kept_weight : float
        Weight of the rows within the caps.
    caps : ndarray of shape (c,)
        The cap of each class.
    uncapped : ndarray of shape (c,), bool
        Classes that the cap would have removed.
    trace : Trace
    gate : Gate or None
    """

    W: np.ndarray
    covariance: np.ndarray
    strengths: np.ndarray
    extra: np.ndarray
    metric: np.ndarray
    centres: np.ndarray
    priors: np.ndarray
    epsilon: float
    q: float
    floor: float
    samples: PerSample | None
    kept_weight: float
    caps: np.ndarray
    uncapped: np.ndarray
    trace: Trace
    gate: Gate | None = None


def outlyingness(rows, images, centres, caps, gate):
    """Return the distances of rows from the centre of a class over the largest of a kept row.

    Parameters
    ----------
    rows : ArrayRows
        Of the classes to measure from.
    images : ndarray of shape (N, r) or None
        Projected rows; None measures by the gate only.
    centres : ndarray of shape (c, r)
        Projected centres.
    caps : ndarray of shape (c,)
    gate : Gate or None
        None measures in the discriminant space only.
    """
    codes = rows.codes
    ratio = np.zeros(len(codes))
    if images is not None:
        ratio = np.linalg.norm(images - centres[codes], axis=1) / caps[codes]
    return ratio if gate is None else np.maximum(ratio, gate.ratio(rows))


def least_outlyingness(rows, images, centres, caps, gate):
    """Return the outlyingness of rows from the class where it is least; see `outlyingness`.

    The gate reads all features. So the classes of each row are taken in the order of its
    distances in the discriminant space, until the next one cannot be less.
    """
    n_rows = rows.shape[0]
    projected = np.zeros((n_rows, len(caps)))
    if images is not None:
        for i, (centre, cap) in enumerate(zip(centres, caps, strict=True)):
            projected[:, i] = np.linalg.norm(images - centre, axis=1) / cap
    if gate is None:
        return projected.min(axis=1)
    least = np.full(n_rows, np.inf)
    for nearest in np.argsort(projected, axis=1, kind="stable").T.astype(np.int32):
        bounds = np.take_along_axis(projected, nearest[:, None], axis=1)[:, 0]
        (left,) = np.nonzero(~(bounds >= least))
        if len(left) == 0:
            break
        some = rows if len(left) == n_rows else rows.take(left)
        ratio = np.maximum(bounds[left], gate.ratio(some.labelled(nearest[left])))
        least[left] = np.minimum(least[left], ratio)
    return least


def unsupervised_directions(method, count):
    """Return `count` directions of least capped scatter that do not see the class centres."""
    frame = method.frame
    n = len(frame.scale)
    wanted = count > 0 and method.A is not None
    there_are = n - linalg.rank_of(frame.B) if wanted else 0
    if there_are == 0:
        return np.empty((n, 0))
    extra = linalg.quietest_directions(method.A, frame.B, min(count, there_are))
    return linalg.fix_signs(extra / frame.scale[:, None])
