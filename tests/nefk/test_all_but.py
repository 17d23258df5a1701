"""Few items with caps: all others are passed over where they lie."""

import numpy as np
import pytest
from nefk_oracle import FAMILIES, random_parameters, solve

import knapsolve.nefk.all_but as all_but_module
import knapsolve.nefk.group_totals as group_totals_module
import knapsolve.nefk.kept_caps as kept_caps_module
import knapsolve.nefk.reduced as reduced_module
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.all_but import PassesAllBut, items_of, set_aside
from knapsolve.nefk.passes import Prices
from knapsolve.nefk.problem import check_problem
from knapsolve.nefk.room import leads_by_itself

N = 70_000


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("family", [*FAMILIES, "linear"])
def test_passes_over_all_but_some_are_those_over_the_others(family, dtype):
    generator = np.random.default_rng(0)
    p = random_parameters("power" if family == "linear" else family, N, generator)
    weights = generator.lognormal(0, 1, N)
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
        assert a.residual == pytest.approx(b.residual, abs=1e-14)


def test_rough_items_are_too_many_if_they_are_for_those_that_are_taken_off():
    """Ten thousand items that start at the price: few among all, and too many of themselves."""
    n, generator = 200_000, np.random.default_rng(0)
    weights, alike = generator.lognormal(0, 1, n), np.arange(0, n, 20, dtype=np.uint32)
    weights[alike] = 1.0
    problem = check_problem(criteria.Freshness(np.ones(n)), 0.3 * n, weights, 0.0, None, None, None, True)
    ours = PassesAllBut(problem, alike, 1)
    assert ours.every.expand(1.0, 1e-3, 1e-8)[0] is not None
    assert ours.expand(1.0, 1e-3, 1e-8)[0] is None


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
    monkeypatch.setattr(reduced_module, "set_aside", lambda *given: found.append(set_aside(*given)) or found[-1])
    return found


PROBLEMS = [(family, seed, n_groups) for family in FAMILIES for seed, n_groups in enumerate([40, 40, 20_000, 20_000])]
PROBLEMS.remove(("power", 0, 40))  # without bounds, a sample of powers does not tell that most caps are loose


@pytest.mark.parametrize(("family", "seed", "n_groups"), PROBLEMS)
def test_few_items_with_caps_are_set_aside_and_the_answer_is_the_same(family, seed, n_groups, layouts, monkeypatch):
    p, options = few_capped(seed, n_groups, family)
    ours = solve(family, p, 0.3 * N, **options)
    assert layouts[-1] is not None
    capped = np.flatnonzero(ours.group_prices > 0.0)
    assert 0 < np.isin(options["groups"], capped).sum() <= layouts[-1].others.without.size <= N / all_but_module.FEW
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


@pytest.mark.parametrize("are_few", [True, False])
def test_where_no_sizes_are_counted_those_of_few_groups_are_by_their_items(are_few, layouts, monkeypatch):
    """If few groups have many items, all are counted."""
    monkeypatch.setattr(group_totals_module, "MANY_GROUPS", 1000)
    lists = []
    monkeypatch.setattr(kept_caps_module, "items_of", lambda *given: lists.append(items_of(*given)) or lists[-1])
    p, options = few_capped(2, 20_000)
    options["groups"][::30] = -1
    if not are_few:
        capped = np.flatnonzero(options["group_caps"] < 0.1)[:500]
        options["groups"][1::8] = np.random.default_rng(0).choice(capped, len(options["groups"][1::8]))
    ours = solve("freshness", p, 0.3 * N, **options)
    assert len(lists) == 1
    assert (lists[0] is None) == (layouts[-1] is None) == (not are_few)
    monkeypatch.setattr(kept_caps_module, "is_sparse", lambda *_: False)
    theirs = solve("freshness", p, 0.3 * N, **options)
    assert len(lists) == 1
    np.testing.assert_array_equal(ours.amounts, theirs.amounts)
    np.testing.assert_array_equal(ours.group_prices, theirs.group_prices)


