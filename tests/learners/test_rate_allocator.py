"""RateAllocator: exact budgets, the loop's kept price against the exact solution, and bad parameters."""

import copy
import math
import pickle
import signal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knapsolve import ChangeRateEstimator, InfeasibleError, RateAllocator, criteria, simulate, solve_nefk
from knapsolve._core.loop import run
from knapsolve._core.schedulers import DeadlineOrder
from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, zipf_unchanged
from tests.learners.cases import poll_log
from tests.rates.logs import gamma_rates, poisson_log

CRITERIA = {
    "detection": criteria.Detection,
    "freshness": criteria.Freshness,
    "poisson": criteria.PoissonFreshness,
    "harmonic": criteria.Harmonic,
    "renewal": criteria.Detection,
}
N = 30
SETTINGS = {
    "plain": {},
    "weights": {"weights": np.linspace(0.5, 2.0, N)},
    "bounds": {"lower": 0.002, "upper": np.linspace(0.05, 0.3, N)},
    "groups": {"groups": np.arange(N) % 4, "group_caps": [0.1, 0.2, 10.0, 0.3]},
}


def solution(criterion, rates, capacity, weights=1.0, **others):
    """The exact amounts and the worth of each weight, at the default balance."""
    worth = 0.2 + 0.8 * capacity / (4 * rates.size * rates) if criterion == "renewal" else np.ones(rates.size)
    return solve_nefk(CRITERIA[criterion](rates), capacity, weights=worth * weights, **others).amounts, worth


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(sorted(CRITERIA)), st.sampled_from(sorted(SETTINGS)), st.integers(0, 1000), st.floats(0.07, 1.0))
def test_allocations_solve_the_problem_and_sum_to_the_capacity_to_the_last_bit(criterion, which, seed, capacity):
    X, y, *_ = poisson_log(300, gamma_rates(N), seed)
    X[:N, 0] = np.arange(N)
    allocator = RateAllocator(criterion=criterion, **SETTINGS[which]).fit(X, y)
    amounts = allocator.allocate(capacity)
    assert math.fsum(amounts) == capacity
    expected = solution(criterion, allocator.rates_, capacity, **SETTINGS[which])[0]
    np.testing.assert_allclose(amounts, expected, rtol=1e-9, atol=1e-12 * capacity)
    assert (amounts >= 0).all()


@pytest.mark.parametrize("estimator", ["recursive", "mle"])
def test_the_balance_runs_from_changes_found_to_current_copies(estimator):
    X, y, *_ = poisson_log(300, gamma_rates(N))
    balanced, found, current = (
        RateAllocator(2.0, criterion=criterion, estimator=estimator).fit(X, y)
        for criterion in ("renewal", "detection", "freshness")
    )
    np.testing.assert_allclose(balanced.set_params(balance=1.0).allocate(), current.allocate(), rtol=1e-7, atol=1e-12)
    assert balanced.set_params(balance=0.0).allocate().tolist() == found.allocate().tolist()
    worth = [criteria.Freshness(found.rates_), criteria.Detection(found.rates_)]
    amounts = [balanced.set_params(balance=balance).allocate() for balance in (0.0, 0.5, 0.9, 1.0)]
    fresh, changes = (np.array([each.value(x).sum() for x in amounts]) for each in worth)
    assert (np.diff(fresh) > 0).all() and (np.diff(changes) < 0).all()


def test_rates_are_those_of_the_estimator():
    X, y, counts, _ = poisson_log(500, gamma_rates(9))
    table = np.column_stack([X, counts])
    for name in ("mle", "recursive", "bayes", "multiplicative"):
        allocator = RateAllocator(estimator=name, memory=50.0, n_changes=2).fit(table, y)
        estimator = ChangeRateEstimator(name, memory=50.0, n_changes=2).fit(table, y)
        assert allocator.rates_.tolist() == estimator.rates_.tolist()


