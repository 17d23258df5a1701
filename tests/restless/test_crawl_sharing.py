"""Policies, environments and crawl learners may be shared by threads and copied; allocate changes nothing."""

import copy
import pickle
import textwrap
import threading

import joblib
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from knapsolve import LSPEWhittle, PlugInWhittle, WhittlePolicy
from knapsolve.environments import EphemeralEnvironment
from knapsolve.restless import simulate_ephemeral
from tests.processes import check_script

X, Y = np.column_stack([np.arange(50) % 5, np.ones(50)]), np.arange(50) % 7
PREAMBLE = """
import sys, threading
import numpy as np
from knapsolve import LSPEWhittle, PlugInWhittle, WhittlePolicy
from knapsolve.environments import EphemeralEnvironment
sys.setswitchinterval(1e-6)
errors = []

def share(work):
    def guarded(k):
        try:
            work(k)
        except BaseException as error:
            errors.append(error)
            raise
    threads = [threading.Thread(target=guarded, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
"""
THREADS = {
    "policy": """
        make = lambda: WhittlePolicy(np.linspace(1, 9, 3000), np.linspace(.1, .9, 3000), 3)
        shared, alone, steps = make(), make(), []
        share(lambda k: steps.extend(tuple(shared.step()) for _ in range(500)))
        assert sorted(steps) == sorted(tuple(alone.step()) for _ in range(1500))
        """,
    "environment": """
        make = lambda: EphemeralEnvironment([3.0] * 50, [.3] * 50, dynamics="mean")
        shared, alone, contents = make(), make(), []
        share(lambda k: contents.extend(shared.crawl([0, 7]).sum() for _ in range(5000)))
        assert sorted(contents) == sorted(alone.crawl([0, 7]).sum() for _ in range(15_000))
        """,
    "learner": """
        learner = {learner}.fit(np.column_stack([np.arange(4), np.ones(4)]), [1, 0, 1, 0])
        def work(k):
            for j in range(20):
                sites = np.arange({newcomers} * (3 * j + k), {newcomers} * (3 * j + k) + 40) % 900
                X = np.column_stack([np.concatenate([sites] * 20), np.ones(800)])
                learner.partial_fit(X, np.arange(800) % 3)
                learner.allocate(2), learner.ages_, learner.arrival_errors_
        share(work)
        assert learner.n_crawls_.sum() == 4 + 3 * 20 * 800
        """,
}


@pytest.mark.parametrize(
    ("script", "learner", "newcomers"),
    [("policy", "", 0), ("environment", "", 0)]
    + [("learner", "PlugInWhittle()", 7), ("learner", "LSPEWhittle(degree=1, random_state=0)", 0)],
)
def test_threads_take_turns(script, learner, newcomers):
    work = textwrap.dedent(THREADS[script]).replace("{learner}", learner).replace("{newcomers}", str(newcomers))
    check_script(PREAMBLE + work, seconds=100)


def test_an_environment_owns_what_it_was_made_of():
    rates, decays, limits = np.full(5, 1.0), np.full(5, 0.3), np.full(5, 9.0)
    environment = EphemeralEnvironment(rates, decays, limits, dynamics="mean")
    expected = copy.deepcopy(environment).crawl([0, 4])
    for array in (rates, decays, limits):
        array[:] = 1e300
    assert np.array_equal(environment.crawl([0, 4]), expected)
    for name in ("arrival_rates", "decay_rates", "max_age"):
        with pytest.raises(AttributeError):
            setattr(environment, name, rates)
        for each in (environment, copy.copy(environment), pickle.loads(pickle.dumps(environment))):
            with pytest.raises(ValueError, match="read-only"):
                getattr(each, name)[0] = 1.0


def test_a_copied_environment_has_a_clock_and_random_numbers_of_its_own(tmp_path):
    def mapped(environment):
        joblib.dump(environment, tmp_path / "environment")
        return joblib.load(tmp_path / "environment", mmap_mode="r")

    for copied in (copy.copy, copy.deepcopy, mapped):
        environment = EphemeralEnvironment(np.full(300, 9.0), np.full(300, 0.3), random_state=0)
        environment.crawl([1])
        twin = copied(environment)
        contents = [environment.crawl([0, 1]).tolist() for _ in range(5)]
        assert [twin.crawl([0, 1]).tolist() for _ in range(5)] == contents
        assert environment.step_ == twin.step_ == 6


