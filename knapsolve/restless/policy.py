"""The Whittle index policy for sites whose rates are known, at any number of sites."""

from __future__ import annotations

import copy
import math

import numpy as np
from numpy.typing import ArrayLike

import knapsolve._core.index_policy as kernel
from knapsolve._core.crawl_roles import Chooser
from knapsolve._validation import check_choice, check_integer, check_sites, check_whole
from knapsolve.history import History

__all__ = ["WhittlePolicy"]

# A bucket a step, for a few rounds of all sites; what is due later is looked at once more on the way.
_BUCKETS = (2**6, 2**20)


class WhittlePolicy:
    """Crawl, at every step, the sites with the largest Whittle indices.

    Among equal indices the lower site number goes first. At step 0 one step's content waits at every site.

    Parameters
    ----------
    arrival_rate : array_like of shape (n_sites,)
        Items a step, non-negative.
    decay_rate : array_like of shape (n_sites,)
        Decay of the interest in an item, a step, positive.
    n_crawls : int
        Sites to crawl at a step, from 1 to n_sites.
    max_age : array_like of shape (n_sites,) or float, default=inf
        Whole steps, at least 1, after which content is dropped.
    method : {"auto", "calendar", "brute"}, default="auto"
        How to find the largest indices. "brute" computes all of them. "calendar" notes for every waiting site
        the step at which its index can come near the cutoff, and looks at no other: the same crawls to the
        last bit, and a step takes time in proportion to `n_crawls`. "auto" takes the calendar from 256 sites
        on.

    Attributes
    ----------
    n_sites : int
        Number of sites.
    ages_ : ndarray of shape (n_sites,)
        Whole steps of content that wait at each site now.
    step_ : int
        The step that is due.

    References
    ----------
    Avrachenkov and Borkar (2019), section II.

    Examples
    --------
    >>> from knapsolve import WhittlePolicy
    >>> policy = WhittlePolicy([250] * 4, [0.7, 0.35, 0.7, 0.21], n_crawls=1)
    >>> history = policy.simulate(1000)
    >>> round(float(history.reward[-4:].mean()), 6)
    471.382518
    """

    def __init__(
        self,
        arrival_rate: ArrayLike,
        decay_rate: ArrayLike,
        n_crawls: int,
        max_age: ArrayLike = math.inf,
        *,
        method: str = "auto",
    ) -> None:
        self.arrival_rate, self.decay_rate, self.max_age = check_sites(arrival_rate, decay_rate, max_age)
        self.n_sites = self.arrival_rate.size
        self.n_crawls = check_integer("n_crawls", n_crawls, low=1, high=self.n_sites)
        self.method = check_choice("method", method, ("auto", "calendar", "brute"))
        self.reset()

    def reset(self, ages: ArrayLike | None = None) -> WhittlePolicy:
        """Go back to step 0.

        Parameters
        ----------
        ages : array_like of shape (n_sites,), optional
            Whole steps of content that wait at each site; 1 everywhere by default.

        Returns
        -------
        self : WhittlePolicy
            This policy.

        Raises
        ------
        ValueError, TypeError
            If `ages` are not whole and non-negative.
        """
        waiting = None if ages is None else check_whole("ages", ages)
        if waiting is not None and waiting.shape != (self.n_sites,):
            raise ValueError(f"ages must have {self.n_sites} entries, got {waiting.size}")
        self._clock = np.zeros(kernel.NUMBERS)
        self._clock[1] = np.nan
        rates = self.arrival_rate, self.decay_rate, self.max_age
        if self._is_brute():
            self._table = np.empty((8, self.n_sites))
            kernel.site_columns(*rates, self._table)
        else:
            room = np.empty(8 * self.n_sites + 7)
            self._table = room[-room.ctypes.data // 8 % 8 :][: 8 * self.n_sites].reshape(-1, 8)  # a row a cache line
            kernel.site_rows(*rates, self._table)
            low, high = _BUCKETS
            n_buckets = min(max(1 << math.ceil(math.log2(4 * self.n_sites / self.n_crawls)), low), high)
            self._heads = np.empty(n_buckets * kernel.CHAINS, dtype=np.int32)
            self._links = np.empty(self.n_sites, dtype=np.int32)
            self._hot = np.empty(self.n_sites, dtype=kernel.RANKED)
        if waiting is not None:
            self._last()[:] = -waiting
        return self

    def step(self) -> np.ndarray:
        """Decide the step that is due, and go on to the next.

        Returns
        -------
        sites : ndarray of shape (n_crawls,)
            The sites to crawl, ascending.
        """
        crawls = np.empty((1, self.n_crawls), dtype=np.int32)
        self._chooser(self.n_crawls).run(np.empty(1), crawls)
        return crawls[0].astype(np.intp)

    def simulate(self, n_steps: int, *, return_crawls: bool = False) -> History:
        """Let a fresh copy of the policy crawl sites that hold their mean contents, from step 0 on.

        Parameters
        ----------
        n_steps : int
            Number of decisions, at least 1.
        return_crawls : bool, default=False
            Also return which sites were crawled: (n_steps, n_crawls) numbers of 4 bytes.

        Returns
        -------
        history : History
            `reward` (n_steps,): content collected at each step, items.

        Raises
        ------
        ValueError, TypeError
            If `n_steps` is not a positive integer.
        """
        n_steps = check_integer("n_steps", n_steps, low=1)
        fresh = copy.copy(self).reset()
        reward = np.empty(n_steps)
        crawls = np.empty((n_steps if return_crawls else 1, self.n_crawls), dtype=np.int32)
        fresh._chooser(self.n_crawls).run(reward, crawls)
        return History(np.arange(1, n_steps + 1), reward=reward, crawls=crawls if return_crawls else None)

    @property
    def ages_(self) -> np.ndarray:
        return self._clock[0] - self._last()

    @property
    def step_(self) -> int:
        return int(self._clock[0])

    def _last(self) -> np.ndarray:
        """Return the view of the steps of the last crawls."""
        return self._table[7] if self._is_brute() else self._table[:, 7]

    def _is_brute(self) -> bool:
        return self.method == "brute" or (self.method == "auto" and self.n_sites < 256)

    def _chooser(self, n_crawls: int) -> Chooser:
        """Return the compiled view that decides steps; it changes this policy's state."""
        if n_crawls != self.n_crawls:
            raise ValueError(f"n_crawls must be {self.n_crawls}, as this policy was made, got {n_crawls}")
        if self._is_brute():
            return kernel.BruteForce(self._table, self._clock, self.n_crawls)
        return kernel.Calendar(self._table, self._links, self._heads, self._hot, self._clock, self.n_crawls)
