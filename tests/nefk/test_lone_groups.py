"""Groups of one item: caps taken as upper bounds give what the search of groups gives."""

import math

import numpy as np
import pytest
from nefk_oracle import FAMILIES, random_parameters, solve
from test_nefk_groups import assert_certified

import knapsolve.nefk.solver as solver_module
from knapsolve import InfeasibleError, criteria
from knapsolve.nefk.lone_groups import SURE, as_bounds
from knapsolve.nefk.passes import CHUNK
from knapsolve.nefk.problem import check_problem


def lone_problem(family, n, seed, with_bounds):
    """Some items without a group, some caps without an item, with bounds two caps equal to one."""
    generator = np.random.default_rng([seed, n])
    p, w = random_parameters(family, n, generator), np.exp(generator.standard_normal(n))
    groups = generator.permutation(n + 2)[:n]
    groups[generator.random(n) < 0.1] = -1
    low = generator.uniform(0, 0.1, n) if with_bounds else np.zeros(n)
    high = generator.uniform(0.6, 3.0, n) if with_bounds else np.full(n, np.inf)
    caps = generator.uniform(0.1, 1.0, n + 2)
    tight, loose = np.flatnonzero(groups >= 0)[:2]
    if with_bounds:
        caps[groups[[tight, loose]]] = low[tight], high[loose]
    room = np.minimum(high, np.where(groups >= 0, np.minimum(caps[groups], 2.0), 2.0)).sum()
    return p, w, groups, caps, low, high, 0.5 * (low.sum() + room)


def options_of(problem):
    p, w, groups, caps, low, high, capacity = problem
    return (p, capacity), {"weights": w, "lower": low, "upper": high, "groups": groups, "group_caps": caps}


@pytest.mark.parametrize("with_bounds", [False, True])
@pytest.mark.parametrize("n", [4, 60, 500])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_meets_the_conditions_of_optimality(family, n, with_bounds):
    problem = lone_problem(family, n, 1, with_bounds)
    arguments, options = options_of(problem)
    assert_certified(family, *problem, solve(family, *arguments, **options))


@pytest.mark.parametrize("equality", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_search_of_groups_gives_the_same(family, equality, monkeypatch):
    arguments, options = options_of(lone_problem(family, 200, 2, True))
    found = solve(family, *arguments, equality=equality, **options)
    monkeypatch.setattr(solver_module, "as_bounds", lambda problem: None)
    searched = solve(family, *arguments, equality=equality, **options)
    np.testing.assert_allclose(found.amounts, searched.amounts, rtol=3e-11, atol=1e-14)
    np.testing.assert_allclose(found.group_prices, searched.group_prices, rtol=1e-9, atol=1e-11 * abs(found.price))
    np.testing.assert_array_equal(found.side, searched.side)
    assert (found.group_prices > 0).sum() > 10


def test_an_item_at_the_cap_of_its_group_is_at_no_bound_of_its_own():
    result = solve("freshness", np.ones(3), 1.0, groups=np.array([0, -1, 1]), group_caps=np.array([0.1, 1.0]))
    assert result.amounts[0] == 0.1
    np.testing.assert_array_equal(result.side, 0)
    assert result.group_prices[0] > 0.0 == result.group_prices[1]


def test_what_clashes_is_named_as_that_of_groups():
    groups = np.arange(2)
    with pytest.raises(InfeasibleError, match=r"lower bounds of group 1 sum to 0\.5, more than its cap 0\.25"):
        solve("freshness", np.ones(2), 1.0, lower=0.5, groups=groups, group_caps=np.array([1.0, 0.25]))
    with pytest.raises(InfeasibleError, match=r"group caps \(of groups that have items\) allow 0\.5"):
        solve("freshness", np.ones(2), 1.0, groups=groups, group_caps=np.array([0.25, 0.25]))


FIRST = SURE * math.isqrt(CHUNK + 500)  # items that are looked at before all others
PAIRS = [None, (0, 1), (FIRST - 2, FIRST - 1), (FIRST - 1, FIRST), (2000, 2500), (3, CHUNK + 3)]


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint64])
@pytest.mark.parametrize("pair", PAIRS)
def test_a_group_of_two_is_found_wherever_its_items_are(pair, dtype):
    """Among the first, of which two are likely to be in one group, and all others."""
    groups = np.random.default_rng(5).permutation(CHUNK + 500).astype(dtype)
    if dtype != np.uint64:
        groups[np.arange(groups.size) % 3 == 2] = -1
    if pair:
        groups[pair[0]] = groups[pair[1]] = 7
    options = {"weights": None, "lower": None, "upper": None, "equality": True}
    caps = np.linspace(0.1, 1.0, groups.size)
    for given in (groups, np.repeat(groups, 2)[::2]):
        problem = check_problem(criteria.Freshness(np.ones(groups.size)), 1.0, groups=given, group_caps=caps, **options)
        bounded = as_bounds(problem)
        assert (bounded is None) == (pair is not None and (groups == 7).sum() > 1)
        if bounded:
            has_group = groups.astype(np.int64) >= 0
            np.testing.assert_array_equal(bounded.upper[has_group], caps[groups[has_group]])
            assert np.isinf(bounded.upper[~has_group]).all()
