"""The renewal index policy spends its budget, learns online, and says what it is not made for."""

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from knapsolve import RenewalIndexPolicy, UniformPolicy, simulate
from knapsolve._core.renewal import gain
from knapsolve.datasets import load_debian_uploads
from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, TraceEnvironment
from tests.learners import renewal_twins as twins
from tests.learners.cases import poll_log, state_of


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


@pytest.mark.slow
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
