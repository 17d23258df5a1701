"""What a sample of the groups takes at some prices, which tells how the total of all goes on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """T, which falls, at some prices, of a sample of the groups."""

    logs: Array  # of the prices
    totals: Array
    ties: list[float] = field(default_factory=list)  # prices to be tried, taken out for use

    def total(self, price: float) -> float:
        """T of the sample at a price on the curve; elsewhere NaN."""
        t = math.log(price) if price > 0.0 else math.nan
        return float(np.interp(t, self.logs, self.totals, math.nan, math.nan))

    def price(self, total: float) -> float:
        """The price at which T of the sample is so much; NaN if none is on the curve."""
        return math.exp(float(np.interp(-total, -self.totals, self.logs, math.nan, math.nan)))

    def step(self, price: float, total: float, target: float) -> float:
        """Where T meets a target if it falls from what it is at a price as the sample does; NaN off the curve."""
        return self.price(self.total(price) + target - total)
