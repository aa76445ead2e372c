"""Memory for the loops that need some numbers besides their arrays."""

from libc.stdlib cimport malloc

cdef enum:
    CACHE_LINE = 64


cdef inline double *room_for(Py_ssize_t count) except NULL:
    """Return space for `count` numbers, to be given back by `free`."""
    cdef double *room = <double *> malloc(max(count, <Py_ssize_t> 1) * sizeof(double))
    if room == NULL:
        raise MemoryError(f"no memory for {count} numbers")
    return room


cdef inline const double *begin_of(const double[::1] numbers) noexcept nogil:
    """Return where numbers are, or NULL if there are none."""
    return NULL if numbers is None else &numbers[0]


cdef inline size_t aligned(size_t address) noexcept nogil:
    """The next start of a cache line: a vector that crosses one is read at half the speed."""
    return (address + CACHE_LINE - 1) // CACHE_LINE * CACHE_LINE


cdef inline void *carve(size_t *address, Py_ssize_t count, Py_ssize_t itemsize) noexcept nogil:
    """Take some cache lines from the memory at `address`."""
    cdef void *piece = <void *> address[0]
    address[0] = aligned(address[0] + count * itemsize)
    return piece
