"""Sites whose content arrives at random and loses interest with age."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import knapsolve._core.ephemeral as kernel
from knapsolve._arrays import frozen, writeable
from knapsolve._locks import Shared
from knapsolve._validation import check_choice, check_site_numbers, check_sites, resolve_random_state, shown

__all__ = ["EphemeralEnvironment"]

_MOST_ITEMS = 1e9  # a crawl draws every item it collects


class EphemeralEnvironment(Shared):
    r"""Sites with ephemeral content: Poisson arrivals whose interest decays, until crawled or dropped.

    An item that is :math:`s` steps old is worth :math:`e^{-cs}`, and nothing from `max_age` steps on. A crawl
    collects everything that waits at the site. One step passes per call of `crawl`; at the first one step's
    content waits everywhere. Content right after a crawl is young, so nothing expires until `max_age` steps
    later. Rates and maximum ages are for reading alone: make another environment for others. Threads may share an
    environment: they take turns.

    Parameters
    ----------
    arrival_rates : array_like of shape (n_sites,)
        Items a step, non-negative.
    decay_rates : array_like of shape (n_sites,)
        A step, positive.
    max_age : array_like of shape (n_sites,) or float, default=inf
        Whole steps, at least 1.
    dynamics : {"stochastic", "mean"}, default="stochastic"
        Whether crawls collect random items, or their expectation.
    random_state : None, int, Generator or RandomState, default=None
        Source of the arrivals.

    Attributes
    ----------
    n_sites : int
        Number of sites.
    ages_ : ndarray of shape (n_sites,)
        Whole steps of content that wait at each site now.
    step_ : int
        The step that is due: crawls made so far.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described, or a crawl could collect more items than can be counted.

    References
    ----------
    Avrachenkov and Borkar (Allerton 2019), section II. Its mean recursion is not used for a
    finite maximum age: it lets content expire right after a crawl, when there is none that old.

    Examples
    --------
    >>> from knapsolve.environments import EphemeralEnvironment
    >>> environment = EphemeralEnvironment([250.0, 250.0], [0.7, 0.21], dynamics="mean")
    >>> environment.crawl([1]).round(4)
    array([225.4949])
    """

    def __init__(
        self,
        arrival_rates: ArrayLike,
        decay_rates: ArrayLike,
        max_age: ArrayLike = math.inf,
        *,
        dynamics: str = "stochastic",
        random_state: Any = None,
    ) -> None:
        sites = check_sites(arrival_rates, decay_rates, max_age, plural="s")
        self._sites = tuple(frozen(each) for each in sites)
        self.dynamics = check_choice("dynamics", dynamics, ("stochastic", "mean"))
        items = self.arrival_rates * np.minimum(self.max_age, 40.0 / self.decay_rates)
        if dynamics == "stochastic" and items.max() > _MOST_ITEMS:
            worst = int(items.argmax())
            raise ValueError(
                f"arrival_rates must keep a crawl below {_MOST_ITEMS:g} items, got "
                f"{shown(self.arrival_rates[worst])} at position {worst}; dynamics='mean' has no such limit"
            )
        self.random_state = random_state
        self.reset()

    def reset(self, random_state: Any = None) -> EphemeralEnvironment:
        """Go back to the first step.

        Parameters
        ----------
        random_state : None, int, Generator or RandomState, default=None
            Source of the arrivals from now on; None keeps the constructor's.

        Returns
        -------
        self : EphemeralEnvironment
            This environment.

        Raises
        ------
        ValueError, TypeError
            If `random_state` is none of these.
        """
        source = self.random_state if random_state is None else random_state
        generator = resolve_random_state(source)
        with self._lock:
            self._random = generator
            self._last = np.full(self.n_sites, -1.0)
            self._clock = np.zeros(1)
        return self

    def crawl(self, sites: ArrayLike) -> np.ndarray:
        """Crawl sites, then let a step pass.

        Parameters
        ----------
        sites : array_like of shape (n_crawls,)
            Distinct site numbers, at most n_sites; may be empty.

        Returns
        -------
        contents : ndarray of shape (n_crawls,)
            Interest in the content collected at each, items.

        Raises
        ------
        ValueError, TypeError
            If `sites` are not distinct site numbers; no step passes then.
        KeyboardInterrupt
            On Ctrl-C, within a fraction of a second; no step passes then.
        """
        numbers = check_site_numbers("sites", sites, self.n_sites)
        contents = np.empty(numbers.size)
        with self._lock, self._random.bit_generator.lock:
            kernel.crawl(self._world(), numbers, contents)
        return contents

    @property
    def arrival_rates(self) -> np.ndarray:
        """Items a step at each site, (n_sites,)."""
        return self._sites[0]

    @property
    def decay_rates(self) -> np.ndarray:
        """Decay of the interest in an item, (n_sites,), a step."""
        return self._sites[1]

    @property
    def max_age(self) -> np.ndarray:
        """Whole steps from which on content is worth nothing, (n_sites,)."""
        return self._sites[2]

    @property
    def n_sites(self) -> int:
        """Number of sites."""
        return self._sites[0].size

    @property
    def ages_(self) -> np.ndarray:
        """Whole steps of content that wait at each site now, (n_sites,)."""
        with self._lock:
            return self._clock[0] - self._last

    @property
    def step_(self) -> int:
        """The step that is due: crawls made so far."""
        return int(self._clock[0])

    def __copy__(self) -> EphemeralEnvironment:
        return copy.deepcopy(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: writeable(value) for name, value in state.items()})
        self._sites = tuple(frozen(each) for each in self._sites)

    def _world(self) -> kernel.EphemeralWorld:
        """Return the compiled view that answers crawls; it changes this environment's state."""
        generator = self._random if self.dynamics == "stochastic" else None
        return kernel.EphemeralWorld(*self._sites, self._last, self._clock, generator)
