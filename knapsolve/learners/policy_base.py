"""What policies that learn nothing, or once, have in common: the log that they keep, and its shares of changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from knapsolve._core.policies import FixedAmounts
from knapsolve.learners.base import PollLogLearner
from knapsolve.nefk.shares import share_out


class LoggedPolicy(PollLogLearner):
    """Keeps the polls that it learns from as a list of (materials, elapsed, changed) parts."""

    def __init__(
        self,
        *,
        n_materials: int | None = None,
        capacity: float = 1.0,
        random_state: Any = None,
        material: int | str = 0,
        elapsed: int | str = 1,
    ):
        self.n_materials = n_materials
        self.capacity = capacity
        self.random_state = random_state
        self.material = material
        self.elapsed = elapsed

    def _check_parameters(self) -> None:
        pass

    def _start(self, n: int) -> None:
        self._log: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...] = ()

    def _resize(self, n: int) -> None:
        pass

    def _learn_polls(
        self, codes: np.ndarray, gaps: np.ndarray, changed: np.ndarray, commit: Callable[[], None], *more: Any
    ) -> None:
        parts = [*self._log, (codes.astype(np.int32), gaps.copy(), changed.copy())]
        while len(parts) > 1 and parts[-1][0].size >= parts[-2][0].size:  # few parts, however short the batches
            (a, b, c), (d, e, f) = parts.pop(-2), parts.pop()
            parts.append((np.concatenate([a, d]), np.concatenate([b, e]), np.concatenate([c, f])))
        self._log = tuple(parts)
        commit()

    def _logged(self, limit: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The first `limit` polls learnt from, in one piece."""
        parts = self._log or ((np.empty(0, np.int32), np.empty(0), np.empty(0, np.int8)),)
        columns = [np.concatenate(column) for column in zip(*parts)]
        filled = columns[0] >= 0
        material, gaps, changed = (column[filled][:limit] for column in columns)
        return material, gaps, changed

    def _weights(self) -> np.ndarray:
        """Positive numbers (n_materials,) in proportion to which the capacity is shared out."""
        raise NotImplementedError

    @property
    def amounts_(self) -> np.ndarray:
        """Amounts held now, (n_materials,), in polls per unit of time."""
        self._check_ready()
        with self._lock:
            return share_out(self._weights(), self.capacity)

    def _core(self) -> FixedAmounts:
        return FixedAmounts(self.amounts_)


def detection_rates(materials: np.ndarray, changed: np.ndarray, n: int) -> np.ndarray:
    """Share of polls that found a change, with half a poll of each kind added."""
    polls = np.bincount(materials, minlength=n)
    return (np.bincount(materials, weights=changed, minlength=n) + 0.5) / (polls + 1)
