"""Eight replications of one LAKG game at once (csrc/lakg_lanes): random access, rates that do not switch.

A view over eight games and their environments, which go on from their states and may be asked for amounts
in between. Each replication draws from a xoshiro256++ generator of its own, so it does not matter with which
others it shares the lanes. O(log n) a poll.
Reference: Granmo, Oommen, Myrer and Olsen (2006), section II.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t

from knapsolve._core.automata cimport KnapsackGame
from knapsolve._core.environments cimport Pages, RateEnvironment
from knapsolve._core.weight_tree cimport sum_tree, sum_tree_total

from knapsolve._core.weight_tree import vector_level

cdef extern from "lakg_lanes.h":
    enum: LANES
    ctypedef struct lakg_lanes:
        sum_tree *tree[LANES]
        int32_t *state[LANES]
        double *last[LANES]
        int64_t found[LANES]
        uint64_t word[4][LANES]
        const uint64_t *units
        const double *rate
        int32_t resolution
        uint64_t full_at
        int64_t polls
        double period
    void lakg_lanes_run(lakg_lanes *game, int64_t steps, int level) noexcept nogil
    void lane_exponentials(const uint64_t *word, double *out, int64_t n) noexcept nogil

WIDTH = LANES


cdef class KnapsackLanes:
    cdef lakg_lanes lanes
    cdef readonly list games
    cdef list worlds              # pages: their times of last polls are in use
    cdef double[::1] rate         # (n,) in the kernel's units
    cdef int level

    def __init__(self, list games, list worlds, const uint64_t[:, ::1] words, double period):
        """Eight games on the same tables, environments of one kind and rates; words (8, 4) seed them."""
        cdef KnapsackGame game = games[0]
        cdef RateEnvironment world = worlds[0]
        cdef Py_ssize_t l, j
        assert len(games) == len(worlds) == words.shape[0] == LANES and words.shape[1] == 4
        assert game.n_materials == world.n_materials
        assert not world.switch_every
        self.games, self.worlds = games, worlds
        scale = 1.0 if isinstance(world, Pages) else float(game.units[game.resolution])   # table[N] is 1
        self.rate = np.asarray(world.rate) * scale
        self.lanes.rate = &self.rate[0]
        self.lanes.units = &game.units[0]
        self.lanes.resolution = game.resolution
        self.lanes.full_at = game.full_at
        self.lanes.period = period
        for l in range(LANES):
            self.take(l, games[l], worlds[l])
            for j in range(4):
                self.lanes.word[j][l] = words[l, j]
        self.level = vector_level()

    cdef take(self, Py_ssize_t l, KnapsackGame game, RateEnvironment world):
        game.prepare_draws()
        if sum_tree_total(&game.tree.tree) == 0:
            raise ValueError("all amounts are zero: there is nothing to poll")
        self.lanes.tree[l] = &game.tree.tree
        self.lanes.state[l] = &game.states[0]
        self.lanes.last[l] = &(<Pages>world).last[0] if isinstance(world, Pages) else NULL

    def run(self, int64_t steps):
        """Poll `steps` times in each lane; return the polls so far that found a change, (8,)."""
        cdef KnapsackGame game
        with nogil:
            lakg_lanes_run(&self.lanes, steps, self.level)
        for game in self.games:
            game.total = sum_tree_total(&game.tree.tree)
        return np.array(<int64_t[:LANES]>self.lanes.found)

    def totals(self):
        """Total weight in each lane, in units."""
        cdef KnapsackGame game
        return [game.total for game in self.games]


def exponentials(const uint64_t[::1] words):
    """The exponential variate that the lanes make of each random word, (n,); n a multiple of 8."""
    assert words.shape[0] and words.shape[0] % LANES == 0
    cdef double[::1] out = np.empty(words.shape[0])
    lane_exponentials(&words[0], &out[0], words.shape[0])
    return np.asarray(out)