def test_weights_bounds_and_groups_go_by_identifier_too():
    X, y = poll_log(200, 4)
    names = np.array([[f"m{int(k)}", gap] for k, gap in X], dtype=object)
    settings = {
        "weights": {"m1": 3.0},
        "upper": {"m0": 0.2},
        "groups": {"m2": "slow", "m3": "slow"},
        "group_caps": {"slow": 0.25},
    }
    allocator = RateAllocator(**settings).fit(names, y)
    place = {m: k for k, m in enumerate(allocator.materials_.tolist())}
    columns = {
        "weights": [3.0 if m == "m1" else 1.0 for m in place],
        "upper": [0.2 if m == "m0" else np.inf for m in place],
        "groups": [0 if m in ("m2", "m3") else -1 for m in place],
        "group_caps": [0.25],
    }
    expected = solve_nefk(criteria.Detection(allocator.rates_), 1.0, **columns).amounts
    np.testing.assert_allclose(allocator.amounts_, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scheduler", ["edf", "random"])
@pytest.mark.parametrize("which", SETTINGS)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_price_kept_in_the_loop_gives_the_exact_solution(criterion, which, scheduler):
    environment = PollingEnvironment(np.exp(-0.05 * gamma_rates(N)))
    allocator = RateAllocator(criterion=criterion, exploration=0.0, **SETTINGS[which])
    history = simulate(allocator, environment, 7_777, scheduler=scheduler, random_state=3)
    exact = allocator.allocate()
    *off, most = np.sort(np.abs(history.amounts[0] - exact))
    assert sum(off) < 1e-4 and most < 0.006  # one may activate at the very price: how much it then takes, chance says
    assert history.amounts[0].sum() == pytest.approx(exact.sum() - most, abs=1e-4) or most < 1e-4


@pytest.mark.parametrize("scheduler", ["edf", "random"])
@pytest.mark.parametrize("spread", [0.0, 1e-12, 1e-9])
@pytest.mark.parametrize("per_poll", [40.0, 300.0])
def test_amounts_sum_to_the_capacity_where_no_price_can_tell_the_items_apart(per_poll, spread, scheduler):
    """A poll finds a change nearly always, so that marginal values differ by less than a price can be told."""
    n = 200
    rates = gamma_rates(n)
    rates *= per_poll / rates.sum()
    allocator = RateAllocator(weights=1 + spread * np.linspace(0, 1, n))
    world = PollingEnvironment(np.exp(-rates))
    history = simulate(allocator, world, 20_000, scheduler=scheduler, random_state=0, record_every=1_000)
    learner = allocator._core()
    assert learner.amounts().sum() == pytest.approx(1.0, abs=1e-6)
    assert learner.kept[1] == pytest.approx(1.0, abs=1e-6)
    assert history.amounts[0].sum() == pytest.approx(1.0, abs=1e-6)
    assert (history.value[0] <= criteria.Detection(rates).value(rates / rates.sum()).sum() + 1e-6).all()
    assert history.value[0, -1] > 0.995


@pytest.mark.parametrize(
    ("criterion", "near"), [("freshness", 0.1), ("poisson", 1e-3), ("harmonic", 1e-3), ("renewal", 0.1)]
)
def test_between_exact_sums_the_kept_price_stays_near_the_exact_one(criterion, near):
    n = 400
    world = PollingEnvironment(np.exp(-gamma_rates(n, shape=3.0)))
    allocator = RateAllocator(40.0, criterion=criterion, weights=np.linspace(0.5, 2.0, n), exploration=0.0)
    simulate(allocator, world, 5_000, random_state=0)
    learner, streams = allocator._core(), [np.random.default_rng(seed) for seed in (1, 2)]
    order = DeadlineOrder(n, DeadlineOrder.allocate(n))
    order.start(learner, streams[0])
    start = learner.kept[0]
    run(learner, order, world._core(), 0, 390, 0.0, 1 / 40.0, *streams)
    price, total = learner.kept
    exact = allocator._problem(allocator.materials_).solve(allocator.rates_, 40.0).price
    assert total == pytest.approx(40.0, rel=1e-6)
    assert price == pytest.approx(exact, rel=near)  # freshness: slopes are infinite where items activate
    if near < 0.1:
        assert abs(price - exact) < 0.2 * abs(start - exact)


@pytest.mark.parametrize("criterion", ["freshness", "poisson"])
def test_in_the_loop_no_material_is_lost_for_good(criterion):
    n = 50
    environment = PollingEnvironment(np.exp(-gamma_rates(n)))
    allocator = RateAllocator(criterion=criterion, exploration=0.2)
    history = simulate(allocator, environment, 40_000, random_state=0)
    assert history.amounts[0].min() >= 0.2 / n * (1 - 1e-9)
    true = -np.log(environment.unchanged)
    assert np.median(np.abs(allocator.rates_ / true - 1)) < 0.5
    assert (allocator.allocate() == 0).any()


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["recursive", "bayes", "mle"])
@pytest.mark.parametrize("criterion", ["freshness", "poisson", "renewal"])
def test_no_material_stays_locked_out_by_polls_that_were_sure_to_find_a_change(criterion, estimator):
    pair = -np.log(zipf_unchanged(2, 0.9, 1.5))
    for true, n_polls in ((pair, 20_000), (gamma_rates(100, seed=1), 40_000)):
        value, (best, worth) = CRITERIA[criterion](true).value, solution(criterion, true, 1.0)
        for seed in range(3):
            allocator = RateAllocator(criterion=criterion, estimator=estimator)
            simulate(allocator, PollingEnvironment(np.exp(-true)), n_polls, random_state=seed)
            found = worth @ value(allocator.amounts_) / (worth @ value(best))
            assert found > 0.96, (true.size, seed)


@pytest.mark.parametrize("estimator", ["recursive", "bayes", "mle", "multiplicative"])
@pytest.mark.parametrize("environment", [BernoulliEnvironment, PollingEnvironment])
def test_every_estimator_finds_the_optimum_in_the_loop(estimator, environment):
    world = environment(zipf_unchanged(40, 0.9, 1.0))
    best = -np.log(world.unchanged)
    allocator = RateAllocator(estimator=estimator, gain=0.05)
    history = simulate(allocator, world, 20_000, random_state=1)
    assert history.value[0, -1] > 0.97 * world.value(best / best.sum())
    assert np.isfinite(allocator.rates_).all()


