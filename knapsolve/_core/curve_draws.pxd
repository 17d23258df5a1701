# Draws of curves from Gaussian posteriors (see curve_draws.pyx).

from libc.stdint cimport int64_t

from knapsolve._core.patience cimport Patience
from knapsolve._core.random_bits cimport bitgen_t


cdef extern from "gp_posterior.h":
    void gp_observe(Py_ssize_t r, const double *phi, Py_ssize_t stride, double y, double noise, double *precision,
                    double *information) noexcept nogil
    void gp_gather(Py_ssize_t r, Py_ssize_t m, const double *features, const double *counts, const double *sums,
                   double noise, double *precision, double *information, Py_ssize_t first,
                   Py_ssize_t stop) noexcept nogil
    void gp_factor(const double *precision, const double *information, double *factor, double *solved,
                   Py_ssize_t first, Py_ssize_t stop) noexcept nogil
    void gp_solve(Py_ssize_t r, const double *factor, double *solved) noexcept nogil
    void gp_whiten(Py_ssize_t m, const double *features, const double *factor, double *white, Py_ssize_t stride,
                   Py_ssize_t first, Py_ssize_t stop) noexcept nogil
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
    void truncated_normal_launch(const truncated_normal *t, const double *z, const double *v, double *y) noexcept nogil
    Py_ssize_t truncated_normal_fly(const truncated_normal *t, double *y, double *v, double *side, double *left,
                                    Py_ssize_t most) noexcept nogil
    int truncated_normal_land(const truncated_normal *t, double *z, const double *y) noexcept nogil
    void truncated_normal_slide(const truncated_normal *t, double *z, const double *v, double exponential,
                                double uniform, int again) noexcept nogil

cdef enum:
    ROWS_A_LOOK = 8          # of factors, between two looks at pending signals

cdef enum fate:
    LOST, PLAIN, ADMISSIBLE, FELL_BACK    # to a signal; the mean; a draw; what stands in for one


cdef class CurveDraws:
    cdef Py_ssize_t r, m, tries
    cdef Py_ssize_t side                  # walls of one kind, filled up
    cdef Py_ssize_t bounce, work          # products of a bounce, and of a draw, about
    cdef int kind
    cdef bint monotone
    cdef double clearance                 # of a cold start, in standard normal units
    cdef public int bounces               # at most, of a flight; -1: none, slides alone
    cdef Py_ssize_t slides, cold_moves
    cdef int64_t drawn, fallen            # draws made here, and those of them that fell back
    cdef Patience patience
    cdef const double[:, ::1] features
    cdef const double[::1] lift
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
    cdef allot(self)
    cdef plan_moves(self)
    cdef fate draw(self, const double *precision, const double *information, double *weights, double *curve,
                   bint warm, bitgen_t *bits) noexcept nogil
    cdef void solve(self, const double *precision, const double *information) noexcept nogil
    cdef void build_walls(self, bint optimistic) noexcept nogil
    cdef bint sample(self, const double *weights, bint warm, bitgen_t *bits) noexcept nogil
    cdef bint sample_rejecting(self, bitgen_t *bits) noexcept nogil
    cdef bint sample_moving(self, const double *weights, bint warm, bitgen_t *bits) noexcept nogil
    cdef void move(self, bitgen_t *bits) noexcept nogil
    cdef bint fly(self) noexcept nogil
    cdef bint enter_warm(self, const double *weights) noexcept nogil
    cdef bint enter_cold(self) noexcept nogil
