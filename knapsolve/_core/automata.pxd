from libc.stdint cimport int8_t, int32_t, uint64_t

from knapsolve._core.random_bits cimport bitgen_t
from knapsolve._core.roles cimport Learner
from knapsolve._core.weight_tree cimport WeightTree


cdef class KnapsackGame(Learner):
    cdef int32_t[::1] states
    cdef const uint64_t[::1] units
    cdef const double[::1] table
    cdef int32_t resolution
    cdef double capacity
    cdef uint64_t total, full_at
    cdef WeightTree tree
    cdef inline void rescale(self) noexcept nogil


cdef class AutomataTree(Learner):
    cdef int32_t[::1] states          # (n_heap,) state of the automaton at each inner node
    cdef int32_t[::1] leaf_of         # (n_materials,) heap index of each material's leaf
    cdef int32_t[::1] material_at     # (2 n_heap,) material at each leaf, -1 elsewhere
    cdef const int32_t[::1] resolution   # (depth,)
    cdef const double[:, ::1] share   # (depth, max(resolution) + 2) share of the left child in each state
    cdef double capacity
    cdef bint linear, paired
    cdef int reward, penalty
    cdef Py_ssize_t gated, cached     # material whose gates / whose amount are at hand, or -1
    cdef double cached_amount
    cdef int depth                    # of the gated path
    cdef int32_t[64] path
    cdef int8_t[64] move
    cdef inline void set_gate(self, int level, int32_t node, bint right, uint64_t gate) noexcept nogil
    cdef inline void set_gate_table(self, int level, int32_t node, bint right, double gate) noexcept nogil
    cdef void draw_gates(self, Py_ssize_t i, bitgen_t *bits) noexcept nogil
