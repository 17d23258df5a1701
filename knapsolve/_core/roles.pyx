"""The three roles of the closed loop: Learner, Environment, Scheduler.

A learner holds the amounts and learns from what polls show; a scheduler turns amounts into the
next poll; an environment answers one poll at a time. Subclasses are views over numpy state, made
for one call and never pickled; their methods are noexcept and nogil.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int8_t, intptr_t as intp_t

from knapsolve._core.random_bits cimport bits_of

cdef Py_ssize_t CHUNK = 65536     # rows between two looks at pending signals


cdef class Learner:
    cdef double amount(self, Py_ssize_t i) noexcept nogil:
        return 0.0

    cdef Py_ssize_t draw(self, bitgen_t *bits) noexcept nogil:
        return -1

    cdef void observe(self, Py_ssize_t i, double elapsed, int v, bitgen_t *bits) noexcept nogil:
        pass

    cdef void admit(self) noexcept nogil:
        self.n_materials += 1

    cpdef start_run(self, generator):
        pass

    cpdef prepare_draws(self):
        pass

    def learn(
        self, const intp_t[::1] materials, const double[::1] elapsed, const int8_t[::1] changed, generator,
        commit
    ):
        """Replay a poll log; a material's first row admits it. The log's codes count from 0 in that order.

        `commit`, a call without bytecode, follows the last row with no look at signals between: a log of one
        chunk is learnt and committed, or neither.
        """
        cdef Py_ssize_t row = 0, stop, n_rows = materials.shape[0]
        cdef bitgen_t *bits = bits_of(generator)
        while row < n_rows:
            stop = min(row + CHUNK, n_rows)
            with generator.bit_generator.lock, nogil:
                for row in range(row, stop):
                    if materials[row] == self.n_materials:
                        self.admit()
                    self.observe(materials[row], elapsed[row], changed[row], bits)
            row = stop
            if row < n_rows:
                PyErr_CheckSignals()
        commit()

    cpdef amounts(self):
        cdef Py_ssize_t i
        cdef double[::1] out
        result = np.empty(self.n_materials)
        out = result
        with nogil:
            for i in range(self.n_materials):
                out[i] = self.amount(i)
        return result


cdef class Environment:
    cdef int poll(
        self, Py_ssize_t i, double time, double amount, double *elapsed, bitgen_t *bits
    ) noexcept nogil:
        elapsed[0] = 0.0
        return 0


cdef class Scheduler:
    cpdef settle(self, Learner learner):
        pass

    cdef Py_ssize_t next(self, Learner learner, bitgen_t *bits) noexcept nogil:
        return -1

    cdef void polled(self, Learner learner, Py_ssize_t i) noexcept nogil:
        pass
