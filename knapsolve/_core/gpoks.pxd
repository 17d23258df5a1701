# GPOKS: what its core is made of (see gpoks.pyx).

from libc.stdint cimport int32_t, int64_t, intptr_t as intp_t, uint64_t

from knapsolve._core.random_bits cimport bitgen_t
from knapsolve._core.roles cimport Learner


cdef extern from "gp_posterior.h":
    void gp_observe(Py_ssize_t r, const double *phi, Py_ssize_t stride, double y, double noise, double *precision,
                    double *information) noexcept nogil
    void gp_gather(Py_ssize_t r, Py_ssize_t m, const double *features, const double *counts, const double *sums,
                   double noise, double *precision, double *information) noexcept nogil
    void gp_solve(Py_ssize_t r, const double *precision, const double *information, double *factor,
                  double *mean) noexcept nogil
    void gp_whiten(Py_ssize_t r, Py_ssize_t m, const double *features, const double *factor, double *white,
                   Py_ssize_t stride) noexcept nogil
    void gp_curve(Py_ssize_t r, Py_ssize_t m, const double *features, Py_ssize_t stride, const double *w,
                  double *curve) noexcept nogil
    void gp_add_unwhitened(Py_ssize_t r, const double *factor, const double *z, double *scratch,
                           double *w) noexcept nogil
    void gp_whitened(Py_ssize_t r, const double *factor, const double *w, double *z) noexcept nogil

cdef extern from "truncated_normal.h":
    enum: WALL_BLOCK
    struct truncated_normal:
        Py_ssize_t r, n, stride
        const double *rows
        const double *slack
        double breach
        double *value
        double *speed
        double *near
    double truncated_normal_least(const truncated_normal *t, const double *z) noexcept nogil
    int truncated_normal_inside(const truncated_normal *t, const double *z) noexcept nogil
    int truncated_normal_move(const truncated_normal *t, double *z, double *v, double *y, double *side,
                              int most) noexcept nogil
    void truncated_normal_slide(const truncated_normal *t, double *z, const double *v, double exponential,
                                double uniform, int again) noexcept nogil

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
    cdef Py_ssize_t r, m, tries
    cdef Py_ssize_t side                  # walls of one kind, filled up
    cdef int draw_kind
    cdef bint monotone, reject, crossing
    cdef double noise, feedback_noise
    cdef double clearance                 # of a cold start, in standard normal units
    cdef public int bounces               # at most, of a flight; -1: none, slides alone
    cdef Py_ssize_t slides, cold_moves
    cdef Py_ssize_t work                  # of a draw, in products
    cdef int64_t drawn, fallen            # draws made here, and those of them that fell back
    cdef uint64_t key
    cdef const double[:, ::1] features
    cdef const double[::1] grid, edges, lift
    cdef double[:, ::1] counts, sums, curves, precision, information, weights
    cdef double[::1] squares
    cdef int64_t[::1] fallbacks
    cdef double[::1] pair                 # amounts of two materials, if they come from a crossing
    cdef curve_market market
    cdef truncated_normal walls
    cdef object memory                    # keeps what the pointers below point to
    cdef double *factor
    cdef double *center
    cdef double *mean
    cdef double *white
    cdef double *slack
    cdef double *point
    cdef double *velocity
    cdef double *scratch
    cdef double *normal
    cdef double *lifted                   # curve of `lift`
    cdef int32_t *blocks
    cdef double[:, ::1] trail             # amounts held before each poll, or None
    cdef Py_ssize_t at, trail_length
    cdef allot(self)
    cdef open_market(self, double capacity)
    cpdef draw_own(self, const intp_t[::1] materials)
    cdef void settle(self) noexcept nogil
    cdef void clear(self) noexcept nogil
    cdef void cross(self) noexcept nogil
    cdef plan_moves(self)
    cdef void redraw(self, Py_ssize_t i, bint warm, bitgen_t *bits) noexcept nogil
    cdef void keep_finite(self, Py_ssize_t i) noexcept nogil
    cdef inline void throw_point(self, bitgen_t *bits) noexcept nogil
    cdef inline void keep_weights(self, Py_ssize_t i) noexcept nogil
    cdef void build_walls(self, bint optimistic) noexcept nogil
    cdef bint sample_rejecting(self, bitgen_t *bits) noexcept nogil
    cdef bint sample_moving(self, Py_ssize_t i, bint warm, bitgen_t *bits) noexcept nogil
    cdef void move(self, bitgen_t *bits) noexcept nogil
    cdef bint enter_warm(self, Py_ssize_t i) noexcept nogil
    cdef bint enter_cold(self) noexcept nogil
    cdef Py_ssize_t draws_a_look(self) noexcept nogil
    cdef inline void note(self, Py_ssize_t i, double elapsed, int v, bitgen_t *bits) noexcept nogil
    cdef inline void leave_trail(self) noexcept nogil
