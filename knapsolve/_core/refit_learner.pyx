"""Estimate from the whole log again and again: a fixed number of polls at fixed amounts, then new ones.

`finish(material, elapsed, changed)` is called with a full log and returns the amounts (n_materials,) to go on with; it
hands over where to log next by `log_in`, and by `expect` what they rest on. With logs that grow by a share of all
polls, fits cost O(1) a poll. As in rate_learner, some polls that were sure to find a change are followed soon.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t

from knapsolve._core.policies cimport EstimateThenFix
from knapsolve._core.random_bits cimport bitgen_t
from knapsolve._core.rate_learner cimport look_again


cdef class RefitLearner(EstimateThenFix):
    cdef double[::1] rate, least, most    # (n,), changes and polls per unit of time
    cdef Py_ssize_t soon                  # the material whose next poll follows soon

    cdef int end_phase(self) noexcept nogil:
        cdef int status = EstimateThenFix.end_phase(self)
        self.n_logged = 0
        return status

    cdef double amount(self, Py_ssize_t i) noexcept nogil:
        return max(self.x[i], min(self.rate[i], self.most[i])) if i == self.soon else self.x[i]

    cdef void observe(self, Py_ssize_t i, double elapsed, int v, bitgen_t *bits) noexcept nogil:
        EstimateThenFix.observe(self, i, elapsed, v, bits)
        self.soon = i if look_again(self.rate[i], elapsed, v, INFINITY, self.least[i], bits) else -1

    def log_in(self, int32_t[::1] log_material, double[::1] log_elapsed, int8_t[::1] log_changed):
        """Log the next polls here."""
        self.log_material, self.log_elapsed, self.log_changed = log_material, log_elapsed, log_changed

    def expect(self, double[::1] rate, double[::1] least, double[::1] most):
        """The rates (n,) and bounds of amounts (n,) that hold from now on."""
        self.rate, self.least, self.most, self.soon = rate, least, most, -1
