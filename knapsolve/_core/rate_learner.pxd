from libc.stdint cimport int64_t, uint64_t

from knapsolve._core.random_bits cimport bitgen_t
from knapsolve._core.rate_filters cimport RateFilter, rate_filter, rate_filter_known, rate_filter_learn, rate_poll
from knapsolve._core.roles cimport Learner
from knapsolve._core.weight_tree cimport WeightTree


cdef extern from "nefk_kernel.h":
    ctypedef struct nefk_column:
        const double *doubles
        const float *singles
        double scalar

cdef extern from "rate_price.h":
    int NEFK_DETECTION, NEFK_HARMONIC
    ctypedef struct rate_price:
        int shape
        bint proportional
        nefk_column weight, lower, upper, own
        double changes, current, capacity, price, total, slope, moved
    ctypedef struct rate_answer:
        double amount, slope
    double rate_column(const nefk_column *column, Py_ssize_t i) noexcept nogil
    rate_answer rate_price_answer(const rate_price *p, Py_ssize_t i, double rate) noexcept nogil
    void rate_price_settle(
        rate_price *p, const double *rates, Py_ssize_t width, Py_ssize_t n, bint search) noexcept nogil
    void rate_price_follow(rate_price *p, rate_answer before, rate_answer after) noexcept nogil


cdef inline bint look_again(
    double rate, double elapsed, int v, double known, double least, bitgen_t *bits
) noexcept nogil:
    """Whether to poll after 1 / rate: there was a change, which was sure (two or more expected) and so tells nothing of
    the rate. As long as less than one change's worth of evidence is `known`; then `least` times in a unit of time."""
    if not (v and rate * elapsed > 2.0):
        return False
    return known < 1.0 or least > 0.0 and bits.next_double(bits.state) < least * elapsed


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
    cdef void stay_open(self, Py_ssize_t i, double elapsed, int v, bitgen_t *bits) noexcept nogil
    cdef void weigh(self, Py_ssize_t i) noexcept nogil
    cdef void weigh_all(self) noexcept nogil