@pytest.mark.parametrize("dtype", [np.int16, np.uint16])
def test_groups_may_have_the_largest_number_of_a_narrow_type(dtype, monkeypatch):
    """Where items of few groups are listed: there is no room for one more."""
    monkeypatch.setattr(group_totals_module, "MANY_GROUPS", 100)
    lists = []
    monkeypatch.setattr(kept_caps_module, "items_of", lambda *given: lists.append(items_of(*given)) or lists[-1])
    p, options = few_capped(2, 20_000)
    last = int(np.iinfo(dtype).max)
    groups = np.random.default_rng(0).integers(0, last + 1, N).astype(np.int64)
    groups[0] = last
    taken = np.bincount(groups + 1, solve("freshness", p, 0.3 * N, weights=options["weights"]).amounts)[1:]
    caps = 5.0 * (taken + 1e-3)
    caps[last] *= 0.1
    given = {"weights": options["weights"], "group_caps": caps}
    if np.iinfo(dtype).min < 0:  # else none is of no group, and all sizes are counted
        groups[1] = -1
    expected = solve("freshness", p, 0.3 * N, groups=groups, **given)
    assert len(lists) == (groups[1] < 0)
    assert expected.group_prices[last] > 0.0
    result = solve("freshness", p, 0.3 * N, groups=groups.astype(dtype), **given)
    np.testing.assert_array_equal(result.amounts, expected.amounts)


def test_a_group_that_is_too_large_for_a_tile_is_set_aside(layouts):
    """Its amounts are written over those that all items take at the common price."""
    n, generator = 400_000, np.random.default_rng(0)
    rates = generator.lognormal(0, 1, n)
    groups = generator.permutation(np.repeat([0, 1, -1], [20_000, 30_000, 350_000]))
    taken = np.bincount(groups + 1, solve("freshness", rates, 0.3 * n).amounts)[1:]
    result = solve("freshness", rates, 0.3 * n, groups=groups, group_caps=[0.5, 2.0] * taken)
    assert layouts[-1].others.without.size == 20_000
    assert not leads_by_itself(layouts[-1].given, layouts[-1].runs)
    assert result.residual <= 1e-12
    assert result.amounts[groups == 0].sum() == pytest.approx(0.5 * taken[0], rel=1e-12)


def test_few_items_that_are_in_any_group_are_set_aside_if_all_caps_bind(layouts):
    generator = np.random.default_rng(0)
    rates, groups = generator.lognormal(0, 1, N), np.where(np.arange(N) % 25 == 0, generator.integers(0, 300, N), -1)
    taken = np.bincount(groups + 1, solve("freshness", rates, 0.3 * N).amounts)[1:]
    result = solve("freshness", rates, 0.3 * N, groups=groups, group_caps=0.5 * taken)
    assert layouts[-1].others.without.size == N / 25
    assert result.residual <= 1e-12
    assert (result.group_prices > 0.0).all()


def heavy(family):
    """A hundredth of all items would take a million times as much as the others but for a cap: as they weigh more, or
    at the same value.
    """
    p, weights, groups = np.ones(N), np.random.default_rng(0).lognormal(0, 1, N), np.full(N, -1)
    groups[:700], groups[-700:] = 0, 1
    if family == "harmonic":
        weights[:700], capacity = 1e24, 0.3 * N
    else:
        p[:700], capacity = 1e16, 2e8 * N
    return p, capacity, {"weights": weights, "groups": groups, "group_caps": [1.0, 1e12]}


@pytest.mark.parametrize("family", ["harmonic", "poisson"])
def test_few_items_that_take_more_than_all_others_are_not_set_aside(family, layouts):
    p, capacity, options = heavy(family)
    result = solve(family, p, capacity, **options)
    assert layouts == [None]
    assert result.residual <= 1e-12


@pytest.mark.parametrize("gives_out", [False, True])
@pytest.mark.parametrize("family", ["harmonic", "poisson"])
def test_items_that_turn_out_to_take_much_more_than_the_others_are_taken_in_again(
    family, gives_out, layouts, monkeypatch
):
    """As the first price may be far from the answer's. What is left of the large sums is off by 3e-11 and more."""
    p, capacity, options = heavy(family)
    expected = solve(family, p, capacity, **options)
    monkeypatch.setattr(all_but_module, "MOST_OF_OTHERS", np.inf)
    result = solve(family, p, capacity, out=np.empty(N) if gives_out else None, **options)
    assert not layouts[-1].others.is_exact
    assert result.residual <= 1e-12
    assert result.amounts.sum() == pytest.approx(capacity, rel=1e-12)
    assert result.n_passes > expected.n_passes
    np.testing.assert_allclose(result.amounts, expected.amounts, rtol=1e-9)


