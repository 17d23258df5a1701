"""solve_nefk: the deterministic nonlinear fractional knapsack, solved on its price."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk.array_passes import ArrayPasses
from knapsolve.nefk.criteria import LogExponential
from knapsolve.nefk.criterion import Criterion
from knapsolve.nefk.groups import GroupSearch
from knapsolve.nefk.narrow import narrows, settle_many
from knapsolve.nefk.passes import Prices, Settled
from knapsolve.nefk.problem import SLACK, Problem, check_feasible, check_problem
from knapsolve.nefk.result import NEFKResult
from knapsolve.nefk.search import FAR, find_prices, guess_price, new_searches

UNDERFLOW = 1e-280  # exponential prices below are handled by their logarithm


def solve_nefk(
    criterion: Criterion,
    capacity: float,
    *,
    weights: ArrayLike | None = None,
    lower: ArrayLike = 0.0,
    upper: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    group_caps: ArrayLike | None = None,
    equality: bool = True,
    n_jobs: int | None = None,
    out: NDArray[Any] | None = None,
) -> NEFKResult:
    """Maximise sum w_i f_i(x_i) subject to sum x_i = capacity and lower <= x <= upper.

    The solution is found on the price mu of capacity: w_i f_i'(x_i) = mu wherever x_i is inside its bounds. Items
    of equal slope (ties) share in proportion to the room between their bounds.

    Parameters
    ----------
    criterion : one of knapsolve.criteria
        What an amount is worth; its parameter is one number or one per item.
    capacity : float
        What there is to share out; non-negative. Infinite is allowed with ``equality=False``.
    weights : array-like of shape (n,), default=None
        Weight of each item's value; non-negative. None weighs all items by 1.
    lower, upper : float or array-like of shape (n,), default=0 and None
        Bounds of each amount; None or infinity means no upper bound.
    groups : array-like of int of shape (n,), default=None
        Group of each item, -1 for none.
    group_caps : array-like of shape (n_groups,), default=None
        Most that each group may take in total.
    equality : bool, default=True
        Whether all capacity must be given out; otherwise at most that much is.
    n_jobs : int, default=None
        Threads, as in joblib. The answer is the same to the last bit whatever their number.
    out : ndarray of shape (n,), float64 or float32, default=None
        Where to put the amounts. float32 halves the memory; value and residuals are those before rounding.

    Returns
    -------
    NEFKResult
        Amounts (n,), price, value, residuals, which bounds are reached, group prices.

    Raises
    ------
    InfeasibleError
        No amounts meet the constraints, or the value is unbounded; the message names the numbers that clash.

    References
    ----------
    J. Cho and H. Garcia-Molina, "Effective page refresh policies for Web crawlers", ACM TODS 28 (2003).
    K. M. Bretthauer and B. Shetty, "The nonlinear knapsack problem - algorithms and applications",
    European J. Oper. Res. 138 (2002).

    Examples
    --------
    >>> from knapsolve import criteria, solve_nefk
    >>> result = solve_nefk(criteria.Freshness([1.0, 2.0, 5.0, 10.0]), capacity=20.0)
    >>> result.amounts.round(3)
    array([3.089, 4.152, 5.836, 6.922])
    """
    problem = check_problem(criterion, capacity, weights, lower, upper, groups, group_caps, equality)
    amounts, side = _check_out(out, problem.n), np.empty(problem.n, dtype=np.int8)
    jobs = effective_n_jobs(n_jobs)
    result = _solve(problem, jobs, amounts, side)
    if problem.criterion._shape == core.EXPONENTIAL and 0.0 < result.price < UNDERFLOW:
        logs = replace(problem, criterion=LogExponential(problem.criterion._parameter), equality=True)
        result = _solve(logs, jobs, amounts, side)
        own = result.group_prices
        own = None if own is None else np.exp(result.price + own) - np.exp(result.price)
        result = replace(result, price=math.exp(result.price), group_prices=own)
    return result


def _check_out(out: Any, n: int) -> NDArray[Any]:
    """`out`, or a new array (n,) of doubles."""
    if out is None:
        return np.empty(n)
    if not isinstance(out, np.ndarray) or out.dtype not in (np.float64, np.float32):
        raise TypeError(f"out must be an array of float64 or float32, got {getattr(out, 'dtype', type(out))}")
    if out.shape != (n,) or not out.flags.c_contiguous or not out.flags.writeable:
        raise ValueError(f"out must be contiguous, writeable and of shape ({n},), got shape {out.shape}")
    return out


def _solve(problem: Problem, n_jobs: int, amounts: Any, side: Any) -> NEFKResult:
    with problem.passes(n_jobs) as passes:
        bounds = check_feasible(problem, passes)
        own, settled = None, None
        if bounds.lower >= problem.capacity * (1 - SLACK):
            prices = Prices(*2 * (_edge_price(problem, passes, at_lower=True),))
        elif problem.groups is None and problem.equality and bounds.upper <= problem.capacity * (1 + SLACK):
            price = _edge_price(problem, passes, at_lower=False)
            prices = Prices(price, price) if price != 0.0 else Prices(-1e-300, 0.0, 1.0)  # below 0 all take all
        elif problem.groups is None:
            budget = _new_search(problem, passes, n_jobs)
            found = settle_many(problem, passes, budget, amounts, side, n_jobs) if narrows(problem, passes) else None
            prices, settled = found or (find_prices(passes, budget), None)
            if not problem.equality and prices.high <= 0.0:
                prices = Prices(0.0, 0.0)
        else:
            budget = _new_search(problem, passes, n_jobs)
            prices, own = GroupSearch(problem, passes, budget, n_jobs, (amounts, side)).run()
            tight = problem.caps <= bounds.lower_by_group[1:] * (1 + SLACK)
            own = _reprice_tight_groups(problem, passes, own, tight)
            for column in (prices.low, prices.high):  # nothing but an infinite price holds an infinite slope at 0
                column[1:][own == np.inf] = np.inf
        settled = settled or passes.settle(prices, amounts, side)
        return _result(problem, passes, prices, own, settled, amounts, side)


def _new_search(problem: Problem, passes: Any, n_jobs: int) -> NDArray[np.float64]:
    """The budget's search (8,), from a price guessed on a sample."""
    target = np.array([min(problem.capacity, FAR)])
    top, guess = passes.guess(problem.capacity) if isinstance(passes, ArrayPasses) else guess_price(problem, n_jobs)
    search = new_searches(passes.shape, target, top, guess)[0]
    if (
        passes.shape == core.QUADRATIC and not problem.equality and problem.groups is None
    ):  # its price could be negative
        search[core.PRICE] = 0.0
        if passes.respond(0.0)[0] <= problem.capacity:
            search[core.STATE] = core.MET
            return search
        search[core.LOW], search[core.PRICE] = 0.0, guess
    return search


