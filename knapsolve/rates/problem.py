"""The knapsack that change rates make: weights, bounds and groups by material, and its amounts to the last bit."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from knapsolve._validation import check_vector, shown
from knapsolve.nefk import solve_nefk
from knapsolve.nefk.criteria import Detection, Freshness, Harmonic, PoissonFreshness
from knapsolve.nefk.shares import absorb, share_out

CRITERIA = {
    "detection": Detection,
    "freshness": Freshness,
    "poisson": PoissonFreshness,
    "harmonic": Harmonic,
    "renewal": Detection,  # weighted, see `worth_of_changes`
}
BALANCE = 0.8  # as RenewalIndexPolicy's
ENOUGH = 4.0  # polls for each change, where "renewal" begins to lean to current copies
FARTHEST = 1e100  # of an even share to a rate
HEAVIEST = 1e140  # weight that a knapsack takes


def worth_of_changes(criterion: str, balance: float, capacity: float, n: int) -> tuple[float, float]:
    """(changes, current): a change found at rate L is worth changes + current / L, times the item's weight.

    One more poll a unit of time that finds G changes more makes G / L more of the time current (Cho and
    Garcia-Molina, 2003). "renewal" wants both: with B = capacity / n polls an item, a copy that is current for the time
    of four polls is worth balance / (1 - balance) changes found. All others count as they are.
    """
    if criterion != "renewal":
        return 1.0, 0.0
    return 1.0 - balance, balance * (capacity / n / ENOUGH)


def solve_at_rates(
    criterion: str, rates: np.ndarray, capacity: float, *, weights: Any = 1.0, balance: float = BALANCE, **options: Any
) -> Any:
    """The knapsack of a criterion at these rates (n,), an NEFKResult; `options` as of `solve_nefk`."""
    changes, current = worth_of_changes(criterion, balance, capacity, rates.size)
    if current > 0:
        weights = np.minimum(weights * (changes + np.minimum(current / rates, FARTHEST)), HEAVIEST)
    return solve_nefk(CRITERIA[criterion](rates), capacity, weights=weights, **options)


@dataclass(frozen=True)
class RateProblem:
    """What is fixed while rates change; columns are numbers or arrays (n,)."""

    criterion: str
    weights: Any
    lower: Any
    upper: Any
    groups: Any
    caps: Any
    balance: float = BALANCE

    @property
    def proportional(self) -> bool:
        """Whether amounts are in proportion to the rates: changes found at equal weights without bounds."""
        plain = isinstance(self.weights, float) and self.groups is None
        free = bool(np.all(self.lower == 0.0) and np.all(self.upper == np.inf))
        changes = self.criterion == "detection" or (self.criterion == "renewal" and self.balance == 0.0)
        return changes and plain and free

    def worth(self, capacity: float, n: int) -> tuple[float, float]:
        """What a change found is worth to the compiled loop."""
        return worth_of_changes(self.criterion, self.balance, capacity, n)

    def explored(self, exploration: float, capacity: float, n: int) -> RateProblem:
        """The same with bounds that tame a loop: at least `exploration` of an even share, at most everything.

        Upper bounds and caps come first.
        """
        if self.proportional:
            return self
        upper = np.minimum(np.full(n, capacity), self.upper)
        floors = np.minimum(exploration * capacity / n, upper)
        if self.groups is not None:
            upper = np.minimum(upper, np.append(self.caps, np.inf)[self.groups])
            needs = np.zeros(len(self.caps) + 1)
            np.add.at(needs, self.groups, np.maximum(floors, self.lower))
            share = np.append(np.minimum(1.0, 0.5 * self.caps / np.maximum(needs[:-1], 1e-300)), 1.0)
            floors *= share[self.groups]
        lower = np.maximum(floors, self.lower)
        return replace(self, lower=lower, upper=np.maximum(upper, lower))

    def solve(self, rates: np.ndarray, capacity: float) -> Any:
        """The exact solution (an NEFKResult)."""
        return solve_at_rates(
            self.criterion,
            rates,
            capacity,
            weights=self.weights,
            balance=self.balance,
            lower=self.lower,
            upper=self.upper,
            groups=self.groups,
            group_caps=self.caps,
        )

    def amounts(self, rates: np.ndarray, capacity: float) -> np.ndarray:
        """Amounts (n,) with ``math.fsum(amounts) == capacity``."""
        if self.proportional:
            return share_out(rates, capacity)
        result = self.solve(rates, capacity)
        free = result.side == 0
        if self.groups is not None:
            capped = np.append(result.group_prices > 0, False)  # -1, no group, comes last
            free &= ~capped[self.groups]
        return absorb(result.amounts, capacity, free)


def by_label(name: str, value: Any, materials: np.ndarray | None = None) -> Any:
    """A pandas Series as a mapping from its labels, unless these are positions; anything else as it is."""
    index = getattr(value, "index", None)
    if index is None or callable(index) or getattr(value, "ndim", 0) != 1:  # lists have a method of that name
        return value
    labels = np.asarray(index)
    if labels.dtype.kind in "iu" and np.array_equal(labels, np.arange(labels.size)):
        return value
    found = dict(zip(labels.tolist(), value))
    if len(found) < labels.size:
        raise ValueError(f"{name} must have each label of its index once")
    if materials is not None and found.keys().isdisjoint(materials.tolist()):
        allowed = "must go by the materials, or by position (.to_numpy())"
        raise ValueError(f"{name} {allowed}, got a Series of labels like {shown(labels.tolist()[0])}")
    return found


def per_material(name: str, value: Any, materials: np.ndarray, default: float, **allowed: Any) -> Any:
    """`value` as a float, or as an array (n,) in the order of `materials`; mappings go by identifier."""
    if value is None:
        return default
    value = by_label(name, value, materials)
    if isinstance(value, Mapping):
        value = [value.get(m, default) for m in materials.tolist()]
    if np.ndim(value) == 0:
        return float(check_vector(name, np.atleast_1d(value), **allowed)[0])
    return check_vector(name, value, size=materials.size, **allowed)


def _is_none(label: Any) -> bool:
    """Whether a label says that there is no group: None, -1 or NaN."""
    return label is None or type(label).__name__ in ("NAType", "NaTType") or label == -1 or label != label


def group_columns(groups: Any, caps: Any, materials: np.ndarray) -> tuple[Any, Any]:
    """Group of each material (n,), -1 for none, and caps (n_groups,); labels are numbered in order of the caps."""
    if groups is None and caps is None:
        return None, None
    if groups is None or caps is None:
        raise ValueError("groups and group_caps must be given together")
    groups, caps = by_label("groups", groups, materials), by_label("group_caps", caps)
    numbers = np.asarray(None if isinstance(groups, Mapping) else groups)
    are_numbers = numbers.dtype.kind in "iu" and numbers.shape == (materials.size,)
    by_number = are_numbers and not isinstance(caps, Mapping) and np.ndim(caps) == 1
    if by_number and int(numbers.min()) >= -1 and int(numbers.max()) < len(caps):
        return numbers, check_vector("group_caps", caps, low=0.0, finite=False)
    if isinstance(groups, Mapping):
        labels = [groups.get(m) for m in materials.tolist()]
    else:
        labels = np.asarray(groups, dtype=object).tolist()
    if len(labels) != materials.size:
        raise ValueError(f"groups must have {materials.size} entries, got {len(labels)}")
    if not isinstance(caps, Mapping) and np.ndim(caps) == 0:
        caps = {label: caps for label in labels if not _is_none(label)}
    names = list(caps) if isinstance(caps, Mapping) else list(range(len(np.atleast_1d(caps))))
    values = [caps[name] for name in names] if isinstance(caps, Mapping) else np.atleast_1d(caps)
    number = {name: k for k, name in enumerate(names)}
    strange = [each for each in labels if each not in number and not _is_none(each)]
    if strange and not isinstance(caps, Mapping):
        allowed = f"below the number of group_caps, {len(names)}, or -1 (names ask for a mapping of caps by name)"
        raise ValueError(f"groups must be {allowed}, got {shown(strange[0])}")
    if strange:
        others = f" and {len(set(strange)) - 1} others" if len(set(strange)) > 1 else ""
        message = f"groups names {shown(strange[0])}{others}, for which group_caps has no cap: taken as no group"
        warnings.warn(message, UserWarning, stacklevel=4)
    found = np.array([number.get(label, -1) for label in labels], dtype=np.intp)
    return found, check_vector("group_caps", values, low=0.0, finite=False)