@pytest.mark.parametrize(("weight", "upper", "expected"), [(1e12, 1.0, None), (1e20, 1.0, None), (1.0, 0.0, -np.inf)])
def test_the_value_does_not_suffer_from_what_is_taken_off(weight, upper, expected, layouts, monkeypatch):
    """Items of a large weight that may take nothing, and one without room, whose harmonic value is minus infinity."""
    generator = np.random.default_rng(0)
    kind = "harmonic" if expected else "freshness"
    weights, groups, caps = generator.lognormal(0, 1, N), np.full(N, -1), np.full(5, 10.0 if expected else 0.0)
    few = np.flatnonzero(np.arange(N) % 25 == 0)
    groups[few] = generator.integers(0, 5, few.size)
    weights[few] *= weight
    uppers = np.ones(N)
    uppers[few[0]] = upper
    options = {"weights": weights, "upper": uppers, "groups": groups, "group_caps": caps}
    rates = generator.lognormal(0, 1, N)
    ours = solve(kind, rates, 0.3 * N, **options)
    assert layouts[-1] is not None
    monkeypatch.setattr(all_but_module, "FEW", np.inf)
    theirs = solve(kind, rates, 0.3 * N, **options)
    assert ours.value == theirs.value == expected if expected else ours.value == pytest.approx(theirs.value, rel=1e-12)
    np.testing.assert_allclose(ours.amounts, theirs.amounts, rtol=1e-9, atol=1e-9)  # one starts next to the price


@pytest.mark.parametrize("kind", ["at most", "lower bounds", "unsigned groups", "no room", "over a column"])
def test_the_answer_is_that_of_a_list_whatever_else_is_given(kind, layouts, monkeypatch):
    p, options = few_capped(1, 2000)
    if kind == "at most":
        options["equality"] = False
    elif kind == "lower bounds":
        options["lower"] = np.where(np.arange(N) % 3 == 0, 1e-4, 0.0)
        options["group_caps"] = np.maximum(options["group_caps"], 0.1)
    elif kind == "unsigned groups":
        options["groups"] = np.maximum(options["groups"], 0).astype(np.uint16)
    elif kind == "no room":
        options["group_caps"][0] = 0.0
    over = {"out": options["weights"].copy()} if kind == "over a column" else {}
    ours = solve("freshness", p, 0.3 * N, **options | ({"weights": over["out"]} if over else {}), **over)
    assert layouts[-1] is not None
    assert ours.residual <= 1e-12
    monkeypatch.setattr(all_but_module, "FEW", np.inf)
    theirs = solve("freshness", p, 0.3 * N, **options)
    np.testing.assert_allclose(ours.amounts, theirs.amounts, rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(ours.side, theirs.side)


def test_where_it_is_not_known_what_few_items_take_they_are_not_set_aside():
    problem = check_problem(criteria.Freshness(np.ones(N)), 0.3 * N, 1.0, 0.0, None, np.full(N, -1), [1.0], True)
    starts = np.array([0, 0, N, N], dtype=np.uint32)
    assert set_aside(problem, [(None, starts)], [], 1) is None


def test_items_without_caps_share_what_is_left_where_totals_jump(layouts):
    """Half of all items answer one price, also of those with caps."""
    generator = np.random.default_rng(0)
    groups = np.where(np.arange(N) % 50 == 0, generator.integers(0, 30, N), -1)
    weights = np.where(generator.random(N) < 0.5, 1.0, generator.uniform(0.5, 2.0, N))
    upper = generator.uniform(0.5, 1.5, N)
    options = {"weights": weights, "upper": upper, "groups": groups, "group_caps": 20.0}
    result = solve_nefk(criteria.Quadratic(np.zeros(N)), 0.5 * N, **options)
    assert layouts[-1].others.is_exact
    ties = result.amounts[(groups < 0) & (weights == result.price)]
    assert (ties > 0.0).all() and (ties < upper[(groups < 0) & (weights == result.price)]).all()
    assert result.residual <= 1e-12
    assert result.amounts.sum() == pytest.approx(0.5 * N, rel=1e-12)
    assert np.bincount(groups + 1, result.amounts)[1:].max() <= 20.0 * (1.0 + 1e-12)
