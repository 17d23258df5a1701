# Least-squares policy evaluation, LSPE(0), of an average reward with running means.


cdef class LSPE:
    cdef readonly Py_ssize_t n_features
    cdef double[::1] weights       # (l,) r
    cdef double[:, ::1] second     # (l, l) B, or its inverse where delta is 0
    cdef double[:, ::1] moves      # (l, l) A
    cdef double[::1] rewards       # (l,) b
    cdef double[::1] numbers       # (3,) updates made, eta, times that the weights were reset
    cdef double gain, delta
    cdef double work               # of an update: see Chooser
    cdef double[:, ::1] room       # (l, l)
    cdef double[::1] row           # (l,)
    cdef double[::1] first_room, second_room

    # One transition: features (l,) before and after it, and its reward.
    cdef void update(self, const double *before, const double *after, double reward) noexcept nogil
    cdef double value(self, const double *features) noexcept nogil
    cdef bint solve(self, const double *right, double *out) noexcept nogil
    cdef void forget(self) noexcept nogil
