"""Passes over groups: which are surely loose, large ones two at a time, and totals that are settled again."""

from dataclasses import replace

import numpy as np
import pytest
from grouped_problems import N, both_layouts, grouped

import knapsolve.nefk.groups as groups_module
import knapsolve.nefk.solver as solver_module
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.group_passes import GroupPasses
from knapsolve.nefk.layouts import lay_out
from knapsolve.nefk.passes import Prices
from knapsolve.nefk.problem import check_problem
from knapsolve.nefk.result import Place


@pytest.mark.parametrize("kind", ["small", "many"])
def test_groups_of_which_an_item_starts_between_two_prices_lose_their_marks(kind):
    for passes in both_layouts(kind, Place(N, None)):
        marks = np.ones(len(passes.caps) + 1, dtype=np.int8)
        passes.unmark(0.97, 1.0, marks)
        rates, weights, groups, _ = grouped(kind)
        starts = weights / rates
        expected = np.ones_like(marks)
        expected[1 + groups[(starts > 0.97) & (starts <= 1.0)]] = 0
        alone = [one.group for one in passes.large]  # these are not tiled
        expected[alone] = 1
        np.testing.assert_array_equal(marks, expected)
        assert 0 < np.count_nonzero(marks == 0) < len(marks)


@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
@pytest.mark.parametrize("seed", range(4))
def test_groups_that_are_loose_above_a_bracket_are_so_within_unless_an_item_starts_there(kind, seed, monkeypatch):
    """Prices from above: groups of few items, of which many start where the price is."""
    n, generator = 120_000, np.random.default_rng(seed)
    rates = generator.lognormal(0, 1, n)
    weights = (rates if kind is criteria.Freshness else 1.0) * np.exp(0.02 * generator.standard_normal(n))
    groups = generator.integers(-1, n // 3, n)
    free = solve_nefk(kind(rates), 0.1 * n, weights=weights).amounts
    taken = np.bincount(groups + 1, free, n // 3 + 1)[1:] + 1e-9
    caps = np.where(generator.random(n // 3) < 0.5, generator.uniform(0.3, 1.3, n // 3), 5.0) * taken
    given = {"weights": weights, "groups": groups, "group_caps": caps}
    marked, mark = [], groups_module.mark_surely

    def spy(passes, mu, ends, total, slope):
        marks = mark(passes, mu, ends, total, slope)
        is_loose = marks[1:] == 3
        marked.append(mu > ends[0] and int(np.count_nonzero(is_loose)))
        assert np.all(passes.respond(ends[0])[0][1:][is_loose] <= passes.caps[is_loose])
        return marks

    monkeypatch.setattr(groups_module, "mark_surely", spy)
    monkeypatch.setattr(solver_module, "solve_reduced", lambda *_: None)
    monkeypatch.setattr(solver_module, "copy_few", lambda problem, place, n_jobs: _all_copied(problem, place))
    result = solve_nefk(kind(rates), 0.1 * n, **given, out=np.empty(n))
    assert any(marked)
    monkeypatch.undo()
    monkeypatch.setattr(groups_module, "mark_surely", lambda *args: np.zeros(len(args[3]), np.int8))
    other = solve_nefk(kind(rates), 0.1 * n, **given)
    assert max(result.residual, other.residual) <= 4.1e-13
    np.testing.assert_allclose(result.amounts, other.amounts, rtol=1e-8, atol=1e-12 * n)


def _all_copied(problem, place):
    starts = np.zeros(len(problem.caps) + 3, dtype=np.uint32)
    starts[2:] = np.bincount(problem.groups + 1, minlength=len(problem.caps) + 1).cumsum()
    return lay_out(problem, [(None, starts)], place)


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize(("sizes", "at_once"), [([1] * 8, 2), ([12, 1, 1, 1], 1)])
def test_large_groups_are_worked_on_two_at_a_time_unless_one_is_much_of_all(sizes, at_once, in_order, monkeypatch):
    n, generator = 200_000, np.random.default_rng(3)
    rates, weights = np.exp(generator.standard_normal((2, n)))
    groups = generator.choice(np.repeat(np.arange(len(sizes)), sizes), n)
    groups[generator.random(n) < 0.05] = -1
    groups = np.sort(groups) if in_order else groups
    free = solve_nefk(criteria.Freshness(rates), 0.2 * n, weights=weights).amounts
    caps = np.bincount(groups + 1, free)[1:] * np.resize([0.5, 0.8, 2.0], len(sizes))
    made, init = [], GroupPasses.__init__
    monkeypatch.setattr(GroupPasses, "__init__", lambda self, *args: (init(self, *args), made.append(self))[0])
    given = {"weights": weights, "groups": groups, "group_caps": caps}
    results = [solve_nefk(criteria.Freshness(rates), 0.2 * n, **given, n_jobs=jobs) for jobs in (1, 2, 3, 4)]
    assert {passes.at_once for passes in made if passes.given.n == n and passes.n_jobs > 1} == {at_once}
    assert results[0].residual <= 4.1e-13
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].amounts, other.amounts)
        np.testing.assert_array_equal(results[0].group_prices, other.group_prices)
        assert (results[0].value, results[0].budget_residual) == (other.value, other.budget_residual)


@pytest.mark.parametrize(("off", "again"), [(2e-13, False), (4e-13, True)])
def test_a_total_that_is_off_by_more_than_is_promised_is_settled_again(off, again, monkeypatch):
    rates, weights, groups, caps = grouped("small")
    settled, settle = [], GroupPasses.settle

    def off_at_first(self, *args):
        found, wrong = settle(self, *args)
        settled.append(found)
        return (replace(found, total=(1.0 + off) * found.total) if len(settled) == 1 else found), wrong

    monkeypatch.setattr(GroupPasses, "settle", off_at_first)
    solve_nefk(criteria.Freshness(rates), 0.2 * N, weights=weights, groups=groups, group_caps=caps)
    assert (len(settled) > 1) is again


def test_a_group_without_an_end_that_has_an_own_price_is_no_answer():
    rates, weights, groups, caps = grouped("small")
    caps[5] = np.inf
    problem = check_problem(criteria.Freshness(rates), 0.2 * N, weights, 0.0, None, groups, caps, True)
    passes, own = GroupPasses(problem, 1), np.full(len(caps) + 1, np.nan)
    assert np.isfinite(passes.settle(Prices(1.0, 1.0), own, 1.0, Place(N, None))[0].over)
    own[6] = 1.1
    assert passes.settle(Prices(1.0, 1.0), own, 1.0, Place(N, None))[0].over == np.inf


@pytest.mark.parametrize(("size", "most"), [(2, 0.05), (3, 0.05), (6, 0.16)])
def test_few_items_of_small_groups_are_searched_for(size, most, monkeypatch):
    """The item that starts next to its group's price takes what the others leave: without that, steps of a fifth to a
    quarter of all groups do not lead to their caps.
    """
    generator, n_groups, passes, run = np.random.default_rng(size), 4000, [], GroupPasses._run
    n = size * n_groups
    rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    given = {"groups": generator.permutation(np.repeat(np.arange(n_groups), size)), "group_caps": 0.18 * size}
    monkeypatch.setattr(GroupPasses, "_run", lambda *args: passes.append(run(*args)) or passes[-1])
    result = solve_nefk(criteria.Freshness(rates), 0.3 * n, weights=weights, equality=False, n_jobs=1, **given)
    assert result.residual <= 1e-12
    assert 0.0 < max(row[6] for row in passes[-1]) <= most
