"""The renewal index and its ladder: gains, the plain Python twin, and the exact largest index."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knapsolve import RenewalIndexPolicy, simulate
from knapsolve._core.renewal import gain
from knapsolve.datasets import load_debian_uploads
from tests.learners import renewal_twins as twins
from tests.learners.cases import poll_log
from tests.sizes import slow_and_full


@given(st.floats(1e-9, 700))
def test_the_gain_is_right_to_the_last_digits(u):
    assert gain(u) == pytest.approx(twins.gain(u), rel=2e-12)


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 25), st.integers(1, 300), st.integers(0, 1000), st.floats(0, 1))
def test_rates_equal_those_of_the_twin(n, n_polls, seed, balance):
    X, y = poll_log(n_polls + 1, n, seed)
    policy = RenewalIndexPolicy(n_materials=n, balance=balance).fit(X, y)
    twin = twins.RenewalTwin(n, balance)
    for (i, elapsed), changed in zip(X.tolist(), y.tolist()):
        twin.observe(int(i), elapsed, changed)
    assert policy.rates_ == pytest.approx([twin.rate_of(i) for i in range(n)], rel=1e-9)
    assert policy.suggest().tolist() == [twin.choose()]
    order = sorted(range(n), key=lambda i: (-twin.index(i, twin.soon), twin.last[i], i))
    assert policy.suggest(n).tolist() == order


@pytest.mark.parametrize(
    ("n", "balance", "mean"),
    [(2, 0.8, 3), (11, 0.8, 3), (40, 0.0, 3), (40, 1.0, 3), (40, 0.8, 60)]
    + [(300, 0.8, 3), (300, 0.3, 3), (300, 0.8, 60)],
)
def test_polls_are_those_of_the_twin_of_the_ladder(n, balance, mean):
    n_polls = 12 * n
    changes = twins.bursty_changes(n, n_polls, n, mean)
    world = twins.Changes(changes)
    simulate(RenewalIndexPolicy(balance=balance), world, n_polls)
    expected = twins.Changes(changes)
    twins.run_twin(twins.LadderTwin(n, balance), expected, n_polls)
    assert world.log == expected.log
    assert {changed for *_, changed in world.log} == {0, 1}


def results(log, changes, n_polls):
    """Changes found, and mean share of time that a copy is current, after the first third of the polls."""
    start, stop, found, fresh = n_polls / 3, float(n_polls), 0, 0.0
    last = [0.0] * len(changes)
    for k, (i, _, changed) in enumerate(log, 1):
        found += changed * (k > start)
        nxt = changes[i][np.searchsorted(changes[i], last[i], "right")]
        fresh += max(0.0, min(nxt, k) - max(last[i], start))
        last[i] = float(k)
    for i, since in enumerate(last):
        nxt = changes[i][np.searchsorted(changes[i], since, "right")]
        fresh += max(0.0, min(nxt, stop) - max(since, start))
    return found, fresh / len(changes) / (stop - start)


@pytest.mark.slow
@pytest.mark.parametrize("mean", [1.0, 6.0])
def test_the_ladder_finds_as_much_as_the_exact_largest_index(mean):
    n, n_polls = 150, 9_000
    totals = np.zeros((2, 2))
    for seed in range(3):
        changes = twins.bursty_changes(n, n_polls, seed, mean)
        ladder, exact = twins.Changes(changes), twins.Changes(changes)
        simulate(RenewalIndexPolicy(), ladder, n_polls)
        twins.run_twin(twins.QuickTwin(n), exact, n_polls)
        totals += [results(world.log, changes, n_polls) for world in (ladder, exact)]
    assert totals[0] == pytest.approx(totals[1], rel=0.01)


def test_after_a_find_the_items_not_seen_since_the_burst_come_first():
    """Everything is as expected until one poll finds a change: its moment counts for many."""
    n = 64
    policy = RenewalIndexPolicy(n_materials=n)
    X, y = np.column_stack([np.arange(20 * n) % n, np.full(20 * n, float(n))]), np.zeros(20 * n)
    policy.fit(X, y).partial_fit([[0, n]], [1])
    quiet = RenewalIndexPolicy(n_materials=n).fit(X, y).partial_fit([[0, n]], [0])
    steps = []
    for each in (policy, quiet):
        before = each.numbers_[0]
        each.partial_fit([[1, n]], [0])
        steps.append(each.numbers_[0] - before)
    assert steps[0] > 1.0 > steps[1] > 0.0
    assert policy.numbers_[5] == quiet.numbers_[5] == 20 * n + 2


def debian_changes(start, stop, n_polls):
    """Upload times of each package in polls, from `start` to `stop` (days since 1970), and one that never comes."""
    items, times = load_debian_uploads()
    scaled = (times / 86_400 - start) * n_polls / (stop - start)
    return [np.append(scaled[items == each], 1e12) for each in np.unique(items)]


@pytest.mark.parametrize("polls_per_change", [1.5, *slow_and_full([6], [30])])
def test_the_ladder_is_as_good_as_the_exact_largest_index_on_debian_uploads(polls_per_change):
    totals = np.zeros((2, 2))
    for start in (18_083, 18_093, 18_103):  # July 2019 to 2021: some 3,100 uploads
        n_polls = int(3_100 * polls_per_change)
        changes = debian_changes(start, 18_809, n_polls)
        ladder, exact = twins.Changes(changes), twins.Changes(changes)
        simulate(RenewalIndexPolicy(), ladder, n_polls)
        twins.run_twin(twins.QuickTwin(len(changes)), exact, n_polls)
        totals += [results(world.log, changes, n_polls) for world in (ladder, exact)]
    assert totals[0] == pytest.approx(totals[1], rel=0.01)


def test_a_quiet_start_makes_nobody_wait_for_ever():
    """Nothing changes while all are polled for the first time; then much does, of some items."""
    n, n_polls = 300, 3_000
    rng = np.random.default_rng(0)
    counts = rng.poisson(4 * rng.gamma(0.5, 2, n))
    changes = [np.append(np.sort(rng.uniform(1.5 * n, n_polls, count)), 1e9) for count in counts]
    world = twins.Changes(changes)
    simulate(RenewalIndexPolicy(), world, n_polls)
    assert np.bincount([i for i, *_ in world.log], minlength=n).min() >= 4
    assert results(world.log, changes, n_polls)[1] > 0.82
