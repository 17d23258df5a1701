"""Readable twins of the renewal index policy: plain Python, O(n) a poll."""

import math

import numpy as np


def gain(u):
    """1 - (1 + u) e^-u; by its series where that cancels."""
    if u < 0.01:
        return sum((-1) ** k * u**k * (k - 1) / math.factorial(k) for k in range(2, 9))
    return -math.expm1(-u) - u * math.exp(-u)


def first_change(rate, gap):
    """Expected time to the first change within a gap, given that there was one."""
    u = rate * gap
    if u < 1e-6:
        return gap * (0.5 - u / 12)
    return 0.0 if math.isinf(u) else 1 / rate - gap / math.expm1(min(u, 700.0))


class RenewalTwin:
    """Rates of n items by the cascade of filters, and the index of each, in slots of one poll."""

    def __init__(self, n, balance=0.8):
        self.n, self.balance, self.share = n, balance, 1 / n
        self.count, self.exposure = np.zeros((n, 3)), np.zeros((n, 3))
        self.last, self.rate, self.slot = np.zeros(n), np.zeros(n), np.zeros(n)
        self.now = self.changes = self.time = self.found = self.expected = self.slots = 0.0

    @property
    def pooled(self):
        weight = 1 + self.n / 32
        return (self.changes + 0.5 * weight) / (self.time + weight / self.share)

    def rate_of(self, i):
        return self.rate[i] or 4 * self.pooled

    @property
    def soon(self):
        """The clock at the next poll: it runs by what is found over what was expected."""
        return self.now + (self.found + 0.5) / (self.expected + 0.5)

    @property
    def worth(self):
        """What a unit of time is worth that a copy is current."""
        return self.balance * min(self.share / 4, self.pooled)

    def weight(self, rate):
        """What finding a change is worth, and what the time is that the copy is then current."""
        return 1 - self.balance + self.worth / rate

    def index(self, i, time, rate=None):
        rate = rate or self.rate_of(i)
        return self.weight(rate) * gain(rate * (time - self.last[i]))

    def choose(self):
        """The item of largest index, the longest waiting among equals."""
        time = self.soon
        return max(range(self.n), key=lambda i: (self.index(i, time), -self.last[i], -i))

    def observe(self, i, gap, changed):
        self.now = self.soon
        self.slots += 1
        passed = self.now - self.last[i]
        gap *= passed / (self.slots - self.slot[i])
        rate, pooled = self.rate_of(i), self.pooled
        self.found = 7 / 8 * self.found + changed
        self.expected = 7 / 8 * self.expected - math.expm1(-rate * passed)
        spent = first_change(rate, gap) if changed else gap
        self.time += first_change(pooled, gap) if changed else gap
        self.changes += changed
        rate = 4 * self.pooled
        keep = math.exp(-self.share * gap / 64), math.exp(-self.share * gap / 8), math.exp(-1 / 3)
        stiff = 1 + min(pooled / self.share, 1)
        for k, weight in enumerate((1.5 * stiff, 2.0 * stiff, 2.0 * stiff)):
            self.count[i, k] = keep[k] * self.count[i, k] + changed
            self.exposure[i, k] = keep[k] * self.exposure[i, k] + spent
            rate = (self.count[i, k] + weight) / (self.exposure[i, k] + weight / rate)
        self.rate[i] = rate
        self.last[i] = self.now
        self.slot[i] = self.slots


class QuickTwin(RenewalTwin):
    """The exact largest index once more, in numpy."""

    def choose(self):
        rate = np.where(self.rate > 0, self.rate, 4 * self.pooled)
        u = rate * (self.soon - self.last)
        return int(np.argmax(self.weight(rate) * (1 - (1 + u) * np.exp(-u))))


class LadderTwin(RenewalTwin):
    """The same items, served by queues of rounded rates whose heads are followed along tangents."""

    def __init__(self, n, balance=0.8):
        super().__init__(n, balance)
        self.queues = {None: list(range(n))}  # the never polled
        self.drawn, self.tangents = -math.inf, {}
        self.drawn_worth = self.worth

    def rung(self, i):
        """(octave, eighth) of the rate over the share, and the rate in the middle of it."""
        if not self.rate[i]:
            return None
        mantissa, exponent = math.frexp(self.rate[i] / self.share)
        return exponent, int(mantissa * 16)

    def middle(self, rung):
        return self.share * math.ldexp((rung[1] + 0.5) / 16, rung[0])

    def weight(self, rate):
        return 1 - self.balance + self.drawn_worth / rate

    def tangent(self, rung, time):
        """Index and slope of a rung's head at `time`."""
        head, rate = self.queues[rung][0], self.middle(rung)
        u = rate * (time - self.last[head])
        return time, self.index(head, time, rate), self.weight(rate) * rate * u * math.exp(-u)

    def choose(self):
        time = self.soon
        redraw = time - self.drawn >= self.n // 128
        if redraw:
            self.drawn_worth = self.worth
        for rung in self.queues.keys() - {None}:
            if redraw or self.middle(rung) >= 8 * self.share:
                self.tangents[rung] = self.tangent(rung, time)
        if redraw:
            self.drawn = time
        best, value = None, -1.0
        for rung in sorted(self.queues.keys() - {None}):
            since, index, slope = self.tangents[rung]
            if index + slope * (time - since) > value:
                best, value = rung, index + slope * (time - since)
        if None in self.queues and self.index(self.queues[None][0], time) > value:
            best = None
        item = self.queues[best].pop(0)
        if not self.queues[best]:
            del self.queues[best]
        elif best is not None:
            self.tangents[best] = self.tangent(best, time)
        return item

    def observe(self, i, gap, changed):
        super().observe(i, gap, changed)
        rung = self.rung(i)
        if rung in self.queues:
            self.queues[rung].append(i)
        else:
            self.queues[rung] = [i]
            self.tangents[rung] = self.tangent(rung, self.now)


class Changes:
    """Items that change at given times, polled one a slot; keeps what was asked and answered.

    Simulations begin at time 0: a later one goes on where the last poll was made.
    """

    def __init__(self, changes):
        self.changes = changes
        self.n_materials = len(changes)
        self.last = [0.0] * len(changes)
        self.log = []

    def poll(self, i, time, amount=None):
        time = float(len(self.log) + 1)
        gap = time - self.last[i]
        changed = int(np.searchsorted(self.changes[i], time, "right") > np.searchsorted(
            self.changes[i], self.last[i], "right"))  # fmt: skip
        self.last[i] = time
        self.log.append((i, gap, changed))
        return changed, gap


def bursty_changes(n, length, seed=0, mean=3.0):
    """Changes of n items, with rates that differ tenfold and more, and gaps that vary twice as much as Poisson's."""
    rng = np.random.default_rng(seed)
    period = n * mean * np.exp(rng.normal(0, 1.2, n))
    return [np.cumsum(rng.gamma(0.25, 4 * each, int(8 * length / each) + 20)) for each in period]


def run_twin(twin, world, n_polls):
    for k in range(1, n_polls + 1):
        i = twin.choose()
        changed, gap = world.poll(i, float(k))
        twin.observe(i, gap, changed)
    return twin
