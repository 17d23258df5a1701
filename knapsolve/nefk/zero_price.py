"""The price 0 of quadratic items in groups: where prices change sign, or the worthless share what is left."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk.group_totals import capped_sums
from knapsolve.nefk.search import step


def settle_sign(passes: Any, search: NDArray[np.float64]) -> None:
    """Say on which side of 0 the answer of a search (8,) is that knows of no price below it: at 0, if capacity may be
    left over and is, or if items that are worth nothing, which take all that they can just below, take what is left.
    """
    if search[core.STATE] != core.RUNNING or not search[core.LOW] < 0.0:
        return
    if not passes.given.equality:
        if capped_sums(passes, *passes.respond(0.0))[0] <= search[core.TARGET]:
            search[core.PRICE], search[core.STATE] = 0.0, core.MET
        else:
            search[core.LOW] = 0.0
            search[core.PRICE] = abs(search[core.PRICE])
    elif np.min(passes.given.weights) == 0.0:
        for price in (0.0, math.nextafter(0.0, -1.0)):
            if search[core.STATE] == core.RUNNING and search[core.LOW] < price < search[core.HIGH]:
                search[core.PRICE] = price
                step(search, passes.shape, *capped_sums(passes, *passes.respond(price))[:2])