def test_a_run_in_parts_goes_on_from_what_was_learnt():
    world = PollingEnvironment(zipf_unchanged(40, 0.9, 1.0))
    for estimator in ("recursive", "mle"):
        allocator = RateAllocator(estimator=estimator)
        early = simulate(allocator, world, 400, random_state=1).value[0, -1]
        late = simulate(allocator, world, 20_000, random_state=2).value[0, -1]
        assert late > early
        rates = allocator.rates_
        allocator.partial_fit([[0, 5.0]], [0])
        assert allocator.rates_[0] < rates[0]


def test_the_exact_estimator_in_the_loop_goes_by_its_whole_log():
    world = PollingEnvironment(zipf_unchanged(50, 0.9, 1.5))
    for n_polls in (50, 100, 150, 200, 250, 312):  # here one part of the log is full, and the next is opened
        allocator = RateAllocator(estimator="mle")
        history = simulate(allocator, world, n_polls, random_state=0)
        anew = pickle.loads(pickle.dumps(allocator))  # fits are not pickled
        assert sum((part.codes >= 0).sum() for part in anew._model.parts) == n_polls
        assert allocator.rates_.tolist() == anew.rates_.tolist()
        assert history.amounts[0].tolist() == anew.allocate().tolist()


BAD = {
    "estimator": ({"estimator": "best"}, "estimator.*best"),
    "criterion": ({"criterion": "luck"}, "criterion.*luck"),
    "capacity": ({"capacity": -1.0}, "capacity.*-1.0"),
    "balance": ({"criterion": "renewal", "balance": 1.5}, "balance.*1.5"),
    "exploration": ({"exploration": 1.5}, "exploration.*1.5"),
    "negative weights": ({"weights": -1.0}, "weights.*-1.0"),
    "short weights": ({"weights": [1.0, 2.0]}, "weights.*4.*2"),
    "nan weights": ({"weights": {0: float("nan")}}, "weights.*nan"),
    "text bounds": ({"upper": "much"}, "upper"),
    "groups alone": ({"groups": [0, 0, 0, 0]}, "groups and group_caps"),
    "strange group": ({"groups": [0, 0, 0, 9], "group_caps": [1.0]}, "groups.*9"),
    "short groups": ({"groups": [0, 0], "group_caps": [1.0]}, "groups.*4.*2"),
    "a column's name": ({"groups": "host", "group_caps": 1.0}, "groups must be .*, not a column's name, got 'host'"),
    "no array": ({"groups": len, "group_caps": 1.0}, "groups must be an array or a mapping"),
    "other materials": ({"groups": {"x": "a"}, "group_caps": {"a": 1.0}}, "groups must go by the materials.*'x'"),
    "other lengths": ({"groups": ["a"], "group_caps": 1.0}, "groups must have 4 entries, got 1"),
    "negative cap by name": (
        {"groups": list("aabb"), "group_caps": {"a": 1.0, "b": -2.0}},
        r"group_caps\['b'\].*got -2.0$",
    ),
    "negative cap": ({"groups": [0, 0, 0, 0], "group_caps": [-1.0]}, "group_caps.*-1.0"),
    "memory": ({"memory": -2.0}, "memory.*-2.0"),
}


@pytest.mark.parametrize(("parameters", "pattern"), BAD.values(), ids=BAD)
def test_bad_parameters_are_refused_by_name(parameters, pattern):
    with pytest.raises((ValueError, TypeError), match=pattern):
        RateAllocator(**parameters).fit(*poll_log(50, 4))


def test_bounds_that_no_amounts_meet_are_infeasible():
    allocator = RateAllocator(lower=0.5).fit(*poll_log(50, 4))
    with pytest.raises(InfeasibleError, match="lower"):
        allocator.allocate(1.0)


@pytest.mark.parametrize("estimator", ["bayes", "recursive"])
def test_an_interrupted_batch_is_learnt_wholly_or_not_at_all(estimator, monkeypatch):
    X, y = np.column_stack([np.arange(30_000) % 50, np.ones(30_000)]), np.arange(30_000) % 3 == 0
    allocator = RateAllocator(estimator=estimator).fit(X[:1000], y[:1000])
    before = allocator.rates_.tolist()
    after = copy.deepcopy(allocator).partial_fit(X[1000:], y[1000:]).rates_.tolist()

    def interrupt(*arguments):
        raise KeyboardInterrupt

    interrupted = 0
    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        for delay in np.geomspace(1e-3, 3e-2, 10):
            again = copy.deepcopy(allocator)
            signal.setitimer(signal.ITIMER_REAL, delay)
            try:
                again.partial_fit(X[1000:], y[1000:])
            except KeyboardInterrupt:
                interrupted += 1
                assert again.rates_.tolist() in (before, after)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert interrupted
