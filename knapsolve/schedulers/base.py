"""What both schedulers share: amounts that only they write, one call at a time, no lost poll, copies apart."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from knapsolve._arrays import writeable
from knapsolve._locks import OF_THE_OBJECT, Shared
from knapsolve._validation import check_amounts, check_integer, resolve_random_state

Polls = tuple[np.ndarray, np.ndarray]  # materials (n,), times (n,)


class LockedSchedule(Shared):
    """Amounts and random numbers of a schedule, under a lock that every call takes.

    A subclass says `_serve(n, served)`: make n polls and append them, or what was made of them before an
    interrupt, to the list.
    """

    def __init__(self, amounts: Any, random_state: Any):
        self._amounts = check_amounts(amounts)
        self.random_state = random_state
        self._generator = resolve_random_state(random_state)
        self._undelivered: list[Polls] = []  # served in calls that were interrupted

    def _serve(self, n: int, served: list[Polls]) -> None:
        raise NotImplementedError

    def _next(self, n: int) -> Polls:
        """Polls that interrupted calls have left, and new ones.

        An interrupt comes with a call or when it has returned, never between a return and an assignment: what is
        not handed over is in `served` or `_undelivered`.
        """
        n = check_integer("n", n, low=0, high=2**48)
        served: list[Polls] = []
        try:
            with self._lock:
                served, self._undelivered = self._undelivered, []
                ready = sum(materials.size for materials, _ in served)
                if ready > n:
                    materials, times = _joined(served)
                    rest = [(materials[n:], times[n:])]
                    served, self._undelivered = [(materials[:n], times[:n])], rest
                else:
                    self._serve(n - ready, served)
            return _joined(served)
        except BaseException:
            self._undelivered[:0] = served
            raise

    @property
    def amounts(self) -> np.ndarray:
        """A copy of the amounts in force (n_materials,), polls per unit of time; `update` changes them."""
        return self._amounts.copy()

    def _state(self) -> dict[str, Any]:
        """Everything but the lock, in arrays of its own."""
        state = {**self.__dict__, "_amounts": self._amounts.copy(), "_undelivered": self._undelivered.copy()}
        return {name: value for name, value in state.items() if name not in OF_THE_OBJECT}

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return self._state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: writeable(value) for name, value in state.items()})

    def __copy__(self) -> LockedSchedule:
        return copy.deepcopy(self)


def _joined(polls: list[Polls]) -> Polls:
    if len(polls) == 1:
        return polls[0]
    materials, times = zip(*polls)
    return np.concatenate(materials), np.concatenate(times)
