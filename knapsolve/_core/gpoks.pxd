# GPOKS: what its core is made of (see gpoks.pyx).

from libc.stdint cimport int32_t, int64_t, intptr_t as intp_t, uint64_t

from knapsolve._core.curve_draws cimport CurveDraws
from knapsolve._core.patience cimport Patience
from knapsolve._core.random_bits cimport bitgen_t
from knapsolve._core.roles cimport Learner


cdef extern from "curve_market.h":
    struct curve_market:
        Py_ssize_t n, m
        const double *grid
        const double *curves
        double *low
        double *high
        double *base
        double *slope
        int32_t *segment
        double capacity, price
    void curve_project(Py_ssize_t m, double *f, int32_t *start, double *pooled) noexcept nogil
    void curve_tilt(Py_ssize_t m, double *f) noexcept nogil
    void curve_market_place(curve_market *t, Py_ssize_t i) noexcept nogil
    void curve_market_clear(curve_market *t) noexcept nogil
    double curve_market_amount(const curve_market *t, Py_ssize_t i) noexcept nogil


cdef class CurveGame(Learner):
    cdef Py_ssize_t r, m
    cdef readonly CurveDraws draws
    cdef Patience patience
    cdef bint crossing
    cdef double noise, feedback_noise
    cdef uint64_t key
    cdef const double[:, ::1] features
    cdef const double[::1] grid, edges
    cdef double[:, ::1] counts, sums, curves, precision, information, weights
    cdef double[::1] squares
    cdef int64_t[::1] fallbacks
    cdef double[::1] pair                 # amounts of two materials, if they come from a crossing
    cdef curve_market market
    cdef object memory                    # keeps what the market points to
    cdef double[::1] pooled               # scratch of projections
    cdef int32_t[::1] blocks
    cdef double[:, ::1] trail             # amounts held before each poll, or None
    cdef Py_ssize_t at, trail_length
    cdef open_market(self, double capacity)
    cpdef draw_own(self, const intp_t[::1] materials)
    cdef void settle(self) noexcept nogil
    cdef void clear(self) noexcept nogil
    cdef void cross(self) noexcept nogil
    cdef void redraw(self, Py_ssize_t i, bint warm, bitgen_t *bits) noexcept nogil
    cdef void keep_finite(self, Py_ssize_t i) noexcept nogil
    cdef void stop(self) noexcept with gil
    cdef void gather(self, Py_ssize_t i) noexcept nogil
    cdef inline void note(self, Py_ssize_t i, double elapsed, int v, bitgen_t *bits) noexcept nogil
    cdef inline void leave_trail(self) noexcept nogil
