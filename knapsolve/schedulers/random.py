"""Random access in proportion to the amounts."""

from __future__ import annotations

from typing import Any

import numpy as np

from knapsolve._core.policies import FixedAmounts
from knapsolve._core.schedulers import RandomOrder
from knapsolve._validation import check_amount, check_integer
from knapsolve.schedulers.base import LockedSchedule, Polls


class RandomScheduler(LockedSchedule):
    """Serve materials at random, in proportion to their amounts.

    Threads may share a scheduler: they take turns.

    Parameters
    ----------
    amounts : array-like of shape (n_materials,)
        Polls per unit of time of each material, non-negative and not all zero. Amount 0 is never served.
    random_state : None, int, RandomState or Generator, default=None
        Source of the draws.

    Raises
    ------
    ValueError, TypeError
        If amounts are not as described.

    References
    ----------
    Granmo, Oommen, Myrer and Olsen (IEEE CIS 2006), section II: "sampling from a probability distribution
    proportional to x".

    Examples
    --------
    >>> from knapsolve import RandomScheduler
    >>> materials, times = RandomScheduler([1., 0., 3.], random_state=0).next(1000)
    >>> sorted(set(materials.tolist())), float(times[-1])
    ([0, 2], 250.0)
    """

    def __init__(self, amounts: Any, random_state: Any = None):
        super().__init__(amounts, random_state)
        self._clock = np.zeros(3)  # see RandomOrder.serve
        self._learner = FixedAmounts(self._amounts)
        self._learner.prepare_draws()

    def next(self, n: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """The next polls, evenly spaced at the rate ``sum(amounts)``.

        Parameters
        ----------
        n : int, default=1
            How many.

        Returns
        -------
        materials : ndarray of shape (n,), intp
            What to poll, in order; shorter if every amount has been set to zero.
        times : ndarray of shape (n,)
            When, in units of time since the start.

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
        order = RandomOrder()
        try:
            order.serve(self._learner, materials, times, self._clock, self._generator)
        finally:
            served.append((materials[: order.served], times[: order.served]))

    def update(self, material: int, amount: float) -> None:
        """Change a material's amount, from the next poll on.

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
            self._learner.set_amount(material, amount)

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        state.update(_unit=state.pop("_learner").unit, _clock=self._clock.copy())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        unit = state.pop("_unit")
        super().__setstate__(state)
        self._learner = FixedAmounts(self._amounts)
        self._learner.prepare_draws_in(unit)
