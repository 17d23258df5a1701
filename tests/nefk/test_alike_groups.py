"""Groups of items that start at one price are solved as one item each: the answer is what other ways give."""

import warnings

import numpy as np
import pytest
from peak_memory import peak_of, warm_up
from test_alike_items import KINDS as STARTING

import knapsolve.nefk.solver as solver_module
from knapsolve import InfeasibleError, criteria, solve_nefk
from knapsolve.nefk.alike_groups import solve_alike

N = 80_000
SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in (criteria.Harmonic, criteria.Logarithmic)]
KINDS = [*STARTING, criteria.PoissonFreshness, criteria.Exponential, *SLOW]


@pytest.fixture
def found(monkeypatch):
    """Which solves found groups of alike items."""
    found = []

    def solve(*arguments):
        answer = solve_alike(*arguments)
        found.append(answer is not None)
        return answer

    monkeypatch.setattr(solver_module, "solve_alike", solve)
    return found


def items_of(kind, scales, starts):
    """Parameters and weights of items that start at some prices."""
    if kind is criteria.Exponential:
        return 1.0 / scales, starts * scales
    return scales, starts if kind is criteria.Detection else starts * scales


def starts_of(kind, parameters, weights):
    """Prices at which items start: what the first bit is worth, where that has an end."""
    if kind is criteria.Exponential:
        return weights * parameters
    return weights if kind is criteria.Detection else weights / parameters


def problem_of(kind, size, share, over, *, n=N, without=0, same_rate=True, seed=0):
    """Even hosts of some size of alike items, or of items whose weights make up for their rates, and items without one:
    parameters, capacity and options.
    """
    generator, m = np.random.default_rng(seed), n // size
    groups = generator.permutation(np.arange(n) % m)
    groups[generator.permutation(n)[:without]] = -1
    scale, start = generator.choice([1.0, 2.0, 5.0], m), np.exp(generator.standard_normal(m))
    scales = scale[groups] * (1.0 if same_rate else 2.0 ** generator.integers(-3, 3, n))  # quotients are exact
    parameters, weights = items_of(kind, scales, start[groups])
    capacity = share * float(scales.sum())
    caps = generator.uniform(0.2, 1.8, m)
    caps *= over * capacity / caps.sum()
    return parameters, capacity, {"weights": weights, "groups": groups, "group_caps": caps, "equality": over > 1.0}


def both_ways(monkeypatch, kind, rates, capacity, options):
    """The answer, and that without a look at whether groups are alike."""
    result = solve_nefk(kind(rates), capacity, **options)
    with monkeypatch.context() as patch:
        patch.setattr(solver_module, "solve_alike", lambda *arguments: None)
        other = solve_nefk(kind(rates), capacity, **options)
    assert result.residual <= 1e-12 and other.residual <= 1e-12
    return result, other


def assert_same(result, other):
    np.testing.assert_allclose(result.amounts, other.amounts, rtol=1e-9)  # next to a start, prices tell less
    np.testing.assert_array_equal(result.side, other.side)
    np.testing.assert_allclose(result.group_prices, other.group_prices, rtol=1e-11, atol=1e-12 * result.price)
    assert result.price == pytest.approx(other.price, rel=1e-12)
    assert result.value == pytest.approx(other.value, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [3, 50, 20_000])
@pytest.mark.parametrize("over", [0.8, 1.3, 3.0])
@pytest.mark.parametrize("same_rate", [True, False])
@pytest.mark.parametrize("without", [0, 700])
def test_other_ways_give_the_same(kind, size, over, same_rate, without, found, monkeypatch):
    problem = problem_of(kind, size, 0.3, over, same_rate=same_rate, without=without)
    assert_same(*both_ways(monkeypatch, kind, *problem))
    assert found == [True]


