"""GPOKS: a Gaussian process a material, curves drawn from them, and the price that clears their market.

CurveGame. Material i's unit value is a curve on m grid points, Gaussian in r features (csrc/gp_posterior). A poll
  adds one observation at the grid point nearest to 1 / elapsed; then the polled material's curve is drawn anew (of two
  materials, both) and the price moves until the amounts fill the capacity (csrc/curve_market).
  Draws: the posterior mean; a sample; or a sample of the posterior cut to curves nowhere below the mean and, if
  monotone, nowhere rising, by exact moves (csrc/truncated_normal) from the last draw, or by rejection.
  Invariant: precision and information are the sums of what was observed, counts and sums the same by grid point.
  A poll costs O(r^3 + r^2 m) and one or two passes over the n segments.
  Reference: Glimsdal and Granmo, "Gaussian process based optimistic knapsack sampling", section 2.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int8_t, int32_t, int64_t, intptr_t as intp_t, uint32_t, uint64_t

from knapsolve._core.random_bits cimport bits_of, bitgen_t, random_standard_exponential, random_standard_normal
from knapsolve._core.shapes import check_room

DRAWS = ("mean", "thompson", "optimistic")
cdef enum:
    MEAN, THOMPSON, OPTIMISTIC
    WARM_MOVES = 2           # moves from the last draw to the next
    COLD_MOVES = 12          # moves from a point far inside
    GATHER = 1024            # observations at one point between two times that the sums are taken anew
cdef double BREACH = 1e-9            # of the prior's standard deviation: what rounding may do to a curve
cdef double CLEARANCE = 0.0625       # of it, a priori: how far inside a cold start is
cdef double FAR = 10.0               # times the features: standard deviations beyond which a start is cold
cdef Py_ssize_t ROWS = 65536      # rows between two looks at pending signals
cdef Py_ssize_t SLICE = 100_000_000  # products between two looks: some 20 ms
cdef Py_ssize_t LONGEST_FLIGHT = 200_000_000  # products


cdef uint64_t next_word(void *state) noexcept nogil:
    """SplitMix64 (Steele, Lea and Flood 2014): a stream that starts anywhere at no cost."""
    cdef uint64_t *at = <uint64_t *>state
    at[0] += <uint64_t>0x9E3779B97F4A7C15
    cdef uint64_t word = at[0]
    word = (word ^ (word >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    word = (word ^ (word >> 27)) * <uint64_t>0x94D049BB133111EB
    return word ^ (word >> 31)


cdef uint32_t next_half(void *state) noexcept nogil:
    return <uint32_t>(next_word(state) >> 32)


cdef double next_unit(void *state) noexcept nogil:
    return <double>(next_word(state) >> 11) * (1.0 / 9007199254740992.0)


cdef inline double length(Py_ssize_t r, const double *z) noexcept nogil:
    cdef Py_ssize_t j
    cdef double square = 0.0
    for j in range(r):
        square += z[j] * z[j]
    return sqrt(square)


cdef inline void throw(Py_ssize_t r, double *z, bitgen_t *bits) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(r):
        z[j] = random_standard_normal(bits)


cdef class CurveGame(Learner):
    """View over a learner's state. Rows are materials; `memory` holds the work of one draw.

    `state` maps names to arrays: counts, sums, curves (n, m), precision (n, r (r + 1) / 2), information and weights
    (n, r), squares (n,), fallbacks (1,). `lift` are the weights of a positive, strictly decreasing curve.
    """

    def __init__(self, dict state, Py_ssize_t n_known, const double[:, ::1] features, const double[::1] grid,
                 const double[::1] edges, const double[::1] lift, str draw, bint monotone, Py_ssize_t tries,
                 double noise, double feedback_noise, double capacity, uint64_t key, bint crossing):
        """tries: of the rejection sampler; 0: exact moves. crossing: two materials, by `cross`."""
        check_room("the curves", state["curves"].shape[0], n_known)
        self.n_materials = n_known
        self.r, self.m = features.shape[0], features.shape[1]
        self.features, self.grid, self.edges, self.lift = features, grid, edges, lift
        self.counts, self.sums, self.curves = state["counts"], state["sums"], state["curves"]
        self.precision, self.information = state["precision"], state["information"]
        self.weights, self.squares, self.fallbacks = state["weights"], state["squares"], state["fallbacks"]
        self.draw_kind = DRAWS.index(draw)
        self.monotone, self.reject, self.tries = monotone, tries > 0, tries
        self.noise, self.feedback_noise, self.key = noise, feedback_noise, key
        self.allot()
        self.plan_moves()
        self.crossing = crossing
        self.pair = np.zeros(2)
        self.open_market(capacity)

    cdef allot(self):
        """Hand out the working memory."""
        cdef Py_ssize_t r = self.r, m = self.m, k, walls
        self.side = (m + WALL_BLOCK - 1) // WALL_BLOCK * WALL_BLOCK
        walls = 2 * self.side
        cdef double[::1] words = np.zeros(r * (r + 1) // 2 + (r + 4) * walls + 5 * r + 3 * m)
        cdef int32_t[::1] links = np.zeros(m, dtype=np.int32)
        cdef double *at = &words[0]
        self.memory = words, links
        self.blocks = &links[0]
        self.white = at
        at += r * walls
        self.slack, self.walls.value, self.walls.speed, self.walls.near = at, at + walls, at + 2 * walls, at + 3 * walls
        at += 4 * walls
        self.mean, self.lifted = at, at + 2 * m
        at += 3 * m                                        # mean is (2 m,): its second half is scratch
        self.center, self.point, self.velocity, self.scratch = at, at + r, at + 2 * r, at + 3 * r
        self.normal, self.factor = at + 4 * r, at + 5 * r
        self.walls.r, self.walls.stride = r, walls
        for k in range(walls):
            self.slack[k] = 0.0 if k < m else 1.0
        gp_curve(r, m, &self.features[0, 0], m, &self.lift[0], self.lifted)

    cdef plan_moves(self):
        """Tolerances, by the prior's standard deviation; moves, by what they cost.

        A flight of white noise in r dimensions bounces some r^2 / 2 times, as r particles in a row before a wall do.
        """
        cdef Py_ssize_t r = self.r, bounce = r * self.walls.stride, room = LONGEST_FLIGHT // bounce
        cdef double deviation = np.sqrt((np.asarray(self.features) ** 2).sum(axis=0).max())
        self.walls.breach = BREACH * deviation
        self.clearance = CLEARANCE * deviation * np.linalg.norm(self.lift)
        self.bounces, self.slides = max(8, min(1000 + r * r, room)), max(8, min(8 * r, room // 4))
        self.cold_moves = max(WARM_MOVES, min(COLD_MOVES, room // (1 + r * r // 2)))
        self.work = r * r * (2 * r + self.m // 2)
        if self.reject:  # none of the tries may be admissible
            self.work += self.tries * bounce
        elif self.draw_kind != MEAN:
            self.work += WARM_MOVES * min(5 + r * r // 2, self.bounces) * bounce

    cdef open_market(self, double capacity):
        """Place every curve and find the price, from the curves alone."""
        cdef Py_ssize_t n = self.curves.shape[0]
        cdef double[:, ::1] columns = np.zeros((4, max(n, 1)))
        cdef int32_t[::1] segment = np.zeros(max(n, 1), dtype=np.int32)
        self.memory = (*self.memory, columns, segment)
        self.market.m, self.market.capacity, self.market.price = self.m, capacity, 0.0
        self.market.grid = &self.grid[0]
        self.market.low, self.market.high = &columns[0, 0], &columns[1, 0]
        self.market.base, self.market.slope = &columns[2, 0], &columns[3, 0]
        self.market.segment = &segment[0]
        if n:
            self.market.curves = &self.curves[0, 0]
        self.settle()

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

    # -- draws ----------------------------------------------------------------

    cdef void redraw(self, Py_ssize_t i, bint warm, bitgen_t *bits) noexcept nogil:
        """A new curve of material i from its posterior."""
        cdef Py_ssize_t r = self.r, m = self.m, k
        cdef double *f = &self.curves[i, 0]
        cdef bint falls = False, optimistic = self.draw_kind == OPTIMISTIC
        gp_solve(r, &self.precision[i, 0], &self.information[i, 0], self.factor, self.center)
        gp_curve(r, m, &self.features[0, 0], m, self.center, self.mean)
        if self.draw_kind == MEAN:
            for k in range(m):
                f[k] = self.mean[k]
        else:
            gp_whiten(r, m, &self.features[0, 0], self.factor, self.white, self.walls.stride)
            if optimistic or self.monotone:
                self.build_walls(optimistic)
                falls = self.sample_rejecting(bits) if self.reject else self.sample_moving(i, warm, bits)
            else:
                self.throw_point(bits)
                falls = True
            gp_curve(r, m, self.white, self.walls.stride, self.point, f)
            for k in range(m):
                f[k] += self.mean[k]
                if not falls and optimistic and f[k] < self.mean[k]:
                    f[k] = self.mean[k]
            self.keep_weights(i)
        self.keep_finite(i)
        if self.draw_kind != MEAN:
            self.drawn += 1
            self.fallen += not falls
            self.fallbacks[0] += not falls
        if not (self.monotone and falls) and not self.crossing:
            curve_project(m, f, self.blocks, self.walls.near)
        if not self.crossing:
            curve_tilt(m, f)

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

    cdef inline void throw_point(self, bitgen_t *bits) noexcept nogil:
        throw(self.r, self.point, bits)

    cdef inline void keep_weights(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(self.r):
            self.weights[i, j] = self.center[j]
        gp_add_unwhitened(self.r, self.factor, self.point, self.scratch, &self.weights[i, 0])

    cdef void build_walls(self, bint optimistic) noexcept nogil:
        """white' z >= 0: nowhere below the mean; then mean + white' z nowhere rising."""
        cdef Py_ssize_t j, k
        cdef double *row
        self.walls.n = self.side * (optimistic + self.monotone)
        self.walls.rows = self.white if optimistic else self.white + self.side
        self.walls.slack = self.slack if optimistic else self.slack + self.side
        if self.monotone:
            for k in range(self.m - 1):
                self.slack[self.side + k] = self.mean[k] - self.mean[k + 1]
            for j in range(self.r):
                row = self.white + j * self.walls.stride
                for k in range(self.m - 1):
                    row[self.side + k] = row[k] - row[k + 1]

    cdef bint sample_rejecting(self, bitgen_t *bits) noexcept nogil:
        """Draw until a curve keeps within the walls."""
        cdef Py_ssize_t _k
        for _k in range(self.tries):
            self.throw_point(bits)
            if truncated_normal_inside(&self.walls, self.point):
                return True
        return False

    cdef bint sample_moving(self, Py_ssize_t i, bint warm, bitgen_t *bits) noexcept nogil:
        """Exact moves from the last draw, lifted above the new mean; from far inside if there is none."""
        cdef Py_ssize_t moves = WARM_MOVES
        if not (warm and self.enter_warm(i)):
            moves = self.cold_moves
            if not self.enter_cold():
                self.throw_point(bits)
                return False
        while moves > 0:
            self.move(bits)
            moves -= 1
        return True

    cdef void move(self, bitgen_t *bits) noexcept nogil:
        """A flight; where that is taken back, as from a narrow corner, slides out of it.

        Flights and slides each leave the law as it is; choosing slides where a flight failed does so within what a
        sample of tens of thousands shows.
        """
        cdef Py_ssize_t k
        throw(self.r, self.velocity, bits)
        if self.bounces >= 0 and truncated_normal_move(&self.walls, self.point, self.velocity, self.scratch,
                                                       self.normal, self.bounces):
            return
        for k in range(self.slides):
            throw(self.r, self.velocity, bits)
            truncated_normal_slide(&self.walls, self.point, self.velocity, random_standard_exponential(bits),
                                   bits.next_double(bits.state), k > 0)

    cdef bint enter_warm(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t j, k
        cdef double *curve = self.mean + self.m
        cdef double height = 0.0
        gp_curve(self.r, self.m, &self.features[0, 0], self.m, &self.weights[i, 0], curve)
        if self.draw_kind == OPTIMISTIC:
            for k in range(self.m):
                height = max(height, (self.mean[k] - curve[k]) / self.lifted[k])
        for j in range(self.r):
            self.scratch[j] = self.weights[i, j] + height * self.lift[j] - self.center[j]
        gp_whitened(self.r, self.factor, self.scratch, self.point)
        if length(self.r, self.point) > FAR * self.r:
            return False
        return truncated_normal_least(&self.walls, self.point) >= -self.walls.breach

    cdef bint enter_cold(self) noexcept nogil:
        """The mean plus so much of `lift` that it falls everywhere."""
        cdef Py_ssize_t j, k
        cdef double height = 0.0
        if self.monotone:
            for k in range(self.m - 1):
                height = max(height, (self.mean[k + 1] - self.mean[k]) / (self.lifted[k] - self.lifted[k + 1]))
        gp_whitened(self.r, self.factor, &self.lift[0], self.point)
        height = 1.0625 * height + self.clearance / length(self.r, self.point)
        for j in range(self.r):
            self.point[j] *= height
        return truncated_normal_least(&self.walls, self.point) >= -self.walls.breach

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
        if <int64_t>self.counts[i, low] % GATHER == 0:
            gp_gather(self.r, self.m, &self.features[0, 0], &self.counts[i, 0], &self.sums[i, 0], self.noise,
                      &self.precision[i, 0], &self.information[i, 0])
        else:
            gp_observe(self.r, &self.features[0, low], self.m, y, self.noise, &self.precision[i, 0],
                       &self.information[i, 0])

    cdef void observe(self, Py_ssize_t i, double elapsed, int v, bitgen_t *bits) noexcept nogil:
        self.note(i, elapsed, v, bits)
        self.redraw(i, True, bits)
        if self.n_materials == 2:
            self.redraw(1 - i, True, bits)
            curve_market_place(&self.market, 1 - i)
        curve_market_place(&self.market, i)
        self.clear()
        self.leave_trail()

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
        cdef Py_ssize_t i = 0, stop
        cdef bitgen_t *bits = bits_of(generator)
        while i < self.n_materials:
            stop = min(i + self.draws_a_look(), self.n_materials)
            with generator.bit_generator.lock, nogil:
                for i in range(i, stop):
                    self.redraw(i, False, bits)
            i = stop
            PyErr_CheckSignals()
        self.settle()

    def learn(
        self, const intp_t[::1] materials, const double[::1] elapsed, const int8_t[::1] changed, generator,
        commit
    ):
        """Learn a log; then draw the curve of each material polled, by random numbers of its own."""
        cdef Py_ssize_t row = 0, stop, n_rows = materials.shape[0]
        cdef bitgen_t *bits = bits_of(generator)
        cdef int8_t[::1] polled = np.zeros(self.curves.shape[0], dtype=np.int8)
        while row < n_rows:
            stop = min(row + ROWS, n_rows)
            with generator.bit_generator.lock, nogil:
                for row in range(row, stop):
                    if materials[row] == self.n_materials:
                        self.admit()
                    polled[materials[row]] = True
                    self.note(materials[row], elapsed[row], changed[row], bits)
            row = stop
            PyErr_CheckSignals()
        self.draw_own(np.flatnonzero(polled))
        commit()

    cpdef draw_own(self, const intp_t[::1] materials):
        """Draw curves as functions of the key and the posteriors, whatever was drawn before."""
        cdef Py_ssize_t at = 0, stop, k, i
        cdef uint64_t word
        cdef double polls
        cdef bitgen_t bits
        bits.state = &word
        bits.next_uint64 = next_word
        bits.next_raw = next_word
        bits.next_uint32 = next_half
        bits.next_double = next_unit
        while at < materials.shape[0]:
            stop = min(at + self.draws_a_look(), materials.shape[0])
            with nogil:
                for at in range(at, stop):
                    i = materials[at]
                    polls = 0.0
                    for k in range(self.m):
                        polls += self.counts[i, k]
                    word = self.key + <uint64_t>i
                    word = next_word(&word) + <uint64_t>polls
                    word = next_word(&word)
                    self.redraw(i, False, &bits)
            at = stop
            PyErr_CheckSignals()

    cdef Py_ssize_t draws_a_look(self) noexcept nogil:
        """Draws between two looks at pending signals."""
        return max(1, SLICE // self.work)

    def sample(self, Py_ssize_t n_curves, generator):
        """Successive draws of material 0, (n_curves, m); its curve is the last of them."""
        cdef Py_ssize_t k = 0, j, stop
        cdef bitgen_t *bits = bits_of(generator)
        cdef double[:, ::1] out
        result = np.empty((n_curves, self.m))
        out = result
        while k < n_curves:
            stop = min(k + self.draws_a_look(), n_curves)
            with generator.bit_generator.lock, nogil:
                for k in range(k, stop):
                    self.redraw(0, k > 0, bits)
                    for j in range(self.m):
                        out[k, j] = self.curves[0, j]
            k = stop
            PyErr_CheckSignals()
        return result

    @property
    def chunk(self):
        """Polls that take some tens of milliseconds."""
        return max(1, SLICE // (self.work * min(self.n_materials, 2) + 20 * self.n_materials))

    @property
    def concern(self):
        """What to warn of, or None."""
        if self.fallen <= 0.1 * self.drawn:
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
