"""The renewal index policy: one poll a slot, always of the item whose index is the largest.

RenewalIndex learns each item's rate by csrc's renewal_filter; LadderOrder serves by csrc's rate_ladder. Time is
counted in slots of 1 / capacity, as the capacity was at the first fit: `ratio` is the capacity now over that one.
State: items (room, 9) = counts (3), exposures (3), last, rate, slot of the last poll; numbers (6,) = now, pooled count,
pooled exposure, changes found and expected lately, slots so far. `now` and `last` are by the clock of renewal_filter.h.
O(1) a poll.
Reference: Cho and Garcia-Molina, "Effective page refresh policies", ACM TODS 28(4), 2003.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from knapsolve._core.random_bits cimport bitgen_t
from knapsolve._core.roles cimport Learner, Scheduler
from knapsolve._core.shapes import check_room, check_shapes

cdef extern from "renewal_filter.h":
    ctypedef struct renewal_item:
        double last
        double rate
        double slot
    ctypedef struct renewal_pool:
        double now
        double count
        double exposure
        double slot
    double renewal_activity(const renewal_pool *pool) noexcept nogil
    double renewal_pooled(const renewal_pool *pool, double share) noexcept nogil
    double renewal_rate(const renewal_item *item, double pooled, double share) noexcept nogil
    void renewal_learn(
        renewal_item *item, renewal_pool *pool, double share, double tau, int changed
    ) noexcept nogil
    double renewal_worth(double balance, double share, double pooled) noexcept nogil
    double renewal_weight(double balance, double worth, double rate) noexcept nogil
    double renewal_gain(double u, double e) noexcept nogil
    double decay_exp(double t) noexcept nogil

cdef extern from "rate_ladder.h":
    enum:
        RUNG_END
    ctypedef struct rate_ladder:
        pass
    void ladder_init(
        rate_ladder *ladder, renewal_item *item, int32_t *next, Py_ssize_t n, double balance, double share,
        double pooled
    ) noexcept nogil
    void ladder_put(rate_ladder *ladder, int32_t item, double now) noexcept nogil
    int32_t ladder_take(rate_ladder *ladder, double now, double pooled) noexcept nogil

cdef Py_ssize_t CHUNK = 65536     # items between two looks at pending signals


def gain(double u):
    """G(u) = 1 - (1 + u) e^-u."""
    return renewal_gain(u, decay_exp(u))


cdef class RenewalIndex(Learner):
    cdef double[:, ::1] items
    cdef double[::1] numbers
    cdef renewal_item *item
    cdef renewal_pool *pool
    cdef double balance
    cdef readonly double ratio, slots  # capacity over the first one; the first one: slots a unit of time
    cdef rate_ladder ladder
    cdef int32_t[::1] next
    cdef bint ordered                 # the ladder holds all items

    def __init__(self, double[:, ::1] items, double[::1] numbers, Py_ssize_t n_materials, double balance,
                 double first_capacity, double ratio):
        """`first_capacity` makes slots of elapsed time."""
        check_room("items_", items.shape[0], n_materials)
        check_shapes(
            items_=((items.shape[1],), (sizeof(renewal_item) // sizeof(double),)),
            numbers_=((numbers.shape[0],), (sizeof(renewal_pool) // sizeof(double),)),
        )
        self.items, self.numbers, self.n_materials = items, numbers, n_materials
        self.item = <renewal_item *>&items[0, 0]
        self.pool = <renewal_pool *>&numbers[0]
        self.balance, self.slots, self.ratio = balance, first_capacity, ratio

    cdef double share(self) noexcept nogil:
        return self.ratio / <double>self.n_materials

    cdef double soon(self) noexcept nogil:
        """The clock at the poll to come."""
        return self.pool.now + renewal_activity(self.pool) / self.ratio

    cdef void admit(self) noexcept nogil:
        self.item[self.n_materials].last = self.pool.now
        self.item[self.n_materials].slot = self.pool.slot
        self.n_materials += 1

    cdef void observe(self, Py_ssize_t i, double elapsed, int v, bitgen_t *bits) noexcept nogil:
        self.pool.now = self.soon()
        self.pool.slot += 1.0 / self.ratio
        renewal_learn(&self.item[i], self.pool, self.share(), elapsed * self.slots, v)
        if self.ordered:
            ladder_put(&self.ladder, <int32_t>i, self.pool.now)

    cdef double amount(self, Py_ssize_t i) noexcept nogil:
        """At the poll to come: one per time since the item's last."""
        return self.slots / (self.soon() - self.item[i].last)

    cdef Py_ssize_t take(self) noexcept nogil:
        return ladder_take(&self.ladder, self.soon(), renewal_pooled(self.pool, self.share()))

    def own_order(self):
        """A scheduler of the items' own order."""
        return LadderOrder()

    def fill_ladder(self):
        """Queue all items, the longest waiting first."""
        cdef Py_ssize_t n = self.n_materials, k, start
        cdef const Py_ssize_t[::1] order = np.argsort(np.asarray(self.items)[:n, 6], kind="stable")
        self.ordered = False
        self.next = np.empty(n, dtype=np.int32)
        ladder_init(&self.ladder, self.item, &self.next[0], n, self.balance, self.share(),
                    renewal_pooled(self.pool, self.share()))
        for start in range(0, n, CHUNK):
            with nogil:
                for k in range(start, min(start + CHUNK, n)):
                    ladder_put(&self.ladder, <int32_t>order[k], self.pool.now)
            PyErr_CheckSignals()
        self.ordered = True

    def rates(self):
        """Rates by which the items are scheduled, (n_materials,), in changes a slot."""
        cdef Py_ssize_t i, n = self.n_materials
        cdef double pooled = renewal_pooled(self.pool, self.share())
        result = np.empty(n)
        cdef double[::1] out = result
        with nogil:
            for i in range(n):
                out[i] = renewal_rate(&self.item[i], pooled, self.share())
        return result

    cdef double worth(self) noexcept nogil:
        return renewal_worth(self.balance, self.share(), renewal_pooled(self.pool, self.share()))

    def weights(self):
        """What a unit of gain of each item is worth, (n_materials,)."""
        cdef double worth = self.worth()
        cdef Py_ssize_t i
        result = self.rates()
        cdef double[::1] out = result
        for i in range(self.n_materials):
            out[i] = renewal_weight(self.balance, worth, out[i])
        return result

    def indices(self, const double[::1] ages):
        """Indices (n_materials,) of polling now, at ages (n_materials,) in slots; () for the ages known here."""
        cdef Py_ssize_t i
        cdef double pooled = renewal_pooled(self.pool, self.share()), worth = self.worth(), now = self.soon()
        result = np.empty(self.n_materials)
        cdef double[::1] out = result
        with nogil:
            for i in range(self.n_materials):
                out[i] = self.index(i, ages[i] if ages.shape[0] else now - self.item[i].last, pooled, worth)
        return result

    def indices_of(self, const Py_ssize_t[::1] which):
        """Indices (m,) of polling now of the items `which` (m,), at the ages known here."""
        cdef Py_ssize_t k
        cdef double pooled = renewal_pooled(self.pool, self.share()), worth = self.worth(), now = self.soon()
        result = np.empty(which.shape[0])
        cdef double[::1] out = result
        for k in range(which.shape[0]):
            if not 0 <= which[k] < self.n_materials:
                raise IndexError(f"which must hold items in [0, {self.n_materials - 1}], got {which[k]}")
            out[k] = self.index(which[k], now - self.item[which[k]].last, pooled, worth)
        return result

    def bounds(self, double ahead, double more):
        """What no index (n_materials,) exceeds until the clock has moved on by `ahead`, or a unit of fresh time is
        worth `more` times as much, if its item is not polled meanwhile. -1 for items never polled: theirs follow the
        pooled rate."""
        cdef Py_ssize_t i
        cdef double worth = self.worth() * more, then = self.soon() + ahead
        result = np.empty(self.n_materials)
        cdef double[::1] out = result
        with nogil:
            for i in range(self.n_materials):
                out[i] = -1.0
                if self.item[i].rate > 0.0:
                    out[i] = self.index(i, then - self.item[i].last, 0.0, worth)
        return result

    cdef double index(self, Py_ssize_t i, double age, double pooled, double worth) noexcept nogil:
        cdef double rate = renewal_rate(&self.item[i], pooled, self.share()), u = rate * age
        return renewal_weight(self.balance, worth, rate) * renewal_gain(u, decay_exp(u))

    def outlook(self):
        """The clock at the poll to come, how far a poll moves it, and what a unit of fresh time is worth, now and at
        most."""
        cdef double most = renewal_worth(self.balance, self.share(), INFINITY)
        return self.soon(), self.soon() - self.pool.now, self.worth(), most


cdef class LadderOrder(Scheduler):
    """Serves by the indices of the RenewalIndex that it is given."""

    def start(self, RenewalIndex learner, generator):
        learner.fill_ladder()

    cdef Py_ssize_t next(self, Learner learner, bitgen_t *bits) noexcept nogil:
        return (<RenewalIndex>learner).take()
