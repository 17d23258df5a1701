"""What is left beside filled groups is solved by their own prices, which are known: the answer is that without."""

import numpy as np
import pytest
from tight_problems import assert_same, hosts_by_rank, tight

import knapsolve.nefk.beside_filled as beside_filled
import knapsolve.nefk.loose_caps as loose_caps
import knapsolve.nefk.reduced as reduced
import knapsolve.nefk.tight_caps as tight_caps
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.problem import check_problem


class Seen(list):
    """Whether own prices led to the answer, every time, and what they were."""

    def __init__(self):
        super().__init__()
        self.own = []


@pytest.fixture
def by_own(monkeypatch):
    seen, find = Seen(), tight_caps.solve_by_own_prices

    def spy(problem, rest, own, *args):
        seen.own.append((own.copy(), rest.caps.copy()))
        found = find(problem, rest, own, *args)
        seen.append(found is not None)
        return found

    monkeypatch.setattr(tight_caps, "solve_by_own_prices", spy)
    monkeypatch.setattr(tight_caps, "MOST_LEFT", 0.3)
    monkeypatch.setattr(loose_caps, "price_without_idle", lambda *_: None)
    for module in (reduced, tight_caps):
        monkeypatch.setattr(module, "share_beside_filled", lambda *_, **__: 1.0)
    return seen


