"""Earliest deadline first."""

from __future__ import annotations

from typing import Any

import numpy as np

from knapsolve._core.policies import FixedAmounts
from knapsolve._core.schedulers import DeadlineOrder
from knapsolve._validation import check_amount, check_integer
from knapsolve.schedulers.base import LockedSchedule, Polls


class EDFScheduler(LockedSchedule):
    """Serve every material at the period that its amount asks for.

    A material's deadline is its last one plus ``1 / amount``; the smallest deadline is served next, ties to
    the lower index. First deadlines have a random phase in ``[0, 1 / amount)``. In any window of deadline
    time every material is served within one of ``window * amount`` times, however long the schedule runs.
    Threads may share a scheduler: they take turns.

    Parameters
    ----------
    amounts : array-like of shape (n_materials,)
        Polls per unit of time of each material, non-negative and not all zero. Amount 0 is never served;
        amounts below 2**-42 of the sum are served as if they were that. Those below 1e-301 count as that.
    random_state : None, int, RandomState or Generator, default=None
        Source of the phases.

    Raises
    ------
    ValueError, TypeError
        If amounts are not as described.

    Notes
    -----
    Up to 65,536 materials a tournament serves a poll in O(log n), above that a calendar in O(1) on average, and in
    O(log n) where many deadlines tie exactly. The clock fits the sum of the first amounts; when an amount has grown
    four-thousandfold since, or fallen so far that it no longer fits, the clock is chosen anew from the sum that there
    is then, in O(n).

    References
    ----------
    Liu and Layland (1973) for the rule; Brown (1988) for the calendar queue.

    Examples
    --------
    >>> from knapsolve import EDFScheduler
    >>> materials, times = EDFScheduler([.5, .25, .25], random_state=0).next(8)
    >>> import numpy as np
    >>> np.bincount(materials).tolist()
    [4, 2, 2]
    """

    def __init__(self, amounts: Any, random_state: Any = None):
        super().__init__(amounts, random_state)
        self._memory = DeadlineOrder.allocate(self._amounts.size)
        order, learner = self._views()
        order.start(learner, self._generator)

    def _views(self) -> tuple[DeadlineOrder, FixedAmounts]:
        return DeadlineOrder(self._amounts.size, self._memory), FixedAmounts(self._amounts)

    def next(self, n: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """The next polls.

        Parameters
        ----------
        n : int, default=1
            How many.

        Returns
        -------
        materials : ndarray of shape (n,), intp
            What to poll, in order; shorter if every amount has been set to zero.
        times : ndarray of shape (n,)
            Their deadlines, in units of time since the start.

        Raises
        ------
        ValueError, TypeError
            If `n` is not a non-negative integer.
        KeyboardInterrupt
            On Ctrl-C, within a fraction of a second. No poll is lost: the next call hands over first what this
            one had served, whatever `update` has changed since.
        """
        return self._next(n)

    def _serve(self, n: int, served: list[Polls]) -> None:
        materials, times = np.empty(n, dtype=np.intp), np.empty(n)
        order, learner = self._views()
        try:
            order.serve(learner, materials, times)
        finally:
            served.append((materials[: order.served], times[: order.served]))

    def update(self, material: int, amount: float) -> None:
        """Change a material's amount; it takes effect at the material's next poll.

        A material that has fallen out of the schedule, its amount 0 when its turn came, enters again at a random
        phase: its first deadline comes in ``(0, 1 / amount]`` after that of the last poll.

        Parameters
        ----------
        material : int
            Index of the material.
        amount : float
            Its new amount, polls per unit of time, non-negative.

        Raises
        ------
        ValueError, TypeError
            If there is no such material, or the amount is not a non-negative number.
        """
        material = check_integer("material", material, low=0, high=self._amounts.size - 1)
        amount = check_amount(amount)
        with self._lock:
            order, learner = self._views()
            order.settle(learner)
            enters = amount > 0 and not order.holds(material)
            delay = (1 - self._generator.random()) / amount if enters else 0.0
            self._amounts[material] = amount  # no interrupt comes between this and the insertion
            if enters:
                order.insert(material, delay)

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "_memory": DeadlineOrder.copied(self._memory)}
