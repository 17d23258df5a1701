"""Learners and environments written in Python, in the compiled loop: one call a poll, with the GIL."""

import inspect

from knapsolve._core.random_bits cimport bitgen_t
from knapsolve._core.roles cimport Environment, Learner
from knapsolve._core.weight_tree cimport WeightTree

SIGNATURES = {
    "amount": "amount(i)", "observe": "observe(i, elapsed, changed)", "poll": "poll(i, time, amount)",
    "start_run": "start_run(generator)",
}


cdef called(target, str method):
    """How a method is called, for messages."""
    return f"{SIGNATURES[method]} of {type(target).__name__}"


cdef int check_signature(target, str method) except -1:
    """Refuse a method that cannot take the arguments it will get."""
    try:
        signature = inspect.signature(getattr(target, method))
    except (TypeError, ValueError):      # a compiled method does not say
        return 0
    try:
        signature.bind(*range(SIGNATURES[method].count(",") + 1))
    except TypeError as error:
        raise TypeError(f"{called(target, method)} must take these arguments, "
                        f"its signature is {method}{signature}") from error
    return 0


cdef give_generator(target, generator):
    """What asks for random numbers gets a generator of its own: the run's is locked while polls are made."""
    if hasattr(target, "start_run"):
        target.start_run(generator.spawn(1)[0])


cdef class PythonLearner(Learner):
    """Wraps an object with `amount(i)` and `observe(i, elapsed, changed)`."""

    cdef object target
    cdef WeightTree tree
    cdef double[::1] current

    def __init__(self, target, Py_ssize_t n_materials):
        check_signature(target, "amount")
        check_signature(target, "observe")
        if hasattr(target, "start_run"):
            check_signature(target, "start_run")
        self.target = target
        self.n_materials = n_materials

    cpdef start_run(self, generator):
        give_generator(self.target, generator)

    cdef double amount(self, Py_ssize_t i) noexcept nogil:
        with gil:
            try:
                return self.checked(i)
            except BaseException as error:
                self.fail(error)
        return 0.0

    cdef double checked(self, Py_ssize_t i) except? -1.0:
        cdef double x
        answer = self.target.amount(i)
        try:
            x = float(answer)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{called(self.target, 'amount')} must return a number, got {answer!r}") from error
        if not 0.0 <= x < float("inf"):
            raise ValueError(f"{called(self.target, 'amount')} must be finite and non-negative, "
                             f"got {x!r} for i={i}")
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
        check_signature(target, "poll")
        if hasattr(target, "start_run"):
            check_signature(target, "start_run")
        self.target = target
        self.n_materials = n_materials
        self.needs_amount = True

    def start_run(self, generator):
        """Called once before the first poll of a simulation."""
        give_generator(self.target, generator)

    cdef int poll(
        self, Py_ssize_t i, double time, double amount, double *elapsed, bitgen_t *bits
    ) noexcept nogil:
        elapsed[0] = 0.0
        with gil:
            try:
                return self.checked(self.target.poll(i, time, amount), elapsed)
            except BaseException as error:
                if not self.failed:
                    self.error = error
                    self.failed = True
        return 0

    cdef int checked(self, answer, double *elapsed) except -1:
        """Whether the poll found a change; its elapsed time goes to elapsed[0]."""
        try:
            changed, gap = answer
            elapsed[0] = gap
        except (TypeError, ValueError) as error:
            raise TypeError(f"{called(self.target, 'poll')} must return (changed, elapsed), "
                            f"got {answer!r}") from error
        if changed not in (0, 1):
            raise ValueError(f"{called(self.target, 'poll')} must return 0 or 1 first, got {changed!r}")
        if not 0.0 <= elapsed[0] < float("inf"):
            raise ValueError(f"{called(self.target, 'poll')} must return a finite, non-negative "
                             f"elapsed time second, got {gap!r}")
        return bool(changed)
