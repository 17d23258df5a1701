"""Adaptive intervals follow the crawlers' rules, and their amounts always sum to the capacity."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knapsolve import AdaptiveIntervalPolicy, UniformPolicy, simulate
from knapsolve.datasets import load_debian_uploads
from knapsolve.environments import PollingEnvironment, TraceEnvironment
from tests.learners.cases import poll_log


def by_hand(X, y, rule, low, high, capacity):
    """Intervals in units of time; a newcomer takes the mean amount."""
    weight = {}
    for (i, _), changed in zip(X.tolist(), y.tolist()):
        weight.setdefault(i, math.fsum(weight.values()) / len(weight) if weight else 1.0)
        total, n = math.fsum(weight.values()), len(weight)
        interval = total / n / weight[i]
        if rule == "nutch":
            interval = interval * 0.8 if changed else interval * 1.2
        else:
            interval = (interval + low) / 2 if changed else interval * 1.5
        weight[i] = total / n / min(max(interval, low), high)
    total = math.fsum(weight.values())
    return list(weight), [total / w / capacity for w in weight.values()]


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["nutch", "stormcrawler"]),
    st.floats(1e-4, 0.9),
    st.floats(1.1, 100),
    st.floats(1e-6, 1e6),
    st.integers(2, 20),
    st.integers(0, 99),
)
def test_intervals_follow_the_rule_as_by_hand(rule, low, high, capacity, n, seed):
    X, y = poll_log(400, n, seed)
    policy = AdaptiveIntervalPolicy(rule=rule, bounds=(low, high), capacity=capacity).fit(X, y)
    materials, intervals = by_hand(X, y, rule, low, high, capacity)
    assert policy.materials_.tolist() == materials
    assert policy.intervals_ == pytest.approx(intervals, rel=1e-11)
    assert policy.amounts_.sum() == pytest.approx(capacity, rel=1e-11)


@pytest.mark.parametrize("changed", [0, 1])
@pytest.mark.parametrize("rule", ["nutch", "stormcrawler"])
def test_items_not_polled_for_long_keep_a_finite_interval(rule, changed):
    """One item alone is polled; the others' weights shrink beside its own."""
    X = np.column_stack([np.append(np.arange(4), np.zeros(60_000, dtype=int)), np.ones(60_004)])
    y = np.append(np.zeros(4), np.full(60_000, changed))
    policy = AdaptiveIntervalPolicy(rule=rule, bounds=(0.01, 50.0)).fit(X, y)
    assert np.isfinite(policy.intervals_).all() and (policy.amounts_ > 0).all()
    assert policy.amounts_.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("changed", [0, 1])
@pytest.mark.parametrize("rule", ["nutch", "stormcrawler"])
def test_amounts_keep_their_sum_however_long_nothing_or_everything_changes(rule, changed):
    n, n_polls = 5, 100_000
    X = np.column_stack([np.arange(n_polls) % n, np.ones(n_polls)])
    policy = AdaptiveIntervalPolicy(rule=rule, capacity=3.0).fit(X, np.full(n_polls, changed))
    assert policy.amounts_.sum() == pytest.approx(3.0, rel=1e-12)
    assert policy.numbers_[0] == pytest.approx(math.fsum(policy.weights_[:n]), rel=1e-12)
    assert policy.amounts_.max() < 4 * policy.amounts_.min()


@pytest.mark.parametrize("scheduler", ["edf", "random"])
@pytest.mark.parametrize("rule", ["nutch", "stormcrawler"])
def test_what_changes_more_is_polled_more_on_the_same_budget(rule, scheduler):
    unchanged = np.repeat([0.99, 0.5], 20)
    policy = AdaptiveIntervalPolicy(rule=rule, capacity=20.0)
    history = simulate(policy, PollingEnvironment(unchanged), 20_000, scheduler=scheduler, random_state=0)
    uniform = simulate(
        UniformPolicy(capacity=20.0), PollingEnvironment(unchanged), 20_000, scheduler=scheduler, random_state=0
    )
    assert policy.amounts_.sum() == pytest.approx(20.0, rel=1e-10)
    assert policy.amounts_[20:].mean() > 2 * policy.amounts_[:20].mean()
    assert history.detections[0, -1] > 1.05 * uniform.detections[0, -1]


def test_random_access_goes_on_when_weights_are_summed_anew():
    """Nothing changes: weights shrink a thousandfold, again and again, and are brought back."""
    policy, still = AdaptiveIntervalPolicy(), PollingEnvironment([1 - 1e-12] * 4)
    history = simulate(policy, still, 20_000, scheduler="random", random_state=0)
    assert 4 / 1024 < policy.numbers_[0] < 4 * 1024
    assert policy.weights_.sum() == pytest.approx(policy.numbers_[0], rel=1e-12)
    assert (history.amounts > 0.05).all()


def test_every_poll_of_the_budget_is_made_on_a_recording():
    items, times = load_debian_uploads()
    trace = TraceEnvironment(items, times / 86_400, start=18_000, stop=18_200)
    history = simulate(AdaptiveIntervalPolicy(capacity=30.0), trace, random_state=0)
    assert history.item_polls.sum() == 200 * 30


@pytest.mark.parametrize(
    "bounds",
    [(0.5,), (0.5, 2, 3), (2, 0.5), (1, 2), (0.5, 1), (0, 2), (-1, 2), (0.5, math.inf), (math.nan, 2), None, "ab", 3,
     (1e-9, 2), (0.5, 1e9)],
)  # fmt: skip
def test_bad_bounds_are_refused(bounds):
    with pytest.raises((ValueError, TypeError), match="bounds"):
        AdaptiveIntervalPolicy(bounds=bounds).fit(*poll_log(30, 3))


@pytest.mark.parametrize("rule", ["", "Nutch", None, 3, ["nutch"]])
def test_an_unknown_rule_is_refused(rule):
    with pytest.raises((ValueError, TypeError), match="rule"):
        AdaptiveIntervalPolicy(rule=rule).fit(*poll_log(30, 3))
