"""Large groups of each of which a sample is known: what they take, as far as chance does not tell them apart."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_samples as sample_loops
from knapsolve.nefk.group_totals import GroupTotals

Array = NDArray[np.float64]


class LargeSamples:
    """Large groups (k,) of a sample: `which` are their rows in the tables of its totals, `sizes` how many items they
    have, to the scale of their samples.
    """

    def __init__(self, totals: GroupTotals, which: NDArray[np.intp], sizes: Array) -> None:
        self.totals, self.which, self.sizes = totals, which, sizes
        self.sampled = totals.sizes[which].astype(np.float64)  # items of each
        self._at_least_one = np.maximum(self.sampled, 1.0)
        self._n, self._groups = float(self.sampled.sum()), int(np.count_nonzero(self.sampled))  # that have items
        self._within = math.nan  # variance of what items of one group take, over their squared mean

    def shrink(self, price: float, taken: Array) -> Array | float:
        """Bring what these groups take at a price beside slopes, in a table (g + 1, 2) of all, as far to the mean of
        all large ones as chance explains; the share (k,) in which what their samples say stays.
        """
        if not self._n > self._groups > 1:
            return 1.0
        if math.isnan(self._within):
            mean = float(taken[self.which, 0].sum()) / self._n
            if not 0.0 < mean < math.inf:
                return 1.0
            self._within = self._spread_within(self.totals.amounts(price), mean)
        trust = np.empty(self.which.size)
        known = self.which, self.sampled, self.sizes, self._within
        return trust if sample_loops.shrink_to_mean(taken, *known, trust) else 1.0

    def variance(self, total: Array, trust: Array | float, amounts: Array) -> float:
        """The variance of what the groups take, in a table (g + 1,), where caps leave room, by the amounts of all
        sampled items: as far as that is trusted by each alone, else together, as their mean is off.
        """
        if not self._n > self._groups:
            return 0.0
        loose = self.sizes * (total[self.which] <= self.totals.caps[self.which - 1])
        alone, together = np.square(loose) * trust / self._at_least_one, loose * (1.0 - trust)
        return self._spread_within(amounts) * float(alone.sum() + together.sum() ** 2 / self._n)

    @np.errstate(all="ignore")
    def _spread_within(self, amounts: Array, unit: float = 1.0) -> float:
        """The variance of what the sampled items of one large group take, in some unit."""
        amounts = amounts / unit
        columns, groups = (amounts, np.square(amounts)), self.totals.problem.groups + 1
        sums, squares = (np.bincount(groups, x, self.totals.sizes.size)[self.which] for x in columns)
        within = squares - np.square(sums) / self._at_least_one
        return float(within.sum() / (self._n - self._groups))