def _reprice_tight_groups(problem: Problem, passes: Any, own: Any, tight: Any) -> NDArray[np.float64]:
    """Own prices of groups whose cap is the sum of their lower bounds: the largest slope there."""
    if tight.any():
        edge = np.ascontiguousarray(np.broadcast_to(np.asarray(problem.lower, dtype=np.float64), problem.n))
        slope = np.where(np.less(problem.lower, problem.upper), passes.worth(edge)[1], -np.inf)
        most = np.full(len(own) + 1, -np.inf)
        np.maximum.at(most, problem.groups + 1, slope)
        own = np.where(tight, most[1:], own)
    return own


def _edge_price(problem: Problem, passes: Any, at_lower: bool) -> float:
    """The price just beyond which all items sit at a bound; 0 if none can move."""
    bounds = problem.lower if at_lower else problem.upper
    edge = np.ascontiguousarray(np.broadcast_to(np.asarray(bounds, dtype=np.float64), problem.n))
    slope = passes.worth(edge)[1]
    free = np.broadcast_to(np.less(problem.lower, problem.upper), problem.n)
    if not free.any():
        return 0.0
    price = float(slope[free].max() if at_lower else slope[free].min())
    return price + (4e-16 if at_lower else -4e-16) * abs(price) if math.isfinite(price) else price


def _result(
    problem: Problem, passes: Any, prices: Prices, own: Any, settled: Settled, amounts: Any, side: Any
) -> NEFKResult:
    price = float(np.ravel(prices.high)[0])
    gap = settled.total - problem.capacity
    if not problem.equality and price <= 0.0:
        gap = max(gap, 0.0)
    budget = abs(gap) / problem.capacity if problem.capacity > 0 else abs(settled.total)
    group_prices = None
    if problem.groups is not None:
        group_prices = np.zeros(len(problem.caps)) if own is None else np.maximum(own - price, 0.0)
        over = np.maximum(settled.by_group[1:] - problem.caps, 0.0)
        off = np.where(group_prices > 0, np.abs(settled.by_group[1:] - problem.caps), over)
        with np.errstate(invalid="ignore", divide="ignore"):
            budget = max(budget, float(np.max(np.where(off > 0, off / problem.caps, 0.0), initial=0.0)))
    return NEFKResult(amounts, price, settled.value, settled.residual, budget, passes.count, side, group_prices)
