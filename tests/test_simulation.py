"""simulate: what a run leaves behind, what its record says, and what it tells on the way."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from knapsolve import (
    LAKG,
    EDFScheduler,
    EstimatorPolicy,
    OptimalPolicy,
    ProportionalPolicy,
    RandomScheduler,
    RateAllocator,
    UniformPolicy,
    WhittlePolicy,
    simulate,
)
from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, zipf_unchanged
from tests.learners.cases import LEARNERS as LEARNERS_OF_LOGS
from tests.test_seeds import BERNOULLI, PAGES, UNCHANGED


def test_ensembles_leave_the_learner_alone_and_single_runs_train_it():
    learner = LAKG(resolution=100)
    simulate(learner, BERNOULLI, 1_000, n_runs=3, random_state=0)
    assert not hasattr(learner, "materials_")
    history = simulate(learner, BERNOULLI, 1_000, random_state=0)
    assert learner.amounts_.tolist() == history.amounts[0].tolist()
    again = simulate(learner, BERNOULLI, 1_000, random_state=0)
    assert again.amounts.tolist() != history.amounts.tolist(), (
        "a second run goes on from where the first ended"
    )


def test_a_simulated_learner_goes_on_from_a_log():
    learner = LAKG(resolution=100)
    simulate(learner, PAGES, 1_000, random_state=0)
    learner.partial_fit([[0, 1.0], [19, 2.0]], [1, 0])
    assert learner.materials_.size == 20
    learner.partial_fit([[77, 1.0], [3, 2.0]], [1, 0])
    assert learner.materials_.tolist() == [*range(20), 77]


@pytest.mark.parametrize("polls", [100, 700, 701, 1_500])
@pytest.mark.parametrize("estimate", ["mle", "detection-rate"])
def test_an_estimator_policy_may_stop_and_go_on_within_its_phase(polls, estimate):
    policy = EstimatorPolicy(phase=700, estimate=estimate)
    history = simulate(policy, PAGES, polls, scheduler="random", random_state=3)
    assert policy.amounts_.tolist() == history.amounts[0].tolist()
    uniform = np.ptp(policy.amounts_) < 1e-12
    assert uniform == (polls < 700)
    log = policy._logged(700)
    assert log[0].size == min(polls, 700)
    policy.partial_fit([[k % 20, 1.0] for k in range(700)], [k % 20 == 4 for k in range(700)])
    assert np.ptp(policy.amounts_) > 1e-6


def test_history_has_the_documented_shapes():
    history = simulate(LAKG(resolution=100), BERNOULLI, 1_000, n_runs=3, record_every=300, random_state=0)
    assert history.polls.tolist() == [300, 600, 900, 1_000]
    assert history.value.shape == history.detections.shape == (3, 4)
    assert history.amounts.shape == (3, 20)
    assert history.mean() == pytest.approx(history.value.mean(axis=0))
    error = history.value.std(axis=0, ddof=1) / np.sqrt(3)
    assert history.standard_error() == pytest.approx(error)
    assert history.value[:, -1] == pytest.approx([BERNOULLI.value(x) for x in history.amounts])
    assert (np.diff(history.detections, axis=1) >= 0).all()
    assert (history.detections[:, -1] <= 1_000).all()
    single = simulate(LAKG(resolution=100), BERNOULLI, 1_000, random_state=0)
    assert np.isinf(single.standard_error()).all()
    assert single.polls.size == 100


def test_history_is_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    for n_runs in (1, 2, 3):
        ax = simulate(LAKG(resolution=100), BERNOULLI, 1_000, n_runs=n_runs, random_state=0).plot(label="LAKG")
        assert ax.get_xlabel() == "polls"
        assert len(ax.lines) == 1
        assert len(ax.collections) == (n_runs == 3)  # the band


@pytest.mark.parametrize("switch_every", [100, 1_000, 20_000])
@pytest.mark.parametrize("record_every", [100, 500, None])
def test_records_are_staggered_over_the_phase_of_the_switching(switch_every, record_every):
    environment = PollingEnvironment(UNCHANGED, switch_every=switch_every)
    history = simulate(LAKG(resolution=100), environment, 200_000, record_every=record_every, random_state=0)
    assert (np.diff(history.polls) > 0).all()
    assert history.polls[-1] == 200_000
    phases = history.polls[:-1] % switch_every / switch_every
    if phases.size > 50:
        assert np.histogram(phases, bins=4, range=(0, 1))[0].min() > phases.size / 8
        assert (phases == 0).mean() < 0.05


def test_progress_is_reported_to_the_end():
    for n_runs in (1, 4):
        seen: list[tuple[int, int]] = []
        simulate(
            LAKG(resolution=100),
            BERNOULLI,
            200_000,
            n_runs=n_runs,
            random_state=0,
            progress=lambda *at, seen=seen: seen.append(at),
        )
        assert seen[-1] == (n_runs * 200_000,) * 2
        assert [done for done, _ in seen] == sorted(done for done, _ in seen)
        assert len(seen) >= n_runs


def test_schedulers_and_learners_may_share_threads():
    """Compiled code holds the generator's lock: threads that share one do not corrupt it."""
    generator = np.random.default_rng(0)
    schedulers = [RandomScheduler(np.ones(5), random_state=generator) for _ in range(4)]
    drawn = joblib.Parallel(n_jobs=4, prefer="threads")(joblib.delayed(s.next)(200_000) for s in schedulers)
    assert all(abs(np.bincount(m) - 40_000).max() < 1_500 for m, _ in drawn)
    assert EDFScheduler([1.0], random_state=generator).next()[0].tolist() == [0]


