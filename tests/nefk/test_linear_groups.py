"""Linear items in groups: no search, but the greedy choice under each cap, and its certificate."""

import itertools

import numpy as np
import pytest
from peak_memory import peak_of, warm_up

import knapsolve.nefk.linear_groups as linear_module
from knapsolve import InfeasibleError, criteria, solve_nefk

N = 20_000


def instance(seed, n=N, size=5, weights="differ", bounds="differ"):
    """Options of a problem of which about half of the caps bind."""
    generator = np.random.default_rng(seed)
    n_groups = max(int(n / size), 1)
    groups = np.where(generator.random(n) < 0.1, -1, generator.integers(0, n_groups, n))
    weight = generator.lognormal(0, 1, n) if weights == "differ" else generator.integers(0, 5, n).astype(float)
    upper = generator.uniform(0.5, 1.5, n) if bounds != "none" else np.full(n, np.inf)
    if bounds == "some":
        upper[generator.random(n) < 0.3] = np.inf
        upper[generator.random(n) < 0.3] = 0.0
    lower = np.minimum(upper, generator.uniform(0.0, 0.2, n)) if bounds == "both" else np.zeros(n)
    least = np.bincount(groups + 1, lower, n_groups + 1)[1:]
    caps = least + 0.4 * size * generator.exponential(1.0, n_groups)
    caps[generator.random(n_groups) < 0.1] = np.inf
    caps[-1] = least[-1]
    options = {"weights": weight, "lower": lower, "upper": upper, "groups": groups, "group_caps": caps}
    if bounds == "none":
        del options["upper"]
    return options


def check(result, capacity, options, rounding=0.0):
    """Constraints, and that no amount could be moved to better use: optimal by duality."""
    weight, lower = (np.asarray(options[name], dtype=float) for name in ("weights", "lower"))
    upper = np.broadcast_to(np.asarray(options.get("upper", np.inf), dtype=float), weight.shape)
    groups, caps, x = options["groups"], options["group_caps"], result.amounts.astype(float)
    near = 1e-12 + rounding
    assert result.residual <= 1e-12
    assert (lower * (1.0 - rounding) <= x).all() and (x <= upper * (1.0 + rounding)).all()
    assert x.sum() <= capacity * (1.0 + near)
    taken = np.bincount(groups + 1, x, len(caps) + 1)[1:]
    assert (taken <= caps * (1.0 + near)).all()
    assert np.isfinite(result.group_prices).all()
    held = result.group_prices > 0.0
    assert taken[held] == pytest.approx(caps[held], rel=near)
    price = result.price + np.append(result.group_prices, 0.0)[groups]
    more, less = weight > price * (1.0 + 1e-15), weight < price * (1.0 - 1e-15)  # a sum of two prices is rounded
    assert (x[more] >= upper[more] * (1.0 - rounding)).all()
    assert (x[less] <= lower[less] * (1.0 + rounding)).all()
    if result.price > 0.0:
        assert x.sum() == pytest.approx(capacity, rel=near)


def share_of(options, share):
    """A capacity between what lower bounds take and what caps and upper bounds allow."""
    least, n_groups = options["lower"].sum(), len(options["group_caps"])
    upper = np.minimum(options.get("upper", np.full(options["groups"].size, np.inf)), 10.0)
    by_group = np.bincount(options["groups"] + 1, upper, n_groups + 1)
    return least + share * (by_group[0] + np.minimum(by_group[1:], options["group_caps"]).sum() - least)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 0.95, 1.5])
@pytest.mark.parametrize("bounds", ["differ", "both", "some", "none"])
@pytest.mark.parametrize("weights", ["differ", "levels"])
@pytest.mark.parametrize("size", [1.5, 7, 30, 500, 20_000])
def test_the_answer_has_its_certificate(size, weights, bounds, share):
    options = instance(1, N, size, weights, bounds)
    capacity = share_of(options, share)
    for equality in (True, False) if share < 1.0 else (False,):
        result = solve_nefk(criteria.Linear(), capacity, equality=equality, **options)
        check(result, capacity, options)
        assert result.n_passes <= 20


