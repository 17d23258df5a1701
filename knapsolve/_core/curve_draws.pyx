"""Curves drawn from a Gaussian posterior: its mean, a sample, or a sample of it cut to admissible curves.

CurveDraws. A curve on m grid points has r Gaussian weights (csrc/gp_posterior). Admissible are curves nowhere below the
  posterior mean, if optimistic, and nowhere rising, if monotone; they come by exact moves from the last draw
  (csrc/truncated_normal), or by rejection.
  Invariant: curve and weights handed in change only when the new ones are whole.
  A draw costs O(r^3 + r^2 m), and as much again for moves; what is longer than 10 ms lets signals through (patience).
  Reference: Glimsdal and Granmo, "Gaussian process based optimistic knapsack sampling", section 2; Pakman and Paninski.
"""

import numpy as np

from libc.math cimport sqrt

from knapsolve._core.patience cimport GRAIN, Patience
from knapsolve._core.random_bits cimport bitgen_t, random_standard_exponential, random_standard_normal

DRAWS = ("mean", "thompson", "optimistic")
cdef enum:
    MEAN, THOMPSON, OPTIMISTIC
    WARM_MOVES = 2           # moves from the last draw to the next
    COLD_MOVES = 12          # moves from a point far inside
cdef double BREACH = 1e-9            # of the prior's standard deviation: what rounding may do to a curve
cdef double CLEARANCE = 0.0625       # of it, a priori: how far inside a cold start is
cdef double FAR = 10.0               # times the features: standard deviations beyond which a start is cold
cdef Py_ssize_t LONGEST_FLIGHT = 200_000_000  # products


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


