"""Memory for the loops that need some numbers besides their arrays."""

from libc.stdlib cimport malloc


cdef inline double *room_for(Py_ssize_t count) except NULL:
    """Return space for `count` numbers, to be given back by `free`."""
    cdef double *room = <double *> malloc(max(count, <Py_ssize_t> 1) * sizeof(double))
    if room == NULL:
        raise MemoryError(f"no memory for {count} numbers")
    return room
