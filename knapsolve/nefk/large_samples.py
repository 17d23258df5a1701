"""Large groups of each of which a sample is known: what they take, as far as chance does not tell them apart."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from knapsolve.nefk.group_totals import GroupTotals

Array = NDArray[np.float64]
LARGEST = 1e100  # mean amount of which squares are taken, and the inverse of the smallest


class LargeSamples:
    """Large groups (k,) of a sample: `which` are their rows in the tables of its totals, `sizes` how many items they
    have, to the scale of their samples.
    """

    def __init__(self, totals: GroupTotals, which: NDArray[np.intp], sizes: Array) -> None:
        self.totals, self.which, self.sizes = totals, which, sizes
        self.sampled = totals.sizes[which].astype(np.float64)  # items of each
        self._at_least_one = np.maximum(self.sampled, 1.0)
        self._n, self._groups = float(self.sampled.sum()), int(np.count_nonzero(self.sampled))  # that have items
        self._squares = float(np.square(self.sampled).sum())
        self._within = math.nan  # variance of what items of one group take, over their squared mean

    @np.errstate(all="ignore")
    def shrink(self, price: float, total: Array, slope: Array) -> Array | float:
        """Bring what these groups take at a price, and slopes, in tables (g + 1,) of all, as far to the mean of all
        large ones as chance explains; the share (k,) in which what their samples say stays.
        """
        if self.which.size < 2:
            return 1.0
        sampled, taken, n = self.sampled, total[self.which], self._n
        mean = float(taken.sum()) / max(n, 1.0)
        if not (1.0 / LARGEST < mean < LARGEST and n > self._groups > 1):
            return 1.0
        means = taken / self._at_least_one
        if math.isnan(self._within):
            self._within = self._spread_within(self.totals.amounts(price)) / mean**2
        within, away = self._within * mean**2, means - mean
        more = float((sampled * away * away).sum()) - within * (self._groups - 1)
        between = max(more, 0.0) / (n - self._squares / n)  # DerSimonian and Laird's estimate
        if within > 0.0:
            trust = sampled * between
            trust /= trust + within
        else:
            trust = np.sign(sampled)
        total[self.which] = self.sizes * (mean + trust * away)
        steep, mean = slope[self.which], float(slope[self.which].sum()) / n
        slope[self.which] = self.sizes * (mean + trust * (steep / self._at_least_one - mean))
        return trust

    def variance(self, total: Array, trust: Array | float, amounts: Array) -> float:
        """The variance of what the groups take, in a table (g + 1,), where caps leave room, by the amounts of all
        sampled items: as far as that is trusted by each alone, else together, as their mean is off.
        """
        if not self._n > self._groups:
            return 0.0
        loose = self.sizes * (total[self.which] <= self.totals.caps[self.which - 1])
        alone, together = np.square(loose) * trust / self._at_least_one, loose * (1.0 - trust)
        return self._spread_within(amounts) * float(alone.sum() + together.sum() ** 2 / self._n)

    def _spread_within(self, amounts: Array) -> float:
        """The variance of what the sampled items of one large group take."""
        columns, groups = (amounts, np.square(amounts)), self.totals.problem.groups + 1
        sums, squares = (np.bincount(groups, x, self.totals.sizes.size)[self.which] for x in columns)
        within = squares - np.square(sums) / self._at_least_one
        return float(within.sum() / (self._n - self._groups))
