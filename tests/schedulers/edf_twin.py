"""A readable twin of EDFScheduler: a heap of Python integers, with updates and a clock that is chosen anew."""

import heapq
import math

import numpy as np

FINE = 2**32  # parts of a tick
LONGEST = 2**62 * FINE


class ScheduleTwin:
    """Deadlines in parts of a tick, from the last rescaling on."""

    def __init__(self, amounts, seed):
        self.amounts, self.generator = [float(x) for x in amounts], np.random.default_rng(seed)
        self.epoch, self.last, self.tolerance = 0.0, 0, 1
        self.scale, self.heap, self.strained = self.scale_for(sum_in_order(self.amounts)), [], None
        for i, x in enumerate(self.amounts):
            if x > 0:
                heapq.heappush(self.heap, (self.parts(self.generator.random() / x), i))

    @staticmethod
    def scale_for(rate):
        return 2.0 ** (20 + math.frexp(rate)[1])

    def parts(self, delay):
        ticks = delay * self.scale
        return int(ticks * FINE) if ticks < 2.0**62 else LONGEST

    def strain(self, i, delay):
        """Note a delay that the ticks are too coarse or too fine for."""
        if 2**8 <= delay * self.scale < 2.0**62:
            return
        self.tolerance -= 1
        if self.tolerance <= 0:
            self.strained = i, delay

    def settle(self):
        if self.strained is None:
            return
        rate, (item, delay), self.strained = sum_in_order(self.amounts), self.strained, None
        by = math.frexp(self.scale_for(rate))[1] - math.frexp(self.scale)[1] if rate > 0 else 0
        self.tolerance = 1 if abs(by) >= 8 else len(self.amounts)
        if by == 0:
            return
        self.epoch += self.last / FINE / self.scale
        self.scale *= 2.0**by
        moved = []
        for deadline, i in self.heap:
            ahead = deadline - self.last
            moved.append((min(ahead << by, LONGEST) if by > 0 else ahead >> -by, i))
        self.heap = [(self.parts(delay) if i == item else d, i) for d, i in moved]
        heapq.heapify(self.heap)
        self.last = 0

    def next(self):
        """(material, time), or None."""
        self.settle()
        while self.heap:
            deadline, i = heapq.heappop(self.heap)
            if self.amounts[i] > 0:
                break
        else:
            return None
        self.last = deadline
        period = 1 / self.amounts[i]
        self.strain(i, period)
        heapq.heappush(self.heap, (deadline + self.parts(period), i))
        return i, self.epoch + deadline / FINE / self.scale

    def update(self, i, amount):
        self.settle()
        self.amounts[i] = amount
        if amount > 0 and i not in {j for _, j in self.heap}:
            delay = (1 - self.generator.random()) / amount
            self.strain(i, delay)
            heapq.heappush(self.heap, (self.last + self.parts(delay), i))


def sum_in_order(amounts):
    total = 0.0
    for x in amounts:
        total += x
    return total
