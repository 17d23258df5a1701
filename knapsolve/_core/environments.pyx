"""Environments: what a poll shows.

Every comparison is of a standard exponential variate E with the expected number of changes h since the last
poll: P(E < h) = 1 - exp(-h), so that no poll needs exp or log.

Bernoulli. h = rate / amount: v = 1 with probability d(x) = 1 - q^(1/x) at the amount x now allocated.
Pages. h = the rate integrated over the time since the last poll: v = 1 if the page has changed since.
  With switch_every = r, one material drawn in proportion to the update probabilities swaps ranks with its
  successor after every r polls (the last rank has none: nothing changes then).
Trace. v = 1 if a recorded change lies in (last poll, now]. Beside it the account of each item's copy, exact to
  rounding: with N(t) the changes since the last poll and c the first of them, the integrals over time of
  [N = 0] (fresh), of H(N) = 1 + 1/2 + ... + 1/N (harmonic penalty; Kolobov et al. 2019) and of t - c (age).
  The k-th change since the last poll adds 1/k from its time to the next poll: O(1) a change.
O(1) a poll; O(log n) a switch.
References: Granmo et al. (2006), section III; Kolobov et al. (NeurIPS 2019), section 3.
"""

import numpy as np

from knapsolve._core.random_bits cimport random_standard_exponential


cdef class RateEnvironment(Environment):
    def __init__(self, double[::1] rate, int64_t switch_every, double[::1] cumulative, int32_t[::1] at_rank):
        """`rate` is changed by switching: pass a copy. switch_every = 0 never switches."""
        self.n_materials = rate.shape[0]
        self.rate = rate
        self.switch_every = self.until_switch = switch_every
        self.cumulative = cumulative
        self.at_rank = at_rank

    def rates(self):
        """The rates as they are now, (n_materials,)."""
        return np.array(self.rate)

    cdef void settle(self, Py_ssize_t i, double time) noexcept nogil:
        """Account for the time up to now at the old rate of material i."""
        pass

    cdef void switch_ranks(self, double time, bitgen_t *bits) noexcept nogil:
        cdef Py_ssize_t low = 0, high = self.n_materials - 1, middle
        cdef double u = bits.next_double(bits.state) * self.cumulative[high]
        cdef int32_t i, j
        while low < high:
            middle = (low + high) // 2
            if self.cumulative[middle] > u:
                high = middle
            else:
                low = middle + 1
        if low + 1 >= self.n_materials:
            return
        i = self.at_rank[low]
        j = self.at_rank[low + 1]
        self.settle(i, time)
        self.settle(j, time)
        self.at_rank[low] = j
        self.at_rank[low + 1] = i
        self.rate[i], self.rate[j] = self.rate[j], self.rate[i]


cdef inline void count_poll(RateEnvironment world, double time, bitgen_t *bits) noexcept nogil:
    if world.switch_every:
        if world.until_switch == 0:
            world.switch_ranks(time, bits)
            world.until_switch = world.switch_every
        world.until_switch -= 1


cdef class Bernoulli(RateEnvironment):
    def __init__(self, double[::1] rate, int64_t switch_every, double[::1] cumulative, int32_t[::1] at_rank):
        RateEnvironment.__init__(self, rate, switch_every, cumulative, at_rank)
        self.needs_amount = True

    cdef int poll(
        self, Py_ssize_t i, double time, double amount, double *elapsed, bitgen_t *bits
    ) noexcept nogil:
        count_poll(self, time, bits)
        elapsed[0] = 1.0 / amount
        return random_standard_exponential(bits) * amount < self.rate[i]


