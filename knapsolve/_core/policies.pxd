from libc.stdint cimport int8_t, int32_t

from knapsolve._core.random_bits cimport bitgen_t
from knapsolve._core.roles cimport Learner
from knapsolve._core.weight_tree cimport WeightTree


cdef class FixedAmounts(Learner):
    cdef double[::1] x
    cdef WeightTree tree


cdef class EstimateThenFix(FixedAmounts):
    cdef readonly Py_ssize_t n_logged
    cdef int32_t[::1] log_material
    cdef double[::1] log_elapsed
    cdef int8_t[::1] log_changed
    cdef object finish
    cdef int end_phase(self) noexcept nogil


cdef class FixAnew(EstimateThenFix):
    pass