def solve_without(criterion, given, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(tight_caps, "solve_by_own_prices", lambda *_: None)
        return solve_nefk(criterion, **given)


def crowded(size, kind=criteria.Freshness, n=120_000, seed=0):
    """Caps by size, 2% above the capacity: some are loose."""
    generator = np.random.default_rng(seed)
    rate, weight = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    groups = generator.integers(0, n // size, n)
    caps = 1.02 * 0.3 * np.bincount(groups, minlength=n // size)
    given = {"capacity": 0.3 * n, "weights": weight, "groups": groups, "group_caps": caps, "n_jobs": 1}
    return kind(rate), given | {"out": np.empty(n)}


@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
@pytest.mark.parametrize("size", [2, 5, 20])
@pytest.mark.parametrize("seed", range(3))
def test_own_prices_of_what_is_left_lead_to_its_answer(size, kind, seed, by_own, monkeypatch):
    criterion, given = crowded(size, kind, seed=seed)
    result = solve_nefk(criterion, **given)
    assert by_own == [True]
    own, _ = by_own.own[0]
    assert (own > result.price).any()
    assert (own < result.price).any()
    assert_same(result, solve_without(criterion, given | {"out": None}, monkeypatch), given["capacity"])


def test_hosts_by_rank_and_items_of_no_group(by_own, monkeypatch):
    for criterion, given in (hosts_by_rank(200_000, 20_000, 1.02), tight(200_000, 4, criteria.Freshness)):
        result = solve_nefk(criterion, **given)
        assert by_own.pop()
        assert_same(result, solve_without(criterion, given, monkeypatch), given["capacity"])


def test_groups_that_never_take_their_caps_are_loose(by_own, monkeypatch):
    """Of no rate, or no weight, or with caps that are far away: they have no own prices, or such as mean nothing."""
    criterion, given = crowded(5)
    groups, generator = given["groups"], np.random.default_rng(1)
    kind = generator.integers(0, 150, given["group_caps"].size)[groups]
    rates = np.where(kind == 0, 0.0, criterion._parameter)
    given["weights"] = np.where(kind == 1, 0.0, given["weights"])
    given["group_caps"][groups[kind == 2]] = 1e3
    result = solve_nefk(criteria.Freshness(rates), **given)
    assert by_own == [True, False]  # more groups are taken back: many items
    assert not result.amounts[kind <= 1].any()
    own, caps = by_own.own[0]
    assert (caps == 1e3).any()
    assert not (own[caps == 1e3] > 0.5 * result.price).any()
    assert_same(result, solve_without(criteria.Freshness(rates), given | {"out": None}, monkeypatch), given["capacity"])


def test_caps_of_0_in_what_is_left_are_solved_without(by_own, monkeypatch):
    """Their own prices are where their first items start; amounts may be of any size."""
    criterion, given = crowded(5)
    scale, given["out"] = 1e9, None
    given["group_caps"][:60] = 0.0
    given["group_caps"] *= scale
    given["capacity"] *= 0.99 * scale
    result = solve_nefk(criteria.Freshness(scale * criterion._parameter), **given)
    assert by_own == [False]
    assert result.residual <= 3e-13
    assert not result.amounts[given["groups"] < 60].any()
    assert (result.group_prices[:60] > 0.0).mean() > 0.9


def test_a_violation_that_is_no_number_is_not_taken(by_own, monkeypatch):
    criterion, given = crowded(5)
    expected = solve_nefk(criterion, **given | {"out": None})
    monkeypatch.setattr(beside_filled, "_violation", lambda *_: float("nan"))
    assert_same(solve_nefk(criterion, **given), expected, given["capacity"])
    assert by_own == [True, False]


@pytest.mark.parametrize("wrong", ["amounts", "amounts of a loose group", "own prices", "all loose"])
def test_what_is_not_as_own_prices_say_is_solved_without(wrong, by_own, monkeypatch):
    criterion, given = crowded(5)
    expected, find = solve_nefk(criterion, **given | {"out": None}), tight_caps.solve_by_own_prices

    def spoil(problem, rest, own, amounts, *args):
        if wrong == "amounts":
            amounts *= 1.0 + 1e-9
        elif wrong == "amounts of a loose group":
            amounts[rest.groups == np.argmax(np.where(own < 0.999 * expected.price, own, 0.0))] *= 0.5
        else:
            own = own * (1.0 + 1e-9) if wrong == "own prices" else np.full_like(own, np.nan)
        return find(problem, rest, own, amounts, *args)

    monkeypatch.setattr(tight_caps, "solve_by_own_prices", spoil)
    result = solve_nefk(criterion, **given)
    assert by_own == [True, False]
    assert_same(result, expected, given["capacity"])


def test_the_answer_does_not_depend_on_threads(by_own):
    criterion, given = crowded(3, n=300_000)
    one, two = (solve_nefk(criterion, **given | {"n_jobs": jobs, "out": None}) for jobs in (1, 2))
    assert by_own == [True, True]
    np.testing.assert_array_equal(one.amounts, two.amounts)
    np.testing.assert_array_equal(one.group_prices, two.group_prices)
    assert (one.price, one.value, one.residual, one.n_passes) == (two.price, two.value, two.residual, two.n_passes)


@pytest.mark.parametrize(("size", "seed"), [(2, 969), (3, 304)])
def test_a_group_whose_own_price_is_next_to_the_budgets_is_loose_or_not(size, seed, by_own, monkeypatch):
    """An item starts there: with the group's cap the price is on one side, without it on the other."""
    criterion, given = crowded(size, n=70_000, seed=seed)
    result = solve_nefk(criterion, **given)
    assert by_own == [True]
    taken = np.bincount(given["groups"], result.amounts, given["group_caps"].size)
    binds = result.group_prices > 0.0
    np.testing.assert_allclose(taken[binds], given["group_caps"][binds], rtol=1e-12)
    assert_same(result, solve_without(criterion, given | {"out": None}, monkeypatch), given["capacity"])
    monkeypatch.setattr(beside_filled, "SAME", 0.0)
    solve_nefk(criterion, **given)
    assert by_own == [True, False]


@pytest.fixture
def refilled(monkeypatch):
    """Items of what is left whose own prices were guesses, every time that these led to the answer."""
    seen, find = [], tight_caps.solve_by_own_prices

    def spy(problem, rest, own, amounts, *args):
        found = find(problem, rest, own, amounts, *args)
        if found is not None and amounts is None:
            seen.append(rest.n)
        return found

    monkeypatch.setattr(tight_caps, "solve_by_own_prices", spy)
    return seen


@pytest.mark.parametrize(("n", "seed", "times"), [(70_000, 0, 1), (100_000, 2, 1), (80_000, 4, 2)])
def test_groups_with_items_that_were_left_out_are_filled_once_more(n, seed, times, refilled, monkeypatch):
    """And those that are taken back, the second time."""
    criterion, given = hosts_by_rank(n, n // 10, 1.02, seed)
    result = solve_nefk(criterion, **given)
    assert len(refilled) == times
    expected = solve_without(criterion, given, monkeypatch)
    assert_same(result, expected, given["capacity"])
    monkeypatch.setattr(beside_filled, "MOST_FILLED", refilled[0] - 1)
    assert_same(solve_nefk(criterion, **given), expected, given["capacity"])
    assert len(refilled) == times


@pytest.mark.parametrize("seed", [2, 7, 10])
def test_groups_that_take_nothing_are_loose_where_others_are_filled_once_more(seed, refilled, monkeypatch):
    criterion, given = hosts_by_rank(100_000, 10_000, 1.02, seed)
    groups = given["groups"]
    worthless = np.random.default_rng(1).random(10_000) < 0.01
    worthless[np.argsort(np.bincount(groups, minlength=10_000))[-100:]] = False
    given["weights"] = np.where(worthless[groups], 0.0, given["weights"])
    given["group_caps"][~worthless] *= 1.003
    result = solve_nefk(criterion, **given)
    assert refilled
    assert not result.amounts[worthless[groups]].any()
    assert not result.group_prices[worthless].any()
    assert_same(result, solve_without(criterion, given, monkeypatch), given["capacity"])


@pytest.mark.parametrize("guess", [0.05, 0.3, 5.0])
def test_own_prices_are_found_from_any_guess_where_there_are_any(guess):
    generator = np.random.default_rng(2)
    groups = generator.permutation(np.arange(200) % 41 - 1)
    rates, weights = np.exp(generator.standard_normal((2, 200)))
    weights[groups == 7] = 0.0
    caps = np.exp(generator.standard_normal(40))
    problem = check_problem(criteria.Freshness(rates), 9.0, weights, 0.0, None, groups, caps, True)
    guesses = np.where(np.arange(40) % 2, np.nan, 3.0 * guess)
    own, amounts = beside_filled._fill(problem, guesses, guess, 1)
    assert np.flatnonzero(~(own > 0.0)).tolist() == [7]
    inside = (groups >= 0) & (groups != 7)
    np.testing.assert_allclose(np.bincount(groups[inside], amounts[inside], 40)[own > 0], caps[own > 0], rtol=1e-12)
    slope = weights[inside] * criteria.Freshness(rates[inside]).derivative(amounts[inside])
    excess, takes = slope / own[groups[inside]] - 1.0, amounts[inside] > 0.0
    assert np.abs(excess[takes]).max() <= 1e-12 and excess[~takes].max() <= 1e-12
