"""The learning automata: LAKG (KnapsackGame) and H-TRAA (AutomataTree).

KnapsackGame. States s_i in 1..N, amounts table[s_i] = (s_i / N)^exponent, polls per unit of time.
  Invariant: total = sum of units[s_i], exactly; full means total >= full_at, read before the update.
  A rewarded material moves up unless the knapsack is full; an unrewarded one moves down if it is.
  O(1) a poll, O(log n) with random access.
  Reference: Granmo, Oommen, Myrer and Olsen (2006), section II.

AutomataTree. A balanced binary tree over the materials (csrc/share_tree), every inner node a TRAA. The
  automata on the polled material's path move towards it when rewarded (away when not, by the updating scheme)
  where their gates open.
  O(log n) a poll.
  Reference: Granmo and Oommen (2011), equations 1 to 3 and section 4.3.2.
"""

import numpy as np

from libc.math cimport pow

from knapsolve._core.shapes import check_room
from knapsolve._core.weight_tree cimport sum_tree_add


cdef class KnapsackGame(Learner):
    def __init__(self, int32_t[::1] states, Py_ssize_t n_known, const double[::1] table,
                 const uint64_t[::1] units, double exponent, double capacity):
        cdef Py_ssize_t i
        cdef int32_t least = 1, most = 1
        check_room("states_", states.shape[0], n_known)
        for i in range(n_known):
            least, most = min(least, states[i]), max(most, states[i])
        if least < 1 or most >= table.shape[0]:
            raise ValueError(f"states_ must lie in [1, {table.shape[0] - 1}], got {least} to {most}")
        self.states = states
        self.n_materials = n_known
        self.table = table
        self.units = units
        self.resolution = <int32_t>(table.shape[0] - 1)
        self.exponent = exponent
        self.capacity = capacity
        self.total = 0
        for i in range(n_known):
            self.total += units[states[i]]
        self.rescale()

    cdef inline void rescale(self) noexcept nogil:
        """Full is a matter of amounts, not of their rounding: allow half a unit a material, twice over."""
        cdef double units_per_amount = <double>self.units[self.resolution]   # table[N] is 1
        cdef double threshold = self.capacity * units_per_amount - <double>self.n_materials
        self.full_at = <uint64_t>min(threshold, 2.0 ** 63) if threshold > 1.0 else 1

    cdef double amount(self, Py_ssize_t i) noexcept nogil:
        return self.table[self.states[i]]

    cpdef prepare_draws(self):
        self.tree = WeightTree(self.n_materials)
        self.tree.build_units(np.asarray(self.units)[np.asarray(self.states)[:self.n_materials]])

    cdef Py_ssize_t draw(self, bitgen_t *bits) noexcept nogil:
        return self.tree.draw(bits)

    cdef void observe(self, Py_ssize_t i, double elapsed, int v, bitgen_t *bits) noexcept nogil:
        cdef int32_t s = self.states[i]
        cdef bint full = self.total >= self.full_at
        cdef bint up = v != 0 and not full and s < self.resolution
        cdef bint down = v == 0 and full and s > 1
        cdef int32_t after = s + up - down
        cdef uint64_t change = self.units[after] - self.units[s]
        self.states[i] = after
        self.total += change
        if self.tree is not None and change:
            sum_tree_add(&self.tree.tree, i, change)

    cdef void admit(self) noexcept nogil:
        """A newcomer starts where all would start uniformly: the largest s with n table[s] <= capacity.

        When newcomers have overfilled the knapsack by an eighth, all amounts are scaled down to fit, so that those
        who came early do not keep what was shared out among few. That is every n / 8 newcomers or later: O(1) each.
        """
        cdef double n = <double>(self.n_materials + 1)
        cdef int32_t low = 1, high = self.resolution, middle
        while low < high:
            middle = (low + high + 1) // 2
            if n * self.table[middle] <= self.capacity:
                low = middle
            else:
                high = middle - 1
        self.states[self.n_materials] = low
        self.n_materials += 1
        self.total += self.units[low]
        self.rescale()
        if <double>self.total > 1.125 * <double>self.full_at:
            self.shrink()

    cdef void shrink(self) noexcept nogil:
        """Scale all amounts down to the capacity, each to the state below."""
        cdef Py_ssize_t i
        cdef double factor = pow(<double>self.full_at / <double>self.total, 1.0 / self.exponent)
        self.total = 0
        for i in range(self.n_materials):
            self.states[i] = max(1, <int32_t>(self.states[i] * factor))
            self.total += self.units[self.states[i]]


