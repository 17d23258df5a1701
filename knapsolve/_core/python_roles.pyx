"""Learners and environments written in Python, in the compiled loop: one call a poll, with the GIL."""

from knapsolve._core.random_bits cimport bitgen_t
from knapsolve._core.roles cimport Environment, Learner
from knapsolve._core.weight_tree cimport WeightTree


cdef class PythonLearner(Learner):
    """Wraps an object with `amount(i)` and `observe(i, elapsed, changed)`."""

    cdef object target
    cdef WeightTree tree
    cdef double[::1] current

    def __init__(self, target, Py_ssize_t n_materials):
        self.target = target
        self.n_materials = n_materials

    cdef double amount(self, Py_ssize_t i) noexcept nogil:
        with gil:
            try:
                return self.checked(i)
            except BaseException as error:
                self.fail(error)
        return 0.0

    cdef double checked(self, Py_ssize_t i) except? -1.0:
        cdef double x = float(self.target.amount(i))
        if not 0.0 <= x < float("inf"):
            kind = type(self.target).__name__
            raise ValueError(f"amount({i}) of {kind} must be finite and non-negative, got {x!r}")
        return x

    cdef int fail(self, error) except -1:
        if not self.failed:
            self.error = error
            self.failed = True
        return 0

    cpdef prepare_draws(self):
        self.current = self.amounts()
        if self.failed:
            raise self.error
        self.tree = WeightTree(self.n_materials)
        self.tree.build(self.current)

    cdef Py_ssize_t draw(self, bitgen_t *bits) noexcept nogil:
        return self.tree.draw(bits)

    cdef void observe(self, Py_ssize_t i, double elapsed, int v, bitgen_t *bits) noexcept nogil:
        with gil:
            try:
                self.target.observe(i, elapsed, v)
                if self.tree is not None:
                    self.refresh()
            except BaseException as error:
                self.fail(error)

    cdef int refresh(self) except -1:
        """Any amount may have changed: compare them all and rebuild the draws if one has."""
        cdef Py_ssize_t i
        cdef double x
        cdef bint stale = False
        for i in range(self.n_materials):
            x = self.checked(i)
            stale = stale or x != self.current[i]
            self.current[i] = x
        if stale:
            self.tree.build(self.current)
        return 0


cdef class PythonEnvironment(Environment):
    """Wraps an object with `poll(i, time, amount)` that returns (changed, elapsed)."""

    cdef object target

    def __init__(self, target, Py_ssize_t n_materials):
        self.target = target
        self.n_materials = n_materials
        self.needs_amount = True

    cdef int poll(
        self, Py_ssize_t i, double time, double amount, double *elapsed, bitgen_t *bits
    ) noexcept nogil:
        elapsed[0] = 0.0
        with gil:
            try:
                changed, gap = self.target.poll(i, time, amount)
                if changed not in (0, 1):
                    kind = type(self.target).__name__
                    raise ValueError(f"poll() of {kind} must return 0 or 1 first, got {changed!r}")
                elapsed[0] = gap
                if not 0.0 <= elapsed[0] < float("inf"):
                    kind = type(self.target).__name__
                    raise ValueError(f"poll() of {kind} must return a finite, non-negative "
                                     f"elapsed time second, got {gap!r}")
                return bool(changed)
            except BaseException as error:
                if not self.failed:
                    self.error = error
                    self.failed = True
        return 0
