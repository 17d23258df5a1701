"""The learning automata: LAKG (KnapsackGame) and H-TRAA (AutomataTree).

KnapsackGame. States s_i in 1..N, amounts table[s_i] = (s_i / N)^exponent, polls per unit of time.
  Invariant: total = sum of units[s_i], exactly; full means total >= full_at, read before the update.
  A rewarded material moves up unless the knapsack is full; an unrewarded one moves down if it is.
  O(1) a poll, O(log n) with random access.
  Reference: Granmo, Oommen, Myrer and Olsen (2007), section II.

AutomataTree. A balanced binary tree in heap order (children of k are 2k and 2k+1), every inner node a
  TRAA in state s in 1..N that gives its left child the share q_s; a leaf's amount is the capacity times
  the shares on its path. The automaton moves towards the polled side when rewarded (away when not, by the
  updating scheme) if its gate opens, with the probability of the *other* side's share.
  Linear shares q_s = s / (N + 1) draw side and gate as two digits to the base N + 1 of 64 random bits,
  and two levels from one draw while (N + 1)^4 <= 2^36 (bias below 2^-28); other shares take two draws a level.
  O(log n) a poll.
  Reference: Granmo and Oommen (2011), equations 1 to 3 and section 4.3.2.
"""

import numpy as np

from knapsolve._core.weight_tree cimport sum_tree_add


cdef extern from *:
    """
    static inline uint64_t next_digit(uint64_t *bits, uint64_t base)
    {
        unsigned __int128 product = (unsigned __int128)*bits * base;
        *bits = (uint64_t)product;
        return (uint64_t)(product >> 64);
    }
    """
    uint64_t next_digit(uint64_t *bits, uint64_t base) noexcept nogil


cdef class KnapsackGame(Learner):
    def __init__(self, int32_t[::1] states, Py_ssize_t n_known, const double[::1] table,
                 const uint64_t[::1] units, double capacity):
        cdef Py_ssize_t i
        self.states = states
        self.n_materials = n_known
        self.table = table
        self.units = units
        self.resolution = <int32_t>(table.shape[0] - 1)
        self.capacity = capacity
        self.total = 0
        for i in range(n_known):
            self.total += units[states[i]]
        self.rescale()

    cdef inline void rescale(self) noexcept nogil:
        """Full is a matter of amounts, not of their rounding: allow half a unit a material, twice over."""
        cdef double units_per_amount = <double>self.units[self.resolution]   # table[N] is 1
        cdef double threshold = self.capacity * units_per_amount - <double>self.n_materials
        self.full_at = <uint64_t>threshold if threshold > 1.0 else 1

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
        """A newcomer starts where all would start uniformly: the largest s with n table[s] <= capacity."""
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


