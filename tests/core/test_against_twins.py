"""The compiled loop equals its plain Python twins bit for bit."""

import numpy as np
import pytest

from knapsolve import HTRAA, LAKG, OptimalPolicy, simulate
from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, TraceEnvironment, zipf_unchanged
from tests.twins import FixedTwin, HTRAATwin, LAKGTwin, RatesTwin, TraceTwin, simulate_twin

N_POLLS = 6_000
ENVIRONMENTS = {False: BernoulliEnvironment, True: PollingEnvironment}


def same_loop(learner, twin, unchanged, pages, scheduler, switch_every=None, seed=5, n_polls=N_POLLS):
    world = RatesTwin(unchanged, pages, switch_every)
    found = simulate_twin(twin, world, n_polls, scheduler, seed)
    environment = ENVIRONMENTS[pages](unchanged, switch_every=switch_every)
    history = simulate(learner, environment, n_polls, scheduler=scheduler, random_state=seed)
    assert history.detections[0, -1] == found
    assert history.value[0, -1] == pytest.approx(world.value(history.amounts[0]), rel=1e-12)
    return history


@pytest.mark.parametrize("scheduler", ["random", "edf"])
@pytest.mark.parametrize("environment", [BernoulliEnvironment, PollingEnvironment])
@pytest.mark.parametrize(
    ("n", "resolution"), [(2, 10), (3, 511), (8, 500), (9, 500), (100, (9, 40, 511, 20, 5, 7, 300)), (1500, 30)]
)
def test_htraa_is_the_same_with_vectors_and_without(n, resolution, environment, scheduler, monkeypatch):
    world = environment(zipf_unchanged(n, 0.9, 0.8))
    histories = []
    for vectors in (True, False):
        learner = HTRAA(resolution=resolution, capacity=0.7)
        if not vectors:
            with_vectors = HTRAA._core

            def without(self, with_vectors=with_vectors):
                core = with_vectors(self)
                core.forgo_vectors()
                return core

            monkeypatch.setattr(HTRAA, "_core", without)
        history = simulate(learner, world, 3_000, scheduler=scheduler, random_state=5)
        histories.append((learner.states_.tolist(), history.amounts.tolist(), history.detections.tolist()))
    assert histories[0] == histories[1]


@pytest.mark.parametrize("scheduler", ["random", "edf"])
@pytest.mark.parametrize("pages", [False, True])
@pytest.mark.parametrize(
    ("n", "resolution", "exponent", "capacity"),
    [(2, 7, 1.0, 1.0), (9, 40, 1.3, 1.0), (37, 200, 1.2, 2.5), (65, 150, 1.1, 0.9)],
)
def test_lakg_equals_its_twin(n, resolution, exponent, capacity, pages, scheduler):
    unchanged = zipf_unchanged(n, 0.9, 1.2)
    learner = LAKG(resolution=resolution, exponent=exponent, capacity=capacity)
    twin = LAKGTwin(n, resolution, exponent, capacity)
    history = same_loop(learner, twin, unchanged, pages, scheduler)
    assert learner.states_.tolist() == twin.states
    assert history.amounts[0].tolist() == [twin.amount(i) for i in range(n)]
    assert len(set(twin.states)) > 1, "nothing was learnt: the comparison would be empty"


@pytest.mark.parametrize("scheduler", ["random", "edf"])
@pytest.mark.parametrize("update", ["reward-penalty", "reward-inaction", "inaction-penalty"])
@pytest.mark.parametrize(
    ("n", "resolution", "exponent"),
    [
        (2, 10, 1.0),
        (11, 30, 1.0),
        (32, 511, 1.0),
        (13, 512, 1.0),
        (21, (9, 40, 700, 20, 5), 1.0),
        (11, 30, 1.7),
        (6, 20, 0.6),
    ],
)
def test_htraa_equals_its_twin(n, resolution, exponent, update, scheduler):
    unchanged = zipf_unchanged(n, 0.9, 1.0, n_perturbations=20, random_state=1)
    learner = HTRAA(resolution=resolution, exponent=exponent, update=update, capacity=1.5)
    resolutions = [resolution] * 10 if isinstance(resolution, int) else list(resolution)
    twin = HTRAATwin(n, resolutions, exponent, update, capacity=1.5)
    history = same_loop(learner, twin, unchanged, n % 2 == 0, scheduler, n_polls=4_000)
    assert {k: int(learner.states_[k]) for k in twin.states} == twin.states
    assert history.amounts[0] == pytest.approx([twin.amount(i) for i in range(n)], rel=1e-14)
    assert len(set(twin.states.values())) > 1 or n == 2


