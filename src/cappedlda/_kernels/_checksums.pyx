"""Checksums of rows, by which they are known again in another pass.

That of a row depends on where its numbers stand. Those of a class are added, so that the
order of its rows does not matter. Nothing is checked here.
"""

from libc.stdint cimport int32_t, uint32_t, uint64_t

cdef uint64_t MIXER = 0x9E3779B97F4A7C15  # odd, with bits everywhere


def add_checksums(
    const uint32_t[:, ::1] words,    # IN (N, k) bits of the numbers
    const uint32_t[::1] factors,     # IN (k,) odd, one for each place
    const uint64_t[::1] weights,     # IN (N,) bits of the weights, or (0,)
    const int32_t[::1] codes,        # IN (N,)
    uint64_t[:, ::1] checksums,      # IN OUT (g, c)
    Py_ssize_t number,
    Py_ssize_t group,
):
    """Add the checksum of each row to that of its group and class.

    Row j is in the group (number + j) % g. Only one group is looked at, or all if it is -1.
    """
    cdef Py_ssize_t v, k = words.shape[1], g = checksums.shape[0]
    cdef Py_ssize_t j = 0 if group < 0 else (g + group - number % g) % g
    cdef Py_ssize_t step = 1 if group < 0 else g
    cdef bint weighted = weights.shape[0] > 0
    cdef uint64_t total
    cdef const uint32_t *row
    with nogil:
        while j < words.shape[0]:
            row = &words[j, 0]
            total = 0
            for v in range(k):
                total += <uint64_t> row[v] * factors[v]
            if weighted:
                total += weights[j] * MIXER
            # Plain sums would not tell when rows exchange numbers.
            total = (total ^ (total >> 32)) * MIXER
            checksums[(number + j) % g, codes[j]] += total ^ (total >> 29)
            j += step
