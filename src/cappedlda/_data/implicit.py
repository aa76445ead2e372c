"""A scatter that is no matrix, but multiplied with; rows are centred in their images."""

from copy import copy

import numpy as np
from scipy import sparse


class ImplicitScatter:
    """The scatter H'H = sum F_j h_j h_j' of a pass, known by products with H.

    The weights F_j are of shape (N,), the centres (c, n), scale and diagonal (n,).
    """

    def __init__(self, rows, weights, centres, scale, diagonal):
        self.n_kept = int(np.count_nonzero(weights))  # rows of H that are not zero
        self._diagonal = diagonal
        self._rows = rows
        self._roots = np.sqrt(weights)[:, None]
        self._centres = centres
        self._scale = scale
        n_rows, n_classes = len(weights), len(centres)
        members = (self._roots[:, 0], (np.arange(n_rows), rows.codes))
        self._members = sparse.csr_array(members, (n_rows, n_classes))

    def diagonal(self):
        return self._diagonal

    def trace(self):
        return self._diagonal.sum()

    def images(self, V):
        """Return H V of shape (N, k) for V of shape (n, k)."""
        V = V / self._scale[:, None]
        U = self._rows.project(V)
        U[self._roots[:, 0] == 0.0] = 0.0  # also where it is not a number
        U *= self._roots
        U -= self._members @ (self._centres @ V)
        return U

    def sums(self, U):
        """Return H'U of shape (n, k) for U of shape (N, k)."""
        sums = self._rows.transposed(U * self._roots)
        sums -= self._centres.T @ (self._members.T @ U)
        sums /= self._scale[:, None]
        return sums

    def class_directions(self):
        """Return for each class a unit vector of its rows that H' makes small, shape (N, c).

        They become zero if the centres are the means. Classes without weight have none.
        """
        lengths = np.sqrt(self._members.multiply(self._members).sum(axis=0))
        present = lengths > 0.0
        return sparse.csr_array(self._members[:, present] / lengths[present])

    def row_squares(self):
        """Return the squared lengths of the rows of H, shape (N,)."""
        norms, _ = self._rows.norms(self._centres, self._scale)
        squares = np.zeros(len(norms))
        roots = self._roots[:, 0]
        kept = roots > 0.0
        squares[kept] = len(self._scale) * (roots[kept] * norms[kept]) ** 2
        return squares

    def recentred(self, centres, moves):
        """Return it about other centres; scaled and weighted moves (c, n) lower the diagonal."""
        scatter = copy(self)
        scatter._centres = centres
        scatter._diagonal = np.maximum(self._diagonal - np.sum(moves**2, axis=0), 0.0)
        return scatter