cdef class AutomataTree(Learner):
    def __init__(self, int32_t[::1] states, int32_t[::1] leaf_of, Py_ssize_t n_known,
                 const int32_t[::1] resolution, const double[:, ::1] share, double capacity,
                 bint linear, bint on_reward, bint on_penalty):
        self.states = states
        self.leaf_of = leaf_of
        self.n_materials = n_known
        self.resolution = resolution
        self.share = share
        self.capacity = capacity
        self.linear = linear
        self.paired = linear and (<double>max(resolution) + 1.0) ** 4 <= 2.0 ** 36
        self.reward = on_reward
        self.penalty = -<int>on_penalty
        self.gated = self.cached = -1

    cpdef prepare_draws(self):
        material_at = np.full(2 * self.states.shape[0], -1, dtype=np.int32)
        material_at[np.asarray(self.leaf_of)[:self.n_materials]] = np.arange(self.n_materials, dtype=np.int32)
        self.material_at = material_at

    cdef double amount(self, Py_ssize_t i) noexcept nogil:
        cdef int32_t node = self.leaf_of[i]
        cdef int level = -1
        cdef double x = self.capacity
        cdef double left
        if i == self.cached:
            return self.cached_amount
        while node >> (level + 2):
            level += 1
        while node > 1:
            left = self.share[level, self.states[node >> 1]]
            x *= 1.0 - left if node & 1 else left
            node >>= 1
            level -= 1
        return x

    cdef inline void set_gate(self, int level, int32_t node, bint right, uint64_t gate) noexcept nogil:
        """The automaton at `node` may move when its gate is below the share of the other side."""
        cdef int32_t s = self.states[node]
        cdef uint64_t other = s if right else self.resolution[level] + 1 - s
        self.path[level] = node
        self.move[level] = (gate < other) * (1 - 2 * right)

    cdef inline void set_gate_table(self, int level, int32_t node, bint right, double gate) noexcept nogil:
        cdef double left = self.share[level, self.states[node]]
        self.path[level] = node
        self.move[level] = (gate < (left if right else 1.0 - left)) * (1 - 2 * right)

    cdef Py_ssize_t draw(self, bitgen_t *bits) noexcept nogil:
        """Walk down from the root, each side with the probability of its share."""
        cdef int32_t node = 1, s, base
        cdef int level = 0
        cdef uint64_t word = 0
        cdef bint right, fresh = True
        cdef double x = self.capacity, left
        while node < self.states.shape[0] and self.material_at[node] < 0:
            left = self.share[level, self.states[node]]
            if self.linear:
                base = self.resolution[level] + 1
                if fresh:
                    word = bits.next_uint64(bits.state)
                fresh = not (self.paired and fresh)
                right = next_digit(&word, base) >= <uint64_t>self.states[node]
                self.set_gate(level, node, right, next_digit(&word, base))
            else:
                right = bits.next_double(bits.state) >= left
                self.set_gate_table(level, node, right, bits.next_double(bits.state))
            x *= 1.0 - left if right else left
            node = 2 * node + right
            level += 1
        self.depth = level
        self.gated = self.cached = self.material_at[node]
        self.cached_amount = x
        return self.gated

    cdef void draw_gates(self, Py_ssize_t i, bitgen_t *bits) noexcept nogil:
        """Gates for a material that was not drawn by the walk, root first."""
        cdef int32_t leaf = self.leaf_of[i], node
        cdef int level
        cdef uint64_t word = 0
        cdef bint fresh = True
        self.depth = 0
        while leaf >> (self.depth + 1):
            self.depth += 1
        for level in range(self.depth):
            node = leaf >> (self.depth - level)
            if self.linear:
                if fresh:
                    word = bits.next_uint64(bits.state)
                fresh = not (self.paired and fresh)
                self.set_gate(level, node, (leaf >> (self.depth - level - 1)) & 1,
                              next_digit(&word, self.resolution[level] + 1))
            else:
                self.set_gate_table(level, node, (leaf >> (self.depth - level - 1)) & 1,
                                    bits.next_double(bits.state))

    cdef void observe(self, Py_ssize_t i, double elapsed, int v, bitgen_t *bits) noexcept nogil:
        cdef int level
        cdef int direction = self.reward if v else self.penalty
        cdef int32_t s, leaf = self.leaf_of[i]
        cdef double x = self.capacity, left
        if self.gated != i:
            self.draw_gates(i, bits)
        self.gated = -1
        for level in range(self.depth):
            s = self.states[self.path[level]] + direction * self.move[level]
            s = min(max(s, 1), self.resolution[level])
            self.states[self.path[level]] = s
            left = self.share[level, s]
            x *= 1.0 - left if (leaf >> (self.depth - level - 1)) & 1 else left
        self.cached = i
        self.cached_amount = x

    cdef void admit(self) noexcept nogil:
        """Split the leaf at which the balanced tree has room: the newcomer becomes its right child.

        A subtree of m leaves has ceil(m / 2) of them on its left, so its next leaf goes left if m is even.
        """
        cdef Py_ssize_t m = self.n_materials, i
        cdef int32_t node = 1
        cdef int level = 0
        self.cached = self.gated = -1
        if m == 0:
            self.leaf_of[0] = 1
            self.material_at[1] = 0
            self.n_materials = 1
            return
        while m > 1:
            node = 2 * node + (m & 1)
            m = m // 2
            level += 1
        # the leaf at `node` is the youngest material whose path ends here
        i = self.material_at[node]
        self.material_at[node] = -1
        self.material_at[2 * node] = <int32_t>i
        self.material_at[2 * node + 1] = <int32_t>self.n_materials
        self.leaf_of[i] = 2 * node
        self.leaf_of[self.n_materials] = 2 * node + 1
        self.states[node] = (self.resolution[level] + 1) // 2
        self.n_materials += 1
