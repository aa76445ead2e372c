"""Sparse rows: made dense slab by slab with few features, only multiplied with many."""

import numpy as np
from scipy import sparse

from cappedlda._data.array import ArrayRows
from cappedlda._data.implicit import ImplicitRows
from cappedlda._data.threads import ordered_map
from cappedlda._kernels import sparse as sparse_kernels
from cappedlda._regime import REGIME
from cappedlda._validation import not_finite


def rows_of(X, codes, n_classes, sample_weight=None, n_jobs=1, regime=REGIME):
    """Return the rows of an array or of a CSR matrix."""
    if not sparse.issparse(X):
        return ArrayRows(X, codes, n_classes, sample_weight, n_jobs, regime)
    kind = DensifiedRows if X.shape[1] <= regime.most_dense_features else SparseRows
    return kind(canonical(X), codes, n_classes, sample_weight, n_jobs, regime)


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


class CsrRows(ArrayRows):
    """Rows of a CSR matrix."""

    def gated(self, gate):
        """Return the rows, which know how they lie to a gate."""
        return self.measured(gate)

    def first_not_finite(self):
        """Return None: the entries are checked before the matrix is taken."""

    def take(self, rows):
        """Return a copy of some rows as rows of their own."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        settings = self.n_classes, weight, self.n_jobs, self.regime
        return type(self)(self.X[rows], self.codes[rows], *settings)


class DensifiedRows(CsrRows):
    """Sparse rows of few features: each slab is made dense, and all is as with an array."""

    def slab(self, rows):
        """Return a slice of rows as a C-ordered array."""
        return self.X[rows].toarray()

    def pick(self, ranks):
        """Return a copy of some rows, dense; see `Rows`."""
        return super().pick(ranks).load()

    def load(self):
        """Return all rows, dense."""
        settings = self.n_classes, self.sample_weight, self.n_jobs, self.regime
        rows = ArrayRows(self.X.toarray(), self.codes, *settings)
        rows.gate_ratio = self.gate_ratio
        return rows


class SparseRows(CsrRows, ImplicitRows):
    """Sparse rows of many features, which stay sparse.

    Their transpose is kept too, once it was asked for: a product with it, row by row, takes
    half as long as one that adds to all features, and needs no sums of its own for each slab.
    """

    def __init__(self, X, codes, n_classes, sample_weight=None, n_jobs=1, regime=REGIME):
        super().__init__(X, codes, n_classes, sample_weight, n_jobs, regime)
        self._transpose = []  # of X, common to all rows that have it

    def with_features(self, X):
        """Return the same rows with other features."""
        rows = super().with_features(X)
        rows._transpose = []
        return rows

    def slabs(self):
        """Return the slices of rows that are worked on one at a time."""
        least = self.regime.slab_entries_per_feature * self.shape[1]
        return slices_by_entries(self.X, self.X.nnz // least)

    def block(self, rows):
        """Return what multiplies with a slice of rows."""
        return SparseBlock(self.X, rows)

    def transposed(self, U):
        """Return X'U of shape (n, k)."""
        if not self._transpose:
            self._transpose.append(self.X.T.tocsr())
        return project(self._transpose[0], U, self.n_jobs, self.regime.slab_entries)

    def project(self, V):
        """Return X V of shape (N, k)."""
        return project(self.X, V, self.n_jobs, self.regime.slab_entries)

    def clipped(self, centres, reach):
        """Return the rows with entries cut off that are further than `reach` (n,) from a centre."""
        data = self.X.data
        for rows in self.slabs():
            entries = self.entries(rows)
            middle = centres[entries.spread(self.codes[rows]), entries.indices]
            limit = reach[entries.indices]
            steps = entries.data - middle
            far = np.abs(steps) > limit
            if far.any():
                data = data.copy() if data is self.X.data else data
                data[entries.span][far] = (middle + np.sign(steps) * limit)[far]
        return self._with_entries(data)

    def _with_entries(self, data):
        """Return the rows with other numbers where they have an entry."""
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
        c, n = self.n_classes, self.shape[1]

        def count(rows):
            entries = self.entries(rows)
            keys = entries.spread(self.codes[rows].astype(np.int64)) * n + entries.indices
            weight = None if self.sample_weight is None else self.sample_weight[rows]
            weight = None if weight is None else entries.spread(weight)
            return np.bincount(keys, weight, c * n).astype(np.float64)

        return self._sum(count).reshape(c, n)

    def entries(self, rows):
        """Return the `Entries` of a slice of rows."""
        return Entries(self.X, rows)


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
        SparseBlock(X, rows).project(V, images[rows])

    for _ in ordered_map(fill, slices_by_entries(X, X.nnz // slab_entries), n_jobs):
        pass
    return images


class Entries:
    """The stored entries of some rows of a CSR matrix: `data`, `indices`, and their `span`."""

    def __init__(self, X, rows):
        ends = X.indptr[rows.start : rows.stop + 1]
        self._lengths = np.diff(ends)
        self.span = slice(ends[0], ends[-1])
        self.data = X.data[self.span]
        self.indices = X.indices[self.span]

    def spread(self, values):
        """Return the value of its row for each entry."""
        return np.repeat(values, self._lengths)


class SparseBlock:
    """Some rows of a CSR matrix.

    Parameters
    ----------
    X : csr_array of shape (N, n)
        In canonical format.
    rows : slice
    """

    def __init__(self, X, rows):
        self._n_rows = rows.stop - rows.start
        ends = X.indptr[rows.start : rows.stop + 1].astype(np.int64)
        self._arrays = (X.data, X.indices, ends)

    def project(self, V, images=None):
        """Return X V, shape (N, k), in new memory or where it is wanted."""
        images = np.empty((self._n_rows, V.shape[1])) if images is None else images
        sparse_kernels.project(*self._arrays, V, images)
        return images

    def add_class_sums(self, codes, weights, scale, sums, squares):
        """Add the weighted rows of each class to `sums`, their scaled squares to `squares`."""
        sparse_kernels.add_class_sums(*self._arrays, codes, weights, 1.0 / scale, sums, squares)

    def norms(self, codes, centres, scale, norms):
        """Fill in the root mean square of (x - centre) / scale of each row."""
        empty = np.sum((centres / scale) ** 2, axis=1)
        sparse_kernels.scaled_norms(*self._arrays, codes, centres, 1.0 / scale, empty, norms)
