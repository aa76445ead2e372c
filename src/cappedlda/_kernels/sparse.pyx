"""Products with rows that are stored as compressed sparse rows (CSR).

A slab of rows is given by the arrays of the whole matrix and the slice of its row ends:
row j has the entries ends[j] to ends[j + 1] of `data` and `indices`. Entries are float32
or float64, sums are made in float64. What is not stored is zero: centres are subtracted
from the images, never from the rows. Every function but `project` and `scaled_norms` adds
into its result. Nothing is checked here.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t

ctypedef fused real:
    float
    double

ctypedef fused index:
    int32_t
    int64_t


cdef extern from "gather.h":
    void gather_f32_i32(
        const float *, const int32_t *, const int64_t *, Py_ssize_t, const double *, Py_ssize_t,
        double *) noexcept nogil
    void gather_f32_i64(
        const float *, const int64_t *, const int64_t *, Py_ssize_t, const double *, Py_ssize_t,
        double *) noexcept nogil
    void gather_f64_i32(
        const double *, const int32_t *, const int64_t *, Py_ssize_t, const double *, Py_ssize_t,
        double *) noexcept nogil
    void gather_f64_i64(
        const double *, const int64_t *, const int64_t *, Py_ssize_t, const double *, Py_ssize_t,
        double *) noexcept nogil


def project(
    const real[::1] data,        # IN (entries,)
    const index[::1] indices,    # IN (entries,)
    const int64_t[::1] ends,     # IN (N + 1,)
    const double[:, ::1] V,      # IN (n, k)
    double[:, ::1] images,       # OUT (N, k)
):
    """Images X V of the rows."""
    cdef Py_ssize_t rows = images.shape[0], k = V.shape[1]
    if rows == 0 or k == 0 or data.shape[0] == 0:
        images[:, :] = 0.0
        return
    with nogil:
        if real is float and index is int32_t:
            gather_f32_i32(&data[0], &indices[0], &ends[0], rows, &V[0, 0], k, &images[0, 0])
        elif real is float:
            gather_f32_i64(&data[0], &indices[0], &ends[0], rows, &V[0, 0], k, &images[0, 0])
        elif index is int32_t:
            gather_f64_i32(&data[0], &indices[0], &ends[0], rows, &V[0, 0], k, &images[0, 0])
        else:
            gather_f64_i64(&data[0], &indices[0], &ends[0], rows, &V[0, 0], k, &images[0, 0])


def add_class_sums(
    const real[::1] data,        # IN (entries,)
    const index[::1] indices,    # IN (entries,)
    const int64_t[::1] ends,     # IN (N + 1,)
    const int32_t[::1] codes,    # IN (N,)
    const double[::1] weights,   # IN (N,)
    const double[::1] inv_scale,  # IN (n,)
    double[:, ::1] sums,         # IN OUT (c, n)
    double[::1] squares,         # IN OUT (n,)
):
    """Add the weighted sums of the rows of each class, and of the squares of x / scale."""
    cdef Py_ssize_t j, p
    cdef double x, scaled, weight
    cdef double *total
    with nogil:
        for j in range(codes.shape[0]):
            weight = weights[j]
            if weight == 0.0:
                continue
            total = &sums[codes[j], 0]
            for p in range(ends[j], ends[j + 1]):
                x = data[p]
                total[indices[p]] += weight * x
                scaled = x * inv_scale[indices[p]]
                squares[indices[p]] += weight * scaled * scaled


def scaled_norms(
    const real[::1] data,           # IN (entries,)
    const index[::1] indices,       # IN (entries,)
    const int64_t[::1] ends,        # IN (N + 1,)
    const int32_t[::1] codes,       # IN (N,)
    const double[:, ::1] centres,   # IN (c, n)
    const double[::1] inv_scale,    # IN (n,)
    const double[::1] empty,        # IN (c,) sums of (centre / scale)^2
    double[::1] norms,              # OUT (N,)
):
    """Root mean square of (x - centre) / scale over the features of each row."""
    cdef Py_ssize_t j, p, n = inv_scale.shape[0]
    cdef double square, stored, missing
    cdef const double *centre
    with nogil:
        for j in range(codes.shape[0]):
            centre = &centres[codes[j], 0]
            square = empty[codes[j]]
            for p in range(ends[j], ends[j + 1]):
                missing = centre[indices[p]] * inv_scale[indices[p]]
                stored = data[p] * inv_scale[indices[p]] - missing
                square += stored * stored - missing * missing
            norms[j] = sqrt(square / n) if square > 0.0 else 0.0
