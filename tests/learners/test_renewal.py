"""The renewal index policy equals its plain Python twin, spends its budget, and learns online."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from knapsolve import RenewalIndexPolicy, UniformPolicy, simulate
from knapsolve._core.renewal import gain
from knapsolve.datasets import load_debian_uploads
from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, TraceEnvironment
from tests.learners import renewal_twins as twins
from tests.learners.cases import poll_log, state_of


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


@pytest.mark.parametrize(("every", "few"), [(2, True), (40, False)])
def test_time_that_a_copy_is_current_is_worth_the_pooled_rate_or_a_change_in_four_gaps_if_that_is_less(every, few):
    n, age = 8, 5.0
    X = np.column_stack([np.arange(100 * n) % n, np.full(100 * n, float(n))])
    policy = RenewalIndexPolicy(n_materials=n, balance=1.0).fit(X, np.arange(100 * n) % every == 0)
    _, changes, time, *_ = policy.numbers_
    pooled = (changes + 0.5 * (1 + n / 32)) / (time + (1 + n / 32) * n)
    assert (pooled > 1 / (4 * n)) == few
    worth = policy._core().indices(np.full(n, age)) * policy.rates_ / [gain(rate * age) for rate in policy.rates_]
    assert worth == pytest.approx(np.full(n, min(pooled, 1 / (4 * n))), rel=1e-9)


def test_more_is_found_where_changes_come_together():
    """With and without the clock: 60 items, whose changes all lie in one tenth of the time, by turns."""
    class Even(twins.QuickTwin):
        soon = property(lambda self: self.now + 1)

    n, n_polls, found = 60, 12_000, {}
    for kind in (twins.QuickTwin, Even):
        found[kind] = 0
        for seed in range(3):
            rng = np.random.default_rng(seed)
            times = [np.sort(rng.uniform(0, n_polls, rng.poisson(each))) for each in rng.gamma(1.0, 25.0, n)]
            together = [1000 * (each // 1000) + each % 1000 / 10 for each in times]
            world = twins.run_twin(kind(n), bursts := twins.Changes([np.append(t, np.inf) for t in together]), n_polls)
            assert world.slots == n_polls
            found[kind] += sum(changed for *_, changed in bursts.log)
    assert found[twins.QuickTwin] > 1.02 * found[Even]


def test_the_policys_own_order_is_kept_whatever_the_scheduler():
    logs = []
    for scheduler in ("edf", "random"):
        world = twins.Changes(twins.bursty_changes(20, 500))
        simulate(RenewalIndexPolicy(), world, 500, scheduler=scheduler, n_runs=1, random_state=len(logs))
        logs.append(world.log)
    assert logs[0] == logs[1]


def debian_changes(start, stop, n_polls):
    """Upload times of each package in polls, from `start` to `stop` (days since 1970), and one that never comes."""
    items, times = load_debian_uploads()
    scaled = (times / 86_400 - start) * n_polls / (stop - start)
    return [np.append(scaled[items == each], 1e12) for each in np.unique(items)]


@pytest.mark.parametrize("polls_per_change", [1.5, 6, pytest.param(30, marks=pytest.mark.slow)])
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


def test_a_simulation_leaves_what_its_log_would_have_taught():
    world = twins.Changes(twins.bursty_changes(30, 2_000))
    polled = RenewalIndexPolicy()
    simulate(polled, world, 2_000)
    log = np.array(world.log)
    fitted = RenewalIndexPolicy(n_materials=30).fit(log[:, :2], log[:, 2])
    assert state_of(fitted) == state_of(polled)


def test_a_simulation_goes_on_where_the_last_one_stopped():
    changes = twins.bursty_changes(60, 4_000)
    whole, parts = twins.Changes(changes), twins.Changes(changes)
    simulate(RenewalIndexPolicy(), whole, 4_000)
    policy = RenewalIndexPolicy()
    simulate(policy, parts, 1_777)
    simulate(policy, parts, 4_000 - 1_777)
    assert parts.log == whole.log


@pytest.mark.parametrize("capacity", [0.125, 64.0, 2.0**-60, 2.0**60])
def test_nothing_depends_on_the_unit_of_time(capacity):
    X, y = poll_log(800, 15)
    scaled = X * [1, 1 / capacity]
    policy = RenewalIndexPolicy(capacity=capacity).fit(scaled, y)
    plain = RenewalIndexPolicy().fit(X, y)
    assert policy.rates_.tolist() == (plain.rates_ * capacity).tolist()
    assert policy.amounts_.tolist() == (plain.amounts_ * capacity).tolist()
    assert policy.suggest(15).tolist() == plain.suggest(15).tolist()


@pytest.mark.parametrize("balance", [0.0, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("budget", [0.01, 1.0, 300.0])
def test_long_run_amounts_give_all_items_the_same_index_when_polled(balance, budget):
    policy = RenewalIndexPolicy(balance=balance).fit(*poll_log(900, 30))
    amounts = policy.allocate(budget)
    assert math.fsum(amounts) == budget
    rate, polled = policy.rates_, amounts > 0
    weight = 1 - balance + balance / 30 / (4 * rate)
    price = weight[polled] * [gain(u) for u in rate[polled] / amounts[polled]]
    assert price == pytest.approx(price[0], rel=1e-9)
    assert (weight[~polled] <= price[0] * (1 + 1e-9)).all()


def test_every_slot_has_one_poll():
    items, times = load_debian_uploads()
    trace = TraceEnvironment(items, times / 86_400, start=18_000, stop=18_200)
    history = simulate(RenewalIndexPolicy(capacity=30.0), trace)
    assert history.item_polls.sum() == 200 * 30
    assert (history.item_polls > 0).all()


def test_balance_trades_changes_found_for_copies_that_are_current():
    items, times = load_debian_uploads()
    trace = TraceEnvironment(items, times / 86_400, start=18_100, stop=19_000)
    runs = [simulate(RenewalIndexPolicy(balance=a, capacity=10.0), trace) for a in (0.0, 0.5, 1.0)]
    found, fresh = zip(*((run.item_detections.sum(), run.item_fresh.mean()) for run in runs))
    uniform = simulate(UniformPolicy(capacity=10.0), trace, random_state=0)
    assert found[0] > found[2] > 1.1 * uniform.item_detections.sum()
    assert fresh[2] > fresh[1] > fresh[0]
    assert fresh[2] > uniform.item_fresh.mean()


@pytest.mark.parametrize("kind", [PollingEnvironment, BernoulliEnvironment])
def test_it_learns_in_the_papers_environments(kind):
    unchanged = np.exp(-np.geomspace(0.001, 1.0, 60))
    history = simulate(RenewalIndexPolicy(balance=0.0, capacity=2.0), kind(unchanged), 20_000, random_state=0)
    uniform = simulate(UniformPolicy(capacity=2.0), kind(unchanged), 20_000, random_state=0)
    assert history.mean()[-1] > 1.2 * uniform.mean()[-1]
    assert history.detections[0, -1] > 1.2 * uniform.detections[0, -1]


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


def test_newcomers_are_polled_soon():
    X, y = poll_log(400, 10)
    policy = RenewalIndexPolicy().fit(X, y).partial_fit([[10, 0.0]], [0])
    assert policy.materials_.tolist()[-1] == 10
    for _ in range(22):
        pick = policy.suggest()
        policy.partial_fit([[policy.materials_[pick[0]], 11.0]], [0])
        if pick[0] == 10:
            return
    raise AssertionError("the newcomer was never suggested")


def test_ages_say_what_the_clock_cannot():
    policy = RenewalIndexPolicy().fit(*poll_log(300, 8))
    for i in range(8):
        ages = np.zeros(8)
        ages[i] = 1e-3
        assert policy.suggest(ages=ages).tolist() == [i]
    same = policy.suggest(8, ages=policy.numbers_[0] + 1 - policy.items_[:8, 6])
    assert same.tolist() == policy.suggest(8).tolist()


@pytest.mark.parametrize("elapsed", [0.0, 5e-324, 1e-200, 1e200, 1.7e308])
@pytest.mark.parametrize("changed", [0, 1, [0, 1]])
@pytest.mark.parametrize("capacity", [1e-200, 1.0, 1e300])
def test_gaps_at_the_ends_of_the_range_leave_finite_rates(elapsed, changed, capacity):
    X = np.column_stack([np.arange(600) % 3, np.full(600, elapsed)])
    y = np.resize(changed, 600)
    policy = RenewalIndexPolicy(capacity=capacity).fit(X, y).partial_fit(X[::-1], y)
    assert np.isfinite(policy.rates_).all()
    assert (policy.rates_ >= 0).all()
    assert np.isfinite(policy.amounts_).all()
    assert math.fsum(policy.allocate()) == capacity
    assert sorted(policy.suggest(3).tolist()) == [0, 1, 2]


def test_a_changed_capacity_keeps_rates():
    policy = RenewalIndexPolicy().fit(*poll_log(500, 9))
    before = policy.rates_
    policy.set_params(capacity=50.0)
    assert policy.rates_ == pytest.approx(before)
    assert policy.amounts_.sum() == pytest.approx(50.0)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf, "0.5", None, [0.5], True])
def test_a_bad_balance_is_refused(value):
    policy = RenewalIndexPolicy(balance=value)
    with pytest.raises((ValueError, TypeError), match="balance"):
        policy.fit(*poll_log(30, 3))
    with pytest.raises((ValueError, TypeError), match="balance"):
        simulate(policy, PollingEnvironment([0.5, 0.6]), 10)


def test_a_balance_spoilt_after_fit_is_refused():
    policy = RenewalIndexPolicy().fit(*poll_log(30, 3)).set_params(balance=5)
    for question in (policy.suggest, policy.allocate):
        with pytest.raises(ValueError, match="balance"):
            question()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [({"n": 0}, "n must"), ({"n": 4}, "n must"), ({"n": 1.5}, "n must"), ({"n": None}, "n must"),
     ({"ages": [1.0, 2.0]}, "ages"), ({"ages": [1.0, 2.0, -1.0]}, "ages"), ({"ages": [1.0, 2.0, math.nan]}, "ages"),
     ({"ages": "abc"}, "ages")],
)  # fmt: skip
def test_bad_questions_are_refused(arguments, named):
    policy = RenewalIndexPolicy().fit(*poll_log(30, 3))
    with pytest.raises((ValueError, TypeError), match=named):
        policy.suggest(**arguments)


def test_nothing_is_suggested_before_the_first_poll():
    for question in ("suggest", "allocate"):
        with pytest.raises(NotFittedError):
            getattr(clone(RenewalIndexPolicy()), question)()


def test_it_suggests_from_the_first_poll_on_where_the_number_of_materials_is_known():
    policy = RenewalIndexPolicy(n_materials=5)
    assert policy.suggest(3).tolist() == [0, 1, 2]
    seen = []
    for _ in range(5):
        (k,) = policy.suggest(1)
        policy.partial_fit([[k, 1.0]], [0])
        seen.append(int(k))
    assert sorted(seen) == [0, 1, 2, 3, 4], "a first look at each"
    with pytest.raises(ValueError, match="n must be an integer in"):
        RenewalIndexPolicy(n_materials=5).suggest(6)
    with pytest.raises(NotFittedError):
        RenewalIndexPolicy().suggest(1)
