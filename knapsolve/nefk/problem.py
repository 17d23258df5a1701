"""A deterministic knapsack as the user gives it, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve._core.threads import work_through
from knapsolve._validation import check_column, check_flag, check_real, shown
from knapsolve.exceptions import InfeasibleError
from knapsolve.nefk.check_groups import check_caps, check_groups
from knapsolve.nefk.criterion import LARGEST, Criterion, is_column, pick
from knapsolve.nefk.passes import parts_of

MANY_TAKEN = 8192  # items of which threads take one column each
FEWEST_STRIDES, SMALL_FACTORS = 10, 2 * 3 * 5 * 7  # strides from there on have none of these factors
SLACK = 5e-13  # relative difference of sums that counts as none


@dataclass(frozen=True)
class Problem:
    """Criterion, capacity and columns; a column is one number or an array (n,)."""

    criterion: Criterion
    n: int
    capacity: float
    weights: Any
    lower: Any
    upper: Any
    groups: Any  # integers of shape (n,), or None
    caps: NDArray[np.float64]
    equality: bool
    order: Any = None  # NDArray[np.uint32] of shape (n,): item k is entry order[k] of the columns

    def passes(self, n_jobs: int = 1) -> Any:
        """Who answers prices for all items."""
        return self.criterion._passes(self, n_jobs)

    def take(self, which: Any, capacity: float, n_jobs: int = 1) -> Problem:
        """The problem of some items, by slice or positions, without groups."""
        n = self._count(which)
        if self.order is not None:
            which = pick(self.order, which)
        takes: list[Any] = [self.criterion._take, *(partial(pick, x) for x in (self.weights, self.lower, self.upper))]
        jobs = n_jobs if n > MANY_TAKEN else 1
        criterion, weights, lower, upper = work_through(lambda take: take(which), takes, jobs)
        return replace(
            self,
            order=None,
            criterion=criterion,
            n=n,
            capacity=capacity,
            weights=weights,
            lower=lower,
            upper=upper,
            groups=None,
            caps=np.empty(0),
        )

    def _count(self, which: Any) -> int:
        """How many items a slice or positions are."""
        return len(range(*which.indices(self.n))) if isinstance(which, slice) else len(which)

    def view(self, order: NDArray[np.uint32], capacity: float) -> Problem:
        """The problem of some items, by their positions, without copies and without groups."""
        return replace(self, n=len(order), capacity=capacity, order=order, groups=None, caps=np.empty(0), equality=True)

    def starts(self, part: Any = slice(None)) -> NDArray[np.float64]:
        """Prices at which items start to take something, of detection and freshness, of all or a part: (n,), or (1,) if
        all are alike; of others none.
        """
        if self.order is not None:
            return self.take(part, self.capacity).starts()
        shape, columns = self.criterion._shape, (self.weights, self.criterion._parameter)
        some: list[Any] = [x[part] if isinstance(x, np.ndarray) else x for x in columns]
        weights, rates = (np.atleast_1d(np.asarray(x, dtype=np.float64)) for x in some)
        if shape == core.FRESHNESS:
            with np.errstate(all="ignore"):
                return weights / rates
        return weights if shape == core.DETECTION else np.empty(0)

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns that differ from item to item, bounds last."""
        columns = {"parameter": self.criterion._parameter, "weights": self.weights}
        columns |= {"upper": self.upper, "lower": self.lower}
        return {name: column for name, column in columns.items() if is_column(column)}

    def with_columns(self, columns: dict[str, Any]) -> Problem:
        """The problem with some columns in another order of the items, without groups."""
        others = dict(columns)
        criterion = self.criterion._with(others.pop("parameter")) if "parameter" in others else self.criterion
        return replace(self, criterion=criterion, **others, groups=None, caps=np.empty(0))

    def sample(self, size: int) -> Problem:
        """The problem of items spread evenly, with their share of the capacity; about `size` in all."""
        which = sampled(self.n, size)
        if which.step == 1 and self.order is None:
            return self if self.groups is None else replace(self, groups=None, caps=np.empty(0))
        return self.take(which, self.capacity * (self._count(which) / self.n))


def joined(first: Problem, more: Problem) -> Problem:
    """The items of one problem and those of another one, of the same columns and without groups."""
    others = more.columns()
    columns = {name: np.concatenate([column, others[name]]) for name, column in first.columns().items()}
    return replace(first.with_columns(columns), n=first.n + more.n)


