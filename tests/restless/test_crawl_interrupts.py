"""Ctrl-C ends crawling at once, however much content there is and however long a learner thinks."""

import time

import numpy as np
import pytest

import knapsolve._core.ephemeral as kernel
from knapsolve import LSPEWhittle, WhittlePolicy
from knapsolve.environments import EphemeralEnvironment
from knapsolve.restless import simulate_ephemeral
from tests.interrupts import check_returns
from tests.processes import check_script

SETUP = """
import numpy as np
from knapsolve import *
from knapsolve.environments import EphemeralEnvironment
from knapsolve.restless import simulate_ephemeral
rich = EphemeralEnvironment([1e6] * 4, [.7, .35, .7, .21])
richest = EphemeralEnvironment([2.4e7], [1.0])
poor = EphemeralEnvironment([5.0] * 30, [.3] * 30)
many = EphemeralEnvironment([5.0] * 30_000, [.3] * 30_000, dynamics="mean")
"""
AFTER = """
time.sleep(.1)
spent = time.process_time()
time.sleep(.3)
assert time.process_time() - spent < .1, "threads went on"
"""
CALLS = {
    "much content": "simulate_ephemeral(PlugInWhittle(), rich, 600)",
    "one crawl": "[richest.crawl([0]) for richest._last in [np.full(1, -40.0)] * 100]",
    "dear steps": "simulate_ephemeral(LSPEWhittle(), poor, 10**6)",
    "many sites": "simulate_ephemeral(PlugInWhittle(capacity=30_000), many, 10**6)",
    "threads": "simulate_ephemeral(WhittlePolicy([1e6] * 4, [.7, .35, .7, .21], 1), rich, 10**4, n_runs=4, n_jobs=2)",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_ctrl_c_returns_at_once(call):
    check_returns(0.3, SETUP, call, AFTER)


def test_an_interrupted_crawl_leaves_the_environment_at_its_step():
    check_script("""
    import os, signal, threading
    import numpy as np
    from knapsolve.environments import EphemeralEnvironment
    environment = EphemeralEnvironment([5.0, 2.4e7, 5.0], [1.0] * 3, random_state=0)
    environment._last[:] = -40.0
    threading.Timer(.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        for _ in range(20):
            environment.crawl([0, 1, 2])
            environment._clock[0], environment._last[:] = 0.0, -40.0
    except KeyboardInterrupt:
        assert environment.step_ == 0 and environment.ages_.tolist() == [40.0] * 3
        assert environment.crawl([0]).size == environment.step_ == 1
    """)


def test_where_a_crawl_is_cut_for_a_look_changes_no_bit():
    """Two crawls of 3 million items in all, cut many times, collect what single draws add up to."""
    rates, decays = [4e4, 3e4], [1.0, 0.5]
    environment = EphemeralEnvironment(rates, decays, random_state=3)
    environment._last[:] = -40.0
    contents = environment.crawl([0, 1])
    generator = np.random.default_rng(3)
    for i in range(2):
        window = 40.0
        count = generator.poisson(rates[i] * window)
        assert contents[i] == pytest.approx(np.exp(-decays[i] * window * generator.random(count)).sum(), rel=1e-10)


def test_a_simulation_looks_at_signals_in_proportion_to_its_work():
    looks = []
    environment = EphemeralEnvironment([1e5] * 4, [0.5] * 4, random_state=0)
    policy = WhittlePolicy([1e5] * 4, [0.5] * 4, 4)
    kernel.run(policy._chooser(4), environment._world(), 4, np.zeros(1), 100, lambda: looks.append(1))
    assert len(looks) >= 100 * 4 * 1e5 * 6 / 5e6 * 0.9  # nanoseconds an item, and between looks


def test_dear_updates_of_lspe_are_each_followed_by_a_look():
    looks, n = [], 25
    environment = EphemeralEnvironment([5.0] * n, [0.3] * n, dynamics="mean")
    learner = LSPEWhittle(n_materials=n)
    learner._begin(n)
    kernel.run(learner._core(), environment._world(), 1, np.zeros(1), 12, lambda: looks.append(1))
    assert len(looks) >= 10


@pytest.mark.parametrize(("n_sites", "m"), [(3, 1), (4, 0), (4, 5)])
def test_the_loop_compares_who_it_brings_together(n_sites, m):
    policy = WhittlePolicy([1.0] * n_sites, [0.5] * n_sites, 1)
    world = EphemeralEnvironment([1.0] * 4, [0.5] * 4)._world()
    with pytest.raises(ValueError, match="must"):
        kernel.run(policy._chooser(1), world, m, np.zeros(1), 1, lambda: None)


@pytest.mark.filterwarnings("ignore:.*tasks")
def test_an_error_in_a_callback_stops_the_other_threads():
    class Stop(Exception):
        pass

    def stop():
        raise Stop

    policy = WhittlePolicy([1e5] * 4, [0.5] * 4, 1)
    environment = EphemeralEnvironment([1e5] * 4, [0.5] * 4)
    with pytest.raises(Stop):
        simulate_ephemeral(policy, environment, 50, n_runs=20, n_jobs=2, on_run=stop)
    time.sleep(0.2)
    spent = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - spent < 0.1
