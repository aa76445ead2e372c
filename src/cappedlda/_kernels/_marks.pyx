"""Rows picked out by their class and a number: those within a cap, those of some ranks.

NumPy would first write the number of each row's class to an array, or sort the rows by
class. Nothing is checked here.
"""

from libc.stdint cimport int32_t, int64_t


def mark_within(
    const double[::1] distances,   # IN (N,)
    const int32_t[::1] codes,      # IN (N,)
    const double[::1] caps,        # IN (c,)
    unsigned char[::1] marks,      # OUT (N,) 1 or 0
):
    """Mark the distances that are at most the cap of their class; NaN never is."""
    cdef Py_ssize_t j
    with nogil:
        for j in range(distances.shape[0]):
            marks[j] = distances[j] <= caps[codes[j]]


def find_ranks(
    const int32_t[::1] codes,   # IN (N,)
    const int64_t[::1] ranks,   # IN (k,) of each class in turn, ascending
    const int64_t[::1] ends,    # IN (c,) where the ranks of each class end
    int64_t[::1] cursors,       # IN OUT (c,) where those begin
    int64_t[::1] counts,        # IN OUT (c,) zeros
    int64_t[::1] rows,          # OUT (k,) ascending
):
    """Find the rows that have some ranks among those of their class, counted from 0."""
    cdef Py_ssize_t j, i, found = 0
    with nogil:
        for j in range(codes.shape[0]):
            i = codes[j]
            if cursors[i] < ends[i] and counts[i] == ranks[cursors[i]]:
                rows[found] = j
                found += 1
                cursors[i] += 1
            counts[i] += 1
