"""The answer of the deterministic knapsack."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knapsolve._core.threads import work_through
from knapsolve.nefk.passes import parts_of
from knapsolve.nefk.search import UNDERFLOW


@dataclass(frozen=True)
class NEFKResult:
    """Amounts that maximise the total value, and how well they do.

    Parameters
    ----------
    amounts : ndarray of shape (n,)
        Capacity given to each item.
    price : float
        Value of one more unit of capacity (the multiplier of the budget); 0 when some is left over, or more would be,
        infinite when there is no capacity and a derivative is infinite at 0.
    value : float
        Total weighted value of the amounts.
    kkt_residual : float
        Largest relative violation of w f'(x) = price (+ the group's price), one-sided at bounds.
    budget_residual : float
        ``|sum of amounts - capacity| / capacity``, or how far, relatively, a group is above its cap or off one that
        binds, if that is more.
    n_passes : int
        Passes over all items.
    side : ndarray of shape (n,), int8
        -1 at the lower bound, 1 at the upper bound, 0 between them; with groups of several items, after amounts are
        rounded to `out`.
    group_prices : ndarray of shape (n_groups,) or None
        Value of one more unit of each group's cap; 0 where the cap is not reached.

    Attributes
    ----------
    residual : float
        The larger of the two residuals.
    at_lower, at_upper : ndarray of shape (n,), bool
        Which items sit at their lower and at their upper bound; of bounds that are equal, at the lower.

    References
    ----------
    K. M. Bretthauer and B. Shetty, "The nonlinear knapsack problem - algorithms and applications",
    European J. Oper. Res. 138 (2002).

    Examples
    --------
    >>> from knapsolve import criteria, solve_nefk
    >>> result = solve_nefk(criteria.Logarithmic([1.0, 2.0, 4.0]), capacity=3.0)
    >>> result.amounts.round(12).tolist(), result.at_lower.tolist()
    ([2.0, 1.0, 0.0], [False, False, True])
    """

    amounts: NDArray[np.float64]
    price: float
    value: float
    kkt_residual: float
    budget_residual: float
    n_passes: int
    side: NDArray[np.int8]
    group_prices: NDArray[np.float64] | None = None

    @property
    def residual(self) -> float:
        """The larger of the two residuals."""
        return max(self.kkt_residual, self.budget_residual)

    @property
    def at_lower(self) -> NDArray[np.bool_]:
        """Which items sit at their lower bound, (n,)."""
        return self.side < 0

    @property
    def at_upper(self) -> NDArray[np.bool_]:
        """Which items sit at their upper bound, (n,)."""
        return self.side > 0


def underflows(result: NEFKResult) -> bool:
    """Whether the price, or one of a group above it, has lost digits."""
    of_groups = result.group_prices
    least = math.inf if of_groups is None else of_groups.min(initial=math.inf, where=of_groups > 0.0)
    return 0.0 < result.price < UNDERFLOW or (result.price == 0.0 and least < UNDERFLOW)


class Place:
    """Where amounts and their sides (n,) are written: made when first asked for, so that searches have the room.

    `given` are bytes an item of room that is the caller's.
    """

    def __init__(self, n: int, out: NDArray[Any] | None, given: int = 0, n_jobs: int = 1) -> None:
        self._n, self._out, self.given, self._n_jobs = n, out, given, n_jobs
        self.dtype: np.dtype[Any] = np.dtype(np.float64) if out is None else out.dtype
        self._amounts: NDArray[Any] | None = None
        self._side: NDArray[np.int8] | None = None

    def amounts(self) -> NDArray[Any]:
        """The amounts alone."""
        if self._amounts is None:
            self._amounts = np.empty(self._n) if self._out is None else self._out
        return self._amounts

    def __call__(self) -> tuple[NDArray[Any], NDArray[np.int8]]:
        if self._side is None:
            self._side = np.empty(self._n, dtype=np.int8)
        return self.amounts(), self._side

    def mark_sides(self, lower: Any, upper: Any) -> None:
        """Write the sides of amounts that are known, between bounds that are numbers or arrays (n,)."""
        self()
        work_through(lambda part: self.mark_part(part, lower, upper), list(parts_of(self._n)), self._n_jobs)

    def mark_part(self, part: slice, lower: Any, upper: Any) -> None:
        """The same of some of the items."""
        x, here = (column[part] for column in self())
        low, high = (bound[part] if isinstance(bound, np.ndarray) else bound for bound in (lower, upper))
        if self.dtype != np.float64:
            with np.errstate(over="ignore"):  # an upper bound may be none in single precision
                low, high = (np.asarray(bound, self.dtype) for bound in (low, high))
        at_low = (x <= low).view(np.int8)
        if isinstance(upper, np.ndarray) or high < np.inf:
            np.greater(x >= high, at_low, out=here.view(bool))
            here -= at_low
        else:
            np.negative(at_low, out=here)

    def clear(self) -> None:
        """Give the room back."""
        self._amounts = self._side = None
