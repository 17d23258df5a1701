from libc.stdint cimport int32_t, int64_t, uint64_t

from knapsolve._core.random_bits cimport bitgen_t
from knapsolve._core.roles cimport Learner
from knapsolve._core.weight_tree cimport WeightTree


cdef extern from "share_tree.h":
    ctypedef struct share_tree:
        const int32_t *material_at
        const double *share
        int64_t width
        int32_t depth
        bint linear, paired, vectors, on_reward, on_penalty
        double capacity
    ctypedef struct share_path:
        pass
    void share_tree_init(share_tree *t, int depth, int32_t *state, const int32_t *base) nogil
    bint share_tree_pairs(int32_t largest_base) nogil
    bint share_tree_vectors(const share_tree *t) nogil
    int32_t share_tree_draw(const share_tree *t, bitgen_t *bits, share_path *path, double *amount) noexcept nogil
    double share_tree_visit(share_tree *t, int32_t leaf, bitgen_t *bits, int v) noexcept nogil
    double share_tree_amount(const share_tree *t, int32_t leaf) noexcept nogil
    void share_tree_move(share_tree *t, const share_path *path, int v) noexcept nogil
    void share_tree_plant(share_tree *t, int32_t node) noexcept nogil


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
    cdef int32_t[:, ::1] states       # (n_blocks, 8) state of the automaton at each inner node
    cdef int32_t[::1] leaf_of         # (n_materials,) heap index of each material's leaf
    cdef int32_t[::1] material_at     # (2^depth,) material at each leaf, or at the leaf it is left of
    cdef const double[:, :, ::1] share   # (depth, 2, max(base) + 1) share of either child in each state
    cdef Py_ssize_t gated, cached     # material whose gates / whose amount are at hand, or -1
    cdef share_path path              # of the gated material
    cdef double cached_amount
