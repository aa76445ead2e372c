"""The capped l_{p,q} norm of a matrix, equation (2) of the paper."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cappedlda._validation import check_real


def capped_norm(M: ArrayLike, epsilon: float, p: float = 2, q: float = 1) -> float:
    """Capped l_{p,q} norm of a matrix.

    The norm ``(sum_j min(||m_j||_p^q, epsilon))^(1/q)`` over the columns m_j. It is not
    homogeneous, but satisfies the triangle inequality for p, q >= 1, and is the l_{p,q} norm for
    ``epsilon=inf``.

    Parameters
    ----------
    M : array-like of shape (r, s)
    epsilon : float
        Positive bound of each term ``||m_j||_p^q``; inf for none.
    p : float, default=2
        Order of the norm of the columns, p > 0; inf for the largest entry.
    q : float, default=1
        Exponent, q > 0.

    Returns
    -------
    norm : float

    Examples
    --------
    >>> from cappedlda.paper import capped_norm
    >>> M = [[3.0, 0.0, 30.0], [4.0, 1.0, 40.0]]
    >>> capped_norm(M, epsilon=10.0)
    16.0
    >>> capped_norm(M, epsilon=float("inf"))
    56.0
    """
    M = np.asarray(M)
    if not np.can_cast(M.dtype, np.float64, "same_kind"):
        raise TypeError(f"M has type {M.dtype}; give a matrix of real numbers.")
    if M.ndim != 2:
        raise ValueError(f"M has {M.ndim} dimensions; give a matrix.")
    check_real("epsilon", epsilon, 0.0, np.inf, "use a positive number or inf")
    check_real("p", p, 0.0, np.inf, "use a positive number or inf")
    check_real("q", q, 0.0, np.finfo(float).max, "use a positive number")
    if M.size == 0:
        return 0.0
    unit = _unit(M)
    lengths = unit * np.linalg.norm(M / unit, p, axis=0)
    lengths = np.minimum(lengths, float(epsilon) ** (1.0 / q))
    unit = _unit(lengths)
    return float(unit * np.sum((lengths / unit) ** q) ** (1.0 / q))


def _unit(numbers):
    """Return a power of two near the largest finite number: over it, powers do not overflow."""
    largest = np.abs(numbers).max(initial=0.0, where=np.isfinite(numbers))
    return 2.0 ** np.floor(np.log2(largest)) if largest > 0.0 else 1.0
