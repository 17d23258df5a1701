"""Own prices of groups: how many evaluations they take, and what they come to where items start."""

import numpy as np
import pytest
from group_fuzz import MANY_PER_GROUP, MANY_SIZES, residual
from nefk_oracle import solve
from scipy import special

import knapsolve._core.nefk as core
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.group_passes import GroupPasses
from knapsolve.nefk.own_guesses import own_guesses
from knapsolve.nefk.passes import Prices
from knapsolve.nefk.problem import check_problem
from knapsolve.nefk.result import Place


def evaluations_of_own_prices(kind, caps_of, mu=0.1, n=10_000, size=5):
    """Evaluations of each item, beside the answer's, until groups of a size have own prices, from a guess below."""
    generator, n = np.random.default_rng(5), n // size * size
    rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    groups = np.arange(n) // size

    def passes_of(caps):
        return GroupPasses(check_problem(kind(rates), 1.0, weights, 0.0, np.inf, groups, caps, True), 1)

    free = passes_of(np.ones(n // size))
    taken = free.respond(mu)[0][1:]
    starts = (weights / rates if kind is criteria.Freshness else weights).reshape(-1, size)
    caps = caps_of(generator, taken, rates.reshape(-1, size), starts)
    own, amounts = np.append(np.nan, np.full(n // size, mu)), np.empty(n)
    passes = passes_of(caps)
    (found,) = passes._tiles.settle(passes.runs.places, core.TileSpace(), mu, mu, 0.0, mu, own, amounts, None)
    assert found[4] <= 1e-12
    assert found[5] <= 1.2e-13  # of a cap: amounts of steep items are off by many times that
    assert found[7] == 0
    return found[6]


def shares_of_what_is_taken(least, most):
    """Caps that are so much of what groups take."""
    return lambda generator, taken, rates, starts: 1e-9 + taken * generator.uniform(least, most, len(taken))


@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
@pytest.mark.parametrize(("least", "most", "evaluations"), [(0.3, 0.9, 0.06), (0.01, 0.3, 0.08)])
def test_own_prices_of_most_groups_need_no_evaluation_but_the_answers(kind, least, most, evaluations):
    """Single precision leads so near that amounts follow the last step. Without a last step of items in their corners
    there are .08 and .2 evaluations.
    """
    assert evaluations_of_own_prices(kind, shares_of_what_is_taken(least, most)) <= evaluations


@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
@pytest.mark.parametrize(("size", "evaluations"), [(25, 0.08), (60, 0.14), (100, 0.2), (180, 0.03)])
def test_own_prices_of_groups_of_scores_of_items_need_a_fifth_of_an_evaluation(kind, size, evaluations):
    """Beyond 64 items there were four, in double precision. The more items, the likelier that one starts near by."""
    assert evaluations_of_own_prices(kind, shares_of_what_is_taken(0.3, 0.9), size=size) <= evaluations


@pytest.mark.parametrize("mu", [1e-4, 1e-2, 0.3])
def test_own_prices_are_guessed_by_what_a_sample_takes(mu):
    """From any price below. What groups take over their caps, without a sample, is off by more."""
    generator, n = np.random.default_rng(8), 100_000
    rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    groups, caps = generator.integers(0, n // 100, n), np.ones(n // 100)
    free = GroupPasses(check_problem(criteria.Freshness(rates), 1.0, weights, 0.0, None, groups, caps, True), 1)
    caps = free.respond(1.0)[0][1:] * generator.uniform(0.2, 1.0, caps.size)
    problem = check_problem(criteria.Freshness(rates), 1.0, weights, 0.0, None, groups, caps, True)
    passes = GroupPasses(problem, 1)
    own = np.append(np.nan, np.ones(caps.size))
    passes.settle(Prices(0.5, 0.5), own, 0.5, Place(n, None))
    guesses = own_guesses(passes, mu, *passes.respond(mu))
    off = np.abs(np.log(guesses[1:] / own[1:]))
    assert np.median(off) <= 0.13
    assert off.max() <= 1.0


@pytest.mark.parametrize(
    ("kind", "size", "evaluations"),
    [
        (criteria.PoissonFreshness, 5, 2.02),
        (criteria.Logarithmic, 5, 2.02),
        (criteria.Exponential, 5, 2.02),
        (criteria.Harmonic, 1, 2.0),
        (criteria.Harmonic, 2, 3.1),
        (criteria.Harmonic, core.SHORT, 3.5),
        (criteria.Harmonic, core.SHORT + 1, 4.0),
    ],
)
def test_own_prices_of_a_row_of_groups_need_few_evaluations(kind, size, evaluations):
    """One, and one that tells that the first step led there; harmonic groups are nearly as one item is, the fewer items
    the nearer. Newton's method on logarithms takes 3.9 there, as it does with larger groups.
    """
    shares = shares_of_what_is_taken(0.3, 0.9)
    assert evaluations_of_own_prices(kind, shares, mu=1e-3, n=4000, size=size) <= evaluations


@pytest.mark.parametrize("family", ["poisson", "harmonic", "logarithmic", "exponential", "quadratic", "power"])
@pytest.mark.parametrize("columns", ["none", "one parameter", "one weight", "bounds", "single precision"])
def test_groups_of_a_row_take_what_each_does_alone(family, columns):
    """Some more than vectors hold, or less, of all sizes up to more than rows have; and one of each of some others."""
    sizes = np.concatenate([[size] * count for size, count in zip(range(1, 27), [40, 32, 31, 7, 8, 9, *([33] * 20)])])
    groups, generator = np.repeat(np.arange(sizes.size), sizes), np.random.default_rng(11)
    n = groups.size
    order = generator.permutation(n)
    groups = groups[order]
    p, w = generator.uniform(0.1, 0.9, n), np.exp(generator.standard_normal(n))
    if columns == "single precision":
        p, w = p.astype(np.float32), w.astype(np.float32)
    p, w = 0.5 if columns == "one parameter" else p, None if columns == "one weight" else w
    low, high = np.zeros(n), np.full(n, 1.0 if family == "quadratic" else np.inf)
    if columns == "bounds":
        low, high = generator.uniform(0, 0.02, n), generator.uniform(0.1, 0.5, n)
    free = solve(family, p, 0.2 * n, weights=w, lower=low, upper=high).amounts
    floor = np.bincount(groups, low)
    caps = floor + (np.bincount(groups, free) - floor) * generator.uniform(0.1, 0.9, sizes.size) + 1e-9
    bounds = {"lower": low, "upper": high} if columns == "bounds" or family == "quadratic" else {}
    result = solve(family, p, 0.2 * n, weights=w, groups=groups, group_caps=caps, equality=False, **bounds)
    assert result.residual <= 1e-12
    for g in np.append(np.arange(0, sizes.size, 5), sizes.size - 1):
        own = np.flatnonzero(groups == g)
        mine = {name: column[own] for name, column in bounds.items()}
        q, v = (x[own] if isinstance(x, np.ndarray) else x for x in (p, w))
        alone = solve(family, q, caps[g], weights=v, **mine)
        np.testing.assert_allclose(result.amounts[own], alone.amounts, rtol=1e-9, atol=1e-12 * caps[g])


@pytest.mark.parametrize("size", [core.DEPTH - 1, core.DEPTH, core.DEPTH + 1])
@pytest.mark.parametrize("larger", [core.DEPTH + 1, 500, 3000])
def test_groups_as_large_as_lanes_are_deep_follow_larger_ones(size, larger):
    """In a tile of small groups: lanes of groups that are not in order by size would be written beyond their end."""
    sizes = np.tile([20] * (larger // 10 + 20) + [larger, size], 4)
    groups, generator = np.repeat(np.arange(sizes.size), sizes), np.random.default_rng(3)
    rates, weights = np.exp(generator.standard_normal((2, groups.size)))
    for family in ("freshness", "detection"):
        free = solve(family, rates, 0.3 * groups.size, weights=weights).amounts
        caps = np.bincount(groups, free) * generator.uniform(0.3, 0.9, sizes.size) + 1e-9
        result = solve(family, rates, 0.95 * caps.sum(), weights=weights, groups=groups, group_caps=caps)
        assert result.residual <= 1e-12


def test_amounts_do_not_follow_a_last_step_across_an_items_start():
    """Own prices lie a billionth to a millionth below the start of an item that is too small for totals to show it."""
    generator, m, small = np.random.default_rng(6), 2000, 1e-12
    starts = generator.uniform(0.2, 0.8, m)
    price = starts * (1 - 10 ** generator.uniform(-9, -6, m))
    caps = 1 / special.gammaincinv(2, price) + small / special.gammaincinv(2, price / starts)
    rates, weights = np.tile([1.0, small], m), np.column_stack([np.ones(m), starts * small]).ravel()
    groups = np.repeat(np.arange(m), 2)
    problem = check_problem(criteria.Freshness(rates), 1.0, weights, 0.0, np.inf, groups, caps, True)
    own, amounts = np.append(np.nan, np.full(m, 0.1)), np.empty(2 * m)
    passes = GroupPasses(problem, 1)
    for found in passes._tiles.settle(passes.runs.places, core.TileSpace(), 0.1, 0.1, 0.0, 0.1, own, amounts, None):
        assert found[4] <= 1e-12
    assert found[5] <= 1.2e-13  # of a cap: amounts of steep items are off by many times that
    np.testing.assert_allclose(own[1:], price, rtol=1e-11)


@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
@pytest.mark.parametrize(
    ("place", "part", "evaluations"),
    [(1, 80, 0), (1, 90, 0), (2, 80, 3.2), (3, 80, 3.4), (2, 30, 2.9), (2, 22, 2.9), (2, 12, 2.9)],
)
def test_own_prices_at_which_an_item_starts_are_found_in_few_evaluations(kind, place, part, evaluations):
    """Amounts jump there, by a fortieth of the rate over one unit in the last place of the price, or nearly so, and
    caps leave the item a part of that. By halving brackets some fifty evaluations would be needed, and six where prices
    are searched for that meet the caps; where only the first item takes anything, none is.
    """

    def within_the_jump(generator, taken, rates, starts):
        rows, item = np.arange(len(starts)), np.argsort(starts, axis=1)[:, -place]
        share = starts[rows, item][:, None] / starts
        above = np.where(share < 1, rates / special.gammaincinv(2, np.minimum(share, 1 - 1e-16)), 0.0)
        caps = above.sum(axis=1) + rates[rows, item] / part
        return np.where(starts[rows, item] > 0.11, caps, 0.5 * taken)

    assert evaluations_of_own_prices(kind, within_the_jump) <= evaluations


@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
@pytest.mark.parametrize("size", [2, 3, 7])
def test_items_of_a_group_that_start_together_keep_its_tiny_cap(kind, size):
    """All starts of a group lie within some units in the last place, its cap within the jump of the first of them."""
    generator, m = np.random.default_rng([8, size]), 400
    rates = generator.integers(1, 12, (m, size)).astype(float)
    starts = np.exp(generator.standard_normal((m, 1))) * (1 - generator.integers(0, 4, (m, size)) * 2.0**-53)
    weights = rates * starts if kind is criteria.Freshness else starts
    caps = rates.sum(axis=1) * 10 ** generator.uniform(-4, -1.5, m)
    groups = np.append(np.repeat(np.arange(m), size), -1)
    rates, weights = np.append(rates, 1.0), np.append(weights, 1e-3)
    result = solve_nefk(kind(rates), caps.sum() + 0.2, weights=weights, groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    np.testing.assert_allclose(np.bincount(groups[:-1], result.amounts[:-1]), caps, rtol=1e-12)


def test_three_items_that_start_together_under_a_tiny_cap():
    rates = np.array([1.0, 3.0, 7.0, 1.0])
    options = {"weights": 0.3 * rates, "groups": [0, 0, 0, -1], "group_caps": [0.01]}
    result = solve_nefk(criteria.Freshness(rates), 0.5, **options)
    assert result.amounts[:3].sum() == pytest.approx(0.01, rel=1e-12)
    assert result.amounts[3] == pytest.approx(0.49, rel=1e-12)


def test_a_cap_of_zero_holds_where_the_price_is_an_items_start_but_for_rounding():
    """13 / 3 rounds down: at the price of that jump an item of weight 6.5 and rate 1.5 takes something already."""
    assert residual(5503445, True, MANY_SIZES, MANY_PER_GROUP) <= 1e-12


@pytest.mark.parametrize("family", ["freshness", "detection"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 30, 64])
def test_an_item_that_takes_the_cap_before_another_starts_takes_just_that(family, size):
    generator, m = np.random.default_rng(size), 300
    rates, starts = generator.lognormal(0, 1, (m, size)), np.sort(generator.uniform(0.5, 1.0, (m, size)))
    starts[:, -1] += 0.5
    if size > 2:
        starts[:, -3] = starts[:, -2]  # tied, which is no matter
    weights = starts * (rates if family == "freshness" else 1.0)
    second = starts[:, -2] / starts[:, -1] if size > 1 else np.full(m, 0.1)
    caps = rates[:, -1] / special.gammaincinv(2, second) * np.append(generator.uniform(0.01, 0.999, m - 1), 1.0 - 1e-9)
    order = generator.permuted(np.tile(np.arange(size), (m, 1)), axis=1)
    rates, weights, starts = (np.take_along_axis(x, order, axis=1) for x in (rates, weights, starts))
    first = starts == starts.max(axis=1, keepdims=True)
    groups = np.append(np.repeat(np.arange(m), size), -1)
    columns = [np.append(x.ravel(), 1.0) for x in (rates, weights)]
    result = solve(family, columns[0], caps.sum() + 2.0, weights=columns[1], groups=groups, group_caps=caps)
    amounts = result.amounts[:-1].reshape(m, size)
    np.testing.assert_array_equal(amounts, np.where(first, caps[:, None], 0.0))
    assert result.residual <= 1e-15
    assert result.price < 0.5
    assert (result.group_prices > 0).all()


@pytest.mark.parametrize("seed", [914_812, 929_536, 978_583])
def test_what_an_items_corner_leaves_is_not_lost_in_its_rate(seed):
    """The item that bends the total has a rate a million times the cap."""
    assert residual(seed) <= 1e-12


@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
@pytest.mark.parametrize("apart", [1e-12, 1e-9, 1e-8, 1e-7, 1e-5, 1e-3, 1e-2])
@pytest.mark.parametrize("upper", [None, 3.0])
@pytest.mark.parametrize("deepest", [-5, -1])
def test_items_that_start_next_to_each_other_leave_no_residual(kind, apart, upper, deepest):
    """The cap lies in the corner of one of them, where the total of the other may bend as fast."""
    generator, m = np.random.default_rng(7), 3000
    rates = np.exp(generator.standard_normal((m, 4)))
    starts = np.exp(generator.standard_normal((m, 4)))
    starts[:, 3] = starts[:, 2] * (1 - apart * generator.uniform(-1, 1, m))
    price = starts[:, 2, None] * (1 - 10 ** generator.uniform(-16, deepest, (m, 1)))
    with np.errstate(all="ignore"):
        amounts = np.where(price < starts, rates / special.gammaincinv(2, np.minimum(price / starts, 1 - 1e-16)), 0.0)
    caps = np.minimum(amounts, np.inf if upper is None else upper).sum(axis=1)
    weights = starts * rates if kind is criteria.Freshness else starts
    options = {"weights": weights.ravel(), "groups": np.repeat(np.arange(m), 4), "group_caps": caps, "upper": upper}
    assert solve_nefk(kind(rates.ravel()), 0.999 * caps.sum(), **options).residual <= 1e-12


@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
@pytest.mark.parametrize("side", ["lower", "upper"])
@pytest.mark.parametrize("away", [1e-10, 5e-10, 2e-9, 5e-9])
@pytest.mark.parametrize("deep", [1e-15, 1e-13, 1e-11, 1e-9, 4e-9])
def test_another_item_that_comes_to_a_bound_next_to_the_start_leaves_no_residual(kind, side, away, deep):
    """Within that of the price, what the others take is no straight line: 2e-10 too much if it was taken for one."""
    generator, m = np.random.default_rng(1), 1000
    rates, starts = np.exp(generator.standard_normal((2, m, 3)))
    starts[:, 1:] = starts[:, :1] * generator.uniform(1.2, 5.0, (m, 2))

    def taken(price):
        with np.errstate(all="ignore"):
            return np.where(price < starts, rates / special.gammaincinv(2, np.minimum(price / starts, 1 - 1e-16)), 0.0)

    first = starts[:, :1]
    bounds = {"lower": np.zeros((m, 3)), "upper": np.full((m, 3), 1e9)}
    bounds[side][:, 1] = taken(first * (1 - away * generator.uniform(0.1, 1.0, (m, 1))))[:, 1]
    caps = np.clip(taken(first * (1 - deep)), *bounds.values()).sum(axis=1)
    options = {name: bound.ravel() for name, bound in bounds.items()}
    weights = (starts * rates if kind is criteria.Freshness else starts).ravel()
    options |= {"weights": weights, "groups": np.repeat(np.arange(m), 3), "group_caps": caps}
    assert solve_nefk(kind(rates.ravel()), 0.999 * caps.sum(), **options).residual <= 1e-12


@pytest.mark.parametrize(("kind", "most"), [(criteria.Freshness, 1.4), (criteria.Detection, 0.2)])
@pytest.mark.parametrize("size", [500, 1000, 4000])
def test_items_that_start_below_the_budgets_price_need_no_evaluation(kind, most, size):
    """At a price of 10, few items take anything: with the others there are 4 to 9 evaluations of all."""
    taken = shares_of_what_is_taken(0.01, 0.3)
    assert evaluations_of_own_prices(kind, taken, mu=10.0, n=16_000, size=size) <= most
