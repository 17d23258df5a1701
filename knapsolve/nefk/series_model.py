"""A total over a narrow bracket of prices: of items that are rough there exactly, of all others as a series."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk.problem import Problem
from knapsolve.nefk.search import LEAST_HALF, LINEAR, within

MANY_ROUGH = 4096  # rough items that get a model of their own
NEARER, MUCH_NEARER = 0.2, 8  # half its bracket over the last step, and to the one about it
BENT = 1e-8  # last terms of the series, relative to the amount, that make an item rough


class SeriesModel:
    """The total over a bracket: rough items exactly, all others by a series. Answers prices as Passes do."""

    def __init__(
        self,
        problem: Problem,
        rough: NDArray[np.integer],
        price: float,
        half: float,
        terms: tuple[float, ...],
        n_jobs: int,
    ) -> None:
        self.shape, self.middle, self.terms = problem.criterion._shape, price, terms
        self.ends, self._half = bracket(self.shape, price, half), half  # the least that was asked of the rough items
        self.offset = 0.0  # what passes over all items found beyond the model
        self._items, self._n_jobs = problem.take(rough, problem.capacity, n_jobs), n_jobs
        self.rough: Any = self._items.passes(n_jobs) if len(rough) else None
        self._before = math.nan  # the last price
        self._nearer: SeriesModel | None = None  # of the rough items

    def starts(self, search: NDArray[np.float64]) -> NDArray[np.float64]:
        """Prices within a search's bracket at which the total jumps, as a rough item starts there."""
        return within(self._items.starts(), search)

    def search(self, search: NDArray[np.float64]) -> None:
        """Nothing is compiled for this one."""

    def respond(self, price: float) -> tuple[float, float]:
        """Total amount and slope at a price within the bracket."""
        total, slope = self._respond_rough(price) if self.rough else (0.0, 0.0)
        away = price - self.middle
        t = away if self.shape in LINEAR else math.log1p(away / self.middle)
        a, b, c, d, e = self.terms
        series = a + t * (b + t * (c + t * (d + t * e)))
        return total + series + self.offset, slope - (b + t * (2.0 * c + t * (3.0 * d + t * 4.0 * e)))

    def _respond_rough(self, price: float) -> tuple[float, float]:
        """Total amount and slope of the rough items; many of them get a model of their own as prices come closer."""
        moved, self._before = moved_by(self.shape, self._before, price), price
        if self._nearer is None or not self._nearer.ends[0] < price < self._nearer.ends[1]:
            self._nearer, half = None, max(NEARER * moved, LEAST_HALF) * size_of(self.shape, price)
            if self.rough.n >= MANY_ROUGH and half * MUCH_NEARER <= self._half:  # not NaN
                rough, terms = self.rough.expand(price, half, BENT)
                if rough is None:
                    self._half = half  # ask again much nearer
                else:
                    self._nearer = SeriesModel(self._items, rough, price, half, terms, self._n_jobs)
        return (self._nearer or self.rough).respond(price)


def bracket(shape: int, price: float, half: float) -> tuple[float, float]:
    """The prices `half` away from one, in log price (linear shapes: in price)."""
    return (price - half, price + half) if shape in LINEAR else (price * math.exp(-half), price * math.exp(half))


def size_of(shape: int, price: float) -> float:
    """What a relative step is taken of: 1 in log price, the price itself where steps are in price."""
    return abs(price) if shape == core.QUADRATIC else 1.0


def has_bracket(shape: int, price: float) -> bool:
    """Whether a relative bracket about a price makes sense."""
    return price > 0.0 or shape == core.LOG_EXPONENTIAL or (shape == core.QUADRATIC and price < 0.0)


def moved_by(shape: int, before: float, price: float) -> float:
    """How long a step between two prices was, relative to `size_of`; NaN where that makes no sense."""
    if not (has_bracket(shape, before) and has_bracket(shape, price)):
        return math.nan
    return abs(price - before) / size_of(shape, price) if shape in LINEAR else abs(math.log(price / before))