cdef class CurveDraws:
    """Draws for one grid; the memory of a draw. `lift`, (r,), are the weights of a positive, decreasing curve."""

    def __init__(self, const double[:, ::1] features, const double[::1] lift, str kind, bint monotone,
                 Py_ssize_t tries, Patience patience):
        """tries: of the rejection sampler; 0: exact moves."""
        self.r, self.m = features.shape[0], features.shape[1]
        self.features, self.lift = features, lift
        self.kind = DRAWS.index(kind)
        self.monotone, self.tries, self.patience = monotone, tries, patience
        self.allot()
        self.plan_moves()

    cdef allot(self):
        """Hand out the working memory."""
        cdef Py_ssize_t r = self.r, m = self.m, k, walls
        self.side = (m + WALL_BLOCK - 1) // WALL_BLOCK * WALL_BLOCK
        walls = 2 * self.side
        cdef double[::1] words = np.zeros(r * (r + 1) // 2 + (r + 4) * walls + 5 * r + 3 * m)
        cdef double *at = &words[0]
        self.memory = words
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
        cdef Py_ssize_t r = self.r, room
        cdef double deviation = np.sqrt((np.asarray(self.features) ** 2).sum(axis=0).max())
        self.bounce = r * self.walls.stride
        room = LONGEST_FLIGHT // self.bounce
        self.walls.breach = BREACH * deviation
        self.clearance = CLEARANCE * deviation * np.linalg.norm(self.lift)
        self.bounces, self.slides = max(8, min(1000 + r * r, room)), max(8, min(8 * r, room // 4))
        self.cold_moves = max(WARM_MOVES, min(COLD_MOVES, room // (1 + r * r // 2)))
        self.work = r * r * (2 * r + self.m // 2)
        if self.tries > 0:  # none of them may be admissible
            self.work += self.tries * self.bounce
        elif self.kind != MEAN:
            self.work += WARM_MOVES * min(5 + r * r // 2, self.bounces) * self.bounce

    cdef fate draw(self, const double *precision, const double *information, double *weights, double *curve,
                   bint warm, bitgen_t *bits) noexcept nogil:
        """A new curve and its weights, from the last ones' if `warm`; what is lost to a signal changes neither."""
        cdef Py_ssize_t r = self.r, m = self.m, k
        cdef bint falls = True, optimistic = self.kind == OPTIMISTIC
        self.solve(precision, information)
        if self.kind != MEAN:
            falls = self.sample(weights, warm, bits)
        if self.patience.lost:
            return LOST
        if self.kind == MEAN:
            for k in range(m):
                curve[k] = self.mean[k]
            return PLAIN
        gp_curve(r, m, self.white, self.walls.stride, self.point, curve)
        for k in range(m):
            curve[k] += self.mean[k]
            if not falls and optimistic and curve[k] < self.mean[k]:
                curve[k] = self.mean[k]
        for k in range(r):
            weights[k] = self.center[k]
        gp_add_unwhitened(r, self.factor, self.point, self.scratch, weights)
        self.drawn += 1
        self.fallen += not falls
        return ADMISSIBLE if falls else FELL_BACK

    cdef void solve(self, const double *precision, const double *information) noexcept nogil:
        """The posterior's mean and, for draws, its square root on the grid."""
        cdef Py_ssize_t r = self.r, m = self.m, row, stop = 0
        while stop < r:
            row = stop
            stop = min(row + ROWS_A_LOOK, r)
            gp_factor(precision, information, self.factor, self.center, row, stop)
            if self.kind != MEAN:
                gp_whiten(m, &self.features[0, 0], self.factor, self.white, self.walls.stride, row, stop)
            if not self.patience.spend((stop - row) * row * (2 * row + m)):
                return
        gp_solve(r, self.factor, self.center)
        gp_curve(r, m, &self.features[0, 0], m, self.center, self.mean)

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

    cdef bint sample(self, const double *weights, bint warm, bitgen_t *bits) noexcept nogil:
        """A point, whose curve keeps within the walls if true."""
        cdef bint optimistic = self.kind == OPTIMISTIC
        if not (optimistic or self.monotone):
            throw(self.r, self.point, bits)
            return True
        self.build_walls(optimistic)
        return self.sample_rejecting(bits) if self.tries > 0 else self.sample_moving(weights, warm, bits)

    cdef bint sample_rejecting(self, bitgen_t *bits) noexcept nogil:
        """Draw until a curve keeps within the walls."""
        cdef Py_ssize_t _k
        for _k in range(self.tries):
            throw(self.r, self.point, bits)
            if truncated_normal_inside(&self.walls, self.point):
                return True
            if not self.patience.spend(self.bounce // 4):
                break
        return False

    cdef bint sample_moving(self, const double *weights, bint warm, bitgen_t *bits) noexcept nogil:
        """Exact moves from the last draw, lifted above the new mean; from far inside if there is none."""
        cdef Py_ssize_t moves = WARM_MOVES
        if not (warm and self.enter_warm(weights)):
            moves = self.cold_moves
            if not self.enter_cold():
                throw(self.r, self.point, bits)
                return False
        while moves > 0 and not self.patience.lost:
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
        if self.bounces >= 0 and self.fly():
            return
        for k in range(self.slides):
            if not self.patience.spend(self.bounce):
                return
            throw(self.r, self.velocity, bits)
            truncated_normal_slide(&self.walls, self.point, self.velocity, random_standard_exponential(bits),
                                   bits.next_double(bits.state), k > 0)

    cdef bint fly(self) noexcept nogil:
        """A flight from the point; false where it bounces too often, or ends outside by rounding."""
        cdef Py_ssize_t rest = self.bounces + 1, looks
        cdef double left = 1.0
        truncated_normal_launch(&self.walls, self.point, self.velocity, self.scratch)
        while rest > 0:
            looks = truncated_normal_fly(&self.walls, self.scratch, self.velocity, self.normal, &left,
                                         min(rest, 1 + GRAIN // self.bounce))
            if left == 0.0:
                self.patience.spend(looks * self.bounce)
                return truncated_normal_land(&self.walls, self.point, self.scratch)
            rest -= looks
            if not self.patience.spend(looks * self.bounce):
                return False
        return False

    cdef bint enter_warm(self, const double *weights) noexcept nogil:
        cdef Py_ssize_t j, k
        cdef double *curve = self.mean + self.m
        cdef double height = 0.0
        gp_curve(self.r, self.m, &self.features[0, 0], self.m, weights, curve)
        if self.kind == OPTIMISTIC:
            for k in range(self.m):
                height = max(height, (self.mean[k] - curve[k]) / self.lifted[k])
        for j in range(self.r):
            self.scratch[j] = weights[j] + height * self.lift[j] - self.center[j]
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
