"""Passes over items in groups with caps: small groups in tiles, large ones as knapsacks by themselves.

The items of a tile are gathered into a buffer that stays in the second-level cache; there the totals of its groups are
taken, and in the settling pass all steps of the searches for their own prices. So a group costs no pass of its own. How
the items of tiles are found, a layout says.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve._core.threads import work_through
from knapsolve.nefk.all_but import Aside
from knapsolve.nefk.criterion import is_column
from knapsolve.nefk.large_groups import LargeGroup
from knapsolve.nefk.layouts import Listed, Tiled, list_items
from knapsolve.nefk.passes import Prices, Settled, Slopes, fold, parts_of, worst
from knapsolve.nefk.problem import Problem, most_taken
from knapsolve.nefk.result import Place
from knapsolve.nefk.room import has_no_bounds, has_single_slopes, leads_by_itself
from knapsolve.nefk.runs import Run

Array = NDArray[np.float64]
BATCHES = 8  # of tiles that each of several threads takes in a pass
MOST_TILES = 256  # that one compiled call covers: at most a tenth of a second or so
COPIED = 3  # a large group of at most one in so many items is copied side by side before it is solved
MOST_LISTED = 4 * core.TILE  # entries that one call lists, mostly of many tiles


_THREAD = threading.local()


def _tile_space() -> core.TileSpace:
    """The working space of this thread: four megabytes, kept because making them takes as long as a small solve."""
    if not hasattr(_THREAD, "space"):
        _THREAD.space = core.TileSpace()
    return _THREAD.space


class Left(NamedTuple):
    """Items whose groups are not filled, and those of none: their entries, groups, 0 for none, and what amounts are
    written over of them, (m,) each.
    """

    entries: NDArray[np.uint32]
    groups: NDArray[np.uint32]
    over: NDArray[Any]


class GroupPasses:
    """The compiled items of a problem with groups."""

    def __init__(self, problem: Problem, n_jobs: int, layout: Listed | Tiled | None = None) -> None:
        self.layout = layout or list_items(problem)
        self.given, self.n_jobs, self.count = self.layout.given, n_jobs, 0
        self.shape, self.caps = problem.criterion._shape, problem.caps
        self.runs = self.layout.runs
        active = self.layout.active
        self.share = 1.0 if active is None else active.n / self.given.n  # of all items that are passed over
        self.least = -math.inf if active is None else active.above  # price at which the others take nothing
        items = self.problem.criterion._items_of(self.problem, self.layout.order)
        self._leads: bool | None = None
        self._slopes = np.dtype(np.float32 if has_single_slopes(problem) else np.float64)
        self.is_rough = self.layout.member is not None and has_single_slopes(problem)
        self._tiles = core.Tiles(items, self.runs.starts, self.caps, self.layout.member)
        self.at_once = 1 if isinstance(self.layout, Aside) else min(n_jobs, self.runs.at_once())
        self.large = [self._large(run) for run in self.runs.large]
        if isinstance(self.layout, Aside):
            others = LargeGroup(0, math.inf, self.layout.alone, self.layout.others, slice(None), False, n_jobs)
            self.large.insert(0, others)  # it writes amounts of all items

    def _large(self, run: Run) -> LargeGroup:
        group, where = run.first, slice(run.begin, run.end)
        cap = float(self.caps[group - 1]) if group else math.inf
        order, n_jobs = self.layout.order, -(-self.n_jobs // self.at_once)
        if order is None:
            part, here = self.problem.take(where, cap), where
        else:
            part, here = self.problem.view(order[where], cap), None
        if isinstance(self.layout, Tiled):
            copies = self.layout.writes_over
        else:
            copies = order is not None and part.n * COPIED <= self.given.n
            copies = copies and self.layout.has_room_for(part, self.runs.at_once())
        return LargeGroup(group, cap, part, part.passes(n_jobs), here, copies, n_jobs)

    def each_large(self, work: Callable[[LargeGroup], Any], some: list[LargeGroup] | None = None) -> list[Any]:
        """`work` of every large group, or of some, in order; several at a time, the largest first."""
        groups = self.large if some is None else some
        if self.at_once == 1:
            return [work(one) for one in groups]
        order = sorted(range(len(groups)), key=lambda k: -groups[k].problem.n)
        done = dict(zip(order, work_through(lambda k: work(groups[k]), order, self.at_once)))
        return [done[k] for k in range(len(groups))]

    @property
    def problem(self) -> Problem:
        """The items' columns, as they are laid out."""
        return self.layout.problem

    @property
    def leads(self) -> bool:
        """As `room.leads_by_itself` says."""
        if self._leads is None:  # cached_property would lock threads out, and forked children for good
            self._leads = leads_by_itself(self.given, self.runs)
        return self._leads

    def _run(self, work: Callable[[NDArray[np.intp], core.TileSpace], Any], every: int = 1) -> list[Any]:
        """Rows of `work(tiles, space)` of some tiles at a time, of all or of every so many-th, in order."""
        tiles = self.runs.places if every == 1 else np.ascontiguousarray(self.runs.places[::every])
        if len(tiles) == 1:
            return list(work(tiles, _tile_space()) or ())
        size = MOST_TILES if self.n_jobs == 1 else min(max(len(tiles) // (BATCHES * self.n_jobs), 1), MOST_TILES)

        def batch(some: slice) -> Any:
            return work(tiles[some], _tile_space()) or ()

        batches = work_through(batch, list(parts_of(len(tiles), size)), self.n_jobs)
        return [row for rows in batches for row in rows]

    def bounds_by_group(self) -> tuple[Array, float]:
        """Sums of lower bounds by group (g + 1,), and the most that all can take under their caps."""
        lower = np.zeros(len(self.caps) + 1)
        if has_no_bounds(self.problem) and self.runs.ungrouped():
            return lower, math.inf
        upper = np.zeros(len(self.caps) + 1)
        if is_column(self.problem.lower) or is_column(self.problem.upper):
            self._run(lambda tiles, space: self._tiles.bounds(tiles, space, lower, upper))
            for one in self.large:
                lower[one.group], upper[one.group], _ = one.passes.bounds()
        else:
            self._even_bounds(lower, upper)
        return lower, most_taken(upper, self.caps)

    def _even_bounds(self, lower: Array, upper: Array) -> None:
        """Sums of bounds that are one number for all items."""
        lower[:] = self.runs.sizes()
        np.multiply(lower, self.problem.upper, out=upper, where=lower > 0.0)
        np.multiply(lower, self.problem.lower, out=lower)

    def respond(self, price: float, every: int = 0) -> tuple[Array, Slopes | None]:
        """What every group takes at a price, and minus its derivative, (g + 1,) each; no derivatives if `leads`.

        With `every`, of every so many-th tile alone, else 0.
        """
        self.layout.restore()
        total = np.zeros(len(self.caps) + 1)
        slope = None if self.is_rough and self.leads else np.zeros(len(self.caps) + 1, self._slopes)
        doubles, singles = (slope, None) if self._slopes == np.float64 else (None, slope)

        def work(tiles: NDArray[np.intp], space: core.TileSpace) -> None:
            self._tiles.respond(tiles, space, price, total, doubles, singles)

        self._run(work, max(every, 1))
        if not every:
            self._respond_large(price, total, slope)
        return total, slope

    def respond_roughly(self, price: float) -> tuple[Slopes, Slopes | None]:
        """The same; if `is_rough`, the columns of pairs in single precision, totals within core.ROUGH of themselves but
        for that.
        """
        if not self.is_rough:
            return self.respond(price)
        self.layout.restore()
        pairs = np.empty((len(self.caps) + 1, 2), np.float32)
        self._run(lambda tiles, _: self._tiles.respond_roughly(tiles, price, pairs))
        self._respond_large(price, *pairs.T)
        return pairs[:, 0], pairs[:, 1]

    def _respond_large(self, price: float, total: Slopes, slope: Slopes | None) -> None:
        """Write what large groups take, and slopes."""
        self.count += 1
        if not self.large:
            return
        taken = self.each_large(lambda one: one.passes.respond(price))
        with np.errstate(over="ignore", under="ignore"):  # a slope that guides steps may be infinite
            for one, (amount, steep) in zip(self.large, taken):
                total[one.group] = amount
                if slope is not None:
                    slope[one.group] = steep

    def unmark(self, low: float, high: float, marks: NDArray[np.int8]) -> None:
        """Unmark tiled groups in `marks` (g + 1,) of which an item starts at a price in [low, high]."""
        self.layout.restore()
        self._run(lambda tiles, _: self._tiles.unmark(tiles, low, high, marks))

    def expand(
        self, price: float, half: float, tolerance: float, marks: NDArray[np.int8], most: int
    ) -> tuple[NDArray[np.uint32] | None, NDArray[np.uint32], tuple[float, ...]]:
        """Entries of the items of tiled groups that are rough within `half` of a price, those of the items of groups
        that pass their caps there, group by group, and the other items' summed series. If there are more than `most`
        entries: None, and none of the others.

        `marks` (g + 1,) say which groups are capped over all of the bracket, 1, or loose, 3, and change where they are
        0: to 1, or to 2 where a group passes its cap within.
        """
        found = [0]  # so far, which spares room; threads that count at once may make it less, which is no matter

        def work(tiles: NDArray[np.intp], space: core.TileSpace) -> list[tuple]:
            parts: list[tuple] = []
            listed, passing = np.empty((2, MOST_LISTED // 2), dtype=np.uint32)
            while len(tiles):
                rows, *counts = self._tiles.expand(tiles, space, price, half, tolerance, marks, listed, passing)
                found[0] += sum(counts)
                if found[0] > most:
                    counts = [0, 0]
                parts.append((rows, listed[: counts[0]].copy(), passing[: counts[1]].copy()))
                tiles = tiles[len(rows) :]
            return parts

        self.layout.restore()
        self.count += 1
        parts = self._run(work)
        rows = [row for part in parts for row in part[0]]
        terms = tuple(fold(rows, position) for position in range(2, 12, 2))
        none = np.empty(0, np.uint32)
        if sum(row[0] + row[1] for row in rows) > most:
            return None, none, terms
        rough, opened = (np.concatenate([*(part[k] for part in parts), none]) for k in (1, 2))
        return rough, opened, terms

    def settle(self, prices: Prices, own: Array, floor: float, place: Place) -> tuple[Settled, int]:
        """Write the amounts; how they turned out, and how many groups are not as `own` (g + 1,) says.

        `own` is NaN for groups that take the common prices, else a guess of the own price, which is above `floor`;
        it changes into the own price.
        """
        amounts = self.layout.target(place)
        wide, narrow = (None, amounts) if amounts.dtype == np.float32 else (amounts, None)
        common = (prices.low, prices.high, prices.share)
        large = self.each_large(lambda one: one.settle_under_cap(prices, own, floor, amounts))
        parts = self._run(lambda tiles, space: self._tiles.settle(tiles, space, *common, floor, own, wide, narrow))
        self.count += 1 + int(self.share * max((part[6] for part in parts), default=0.0))
        wrong = int(sum(part[7] for part in parts)) + sum(missed for _, missed in large)
        total = [part[:2] for part in parts] + [(one.total, 0.0) for one, _ in large]
        value = fold(parts, 2) + sum(one.value for one, _ in large)
        over = [part[5] for part in parts] + [one.over for one, _ in large]
        violations = [part[4] for part in parts] + [one.residual for one, _ in large]
        return Settled(fold(total, 0), value, worst(violations), worst(over)), wrong

    def serve(self, own: Array, place: Place) -> tuple[float, float, bool]:
        """Write upper bounds of linear items as caps leave them, where amounts go, and own prices into `own` (g + 1,),
        NaN where a cap holds nothing: their sum, the error of groups' totals, and whether bounds and caps clash.
        """
        upper, self.count = self.layout.target(place), self.count + 1
        large = self.each_large(lambda one: one.serve(own, upper))
        parts = self._run(lambda tiles, space: self._tiles.serve(tiles, space, own, upper))
        rows = [*parts, *((total, 0.0, over, wrong) for total, over, wrong in large)]
        return fold(rows, 0), worst(row[2] for row in rows), any(row[3] for row in rows)

    def fill(self, above: float, own: Array, guesses: bool, place: Place) -> tuple[Settled, Left]:
        """Write the amounts of all groups at own prices, and these into `own` (g + 1,), NaN where there is none; how
        those turned out whose own prices are above a price, and the items of all others. With `guesses`, these are what
        own prices are before.

        Of items in tiles, without bounds, but for those of no group. Large groups whose own prices are not above the
        price are not filled, and have none.
        """
        amounts = self.layout.target(place)
        wide, narrow = (None, amounts) if amounts.dtype == np.float32 else (amounts, None)

        def work(tiles: NDArray[np.intp], space: core.TileSpace) -> list[tuple]:
            parts: list[tuple] = []
            listed, over = np.empty(MOST_LISTED // 2, dtype=np.uint32), np.empty(MOST_LISTED // 2)
            while len(tiles):
                rows = self._tiles.fill(tiles, space, guesses, above, own, wide, narrow, listed, over)
                counts = np.array([row[0] for row in rows], dtype=np.intp)
                left = listed[: counts.sum()].copy()
                groups = np.repeat(tiles[: len(rows), 0].astype(np.uint32), counts)
                parts.append((rows, left, groups + self.layout.member[left], over[: left.size].astype(amounts.dtype)))
                tiles = tiles[len(rows) :]
            return parts

        own[0] = np.nan
        filled = self.each_large(lambda one: one.fill(above, own, guesses, amounts) if one.group else None)
        large, runs = [one for one in filled if one], [run for run, one in zip(self.runs.large, filled) if not one]
        parts = self._run(work)
        rows = [row for part in parts for row in part[0]]
        self.count += 1 + int(self.share * max((row[7] for row in rows), default=0.0))
        lists = [
            [np.arange(run.begin, run.end, dtype=np.uint32) for run in runs],
            [np.full(run.end - run.begin, run.first, np.uint32) for run in runs],
            [amounts[run.begin : run.end] for run in runs],
        ]
        for k, some in enumerate(lists, 1):
            some += [part[k] for part in parts]
        parts.clear()  # room
        left = Left(*(np.concatenate(lists.pop(0)) for _ in range(3)))
        total = [row[1:3] for row in rows] + [(one.total, 0.0) for one in large]
        value = fold(rows, 3) + sum(one.value for one in large)
        violations = [row[5] for row in rows] + [one.residual for one in large]
        exceeds = [row[6] for row in rows] + [one.over for one in large]
        return Settled(fold(total, 0), value, worst(violations), worst(exceeds)), left
