"""Items of groups listed by their positions or copied tile by tile: the same passes, to the last bit."""

import itertools

import numpy as np
import pytest
from grouped_problems import N, both_layouts, grouped

import knapsolve._core.nefk as core
import knapsolve.nefk.groups as groups_module
import knapsolve.nefk.layouts as layouts_module
import knapsolve.nefk.narrow as narrow_module
import knapsolve.nefk.room as room_module
import knapsolve.nefk.solver as solver_module
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.group_passes import GroupPasses
from knapsolve.nefk.layouts import Tiled, lay_out
from knapsolve.nefk.passes import Prices
from knapsolve.nefk.problem import check_problem
from knapsolve.nefk.result import Place


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("kind", ["small", "many", "empty"])
def test_passes_over_copies_are_those_over_a_list(kind, weighted, dtype):
    price, half = 0.1, 0.01
    place = Place(N, np.empty(N, dtype))
    listed, tiled = both_layouts(kind, place, weighted=weighted, dtype=dtype)
    total, slope = listed.respond(price)
    np.testing.assert_array_equal(tiled.respond(price)[0], total)
    for ours, theirs, off in zip(tiled.respond_roughly(price), (total, slope), (1.01, 5.0)):
        np.testing.assert_allclose(ours, theirs, rtol=off * core.ROUGH)
    assert tiled.respond(price)[1] is None or not tiled.leads
    own = total.copy()
    own = np.where(own > np.append(np.inf, listed.caps), 1.5 * price, np.nan)
    for _ in range(2):  # copies that were written over come back
        found = []
        for passes in (listed, tiled):
            capped = np.zeros(own.size, dtype=np.int8)
            *entries, terms = passes.expand(price, half, 1e-8, capped, N)
            passing = np.flatnonzero(capped == 2)
            if passing.size:
                items, which = passes.layout.items_of(passing)
                np.testing.assert_array_equal(np.sort(which), np.repeat(*np.unique(which, return_counts=True)))
                np.testing.assert_array_equal(items[np.lexsort([items, which])], entries[1])
            columns = [passes.problem.take(some, 1.0) for some in entries]
            found.append((capped, terms, *(part.criterion._parameter for part in columns)))
            assert passes.expand(price, half, 1e-8, capped.copy(), max(map(len, entries)) - 1)[0] is None
        for ours, theirs in zip(*found):
            np.testing.assert_array_equal(ours, theirs)
        other, mine = Place(N, np.empty(N, dtype)), [own.copy(), own.copy()]
        prices = Prices(price, price)
        assert tiled.settle(prices, mine[1], price, place) == listed.settle(prices, mine[0], price, other)
        np.testing.assert_array_equal(*mine)
    tiled.layout.deliver(place)
    np.testing.assert_array_equal(place.amounts(), other.amounts())


@pytest.mark.parametrize("share", [1.0, 0.5, 0.05])
@pytest.mark.parametrize("kind", ["small", "many", "empty"])
def test_groups_known_to_be_loose_are_expanded_as_if_they_were_not(kind, share):
    """Their items are taken together, group by group no more."""
    price, half = 0.6, 0.01
    for passes in both_layouts(kind, Place(N, np.empty(N))):
        marks = np.zeros(len(passes.caps) + 1, dtype=np.int8)
        *entries, terms = passes.expand(price, half, 1e-8, marks, N)
        loose = (marks == 0) & (np.random.default_rng(8).random(marks.size) < share)
        assert loose.any() and len(entries[0]) > 100
        known = np.where(loose, 3, 0).astype(np.int8)
        *found, sums = passes.expand(price, half, 1e-8, known, N)
        np.testing.assert_array_equal(np.where(known == 3, 0, known), marks)
        assert (known == 3).any() == (share > 0.2)  # few are not worth it
        np.testing.assert_array_equal(np.sort(found[0]), np.sort(entries[0]))
        np.testing.assert_array_equal(found[1], entries[1])
        np.testing.assert_allclose(sums, terms, rtol=1e-13)


@pytest.mark.parametrize("n", [1000, 32_768, 32_769, 65_537, 131_073])
def test_two_threads_move_items_to_where_one_does(n):
    groups, columns = np.random.default_rng(1).integers(-1, 300, n), np.random.default_rng(2).random((2, n))
    problem = check_problem(criteria.Freshness(columns[0]), 1.0, columns[1], 0.0, None, groups, np.ones(300), True)
    found = []
    for jobs in (1, 2):
        starts = np.append([0, 0], np.bincount(groups + 1, minlength=301).cumsum()).astype(np.uint32)
        tiled = lay_out(problem, [(None, starts)], Place(n, np.empty(n), 8), jobs)
        found.append((tiled.member, tiled.problem.weights, tiled.problem.criterion._parameter))
        order = np.argsort(groups, kind="stable")
        np.testing.assert_array_equal(np.sort(tiled.problem.weights), np.sort(columns[1][order]))
    for ours, theirs in zip(*found):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", ["small", "many"])
