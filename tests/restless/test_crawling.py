"""The closed loop for ephemeral content."""

import numpy as np
import pytest

from knapsolve import PlugInWhittle, WhittlePolicy
from knapsolve.environments import EphemeralEnvironment
from knapsolve.restless import simulate_ephemeral
from tests.restless.whittle_twins import EXAMPLE

RATES = EXAMPLE["arrival_rate"], EXAMPLE["decay_rate"]


class Always:
    """Crawls the same sites for ever."""

    def __init__(self, *sites):
        self.sites = list(sites)

    def allocate(self, n_crawls):
        return np.array(self.sites[:n_crawls])


@pytest.mark.parametrize("method", ["brute", "calendar"])
def test_policy_in_the_mean_environment_earns_what_it_says(method):
    policy = WhittlePolicy(**EXAMPLE, n_crawls=2, method=method)
    history = simulate_ephemeral(policy, EphemeralEnvironment(*RATES, dynamics="mean"), 500)
    assert np.allclose(history.reward[0], policy.simulate(500).reward, rtol=1e-14)


@pytest.mark.slow
def test_stochastic_example_is_within_three_standard_errors_of_471_34():
    history = simulate_ephemeral(
        WhittlePolicy(**EXAMPLE, n_crawls=1),
        EphemeralEnvironment(*RATES),
        20000,
        n_runs=10,
        record_every=20000,
        random_state=1,
    )
    error = history.standard_error()[0]
    assert error < 0.2
    assert abs(history.mean()[0] - 471.34) < 3 * np.hypot(error, 0.05)


@pytest.mark.parametrize(("site", "expected"), [(0, 179.7910), (1, 210.9371), (2, 179.7910), (3, 225.4949)])
def test_constant_sites_earn_the_printed_numbers(site, expected):
    environment = EphemeralEnvironment(*RATES, dynamics="mean")
    assert simulate_ephemeral(Always(site), environment, 10).reward == pytest.approx(expected, abs=5e-5)


def test_threads_do_not_change_a_bit_and_the_original_stays_unfitted():
    environment, learner = EphemeralEnvironment(*RATES), PlugInWhittle()
    runs = [
        simulate_ephemeral(
            learner, environment, 400, n_runs=4, n_jobs=jobs, record_every=100, random_state=2
        ).reward
        for jobs in (1, 2)
    ]
    assert np.array_equal(*runs)
    assert not hasattr(learner, "materials_")
    assert len(np.unique(runs[0][:, 0])) == 4


def test_a_single_run_teaches_the_learner_given():
    learner = PlugInWhittle()
    simulate_ephemeral(learner, EphemeralEnvironment(*RATES), 100, random_state=2)
    assert learner.n_crawls_.sum() == 100


def test_history_averages_and_draws():
    pytest.importorskip("matplotlib").use("Agg")
    history = simulate_ephemeral(
        WhittlePolicy(**EXAMPLE, n_crawls=1),
        EphemeralEnvironment(*RATES),
        200,
        n_runs=3,
        record_every=50,
        random_state=0,
    )
    assert history.polls.tolist() == [50, 100, 150, 200]
    assert np.allclose(history.mean(), history.reward.mean(axis=0))
    assert np.allclose(history.standard_error(), history.reward.std(axis=0, ddof=1) / np.sqrt(3))
    assert history.plot().get_ylabel() == "reward (content collected a decision)"


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"n_steps": 0}, ValueError, "n_steps"),
        ({"n_steps": 15, "record_every": 10}, ValueError, "multiple of record_every"),
        ({"n_crawls": 5}, ValueError, "n_crawls must be an integer in \\[1, 4\\]"),
        ({"n_runs": 0}, ValueError, "n_runs"),
        ({"environment": object()}, TypeError, "environment"),
        ({"chooser": object()}, TypeError, "allocate"),
        ({"chooser": WhittlePolicy([1.0], [1.0], 1)}, ValueError, "must have 4 sites"),
        ({"chooser": PlugInWhittle(n_materials=3)}, ValueError, "n_materials"),
        ({"chooser": WhittlePolicy(**EXAMPLE, n_crawls=2), "n_crawls": 1}, ValueError, "n_crawls must be 2"),
    ],
)
def test_bad_input_is_named(change, error, says):
    arguments = {"chooser": PlugInWhittle(), "environment": EphemeralEnvironment(*RATES), "n_steps": 10}
    with pytest.raises(error, match=says):
        simulate_ephemeral(**{**arguments, **change})
