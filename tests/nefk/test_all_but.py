"""Few items with caps: all others are passed over where they lie."""

import numpy as np
import pytest
from nefk_oracle import FAMILIES, random_parameters, solve

import knapsolve.nefk.all_but as all_but_module
import knapsolve.nefk.solver as solver_module
from knapsolve import criteria
from knapsolve.nefk.all_but import PassesAllBut, set_aside
from knapsolve.nefk.passes import Prices
from knapsolve.nefk.problem import check_problem
from knapsolve.nefk.room import leads_by_itself

N = 70_000


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("family", [*FAMILIES, "linear"])
def test_passes_over_all_but_some_are_those_over_the_others(family, dtype):
    generator = np.random.default_rng(0)
    p, weights = (
        random_parameters("power" if family == "linear" else family, N, generator),
        generator.lognormal(0, 1, N),
    )
    criterion = criteria.Linear() if family == "linear" else FAMILIES[family](p)
    upper = generator.uniform(1.0, 3.0, N)
    problem = check_problem(criterion, 0.3 * N, weights, 0.0, upper, None, None, True)
    without = np.flatnonzero(generator.random(N) < 0.05).astype(np.uint32)
    left = np.setdiff1d(np.arange(N), without)
    ours, theirs = PassesAllBut(problem, without, 2), problem.take(left, 1.0).passes()
    for price in (0.05, 0.3):
        np.testing.assert_allclose(ours.respond(price), theirs.respond(price), rtol=1e-13)
        (rough, terms), (expected, others) = (x.expand(price, 1e-3, 1e-8) for x in (ours, theirs))
        np.testing.assert_array_equal(rough, left[expected])
        np.testing.assert_allclose(terms, others, rtol=1e-10, atol=1e-10 * max(others[0], 1.0))
        mine, amounts = np.empty(N, dtype), np.empty(left.size, dtype)
        prices = Prices(price, 1.01 * price, 0.3)
        a, b = ours.settle(prices, mine), theirs.settle(prices, amounts)
        np.testing.assert_array_equal(mine[left], amounts)
        assert (a.total, a.value) == pytest.approx((b.total, b.value), rel=1e-13)
        assert a.residual >= b.residual


def test_items_that_are_rough_are_too_many_if_they_are_among_some():
    """As where many weights are alike: a model then takes another way."""
    problem = check_problem(criteria.Freshness(np.ones(N)), 0.3 * N, 1.0, 0.0, None, None, None, True)
    assert PassesAllBut(problem, np.arange(100, dtype=np.uint32), 1).expand(1.0, 1e-3, 1e-8)[0] is None


def few_capped(seed, n_groups, family="freshness"):
    """A problem of which about one cap in fifty binds."""
    generator = np.random.default_rng(seed)
    p = random_parameters(family, N, generator)
    options = {"weights": generator.lognormal(0, 1, N), "upper": generator.uniform(1.0, 3.0, N) if seed % 2 else None}
    groups = generator.integers(-1, n_groups, N)
    taken = np.bincount(groups + 1, solve(family, p, 0.3 * N, **options).amounts, n_groups + 1)[1:]
    caps = np.where(generator.random(n_groups) < 0.02, 0.5, 5.0) * taken + 1e-3
    caps[0] = 0.5 * taken[0]
    return p, options | {"groups": groups, "group_caps": caps}


@pytest.fixture
def layouts(monkeypatch):
    """What is set aside, solve by solve."""
    found = []
    monkeypatch.setattr(solver_module, "set_aside", lambda *given: found.append(set_aside(*given)) or found[-1])
    return found


PROBLEMS = [(family, seed, n_groups) for family in FAMILIES for seed, n_groups in enumerate([40, 40, 20_000, 20_000])]
PROBLEMS.remove(("power", 0, 40))  # without bounds, a sample of powers does not tell that most caps are loose


