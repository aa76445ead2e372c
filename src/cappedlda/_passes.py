"""The data side: runs one pass over the rows and returns one additive record.

This is the only place that knows how the rows are stored and how many threads
work on them. The solver asks with a `Query` and sees nothing but a `Record`.
"""

from dataclasses import dataclass, fields

import numpy as np

from cappedlda._core import kernels
from cappedlda._threads import ordered_map

# A slab is the unit of threads and of the reduction. Its size depends on the shape
# only, so the order of summation, and with it every bit of the result, does not
# depend on the number of threads. Below MIN_SLAB_ROWS adding the n x n partial sums
# would cost as much as making them.
SLAB_ELEMENTS = 1 << 21
MIN_SLAB_ROWS = 2048


@dataclass(frozen=True)
class Query:
    """What a pass evaluates: the projection, the centres and the cap.

    Parameters
    ----------
    W : ndarray of shape (n, d)
        Projection, in the units of the raw features.
    centres : ndarray of shape (c, n)
    scale : ndarray of shape (n,)
        Unit of each feature in the scatter.
    caps : ndarray of shape (c,)
        Largest distance of a kept row, per class.
    q, floor : float
        Exponent and floor of the capped norm.
    scatter, sums : bool
        Whether the scatter and the class sums are wanted; a pass without only projects.
    """

    W: np.ndarray
    centres: np.ndarray
    scale: np.ndarray
    caps: np.ndarray
    q: float
    floor: float
    scatter: bool = True
    sums: bool = True

    @classmethod
    def of_all_rows(cls, centres, scale, scatter=True):
        """Return a query that keeps every row with weight 2 (q = 2) and projects nothing."""
        c, n = centres.shape
        return cls(np.zeros((n, 1)), centres, scale, np.full(c, np.inf), 2.0, 0.0, scatter)


@dataclass
class Record:
    """All a solver learns from a pass. Records of disjoint rows add up.

    Attributes
    ----------
    scatter : ndarray of shape (n, n)
        Sum of F_j h_j h_j' over kept rows; (0, 0) if not asked for.
    sums : ndarray of shape (c, n)
        Sums of kept rows about the centre of their class; (0, 0) if not asked for.
    image_sums : ndarray of shape (c, d)
        The same of the projected rows.
    image_scatter : ndarray of shape (d, d)
        Sum of z_j z_j' over kept rows.
    kept : ndarray of shape (c, 2)
        Number and weight of the kept rows.
    histograms : ndarray of shape (c, HISTOGRAM_BINS)
        Weight by distance in each class; their sum is the weight of all rows.
    objective : float
        Sum of the capped losses.
    not_finite : int
        Rows whose distance is not a finite number.
    """

    scatter: np.ndarray
    sums: np.ndarray
    image_sums: np.ndarray
    image_scatter: np.ndarray
    kept: np.ndarray
    histograms: np.ndarray
    objective: float = 0.0
    not_finite: int = 0

    @classmethod
    def empty(cls, query):
        """Return the record of no rows."""
        n, d = query.W.shape
        c = len(query.centres)
        return cls(
            scatter=np.zeros((n, n) if query.scatter else (0, 0)),
            sums=np.zeros((c, n) if query.sums else (0, 0)),
            image_sums=np.zeros((c, d)),
            image_scatter=np.zeros((d, d)),
            kept=np.zeros((c, 2)),
            histograms=np.zeros((c, kernels.HISTOGRAM_BINS)),
        )

    @property
    def weight(self):
        """Weight of all rows, kept or not."""
        return self.histograms.sum()

    def __iadd__(self, other):
        for item in fields(self):
            value = getattr(self, item.name)
            value += getattr(other, item.name)
            setattr(self, item.name, value)
        return self

    def mirror(self):
        """Copy the upper triangles, which the kernels fill, to the lower ones."""
        self.scatter = _mirrored(self.scatter)
        self.image_scatter = _mirrored(self.image_scatter)
        return self


def _mirrored(upper):
    full = np.empty(upper.shape)
    kernels.mirror(upper, full)
    return full


