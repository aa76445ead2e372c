"""Plain discriminant analysis on a support: the answer of a reweighted fit.

Features are taken in units of the support itself, and nothing but rounding is added to its scatter
as long as there are several rows per feature: clean data give the answer of plain LDA, for
any unit and any conditioning that this can bear.
"""

from typing import Any, NamedTuple

import numpy as np

from cappedlda._kernels import algebra
from cappedlda._metrics import linalg
from cappedlda._metrics.frame import Frame, degrees_of_freedom
from cappedlda._metrics.systems import MatrixSystem
from cappedlda._regime import REGIME

# What rounding may leave of a scatter, relative to its trace or to a scatter it was taken from.
ROUNDING = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 1e-6}
# Directions of less variance, relative to the largest, are rounding: they are not used, as in
# scikit-learn.
FLAT = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-5}
# A variance within classes that is only rounding, relative to that between them, and a
# deviation that is, relative to the values themselves.
NO_VARIANCE = 1e-14
NO_DEVIATION = 1e-13


class Discriminant(NamedTuple):
    """Directions of plain LDA, in which the support has unit covariance.

    Attributes
    ----------
    W : ndarray of shape (n, r)
        In scaled features, best first.
    strengths : ndarray of shape (r,)
        Between-class variance along each of them.
    centres : ndarray of shape (c, n)
    scale : ndarray of shape (n,)
        Unit of each feature.
    B : ndarray of shape (n, c)
        Scaled deviations of the class centres.
    A : MatrixSystem or ImplicitSystem
        Covariance of the support in scaled features, with its ridge.
    shrinkage : float
        Of that covariance, from 0 to 1.
    flat : ndarray of shape (n,), bool
        Features without influence: they are constant within the classes.
    """

    W: np.ndarray
    strengths: np.ndarray
    centres: np.ndarray
    scale: np.ndarray
    B: np.ndarray
    A: MatrixSystem
    shrinkage: float
    flat: np.ndarray


def units_of(within, between, centres, rounding=None):
    """Return the units of features, and which are flat: constant within the classes.

    A support cannot tell how much a flat feature varies. It has no influence, unless all
    features are flat: then their spread between the classes is the unit.

    Parameters
    ----------
    within, between : ndarray of shape (n,)
        Variances within and between classes.
    centres : ndarray of shape (c, n)
        Their size tells which variance is only rounding.
    rounding : ndarray of shape (n,), optional
        A variance that may be left by a difference of sums.
    """
    unit, flat = np.empty(len(within)), np.empty(len(within), bool)
    limits = rounding, NO_VARIANCE, NO_DEVIATION
    algebra.units(within, between, centres, *limits, unit, flat.view(np.uint8))
    return unit, flat


class SupportScatter(NamedTuple):
    """The scatter of a support in its own units, which several ridges may be added to.

    Attributes
    ----------
    scatter : ndarray of shape (n, n), or ImplicitScatter
        Times the factor of the shrinkage.
    frame : Frame
        With the units of the support, where there are enough rows.
    flat : ndarray of shape (n,), bool
        See `Discriminant`.
    B : ndarray of shape (n, c)
        That of the frame, with zeros for flat features.
    freedom, trace : float
        Of the scatter before it was shrunk.
    shrinkage : float
    few_rows : bool
        Whether there are few rows per feature: then the units are robust ones.
    system : type
        `MatrixSystem` or `ImplicitSystem`.
    tol : float
        Of the system, if it is not solved exactly.
    dtype : dtype
        Of the rows.
    """

    scatter: Any
    frame: Frame
    flat: np.ndarray
    B: np.ndarray
    freedom: float
    trace: float
    shrinkage: float
    few_rows: bool
    system: type
    tol: float
    dtype: np.dtype


def support_scatter(record, frame, sizes, system, tol, dtype, regime=REGIME, shrink=None):
    """Return the `SupportScatter` of the rows that a record with equal weights (q = 2) kept.

    Parameters
    ----------
    record : Record
    frame : Frame
        With the centres that the scatter is about.
    sizes : ndarray of shape (n,)
        The diagonal of the scatter before it was moved to these centres.
    system, tol, dtype
        See `SupportScatter`.
    regime : Regime
    shrink : callable, optional
        A rule of `shrinkage`; not for an implicit scatter.
    """
    scatter, n, freedom = record.scatter, frame.n_features, degrees_of_freedom(record)
    flat = np.zeros(len(frame.scale), dtype=bool)
    few_rows = freedom < regime.unshrunk_rows_per_feature * n
    if system is MatrixSystem and not few_rows:  # few rows are shrunk, in robust units
        weight = 2.0 * record.kept_weight
        between = np.einsum("ij,ij->i", frame.B, frame.B)
        rounding = ROUNDING[dtype] * sizes / weight
        centres = frame.centres / frame.scale
        unit, flat = units_of(scatter.diagonal() / weight, between, centres, rounding)
        used = 1.0 / unit
        used[flat] = 0.0
        scatter = scatter * used * used[:, None]
        frame = frame.changed(scale=frame.scale * unit, B=frame.B / unit[:, None])
    shrinkage, trace = 0.0, scatter.trace()
    if system is MatrixSystem and shrink is not None:
        shrinkage = shrink(scatter, frame, freedom, regime)
        scatter = scatter if shrinkage == 0.0 else (1.0 - shrinkage) * scatter
    B = np.where(flat[:, None], 0.0, frame.B) if np.count_nonzero(flat) else frame.B
    found = scatter, frame, flat, B, freedom, trace, shrinkage, few_rows
    return SupportScatter(*found, system, tol, dtype)


def plain_lda(support, ridge, ridge_of_few=0.0, measuring=False):
    """Return the `Discriminant` on a support, with a ridge over its mean variance.

    Another ridge is only added with few rows per feature. One by which rows are measured gives
    every feature the least deviation of the frame.
    """
    frame, trace, n, B = support.frame, support.trace, support.frame.n_features, support.B
    ridge += ridge_of_few * support.few_rows
    added = support.shrinkage * trace / n + ridge * trace / n
    weight = 2.0 * support.freedom or 1.0
    ridge = added / weight if trace > 0.0 else 1.0
    A = support.system(support.scatter, weight, ridge, support.tol)
    if measuring and frame.least is not None:
        frame.raise_variances(A)
        B = frame.B
    W = linalg.leading_directions(A.solve_on_range(B, FLAT[support.dtype]), B)
    strengths = np.square(B.T.dot(W)).sum(axis=0)
    found = W, strengths, frame.centres, frame.scale, frame.B, A
    return Discriminant(*found, support.shrinkage, support.flat)
