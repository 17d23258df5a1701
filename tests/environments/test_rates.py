"""Environments answer polls with the probabilities that they state."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knapsolve import OptimalPolicy, UniformPolicy, simulate
from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, zipf, zipf_unchanged


def found_by_each(environment, n_polls, scheduler):
    """Amounts, polls, detections and time of each material when all are polled alike."""
    polls, found, gaps = (np.zeros(environment.n_materials) for _ in range(3))
    amounts = np.full(environment.n_materials, 1 / environment.n_materials)

    class Listener:
        capacity = 1.0

        def amount(self, i):
            return amounts[i]

        def observe(self, i, elapsed, changed):
            polls[i] += 1
            found[i] += changed
            gaps[i] += elapsed

    simulate(Listener(), environment, n_polls, scheduler=scheduler, random_state=0)
    return amounts, polls, found, gaps


def within(found, polls, p, sigmas=4.5):
    return (abs(found - polls * p) <= sigmas * np.sqrt(polls * p * (1 - p)) + 1).all()


@pytest.mark.parametrize("scheduler", ["edf", "random"])
def test_bernoulli_polls_find_changes_at_the_amount_allocated(scheduler):
    unchanged = np.array([0.2, 0.5, 0.8, 0.99, 1.0, 0.0])
    environment = BernoulliEnvironment(unchanged)
    amounts, polls, found, gaps = found_by_each(environment, 60_000, scheduler)
    assert within(found, polls, 1 - unchanged ** (1 / amounts))
    assert gaps / polls == pytest.approx(1 / amounts, rel=1e-9)
    assert found[4] == 0 and found[5] == polls[5]


@pytest.mark.parametrize("scheduler", ["edf", "random"])
def test_polls_of_pages_find_a_change_with_the_probability_of_their_gap(scheduler):
    unchanged = np.array([0.3, 0.6, 0.9, 0.97])
    log = []

    class Listener:
        capacity = 1.0

        def amount(self, i):
            return (0.65, 0.28, 0.05, 0.02)[i]

        def observe(self, i, elapsed, changed):
            log.append((i, elapsed, changed))

    simulate(Listener(), PollingEnvironment(unchanged), 80_000, scheduler=scheduler, random_state=0)
    material, gap, found = np.array(log).T
    p = 1 - unchanged[material.astype(int)] ** gap
    for i in range(4):
        own = material == i
        assert gap[own].sum() == pytest.approx(80_000, rel=0.02)
        assert abs(found[own].sum() - p[own].sum()) < 4.5 * np.sqrt((p * (1 - p))[own].sum())
    close = gap <= np.median(gap[material == 2])
    for own in ((material == 2) & close, (material == 2) & ~close):
        assert abs(found[own].sum() - p[own].sum()) < 4.5 * np.sqrt((p * (1 - p))[own].sum()) + 1


def test_random_polls_of_pages_find_the_change_since_a_geometric_gap():
    unchanged = np.array([0.3, 0.6, 0.9, 0.97])
    amounts, polls, found, _ = found_by_each(PollingEnvironment(unchanged), 80_000, "random")
    changed = 1 - unchanged
    assert within(found, polls, changed / (changed + amounts * unchanged))


@pytest.mark.parametrize("kind", [BernoulliEnvironment, PollingEnvironment])
def test_switching_keeps_the_set_of_rates_and_moves_them_one_rank(kind):
    unchanged = zipf_unchanged(9, 0.9, 1.0)
    environment = kind(unchanged, switch_every=10)
    before = environment.value(np.full(9, 1 / 9))
    history = simulate(UniformPolicy(), environment, 5_000, n_runs=2, random_state=0)
    assert environment.value(np.full(9, 1 / 9)) == before, "the environment itself stays as it was"
    assert history.value == pytest.approx(before, rel=1e-12)  # uniform amounts do not mind the order
    optimal = simulate(OptimalPolicy(unchanged=unchanged), environment, 5_000, random_state=0).value[0]
    assert optimal[-1] < optimal[0] - 0.01  # but the first optimum is one no more


@given(st.integers(2, 60), st.floats(0, 1), st.floats(0, 3))
def test_zipf_update_probabilities_follow_the_law(n, alpha, beta):
    unchanged = zipf_unchanged(n, alpha, beta)
    assert unchanged == pytest.approx([1 - alpha / k**beta for k in range(1, n + 1)], abs=1e-14)


def test_the_steepest_law_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert zipf_unchanged(500, 0.9, 400.0)[[0, 1, 499]].tolist() == pytest.approx([0.1, 1, 1])


def test_perturbations_are_drawn_in_blocks_that_leave_no_trace(monkeypatch):
    drawn = []

    class Spy(np.random.Generator):
        def integers(self, low, high, size):
            drawn.append(size)
            return super().integers(low, high, size=size)

    def perturbed(seed):
        return zipf_unchanged(9, 0.9, 1.2, 205, random_state=Spy(np.random.PCG64(seed))).tolist()

    whole = perturbed(3)
    monkeypatch.setattr(zipf, "BLOCK", 64)
    assert perturbed(3) == whole
    assert drawn == [205, 64, 64, 64, 13]


@settings(deadline=None)
@given(st.integers(2, 20), st.integers(0, 200), st.integers(0, 100))
def test_perturbations_swap_random_neighbours(n, n_perturbations, seed):
    expected, rng = list(zipf_unchanged(n, 0.9, 1.2)), np.random.default_rng(seed)
    for k in rng.integers(0, n - 1, size=n_perturbations):
        expected[k], expected[k + 1] = expected[k + 1], expected[k]
    assert zipf_unchanged(n, 0.9, 1.2, n_perturbations, random_state=seed).tolist() == expected


def test_where_nothing_changes_the_value_is_zero_without_a_sign():
    assert str(PollingEnvironment([1.0, 1.0]).value([0.5, 0.5])) == "0.0"