def test_caps_of_any_size_and_items_worth_nothing(found, monkeypatch):
    """Caps of 0, that have no end, of groups without items, and weights of 0."""
    rates, capacity, options = problem_of(criteria.Detection, 40, 0.3, 2.0)
    caps = np.append(options["group_caps"], [1.0, 0.0, np.inf])
    caps[:4] = 0.0, np.inf, 1e-9, 1e9
    options["weights"][np.isin(options["groups"], [3, 4, 5])] = 0.0
    options["group_caps"] = caps
    result, other = both_ways(monkeypatch, criteria.Detection, rates, capacity, options)
    assert_same(result, other)
    assert found == [True] and (result.amounts[options["groups"] == 0] == 0.0).all()
    assert (result.group_prices[-3:] == 0.0).all()


def test_items_worth_nothing_share_the_rest_and_groups_without_items_get_none(found):
    """All that is worth anything has its cap, and the price is 0."""
    rates, capacity, options = problem_of(criteria.Detection, 40, 0.3, 1.0)
    caps = np.append(options["group_caps"], [capacity, capacity])
    options["weights"][options["groups"] < 200] = 0.0
    options |= {"group_caps": caps, "equality": True}
    worthy = options["groups"] >= 200
    result = solve_nefk(criteria.Detection(rates), 0.97 * capacity, **options)
    assert found == [True] and result.residual <= 1e-12 and result.price == 0.0
    np.testing.assert_allclose(np.bincount(options["groups"], result.amounts)[200:], caps[200:-2], rtol=1e-12)
    assert result.amounts[~worthy].sum() == pytest.approx(0.97 * capacity - caps[200:-2].sum(), rel=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [1e-4, 0.01, 0.1])
@pytest.mark.parametrize("over", [1.02, 2.0, 10.0])
@pytest.mark.parametrize("size", [2, 3, 100])
def test_few_passes_where_the_capacity_is_small(kind, share, over, size, found):
    """All that happens there happens next to where many hosts start: up to 60 passes without."""
    n, generator = 300_000, np.random.default_rng(1)
    m = n // size
    groups = generator.permutation(np.arange(n) % m)
    scale, weight = generator.choice([1.0, 2.0, 5.0], m), generator.choice([1.0, 3.0], m)
    parameters = scale[groups] if kind is not criteria.Exponential else 1.0 / scale[groups]
    capacity = share * float(scale[groups].sum())
    caps = np.full(m, over * capacity / m)
    result = solve_nefk(kind(parameters), capacity, weights=weight[groups], groups=groups, group_caps=caps)
    assert result.residual <= 1e-12 and found == [True] and result.n_passes <= (9 if size > 2 else 13)
    first = result.amounts[np.unique(groups, return_index=True)[1]]
    np.testing.assert_allclose(result.amounts, first[groups], rtol=1e-13)  # alike items take alike


@pytest.mark.parametrize("where", ["first", "last"])
def test_one_item_that_differs_is_by_itself(where, found, monkeypatch):
    rates, capacity, options = problem_of(criteria.Freshness, 50, 0.3, 1.3)
    odd = 0 if where == "first" else N - 1
    options["weights"][odd] *= 3.0
    result, other = both_ways(monkeypatch, criteria.Freshness, rates, capacity, options)
    assert_same(result, other)
    assert found[-1] is True
    mates = np.flatnonzero(options["groups"] == options["groups"][odd])
    assert result.amounts[odd] > 1.5 * np.median(result.amounts[mates])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [7, 50, 20_000])
@pytest.mark.parametrize("odd", [0.001, 0.1])
@pytest.mark.parametrize("over", [0.8, 1.3, 3.0])
@pytest.mark.parametrize("without", [0, 700])
def test_items_beside_alike_ones_take_what_they_do_other_ways(kind, size, odd, over, without, found, monkeypatch):
    rates, capacity, options = problem_of(kind, size, 0.3, over, without=without)
    generator = np.random.default_rng(1)
    which = generator.random(N) < odd
    options["weights"][which] *= np.exp(generator.standard_normal(which.sum()))
    assert_same(*both_ways(monkeypatch, kind, rates, capacity, options))
    assert (found[-1] is True) == (size > 7 or odd < 0.1)  # then a seventh is too much beside a tenth


