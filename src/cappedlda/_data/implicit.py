"""Rows with very many features: passes that make no matrix of n x n.

A pass projects the rows and makes the same record as any other, but for the scatter: that
is left as a `ImplicitScatter`, which multiplies. Rows are centred in their images only, so
that sparse rows stay sparse.
"""

from dataclasses import fields

import numpy as np
from scipy import sparse

from cappedlda._data.array import ArrayRows
from cappedlda._data.base import sum_in_order
from cappedlda._data.jobs import PassJob, histograms_of
from cappedlda._data.record import Record
from cappedlda._data.threads import ordered_map
from cappedlda._kernels import kernels
from cappedlda._rules.rule import Query


class ImplicitRows(ArrayRows):
    """Rows that are only multiplied, slab by slab.

    A subclass has `slabs`, `project`, `transposed`, and `block`, which returns a slab with the
    methods `project`, `add_class_sums` and `norms` of `SparseBlock`.
    """

    implicit_scatter = True

    def block(self, rows):
        """Return what multiplies with a slice of rows."""
        raise NotImplementedError

    def run(self, query, distances=None):
        """Return the record of one pass over all rows; `distances` are filled if given."""
        distances = np.empty(self.shape[0]) if distances is None else distances
        c, n = query.centres.shape
        d = query.W.shape[1]
        W = np.ascontiguousarray(query.W, np.float64)
        # In the image all is small: the pass there is one of d features.
        images = Query(
            np.eye(d), query.centres @ W, np.ones(d), query.caps, query.q, query.floor, False, False
        )

        def run_slab(rows):
            block, codes = self.block(rows), self.codes[rows]
            weight = None if self.sample_weight is None else self.sample_weight[rows]
            record = PassJob(images)(block.project(W), codes, weight, distances[rows])
            if query.sums:
                kept = self._weights(rows, distances, query, equal=True)
                record.sums = np.zeros((c, n))
                block.add_class_sums(codes, kept, query.scale, record.sums, np.zeros(n))
            return record

        record = self._sum(run_slab)
        if query.sums:
            record.sums -= record.kept[:, 1:] * query.centres
        record = record.mirror()
        return (
            ImplicitRecord.of(record, self._scatter(query, distances)) if query.scatter else record
        )

    def _weights(self, rows, distances, query, equal=False):
        """Return the weights F_j of rows in the scatter, or equal ones of those that are kept."""
        caps = query.caps[self.codes[rows]]
        if equal:
            weights = (distances[rows] <= caps).astype(np.float64)
        else:
            weights = np.empty(len(caps))
            kernels.capped_weights(distances[rows], caps, weights, query.q, query.floor)
        return weights if self.sample_weight is None else weights * self.sample_weight[rows]

    def _scatter(self, query, distances):
        weights = self._weights(slice(None), distances, query)
        c, n = query.centres.shape

        def squares_of(rows):
            sums, squares = np.zeros((c, n)), np.zeros(n)
            block, codes = self.block(rows), self.codes[rows]
            block.add_class_sums(codes, weights[rows], query.scale, sums, squares)
            return squares - 2.0 * np.einsum("ij,ij->j", centres, sums / query.scale)

        centres = query.centres / query.scale
        diagonal = self._sum(squares_of) + np.bincount(self.codes, weights, c) @ centres**2
        diagonal = np.maximum(diagonal, 0.0)  # what the mean leaves may be rounding only
        return ImplicitScatter(self, weights, query.centres, query.scale, diagonal)

    def _sum(self, job):
        """Return the sum of `job(rows)` over slabs, in their order."""
        return sum_in_order(ordered_map(job, self.slabs(), self.n_jobs))

    def project(self, V):
        """Return X V of shape (N, k)."""
        raise NotImplementedError

    def transposed(self, U):
        """Return X'U of shape (n, k)."""
        raise NotImplementedError

    def norms(self, centres, scale):
        """Return the scaled norm of each row, and their histograms."""
        norms = np.empty(self.shape[0])

        def fill(rows):
            self.block(rows).norms(self.codes[rows], centres, scale, norms[rows])

        for _ in ordered_map(fill, self.slabs(), self.n_jobs):
            pass
        return norms, histograms_of(norms, self.codes, self.n_classes, self.sample_weight)


class ImplicitRecord(Record):
    """A record whose scatter is an `ImplicitScatter`."""

    @classmethod
    def of(cls, record, scatter):
        """Return a record with another scatter."""
        return cls(
            **{item.name: getattr(record, item.name) for item in fields(record)}
            | {"scatter": scatter}
        )

    def _has_finite_scatter(self):
        return np.isfinite(self.scatter.trace())

    def _move_scatter(self, means, moves):
        self.scatter.recentre(means, np.sum(moves**2, axis=0))


class ImplicitScatter:
    """The scatter H'H = sum F_j h_j h_j' of a pass, known by products with H.

    Parameters
    ----------
    rows : ImplicitRows
    weights : ndarray of shape (N,)
        F_j.
    centres : ndarray of shape (c, n)
    scale : ndarray of shape (n,)
    diagonal : ndarray of shape (n,)

    Attributes
    ----------
    diagonal : ndarray of shape (n,)
    n_kept : int
        Rows of H that are not zero.
    """

    def __init__(self, rows, weights, centres, scale, diagonal):
        self.diagonal = diagonal
        self.n_kept = int(np.count_nonzero(weights))
        self._rows = rows
        self._roots = np.sqrt(weights)[:, None]
        self._centres = centres
        self._scale = scale
        n_rows, n_classes = len(weights), len(centres)
        members = (self._roots[:, 0], (np.arange(n_rows), rows.codes))
        self._members = sparse.csr_array(members, (n_rows, n_classes))

    def trace(self):
        """Return the trace."""
        return self.diagonal.sum()

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
        """Return for each class a direction of the rows that H' makes small, shape (N, c).

        It makes them zero where the centres are the means by these weights. They have unit
        length and disjoint rows; those of classes without weight are left out.
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

    def recentre(self, centres, decrease):
        """Move the centres, which lowers the diagonal."""
        self._centres = centres
        self.diagonal = np.maximum(self.diagonal - decrease, 0.0)
