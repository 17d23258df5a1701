"""solve_nefk: the deterministic nonlinear fractional knapsack, solved on its price."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

import knapsolve._core.group_tables as group_tables
import knapsolve._core.nefk as core
from knapsolve._validation import check_jobs
from knapsolve.nefk.alike_groups import solve_alike
from knapsolve.nefk.array_groups import ArrayGroupSearch
from knapsolve.nefk.array_passes import ArrayPasses
from knapsolve.nefk.criteria import LogExponential
from knapsolve.nefk.criterion import Criterion
from knapsolve.nefk.first_prices import price_beside_caps, sampled_guess
from knapsolve.nefk.group_passes import GroupPasses
from knapsolve.nefk.groups import solve_groups
from knapsolve.nefk.held_groups import solve_groups_beside_held
from knapsolve.nefk.layouts import copy_few
from knapsolve.nefk.linear_groups import are_linear, solve_linear
from knapsolve.nefk.lone_groups import as_bounds, price_caps
from knapsolve.nefk.passes import Prices, Settled
from knapsolve.nefk.problem import SLACK, Problem, check_feasible, check_problem
from knapsolve.nefk.reduced import solve_reduced
from knapsolve.nefk.result import NEFKResult, Place, underflows
from knapsolve.nefk.search import LINEAR, SUBNORMAL
from knapsolve.nefk.single import beyond_edge, edge_price, find_and_settle, new_search
from knapsolve.nefk.tight_caps import fill_exactly

DOUBTFUL, DOUBTFUL_SINGLE = 1e-9, 1e-4  # residuals worth a warning, of amounts stored in double and single precision
ROUNDED_SINGLE = 1e-6  # more than sums of the latter are off, relatively
LARGEST_SINGLE = float(np.finfo(np.float32).max)
FAILED = 1e-3  # a residual that no rounding explains
ROOM, MOST_ROOM = 2, 1 << 22  # doubles an item, of the most that a solve in groups takes, and in one block (32 MiB)


def solve_nefk(
    criterion: Criterion,
    capacity: float,
    *,
    weights: ArrayLike | None = None,
    lower: ArrayLike | None = 0.0,
    upper: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    group_caps: ArrayLike | None = None,
    equality: bool = True,
    n_jobs: int | None = None,
    out: NDArray[Any] | None = None,
) -> NEFKResult:
    """Maximise sum w_i f_i(x_i) subject to sum x_i = capacity, lower <= x <= upper and the caps of groups.

    The solution is found on the price mu of capacity: w_i f_i'(x_i) = mu wherever x_i is inside its bounds. Items
    of equal slope (ties) share in proportion to the room between their bounds.

    Parameters
    ----------
    criterion : one of knapsolve.criteria
        What an amount is worth; its parameter is one number or one per item.
    capacity : float
        What there is to share out; non-negative. Infinite is allowed with ``equality=False``.
    weights : array-like of shape (n,), default=None
        Weight of each item's value; non-negative. None weighs all items by 1. Columns go by position: labels of a
        pandas Series are not looked at.
    lower, upper : float or array-like of shape (n,), default=0 and None
        Bounds of each amount; None means 0, and no upper bound, which infinity means, too.
    groups : array-like of int of shape (n,), default=None
        Group of each item, a number from 0 on, -1 for none.
    group_caps : float or array-like of shape (n_groups,), default=None
        Most that each group may take in total, non-negative or infinite; one number is every group's.
    equality : bool, default=True
        Whether all capacity must be given out; otherwise at most that much is.
    n_jobs : int, default=None
        Threads, as in joblib. The answer is the same to the last bit whatever their number.
    out : ndarray of shape (n,), float64 or float32, default=None
        Where to put the amounts, side by side in memory, also over one of the columns (which takes another array
        meanwhile). float32 halves the memory; value and residuals are those before rounding. With groups, a solve that
        is given this room in float64 may be faster; its amounts may then differ, as far as residuals allow. After an
        interrupt, what is there is no answer.

    Returns
    -------
    NEFKResult
        Amounts (n,), price, value, residuals, which bounds are reached, group prices.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described.
    InfeasibleError
        No amounts meet the constraints, or the value is unbounded; the message names the numbers that clash.

    Warns
    -----
    UserWarning
        Caps look as if they went by item instead of by group.
    ConvergenceWarning
        The residual is above 1e-9, as at amounts so small that their slopes differ by less than rounding; or the price
        is below 2.2e-308, where doubles have few digits (not of exponential items, whose prices are found in
        logarithms: where these underflow, prices are 0 though nothing is left over).

    References
    ----------
    Cho and Garcia-Molina, "Effective page refresh policies for Web crawlers", ACM TODS 28 (2003).
    Bretthauer and Shetty, "The nonlinear knapsack problem - algorithms and applications",
    European J. Oper. Res. 138 (2002).

    Examples
    --------
    >>> from knapsolve import criteria, solve_nefk
    >>> result = solve_nefk(criteria.Freshness([1.0, 2.0, 5.0, 10.0]), capacity=20.0)
    >>> result.amounts.round(3)
    array([3.089, 4.152, 5.836, 6.922])
    """
    check_jobs(n_jobs)
    jobs = n_jobs if n_jobs and n_jobs > 0 else effective_n_jobs(n_jobs)  # threads may be had where processes may not
    problem = check_problem(criterion, capacity, weights, lower, upper, groups, group_caps, equality, jobs)
    given = _check_out(out, problem.n)
    if given is not None and given.dtype == np.float32 and LARGEST_SINGLE < problem.capacity < math.inf:
        raise ValueError(f"capacity must be at most 3.4e+38, the largest float32, as out is one, got {capacity}")
    if problem.groups is not None:
        _keep_room(problem.n)
    if given is None or _is_read(given, problem):
        place = Place(problem.n, None if given is None else np.empty_like(given), n_jobs=jobs)
    else:
        place = Place(problem.n, given, given.itemsize, jobs)
    result = _solve(problem, jobs, place)
    if problem.criterion._shape == core.EXPONENTIAL and underflows(result):
        caps_hold_all = result.price == 0.0  # or bounds do
        del result  # room
        result = _solve_in_logarithms(problem, caps_hold_all, jobs, place)
    if not result.residual <= (DOUBTFUL if result.amounts.dtype == np.float64 else DOUBTFUL_SINGLE):
        why = "neighbouring prices make that difference" if result.residual <= FAILED else "no price was found"
        message = f"amounts are off by {result.residual:.2g}, relatively: {why}"
        warnings.warn(message, ConvergenceWarning, stacklevel=2)
    elif 0.0 < result.price < SUBNORMAL and problem.criterion._shape not in (*LINEAR, core.EXPONENTIAL):
        message = f"amounts may be off: a price of {result.price:.2g} has few digits"
        warnings.warn(message, ConvergenceWarning, stacklevel=2)
    if given is not None and result.amounts is not given:
        given[:] = result.amounts
        result = replace(result, amounts=given)
    return result


def _is_read(out: NDArray[Any] | None, problem: Problem) -> bool:
    """Whether a column of a problem is in the room of its answer, which is written to before all is read."""
    columns = (problem.weights, problem.lower, problem.upper, problem.groups, problem.caps)
    arrays = [x for x in (*problem.criterion._columns().values(), *columns) if isinstance(x, np.ndarray)]
    return out is not None and any(np.may_share_memory(out, x) for x in arrays)


def _check_out(out: Any, n: int) -> NDArray[Any] | None:
    """`out`, if it is None or fits."""
    if out is None:
        return None
    if not isinstance(out, np.ndarray) or out.dtype not in (np.float64, np.float32):
        got = f"an array of {out.dtype}" if isinstance(out, np.ndarray) else f"a {type(out).__name__}"
        raise TypeError(f"out must be a numpy array of float64 or float32, got {got}")
    if out.shape != (n,):
        raise ValueError(f"out must be of shape ({n},), got {out.shape}")
    if not out.flags.c_contiguous or not out.flags.writeable:
        got = "one that is read-only" if out.flags.c_contiguous else "a strided one (a column of a table, or a step)"
        got = "one whose entries are all in one place" if out.strides == (0,) and n > 1 else got
        raise ValueError(f"out must be a writeable array whose entries lie side by side, got {got}")
    return out


def _solve(problem: Problem, n_jobs: int, place: Place, guess: float = math.nan) -> NEFKResult:
    """The answer, from a guess of its price if there is one."""
    passes = problem.passes(n_jobs)
    if problem.groups is None:
        prices, settled = _solve_single(problem, passes, place, n_jobs, guess)
        return _result(problem, prices, settled, passes.count, place, None)
    if isinstance(passes, ArrayPasses):
        return _solve_array_groups(problem, passes, place)
    lone = _solve_lone(problem, n_jobs, place)
    if lone:
        return lone
    if are_linear(problem):
        prices, settled, count, own = solve_linear(problem, passes, n_jobs, place, _solve_single)
        return _result(problem, prices, settled, passes.count + count, place, own, n_jobs)
    filled = fill_exactly(problem, n_jobs, place, _solve)
    if filled:
        return filled
    reduced = solve_groups_beside_held(problem, passes, n_jobs, place, _solve)
    reduced = reduced or solve_alike(problem, passes, n_jobs, place, _solve)
    reduced = reduced or solve_reduced(problem, passes, n_jobs, place, _solve)
    if reduced:
        prices, settled, count, own = reduced
        return _result(problem, prices, settled, passes.count + count, place, own, n_jobs)
    grouped = GroupPasses(problem, n_jobs, copy_few(problem, place, n_jobs))
    return _solve_groups(problem, passes, grouped, place, guess)


def _solve_in_logarithms(problem: Problem, caps_hold_all: bool, n_jobs: int, place: Place) -> NEFKResult:
    """The answer of exponential items whose prices underflow, once it was found where they are not 0.

    Worthless items have no logarithm: of what caps and bounds leave them, if capacity is to be used up, they keep what
    they were given before.
    """
    logs = replace(problem, criterion=LogExponential(problem.criterion._parameter), equality=not caps_hold_all)
    if not (caps_hold_all and problem.equality):
        return _solve(logs, n_jobs, place)
    worthless = np.flatnonzero(np.broadcast_to(problem.weights, problem.n) == 0.0)
    taken = place.amounts()[worthless]
    result = _solve(logs, n_jobs, place)
    amounts = result.amounts
    amounts[worthless] = taken
    place.mark_sides(problem.lower, problem.upper)
    gap = abs(float(amounts.sum(dtype=np.float64)) - problem.capacity) / problem.capacity
    gap = gap if amounts.dtype == np.float64 or gap > ROUNDED_SINGLE else 0.0
    return replace(result, budget_residual=max(result.budget_residual, gap))


def _keep_room(n: int) -> None:
    """Have the C library keep what the solve will free for the next one, as the process's other freed memory.

    glibc keeps up to twice the largest block that it was given back, of up to 32 MiB: without one that is as large as
    half of what a solve takes, each would have its pages taken away and zeroed anew. No page of this one is touched.
    """
    if ROOM * n <= MOST_ROOM:
        np.empty(ROOM * n)


def _solve_single(
    problem: Problem, passes: Any, place: Place, n_jobs: int, guess: float = math.nan, has_sides: bool = True
) -> tuple[Prices, Settled]:
    """Prices, and how the amounts settled; sides may be marked later, by other bounds."""

    def rooms() -> tuple[Any, Any]:  # made late, as searches need some
        return place() if has_sides else (place.amounts(), None)

    bounds = check_feasible(problem, passes)
    if bounds.lower >= problem.capacity * (1 - SLACK):
        price = edge_price(problem, passes, at_lower=True)
        return Prices(price, price), passes.settle(beyond_edge(price, True), *rooms())
    if problem.equality and bounds.upper <= problem.capacity * (1 + SLACK):
        price = edge_price(problem, passes, at_lower=False)
        all_take = beyond_edge(price, False) if price != 0.0 else Prices(-1e-300, 0.0, 1.0)  # below 0 all take all
        return Prices(price, price), passes.settle(all_take, *rooms())
    search = new_search(problem, passes, guess, bounds.upper)
    return find_and_settle(problem, passes, search, *rooms(), n_jobs)


def _solve_lone(problem: Problem, n_jobs: int, place: Place) -> NEFKResult | None:
    """The answer where no group has two items, else None."""
    bounded = as_bounds(problem)
    if bounded is None:
        return None
    passes = bounded.passes(n_jobs)
    prices, settled = _solve_single(bounded, passes, place, n_jobs)
    count = passes.count
    del bounded, passes  # room for the prices
    return _result(problem, prices, settled, count, place, price_caps(problem, place()[1]))


def _solve_groups(problem: Problem, passes: Any, grouped: GroupPasses, place: Place, guess: float) -> NEFKResult:
    least, most = check_feasible(problem, passes, grouped.bounds_by_group()).whole()
    if least >= problem.capacity * (1 - SLACK):
        price = edge_price(problem, passes, at_lower=True)
        prices, own = Prices(price, price), np.full(len(problem.caps) + 1, np.nan)
        settled, _ = grouped.settle(beyond_edge(price, True), own, 0.0, place)
        own = own[1:]
    else:
        if math.isnan(guess):
            caps = group_tables.sum_marked(problem.caps, None)
            guess = price_beside_caps(problem, caps, lambda: np.flatnonzero(problem.groups < 0), grouped.n_jobs)
        search = new_search(problem, passes, guess, most)
        sampled_guess(grouped, search)
        prices, own, settled = solve_groups(grouped, search, place, [])
    grouped.layout.deliver(place)
    return _result(problem, prices, settled, passes.count + grouped.count, place, own)


def _solve_array_groups(problem: Problem, passes: ArrayPasses, place: Place) -> NEFKResult:
    bounds = check_feasible(problem, passes, passes.bounds_by_group())
    if bounds.lower >= problem.capacity * (1 - SLACK):
        price, own = edge_price(problem, passes, at_lower=True), np.full(len(problem.caps), -np.inf)
        prices, settled = Prices(price, price), passes.settle(beyond_edge(price, True), *place())
    else:
        prices, own = ArrayGroupSearch(problem, passes, new_search(problem, passes)).run()
        tight = problem.caps <= bounds.lower_by_group[1:] * (1 + SLACK)
        own = _reprice_tight_groups(problem, passes, own, tight)
        for column in (prices.low, prices.high):  # nothing but an infinite price holds an infinite slope at 0
            column[1:][own == np.inf] = np.inf
        settled = passes.settle(prices, *place())
    return _result(problem, prices, settled, passes.count, place, own)


def _reprice_tight_groups(problem: Problem, passes: Any, own: Any, tight: Any) -> NDArray[np.float64]:
    """Own prices of groups whose cap is the sum of their lower bounds: the largest slope there."""
    if tight.any():
        edge = np.ascontiguousarray(np.broadcast_to(np.asarray(problem.lower, dtype=np.float64), problem.n))
        slope = np.where(np.less(problem.lower, problem.upper), passes.worth(edge)[1], -np.inf)
        most = np.full(len(own) + 1, -np.inf)
        np.maximum.at(most, problem.groups + 1, slope)
        own = np.where(tight, most[1:], own)
    return own


def _result(
    problem: Problem, prices: Prices, settled: Settled, count: int, place: Place, own: Any, n_jobs: int = 1
) -> NEFKResult:
    """The answer; `own` (g,) are the own prices of groups, not above the common one (or NaN) where a cap is loose."""
    price = float(np.ravel(prices.high)[0])
    if problem.criterion._shape == core.LOG_EXPONENTIAL:  # its prices are logarithms
        price, own = math.exp(price) if problem.equality else 0.0, None if own is None else np.exp(own, out=own)
    gap = settled.total - problem.capacity
    if not problem.equality and price <= 0.0:
        gap = max(gap, 0.0)
    budget = abs(gap) / problem.capacity if problem.capacity > 0 else abs(settled.total)
    amounts, side = place()
    group_prices = None
    if own is not None:
        group_tables.excess(own, price, n_jobs)
        group_prices = own
    return NEFKResult(
        amounts, price, settled.value, settled.residual, max(budget, settled.over), count, side, group_prices
    )
