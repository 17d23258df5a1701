from libc.stdint cimport int32_t, int64_t

from knapsolve._core.random_bits cimport bitgen_t
from knapsolve._core.roles cimport Environment


cdef class RateEnvironment(Environment):
    cdef double[::1] rate             # (n,) change rate of each material, -ln q
    cdef double[::1] cumulative       # (n,) running sums of the update probabilities by rank
    cdef int32_t[::1] at_rank         # (n,) material at each rank
    cdef int64_t switch_every, until_switch
    cdef void switch_ranks(self, double time, bitgen_t *bits) noexcept nogil
    cdef void settle(self, Py_ssize_t i, double time) noexcept nogil


cdef class Bernoulli(RateEnvironment):
    pass


cdef class Pages(RateEnvironment):
    cdef double[::1] last             # (n,) time of each material's last poll
    cdef double[::1] since            # (n,) start of the time in which `rate` has held, if ranks switch
    cdef double[::1] pending          # (n,) expected changes between last and since, if ranks switch


cdef class Trace(Environment):
    cdef const int64_t[::1] first     # (n + 1,) where each item's changes start in `times`
    cdef const double[::1] times      # (n_changes,) change times, ascending within an item
    cdef int64_t[::1] at              # (n,) the next change not yet seen
    cdef double[::1] last
    cdef double count_from            # nothing before counts
    cdef double[::1] fresh            # (n,) time that the copy has been current so far
    cdef double[::1] penalty, age     # (n,) integrals over time of the harmonic penalty and of the copy's age
    cdef int64_t[::1] polls, detected
    cdef int64_t[::1] carried         # (n,) detections of a change before count_from
    cdef inline int look(self, Py_ssize_t i, double time) noexcept nogil
