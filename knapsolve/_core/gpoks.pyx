"""GPOKS: a Gaussian process a material, curves drawn from them, and the price that clears their market.

CurveGame. Material i's unit value is a curve on m grid points, Gaussian in r features (csrc/gp_posterior). A poll
  adds one observation at the grid point nearest to 1 / elapsed; then the polled material's curve is drawn anew
  (curve_draws; of two materials, both) and the price moves until the amounts fill the capacity (csrc/curve_market).
  Invariant: precision and information are the sums of what was observed, counts and sums the same by grid point; a
  draw that is lost to a signal leaves the curve before it.
  A poll costs a draw, O(r^3 + r^2 m), and one or two passes over the n segments.
  Reference: Glimsdal and Granmo, "Gaussian process based optimistic knapsack sampling", section 2.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, int64_t, intptr_t as intp_t, uint32_t, uint64_t

from knapsolve._core.curve_draws cimport (
    ADMISSIBLE, FELL_BACK, LOST, ROWS_A_LOOK, CurveDraws, fate, gp_gather, gp_observe,
)
from knapsolve._core.random_bits cimport bits_of, bitgen_t, random_standard_normal, split_mix
from knapsolve._core.shapes import check_room

cdef enum:
    GATHER = 1024            # observations at one point between two times that the sums are taken anew
    CHUNK = 100_000_000      # products between two signs of progress


cdef uint64_t next_word(void *state) noexcept nogil:
    """SplitMix64: a stream that starts anywhere at no cost."""
    cdef uint64_t *at = <uint64_t *>state
    cdef uint64_t word = split_mix(at[0])
    at[0] += <uint64_t>0x9E3779B97F4A7C15
    return word


cdef uint32_t next_half(void *state) noexcept nogil:
    return <uint32_t>(next_word(state) >> 32)


cdef double next_unit(void *state) noexcept nogil:
    return <double>(next_word(state) >> 11) * (1.0 / 9007199254740992.0)


cdef class CurveGame(Learner):
    """View over a learner's state. Rows are materials; `memory` holds the work of one draw.

    `state` maps names to arrays: counts, sums, curves (n, m), precision (n, r (r + 1) / 2), information and weights
    (n, r), squares (n,), fallbacks (1,).
    """

    def __init__(self, dict state, Py_ssize_t n_known, CurveDraws draws, const double[::1] grid,
                 const double[::1] edges, double noise, double feedback_noise, double capacity, uint64_t key,
                 bint crossing, bint trades):
        """crossing: two materials, by `cross`. Without trades no price is found: to learn and draw, O(1) in n."""
        check_room("the curves", state["curves"].shape[0], n_known)
        self.n_materials = n_known
        self.draws, self.patience = draws, draws.patience
        self.r, self.m = draws.r, draws.m
        self.features, self.grid, self.edges = draws.features, grid, edges
        self.counts, self.sums, self.curves = state["counts"], state["sums"], state["curves"]
        self.precision, self.information = state["precision"], state["information"]
        self.weights, self.squares, self.fallbacks = state["weights"], state["squares"], state["fallbacks"]
        self.noise, self.feedback_noise, self.key = noise, feedback_noise, key
        self.crossing = crossing
        self.pair = np.zeros(2)
        self.open_market(capacity)
        if trades:
            self.settle()

    cdef open_market(self, double capacity):
        """Room for every curve's place; no price yet."""
        cdef Py_ssize_t n = self.curves.shape[0]
        cdef double[:, ::1] columns = np.zeros((4, max(n, 1)))
        cdef int32_t[::1] segment = np.zeros(max(n, 1), dtype=np.int32)
        self.pooled, self.blocks = np.zeros(self.m), np.zeros(self.m, dtype=np.int32)
        self.memory = columns, segment
        self.market.m, self.market.capacity, self.market.price = self.m, capacity, 0.0
        self.market.grid = &self.grid[0]
        self.market.low, self.market.high = &columns[0, 0], &columns[1, 0]
        self.market.base, self.market.slope = &columns[2, 0], &columns[3, 0]
        self.market.segment = &segment[0]
        if n:
            self.market.curves = &self.curves[0, 0]

    cdef void settle(self) noexcept nogil:
        """All amounts, from the curves alone."""
        cdef Py_ssize_t i
        self.market.n = self.n_materials
        self.market.price = 0.0
        for i in range(self.n_materials):
            curve_market_place(&self.market, i)
        self.clear()

    cdef void clear(self) noexcept nogil:
        if self.crossing:
            self.cross()
        elif self.n_materials:
            curve_market_clear(&self.market)

    cdef void cross(self) noexcept nogil:
        """The first sign change of f_1(x) - f_2(c - x), on a grid with the same amounts from either end."""
        cdef Py_ssize_t k, last = self.m - 1
        cdef double before = 0.0, now = 0.0, x = self.grid[last]
        for k in range(self.m):
            before, now = now, self.curves[0, k] - self.curves[1, last - k]
            if now <= 0.0:
                x = self.grid[k]
                if k > 0:
                    x -= (x - self.grid[k - 1]) * now / (now - before)
                break
        self.pair[0], self.pair[1] = x, self.market.capacity - x

    cdef void redraw(self, Py_ssize_t i, bint warm, bitgen_t *bits) noexcept nogil:
        """A new curve of material i from its posterior; what is lost to a signal leaves the one before."""
        cdef double *f = &self.curves[i, 0]
        cdef fate met = self.draws.draw(&self.precision[i, 0], &self.information[i, 0], &self.weights[i, 0], f, warm,
                                        bits)
        if met == LOST:
            self.stop()
            return
        self.keep_finite(i)
        self.fallbacks[0] += met == FELL_BACK
        if self.crossing:
            return
        if not (self.draws.monotone and met == ADMISSIBLE):
            curve_project(self.m, f, &self.blocks[0], &self.pooled[0])
        curve_tilt(self.m, f)

    cdef void keep_finite(self, Py_ssize_t i) noexcept nogil:
        """A flat curve, and no last draw to start from, where numbers went beyond what doubles hold."""
        cdef Py_ssize_t j, k
        cdef double *f = &self.curves[i, 0]
        cdef double bad = 0.0
        for k in range(self.m):
            bad += 0.0 * f[k]
        if bad != 0.0:
            for k in range(self.m):
                f[k] = 0.0
            for j in range(self.r):
                self.weights[i, j] = 0.0

    cdef void stop(self) noexcept with gil:
        """The closed loop ends here too."""
        self.error, self.failed = self.patience.error, True

    # -- the role -------------------------------------------------------------

    cdef double amount(self, Py_ssize_t i) noexcept nogil:
        return self.pair[i] if self.crossing else curve_market_amount(&self.market, i)

    cpdef amounts(self):
        """Amounts; what the price cannot resolve where curves are all but flat is shared as their slopes share it."""
        cdef Py_ssize_t i
        result = Learner.amounts(self)
        if self.crossing or not self.n_materials:
            return result
        falls = np.empty(self.n_materials)
        for i in range(self.n_materials):
            falls[i] = -self.market.slope[i]
        total = falls.sum()
        if total > 0.0:
            result += (self.market.capacity - result.sum()) * (falls / total)
            np.clip(result, self.grid[0], self.grid[self.m - 1], out=result)
        return result

    cdef Py_ssize_t draw(self, bitgen_t *bits) noexcept nogil:
        cdef Py_ssize_t i
        cdef double left = bits.next_double(bits.state) * self.market.capacity
        for i in range(self.n_materials):
            left -= self.amount(i)
            if left < 0.0:
                return i
        return self.n_materials - 1

    cdef inline void note(self, Py_ssize_t i, double elapsed, int v, bitgen_t *bits) noexcept nogil:
        """Add one outcome to the posterior of material i, at the grid point nearest to 1 / elapsed."""
        cdef Py_ssize_t low = 0, high = self.m - 1, middle
        cdef double x = 1.0 / elapsed if elapsed > 0.0 else INFINITY, y = v
        while low < high:
            middle = (low + high) // 2
            if self.edges[middle] < x:
                low = middle + 1
            else:
                high = middle
        if self.feedback_noise > 0.0:
            y += self.feedback_noise * random_standard_normal(bits)
        self.counts[i, low] += 1.0
        self.sums[i, low] += y
        self.squares[i] += y * y
        gp_observe(self.r, &self.features[0, low], self.m, y, self.noise, &self.precision[i, 0],
                   &self.information[i, 0])
        if <int64_t>self.counts[i, low] % GATHER == 0:
            self.gather(i)

    cdef void gather(self, Py_ssize_t i) noexcept nogil:
        """The sums taken anew, row by row: where a signal ends it, the rest are as good as before."""
        cdef Py_ssize_t row, stop = 0
        while stop < self.r:
            row = stop
            stop = min(row + ROWS_A_LOOK, self.r)
            gp_gather(self.r, self.m, &self.features[0, 0], &self.counts[i, 0], &self.sums[i, 0], self.noise,
                      &self.precision[i, 0], &self.information[i, 0], row, stop)
            if not self.patience.spend(2 * (stop - row) * row * self.m):
                return

    cdef void observe(self, Py_ssize_t i, double elapsed, int v, bitgen_t *bits) noexcept nogil:
        self.note(i, elapsed, v, bits)
        self.redraw(i, True, bits)
        if self.n_materials == 2 and not self.failed:
            self.redraw(1 - i, True, bits)
            curve_market_place(&self.market, 1 - i)
        curve_market_place(&self.market, i)
        self.clear()
        self.leave_trail()
        if not self.patience.spend(4 * self.n_materials):
            self.stop()

    cdef inline void leave_trail(self) noexcept nogil:
        cdef Py_ssize_t i
        if self.at < self.trail_length:
            for i in range(self.n_materials):
                self.trail[self.at, i] = self.amount(i)
            self.at += 1

    def keep_trail(self, double[:, ::1] trail):
        """Write the amounts held before the first poll to come, and before each one after it, into (n_polls, n)."""
        self.trail, self.trail_length, self.at = trail, trail.shape[0], 0
        self.leave_trail()

    cpdef start_run(self, generator):
        """Draw every curve anew."""
        cdef Py_ssize_t i
        cdef bitgen_t *bits = bits_of(generator)
        with generator.bit_generator.lock, nogil:
            for i in range(self.n_materials):
                self.redraw(i, False, bits)
                if self.failed:
                    break
        self.patience.check()
        self.settle()

    def learn(
        self, const intp_t[::1] materials, const double[::1] elapsed, const int8_t[::1] changed, generator,
        commit
    ):
        """Learn a log; then draw the curve of each material polled, by random numbers of its own."""
        cdef Py_ssize_t row
        cdef bitgen_t *bits = bits_of(generator)
        cdef int8_t[::1] polled = np.zeros(self.curves.shape[0], dtype=np.int8)
        with generator.bit_generator.lock, nogil:
            for row in range(materials.shape[0]):
                if materials[row] == self.n_materials:
                    self.admit()
                polled[materials[row]] = True
                self.note(materials[row], elapsed[row], changed[row], bits)
                if not self.patience.spend(self.r * self.r + self.r):
                    break
        self.patience.check()
        self.draw_own(np.flatnonzero(polled))
        commit()

    cpdef draw_own(self, const intp_t[::1] materials):
        """Draw curves as functions of the key and the posteriors, whatever was drawn before."""
        cdef Py_ssize_t at, k, i
        cdef uint64_t word
        cdef double polls
        cdef bitgen_t bits
        bits.state = &word
        bits.next_uint64 = next_word
        bits.next_raw = next_word
        bits.next_uint32 = next_half
        bits.next_double = next_unit
        with nogil:
            for at in range(materials.shape[0]):
                i = materials[at]
                polls = 0.0
                for k in range(self.m):
                    polls += self.counts[i, k]
                word = self.key + <uint64_t>i
                word = next_word(&word) + <uint64_t>polls
                word = next_word(&word)
                self.redraw(i, False, &bits)
                if self.failed:
                    break
        self.patience.check()

    def sample(self, Py_ssize_t n_curves, generator):
        """Successive draws of material 0, (n_curves, m); its curve is the last of them."""
        cdef Py_ssize_t k, j
        cdef bitgen_t *bits = bits_of(generator)
        cdef double[:, ::1] out
        result = np.empty((n_curves, self.m))
        out = result
        with generator.bit_generator.lock, nogil:
            for k in range(n_curves):
                self.redraw(0, k > 0, bits)
                if self.failed:
                    break
                for j in range(self.m):
                    out[k, j] = self.curves[0, j]
        self.patience.check()
        return result

    @property
    def chunk(self):
        """Polls between two signs of progress: some tens of milliseconds."""
        return max(1, CHUNK // (self.draws.work * min(self.n_materials, 2) + 20 * self.n_materials))

    @property
    def cancellation(self):
        """What else than a signal ends long draws, by a `check` that raises."""
        return self.patience.cancellation

    @cancellation.setter
    def cancellation(self, cancellation):
        self.patience.cancellation = cancellation

    @property
    def concern(self):
        """What to warn of, or None."""
        if self.draws.fallen <= 0.1 * self.draws.drawn:
            return None
        return (
            "more than a tenth of the curves that GPOKS drew are no draws from the posterior, since none was found "
            "that falls everywhere and stays above the mean (n_fallbacks_ counts them): use sampler='truncated', more "
            "max_tries, or a smoother kernel"
        )

    @property
    def price(self):
        """The unit value at which the capacity is filled."""
        return self.market.price