def run_block(X, codes, sample_weight, query, distances=None):
    """Return the record of one C-ordered block of rows; only upper triangles are filled.

    Parameters
    ----------
    X : ndarray of shape (N, n), float32 or float64, C order
    codes : ndarray of shape (N,), int32
    sample_weight : ndarray of shape (N,) or None
    query : Query
    distances : ndarray of shape (N,), float64, optional
        Filled with the distances of the rows.
    """
    dtype = X.dtype
    n, d = query.W.shape
    record = Record.empty(query)
    W = np.ascontiguousarray(query.W, dtype)
    centres = np.ascontiguousarray(query.centres, dtype)
    # Images of the very values that the kernel multiplies, so that they cancel.
    images = centres.astype(np.float64, copy=False) @ W.astype(np.float64, copy=False)
    padded_scatter = np.zeros((kernels.padded(n, dtype.itemsize),) * 2 if query.scatter else (0, 0))
    padded_images = np.zeros((kernels.padded(d, dtype.itemsize),) * 2)
    record.objective, record.not_finite = kernels.fused_pass(
        X,
        codes,
        _NOTHING if sample_weight is None else sample_weight,
        W,
        images.astype(dtype, copy=False),
        centres,
        (1.0 / query.scale).astype(dtype, copy=False),
        query.caps,
        _NOTHING if distances is None else distances,
        padded_scatter,
        record.sums,
        record.image_sums,
        padded_images,
        record.kept,
        record.histograms,
        query.q,
        query.floor,
    )
    if query.scatter:
        record.scatter = padded_scatter[:n, :n]
    if query.sums:
        record.image_sums = record.sums @ W.astype(np.float64, copy=False)
    record.image_scatter = padded_images[:d, :d]
    return record


_NOTHING = np.empty(0)


class ArrayRows:
    """Rows of an array in memory (or mapped to it), read slab by slab.

    Parameters
    ----------
    X : array of shape (N, n), float32 or float64
        Copied only slab by slab, and only where it is not C-ordered.
    codes : ndarray of shape (N,), int32
        Class of each row, from 0.
    n_classes : int
    sample_weight : ndarray of shape (N,), float64, optional
    n_jobs : int
        Threads.
    """

    def __init__(self, X, codes, n_classes, sample_weight=None, n_jobs=1):
        self.X = X
        self.codes = codes
        self.n_classes = n_classes
        self.sample_weight = sample_weight
        self.n_jobs = n_jobs

    @property
    def shape(self):
        """(N, n)."""
        return self.X.shape

    @property
    def class_weights(self):
        """Weight of each class, shape (c,)."""
        return np.bincount(self.codes, self.sample_weight, self.n_classes).astype(np.float64)

    @property
    def class_shares(self):
        """Share of each class in the weight of all rows, shape (c,)."""
        return self.class_weights / self.class_weights.sum()

    def slabs(self):
        """Return the slices of rows that are worked on one at a time."""
        n_rows, n = self.shape
        step = max(MIN_SLAB_ROWS, SLAB_ELEMENTS // n)
        return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]

    def take(self, rows):
        """Return a copy of some rows as rows of their own."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        X = np.ascontiguousarray(self.X[rows])
        return ArrayRows(X, self.codes[rows], self.n_classes, weight, self.n_jobs)

    def classes(self):
        """Yield the rows and weights of each class, in float64."""
        order = np.argsort(self.codes, kind="stable")
        ends = np.cumsum(np.bincount(self.codes, minlength=self.n_classes))
        for rows in np.split(order, ends[:-1]):
            weight = None if self.sample_weight is None else self.sample_weight[rows]
            yield self.X[rows].astype(np.float64, copy=False), weight

    def class_means(self):
        """Return the mean of each class, shape (c, n), in one pass."""
        n = self.shape[1]
        record = self.run(
            Query.of_all_rows(np.zeros((self.n_classes, n)), np.ones(n), scatter=False)
        )
        return record.sums / record.kept[:, 1:]

    def reweighted(self, keep):
        """Return the rows with those outside the mask `keep` out of every sum."""
        weight = keep.astype(np.float64)
        if self.sample_weight is not None:
            weight *= self.sample_weight
        return ArrayRows(self.X, self.codes, self.n_classes, weight, self.n_jobs)

    def scaled_norms(self, centres, scale):
        """Return the root mean square of (x - centre) / scale of each row."""
        norms = np.empty(self.shape[0])
        dtype = self.X.dtype
        centres = np.ascontiguousarray(centres, dtype)
        inv_scale = (1.0 / scale).astype(dtype)

        def run_slab(rows):
            X = np.ascontiguousarray(self.X[rows])
            kernels.scaled_norms(X, self.codes[rows], centres, inv_scale, norms[rows])

        for _ in ordered_map(run_slab, self.slabs(), self.n_jobs):
            pass
        return norms

    def run(self, query, distances=None):
        """Return the record of one pass over all rows."""

        def run_slab(rows):
            return run_block(
                np.ascontiguousarray(self.X[rows]),
                self.codes[rows],
                None if self.sample_weight is None else self.sample_weight[rows],
                query,
                None if distances is None else distances[rows],
            )

        total = None
        for record in ordered_map(run_slab, self.slabs(), self.n_jobs):
            if total is None:
                total = record
            else:
                total += record
        return total.mirror()
