"""Directions found one after the other, and what the methods that do so share."""

import numpy as np
from scipy import linalg

from cappedlda._metrics.linalg import leading_directions, solve_spd
from cappedlda.paper.compared._method import SAME_MEANS, Directions

# Ridge of the methods that have none of their own, relative to the mean within variance.
RIDGE = 1e-6
# Floor of the absolute values, relative to the median of the initial ones; and least such
# median, relative to the spread of the data.
FLOOR = 1e-3


def ridged_scatter(problem):
    S = problem.within_scatter() / problem.sizes.sum()
    mean_variance = np.trace(S) / len(S)
    # Without any within-class scatter the between-class one gives the unit.
    unit = mean_variance or np.sum(problem.between_factor**2) / len(S)
    S[np.diag_indices_from(S)] += RIDGE * unit
    return S


def one_by_one(problem, n_components, solve_one):
    """Find directions one after the other, each in the complement of those before.

    `solve_one(basis)` returns the direction in the coordinates of a basis of the complement,
    as `Directions`. It ends early where the class means no longer differ.
    """
    deviations = problem.deviations
    basis = np.eye(len(deviations))
    columns, found = [], []
    while len(columns) < n_components:
        left = linalg.norm(basis.T @ deviations)
        if left <= SAME_MEANS * linalg.norm(deviations):
            break
        direction = solve_one(basis)
        w = direction.W / linalg.norm(direction.W)
        columns.append(basis @ w)
        basis = basis @ complement(w[:, None])
        found.append(direction)
    return Directions(
        np.stack(columns, axis=1),
        "converged" if all(one.status == "converged" for one in found) else "max_iter",
        sum(one.n_iter for one in found),
        [one.objective_path for one in found],
    )


def complement(W):
    """Return an orthonormal basis of the vectors orthogonal to the columns of W (n, d)."""
    return linalg.qr(W, check_finite=False)[0][:, W.shape[1] :]


def signs_of(values):
    """Return the signs, with +1 for zero."""
    return np.where(values < 0.0, -1.0, 1.0)


def starting_points(S, B):
    """Return unit vectors to start from: the LDA direction and the best class mean."""
    lda = leading_directions(solve_spd(S, B), B)[:, :1]
    squares = np.sum(B**2, axis=0)
    within = np.sum(B * (S @ B), axis=0)
    ratios = np.divide(squares**2, within, out=np.zeros_like(within), where=within > 0.0)
    best = np.argmax(ratios)
    return [lda / linalg.norm(lda), B[:, [best]] / np.sqrt(squares[best])]


def floor_of(problem, W):
    """Return the floor of the absolute values, from their median at the start."""
    # Where that start sees no scatter at all, as with few rows, the spread of the data counts.
    spread = np.sqrt(np.mean(np.var(problem.rows.X, axis=0)))
    return FLOOR * max(problem.median_distance(W), FLOOR * spread)
