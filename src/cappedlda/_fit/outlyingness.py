"""How far rows lie from the classes of a fit."""

import numpy as np


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
    """Return the outlyingness of rows from the class where it is least, and the codes of these.

    See `outlyingness`. The gate reads all features. So the classes of each row are taken in the
    order of its distances in the discriminant space, until the next one cannot be less.

    Returns
    -------
    least : ndarray of shape (N,)
    codes : ndarray of shape (N,)
    """
    n_rows = rows.shape[0]
    projected = np.zeros((n_rows, len(caps)))
    if images is not None:
        for i, (centre, cap) in enumerate(zip(centres, caps, strict=True)):
            projected[:, i] = np.linalg.norm(images - centre, axis=1) / cap
    if gate is None:
        return projected.min(axis=1), projected.argmin(axis=1)
    order = np.argsort(projected, axis=1, kind="stable").T.astype(np.int32)
    least, codes = np.full(n_rows, np.inf), order[0].copy()
    for nearest in order:
        bounds = np.take_along_axis(projected, nearest[:, None], axis=1)[:, 0]
        (left,) = np.nonzero(~(bounds >= least))
        if len(left) == 0:
            break
        some = rows if len(left) == n_rows else rows.take(left)
        ratio = np.maximum(bounds[left], gate.ratio(some.labelled(nearest[left])))
        codes[left] = np.where(ratio < least[left], nearest[left], codes[left])
        least[left] = np.minimum(least[left], ratio)
    return least, codes
