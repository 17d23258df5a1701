"""What both schedulers share: amounts that only they write, one call at a time, copies that share nothing."""

from __future__ import annotations

import copy
import threading
from typing import Any

import numpy as np

from knapsolve._validation import check_amounts, resolve_random_state


class LockedSchedule:
    """Amounts and random numbers of a schedule, under a lock that every call takes."""

    def __init__(self, amounts: Any, random_state: Any):
        self._amounts = check_amounts(amounts)
        self.random_state = random_state
        self._generator = resolve_random_state(random_state)
        self._lock = threading.Lock()

    @property
    def amounts(self) -> np.ndarray:
        """A copy of the amounts in force (n_materials,), polls per unit of time; `update` changes them."""
        return self._amounts.copy()

    def _state(self) -> dict[str, Any]:
        """Everything but the lock, in arrays of its own."""
        state = {**self.__dict__, "_amounts": self._amounts.copy()}
        del state["_lock"]
        return state

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return self._state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def __copy__(self) -> LockedSchedule:
        return copy.deepcopy(self)
