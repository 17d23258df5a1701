# Looks at pending signals from inside long work that holds no GIL.

from libc.time cimport clock, clock_t

cdef enum:
    GRAIN = 1_000_000      # products between two looks at the clock: some .2 to 2 ms


cdef class Patience:
    cdef public object cancellation       # asked too if given: of work in other threads than the one signals reach
    cdef readonly object error            # what ended the work
    cdef bint lost                        # something did: the work is to be left, undone
    cdef Py_ssize_t spent                 # products since the last look at the clock
    cdef clock_t seen                     # when signals were looked at
    cdef void look(self) noexcept with gil
    cpdef check(self)

    cdef inline bint spend(self, Py_ssize_t products) noexcept nogil:
        """Whether to go on after so much work."""
        self.spent += products
        return self.go_on() if self.spent >= GRAIN else not self.lost

    cdef bint go_on(self) noexcept nogil
