"""Estimate and allocate in the closed loop: a rate filter, and amounts that follow the rates at a kept price.

A poll changes one rate; that item's amount at the price is computed anew and the price moves so that the sum of all
amounts stays at the capacity (csrc/rate_price.h). A scheduler that asks for an amount only when it polls the material
(lazy EDF) thus needs no other. What a poll takes away must not lock a material out on early estimates: up to an even
share of the capacity, its interval grows at most SLOWER times. A poll that finds a change which was sure to be found
tells nothing of the rate: the next one follows after 1 / rate, as long as little is known of the material, and later
now and then, as its lower bound allows (but by harmonic staleness, which gives every material enough).
After about a poll a material the sums are taken anew, exactly. With groups, whose caps have their own prices, `solve`
is called then: it returns (price, own prices (n,)).
State: the filter's rows. O(1) a poll, amortised; O(log n) with random access.
Reference: nefk.solver for the exact problem; Cho and Garcia-Molina (2003) for amounts from estimates.
"""

import math

import numpy as np

from libc.math cimport INFINITY, llrint

from knapsolve._core.weight_tree cimport sum_tree_add, sum_tree_total

cdef int64_t SELDOM = 4096     # polls between two calls of `solve` at the least
cdef double SLOWER = 4.0       # a material that gets little waits at most so many times as long as it did
cdef double FAR = 0.02         # movement of log mu after which the sums are worth taking again


cdef nefk_column column(values):
    """A view of one number or an array (n,)."""
    cdef nefk_column view
    cdef const double[::1] doubles
    view.doubles = NULL
    view.singles = NULL
    view.scalar = 0.0
    if isinstance(values, float):
        view.scalar = values
    else:
        doubles = values
        view.doubles = &doubles[0]
    return view


cdef class RateLearner(Learner):
    def __init__(self, RateFilter filter, int shape, bint proportional, double capacity, worth, weights, lower, upper,
                 double price, solve=None):
        """Columns are floats or arrays (n,); `worth` is (changes, current) of rate_price.h; `price` is a guess where
        `solve` is None."""
        self.filter, self.view = filter, filter.view
        self.n_materials = filter.n_known
        self.keep, self.solve = (weights, lower, upper), solve
        self.market.shape, self.market.proportional, self.market.capacity = shape, proportional, capacity
        self.market.changes, self.market.current = worth
        self.market.weight, self.market.lower, self.market.upper = column(weights), column(lower), column(upper)
        self.market.own = column(0.0)
        self.market.price = price
        self.even = capacity / max(1, self.n_materials)
        self.cached = -1
        if solve is not None:
            self.take_prices(*solve())
        self.resync()

    def take_prices(self, double price, own):
        """Price, and what each item's own price is above it (n,)."""
        self.keep = (*self.keep[:3], own)
        self.market.own = column(own)
        self.market.price = price

    @property
    def kept(self):
        """The price as it is kept, and the sum of amounts that it is believed to make."""
        return self.market.price, self.market.total

    cdef inline double rate(self, Py_ssize_t i) noexcept nogil:
        return self.view.row[i * self.view.width]

    cdef void resync(self) noexcept nogil:
        """Take the sums anew, and move the price until they meet the capacity."""
        self.since_refresh = 0
        self.cached = -1
        rate_price_settle(&self.market, self.view.row, self.view.width, self.n_materials, self.solve is None)

    cdef bint stale(self) noexcept nogil:
        """Whether the sums are due: after a poll a material, or an eighth of that where the price has moved far."""
        cdef Py_ssize_t due = self.n_materials
        if self.solve is not None or self.market.proportional:
            due = max(due, SELDOM)
        return self.since_refresh >= due or (self.market.moved > FAR and 8 * self.since_refresh >= self.n_materials)

    cdef int reprice(self) noexcept nogil:
        with gil:
            try:
                self.take_prices(*self.solve())
            except BaseException as error:
                self.error = error
                return -1
        return 0

    cdef double amount(self, Py_ssize_t i) noexcept nogil:
        if i != self.cached:
            self.answer = rate_price_answer(&self.market, i, self.rate(i))
            self.cached = i
        return self.answer.amount

    cdef void observe(self, Py_ssize_t i, double elapsed, int v, bitgen_t *bits) noexcept nogil:
        cdef rate_poll poll
        cdef rate_answer before
        self.amount(i)
        before = self.answer
        poll.elapsed, poll.weight, poll.count, poll.exposure, poll.changed = elapsed, 1.0, -1.0, 0.0, v
        rate_filter_learn(&self.view, i, poll)
        self.answer = rate_price_answer(&self.market, i, self.rate(i))
        rate_price_follow(&self.market, before, self.answer)     # others meet the new price; so no poll waits for it
        self.since_refresh += 1
        if self.stale():
            if self.solve is not None:
                self.failed = self.reprice() < 0
            self.resync()
            if self.tree is not None:
                self.weigh_all()
        self.amount(i)
        self.stay_open(i, elapsed, v, bits)
        if self.tree is not None:
            self.weigh(i)

    cdef void stay_open(self, Py_ssize_t i, double elapsed, int v, bitgen_t *bits) noexcept nogil:
        """Let what is believed of material i be unlearnt: its next interval, if the price's tells too little."""
        cdef double rate = self.rate(i), amount = self.answer.amount
        cdef double seldom = rate_column(&self.market.lower, i) if self.market.shape != NEFK_HARMONIC else 0.0
        cdef double known = rate_filter_known(&self.view, i) if self.market.shape == NEFK_DETECTION else INFINITY
        if look_again(rate, elapsed, v, known, seldom, bits):
            self.answer.amount = max(amount, min(rate, rate_column(&self.market.upper, i)))
        elif amount * SLOWER * elapsed < 1.0 and not self.market.proportional:
            self.answer.amount = max(amount, min(1.0 / (SLOWER * elapsed), self.even))

    cdef void weigh(self, Py_ssize_t i) noexcept nogil:
        """Material i is drawn by its present amount from now on; the others by those of their last polls."""
        cdef uint64_t units = <uint64_t>llrint(min(self.answer.amount / self.unit, 2.0 ** 61))
        sum_tree_add(&self.tree.tree, i, units - self.units[i])
        self.units[i] = units
        if sum_tree_total(&self.tree.tree) > <uint64_t>1 << 62:
            self.since_refresh = 1 << 62

    cpdef prepare_draws(self):
        self.tree = WeightTree(self.n_materials)
        self.units = np.zeros(self.n_materials, dtype=np.uint64)
        self.unit = math.ldexp(1.0, math.frexp(self.market.capacity)[1] - 56)
        self.weigh_all()

    cdef void weigh_all(self) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.n_materials):
            self.amount(i)
            self.weigh(i)

    cdef Py_ssize_t draw(self, bitgen_t *bits) noexcept nogil:
        return self.tree.draw(bits)

    cpdef amounts(self):
        """At sums taken anew; polling goes on at the prices that it had, however often it is asked."""
        cdef rate_price market = self.market
        cdef rate_answer answer = self.answer
        kept = self.keep, self.since_refresh, self.cached
        try:
            if self.solve is not None:
                self.take_prices(*self.solve())
            self.resync()
            return Learner.amounts(self)
        finally:
            self.market, self.answer = market, answer
            self.keep, self.since_refresh, self.cached = kept
