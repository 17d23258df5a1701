"""simulate: one answer per seed, whatever runs it, in whatever number."""

import pickle

import joblib
import numpy as np
import pytest

from knapsolve import (
    HTRAA,
    LAKG,
    EstimatorPolicy,
    History,
    OptimalPolicy,
    simulate,
)
from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, zipf_unchanged

UNCHANGED = zipf_unchanged(20, 0.9, 1.2)
BERNOULLI, PAGES = BernoulliEnvironment(UNCHANGED), PollingEnvironment(UNCHANGED)
LEARNERS = {
    "lakg": LAKG(resolution=100),
    "htraa": HTRAA(resolution=50),
    "htraa-curved": HTRAA(resolution=50, exponent=1.3, update="inaction-penalty"),
    "estimator": EstimatorPolicy(phase=700),
    "optimal": OptimalPolicy(unchanged=UNCHANGED),
}


def same(a: History, b: History):
    assert a.polls.tolist() == b.polls.tolist()
    assert a.detections.tolist() == b.detections.tolist()
    assert a.amounts.tolist() == b.amounts.tolist()
    assert (a.value is None and b.value is None) or a.value.tolist() == b.value.tolist()


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize("scheduler", ["edf", "random"])
def test_the_answer_does_not_depend_on_n_jobs_or_engine(learner, scheduler):
    def run(n_jobs):
        environment = PollingEnvironment(UNCHANGED, switch_every=300)
        return simulate(
            learner, environment, 3_000, scheduler=scheduler, n_runs=18, n_jobs=n_jobs, random_state=1
        )

    one = run(1)
    for n_jobs in (2, 3, -1, None):
        same(one, run(n_jobs))
    with joblib.parallel_config(backend="sequential"):
        same(one, run(2))
    assert len({tuple(row) for row in one.detections.tolist()}) > 1


@pytest.mark.slow
def test_the_answer_does_not_depend_on_processes():
    one = simulate(LEARNERS["lakg"], BERNOULLI, 2_000, n_runs=4, random_state=1)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        same(one, simulate(LEARNERS["lakg"], BERNOULLI, 2_000, n_runs=4, n_jobs=2, random_state=1))


@pytest.mark.slow
def test_large_learners_are_trained_in_processes_too():
    learner = HTRAA(resolution=500, n_materials=300_000)  # above a megabyte, which joblib would map read-only
    environment = BernoulliEnvironment(np.full(300_000, 0.5))
    one = simulate(learner, environment, 50, n_runs=2, random_state=1)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        same(one, simulate(learner, environment, 50, n_runs=2, n_jobs=2, random_state=1))


def test_runs_are_those_of_a_longer_ensemble():
    few = simulate(LEARNERS["htraa"], BERNOULLI, 1_000, n_runs=2, random_state=5)
    many = simulate(LEARNERS["htraa"], BERNOULLI, 1_000, n_runs=33, random_state=5)
    assert many.detections[:2].tolist() == few.detections.tolist()
    assert many.amounts[:2].tolist() == few.amounts.tolist()


def test_a_single_run_is_the_first_of_an_ensemble():
    single = simulate(LAKG(resolution=100), BERNOULLI, 1_000, random_state=5)
    same_first = simulate(LAKG(resolution=100), BERNOULLI, 1_000, n_runs=20, random_state=5)
    assert same_first.detections[0].tolist() == single.detections[0].tolist()
    assert same_first.value[0].tolist() == single.value[0].tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda: 3,
        lambda: np.int64(3),
        lambda: np.random.RandomState(3),
        lambda: np.random.default_rng(3),
        lambda: np.random.Generator(np.random.MT19937(3)),
        lambda: np.random.SeedSequence(3),
    ],
    ids=["int", "numpy-int", "RandomState", "Generator", "MT19937", "SeedSequence"],
)
@pytest.mark.parametrize("n_runs", [1, 3])
def test_every_kind_of_random_state_reproduces(make, n_runs):
    def run():
        return simulate(LAKG(resolution=100), BERNOULLI, 1_000, n_runs=n_runs, random_state=make())

    same(run(), run())


def test_a_generator_goes_on_and_so_does_a_random_state():
    for make in (np.random.default_rng, np.random.RandomState):
        source = make(0)
        first = simulate(LAKG(resolution=100), BERNOULLI, 1_000, random_state=source)
        second = simulate(LAKG(resolution=100), BERNOULLI, 1_000, random_state=source)
        assert first.detections.tolist() != second.detections.tolist()
        restored = pickle.loads(pickle.dumps(source))
        same(
            simulate(LAKG(resolution=100), BERNOULLI, 1_000, random_state=source),
            simulate(LAKG(resolution=100), BERNOULLI, 1_000, random_state=restored),
        )


def test_no_seed_gives_another_answer_each_time():
    runs = [simulate(LAKG(resolution=100), BERNOULLI, 1_000).detections.tolist() for _ in range(2)]
    assert runs[0] != runs[1]