def test_items_of_some_groups_are_found_in_both(kind):
    listed, tiled = both_layouts(kind, Place(N, None))
    some = np.array([1, 2, 40, 299])
    for passes in (listed, tiled):
        items, which = passes.layout.items_of(some)
        order = np.lexsort([passes.problem.weights[items], which])
        found = passes.problem.weights[items][order], which[order]
        if passes is listed:
            theirs = found
    np.testing.assert_array_equal(found[0], theirs[0])
    np.testing.assert_array_equal(found[1], theirs[1])


@pytest.mark.parametrize("kind", ["small", "many", "large", "empty"])
@pytest.mark.parametrize(("dtype", "width"), [(np.float64, np.float64), (np.float32, np.float32)])
def test_the_answer_does_not_depend_on_the_layout(kind, dtype, width, monkeypatch):
    rates, weights, groups, caps = grouped(kind, 2, dtype)
    options = {"weights": weights, "groups": groups, "group_caps": caps}
    answers = []
    for room in (0, 10**6):
        monkeypatch.setattr(room_module, "MOST_ROOM", room)
        out = None if width is None else np.empty(N, width)
        answers.append(solve_nefk(criteria.Freshness(rates), 0.2 * N, out=out, **options))
    listed, tiled = answers
    assert tiled.residual <= 1e-12
    assert tiled.price == pytest.approx(listed.price, rel=1e-12)
    near = 1e-6 if width == np.float32 else 1e-10  # also of all, as an item may start next to the price
    np.testing.assert_allclose(tiled.amounts, listed.amounts, rtol=near, atol=0.2 * near)
    np.testing.assert_array_equal(tiled.side, listed.side)
    np.testing.assert_allclose(tiled.group_prices, listed.group_prices, rtol=1e-11, atol=1e-12 * listed.price)


@pytest.mark.parametrize("kind", ["small", "many", "large", "empty"])
def test_columns_of_either_width_come_into_order_by_group_alike(kind):
    """Two of doubles at once, others by themselves."""
    rates, weights, groups, caps = grouped(kind, 2, np.float32)
    totals = []
    for wide in ((), ("rates",), ("weights",), ("rates", "weights")):
        a, w = (x.astype(np.float64) if name in wide else x for name, x in (("rates", rates), ("weights", weights)))
        options = {"weights": w, "groups": groups, "group_caps": caps, "lower": None, "upper": None, "equality": True}
        problem = check_problem(criteria.Freshness(a), 0.2 * N, **options)
        starts = np.append([0, 0], np.cumsum(np.bincount(groups + 1, minlength=len(caps) + 1))).astype(np.uint32)
        place = Place(N, np.empty(N, np.float64 if wide else np.float32), 8 if wide else 4)  # written over a column
        layout = lay_out(problem, [(None, starts)], place)
        assert isinstance(layout, Tiled)
        totals.append(GroupPasses(problem, 1, layout).respond(0.3)[0])
    for others in totals[1:]:
        np.testing.assert_array_equal(others, totals[0])


SHARED = ("rates", "weights", "lower", "upper", "overlap")


@pytest.mark.parametrize(
    ("kind", "shared"), [*itertools.product([None, "small", "large", "caps"], SHARED), ("caps", "group_caps")]
)
def test_the_answer_may_be_written_over_a_column(kind, shared):
    rates, weights, groups, caps = grouped("small" if kind in (None, "caps") else kind)
    room = np.concatenate([weights, np.zeros(5)])
    given = {"weights": room[:N], "lower": np.full(N, 1e-3), "upper": np.full(N, 5.0)}
    if kind == "caps":
        groups, caps = np.arange(N) // 2, np.full(N, 1.0)
    if kind:
        given |= {"groups": groups, "group_caps": caps + 1e-3 * np.bincount(groups[groups >= 0], minlength=len(caps))}
    if shared not in ("lower", "upper") and kind != "caps":
        del given["lower"], given["upper"]
    expected = solve_nefk(criteria.Freshness(rates), 0.2 * N, **given).amounts
    out = {"rates": rates, "overlap": room[5:], **given}[shared]
    result = solve_nefk(criteria.Freshness(rates), 0.2 * N, out=out, **given)
    assert result.amounts is out
    rounding = {"rtol": 1e-11, "atol": 1e-10} if kind == "caps" else {"rtol": 0.0}  # there, room tells how it is found
    np.testing.assert_allclose(out, expected, **rounding)


def test_a_large_group_that_settles_several_times_keeps_its_columns(monkeypatch):
    """Amounts are not written over its copies while its search goes on."""
    rates, weights, groups, caps = grouped("large", 3)
    monkeypatch.setattr(narrow_module, "CONFIRMED", -1.0)  # no settling pass is good enough
    monkeypatch.setattr(narrow_module, "MANY", 10_000)
    monkeypatch.setattr(room_module, "MOST_ROOM", 30)
    result = solve_nefk(criteria.Freshness(rates), 0.2 * N, weights=weights, groups=groups, group_caps=caps)
    assert (result.group_prices > 0).any()
    assert result.residual <= 1e-12
    for g in np.flatnonzero(result.group_prices > 0):
        assert result.amounts[groups == g].sum() == pytest.approx(caps[g], rel=1e-12)