@pytest.mark.parametrize("columns", [("weights", "upper"), ("weights",), ("upper", "lower")])
@pytest.mark.parametrize("size", [3, 400, 40_000])
def test_many_items_are_copied_into_tiles_or_listed(size, columns):
    """Also groups larger than a tile, and columns of single precision."""
    n = 150_000
    options = instance(2, n, size, "differ", "both")
    for name in columns:
        options[name] = options[name].astype(np.float32)
    options["group_caps"] = np.maximum(
        options["group_caps"], np.bincount(options["groups"] + 1, options["lower"])[1:] * (1.0 + 1e-6)
    )
    capacity = share_of(options, 0.4)
    one, two = (solve_nefk(criteria.Linear(), capacity, n_jobs=jobs, **options) for jobs in (1, 2))
    check(one, capacity, options)
    np.testing.assert_array_equal(one.amounts, two.amounts)
    np.testing.assert_array_equal(one.group_prices, two.group_prices)
    rounded = np.empty(n, np.float32)
    result = solve_nefk(criteria.Linear(), capacity, out=rounded, **options)
    assert result.amounts is rounded
    check(result, capacity, options, 1e-6)


def test_group_prices_and_sides_are_those_of_the_problem_with_caps():
    """An amount between its bounds that a cap leaves is at none of them."""
    result = solve_nefk(
        criteria.Linear(), 3.5, weights=[5.0, 3.0, 1.0, 2.0], upper=[1.0, 2.0, 2.0, 2.0], groups=[0, 0, 0, -1],
        group_caps=[2.0],
    )
    assert result.amounts.tolist() == [1.0, 1.0, 0.0, 1.5]
    assert result.side.tolist() == [1, 0, -1, 0]
    assert (result.price, result.group_prices.tolist()) == (2.0, [1.0])


def test_ties_share_the_cap_as_their_room():
    result = solve_nefk(
        criteria.Linear(), 100.0, weights=[2.0, 2.0, 3.0, 1.0], lower=[0.0, 1.0, 0.0, 0.0], upper=[1.0, 4.0, 1.0, 9.0],
        groups=[0, 0, 0, 0], group_caps=[4.0], equality=False,
    )
    assert result.amounts == pytest.approx([0.5, 2.5, 1.0, 0.0])
    assert result.group_prices.tolist() == [2.0]


