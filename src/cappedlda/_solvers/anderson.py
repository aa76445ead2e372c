"""Anderson acceleration."""

from collections import deque

import numpy as np


class Anderson:
    """Anderson acceleration of a fixed-point map on matrices.

    Affine combinations keep linear constraints, so W'B = K holds for the result too.
    """

    def __init__(self, memory):
        self._points = deque(maxlen=memory)
        self._residuals = deque(maxlen=memory)

    def forget(self):
        """Start afresh."""
        self._points.clear()
        self._residuals.clear()

    def extrapolate(self, point, image):
        """Return a better point than `image`, the image of `point`."""
        self._points.append(image)
        self._residuals.append((image - point).ravel())
        if len(self._points) < 2:
            return image
        newest = self._residuals[-1]
        differences = np.stack([newest - r for r in list(self._residuals)[:-1]], axis=1)
        steps, *_ = np.linalg.lstsq(differences, newest, rcond=1e-8)
        return image - sum(
            s * (image - p) for s, p in zip(steps, list(self._points)[:-1], strict=True)
        )
