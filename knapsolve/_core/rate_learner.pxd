from libc.stdint cimport int64_t, uint64_t

from knapsolve._core.random_bits cimport bitgen_t
from knapsolve._core.rate_filters cimport RateFilter, rate_filter, rate_filter_learn, rate_poll
from knapsolve._core.roles cimport Learner
from knapsolve._core.weight_tree cimport WeightTree


cdef extern from "nefk_kernel.h":
    ctypedef struct nefk_column:
        const double *doubles
        double scalar

cdef extern from "rate_price.h":
    ctypedef struct rate_price:
        int shape
        bint proportional
        nefk_column weight, lower, upper, own
        double capacity, price, total, slope, moved
    ctypedef struct rate_answer:
        double amount, slope
    rate_answer rate_price_answer(const rate_price *p, Py_ssize_t i, double rate) noexcept nogil
    void rate_price_settle(
        rate_price *p, const double *rates, Py_ssize_t width, Py_ssize_t n, bint search) noexcept nogil
    void rate_price_follow(rate_price *p, rate_answer before, rate_answer after) noexcept nogil


cdef class RateLearner(Learner):
    cdef RateFilter filter
    cdef rate_filter view              # the filter's, at hand
    cdef rate_price market
    cdef object keep, solve
    cdef Py_ssize_t cached
    cdef rate_answer answer            # of the cached material
    cdef int64_t since_refresh         # polls
    cdef WeightTree tree               # with random access
    cdef uint64_t[::1] units
    cdef double unit, even
    cdef double rate(self, Py_ssize_t i) noexcept nogil
    cdef void resync(self) noexcept nogil
    cdef bint stale(self) noexcept nogil
    cdef int reprice(self) noexcept nogil
    cdef void weigh(self, Py_ssize_t i) noexcept nogil
    cdef void weigh_all(self) noexcept nogil