@pytest.mark.parametrize("kind", [PlugInWhittle, LSPEWhittle])
def test_a_copied_learner_goes_its_own_way(kind):
    learner = kind(random_state=0).fit(X, Y)
    before = {name: getattr(learner, name).copy() for name in learner._state_names}
    for copied in (copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))):
        copied(learner).partial_fit(X, Y)
        for name, array in before.items():
            assert np.array_equal(getattr(learner, name), array), name


@pytest.mark.parametrize("kind", [PlugInWhittle, LSPEWhittle])
def test_allocate_before_the_first_log_changes_nothing(kind):
    generator = np.random.default_rng(4)
    learner = kind(capacity=9, n_materials=5, random_state=generator)
    before, state = dict(vars(learner)), generator.bit_generator.state
    for _ in range(2):
        assert learner.allocate(2).tolist() == [0, 1]
        with pytest.raises(ValueError, match=r"capacity must be an integer in \[1, 5\], got 9"):
            learner.allocate()
        with pytest.raises(ValueError, match="got 0"):
            learner.allocate(0)
    assert {name: value for name, value in vars(learner).items() if name != "_lock"} == before
    assert generator.bit_generator.state == state
    with pytest.raises(NotFittedError):
        kind().allocate(2)


def test_a_capacity_beyond_the_sites_matters_only_where_it_is_used():
    learner = PlugInWhittle(capacity=9)
    environment = EphemeralEnvironment([1.0] * 5, [0.3] * 5)
    with pytest.raises(ValueError, match="n_crawls must be an integer in"):
        simulate_ephemeral(learner, environment, 10)
    simulate_ephemeral(learner, environment, 10, 2)
    assert learner.n_crawls_.sum() == 20


@pytest.mark.parametrize("kind", [PlugInWhittle, LSPEWhittle])
def test_the_first_log_after_a_simulation_says_how_many_features_there_are(kind):
    learner = kind(n_materials=5)
    simulate_ephemeral(learner, EphemeralEnvironment([1.0] * 5, [0.3] * 5), 10)
    learner.partial_fit(X, Y)
    assert learner.n_features_in_ == 2
    with pytest.raises(ValueError, match="3 features"):
        learner.partial_fit(np.column_stack([X, Y]), Y)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kind, name)
        for kind in (PlugInWhittle, LSPEWhittle)
        for name in ("arrival_rates_", "decay_rates_", "arrival_errors_", "decay_errors_", "ages_")
    ]
    + [(LSPEWhittle, "n_resets_")],
)
def test_what_is_not_learnt_yet_says_so(kind, name):
    with pytest.raises(NotFittedError, match=f"This {kind.__name__} instance is not fitted yet"):
        getattr(kind(), name)
    assert not hasattr(kind(), name)


@pytest.mark.parametrize(
    ("make", "uses"),
    [
        (
            lambda: PlugInWhittle().fit(X, Y),
            ["fit(X, Y)", "partial_fit(X, Y)", "allocate(2)", "ages_", "arrival_rates_", "__getstate__()"],
        ),
        (lambda: WhittlePolicy([1.0] * 4, [0.3] * 4, 1), ["step()", "reset()", "ages_", "__getstate__()"]),
        (
            lambda: EphemeralEnvironment([1.0] * 4, [0.3] * 4),
            ["crawl([0])", "reset()", "ages_", "__getstate__()"],
        ),
    ],
)
def test_every_use_waits_for_its_turn(make, uses):
    shared = make()
    for use in uses:
        thread = threading.Thread(target=eval, args=(f"shared.{use}", {"shared": shared, "X": X, "Y": Y}))
        with shared._lock:
            thread.start()
            thread.join(0.05)
            assert thread.is_alive(), use
        thread.join()


def test_a_simulation_waits_for_chooser_and_environment():
    for chooser in (PlugInWhittle(), WhittlePolicy([1.0] * 4, [0.3] * 4, 1)):
        environment = EphemeralEnvironment([1.0] * 4, [0.3] * 4)
        for shared in (chooser, environment):
            thread = threading.Thread(target=simulate_ephemeral, args=(chooser, environment, 5))
            with shared._lock:
                thread.start()
                thread.join(0.1)
                assert thread.is_alive()
            thread.join()
