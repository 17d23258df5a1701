"""The plug-in Whittle policy: estimate each site's rates, then trust the index."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from knapsolve._core.plug_in_whittle import PlugInChooser
from knapsolve._validation import check_real
from knapsolve.learners.crawl_base import CrawlLogLearner

__all__ = ["PlugInWhittle"]


class PlugInWhittle(CrawlLogLearner):
    r"""Crawl the sites with the largest Whittle indices at the rates estimated so far.

    At first every site is crawled in pairs: after a wait, and again right after, since only different ages
    tell the decay from the arrival rate. From then on the estimates decide. They maximise a quasi-likelihood
    of the content collected at each age, which is all that is kept of the log: least squares weighted by the
    reciprocal mean, with a weak prior on the decay.

    Parameters
    ----------
    capacity : int, default=1
        Sites to crawl at a step.
    n_materials : int, optional
        Number of sites, if identifiers are the integers 0 to ``n_materials - 1`` and all are known from the
        start. By default sites are admitted as they appear in the log.
    max_age : float, default=inf
        Whole steps after which content is dropped, known and the same for all sites.
    n_seeds : int, default=2
        Pairs of crawls before a site's estimate is trusted; 0 trusts the prior.
    optimism : float, default=1.0
        Standard errors added to the arrival rate before the index, so that no site is given up by bad luck.
    prior_decay, prior_spread : float, default=0.3 and 2.0
        Median of the decay rate, a step, and standard deviation of its logarithm, before any crawl.
    n_ages : int, default=8
        Different ages kept apart for each site, at least 3; above it the closest are merged.
    random_state : None, int, RandomState or Generator, default=None
        Not used: the policy is deterministic given a log; accepted for uniformity.
    material, elapsed : int or str, default=0 and 1
        Which columns of `X` hold the site and the age.

    Attributes
    ----------
    arrival_rates_, decay_rates_ : ndarray of shape (n_materials,)
        Estimates, a step.
    arrival_errors_, decay_errors_ : ndarray of shape (n_materials,)
        Their standard errors.
    ages_ : ndarray of shape (n_materials,)
        Whole steps of content that wait at each site at the step after the last crawl.
    materials_ : ndarray of shape (n_materials,)
        Identifiers in order of first appearance.
    totals_ : ndarray of shape (n_materials, n_ages, 3)
        Age, number of crawls and total content, ascending in age.

    References
    ----------
    Avrachenkov and Borkar (Allerton 2019), section II, for the index; the estimator is this package's own.

    Examples
    --------
    >>> from knapsolve import PlugInWhittle
    >>> from knapsolve.environments import EphemeralEnvironment
    >>> environment = EphemeralEnvironment([250] * 4, [0.7, 0.35, 0.7, 0.21], random_state=0)
    >>> learner = PlugInWhittle(n_materials=4)
    >>> for _ in range(200):
    ...     ages = environment.ages_
    ...     sites = learner.allocate()
    ...     contents = environment.crawl(sites)
    ...     learner = learner.partial_fit(list(zip(sites, ages[sites])), contents)
    >>> bool(abs(learner.arrival_rates_ - 250).max() < 60)
    True
    """

    _row_axes: ClassVar[dict[str, int | None]] = {"estimates_": 1, "clock_": None}

    def __init__(
        self,
        *,
        capacity: int = 1,
        n_materials: int | None = None,
        max_age: float = math.inf,
        n_seeds: int = 2,
        optimism: float = 1.0,
        prior_decay: float = 0.3,
        prior_spread: float = 2.0,
        n_ages: int = 8,
        random_state: Any = None,
        material: int | str = 0,
        elapsed: int | str = 1,
    ):
        self.capacity = capacity
        self.n_materials = n_materials
        self.max_age = max_age
        self.n_seeds = n_seeds
        self.optimism = optimism
        self.prior_decay = prior_decay
        self.prior_spread = prior_spread
        self.n_ages = n_ages
        self.random_state = random_state
        self.material = material
        self.elapsed = elapsed

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("optimism", self.optimism, low=0.0)

    def _learn_polls(
        self, codes: np.ndarray, gaps: np.ndarray, changed: np.ndarray, commit: Callable[[], None], *more: Any
    ) -> None:
        self._book().learn(np.ascontiguousarray(codes, dtype=np.int32), gaps, changed)
        commit()

    def _core(self) -> PlugInChooser:
        return PlugInChooser(self._book(), float(self.n_seeds), float(self.optimism))
