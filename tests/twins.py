"""Readable twins of the compiled kernels: plain Python, one poll at a time, the same random numbers.

Nothing here is clever: sums are scanned, trees are walked node by node, deadlines are Python integers.
`simulate_twin` draws from the same streams as `knapsolve.simulate`, so both must agree bit for bit.
"""

import heapq
from itertools import pairwise

import numpy as np

SCHEMES = {"reward-penalty": (1, 1), "reward-inaction": (1, 0), "inaction-penalty": (0, 1)}


def raw(generator):
    """64 random bits."""
    return int(generator.bit_generator.random_raw())


class LAKGTwin:
    """One automaton a material; amounts (s / N) ** exponent; full when their sum reaches the capacity."""

    def __init__(self, n, resolution, exponent, capacity=1.0):
        self.n, self.resolution, self.capacity = n, resolution, capacity
        self.table = (np.arange(resolution + 1) / resolution) ** exponent
        bits = 55 - min(24, max(0, int(np.frexp(capacity)[1])))
        self.units = [int(u) for u in np.rint(self.table * 2.0**bits)]
        start = max(s for s in range(1, resolution + 1) if s == 1 or n * self.table[s] <= capacity)
        self.states = [start] * n

    def amount(self, i):
        return float(self.table[self.states[i]])

    def total(self):
        return sum(self.units[s] for s in self.states)

    def draw(self, generator):
        at = raw(generator) * self.total() >> 64
        for i, s in enumerate(self.states):
            if at < self.units[s]:
                return i
            at -= self.units[s]

    def observe(self, i, v, generator):
        full = self.total() >= max(1, int(self.capacity * self.units[-1] - self.n))
        if v and not full and self.states[i] < self.resolution:
            self.states[i] += 1
        elif not v and full and self.states[i] > 1:
            self.states[i] -= 1


