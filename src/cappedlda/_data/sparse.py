"""Sparse rows of many features, which are only multiplied, and their scatter."""

from copy import copy

import numpy as np
from scipy import sparse

from cappedlda._data.array import ArrayRows
from cappedlda._data.base import sum_in_order
from cappedlda._data.jobs import PassJob, histograms_of
from cappedlda._data.threads import ordered_map
from cappedlda._kernels import kernels
from cappedlda._kernels import sparse as sparse_kernels
from cappedlda._regime import REGIME
from cappedlda._rules.rule import Query
from cappedlda._validation import not_finite


def check_entries(X):
    """Check that all entries of a CSR matrix are finite; an error names the first that is not."""
    finite = np.isfinite(X.data)
    if not finite.all():
        row = int(np.searchsorted(X.indptr, np.argmin(finite), side="right")) - 1
        raise not_finite(X[[row]].toarray()[0], f"row {row}")


def canonical(X):
    """Return a CSR matrix with sorted indices and without duplicates: X itself if it is one."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


class SparseRows(ArrayRows):
    """Sparse rows of many features, which stay sparse: their scatter is an `ImplicitScatter`."""

    metric_kind, has_large_scatter = "implicit", False

    def __init__(self, X, codes, n_classes, sample_weight=None, n_jobs=1, regime=REGIME):
        super().__init__(X, codes, n_classes, sample_weight, n_jobs, regime)
        # Of X, once asked for, and common to all rows that have it. Products with it take half as
        # long as those that add to all features.
        self._transpose = []

    def check_has_matrix(self, what):
        n, most = self.shape[1], self.regime.most_dense_features
        raise ValueError(
            f"X is sparse and has n_features={n}, more than {most}, too many for {what}"
        )

    def first_not_finite(self):
        return None  # the entries were checked before

    def gated(self, gate):
        return self.measured(gate)

    def slab(self, rows):
        return self.X[rows].toarray()

    def take(self, rows):
        settings = self.n_classes, self.weight_at(rows), self.n_jobs, self.regime
        return SparseRows(self.X[rows], self.codes[rows], *settings)

    def with_features(self, X):
        rows = super().with_features(X)
        rows._transpose = []
        return rows

    def slabs(self):
        least = self.regime.slab_entries_per_feature * self.shape[1]
        return slices_by_entries(self.X, self.X.nnz // least)

    def run(self, query, distances=None):
        distances = np.empty(self.shape[0]) if distances is None else distances
        d = query.W.shape[1]
        W = np.ascontiguousarray(query.W, np.float64)
        # In the image all is small: the pass there is one of d features.
        images = Query(
            np.eye(d), query.centres @ W, np.ones(d), query.caps, query.q, query.floor, False, False
        )

        def run_slab(rows):
            codes, projected = self.codes[rows], np.empty((rows.stop - rows.start, d))
            sparse_kernels.project(*csr_arrays(self.X, rows), W, projected)
            record = PassJob(images)(projected, codes, self.weight_at(rows), distances[rows])
            if query.sums:
                kept = self._weights(rows, distances, query, equal=True)
                record.sums, _ = self._class_sums(rows, kept, query.scale)
            return record

        record = self._sum(run_slab)
        if query.sums:
            record.sums -= record.kept[:, 1:] * query.centres
        record = record.mirror()
        if query.scatter:
            record.scatter = self._scatter(query, distances)
        return record

    def _class_sums(self, rows, weights, scale):
        """Return the weighted sums of each class in a slab (c, n), and of scaled squares (n,)."""
        n = self.shape[1]
        sums, squares, inverse = np.zeros((self.n_classes, n)), np.zeros(n), 1.0 / scale
        arrays = *csr_arrays(self.X, rows), self.codes[rows]
        sparse_kernels.add_class_sums(*arrays, weights, inverse, sums, squares)
        return sums, squares

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

        def squares_of(rows):
            sums, squares = self._class_sums(rows, weights[rows], query.scale)
            return squares - 2.0 * np.einsum("ij,ij->j", centres, sums / query.scale)

        centres = query.centres / query.scale
        diagonal = (
            self._sum(squares_of) + np.bincount(self.codes, weights, self.n_classes) @ centres**2
        )
        diagonal = np.maximum(diagonal, 0.0)  # what the mean leaves may be rounding only
        return ImplicitScatter(self, weights, query.centres, query.scale, diagonal)

    def _sum(self, job):
        return sum_in_order(ordered_map(job, self.slabs(), self.n_jobs))

    def norms(self, centres, scale):
        norms, inverse = np.empty(self.shape[0]), 1.0 / scale
        empty = np.sum((centres / scale) ** 2, axis=1)  # of rows without entries

        def fill(rows):
            arrays = *csr_arrays(self.X, rows), self.codes[rows]
            sparse_kernels.scaled_norms(*arrays, centres, inverse, empty, norms[rows])

        for _ in ordered_map(fill, self.slabs(), self.n_jobs):
            pass
        return norms, histograms_of(norms, self.codes, self.n_classes, self.sample_weight)

    def transposed(self, U):
        if not self._transpose:
            self._transpose.append(self.X.T.tocsr())
        return project(self._transpose[0], U, self.n_jobs, self.regime.slab_entries)

    def project(self, V):
        return project(self.X, V, self.n_jobs, self.regime.slab_entries)

    def clipped(self, centres, reach):
        """Return the rows with entries cut off that are further than `reach` (n,) from a centre."""
        data = self.X.data
        for rows in self.slabs():
            span, lengths = self.entries(rows)
            features = self.X.indices[span]
            middle, limit = centres[np.repeat(self.codes[rows], lengths), features], reach[features]
            steps = self.X.data[span] - middle
            far = np.abs(steps) > limit
            if far.any():
                data = data.copy() if data is self.X.data else data
                data[span][far] = (middle + np.sign(steps) * limit)[far]
        if data is self.X.data:
            return self
        arrays = (data, self.X.indices, self.X.indptr)
        return self.with_features(sparse.csr_array(arrays, shape=self.shape))

    def columns(self, chosen):
        """Return the rows with some features only, dense."""
        X = self.X[:, chosen].toarray()
        settings = self.n_classes, self.sample_weight, self.n_jobs, self.regime
        return ArrayRows(X, self.codes, *settings)

    def stored_weights(self):
        """Return the weight of the rows of each class that have an entry, shape (c, n)."""
        n_rows, present = self.shape[0], np.ones(self.X.nnz)
        members = (self.row_weights, (self.codes, np.arange(n_rows)))
        members = sparse.csr_array(members, (self.n_classes, n_rows))
        arrays = (present, self.X.indices, self.X.indptr)
        return (members @ sparse.csr_array(arrays, self.shape)).toarray()

    def entries(self, rows):
        """Return where the entries of a slice of rows are stored, and how many each row has."""
        ends = self.X.indptr[rows.start : rows.stop + 1]
        return slice(ends[0], ends[-1]), np.diff(ends)


class ImplicitScatter:
    """The scatter H'H = sum F_j h_j h_j' of a pass, which is only multiplied with.

    Rows are centred in their images, so that sparse rows stay sparse. The weights F_j are of shape
    (N,), the centres (c, n), scale and diagonal (n,).
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


def slices_by_entries(X, n_slabs):
    """Return about `n_slabs` slices of rows of a CSR matrix, with similar numbers of entries."""
    n_slabs = int(np.clip(n_slabs, 1, X.shape[0]))
    inner = np.searchsorted(X.indptr, np.linspace(0, X.nnz, n_slabs + 1)[1:-1])
    ends = np.unique([0, *inner, X.shape[0]])
    return [slice(a, b) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]


def project(X, V, n_jobs, slab_entries):
    """Return X V of a CSR matrix, of shape (N, k), in slabs of about as many entries."""
    V = np.ascontiguousarray(V, np.float64)
    images = np.empty((X.shape[0], V.shape[1]))

    def fill(rows):
        sparse_kernels.project(*csr_arrays(X, rows), V, images[rows])

    for _ in ordered_map(fill, slices_by_entries(X, X.nnz // slab_entries), n_jobs):
        pass
    return images


def csr_arrays(X, rows):
    """Return a slice of rows of a canonical CSR matrix as the kernels take it."""
    return X.data, X.indices, X.indptr[rows.start : rows.stop + 1].astype(np.int64)