cdef class Pages(RateEnvironment):
    def __init__(self, double[::1] rate, int64_t switch_every, double[::1] cumulative, int32_t[::1] at_rank):
        RateEnvironment.__init__(self, rate, switch_every, cumulative, at_rank)
        self.last = np.zeros(self.n_materials)
        if switch_every:
            self.since = np.zeros(self.n_materials)
            self.pending = np.zeros(self.n_materials)

    cdef void settle(self, Py_ssize_t i, double time) noexcept nogil:
        if time > self.since[i]:       # an infinite rate times no time is nothing
            self.pending[i] += self.rate[i] * (time - self.since[i])
            self.since[i] = time

    cdef int poll(
        self, Py_ssize_t i, double time, double amount, double *elapsed, bitgen_t *bits
    ) noexcept nogil:
        cdef double expected
        count_poll(self, time, bits)
        elapsed[0] = time - self.last[i]
        if self.switch_every:
            self.settle(i, time)
            expected = self.pending[i]
            self.pending[i] = 0.0
        else:
            expected = self.rate[i] * elapsed[0]
        self.last[i] = time
        return random_standard_exponential(bits) < expected


cdef class Trace(Environment):
    def __init__(self, const int64_t[::1] first, const double[::1] times, double start, double count_from):
        """Copies of all items are current at `start`; changes up to then do not count. The account, but for
        what the polls up to `count_from` have left, begins there: only time after it and polls after it."""
        cdef Py_ssize_t i
        cdef int64_t k
        self.n_materials = first.shape[0] - 1
        self.first = first
        self.times = times
        self.count_from = count_from
        self.at = np.empty(self.n_materials, dtype=np.int64)
        self.last = np.full(self.n_materials, start)
        self.fresh = np.zeros(self.n_materials)
        self.penalty = np.zeros(self.n_materials)
        self.age = np.zeros(self.n_materials)
        self.polls = np.zeros(self.n_materials, dtype=np.int64)
        self.detected = np.zeros(self.n_materials, dtype=np.int64)
        self.carried = np.zeros(self.n_materials, dtype=np.int64)
        with nogil:
            for i in range(self.n_materials):
                k = first[i]
                while k < first[i + 1] and times[k] <= start:
                    k += 1
                self.at[i] = k

    cdef inline int look(self, Py_ssize_t i, double time) noexcept nogil:
        """Bring item i's account up to `time`; 1 if it changed since the last look."""
        cdef int64_t k = self.at[i], end = self.first[i + 1], seen = 0
        cdef double since = max(self.last[i], self.count_from), until = time, begin
        cdef int changed = k < end and self.times[k] <= time
        if changed:
            until = self.times[k]
            begin = max(until, since)
            if time > begin:
                self.age[i] += 0.5 * (time - begin) * ((time - until) + (begin - until))
            while k < end and self.times[k] <= time:
                seen += 1
                begin = max(self.times[k], since)
                if time > begin:
                    self.penalty[i] += (time - begin) / <double>seen
                k += 1
            self.at[i] = k
        if until > since:
            self.fresh[i] += until - since
        self.last[i] = time
        return changed

    cdef int poll(
        self, Py_ssize_t i, double time, double amount, double *elapsed, bitgen_t *bits
    ) noexcept nogil:
        cdef int changed, early
        cdef int64_t k = self.at[i]
        elapsed[0] = time - self.last[i]
        early = k < self.first[i + 1] and self.times[k] <= self.count_from
        changed = self.look(i, time)
        if time > self.count_from:
            self.polls[i] += 1
            self.detected[i] += changed
            self.carried[i] += changed and early
        return changed

    def poll_all(self, const int64_t[::1] items, const double[::1] times):
        """Make polls of which time and item are known, in time order."""
        cdef Py_ssize_t k
        cdef double elapsed
        with nogil:
            for k in range(items.shape[0]):
                self.poll(items[k], times[k], 0.0, &elapsed, NULL)

    def close(self, double stop):
        """Account for the time up to `stop`; the trace cannot be polled after it.

        Polls, detections, those of them that were due before the account began, fresh time, integrals over time of
        the harmonic penalty and of the age, by name, each (n_materials,).
        """
        cdef Py_ssize_t i
        with nogil:
            for i in range(self.n_materials):
                self.look(i, stop)
        return {
            "polls": np.array(self.polls), "detections": np.array(self.detected),
            "carried": np.array(self.carried),
            "fresh": np.array(self.fresh), "penalty": np.array(self.penalty), "age": np.array(self.age),
        }