class Digits:
    """Digits of a path, root first, from words of 64 random bits: one a level, or if `paired` six digits a word.

    A walk takes side and gate at each level, of which the first word's are fewer where the depth is no multiple of
    three; a visit takes gates alone.
    """

    def __init__(self, generator, paired, depth, walk):
        self.paired, self.walk = paired, walk
        self.left = self.all = 1 if not paired else 3 if walk else 6
        if paired and walk:
            self.left = (depth - 1) % 3 + 1
        self.words = [raw(generator) for _ in range(-(-depth // self.all))]

    def next_level(self, base):
        """Side (0 in a visit) and gate."""
        if self.left == 0:
            self.left = self.all
            self.words.pop(0)
        self.left -= 1
        bits = 32 if self.paired else 64
        word, side = self.words[0] >> 64 - bits, 0
        if self.walk:
            side, word = word * base >> bits, word * base % 2**bits
        self.words[0] = self.words[0] * (base * base if self.walk else base) % 2**64
        return side, word * base >> bits


class HTRAATwin:
    """A tree of TRAAs; node k has children 2k and 2k + 1, and gives the left one its share."""

    def __init__(self, n, resolutions, exponent, update, capacity=1.0):
        self.n, self.capacity, self.exponent = n, capacity, exponent
        self.reward, self.penalty = SCHEMES[update]
        self.resolutions = resolutions
        self.leaf_of, self.states = [], {}
        self.plant(1, 0, n)
        self.material_at = {leaf: i for i, leaf in enumerate(self.leaf_of)}
        self.depth = (n - 1).bit_length()
        self.paired = max(resolutions) + 1 <= 512
        self.gates = None

    def plant(self, node, depth, n):
        if n == 1:
            self.leaf_of.append(node)
            return
        self.states[node] = (self.resolutions[depth] + 1) // 2
        self.plant(2 * node, depth + 1, (n + 1) // 2)
        self.plant(2 * node + 1, depth + 1, n // 2)

    def left_share(self, node):
        resolution, s = self.resolutions[node.bit_length() - 1], self.states[node]
        if self.exponent == 1:
            return s / (resolution + 1)
        return float(1 / (1 + np.exp(self.exponent * (np.log(resolution + 1.0 - s) - np.log(float(s))))))

    def path(self, i):
        """[(inner node, goes right)], root first."""
        leaf = self.leaf_of[i]
        depth = leaf.bit_length() - 1
        return [(leaf >> (depth - k), bool(leaf >> (depth - k - 1) & 1)) for k in range(depth)]

    def amount(self, i, root_first=True):
        steps = self.path(i) if root_first else self.path(i)[::-1]
        x = self.capacity
        for node, right in steps:
            x *= 1 - self.left_share(node) if right else self.left_share(node)
        return x

    def base(self, node):
        return self.resolutions[node.bit_length() - 1] + 1

    def opens(self, node, right, gate):
        """With the other side's share: s <= gate (a digit, or in [0, 1)) on the left, else s > gate."""
        beyond = (self.states[node] if self.exponent == 1 else self.left_share(node)) > gate
        return beyond == right

    def draw(self, generator):
        digits = Digits(generator, self.paired, self.depth, True) if self.exponent == 1 else None
        node, self.gates = 1, []
        while node in self.states:
            if digits:
                side, gate = digits.next_level(self.base(node))
                right = side >= self.states[node]
            else:
                right, gate = generator.random() >= self.left_share(node), generator.random()
            self.gates.append(self.opens(node, right, gate))
            node = 2 * node + right
        return self.material_at[node]

    def observe(self, i, v, generator):
        if self.gates is None:  # not drawn by the walk: gates are drawn now
            path, self.gates = self.path(i), []
            digits = Digits(generator, self.paired, len(path), False) if self.exponent == 1 else None
            for node, right in path:
                gate = digits.next_level(self.base(node))[1] if digits else generator.random()
                self.gates.append(self.opens(node, right, gate))
        towards = self.reward if v else -self.penalty
        for (node, right), opens in zip(self.path(i), self.gates):
            if opens:
                moved = self.states[node] + (-towards if right else towards)
                self.states[node] = min(max(moved, 1), self.resolutions[node.bit_length() - 1])
        self.gates = None


class FixedTwin:
    """Amounts that stay; draws in units of a power of two such that their sum has 61 bits."""

    def __init__(self, amounts):
        self.x, self.n = [float(x) for x in amounts], len(amounts)
        unit = 2.0 ** (int(np.frexp(np.sum(amounts))[1]) - 61)
        self.units = [round(x / unit) for x in self.x]

    def amount(self, i):
        return self.x[i]

    def draw(self, generator):
        at = raw(generator) * sum(self.units) >> 64
        for i, unit in enumerate(self.units):
            if at < unit:
                return i
            at -= unit

    def observe(self, i, v, generator):
        pass


class EDFTwin:
    """A heap of (deadline, item); deadlines are multiples of 2**-52 of a power of two near the mean gap."""

    def __init__(self, learner, generator):
        total = 0.0
        for i in range(learner.n):
            total += learner.amount(i)
        self.scale = 2.0 ** int(np.frexp(total)[1])
        self.learner, self.heap = learner, []
        for i in range(learner.n):
            if learner.amount(i) > 0:
                heapq.heappush(self.heap, (self.ticks(generator.random() / learner.amount(i)), i))

    def ticks(self, delay):
        return int(delay * self.scale * 2.0**52)

    def next(self, generator):
        self.deadline, i = heapq.heappop(self.heap)
        return i

    def polled(self, i):
        heapq.heappush(self.heap, (self.deadline + self.ticks(1 / self.learner.amount(i)), i))


class RandomTwin:
    """Random access: the learner draws."""

    def __init__(self, learner, generator):
        self.learner = learner

    def next(self, generator):
        return self.learner.draw(generator)

    def polled(self, i):
        pass


class RatesTwin:
    """Bernoulli polls, or pages that change; every so many polls a rank swaps with its successor."""

    def __init__(self, unchanged, pages, switch_every=None):
        with np.errstate(divide="ignore"):
            self.rate = [float(r) for r in -np.log(np.asarray(unchanged))]
        self.at_rank = [int(i) for i in np.argsort(unchanged, kind="stable")]
        self.cumulative = np.cumsum([1 - unchanged[i] for i in self.at_rank])
        self.pages, self.switch_every, self.polls = pages, switch_every, 0
        self.last = [0.0] * len(self.rate)
        self.since, self.pending = [0.0] * len(self.rate), [0.0] * len(self.rate)

    def settle(self, i, time):
        if time > self.since[i]:
            self.pending[i] += self.rate[i] * (time - self.since[i])
            self.since[i] = time

    def switch(self, time, generator):
        u = generator.random() * self.cumulative[-1]
        k = next((k for k, c in enumerate(self.cumulative) if c > u), len(self.cumulative) - 1)
        if k + 1 < len(self.at_rank):
            i, j = self.at_rank[k : k + 2]
            self.settle(i, time)
            self.settle(j, time)
            self.at_rank[k], self.at_rank[k + 1] = j, i
            self.rate[i], self.rate[j] = self.rate[j], self.rate[i]

    def poll(self, i, time, amount, generator):
        if self.switch_every and self.polls and self.polls % self.switch_every == 0:
            self.switch(time, generator)
        self.polls += 1
        if not self.pages:
            return generator.standard_exponential() * amount < self.rate[i]
        if self.switch_every:
            self.settle(i, time)
            expected, self.pending[i] = self.pending[i], 0.0
        else:
            expected = self.rate[i] * (time - self.last[i])
        self.last[i] = time
        return generator.standard_exponential() < expected

    def value(self, amounts):
        return sum(x * -np.expm1(-r / x) for x, r in zip(amounts, self.rate) if x > 0)


class TraceTwin:
    """Recorded changes; a poll finds one that came after the last poll (or the start)."""

    def __init__(self, items, times, start, stop):
        self.start, self.stop = start, stop
        names = list(dict.fromkeys(items))
        self.changes = [[t for i, t in zip(items, times) if i == name and t > start] for name in names]
        self.polls_at = [[] for _ in names]

    def poll(self, i, time, amount, generator):
        last = self.polls_at[i][-1] if self.polls_at[i] else self.start
        self.polls_at[i].append(time)
        return any(last < t <= time for t in self.changes[i])

    def fresh(self, i):
        """Share of the time in which no change is unseen."""
        total = 0.0
        edges = [self.start, *self.polls_at[i], self.stop]
        for a, b in pairwise(edges):
            missed = [t for t in self.changes[i] if a < t <= b]
            total += (min(missed) if missed else b) - a
        return total / (self.stop - self.start)


def simulate_twin(learner, world, n_polls, scheduler, seed, run=0, start=0.0):
    """The closed loop; returns the number of detections."""
    streams = np.random.SeedSequence(seed).spawn(run + 1)[run].spawn(2)
    learning, environment = (np.random.default_rng(stream) for stream in streams)
    order = {"edf": EDFTwin, "random": RandomTwin}[scheduler](learner, learning)
    period, found = 1 / learner.capacity, 0
    for k in range(1, n_polls + 1):
        i = order.next(learning)
        v = world.poll(i, start + k * period, learner.amount(i), environment)
        learner.observe(i, v, learning)
        order.polled(i)
        found += bool(v)
    return found
