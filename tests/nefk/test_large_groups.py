"""Groups too large for a tile, filled beside a price."""

import math

import numpy as np
import pytest

import knapsolve.nefk.large_groups as large_groups
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.large_groups import LargeGroup
from knapsolve.nefk.problem import check_problem, sampled
from knapsolve.nefk.search import LEAST_SAMPLE

N = 40_000
WEIGHTS = np.exp(np.random.default_rng(0).standard_normal(N))
BEFORE = 7.0  # what is in the room of the amounts


def group_of(weights, cap):
    """A group of one rate."""
    problem = check_problem(criteria.Freshness(np.full(N, 0.8)), cap, weights, 0.0, None, None, None, False)
    return LargeGroup(1, cap, problem, problem.passes(), slice(0, N), True, 1)


def own_price(weights, cap):
    """At which items of one rate take a cap."""
    return solve_nefk(criteria.Freshness(np.full(weights.size, 0.8)), cap, weights=weights).price


def filled(group, above, guess=math.nan):
    """How it is filled beside a price, its own price, and what it takes."""
    own, amounts, guesses = np.full(2, 3.0 if math.isnan(guess) else guess), np.full(N, BEFORE), not math.isnan(guess)
    settled = group.fill(above, own, guesses, amounts)
    if not settled:
        assert math.isnan(own[1])
        np.testing.assert_array_equal(amounts, BEFORE)
    return settled, own[1], amounts.sum()


@pytest.mark.parametrize("over", [0.0, 1e-200, 0.5, 0.9, 0.999])
def test_a_large_group_is_filled_beside_any_lower_price(over):
    """Far above it, without a look at what it takes there."""
    price = own_price(WEIGHTS, 0.3 * N)
    settled, own, total = filled(group_of(WEIGHTS, 0.3 * N), over * price)
    assert own == pytest.approx(price, rel=1e-12)
    assert total == pytest.approx(0.3 * N, rel=1e-12)
    assert settled.residual <= 1e-12
    assert settled.over <= 1e-12
    assert settled.total == pytest.approx(total, rel=1e-14)


@pytest.mark.parametrize("off", [0.0, 1e-3, 0.5, 0.999, 1.0, 1.01, 3.0, 1e9])
@pytest.mark.parametrize("over", [0.0, 0.9])
def test_a_large_group_is_filled_from_any_guess(over, off):
    price = own_price(WEIGHTS, 0.3 * N)
    settled, own, total = filled(group_of(WEIGHTS, 0.3 * N), over * price, off * price)
    assert own == pytest.approx(price, rel=1e-12)
    assert total == pytest.approx(0.3 * N, rel=1e-12)
    assert max(settled.residual, settled.over) <= 1e-12


def test_a_large_group_takes_no_price_from_a_sample_beside_a_guess(monkeypatch):
    searched, search = [], large_groups.new_search
    monkeypatch.setattr(large_groups, "new_search", lambda *given: searched.append(given[2]) or search(*given))
    filled(group_of(WEIGHTS, 0.3 * N), 0.0, 0.25)
    filled(group_of(WEIGHTS, 0.3 * N), 0.0)
    assert searched[0] == 0.25 and math.isnan(searched[1])


@pytest.mark.parametrize("off", [0.5, 1.0, 3.0])
def test_a_large_group_is_not_filled_beside_a_higher_price_from_any_guess(off):
    price = own_price(WEIGHTS, 0.3 * N)
    assert filled(group_of(WEIGHTS, 0.3 * N), 1.001 * price, off * price)[0] is None


@pytest.mark.parametrize("over", [1.001, 2.0, 1e10])
def test_a_large_group_is_not_filled_beside_a_higher_price(over):
    assert filled(group_of(WEIGHTS, 0.3 * N), over * own_price(WEIGHTS, 0.3 * N))[0] is None


def test_a_large_group_of_which_a_sample_misleads_is_not_filled(monkeypatch):
    """Its sampled items alone are worth anything: its price, which is searched for, is far below theirs."""
    weights, which, cap = np.full(N, 1e-3), sampled(N, LEAST_SAMPLE), 0.5 * N
    weights[which] = 1.0
    of_sample = own_price(weights[which], cap * weights[which].size / N)
    assert own_price(weights, cap) < 0.5 * of_sample
    searched, search = [], LargeGroup._search
    monkeypatch.setattr(LargeGroup, "_search", lambda *args: searched.append(1) or search(*args))
    assert filled(group_of(weights, cap), 0.7 * of_sample)[0] is None
    assert searched


@pytest.mark.parametrize(("worth", "cap"), [(1.0, 0.0), (0.0, 1.0)])
def test_a_large_group_that_takes_nothing_is_not_filled(worth, cap):
    assert filled(group_of(np.full(N, worth), cap), 1e-3)[0] is None