@pytest.mark.parametrize("scheduler", ["random", "edf"])
@pytest.mark.parametrize("pages", [False, True])
@pytest.mark.parametrize("switch_every", [1, 7, 500])
def test_rank_switching_equals_its_twin(pages, scheduler, switch_every):
    unchanged = zipf_unchanged(12, 0.9, 1.0)
    twin = LAKGTwin(12, 50, 1.3)
    learner = LAKG(resolution=50, exponent=1.3)
    same_loop(learner, twin, unchanged, pages, scheduler, switch_every)
    assert learner.states_.tolist() == twin.states


@pytest.mark.parametrize("scheduler", ["random", "edf"])
def test_materials_that_always_change_may_switch_ranks(scheduler):
    unchanged = [0.0, 0.9, 0.5, 1.0]
    twin, learner = LAKGTwin(4, 30, 1.0), LAKG(resolution=30, exponent=1.0)
    same_loop(learner, twin, unchanged, True, scheduler, switch_every=3)
    assert learner.states_.tolist() == twin.states


@pytest.mark.parametrize("scheduler", ["random", "edf"])
@pytest.mark.parametrize("pages", [False, True])
def test_fixed_amounts_equal_their_twin(pages, scheduler):
    unchanged = zipf_unchanged(70, 0.8, 1.1, n_perturbations=100, random_state=0)
    policy = OptimalPolicy(unchanged=unchanged, capacity=3.0)
    environment = ENVIRONMENTS[pages](unchanged)
    history = simulate(policy, environment, N_POLLS, scheduler=scheduler, random_state=2)
    twin = FixedTwin(history.amounts[0])
    twin.capacity = 3.0
    assert history.detections[0, -1] == simulate_twin(
        twin, RatesTwin(unchanged, pages), N_POLLS, scheduler, 2
    )


@pytest.mark.parametrize("scheduler", ["random", "edf"])
def test_trace_replay_equals_its_twin(scheduler):
    rng = np.random.default_rng(3)
    items = rng.choice(list("abcdefg"), size=400, p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05])
    times = np.sort(rng.integers(0, 1000, 400)) / 4  # repeated times and times that fall on polls
    start, stop, capacity = 10.0, 240.0, 4.0
    trace = TraceEnvironment(items, times, start, stop)
    learner = LAKG(resolution=60, exponent=1.2, capacity=capacity)
    history = simulate(learner, trace, scheduler=scheduler, random_state=9)
    n_polls = history.polls[-1]
    assert n_polls == (stop - start) * capacity
    twin, world = LAKGTwin(7, 60, 1.2, capacity), TraceTwin(items, times, start, stop)
    assert history.detections[0, -1] == simulate_twin(twin, world, n_polls, scheduler, 9, start=start)
    assert learner.states_.tolist() == twin.states
    assert history.item_polls[0].tolist() == [len(polls) for polls in world.polls_at]
    assert history.item_fresh[0] == pytest.approx([world.fresh(i) for i in range(7)], rel=1e-12)
    assert history.item_detections[0].sum() == history.detections[0, -1]


def test_every_run_of_an_ensemble_equals_its_twin():
    unchanged = zipf_unchanged(10, 0.9, 1.5)
    history = simulate(
        LAKG(resolution=60),
        BernoulliEnvironment(unchanged),
        2_000,
        scheduler="random",
        n_runs=7,
        random_state=4,
    )
    for run in range(7):
        twin = LAKGTwin(10, 60, 1.3)
        assert history.detections[run, -1] == simulate_twin(
            twin, RatesTwin(unchanged, False), 2_000, "random", 4, run
        )
        assert history.amounts[run].tolist() == [twin.amount(i) for i in range(10)]