def test_policies_poll_as_they_should():
    """Optimal beats proportional beats uniform; where polls are not saturated the estimator comes near."""
    unchanged = zipf_unchanged(20, 0.2, 1.2)

    def value(policy, environment=BernoulliEnvironment):
        return simulate(policy, environment(unchanged), 30_000, random_state=0).value[0, -1]

    best = value(OptimalPolicy(unchanged=unchanged))
    assert best == pytest.approx(1 - np.exp(np.log(unchanged).sum()), rel=1e-12)
    proportional, uniform = value(ProportionalPolicy(unchanged=unchanged)), value(UniformPolicy())
    assert uniform < proportional < best
    for environment in (BernoulliEnvironment, PollingEnvironment):
        estimated = value(EstimatorPolicy(phase=20_000), environment)
        naive = value(EstimatorPolicy(phase=20_000, estimate="detection-rate"), environment)
        assert uniform < naive < estimated < best
        assert estimated == pytest.approx(best, abs=0.002)


class WearingOut:
    """A stateful environment with random numbers of its own: changes get rarer with every poll."""

    n_materials = 3

    def __init__(self):
        self.polls, self.generator = 0, np.random.default_rng(5)

    def poll(self, i, time, amount):
        self.polls += 1
        return self.generator.random() < 100 / (100 + self.polls), 1.0


def test_runs_on_a_stateful_environment_start_alike_whatever_the_jobs():
    learner, environment = LAKG(resolution=50), WearingOut()
    one, two = (
        simulate(learner, environment, 2000, n_runs=3, n_jobs=n_jobs, random_state=0) for n_jobs in (1, 2)
    )
    assert one.detections.tolist() == two.detections.tolist()
    assert one.amounts.tolist() == two.amounts.tolist()
    assert environment.polls == 0
    alone = simulate(LAKG(resolution=50), environment, 2000, random_state=0)
    assert abs(int(one.detections[2, -1]) - int(alone.detections[0, -1])) < 100  # not worn out by runs before
    assert environment.polls == 2000


def test_a_history_is_shown_in_one_line():
    history = simulate(LAKG(resolution=100), BERNOULLI, 1_000, n_runs=2, record_every=500, random_state=0)
    mean = f"{history.mean()[-1]:.6g}"
    assert repr(history) == (
        f"<History: 2 runs, 2 records, mean {mean} value (changes found per unit of time) at the end>"
    )
    single = simulate(LAKG(resolution=100), BERNOULLI, 1_000, random_state=0)
    assert repr(single).startswith("<History: 1 run, 100 records, ")


RECORDED = {
    **LEARNERS_OF_LOGS,
    **{name: RateAllocator(criterion=name) for name in ("freshness", "poisson", "harmonic")},
    "hosts": RateAllocator(criterion="harmonic", groups={k: k % 3 for k in range(20)}, group_caps={0: 0.1}),
}


@pytest.mark.parametrize("scheduler", ["edf", pytest.param("random", marks=pytest.mark.slow)])
@pytest.mark.parametrize("learner", RECORDED.values(), ids=RECORDED)
def test_recording_changes_nothing(learner, scheduler):
    """Amounts are told from what is held, and what is held stays as it was."""
    runs = [
        simulate(clone(learner), PAGES, 1_500, scheduler=scheduler, record_every=every, random_state=4)
        for every in (1_500, 50, 1)
    ]
    for run in runs[1:]:
        assert run.detections[0, -1] == runs[0].detections[0, -1]
        assert run.amounts.tolist() == runs[0].amounts.tolist()


def test_many_rewards_are_told_and_drawn_by_their_mean():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    history = WhittlePolicy([250] * 4, [0.7, 0.35, 0.7, 0.21], n_crawls=1).simulate(1234)
    assert f"mean {history.reward.mean():.6g} reward" in repr(history)
    (line,) = history.plot().lines
    polls, drawn = line.get_data()
    assert polls.tolist() == list(range(12, 1225, 12))
    assert drawn == pytest.approx(history.reward[:1224].reshape(-1, 12).mean(axis=1))
    plt.close()


@pytest.mark.filterwarnings("ignore:nothing to choose from")
@pytest.mark.parametrize("capacity", [5.0, 1e20, 1e300])
def test_a_game_that_can_never_be_full_polls_all_alike(capacity):
    learner = LAKG(resolution=300, capacity=capacity).fit([[0, 1.0], [1, 2.0], [2, 3.0]], [1, 0, 1])
    history = simulate(learner, BernoulliEnvironment([0.2, 0.3, 0.4]), 300, scheduler="random", random_state=0)
    assert history.amounts.tolist() == [[1.0, 1.0, 1.0]]
