"""The largest indices of a renewal index policy, without looking at all items each time.

An index rises with the clock until its item is polled. So the items that come to the top over the next polls are among
those whose indices are the largest at their end; others stay below a level. A look at all items lists the former and
says the level, and until the clock has gone so far only these and the items polled meanwhile are compared. What comes
of it is always what a look at all items would find: where the level does not tell, that look is taken.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knapsolve._core.renewal import RenewalIndex

LEAST = 4096  # items from which a list pays
LISTED = 4.0  # items of a list, times the root of all items: looks at all and at the list then cost alike
ROOM = 4  # items of a list for each that is asked for at a time
AHEAD = 0.5  # polls that a list looks ahead, over its items
ROUNDING = 1e-9
FIXED = 4  # settings that a list depends on; the others only tell whether it knows of all polls
FEW, LONGEST_PAUSE = 4, 64  # a list that answers fewer questions did not pay: none is made for some time


def largest(index: np.ndarray, last: np.ndarray, which: np.ndarray, n: int) -> np.ndarray:
    """Those n of the items `which` (m,) that have the largest index; of equal ones the least `last`, then the first."""
    near = np.arange(index.size)
    if n < index.size:  # only those that reach the n-th largest index need sorting
        near = np.flatnonzero(index >= np.partition(index, index.size - n)[index.size - n])
    return which[near[np.lexsort((which[near], last[near], -index[near]))][:n]]


class Shortlist:
    """Keeps the list from one question to the next. `items` (n, 9) and `core` are those of the policy."""

    def __init__(self) -> None:
        self._settings: tuple | None = None  # of the list that is held
        self._answers = self._pause = self._waits = self._n_polled = 0
        self._listed: NDArray[np.intp] = np.empty(0, dtype=np.intp)  # ascending
        self._new = self._listed  # items never polled when the list was made, the longest known first
        self._level = self._until = self._worth = 0.0  # no other index exceeds it until then, at such a worth

    def best(self, core: RenewalIndex, items: np.ndarray, settings: tuple, n: int) -> np.ndarray:
        """What `largest` finds at the poll to come. A list holds for the same `settings` alone."""
        found = self._from_list(core, items, n) if settings == self._settings else None
        if found is None and self._worth_it(items.shape[0], n):
            self._make(core, items, n)
            self._settings = settings
            found = self._from_list(core, items, n)
        if found is None:
            return largest(core.indices(np.empty(0)), items[:, 6], np.arange(items.shape[0]), n)
        self._answers += 1
        return found

    def polled(self, before: tuple, settings: tuple, codes: np.ndarray) -> None:
        """Items (m,) were polled, which brought the policy from some settings to others."""
        same = self._settings == before and before[:FIXED] == settings[:FIXED]
        if not same or codes.size > self._listed.size or not self._listed.size:
            self._settings = None
            return
        codes = np.unique(codes)
        place = np.searchsorted(self._listed, codes)
        absent = self._listed[np.minimum(place, self._listed.size - 1)] != codes
        if absent.any():
            self._listed = np.insert(self._listed, place[absent], codes[absent])
        self._n_polled += codes.size
        self._settings = settings

    def _worth_it(self, size: int, n: int) -> bool:
        if self._settings is not None and self._answers < FEW:
            self._pause = min(2 * self._pause + 1, LONGEST_PAUSE)
            self._waits = self._pause
        elif self._settings is not None:
            self._pause = 0
        self._settings, self._answers = None, 0
        self._waits -= 1
        return self._waits < 0 and size >= LEAST and n * 4 * ROOM <= size

    def _make(self, core: RenewalIndex, items: np.ndarray, n: int) -> None:
        size = items.shape[0]
        listed = int(LISTED * np.sqrt(size)) + ROOM * n
        now, per_poll, worth, most = core.outlook()
        ahead = AHEAD * listed * per_poll
        more = min(1.0 + listed / size, most / worth) if worth > 0.0 else 1.0
        self._until, self._worth = now + ahead, worth * more
        bound = core.bounds(ahead, more)
        new = np.flatnonzero(bound < 0.0)
        self._new = new[np.argsort(items[new, 6], kind="stable")]  # their indices differ by their ages alone
        level = float(np.partition(bound, size - listed)[size - listed])
        self._level = max(level, 0.0) * (1.0 + ROUNDING)
        self._listed, self._n_polled = np.flatnonzero(bound > self._level), 0

    def _from_list(self, core: RenewalIndex, items: np.ndarray, n: int) -> np.ndarray | None:
        """The n largest, or None if they may lie beyond the list."""
        now, _, worth, _ = core.outlook()
        if now > self._until or worth > self._worth:
            return None
        new = self._new[: n + self._n_polled]
        near = np.concatenate([self._listed, new[items[new, 7] == 0.0][:n]])
        if near.size < n:
            return None
        index = core.indices_of(near)
        if np.count_nonzero(index > self._level) < n:
            return None
        return largest(index, items[near, 6], near, n)