cdef class AutomataTree(Learner):
    def __init__(self, int32_t[:, ::1] states, int32_t[::1] leaf_of, Py_ssize_t n_known, int depth,
                 const int32_t[:, ::1] base, int32_t largest_base, const double[:, :, ::1] share, double capacity,
                 bint linear, bint on_reward, bint on_penalty):
        check_room("the tree", leaf_of.shape[0], n_known)
        if n_known and leaf_of[n_known - 1] < 1:  # newcomers without a leaf are the last ones
            raise ValueError(f"materials_ must hold the materials that the tree has leaves for, got {n_known}")
        self.states = states
        self.leaf_of = leaf_of
        self.n_materials = n_known
        self.share = share
        share_tree_init(&self.tree, max(1, depth), &states[0, 0], &base[0, 0])
        self.tree.material_at = NULL
        self.tree.share = &share[0, 0, 0]
        self.tree.width = share.shape[2]
        self.tree.linear = linear
        self.tree.paired = share_tree_pairs(largest_base)
        self.tree.capacity = capacity
        self.tree.on_reward, self.tree.on_penalty = on_reward, on_penalty
        self.tree.vectors = share_tree_vectors(&self.tree)
        self.gated = self.cached = -1

    def forgo_vectors(self):
        """Use the portable code even where vectors are to be had: for tests."""
        self.tree.vectors = False

    cpdef prepare_draws(self):
        material_at = np.full(1 << self.tree.depth, -1, dtype=np.int32)
        leaf = np.asarray(self.leaf_of)[:self.n_materials]
        depth = np.frexp(leaf)[1] - 1
        material_at[(leaf << (self.tree.depth - depth)) - (1 << self.tree.depth)] = np.arange(self.n_materials)
        self.material_at = material_at
        self.tree.material_at = &self.material_at[0]

    cdef double amount(self, Py_ssize_t i) noexcept nogil:
        if i != self.cached:
            self.cached = i
            self.cached_amount = share_tree_amount(&self.tree, self.leaf_of[i])
        return self.cached_amount

    cdef Py_ssize_t draw(self, bitgen_t *bits) noexcept nogil:
        cdef double *amount = &self.cached_amount if self.amount_wanted else NULL
        self.gated = share_tree_draw(&self.tree, bits, &self.path, amount)
        self.cached = self.gated if self.amount_wanted else -1
        return self.gated

    cdef void observe(self, Py_ssize_t i, double elapsed, int v, bitgen_t *bits) noexcept nogil:
        if self.gated == i:      # drawn by a walk: nobody asks for the new amount
            share_tree_move(&self.tree, &self.path, v)
            self.cached = -1
        else:
            self.cached_amount = share_tree_visit(&self.tree, self.leaf_of[i], bits, v)
            self.cached = i
        self.gated = -1

    cdef void admit(self) noexcept nogil:
        """Split the leaf at which the balanced tree has room: the newcomer becomes its right child.

        A subtree of m leaves has ceil(m / 2) of them on its left, so its next leaf goes left if m is even.
        """
        cdef Py_ssize_t m = self.n_materials
        cdef int32_t node = 1, deepest = 1 << self.tree.depth
        cdef int level = 0
        self.cached = self.gated = -1
        self.n_materials += 1
        if m == 0:
            self.leaf_of[0] = 1
            self.material_at[0] = 0
            return
        while m > 1:
            node = 2 * node + (m & 1)
            m = m // 2
            level += 1
        self.leaf_of[self.material_at[(node << (self.tree.depth - level)) - deepest]] = 2 * node
        self.leaf_of[self.n_materials - 1] = 2 * node + 1
        self.material_at[((2 * node + 1) << (self.tree.depth - level - 1)) - deepest] = <int32_t>(self.n_materials - 1)
        share_tree_plant(&self.tree, node)