def test_where_most_start_is_found_by_votes(found, monkeypatch):
    """The first two of every group start elsewhere than most."""
    rates, capacity, options = problem_of(criteria.Freshness, 20, 0.3, 1.3)
    order = np.argsort(options["groups"], kind="stable")
    rates = rates[order]
    options |= {name: options[name][order] for name in ("weights", "groups")}
    odd = np.arange(N) % 20 < 2
    options["weights"][odd] *= np.random.default_rng(1).uniform(1.5, 2.0, odd.sum())
    assert_same(*both_ways(monkeypatch, criteria.Freshness, rates, capacity, options))
    assert found[-1] is True


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("over", [0.8, 1.3])
def test_prices_that_differ_by_rounding_are_one(kind, over, found):
    """Weights go with rates, and their quotients are the same but for rounding."""
    generator = np.random.default_rng(0)
    scales, groups = np.exp(generator.standard_normal(N)), np.arange(N) % 500
    start = generator.uniform(0.5, 2.0, 500)[groups]
    parameters, weights = items_of(kind, scales, start)
    if kind is criteria.Detection:
        weights = weights * (1.0 + generator.integers(-1, 2, N) * 2.2e-16)
    assert np.unique(starts_of(kind, parameters, weights)).size > 500
    capacity = 0.2 * scales.sum()
    options = {"weights": weights, "groups": groups, "group_caps": over * capacity / 500, "equality": over > 1.0}
    result = solve_nefk(kind(parameters), capacity, **options)
    assert found == [True] and result.residual <= 1e-12
    per_scale = result.amounts / scales
    np.testing.assert_allclose(per_scale, per_scale[:500][groups], rtol=1e-14)


@pytest.mark.parametrize("odd", [0.3, 0.6])
def test_too_many_items_beside_others_are_left_to_other_ways(odd, found):
    rates, capacity, options = problem_of(criteria.Freshness, 50, 0.3, 1.3)
    generator = np.random.default_rng(1)
    which = generator.random(N) < odd
    options["weights"][which] *= np.exp(generator.standard_normal(which.sum()))
    assert solve_nefk(criteria.Freshness(rates), capacity, **options).residual <= 1e-12
    assert found[-1] is False


@pytest.mark.parametrize("number", [0.0, np.inf])
def test_rates_without_a_price_to_start_at_are_left_to_others(number, found):
    kind = criteria.Freshness if number == 0.0 else criteria.Detection
    rates, capacity, options = problem_of(kind, 50, 0.3, 1.3)
    rates[options["groups"] == 7] = number
    options["equality"] = False
    assert solve_nefk(kind(rates), capacity, **options).residual <= 1e-12
    assert found == [False]


@pytest.mark.parametrize("what", [{"upper": 1e3}, {"lower": 1e-9}])
def test_bounds_are_left_to_others(what, found):
    rates, capacity, options = problem_of(criteria.Freshness, 50, 0.3, 3.0)
    assert solve_nefk(criteria.Freshness(rates), capacity, **options, **what).residual <= 1e-12
    assert found == [False]


def test_what_clashes_is_named():
    rates, capacity, options = problem_of(criteria.Freshness, 50, 0.3, 0.5)
    options["equality"] = True
    with pytest.raises(InfeasibleError, match=r"the group caps \(of groups that have items\) allow"):
        solve_nefk(criteria.Freshness(rates), capacity, **options)


