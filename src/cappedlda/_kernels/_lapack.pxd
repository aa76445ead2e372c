"""LAPACK for C-ordered matrices; the only door to scipy.linalg.cython_lapack."""


cdef bint find_eigen(double *C, double *values, Py_ssize_t n) except -1