@pytest.mark.parametrize("seed", [12, 40])
def test_a_large_group_whose_cap_is_what_it_takes_to_rounding(seed):
    """Whether its cap binds is then judged wrongly now and then: the model of the total begins anew without it."""
    generator, n = np.random.default_rng(seed), 70_000
    rates, weights = np.exp(generator.standard_normal((2, n)))
    groups = generator.integers(-1, 3, n)
    free = solve_nefk(criteria.Freshness(rates), 0.2 * n, weights=weights).amounts
    for share in (1 - 4e-13, 1 - 2e-13, 1 - 5e-14, 1 - 5e-15, 1.0, 1 + 5e-15, 1 + 2e-13):
        caps = np.bincount(groups + 1, free)[1:] * [share, 9.0, 9.0]
        result = solve_nefk(criteria.Freshness(rates), 0.2 * n, weights=weights, groups=groups, group_caps=caps)
        assert result.residual <= 1e-12


def test_a_large_group_that_was_judged_wrongly_ends_the_model(monkeypatch):
    """Its cap is a bit more than it takes: below the answer's price it seems to bind."""
    generator, n = np.random.default_rng(1), 200_000
    rates, weights = np.exp(generator.standard_normal((2, n)))
    groups = generator.integers(-1, 4, n)
    free = solve_nefk(criteria.Freshness(rates), 0.2 * n, weights=weights).amounts
    caps = np.bincount(groups + 1, free)[1:] * [1.0005, 9.0, 9.0, 9.0]

    def all_above(passes, mu, ends, total, slope):
        return (total > np.append(np.inf, passes.caps)).astype(np.int8)

    monkeypatch.setattr(groups_module, "mark_surely", all_above)
    result = solve_nefk(criteria.Freshness(rates), 0.2 * n, weights=weights, groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    assert not result.group_prices.any()


@pytest.mark.parametrize("size", [3, 100, 3000])
def test_groups_that_were_taken_to_be_loose_and_are_not_end_the_model(size, monkeypatch):
    generator, n = np.random.default_rng(1), 120_000
    rates, weights = np.exp(generator.standard_normal((2, n)))
    groups, options = generator.integers(-1, n // size, n), {"weights": weights}
    free = solve_nefk(criteria.Freshness(rates), 0.2 * n, **options).amounts
    caps = np.bincount(groups + 1, free)[1:] * generator.uniform(0.3, 1.5, n // size) + 1e-9
    options |= {"groups": groups, "group_caps": caps}
    exact = solve_nefk(criteria.Freshness(rates), 0.2 * n, **options)
    monkeypatch.setattr(groups_module, "mark_surely", lambda passes, *_: np.full(len(passes.caps) + 1, 3, np.int8))
    result = solve_nefk(criteria.Freshness(rates), 0.2 * n, **options)
    assert result.residual <= 1e-12
    assert result.price == pytest.approx(exact.price, rel=1e-12)
    assert (result.group_prices > 0).mean() > 0.3


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.PoissonFreshness])
@pytest.mark.parametrize(("n", "size"), [(17_000, 2), (40_000, 3), (60_000, 3000)])
def test_copies_of_few_items_give_the_answer_of_a_list(n, size, kind, bounded, monkeypatch):
    generator, n_groups = np.random.default_rng(n), n // size
    rates, weights = np.exp(generator.standard_normal((2, n)))
    groups = generator.integers(-1, n_groups, n)
    caps = 0.3 * np.bincount(groups + 1, minlength=n_groups + 1)[1:] * generator.uniform(0.2, 4.0, n_groups) + 1e-9
    given = {"weights": weights, "groups": groups, "group_caps": caps, "equality": False}
    if bounded:
        given["upper"] = generator.uniform(0.2, 3.0, n)
    made, copy = [], layouts_module.copy_few
    monkeypatch.setattr(solver_module, "copy_few", lambda *args: made.append(copy(*args)) or made[-1])
    results = [solve_nefk(kind(rates), 0.2 * n, **given, n_jobs=jobs) for jobs in (1, 2)]
    assert all(isinstance(layout, Tiled) for layout in made) and len(made) == 2
    np.testing.assert_array_equal(results[0].amounts, results[1].amounts)
    monkeypatch.setattr(solver_module, "copy_few", lambda *_: None)
    listed = solve_nefk(kind(rates), 0.2 * n, **given)
    assert max(results[0].residual, listed.residual) <= 2e-13
    np.testing.assert_allclose(results[0].amounts, listed.amounts, rtol=1e-9, atol=1e-12 * n)
    np.testing.assert_allclose(results[0].group_prices, listed.group_prices, rtol=1e-9, atol=1e-11 * listed.price)
