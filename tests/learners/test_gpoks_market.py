"""GPOKS: amounts are where the curves meet, as bisection finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knapsolve import GPOKS
from knapsolve._core.roles import Learner
from tests.learners.cases import poll_log
from tests.learners.gpoks_twin import market, mean_learner


def with_curves(curves, **parameters):
    learner = GPOKS(n_materials=len(curves), n_points=curves.shape[1], random_state=0, **parameters)
    learner._begin(len(curves))
    learner._curves[:] = curves
    return learner


@pytest.mark.parametrize("monotone", [True, False])
def test_two_lines_meet_at_the_known_amount(monotone):
    x = np.arange(1, 100) / 100
    learner = with_curves(np.array([1 - 0.9 * x, 0.8 - 0.2 * x]), scale="linear", monotone=monotone)
    assert learner.amounts_ == pytest.approx([0.3636363636, 0.6363636364], abs=1e-9)


@settings(max_examples=200)
@given(
    n=st.integers(2, 40), m=st.integers(2, 60), seed=st.integers(0, 10**6), capacity=st.sampled_from([1e-3, 1.0, 7e4])
)
def test_the_market_clears_at_the_price_that_bisection_finds(n, m, seed, capacity):
    rng = np.random.default_rng(seed)
    steps = rng.exponential(size=(n, m)) * (rng.random((n, m)) < 0.7) + 1e-3
    curves = rng.normal(size=(n, 1)) * 3 - np.cumsum(steps, axis=1)
    learner = with_curves(curves, capacity=capacity, scale="log")
    amounts, price = market(learner.grid_, curves, capacity)
    assert learner._core().price == pytest.approx(price, abs=1e-9)
    assert learner.amounts_ == pytest.approx(amounts, rel=1e-7, abs=1e-12 * capacity)
    assert learner.amounts_.sum() == pytest.approx(capacity, rel=1e-12)


def test_flat_curves_share_in_proportion_to_their_length():
    learner = with_curves(np.zeros((5, 99)) - 1e-8 * np.arange(99), scale="linear")
    assert learner.amounts_ == pytest.approx(np.full(5, 0.2), abs=1e-9)


def test_all_but_flat_curves_of_many_materials_fill_the_capacity():
    n = 4096
    X = np.column_stack([np.arange(n), np.full(n, float(n))])
    learner = GPOKS(n_materials=n, draw="mean").fit(X, np.ones(n, dtype=int))
    assert abs(Learner.amounts(learner._core()).sum() - 1) > 1e-11  # what the price alone resolves
    assert learner.amounts_.sum() == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_the_mean_policy_learns_a_log_as_its_twin(scale):
    X, y = poll_log(400, 5, seed=3)
    X[:, 1] = np.maximum(X[:, 1], 0.02)
    learner = GPOKS(draw="mean", n_materials=5, scale=scale, n_points=40).fit(X, y)
    counts, sums, curves, amounts = mean_learner(X, y, learner._process, 0.1, 5, 1.0)
    assert learner._counts.tolist() == counts.tolist() and learner._sums.tolist() == sums.tolist()
    assert np.abs(learner.curves_ - curves).max() < 1e-6
    assert np.abs(learner.amounts_ - amounts).max() < 1e-5
