"""Sweeps of a finite Markov decision process over its state-action pairs.

Shapes: S states, M pairs sorted by state, Z transitions sorted by pair. state (S + 1,) first pair of each
state, pair (M + 1,) first transition of each pair, target (Z,) and chance (Z,), cost (M,) a step. h, d (S,),
choice (S,).
The residual of pair m of state i is d = cost + discount sum chance (h_j - h_i) - (1 - discount)
h_i, by differences, so that its rounding is that of the differences; d(i) = (T h - h)(i) is the least over
the pairs of i.
Invariant: bounds returned are those of the h that went in, moved outwards by a bound of the
rounding.
Complexity: a sweep O(Z). Reference: Puterman, "Markov Decision Processes", 1994, Sections 6.6 and
8.5.
"""

from libc.math cimport INFINITY, fabs, fmax

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

cdef Py_ssize_t CHUNK = 20_000_000  # transitions between two looks at the signals: about 40 ms
cdef Py_ssize_t PATIENCE = 64  # times the rounding, and looks without gaining on the bounds: stuck
cdef double EPSILON = 2.220446049250313e-16


cdef class Bellman:
    """The operator T of one model: views over numpy arrays, made for one solution."""

    cdef const Py_ssize_t[::1] state, pair
    cdef const int[::1] target
    cdef const double[::1] chance, cost
    cdef double discount
    cdef Py_ssize_t widest

    def __init__(self, const Py_ssize_t[::1] state, const Py_ssize_t[::1] pair, const int[::1] target,
                 const double[::1] chance, const double[::1] cost, double discount):
        cdef Py_ssize_t m
        self.state, self.pair, self.target, self.chance, self.cost = state, pair, target, chance, cost
        self.discount = discount
        self.widest = 0
        for m in range(cost.shape[0]):
            self.widest = max(self.widest, pair[m + 1] - pair[m])

    cdef inline double residual(self, Py_ssize_t m, const double[::1] h, Py_ssize_t i,
                                double *size) noexcept nogil:
        """Residual of pair m of state i; *size grows to the largest sum of magnitudes."""
        cdef double here = h[i], change = 0.0, moved = 0.0, step, base
        cdef Py_ssize_t z
        for z in range(self.pair[m], self.pair[m + 1]):
            step = self.chance[z] * (h[self.target[z]] - here)
            change += step
            moved += fabs(step)
        base = self.cost[m] - (1.0 - self.discount) * here
        moved += fabs(self.cost[m]) + fabs((1.0 - self.discount) * here)
        if moved > size[0]:
            size[0] = moved
        return base + self.discount * change

    cdef double sweep(self, const double[::1] h, double[::1] d, Py_ssize_t[::1] choice, double noise,
                      double *lower, double *upper) noexcept nogil:
        """d, and the pairs that attain it; a pair stays unless another is better by `noise`.

        Return about how far rounding keeps the bounds apart: that of the sums, and of h itself.
        """
        cdef Py_ssize_t i, m, best
        cdef bint number = True  # no residual is NaN
        cdef double value, least, size = 0.0, largest = 0.0, low = INFINITY, high = -INFINITY
        for i in range(d.shape[0]):
            best = choice[i]
            value = self.residual(best, h, i, &size)
            d[i], least = value, value - noise
            for m in range(self.state[i], self.state[i + 1]):
                if m == choice[i]:
                    continue
                value = self.residual(m, h, i, &size)
                if value < least:
                    least = value
                    best = m
                if value < d[i]:
                    d[i] = value
            choice[i] = best
            largest = fmax(largest, fabs(h[i]))
            low = d[i] if d[i] < low else low
            high = d[i] if d[i] > high else high
            number = number and d[i] == d[i]
        size *= <double>(self.widest + 4) * EPSILON
        lower[0] = low - size if number else -INFINITY
        upper[0] = high + size if number else INFINITY
        return 2.0 * size + 4.0 * EPSILON * largest

    def bounds(self, const double[::1] h, double[::1] d, Py_ssize_t[::1] choice, double noise=0.0):
        """Least and largest residual of h; d and `choice` are filled."""
        cdef double lower, upper
        with nogil:
            self.sweep(h, d, choice, noise, &lower, &upper)
        return lower, upper

    def iterate(self, double[::1] h, double[::1] d, Py_ssize_t[::1] choice, double step, bint relative,
                double tol, Py_ssize_t limit, Py_ssize_t evaluations):
        """Value iteration h <- h + step (d - d(0)), without d(0) where not `relative`, to bounds within tol.

        After each look at all pairs come `evaluations` sweeps of the chosen ones (modified policy iteration).
        Ends early where rounding lets the bounds come no closer.
        Return (looks, lower, upper), the bounds of the h returned.
        """
        cdef Py_ssize_t done = 0, gained = 0, i, k, spent = 0
        cdef bint stuck
        cdef double lower = -INFINITY, upper = INFINITY, closest = INFINITY, shift, rounding, size = 0.0
        while True:
            with nogil:
                rounding = self.sweep(h, d, choice, 0.0, &lower, &upper)
            done += 1
            if upper - lower < 0.99 * closest:
                closest, gained = upper - lower, done
            stuck = upper - lower <= PATIENCE * rounding and done > 2 * gained + PATIENCE
            if upper - lower <= tol or done >= limit or stuck:
                return done, lower, upper
            with nogil:
                for k in range(evaluations + 1):
                    shift = d[0] if relative else 0.0
                    for i in range(d.shape[0]):
                        h[i] += step * (d[i] - shift)
                    if k < evaluations:
                        for i in range(d.shape[0]):
                            d[i] = self.residual(choice[i], h, i, &size)
            spent += self.target.shape[0] + evaluations * d.shape[0] * self.widest
            if spent > CHUNK:
                spent = 0
                PyErr_CheckSignals()
