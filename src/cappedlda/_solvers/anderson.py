"""Anderson acceleration."""

import numpy as np


def extrapolated(history):
    """Return a better point than the last image of a fixed-point map on matrices.

    The history has the last images, and their differences from the points they are of, flat.
    Affine combinations keep linear constraints, so W'B = K holds for the result too.
    """
    *before, (image, newest) = history
    if not before:
        return image
    differences = np.stack([newest - residual for _, residual in before], axis=1)
    steps, *_ = np.linalg.lstsq(differences, newest, rcond=1e-8)
    return image - sum(s * (image - p) for s, (p, _) in zip(steps, before, strict=True))
