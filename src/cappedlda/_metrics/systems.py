"""The system A = scatter / weight + ridge I, where the scatter is a matrix.

`ImplicitSystem` in `cg` is the other kind, with the same methods.
"""

import numpy as np
from scipy.linalg import LinAlgError

from cappedlda._metrics.cg import ImplicitSystem
from cappedlda._metrics.linalg import ridged, solve_on_range, solve_spd

# Variances, relative to the largest, that rounding may have made negative.
INDEFINITE = 1e-6


def system_of(scatter, weight, ridge, tol, guess=None):
    """Return the system of a scatter: the last two are for one that is not solved exactly."""
    if isinstance(scatter, np.ndarray):
        return MatrixSystem(scatter, weight, ridge)
    return ImplicitSystem(scatter, weight, ridge, tol, guess)


class MatrixSystem:
    """A symmetric positive definite matrix (n, n), solved by Cholesky."""

    def __init__(self, scatter, weight, ridge):
        self.matrix, self._ridge = ridged(scatter, weight, ridge), ridge

    def __matmul__(self, V):
        """Return A V for V of shape (n, k)."""
        return self.matrix.dot(V)

    def solve_on_range(self, B, cutoff):
        """Return A^+ B, without the directions in which A has only rounding."""
        return solve_on_range(self.matrix, B, cutoff, self._ridge)

    def solve(self, B):
        """Return A^{-1} B for B of shape (n, k)."""
        try:
            return solve_spd(self.matrix, B)
        except LinAlgError:  # the rounding of rows that are far off has made it indefinite
            return self.solve_on_range(B, INDEFINITE)
