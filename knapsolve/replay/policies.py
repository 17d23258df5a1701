"""What a policy is called in a replay or a simulation, how it is set up, and what it is told.

Time is counted in polls (capacity 1), so that nothing depends on the clock's unit. The automata's settings
were chosen on the Debian uploads of July 2019 to June 2021 alone (4, 20 and 100 polls a day); the bundled
test stretch begins after that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from knapsolve.learners import (
    GPOKS,
    HTRAA,
    LAKG,
    AdaptiveIntervalPolicy,
    EstimatorPolicy,
    OptimalPolicy,
    ProportionalPolicy,
    RateAllocator,
    RenewalIndexPolicy,
    UniformPolicy,
    WindowedRatePolicy,
)

LAKG_EXPONENT = 1.3
LAKG_START_STATE = 8  # states below the uniform start: amounts can fall to 8**-1.3 = 1/15 of the uniform share
HTRAA_ROOT_RESOLUTION = 200
HTRAA_LEAST_RESOLUTION = 10
MOST_PHASE_POLLS_PER_ITEM = 200  # the estimator keeps a log of its phase
WINDOW_POLLS_PER_ITEM = 32  # of rates fitted anew: as good as any on the Debian uploads of July 2020 to June 2021
FITS_PER_WINDOW = 8


@dataclass(frozen=True)
class Setting:
    """What a policy may be told about a replay; rates are changes per item in the time of one poll.

    Attributes
    ----------
    n_items : int
        Number of items.
    n_training_polls, n_polls : int
        Polls in the training and in the test stretch.
    training_rates : ndarray of shape (n_items,) or None
        Recorded changes in the training stretch, half a change added, over its length; None without training.
    test_rates : ndarray of shape (n_items,)
        Recorded changes in the test stretch, half a change added, over its length: even an oracle must look
        once more at what changed before.
    """

    n_items: int
    n_training_polls: int
    n_polls: int
    training_rates: np.ndarray | None
    test_rates: np.ndarray


@dataclass(frozen=True)
class PolicyKind:
    """A policy that replays know by name.

    Attributes
    ----------
    make : callable
        Makes an unfitted learner of capacity 1 from a `Setting`.
    note : str
        What it is told, for the reader of a table.
    needs_training : bool
        Whether it means nothing without a training stretch.
    by_default : bool
        Whether it is replayed when none is named.
    """

    make: Callable[[Setting], Any]
    note: str
    needs_training: bool = False
    by_default: bool = True


def _uniform(setting: Setting) -> UniformPolicy:
    return UniformPolicy()


def _told(setting: Setting) -> ProportionalPolicy:
    assert setting.training_rates is not None
    return ProportionalPolicy(unchanged=np.exp(-setting.training_rates))


def _optimal(setting: Setting) -> OptimalPolicy:
    largest = max(float(setting.test_rates.max()), np.finfo(float).tiny)
    return OptimalPolicy(unchanged=np.exp(-setting.test_rates / largest))  # only the rates' proportions matter


def _estimator(estimate: str) -> Callable[[Setting], EstimatorPolicy]:
    def make(setting: Setting) -> EstimatorPolicy:
        phase = setting.n_training_polls or max(1, setting.n_polls // 5)
        return EstimatorPolicy(phase=min(phase, MOST_PHASE_POLLS_PER_ITEM * setting.n_items), estimate=estimate)

    return make


def _fitted_once(setting: Setting) -> WindowedRatePolicy:
    phase = setting.n_training_polls or max(1, setting.n_polls // 5)
    phase = min(phase, MOST_PHASE_POLLS_PER_ITEM * setting.n_items)
    return WindowedRatePolicy(window=phase, every=phase, max_fits=1)


def _fitted_anew(criterion: str) -> Callable[[Setting], WindowedRatePolicy]:
    def make(setting: Setting) -> WindowedRatePolicy:
        window = WINDOW_POLLS_PER_ITEM * setting.n_items
        return WindowedRatePolicy(criterion=criterion, window=window, every=window // FITS_PER_WINDOW)

    return make


def _lakg(setting: Setting) -> LAKG:
    """The uniform start is state 8, which leaves `n * resolution**-exponent` at 1/15 of the capacity."""
    resolution = int(np.ceil(LAKG_START_STATE * setting.n_items ** (1 / LAKG_EXPONENT)))
    return LAKG(resolution=resolution, exponent=LAKG_EXPONENT)


def _htraa(setting: Setting) -> HTRAA:
    """Finer toward the root, as the square root of the polls that pass a node.

    Reward-inaction, because most polls of a real log find nothing: the schemes that move on a penalty then
    drift to the ends of their range, where an item is hardly ever polled.
    """
    depth = max(1, (setting.n_items - 1).bit_length())
    resolution = np.maximum(HTRAA_LEAST_RESOLUTION, HTRAA_ROOT_RESOLUTION * 2.0 ** (-np.arange(depth) / 2))
    return HTRAA(resolution=resolution.astype(int).tolist(), update="reward-inaction")


POLICIES: dict[str, PolicyKind] = {
    "renewal": PolicyKind(
        lambda setting: RenewalIndexPolicy(), "the renewal index; learns from its polls alone, from the start on"
    ),
    "stormcrawler": PolicyKind(
        lambda setting: AdaptiveIntervalPolicy(rule="stormcrawler"),
        "StormCrawler's adaptive intervals: half way to the shortest on a change, else half as long again",
    ),
    "nutch": PolicyKind(
        lambda setting: AdaptiveIntervalPolicy(rule="nutch"),
        "Nutch's adaptive intervals: a fifth shorter on a change, else a fifth longer",
    ),
    "harmonic": PolicyKind(
        _fitted_anew("harmonic"), "least harmonic penalty at rates fitted anew on the latest 32 polls an item"
    ),
    "harmonic-once": PolicyKind(
        _fitted_once, "uniform while training, then least harmonic penalty at rates fitted once (LambdaCrawl)"
    ),
    "proportional": PolicyKind(
        _fitted_anew("proportional"), "in proportion to rates fitted anew on the latest 32 polls an item"
    ),
    "multiplicative": PolicyKind(
        lambda setting: RateAllocator(estimator="multiplicative", criterion="detection"),
        "in proportion to weights that rise with a change and fall without (RateAllocator, model-free)",
    ),
    "recursive": PolicyKind(
        lambda setting: RateAllocator(estimator="recursive", criterion="harmonic"),
        "least harmonic penalty at rates estimated anew with every poll over all polls (RateAllocator)",
        by_default=False,
    ),
    "rates": PolicyKind(
        lambda setting: RateAllocator(),
        "most changes found at rates estimated anew with every poll (RateAllocator)",
        by_default=False,
    ),
    "gpoks": PolicyKind(
        lambda setting: GPOKS(), "Gaussian processes of what amounts are worth, optimistic (GPOKS)", by_default=False
    ),
    "uniform": PolicyKind(_uniform, "every item equally often"),
    "lakg": PolicyKind(_lakg, "the automata of LAKG; learns from its polls alone, from the start on"),
    "htraa": PolicyKind(_htraa, "the tree of automata H-TRAA; learns from its polls alone, from the start on"),
    "estimator-naive": PolicyKind(
        _estimator("detection-rate"),
        "uniform while training, then by the share of polls that found a change",
        by_default=False,
    ),
    "estimator-mle": PolicyKind(
        _estimator("mle"),
        "uniform while training, then by each item's estimated rate (censored likelihood)",
        by_default=False,
    ),
    "told": PolicyKind(
        _told,
        "told how often each item changed in the training stretch, also what no poll would have seen",
        needs_training=True,
        by_default=False,
    ),
    "optimal": PolicyKind(
        _optimal,
        "an oracle: told how often each item will change in the test stretch; finds most if changes come at random",
    ),
}
