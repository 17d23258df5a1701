"""Random access draws in proportion to the amounts, at every vector level and after any number of changes."""

import pickle

import numpy as np
import pytest
import scipy.stats

from knapsolve import HTRAA, LAKG, RandomScheduler, simulate
from knapsolve._core.policies import FixedAmounts
from knapsolve._core.schedulers import RandomOrder
from knapsolve._core.weight_tree import vector_level
from knapsolve.environments import BernoulliEnvironment, zipf_unchanged
from tests.twins import FixedTwin, raw


def draws():
    """The level of vector code, and draws of trees of all sizes, few small weights, and whole simulations."""
    out, rng = [vector_level()], np.random.default_rng(0)
    for n in (1, 2, 8, 9, 64, 65, 1000, 5000):
        scheduler = RandomScheduler(rng.pareto(1.0, n) + 1e-6, random_state=n)
        out.append(scheduler.next(300)[0].tolist())
        for _ in range(100):
            scheduler.update(int(rng.integers(n)), float(rng.pareto(1.0)) + 1e-9)
            out.append(scheduler.next(3)[0].tolist())
    for n in (2, 7, 9, 64, 70, 600):
        few = FixedAmounts(rng.integers(0, 4, n) + (np.arange(n) == n // 2) * 1.0)
        few.prepare_draws_in(1.0)
        drawn = np.empty(2000, dtype=np.intp)
        RandomOrder().serve(few, drawn, np.empty(2000), np.zeros(3), np.random.default_rng(n))
        out.append(drawn.tolist())
    for learner in (LAKG(resolution=300), HTRAA(resolution=100), HTRAA(resolution=100, exponent=1.5)):
        for scheduler in ("random", "edf"):
            environment = BernoulliEnvironment(zipf_unchanged(60, 0.9, 1.2))
            history = simulate(learner, environment, 10_000, scheduler=scheduler, n_runs=17, random_state=1)
            out.append([history.detections.tolist(), history.amounts.tolist(), history.value.tolist()])
    return out


@pytest.mark.slow
def test_every_vector_level_gives_identical_results(monkeypatch):
    monkeypatch.setenv("KNAPSOLVE_CPU_LEVEL", "0")
    portable = draws()
    assert portable[0] == 0
    for level in (1, 2):
        monkeypatch.setenv("KNAPSOLVE_CPU_LEVEL", str(level))
        result = draws()
        assert result[0] <= level
        assert result[1:] == portable[1:]


def test_draws_equal_a_linear_scan():
    amounts = np.random.default_rng(2).pareto(1.0, 123) + 1e-9
    materials, _ = RandomScheduler(amounts, random_state=8).next(5_000)
    twin, generator = FixedTwin(amounts), np.random.default_rng(8)
    assert materials.tolist() == [twin.draw(generator) for _ in range(5_000)]


@pytest.mark.parametrize("n", [2, 7, 9, 64, 70, 600])
def test_few_small_weights_are_drawn_to_the_edge_of_their_share(n):
    """Weights 0 to 4: the random number falls on the borders between shares all the time."""
    weights = np.random.default_rng(n).integers(0, 4, n) + (np.arange(n) == n // 2) * 1.0
    learner, drawn, generator = FixedAmounts(weights), np.empty(3_000, dtype=np.intp), np.random.default_rng(5)
    learner.prepare_draws_in(1.0)
    RandomOrder().serve(learner, drawn, np.empty(3_000), np.zeros(3), np.random.default_rng(5))
    edges = np.cumsum(weights).astype(int)
    at = [raw(generator) * int(edges[-1]) >> 64 for _ in range(3_000)]
    assert drawn.tolist() == np.searchsorted(edges, at, side="right").tolist()


@pytest.mark.parametrize("n", [2, 7, 8, 9, 63, 64, 65, 513])
def test_frequencies_are_in_proportion_to_the_amounts(n):
    amounts = np.random.default_rng(n).uniform(0.2, 2.0, n)
    materials, _ = RandomScheduler(amounts, random_state=0).next(1_000_000)
    counts = np.bincount(materials, minlength=n)
    assert scipy.stats.chisquare(counts, amounts / amounts.sum() * counts.sum()).pvalue > 1e-3


def test_a_hundred_thousand_updates_leave_the_draws_of_a_fresh_scheduler():
    rng = np.random.default_rng(0)
    amounts = rng.uniform(0.5, 1.5, 40)
    scheduler = RandomScheduler(amounts, random_state=np.random.default_rng(4))
    for _ in range(100_000):
        i = int(rng.integers(40))
        amounts[i] = rng.uniform(0.0, 1.5)
        scheduler.update(i, amounts[i])
    fresh = RandomScheduler(amounts, random_state=np.random.default_rng(4))
    assert scheduler.next(10_000)[0].tolist() == fresh.next(10_000)[0].tolist()


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1.0, 1e150, 1e299])
def test_amounts_may_change_by_hundreds_of_magnitudes(scale):
    scheduler = RandomScheduler([1.0, 1.0, 0.0], random_state=1)
    scheduler.update(0, 3 * scale)
    scheduler.update(1, scale)
    materials, times = scheduler.next(20_000)
    assert abs((materials == 0).mean() - 0.75) < 0.02
    assert not (materials == 2).any()
    assert times[-1] == pytest.approx(20_000 / (4 * scale), rel=1e-9)


def test_zero_is_never_served():
    scheduler = RandomScheduler([0.0, 1e-12, 1.0, 0.0], random_state=0)
    assert set(scheduler.next(100_000)[0].tolist()) <= {1, 2}
    scheduler.update(2, 0.0)
    assert set(scheduler.next(1_000)[0].tolist()) == {1}
    scheduler.update(1, 0.0)
    assert [part.size for part in scheduler.next(1_000)] == [0, 0]
    scheduler.update(3, 1.0)
    assert set(scheduler.next(1_000)[0].tolist()) == {3}


def test_pickling_mid_stream_goes_on_identically():
    one = RandomScheduler(np.random.default_rng(0).pareto(1.0, 300), random_state=3)
    one.next(100)
    one.update(7, 40.0)
    other = pickle.loads(pickle.dumps(one))
    for _ in range(5):
        for a, b in zip(one.next(1_000), other.next(1_000)):
            assert a.tolist() == b.tolist()
        one.update(2, 0.25)
        other.update(2, 0.25)


def test_two_million_materials_are_served():
    scheduler = RandomScheduler(np.arange(2_000_000.0), random_state=0)
    materials, _ = scheduler.next(10_000)
    assert abs(materials.mean() / 2_000_000 - 2 / 3) < 0.02


def test_times_do_not_depend_on_how_many_polls_are_asked_for_at_once():
    one, many, alone = (RandomScheduler([0.3, 0.4], random_state=0) for _ in range(3))
    parts = [one.next(1)[1] for _ in range(1000)]
    assert np.array_equal(np.concatenate(parts), many.next(1000)[1])
    assert np.array_equal(many.next(0)[1], [])
    for scheduler in (one, many):
        scheduler.update(0, 1.6)
    after = np.concatenate([one.next(1)[1] for _ in range(1000)])
    assert np.array_equal(after, many.next(1000)[1])
    assert np.allclose(after, 1000 / 0.7 + np.arange(1, 1001) / 2.0, rtol=1e-14)
    assert alone.next(1000)[1][-1] == 1000 / (0.3 + 0.4)
