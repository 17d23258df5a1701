"""Caps are filled without the items that start below nearly all own prices: what is left has all of its items."""

from types import SimpleNamespace

import numpy as np
import pytest
from tight_problems import assert_same, hosts_by_rank, tight

import knapsolve.nefk.active_items as active_items
import knapsolve.nefk.loose_caps as loose_caps
import knapsolve.nefk.reduced as reduced
import knapsolve.nefk.tight_caps as tight_caps
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.problem import check_problem, joined


@pytest.fixture
def tried(monkeypatch):
    """Of each fill: the share of the items that was looked at, how many others were left, and whether it was taken."""
    seen, fill, idle = [], reduced.fill_and_solve, tight_caps._idle_items

    def spy(problem, layout, *given):
        seen.append([1.0 if layout.active is None else layout.active.n / problem.n, 0, False])
        found = fill(problem, layout, *given)
        seen[-1][2] = found is not None
        return found

    def count(*given):
        found = idle(*given)
        seen[-1][1] = found.size
        return found

    monkeypatch.setattr(reduced, "fill_and_solve", spy)
    monkeypatch.setattr(tight_caps, "_idle_items", count)
    return seen


def let_more_be_left(monkeypatch, share):
    """Leave a third of the items out, or more, even if so large a share is left for that."""
    monkeypatch.setattr(tight_caps, "FEW_MORE", share)
    monkeypatch.setattr(tight_caps, "NEAR", share)
    monkeypatch.setattr(tight_caps, "BY_LEFT", (tight_caps.IDLE[-1] - tight_caps.WORTH) / share)


def with_all_items(criterion, given, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(loose_caps, "price_without_idle", lambda *_: None)
        return solve_nefk(criterion, **given)


class Told:
    """A sample that says what share of the items groups have whose own prices are below a price; starts are even in
    [0, 1].
    """

    share_ungrouped = 0.02

    def __init__(self, more_left):
        self.more_left = more_left
        generator, n = np.random.default_rng(0), 100_000
        given = check_problem(criteria.Detection(np.ones(n)), 1.0, generator.random(n), *[None] * 4, True)
        self.totals = SimpleNamespace(problem=given)

    def capped_at(self, price):
        return 1.0, self.share_ungrouped + self.more_left(price)


@pytest.mark.parametrize(
    ("more_left", "price"),
    [
        (lambda price: 0.0, 0.5),
        (lambda price: 0.0 if price < 0.45 else 0.1, 0.4),  # steep near the middle, as own prices are
        (lambda price: 0.02 * price, 0.5),
        (lambda price: 0.005 if price < 0.25 else 0.0125 if price < 0.36 else 0.2, None),  # a third is not enough
        (lambda price: 0.011 * (price > 0.1), None),  # many are left at once
    ],
)
def test_the_highest_price_that_is_worth_what_is_left(more_left, price):
    sample = Told(more_left)
    found = tight_caps.price_without_idle(sample, 0.001, 0.02, 0.5)
    assert found == (None if price is None else pytest.approx(price, abs=0.08))
    assert tight_caps.price_without_idle(sample, 0.001, 0.03, 0.5) is None, "own prices are next to the price"
    assert tight_caps.price_without_idle(sample, 0.001, 0.02, 0.02) is None, "there is no room"
    assert tight_caps.price_without_idle(sample, 0.6, 0.02, 0.5) == 0.6, "below which are many, and no more is left"
    assert tight_caps.price_without_idle(sample, 0.6, 0.03, 0.5) == 0.6


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
@pytest.mark.parametrize(("size", "most_left"), [(2, 0.15), (5, 0.03), (20, 0.01), (300, 0.01), (3000, 0.01)])
def test_the_answer_is_that_of_all_items(size, most_left, kind, jobs, tried, monkeypatch):
    let_more_be_left(monkeypatch, most_left)
    monkeypatch.setattr(tight_caps, "MOST_LEFT", 0.3)
    for module in (reduced, tight_caps):
        monkeypatch.setattr(module, "share_beside_filled", lambda *_, **__: 1.0)
    criterion, given = tight(150_000, size, kind)
    result = solve_nefk(criterion, **given | {"n_jobs": jobs})
    ((share, left, is_taken),) = tried
    assert is_taken and share < 0.85
    assert left > 0 or size > 5
    assert_same(result, with_all_items(criterion, given, monkeypatch), given["capacity"])


def test_threads_change_no_bit(tried):
    criterion, given = tight(150_000, 30, criteria.Freshness)
    results = [solve_nefk(criterion, **given | {"n_jobs": jobs}) for jobs in (1, 2, 3)]
    assert all(share < 0.8 and is_taken for share, _, is_taken in tried)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].amounts, other.amounts)
        np.testing.assert_array_equal(results[0].group_prices, other.group_prices)
        assert (results[0].price, results[0].value) == (other.price, other.value)