@pytest.mark.parametrize(("family", "seed", "n_groups"), PROBLEMS)
def test_few_items_with_caps_are_set_aside_and_the_answer_is_the_same(family, seed, n_groups, layouts, monkeypatch):
    p, options = few_capped(seed, n_groups, family)
    ours = solve(family, p, 0.3 * N, **options)
    assert layouts[-1] is not None
    capped = np.flatnonzero(ours.group_prices > 0.0)
    assert 0 < np.isin(options["groups"], capped).sum() <= layouts[-1].listed.size <= N / all_but_module.FEW
    assert ours.residual <= 1e-12
    single = np.empty(N, np.float32)
    solve(family, p, 0.3 * N, out=single, **options)
    np.testing.assert_array_equal(solve(family, p, 0.3 * N, n_jobs=3, **options).amounts, ours.amounts)
    monkeypatch.setattr(all_but_module, "FEW", np.inf)
    theirs = solve(family, p, 0.3 * N, **options)
    assert layouts[-1] is None
    np.testing.assert_allclose(ours.amounts, theirs.amounts, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(single, theirs.amounts, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.group_prices, theirs.group_prices, rtol=1e-8, atol=1e-9 * theirs.price)
    np.testing.assert_array_equal(ours.side, theirs.side)
    assert ours.value == pytest.approx(theirs.value, rel=1e-11)


def test_a_group_that_is_too_large_for_a_tile_is_set_aside(layouts):
    """Its amounts are written over those that all items take at the common price."""
    n, generator = 400_000, np.random.default_rng(0)
    rates, groups = (
        generator.lognormal(0, 1, n),
        generator.permutation(np.repeat([0, 1, -1], [20_000, 30_000, 350_000])),
    )
    taken = np.bincount(groups + 1, solve("freshness", rates, 0.3 * n).amounts)[1:]
    result = solve("freshness", rates, 0.3 * n, groups=groups, group_caps=[0.5, 2.0] * taken)
    assert layouts[-1].listed.size == 20_000
    assert not leads_by_itself(layouts[-1].given, layouts[-1].runs)
    assert result.residual <= 1e-12
    assert result.amounts[groups == 0].sum() == pytest.approx(0.5 * taken[0], rel=1e-12)


def test_few_items_that_are_in_any_group_are_set_aside_if_all_caps_bind(layouts):
    generator = np.random.default_rng(0)
    rates, groups = generator.lognormal(0, 1, N), np.where(np.arange(N) % 25 == 0, generator.integers(0, 300, N), -1)
    taken = np.bincount(groups + 1, solve("freshness", rates, 0.3 * N).amounts)[1:]
    result = solve("freshness", rates, 0.3 * N, groups=groups, group_caps=0.5 * taken)
    assert layouts[-1].listed.size == N / 25
    assert result.residual <= 1e-12
    assert (result.group_prices > 0.0).all()


def test_few_items_that_take_more_than_all_others_are_not_set_aside(layouts):
    """What the others take would be the small difference of two large sums: off by 1e-6 and more of it, here."""
    generator = np.random.default_rng(0)
    weights, groups = generator.lognormal(0, 1, N), np.full(N, -1)
    weights[:700], groups[:700], groups[-700:] = 1e24, 0, 1
    result = solve("harmonic", np.ones(N), 0.3 * N, weights=weights, groups=groups, group_caps=[1.0, 1e9])
    assert layouts == [None]
    assert result.residual <= 1e-12


def test_items_that_turn_out_to_take_much_more_than_the_others_are_taken_in_again(layouts, monkeypatch):
    p, options = few_capped(0, 20_000)
    expected = solve("freshness", p, 0.3 * N, **options)
    assert layouts[-1].others.is_exact
    monkeypatch.setattr(all_but_module, "MOST_AT_END", 1e-4)
    result = solve("freshness", p, 0.3 * N, **options)
    assert not layouts[-1].others.is_exact
    assert result.residual <= 1e-12
    np.testing.assert_allclose(result.amounts, expected.amounts, rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(result.side, expected.side)


def test_items_whose_totals_jump_share_the_rest_among_those_without_caps(layouts):
    """Half of all items answer one price, and those with caps as well."""
    generator = np.random.default_rng(0)
    groups = np.where(np.arange(N) % 50 == 0, generator.integers(0, 30, N), -1)
    weights = np.where(generator.random(N) < 0.5, 1.0, generator.uniform(0.5, 2.0, N))
    upper = generator.uniform(0.5, 1.5, N)
    options = {"weights": weights, "upper": upper, "groups": groups, "group_caps": 20.0}
    result = solver_module.solve_nefk(criteria.Linear(), 0.5 * N, **options)
    assert result.residual <= 1e-12
    assert result.amounts.sum() == pytest.approx(0.5 * N, rel=1e-12)
    assert np.bincount(groups + 1, result.amounts)[1:].max() <= 20.0 * (1.0 + 1e-12)