def sampled(n: int, size: int) -> slice:
    """About so many of n items, spread evenly."""
    return slice(None, None, odd_stride(-(-n // size)))


def odd_stride(every: int) -> int:
    """No more than one in so many, without small factors: columns of a short period are sampled evenly, too."""
    return next((k for k in range(every, FEWEST_STRIDES, -1) if math.gcd(k, SMALL_FACTORS) == 1), every)


def check_problem(
    criterion: Any,
    capacity: Any,
    weights: Any,
    lower: Any,
    upper: Any,
    groups: Any,
    group_caps: Any,
    equality: Any,
    n_jobs: int = 1,
) -> Problem:
    """Check every argument of solve_nefk, alone and against the others."""
    if not isinstance(criterion, Criterion):
        allowed = "one of knapsolve.criteria, such as criteria.Freshness(rates)"
        raise TypeError(f"criterion must be {allowed}, got {shown(criterion)}")
    check_flag("equality", equality)
    budget = check_real("capacity", capacity, low=0.0, finite=False)
    if not (budget == 0.0 or 1 / LARGEST <= budget <= LARGEST or (budget == math.inf and not equality)):
        allowed = f"0, within [{1 / LARGEST:g}, {LARGEST:g}], or infinite with equality=False"
        raise ValueError(f"capacity must be {allowed}, got {shown(capacity)}")
    weight = 1.0 if weights is None else check_column("weights", weights, low=0.0, high=LARGEST, n_jobs=n_jobs)
    low = 0.0 if lower is None else check_column("lower", lower, low=0.0, high=LARGEST, n_jobs=n_jobs)
    bounds: dict[str, Any] = {"low": 0.0, "high": LARGEST, "or_infinite": True, "n_jobs": n_jobs}
    high = math.inf if upper is None else check_column("upper", upper, **bounds)
    group, last = (None, -1) if groups is None else check_groups(groups, n_jobs)
    n = common_size({**criterion._columns(), "weights": weight, "lower": low, "upper": high, "groups": group})
    low, high = _as_number(low), _as_number(high)
    if (groups is None) != (group_caps is None):
        given, other = ("groups", "group_caps") if group_caps is None else ("group_caps", "groups")
        raise ValueError(f"{other} must be given with {given}, got None")
    caps = np.empty(0) if group_caps is None else check_caps(group_caps, group, last, n, n_jobs)
    return Problem(criterion, n, budget, weight, low, high, group, caps, bool(equality))


def _as_number(bounds: Any) -> Any:
    """One number in place of bounds (n,) that are all alike: items then need not be read for them."""
    if not isinstance(bounds, np.ndarray) or bounds[0] != bounds[-1]:
        return bounds
    is_even = all((bounds[part] == bounds[0]).all() for part in parts_of(bounds.size))
    return float(bounds[0]) if is_even else bounds


def common_size(columns: dict[str, Any]) -> int:
    """The number of items that all columns agree on; 1 if all are plain numbers."""
    sizes = {name: column.shape[0] for name, column in columns.items() if isinstance(column, np.ndarray)}
    if not sizes:
        return 1
    first, n = next(iter(sizes.items()))
    for name, size in sizes.items():
        if size != n:
            raise ValueError(f"{name} must have {n} entries like {first}, got {size}")
    if n == 0:
        raise ValueError(f"{first} must have at least one entry, got none")
    return n


@dataclass(frozen=True)
class Bounds:
    """Sums of what must and of what can be given, caps included, and of what groups must get (g + 1,)."""

    lower: float
    upper: float
    lower_by_group: Any

    def whole(self) -> tuple[float, float]:
        """The two sums over all items: a table by group takes room."""
        return self.lower, self.upper


def most_taken(upper: NDArray[np.float64], caps: NDArray[np.float64]) -> float:
    """The most that groups can take under their caps (g,), of sums of upper bounds (g + 1,), which are used up."""
    return float(upper[0] + np.minimum(upper[1:], caps, out=upper[1:]).sum())


def check_feasible(problem: Problem, passes: Any, by_group: tuple[Any, float] | None = None) -> Bounds:
    """The sums of the bounds; InfeasibleError if no amounts lie between them.

    `by_group` are the sums of lower bounds by group (g + 1,), with that of items without one first, and the most that
    all can take under their caps.
    """
    lower, upper, crossed = passes.bounds()
    if crossed < problem.n:
        low, high = (float(np.broadcast_to(x, problem.n)[crossed]) for x in (problem.lower, problem.upper))
        raise InfeasibleError(f"lower exceeds upper at position {crossed}: {shown(low)} > {shown(high)}")
    least = None
    if by_group is not None:
        least, upper = by_group
        for part in parts_of(len(problem.caps) if lower > 0.0 else 0):
            over = least[1:][part] > problem.caps[part] * (1 + SLACK)
            if over.any():
                g = part.start + int(np.argmax(over))
                raise InfeasibleError(
                    f"the lower bounds of group {g} sum to {shown(least[1 + g])}, "
                    f"more than its cap {shown(problem.caps[g])}"
                )
    if lower > problem.capacity * (1 + SLACK):
        sums = f"sum to {shown(lower)}, more than the capacity {shown(problem.capacity)}"
        raise InfeasibleError(f"the lower bounds {sums}")
    if problem.equality and upper < problem.capacity * (1 - SLACK):
        has_bounds = is_column(problem.upper) or problem.upper < math.inf or not problem.caps.size
        what = ["upper bounds"] * has_bounds + ["group caps (of groups that have items)"] * (problem.caps.size > 0)
        gap = f"allow {shown(upper)}, less than the capacity {shown(problem.capacity)}"
        raise InfeasibleError(f"the {' and '.join(what)} {gap}; equality=False leaves the rest over")
    if problem.capacity == math.inf and upper == math.inf:
        without = " of items without a finite group cap" if problem.caps.size else ""
        reason = f"capacity is infinite and so is the sum of the upper bounds{without}"
        raise InfeasibleError(f"the problem is unbounded: {reason}")
    return Bounds(lower, upper, least)
