"""The system A = scatter / weight + ridge I by conjugate gradients, where A is no matrix.

The scatter H'H is known by products with H only, the weighted and centred rows. With fewer rows
than features, those outside their span have the same small eigenvalue, which would slow down the
iteration; there the system of the rows gives the same answer:

    A^{-1} B = (B - H' u / weight) / ridge,   (HH' / weight + ridge I) u = H B.
"""

import warnings
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from cappedlda._metrics import linalg

# The error is measured by this number of last steps.
WINDOW = 5
MAX_STEPS = 2000


@dataclass
class ImplicitSystem:
    """A symmetric positive definite system that is known by products only.

    The error of `solve` is at most `tol` in the norm of A, relative to the solution. A guess (n, d)
    has directions that nearly span it.
    """

    scatter: Any
    weight: float
    ridge: float
    tol: float = 1e-6
    guess: np.ndarray | None = None
    max_steps: int = MAX_STEPS
    matrix = None

    def __matmul__(self, V):
        return self.scatter.sums(self.scatter.images(V)) / self.weight + self.ridge * V

    def solve_on_range(self, B, cutoff):
        """Return A^{-1} B: the ridge keeps A from being singular."""
        return self.solve(B)

    def solve(self, B):
        """Return A^{-1} B for B of shape (n, k) of any rank."""
        U, lengths, V = np.linalg.svd(B, full_matrices=False)
        rank = int(np.sum(lengths > linalg.RANK_CUTOFF * lengths[0]))
        solve = self._solve_rows if self.scatter.n_kept < len(B) else self._solve_features
        return solve(U[:, :rank]) @ (lengths[:rank, None] * V[:rank])

    def _solve_features(self, B):
        diagonal = self.scatter.diagonal() / self.weight + self.ridge
        gains = deque(maxlen=WINDOW)

        def finished(gain, residual, energy):
            gains.append(gain)
            return len(gains) == WINDOW and np.all(sum(gains) <= self.tol**2 * energy)

        settings = lambda R: R / diagonal[:, None], finished, self.guess, self.max_steps
        return conjugate_gradients(self.__matmul__, B, *settings)

    def _solve_rows(self, B):
        scatter, weight, ridge = self.scatter, self.weight, self.ridge
        squares = np.sum(B**2, axis=0)

        def product(U):
            return scatter.images(scatter.sums(U)) / weight + ridge * U

        def finished(gain, residual, energy):
            # The answer Y has the squared norm (B'B - energy / weight) / ridge, and its error
            # at most that of the residual / ridge: what the rows do not see is the larger part.
            error = np.einsum("ij,ij->j", residual, residual) / (weight * ridge)
            return np.all(error <= self.tol**2 * np.maximum(squares - energy / weight, 0.0))

        guess = None if self.guess is None else scatter.images(self.guess)
        precondition = row_preconditioner(scatter, weight, ridge, product)
        settings = precondition, finished, guess, self.max_steps
        U = conjugate_gradients(product, scatter.images(B), *settings)
        return (B - scatter.sums(U) / weight) / ridge


def row_preconditioner(scatter, weight, ridge, product):
    """Return what divides residuals (N, k) by the diagonal of the system of the rows.

    In the directions of the classes it takes the inverse: rows are centred in their classes, so
    these have the smallest eigenvalue there is, the ridge, and the diagonal would bring them in
    again.
    """
    diagonal = (scatter.row_squares() / weight + ridge)[:, None]
    directions = scatter.class_directions()
    across = directions.T.tocsr()
    inner = across @ product(directions.toarray())
    inverse = np.linalg.inv(0.5 * (inner + inner.T))  # nothing there is below the ridge

    def precondition(R):
        inside = across @ R
        Z = R - directions @ inside
        Z /= diagonal
        Z += directions @ (inverse @ inside - across @ Z)
        return Z

    return precondition


def conjugate_gradients(product, B, precondition, finished, guess=None, max_steps=MAX_STEPS):
    """Return X with A X = B, each column by an iteration of its own, all at the same time.

    The `product` returns A V, and `precondition` about A^{-1} R, symmetric and positive. `finished`
    says whether a step was the last, by how much it has lowered the squared error in the norm of A,
    the residuals, shape (n, k), and the squared norms x'Ax, for all columns. The iteration starts
    from the best point in the span of a guess (n, d).
    """
    X, residual = _first_point(product, B, guess)
    energy = np.einsum("ij,ij->j", X, B + residual)
    Z = precondition(residual)
    P = Z.copy()
    rho = np.einsum("ij,ij->j", residual, Z)
    for _ in range(max_steps):
        if not rho.any():
            return X
        AP = product(P)
        alpha = _quotient(rho, np.einsum("ij,ij->j", P, AP))
        X += alpha * P
        AP *= alpha
        residual -= AP
        energy += alpha * rho
        if finished(alpha * rho, residual, energy):
            return X
        Z = precondition(residual)
        previous, rho = rho, np.einsum("ij,ij->j", residual, Z)
        P *= _quotient(rho, previous)
        P += Z
    warnings.warn(
        f"Conjugate gradients did not end in {max_steps} steps, as the features of X are nearly "
        "dependent; remove such features, or use CappedNormLDA with a larger ridge.",
        ConvergenceWarning,
        stacklevel=2,
    )
    return X


def _quotient(a, b):
    """Return a / b, or 0 in columns that have converged."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0.0)


def _first_point(product, B, guess):
    """Return the point nearest the solution in the span of `guess`, and its residual."""
    if guess is None:
        return np.zeros_like(B), B.copy()
    image = product(guess)
    coefficients = linalg.pinv_psd(guess.T @ image) @ (guess.T @ B)
    return guess @ coefficients, B - image @ coefficients
