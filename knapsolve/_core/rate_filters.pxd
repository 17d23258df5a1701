# Change rates learnt a poll at a time (csrc/rate_filter.h), over numpy state.

from libc.stdint cimport int8_t, intptr_t as intp_t


cdef extern from "rate_filter.h":
    int RATE_RECURSIVE, RATE_MULTIPLICATIVE, RATE_BAYES, RATE_GRID, POOL_SIZE
    ctypedef struct rate_poll:
        double elapsed, weight, count, exposure
        bint changed
    ctypedef struct rate_filter:
        int kind
        double *row
        double *pool
        const double *grid
        Py_ssize_t width, n_grid
        double prior, memory, gain, limit
    void rate_filter_admit(const rate_filter *f, Py_ssize_t i) noexcept nogil
    void rate_filter_prefetch(const rate_filter *f, Py_ssize_t i) noexcept nogil
    void rate_filter_learn(const rate_filter *f, Py_ssize_t i, rate_poll poll) noexcept nogil
    double rate_filter_known(const rate_filter *f, Py_ssize_t i) noexcept nogil
    double rate_pooled(const double *pool) noexcept nogil


cdef class RateFilter:
    cdef rate_filter view
    cdef readonly Py_ssize_t n_known
    cdef double[:, ::1] rows
    cdef double[::1] pool
    cdef const double[::1] grid
