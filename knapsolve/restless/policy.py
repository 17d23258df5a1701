"""The Whittle index policy for sites whose rates are known, at any number of sites."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import knapsolve._core.index_policy as kernel
from knapsolve._arrays import frozen, writeable
from knapsolve._core.crawl_roles import Chooser
from knapsolve._locks import Shared
from knapsolve._validation import check_choice, check_integer, check_sites, check_whole
from knapsolve.history import History

__all__ = ["WhittlePolicy"]

# A bucket a step, for a few rounds of all sites; what is due later is looked at once more on the way.
_BUCKETS = (2**6, 2**18)
_LINE = 64  # bytes of a cache line


class WhittlePolicy(Shared):
    """Crawl, at every step, the sites with the largest Whittle indices.

    Among equal indices the lower site number goes first. At step 0 one step's content waits at every site.
    Its parameters are for reading alone: make another policy for others. Threads may share a policy: they take
    turns.

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

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described.

    References
    ----------
    Avrachenkov and Borkar (Allerton 2019), section II.

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
        self._sites = tuple(frozen(each) for each in check_sites(arrival_rate, decay_rate, max_age))
        self._n_crawls = check_integer("n_crawls", n_crawls, low=1, high=self.n_sites)
        self._method = check_choice("method", method, ("auto", "calendar", "brute"))
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
        with self._lock:
            self._reset(waiting)
        return self

    def _reset(self, waiting: np.ndarray | None) -> None:
        self._clock = np.zeros(kernel.NUMBERS)
        self._clock[1] = np.nan
        if self._is_brute():
            self._table = np.empty((8, self.n_sites))
            kernel.site_columns(*self._sites, self._table)
        else:
            self._table = _lines(self.n_sites, np.float64)
            kernel.site_rows(*self._sites, self._table)
            low, high = _BUCKETS
            self._make_buckets(min(max(1 << math.ceil(math.log2(4 * self.n_sites / self.n_crawls)), low), high))
            self._hot = np.empty(self.n_sites, dtype=kernel.RANKED)
        if waiting is not None:
            self._last()[:] = -waiting

    def _make_buckets(self, n_buckets: int) -> None:
        self._heads = np.empty((n_buckets, 2), dtype=np.int32)
        self._chunks = _lines(kernel.chunks_wanted(self.n_sites, n_buckets), np.int32)

    def step(self) -> np.ndarray:
        """Decide the step that is due, and go on to the next.

        Returns
        -------
        sites : ndarray of shape (n_crawls,)
            The sites to crawl, ascending.
        """
        crawls = np.empty((1, self.n_crawls), dtype=np.int32)
        with self._lock:
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
        fresh = WhittlePolicy.__new__(WhittlePolicy)
        fresh._sites, fresh._n_crawls, fresh._method = self._sites, self._n_crawls, self._method
        fresh.reset()
        reward = np.empty(n_steps)
        crawls = np.empty((n_steps if return_crawls else 1, self.n_crawls), dtype=np.int32)
        fresh._chooser(self.n_crawls).run(reward, crawls)
        return History(np.arange(1, n_steps + 1), reward=reward, crawls=crawls if return_crawls else None)

    @property
    def arrival_rate(self) -> np.ndarray:
        """Items a step at each site, (n_sites,)."""
        return self._sites[0]

    @property
    def decay_rate(self) -> np.ndarray:
        """Decay of the interest in an item, (n_sites,), a step."""
        return self._sites[1]

    @property
    def max_age(self) -> np.ndarray:
        """Whole steps after which content is dropped, (n_sites,)."""
        return self._sites[2]

    @property
    def n_crawls(self) -> int:
        """Sites to crawl at a step."""
        return self._n_crawls

    @property
    def method(self) -> str:
        """How the largest indices are found, as it was given."""
        return self._method

    @property
    def n_sites(self) -> int:
        """Number of sites."""
        return self._sites[0].size

    @property
    def ages_(self) -> np.ndarray:
        """Whole steps of content that wait at each site now, (n_sites,)."""
        with self._lock:
            return self._clock[0] - self._last()

    @property
    def step_(self) -> int:
        """The step that is due."""
        return int(self._clock[0])

    def __copy__(self) -> WhittlePolicy:
        return copy.deepcopy(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: writeable(value) for name, value in state.items()})
        self._sites = tuple(frozen(each) for each in self._sites)

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
        return kernel.Calendar(self._table, self._heads, self._chunks, self._hot, self._clock, self.n_crawls)


def _lines(n: int, dtype: type) -> np.ndarray:
    """Return n empty rows, each of them a cache line."""
    size = _LINE // np.dtype(dtype).itemsize
    room: np.ndarray = np.empty((n + 1) * size, dtype=dtype)
    first = -room.ctypes.data % _LINE // room.itemsize
    return room[first:][: n * size].reshape(n, size)
