"""Plain discriminant analysis on a support: the answer of a reweighted fit.

Features are taken in units of the support itself, and nothing but rounding is added to its scatter
as long as there are several rows per feature: clean data give the answer of plain LDA, for
any unit and any conditioning that this can bear.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError

from cappedlda._kernels import algebra
from cappedlda._metrics import linalg
from cappedlda._metrics.cg import ImplicitSystem
from cappedlda._metrics.frame import Frame
from cappedlda._regime import REGIME

# Variances, relative to the largest, that rounding may have made negative.
INDEFINITE = 1e-6
# What rounding may leave of a scatter, relative to its trace or to a scatter it was taken from.
ROUNDING = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 1e-6}
# Directions of less variance, relative to the largest, are rounding: they are not used, as in
# scikit-learn.
FLAT = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-5}
# A variance within classes that is only rounding, relative to that between them, and a
# deviation that is, relative to the values themselves.
NO_VARIANCE = 1e-14
NO_DEVIATION = 1e-13


def system_of(scatter, weight, ridge, tol, guess=None):
    """Return the system of a scatter: the last two are for one that is not solved exactly."""
    if isinstance(scatter, np.ndarray):
        return MatrixSystem(scatter, weight, ridge)
    return ImplicitSystem(scatter, weight, ridge, tol, guess)


class MatrixSystem:
    """The system A = scatter / weight + ridge I of a scatter (n, n), solved by Cholesky.

    `ImplicitSystem` in `cg`, with the same methods, is that of a scatter that is no matrix.
    """

    def __init__(self, scatter, weight, ridge):
        self.matrix, self._ridge = linalg.ridged(scatter, weight, ridge), ridge

    def __matmul__(self, V):
        return self.matrix.dot(V)

    def solve_on_range(self, B, cutoff):
        """Return A^+ B, without the directions in which A has only rounding."""
        return linalg.solve_on_range(self.matrix, B, cutoff, self._ridge)

    def solve(self, B):
        """Return A^{-1} B for B of shape (n, k)."""
        try:
            return linalg.solve_spd(self.matrix, B)
        except LinAlgError:  # the rounding of rows that are far off has made it indefinite
            return self.solve_on_range(B, INDEFINITE)


class Discriminant(NamedTuple):
    """Directions of plain LDA, in which the support has unit covariance."""

    W: np.ndarray  # (n, r), in scaled features, best first
    strengths: np.ndarray  # (r,), between-class variance along each of them
    centres: np.ndarray  # (c, n)
    scale: np.ndarray  # (n,), unit of each feature
    B: np.ndarray  # (n, c), scaled deviations of the class centres
    A: Any  # system of the covariance of the support in scaled features, with its ridge
    shrinkage: float  # of that covariance, from 0 to 1
    flat: np.ndarray  # (n,), features without influence: they are constant within the classes


def units_of(within, between, centres, rounding=None):
    """Return the units of features, and which are flat: constant within the classes.

    A support cannot tell how much a flat feature varies. It has no influence, unless all features
    are flat: then their spread between the classes is the unit. Given are variances (n,) within and
    between classes, the centres (c, n), whose size says which variance is only rounding, and
    perhaps the rounding (n,) that a difference of sums may leave.
    """
    unit, flat = np.empty(len(within)), np.empty(len(within), bool)
    limits = rounding, NO_VARIANCE, NO_DEVIATION
    algebra.units(within, between, centres, *limits, unit, flat.view(np.uint8))
    return unit, flat


class Metric(NamedTuple):
    """The form within the classes that the moments of a support make, in its own units.

    It may be shrunk, and several ridges may be added.
    """

    scatter: Any  # (n, n), or an ImplicitScatter; times 1 - shrinkage
    frame: Frame  # with the units of the support, where there are enough rows
    flat: np.ndarray  # (n,), see `Discriminant`
    B: np.ndarray  # (n, c), that of the frame, with zeros for flat features
    weight: float  # of the scatter, by its degrees of freedom
    trace: float  # before it was shrunk
    shrinkage: float
    few_rows: bool  # per feature: then the units are robust ones
    dense: bool
    tol: float  # of a system that is not solved exactly
    dtype: np.dtype  # of the rows

    @classmethod
    def of(cls, moments, frame, sizes, tol, dtype, regime=REGIME, shrink=None):
        """Return the metric of moments about the centres of a frame.

        The sizes (n,) are the diagonal of the scatter before it was moved to these centres. Where
        the scatter is a matrix, a rule of `shrinkage` may shrink it.
        """
        scatter, freedom, dense = moments.scatter, moments.freedom, moments.dense
        flat = np.zeros(len(frame.scale), dtype=bool)
        few_rows = freedom < regime.unshrunk_rows_per_feature * frame.n_features
        if dense and not few_rows:  # few rows are shrunk, in robust units
            weight = moments.factor * moments.total
            between = np.einsum("ij,ij->i", frame.B, frame.B)
            rounding = ROUNDING[dtype] * sizes / weight
            centres = frame.centres / frame.scale
            unit, flat = units_of(scatter.diagonal() / weight, between, centres, rounding)
            used = 1.0 / unit
            used[flat] = 0.0
            scatter = scatter * used * used[:, None]
            frame = frame.changed(scale=frame.scale * unit, B=frame.B / unit[:, None])
        shrinkage, trace = 0.0, scatter.trace()
        if dense and shrink is not None:
            shrinkage = shrink(scatter, frame, freedom, regime)
            scatter = scatter if shrinkage == 0.0 else (1.0 - shrinkage) * scatter
        B = np.where(flat[:, None], 0.0, frame.B) if np.count_nonzero(flat) else frame.B
        found = scatter, frame, flat, B, moments.factor * freedom or 1.0, trace, shrinkage
        return cls(*found, few_rows, dense, tol, dtype)

    def lda(self, ridge, ridge_of_few=0.0, measuring=False):
        """Return the `Discriminant` with a ridge over the mean variance.

        Another ridge is only added with few rows per feature. One by which rows are measured gives
        every feature the least deviation of the frame.
        """
        frame, trace, n, B = self.frame, self.trace, self.frame.n_features, self.B
        ridge += ridge_of_few * self.few_rows
        added = self.shrinkage * trace / n + ridge * trace / n
        ridge = added / self.weight if trace > 0.0 else 1.0
        A = system_of(self.scatter, self.weight, ridge, self.tol)
        if measuring and frame.least is not None:
            frame.raise_variances(A)
            B = frame.B
        W = linalg.leading_directions(A.solve_on_range(B, FLAT[self.dtype]), B)
        strengths = np.square(B.T.dot(W)).sum(axis=0)
        found = W, strengths, frame.centres, frame.scale, frame.B, A
        return Discriminant(*found, self.shrinkage, self.flat)

    def answer(self, ridged, *ridges):
        """Return LDA with ridges of its own; what is not solved exactly keeps what it has."""
        return self.lda(*ridges) if self.dense else ridged
