"""How many bytes a solve with groups takes: whether there is room for copies of the items, and how much for models."""

from __future__ import annotations

import math
from typing import Any

import knapsolve._core.nefk as core
from knapsolve.nefk.criterion import is_column
from knapsolve.nefk.problem import Problem
from knapsolve.nefk.result import Place
from knapsolve.nefk.runs import MOST_AT_ONCE, Runs

MOST_ROOM = 23.9  # bytes an item that a solve may take, but for small things; what the caller gives for the answer is
# room beyond that
BY_TOTAL, BY_SLOPE, BY_PRICE = 8, (4, 8), 8  # bytes by group of what it takes, or of a pair in single precision
BY_KEPT = 3  # of where a group starts in its tile, and whether its cap surely binds
BY_ROUGH, BY_OPEN = 32, 12  # bytes of an item of a model, and those of one beside its columns
LEAST_ROUGH = 84  # items to one that a model must have room for
LEAST_ROUGH_BOUNDED = 24  # the same where bounds differ, to which many items may come near
BY_REST = 44  # bytes of an item of a problem that is solved beside another one, beside its columns
BY_OWN = 44  # those more where own prices make bounds of its groups
BY_LEFT = 24  # bytes of an item that is listed as others are filled
ENTRY, CAP = 4, 8  # of a group's or an item's number, and of a cap, if not all are kept
SMALL = 1e-20  # capacities from there to its inverse have slopes that single precision holds, but for rare ones
ROUGH = (core.DETECTION, core.FRESHNESS)  # shapes of which single precision takes less time
SINGLE = (*ROUGH, core.POISSON, core.HARMONIC, core.LOGARITHMIC, core.EXPONENTIAL)
LISTED, BY_LISTED, BY_COPIED = 12, 2.9, 16  # bytes an item of a list with amounts, of its models, and of a copy of some
# beside its columns
LARGE_NAMES = 4  # a table that takes as much as one in so many items
FEWEST_COPIED, MOST_FEW = 1 << 14, 1 << 16  # items of which copies are worth it, and small beside the working space
LARGEST_TABLE = 1 << 18  # entries that a second-level cache holds
LARGE_UNEVEN, LARGEST_UNEVEN = 2, 1 << 20  # the same of tables of which a small part is read mostly


def columns_to_copy(problem: Problem) -> list[dict[str, Any]]:
    """Columns of which copies may be made, the best first: all, or all but bounds, which a list leads to then."""
    columns = problem.columns()
    others = {name: column for name, column in columns.items() if name not in ("lower", "upper")}
    return [columns] if len(others) == len(columns) else [columns, others]


def most_rough(
    problem: Problem, copied: dict[str, Any], names: Any, runs: Runs, place: Place, known: bool, by_table: bool
) -> int:
    """How many items models may take beside copies and all else that a solve takes, also a table of where items of
    groups go if they are moved by that, but for the threads' working space; -1 if copies have no room, or amounts are
    not of a column's type and can't be written over it.
    """
    kept = len(runs.starts)
    largest = max((run.end - run.begin for run in runs.large if run.first), default=0)
    largest *= runs.at_once()  # they are solved beside the copies
    by_group = ENTRY * kept if by_table else 0
    if names is not None:
        by_group = bytes_of_names(len(names), kept)
    slopes = known or not leads_by_itself(problem, runs)
    room = _room_of_models(problem, copied, kept, place, slopes, place.dtype.itemsize * largest + by_group)
    by_rough = _bytes_of_rough(problem)
    return int(max(room, -by_rough) / by_rough)


def most_rough_in_order(problem: Problem, runs: Runs, place: Place, known: bool) -> int:
    """How many items models may take beside amounts, and all else that a solve takes, where items stay where they are;
    0 if there is no room.
    """
    largest = max((run.end - run.begin for run in runs.large if run.first), default=0) * runs.at_once()
    slopes = known or not leads_by_itself(problem, runs)
    always = place.dtype.itemsize * (largest + problem.n)
    room = _room_beside(problem, 2 * problem.n, len(runs.starts), slopes, place.given * problem.n - always)
    return int(max(room, 0.0) / _bytes_of_rough(problem))


def may_copy(part: Problem, copies: int, n: int, kept: int) -> bool:
    """Whether so many copies of some of n items, listed in so many groups, fit beside the list and the answer."""
    copied = BY_COPIED + sum(x.dtype.itemsize for x in part.columns().values())
    return (LISTED + BY_LISTED) * n + (BY_PRICE + BY_KEPT) * kept + copies * copied * part.n <= MOST_ROOM * n