@pytest.mark.parametrize(("size", "more"), [(5, 0.1), (50, 0.01)])
@pytest.mark.parametrize("over", [0.8, 0.95])
def test_hosts_by_rank_and_capacity_that_is_left_over(size, more, over, tried, monkeypatch):
    let_more_be_left(monkeypatch, more)
    n = 300_000
    criterion, given = hosts_by_rank(n, n // size, over)
    given["out"] = np.empty(n)
    result = solve_nefk(criterion, **given)
    assert tried[0][0] < 0.85 and tried[0][2]
    assert_same(result, with_all_items(criterion, given | {"out": None}, monkeypatch), given["capacity"])
    assert result.price == 0.0


@pytest.mark.parametrize("is_left_over", [False, True])
def test_groups_all_of_whose_items_are_left_out_have_them_in_what_is_left(is_left_over, tried, monkeypatch):
    """No item tells of such a group: not even that it is left. Without items of no group, nothing else is."""
    let_more_be_left(monkeypatch, 0.01)
    criterion, given = tight(150_000, 20, criteria.Freshness)
    groups = given["groups"]
    if is_left_over:
        groups[groups < 0] = 4
        given |= {"capacity": 2.0 * given["group_caps"].sum(), "equality": False}
    is_last = groups % 200 == 3
    given["weights"] = np.where(is_last, given["weights"] * 1e-3, given["weights"])
    result = solve_nefk(criterion, **given)
    ((share, left, is_taken),) = tried
    assert share < 0.85 and is_taken
    assert (given["weights"] / criterion._parameter)[is_last].max() < 0.6 and left > 500
    assert (result.amounts[is_last] > 0.0).any()
    assert_same(result, with_all_items(criterion, given, monkeypatch), given["capacity"])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("below", [0.7, 0.4])
def test_groups_are_taken_back_with_all_of_their_items(below, dtype, tried, taken_back, sampled, monkeypatch):
    """The budget's price is above the one that it was held to be below, and that of items which were left out."""
    criterion, given = tight(150_000, 20, criteria.Freshness, share=(0.3, 1.1))
    criterion = criteria.Freshness(criterion._parameter.astype(dtype))
    given |= {"weights": given["weights"].astype(dtype)}
    expected = with_all_items(criterion, given, monkeypatch)
    tried.clear()
    taken_back.clear()
    monkeypatch.setattr(loose_caps, "find_price_above", lambda *_: (0.5 * below * expected.price, 0.0))
    monkeypatch.setattr(loose_caps, "price_without_idle", lambda *_: below * expected.price)
    monkeypatch.setattr(active_items, "WORTH", 0.0)
    result = solve_nefk(criterion, **given, out=np.empty(150_000, dtype))
    is_double = dtype == np.float64
    assert tried[0][0] < 1.0 and tried[0][2] == is_double and len(taken_back) == is_double
    assert result.price == pytest.approx(expected.price, rel=1e-11)
    assert result.value == pytest.approx(expected.value, rel=1e-12)
    tolerance = 1e-9 if is_double else 1e-6
    np.testing.assert_allclose(result.amounts, expected.amounts, rtol=tolerance, atol=1e-12 * given["capacity"])
    np.testing.assert_array_equal(result.at_lower, result.amounts <= 0.0)


def test_items_of_two_problems_are_one():
    parts = [(0, 3), (3, 5)]
    columns = {"rates": np.arange(1.0, 6.0), "weights": np.arange(5.0)}
    for weights in (columns["weights"], None):
        problem = check_problem(criteria.Freshness(columns["rates"]), 1.0, weights, 0.0, None, None, None, True)
        one = joined(*(problem.take(slice(*part), 1.0) for part in parts))
        assert one.n == 5
        np.testing.assert_array_equal(one.criterion._parameter, columns["rates"])
        np.testing.assert_array_equal(one.weights, 1.0 if weights is None else weights)


@pytest.mark.parametrize("over", [0.8, 1.02])
def test_first_all_items_are_looked_at_and_then_nothing_is_filled(over, tried, monkeypatch):
    """As amounts do not turn out well, whatever the reason."""
    criterion, given = hosts_by_rank(300_000, 6000, 0.8) if over < 1.0 else tight(150_000, 20, criteria.Freshness)
    expected = solve_nefk(criterion, **given)
    tried.clear()
    monkeypatch.setattr(tight_caps, "DOUBTFUL", -1.0)
    result = solve_nefk(criterion, **given)
    assert [share < 0.85 for share, *_ in tried] == [True, False] and not any(is_taken for *_, is_taken in tried)
    assert_same(result, expected, given["capacity"])


def test_where_many_items_start_at_a_price_they_take_nothing_there(tried):
    """Of few classes, as pages may be: a sample is not asked at the very price, where it tells either."""
    n, generator = 100_000, np.random.default_rng(14)
    which = generator.integers(generator.integers(2, 6), size=n)
    n_groups = n // int(generator.choice([2, 3, 5]))
    groups = generator.integers(0, n_groups, n)
    rates, weights = np.exp(generator.normal(0.0, 2.0, 2))[which], generator.integers(1, 11, 2)[which].astype(float)
    given = {"weights": weights, "groups": groups, "group_caps": 0.09 * n / n_groups, "equality": False}
    result = solve_nefk(criteria.Freshness(rates), generator.uniform(0.01, 1.0) * rates.sum(), **given)
    assert [is_taken for *_, is_taken in tried] == [True] and result.residual <= 1e-12
