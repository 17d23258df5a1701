"""Amounts between two neighbouring prices, where bounds or caps cut what items would take there.

An item of detection or freshness starts with a jump, as large as its rate over some forty, within the last bit of the
price. Items that start together rise together on the way, in proportion to their rates, until a bound or a cap holds
them: so the share of the way is one number for all, and what is taken rises with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import knapsolve._core.nefk as core
from knapsolve.nefk.passes import Prices, Settled

WITH_JUMPS = (core.DETECTION, core.FRESHNESS)
MET, MET_IN_GROUPS = 1e-14, 2e-13  # relative gap of the total that ends a search; own prices of groups leave as much
MOST_TRIES, DOUBTFUL = 100, 6  # and how many that leave one end where it is make that doubtful
SOONER = 0.25  # of a bracket from 0: caps hold early what jumps


def settle_between(
    settle: Callable[[Prices], Settled], prices: Prices, target: float, shape: int, may_cut: bool, met: float = MET
) -> tuple[Prices, Settled]:
    """Write amounts that take `target` at prices that share a jump, and how they settled; by another share than these
    say, if need be.

    `settle` writes amounts at given prices. `may_cut`: there are bounds or caps. `met` is the relative gap of the
    total that ends a search.
    """
    if not may_cut or shape not in WITH_JUMPS or not (0.0 < prices.low < prices.high and prices.jump > 0.0):
        return prices, settle(prices)
    return settle_share(settle, replace(prices, is_free=True), target, met)


def settle_share(
    settle: Callable[[Prices], Settled], prices: Prices, target: float, met: float = MET
) -> tuple[Prices, Settled]:
    """The same for prices whose jump has the target within it; as near as it comes if not.

    Totals rise in straight pieces: along the line between both ends of a bracket, and into it, by turns.
    """
    ends, share, tried = {0.0: -prices.share * prices.jump, 1.0: (1.0 - prices.share) * prices.jump}, prices.share, 0
    low, high = 0.0, 1.0
    while True:
        between = replace(prices, share=share)
        settled = settle(between)
        gap, tried = settled.total - target, tried + 1
        ends[share] = gap
        low, high = (low, share) if gap > 0.0 else (share, high)
        if tried == DOUBTFUL and (low == 0.0 or high == 1.0):
            share = 0.0 if low == 0.0 else 1.0
        elif tried % 2:
            less, more = ends[low], ends[high]
            share = low + (high - low) * (less / (less - more)) if less < 0.0 < more else math.nan
        else:
            share = 0.5 * (low + high) if low > 0.0 else SOONER * high
        if abs(gap) <= met * target or not low <= share <= high or share == between.share or tried == MOST_TRIES:
            return between, settled