@pytest.mark.parametrize("size", [3, 50, 999, 30_000])
@pytest.mark.parametrize("order", ["in turn", "sorted", "by chance"])
def test_groups_in_any_order_are_found(size, order, found):
    n = 100_000 // size * size
    groups = np.arange(n) % (n // size)
    if order == "sorted":
        groups = np.sort(groups)
    elif order == "by chance":
        groups = np.random.default_rng(0).permutation(groups)
    rates = np.random.default_rng(1).uniform(1.0, 2.0, n // size)[groups]
    result = solve_nefk(criteria.Freshness(rates), 0.1 * n, groups=groups, group_caps=0.1 * size * 1.01)
    assert found == [True] and result.residual <= 1e-12


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint16", "sorted"])
def test_groups_of_any_type_and_order_with_any_number_of_threads(dtype, found):
    """One item in a hundred starts elsewhere."""
    rates, capacity, options = problem_of(criteria.Freshness, 50, 0.3, 1.3)
    options["weights"][::97] *= 2.0
    if dtype == "sorted":
        order = np.argsort(options["groups"], kind="stable")
        rates = rates[order]
        options |= {name: options[name][order] for name in ("weights", "groups")}
    else:
        options["groups"] = options["groups"].astype(dtype)
    one, two = (solve_nefk(criteria.Freshness(rates), capacity, **options, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.amounts, two.amounts)
    np.testing.assert_array_equal(one.group_prices, two.group_prices)
    assert one.value == two.value and one.residual == two.residual <= 1e-12
    assert found.count(True) == 2


@pytest.mark.parametrize(
    ("groups", "without", "odd"),
    [
        *((333_333, 0, 0), (397_000, 0, 0), (500_000, 0, 0), (97_000, 300_000, 0), (20, 0, 0)),
        *((200_000, 0, 0.03), (20, 0, 0.2), (99, 9999, 0.1), (300_000, 0, 0.05)),
    ],
)
@pytest.mark.parametrize("kind", [criteria.Detection, criteria.PoissonFreshness, criteria.Exponential])
def test_three_arrays_of_memory(groups, without, odd, kind, found):
    n, generator = 1_000_000, np.random.default_rng(0)
    which = generator.permutation(np.append(np.full(without, -1), generator.integers(0, groups, n - without)))
    rates, starts = np.exp(generator.standard_normal(n)), np.exp(generator.standard_normal(groups + 1))[which]
    scales = 1.0 / rates if kind is criteria.Exponential else rates
    weights = starts if kind is criteria.Detection else starts * scales
    weights[generator.random(n) < odd] *= 2.0
    caps = generator.uniform(0.2, 1.8, groups) * 0.4 * scales.sum() / groups
    options = {"weights": weights, "groups": which, "group_caps": caps, "n_jobs": 1, "equality": without > 0}
    warm_up()
    assert peak_of(kind(rates), 0.3 * scales.sum(), **options) <= 3 * 8 * n
    assert found[-1] is (groups < 300_000 or odd == 0.0)


def test_many_groups_have_no_room(found):
    groups = np.arange(N) % 42_000
    rates = np.random.default_rng(0).uniform(1.0, 2.0, 42_000)[groups]
    assert solve_nefk(criteria.Freshness(rates), 0.3 * N, groups=groups, group_caps=1.0, n_jobs=1).residual <= 1e-12
    assert found == [False]


def test_items_without_a_rate_beside_others_are_no_warning(found):
    n = 80_000
    groups, rates = np.arange(n) % 1000, np.full(n, 2.0)
    groups[3], rates[3] = -1, 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = solve_nefk(criteria.Exponential(rates), 15_000.0, groups=groups, group_caps=20.0)
    assert result.residual <= 1e-12 and result.amounts[3] == 0.0
    assert found == [False]


def test_infinite_rates_beside_others_are_left_beside(found):
    n, generator = 100_000, np.random.default_rng(0)
    groups, weights = np.arange(n) % 5000, np.exp(generator.standard_normal(5000))
    rates, odd = np.full(n, 2.0), generator.choice(n, 3)
    weights = weights[groups]
    rates[odd], groups[odd] = np.inf, -1
    result = solve_nefk(criteria.Detection(rates), 0.3 * n, weights=weights, groups=groups, group_caps=8.0)
    assert found == [True] and result.residual <= 1e-12
