from libc.stdint cimport int32_t, int64_t, uint64_t

from knapsolve._core.random_bits cimport bitgen_t
from knapsolve._core.roles cimport Learner
from knapsolve._core.weight_tree cimport WeightTree


cdef extern from "share_tree.h":
    ctypedef struct share_tree:
        int32_t *state
        const int32_t *material_at
        const int32_t *base
        const double *share
        int64_t width
        int32_t depth
        bint linear, paired
        double capacity
    bint share_tree_pairs(int32_t largest_base) nogil
    ctypedef union share_tree_gates:
        pass
    int32_t share_tree_draw(
        const share_tree *t, bitgen_t *bits, share_tree_gates *gates, double *amount) noexcept nogil
    void share_tree_throw(
        const share_tree *t, int32_t leaf, bitgen_t *bits, share_tree_gates *gates) noexcept nogil
    double share_tree_amount(const share_tree *t, int32_t leaf) noexcept nogil
    void share_tree_move(
        share_tree *t, int32_t leaf, const share_tree_gates *gates, int32_t direction) noexcept nogil
    double share_tree_move_to(
        share_tree *t, int32_t leaf, const share_tree_gates *gates, int32_t direction) noexcept nogil


cdef class KnapsackGame(Learner):
    cdef int32_t[::1] states
    cdef const uint64_t[::1] units
    cdef const double[::1] table
    cdef int32_t resolution
    cdef double exponent, capacity
    cdef uint64_t total, full_at
    cdef WeightTree tree
    cdef inline void rescale(self) noexcept nogil
    cdef void shrink(self) noexcept nogil


cdef class AutomataTree(Learner):
    cdef share_tree tree
    cdef int32_t[::1] states          # (n_inner,) state of the automaton at each inner node
    cdef int32_t[::1] leaf_of         # (n_materials,) heap index of each material's leaf
    cdef int32_t[::1] material_at     # (2 n_inner,) material at each leaf, -1 elsewhere
    cdef const int32_t[::1] base      # (depth,) resolution + 1
    cdef const double[:, :, ::1] share   # (depth, 2, max(base) + 1) share of either child in each state
    cdef int32_t[2] direction         # of a move when not rewarded and when rewarded
    cdef int32_t drawn                # leaf that the last walk came to
    cdef Py_ssize_t gated, cached     # material whose gates / whose amount are at hand, or -1
    cdef share_tree_gates gates       # on the path of the gated material
    cdef double cached_amount
