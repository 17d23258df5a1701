# The three roles of the closed loop. One loop (loop.pyx) runs any three of them.

from libc.stdint cimport uint64_t

from knapsolve._core.random_bits cimport bitgen_t


cdef class Learner:
    cdef readonly Py_ssize_t n_materials
    cdef bint amount_wanted        # the environment asks for the amount of each material drawn
    cdef bint failed               # an exception waits in `error`: the loop stops
    cdef readonly object error
    # The amount of material i, in polls per unit of time.
    cdef double amount(self, Py_ssize_t i) noexcept nogil
    # Random access: a material drawn in proportion to the amounts, or -1 if all are zero.
    cdef Py_ssize_t draw(self, bitgen_t *bits) noexcept nogil
    # What the poll of i showed: v = 1 changed / rewarded, 0 not, `elapsed` after the one before.
    cdef void observe(self, Py_ssize_t i, double elapsed, int v, bitgen_t *bits) noexcept nogil
    # One more material, the next in order of first appearance.
    cdef void admit(self) noexcept nogil
    # Called once before the first poll of a simulation: what is random from the start.
    cpdef start_run(self, generator)
    # What only random access needs (sum trees, leaf tables).
    cpdef prepare_draws(self)
    # A new vector (n_materials,) of all amounts.
    cpdef amounts(self)


cdef class Environment:
    cdef readonly Py_ssize_t n_materials
    cdef readonly bint needs_amount
    cdef bint failed
    cdef readonly object error
    # Poll material i at `time`; the amount is meaningful only where needs_amount. Returns v.
    cdef int poll(
        self, Py_ssize_t i, double time, double amount, double *elapsed, bitgen_t *bits
    ) noexcept nogil


cdef class Scheduler:
    # Work that waits since the last poll and may be long: called, with the GIL, before each run of polls.
    cpdef settle(self, Learner learner)
    # The next material to poll, -1 if there is nothing to poll, less if `settle` must be called first.
    cdef Py_ssize_t next(self, Learner learner, bitgen_t *bits) noexcept nogil
    # Material i has been polled and observed; its amount may be a new one.
    cdef void polled(self, Learner learner, Py_ssize_t i) noexcept nogil