@pytest.mark.parametrize("scale", [1e-130, 1e-80, 1e-30, 1e100])
@pytest.mark.parametrize("n", [60, 5000, 60_000])
def test_amounts_without_bounds_have_any_scale(n, scale):
    """What stands for no bound is so large that shares of it underflowed: the problem was called infeasible."""
    caps, groups = np.array([2.0, 1.5]) * scale, np.arange(n) % 2
    for weights in (np.ones(n), np.arange(n) // 2 + 1.0):
        options = {"weights": weights, "groups": groups, "group_caps": caps, "lower": np.zeros(n)}
        result = solve_nefk(criteria.Linear(), 3.0 * scale, **options)
        check(result, 3.0 * scale, options)
        result = solve_nefk(criteria.Linear(), 3.0 * scale, weights=weights)
        assert result.residual <= 1e-12


def test_no_share_of_a_cap_exceeds_a_bound_by_rounding():
    generator = np.random.default_rng(6)
    n_groups, size = 3000, 3
    groups = np.repeat(np.arange(n_groups), size)
    lower, upper = generator.uniform(0.0, 0.5, groups.size), generator.uniform(0.5, 1.0, groups.size)
    caps = np.bincount(groups, upper) * (1.0 - generator.choice([1.2e-16, 2.3e-16, 1e-15], n_groups))
    result = solve_nefk(
        criteria.Linear(), groups.size, lower=lower, upper=upper, groups=groups, group_caps=caps, equality=False
    )
    assert (result.amounts <= upper).all()
    assert result.residual <= 1e-12


@pytest.mark.parametrize("n", [10, 3000, 70_000])
@pytest.mark.parametrize("curvature", [0.0, 1.0])
def test_few_passes_do_where_the_worthless_take_what_is_left(n, curvature):
    """Of curved items in groups, the price 0 was found by halving: 90 passes."""
    generator = np.random.default_rng(0)
    n_groups = max(n // 20, 2)
    groups, weights = generator.integers(0, n_groups, n), generator.exponential(size=n) * (generator.random(n) > 0.3)
    caps = np.bincount(groups, minlength=n_groups) * generator.uniform(0.2, 0.9, n_groups)
    given = {"weights": weights, "upper": 1.0, "groups": groups, "group_caps": caps}
    result = solve_nefk(criteria.Quadratic(curvature), 0.95 * caps.sum(), **given)
    assert result.n_passes <= 16
    assert result.residual <= 1e-12
    assert result.amounts.sum() == pytest.approx(0.95 * caps.sum(), rel=1e-12)


@pytest.mark.parametrize("n", [30_000, 150_000])
@pytest.mark.parametrize("equality", [True, False])
def test_a_large_group_fills_its_cap_with_the_worthless_too(n, equality):
    """It is a knapsack by itself, whose capacity is to be used up whatever that of all is."""
    generator = np.random.default_rng(7)
    weights = generator.integers(0, 2, n) * generator.lognormal(0, 1, n)
    upper = generator.uniform(0.5, 1.5, n)
    groups = np.where(np.arange(n) % 7 == 0, 0, 1 + generator.integers(0, n // 10, n))  # the first one is large
    caps = np.append(0.1 * n, generator.uniform(0.5, 3.0, n // 10))
    options = {"weights": weights, "lower": np.zeros(n), "upper": upper, "groups": groups, "group_caps": caps}
    for share in (0.3, 0.9):
        result = solve_nefk(criteria.Linear(), share * caps.sum(), equality=equality, **options)
        check(result, share * caps.sum(), options)


def test_a_sample_that_takes_nothing_does_not_say_that_caps_are_loose():
    """One item takes all there is without bounds: solves without caps came first, and took nine passes of twelve."""
    n = 70_000
    for seed in range(4):
        generator = np.random.default_rng(seed)
        groups, weights = generator.integers(0, n // 20, n), generator.exponential(size=n)
        caps = np.bincount(groups, minlength=n // 20) * generator.uniform(0.2, 2.0, n // 20)
        result = solve_nefk(criteria.Linear(), 0.3 * caps.sum(), weights=weights, groups=groups, group_caps=caps)
        assert result.residual <= 1e-12
        assert result.n_passes <= 6


@pytest.mark.parametrize("n_groups", [3, 60_000])
def test_where_no_cap_seems_to_bind_the_answer_without_caps_is_checked(n_groups, monkeypatch):
    """And caps are served after all where the sample did not say that one binds."""
    n, served = 150_000, []
    generator = np.random.default_rng(3)
    weights, upper = generator.lognormal(0, 1, n), generator.uniform(0.5, 1.5, n)
    groups = generator.integers(0, n_groups, n)
    free = solve_nefk(criteria.Linear(), 0.3 * n, weights=weights, upper=upper)
    caps = 2.0 * np.bincount(groups, free.amounts, n_groups) + 5.0
    options = {"weights": weights, "lower": np.zeros(n), "upper": upper, "groups": groups, "group_caps": caps}
    serve = linear_module._serve
    monkeypatch.setattr(linear_module, "_serve", lambda *given: served.append(1) or serve(*given))
    result = solve_nefk(criteria.Linear(), 0.3 * n, **options)
    np.testing.assert_array_equal(result.amounts, free.amounts)
    assert not served and not result.group_prices.any()
    caps[groups[np.argmax(free.amounts)]] = 0.25
    result = solve_nefk(criteria.Linear(), 0.3 * n, **options)
    assert served and np.count_nonzero(result.group_prices) == 1
    check(result, 0.3 * n, options)


@pytest.mark.parametrize("size", [2, 300, 20_000])
def test_what_clashes_is_said_as_without_this(size):
    options = instance(4, N, size, "differ", "both")
    before = {name: column.copy() for name, column in options.items()}
    with pytest.raises(InfeasibleError, match=r"upper bounds and group caps .* allow"):
        solve_nefk(criteria.Linear(), 2.0 * share_of(options, 1.0) + N, **options)
    with pytest.raises(InfeasibleError, match=r"the lower bounds sum to .* more than the capacity"):
        solve_nefk(criteria.Linear(), 0.5 * options["lower"].sum(), **options)
    free = options | {"upper": np.where(options["groups"] < 0, np.inf, options["upper"])}
    with pytest.raises(InfeasibleError, match="unbounded"):
        solve_nefk(criteria.Linear(), np.inf, equality=False, **free)
    for name, column in before.items():
        np.testing.assert_array_equal(options[name], column)
    options["group_caps"][0] = 0.5 * options["lower"][options["groups"] == 0].sum()
    with pytest.raises(InfeasibleError, match="the lower bounds of group 0 sum to"):
        solve_nefk(criteria.Linear(), share_of(options, 0.5), **options)
    first = np.flatnonzero(options["groups"] == 0)
    crossed = int(first[np.argmin(options["weights"][first])])  # which caps leave nothing
    options["upper"][crossed] = 0.5 * options["lower"][crossed]
    for cap in (np.inf, 0.6 * options["upper"][first].sum()):
        options["group_caps"][0] = max(cap, options["lower"][first].sum())
        with pytest.raises(InfeasibleError, match=f"lower exceeds upper at position {crossed}"):
            solve_nefk(criteria.Linear(), share_of(options, 0.5), **options)


@pytest.mark.parametrize(
    ("bounds", "size"),
    [("differ", 1.0), *((kind, size) for kind in ("differ", "both") for size in (1.3, 1.5, 2.0))]
    + [(kind, size) for kind in ("differ", "both", "one cap") for size in (3.0, 5.0, 300.0, 100_000.0)],
)
def test_memory_stays_below_three_arrays_of_linear_items(size, bounds):
    """One cap for all becomes an array, which is too much beside groups of less than three items: 3.1 to 3.6 arrays."""
    n = 1_000_000
    options = instance(5, n, size, "differ", "both" if bounds == "both" else "differ")
    options |= {"group_caps": 0.9} if bounds == "one cap" else {}
    options |= {"lower": 0.0} if bounds != "both" else {}
    capacity = share_of(options | {"lower": np.zeros(n)}, 0.4) if bounds != "one cap" else 0.2 * n / size
    warm_up()
    assert peak_of(criteria.Linear(), capacity, n_jobs=1, **options) <= 3 * 8 * n


def test_all_small_problems_of_few_numbers_equal_those_of_all_vertices():
    """Every order of weights and caps of three items in two groups, against amounts in steps that vertices lie on."""
    grid = np.array(list(itertools.product([0.0, 0.5, 1.0, 1.5, 2.0], repeat=3)))
    groups, upper = np.array([0, 0, 1]), np.array([1.0, 2.0, 1.5])
    for weights in itertools.product([0.0, 1.0, 2.0], repeat=3):
        for caps in itertools.product([0.0, 0.5, 1.5, np.inf], repeat=2):
            for capacity in (0.5, 2.0):
                result = solve_nefk(
                    criteria.Linear(), capacity, weights=weights, upper=upper, groups=groups, group_caps=caps,
                    equality=False,
                )
                allowed = (grid <= upper).all(axis=1) & (grid.sum(axis=1) <= capacity)
                allowed &= (grid[:, :2].sum(axis=1) <= caps[0]) & (grid[:, 2] <= caps[1])
                best = (grid[allowed] @ np.array(weights)).max()
                assert result.value == pytest.approx(best, abs=1e-12)
