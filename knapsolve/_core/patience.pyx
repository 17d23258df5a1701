"""Patience: how work of any length without the GIL lets Ctrl-C through.

The work tells `spend` its products as it goes; after every million the clock is read, and after 10 ms of processor
time the GIL is taken and the signals that are pending are handled. A handler that raises ends the work: from then on
`spend` is false, the work is left undone, and whoever holds the GIL next calls `check`. Nothing else depends on it:
work that is not ended is the same with and without looks.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.time cimport CLOCKS_PER_SEC, clock

cdef double INTERVAL = 0.01            # seconds


cdef class Patience:
    def __init__(self):
        self.seen = clock()

    cdef bint go_on(self) noexcept nogil:
        self.spent = 0
        if not self.lost and clock() - self.seen >= INTERVAL * CLOCKS_PER_SEC:
            self.look()
        return not self.lost

    cdef void look(self) noexcept with gil:
        try:
            PyErr_CheckSignals()
            if self.cancellation is not None:
                self.cancellation.check()
        except BaseException as error:
            self.error, self.lost = error, True
        self.seen = clock()

    cpdef check(self):
        """Raise what ended the work."""
        if self.lost:
            raise self.error
