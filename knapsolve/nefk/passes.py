"""Passes over the items in fixed chunks: sums that depend on the items alone, whatever the threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from knapsolve._core import nefk as core

CHUNK = 32768


class Passes:
    """The compiled items of one problem, and who works on them. Use as a context manager."""

    def __init__(self, items: core.Items, n: int, n_jobs: int) -> None:
        self.items, self.n, self.count = items, n, 0
        self._starts = range(0, n, CHUNK)
        jobs = min(n_jobs, len(self._starts) // 2)
        self._pool = ThreadPoolExecutor(jobs) if jobs > 1 else None

    def __enter__(self) -> Passes:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def over_chunks(self, work: Callable[[int, int], tuple]) -> list[tuple]:
        """`work(start, stop)` of every chunk, in order."""
        self.count += 1
        run: Callable[..., Iterable] = map if self._pool is None else self._pool.map
        return list(run(lambda start: work(start, min(start + CHUNK, self.n)), self._starts))

    def sums(self, price: float) -> tuple[float, float]:
        """Total amount at a price, and minus its derivative by log price (quadratic: by price)."""
        column = core.Column(float(price))
        parts = self.over_chunks(lambda start, stop: core.respond(self.items, column, start, stop))
        return fold(parts, 0), fold(parts, 2)

    def fill(self, price: float, amounts: np.ndarray) -> float:
        """Write the amounts at a price; return their total."""
        column = core.Column(float(price))
        return fold(self.over_chunks(lambda a, b: core.respond(self.items, column, a, b, amounts)), 0)

    def audit(self, price: Any, amounts: np.ndarray, side: np.ndarray) -> tuple[float, float, float]:
        """Total amount, total value and largest violation; `side` is filled."""
        parts = self.over_chunks(lambda a, b: core.audit(self.items, price, a, b, amounts, side))
        return fold(parts, 0), fold(parts, 2), max(part[4] for part in parts)


def fold(parts: list[tuple], position: int) -> float:
    """The exact sum, rounded once, of the (high, low) pairs at a position of every part."""
    if not all(math.isfinite(part[position]) for part in parts):
        return sum(part[position] for part in parts)
    return math.fsum(term for part in parts for term in part[position : position + 2])