def have_table(runs: Runs, n: int) -> bool:
    """Whether a table of where the items of groups go is faster than other ways, and takes little room."""
    groups = len(runs.starts) - 1
    if runs.even or groups > min(LARGEST_UNEVEN, n // LARGE_UNEVEN):
        return False
    return groups <= min(LARGEST_TABLE, n // LARGE_NAMES) or not runs.are_guessed


def room_beside_copies(problem: Problem, largest: int, place: Place, named: int | None = None) -> float:
    """How many items models may take beside copies, tables by group, or by those that are `named`, and what the largest
    groups, of so many items, are solved in; 0 if that is too few for copies to be worth it.
    """
    groups = len(problem.caps)
    at_once = 2 if MOST_AT_ONCE * largest <= problem.n else 1
    always = at_once * place.dtype.itemsize * largest if largest > core.TILE else 0
    always += 0 if named is None else bytes_of_names(groups, named)
    kept = groups if named is None else named
    rooms = (_room_of_models(problem, copied, kept, place, False, always) for copied in columns_to_copy(problem))
    most = max(rooms) / _bytes_of_rough(problem)
    return most if is_enough(problem, most) else 0.0


def bytes_of_names(groups: int, kept: int) -> int:
    """Bytes of the numbers that some of all groups get, which become where items go, of marks of them, and of caps."""
    return (ENTRY + 1) * groups + CAP * kept


def share_beside_filled(
    problem: Problem, place: Place, others: int = 0, by_own: bool = False, named: int | None = None
) -> float:
    """Which share of the items may be a problem by itself beside filled groups: their own prices, or those of some that
    are to be `named`, and their amounts, which lie in copies, and some other bytes; if they may be listed as the groups
    are filled. With `by_own`, if own prices are to make upper bounds of their groups.
    """
    n, kept = problem.n, len(problem.caps)
    if named is not None:
        kept, others = named, others + bytes_of_names(kept, named)
    columns = sum(column.dtype.itemsize for column in problem.columns().values())
    room = (MOST_ROOM + place.given - 2 * place.dtype.itemsize) * n - BY_PRICE * kept - others
    share = max(room, 0.0) / ((columns + BY_REST + (BY_OWN if by_own else 0)) * n)
    room -= 2 * (n + kept)  # groups' numbers within their runs, and where they start
    return min(share, max(room, 0.0) / (BY_LEFT * n))


def _bytes_of_rough(problem: Problem) -> int:
    """Bytes of an item of a model."""
    return max(BY_ROUGH, BY_OPEN + sum(column.dtype.itemsize for column in problem.columns().values()))


def is_enough(problem: Problem, most: float) -> bool:
    """Whether models that may take so many items are worth copies."""
    is_bounded = is_column(problem.lower) or is_column(problem.upper)
    return most * (LEAST_ROUGH_BOUNDED if is_bounded else LEAST_ROUGH) >= problem.n


def _room_of_models(
    problem: Problem, copied: dict[str, Any], kept: int, place: Place, slopes: bool, always: int
) -> float:
    """Bytes that are left for models beside copies, tables of so many groups, also of slopes beside totals, and so many
    bytes that are always taken; negative if there is no room for copies.
    """
    width = place.dtype.itemsize
    copies = [column.dtype.itemsize for column in copied.values()]
    if width not in copies:
        return -math.inf
    by_item = 2 + sum(copies)  # one of two lies in the room of the amounts
    if len(copies) < len(problem.columns()):
        by_item += ENTRY
    return _room_beside(problem, by_item * problem.n, kept, slopes, place.given * problem.n - always, 2 * width)


def _room_beside(problem: Problem, taken: int, kept: int, slopes: bool, more: int, settling: int = 0) -> float:
    """Bytes that are left for models beside what is taken, and tables of so many groups, if the caller has given more
    than a solve may take; as it settles, so many are taken of an item. Negative if there is no room.
    """
    single = has_single_slopes(problem)
    by_group = BY_TOTAL if single and not slopes else BY_TOTAL + BY_SLOPE[not single]
    room = MOST_ROOM * problem.n + more
    if taken + (by_group + BY_KEPT) * kept > room:
        return -math.inf
    return room - max(taken, settling * problem.n) - (BY_PRICE + BY_KEPT) * kept


def are_few(problem: Problem) -> bool:
    """Whether copies take little room whatever they take, and less time than a list."""
    return FEWEST_COPIED < problem.n <= MOST_FEW and has_single_slopes(problem)


def has_no_bounds(problem: Problem) -> bool:
    """Whether items may take anything."""
    return not any(map(is_column, (problem.lower, problem.upper))) and (problem.lower, problem.upper) == (0.0, math.inf)


def leads_by_itself(problem: Problem, runs: Runs) -> bool:
    """Whether most tiles need no good guesses of own prices: see csrc/nefk_group_approach.h and nefk_group_rows.h."""
    if not has_single_slopes(problem):
        return False
    most = core.DEPTH if problem.criterion._shape in ROUGH else core.SHORT
    return 2 * runs.count_in_long(most) < runs.table[-1, 3] - runs.ungrouped()


def has_single_slopes(problem: Problem) -> bool:
    """Whether slopes of groups' totals are kept in single precision; those of other shapes have any size."""
    return problem.criterion._shape in SINGLE and SMALL < problem.capacity < 1.0 / SMALL
