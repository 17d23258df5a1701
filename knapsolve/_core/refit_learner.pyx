"""Estimate from the whole log again and again: a fixed number of polls at fixed amounts, then new ones.

`finish(material, elapsed, changed)` is called with a full log and returns the amounts (n_materials,) to go on with; it
hands over where to log next by `log_in`. With logs that grow by a share of all polls, fits cost O(1) a poll.
"""

from libc.stdint cimport int8_t, int32_t

from knapsolve._core.policies cimport EstimateThenFix


cdef class RefitLearner(EstimateThenFix):
    cdef int end_phase(self) noexcept nogil:
        cdef int status = EstimateThenFix.end_phase(self)
        self.n_logged = 0
        return status

    def log_in(self, int32_t[::1] log_material, double[::1] log_elapsed, int8_t[::1] log_changed):
        """Log the next polls here."""
        self.log_material, self.log_elapsed, self.log_changed = log_material, log_elapsed, log_changed
