"""Solves with groups take at most three arrays of doubles beyond their input."""

import numpy as np
import pytest
from peak_memory import peak_of, warm_up
from tight_problems import hosts_by_rank

import knapsolve.nefk.all_but as all_but_module
from knapsolve import criteria, solve_nefk


@pytest.mark.parametrize("n_groups", [10, 200_000, 1_000_000])
def test_memory_beyond_the_input_stays_below_three_arrays(n_groups):
    n = 1_000_000
    generator = np.random.default_rng(8)
    rates, groups = np.exp(generator.standard_normal(n)), generator.integers(0, n_groups, n)
    if n_groups == n:
        groups = generator.permutation(n)
    caps = 0.3 * np.bincount(groups, minlength=n_groups) * generator.uniform(0.5, 3.0, n_groups)
    criterion = criteria.Freshness(rates)
    warm_up()
    assert peak_of(criterion, 0.25 * n, groups=groups, group_caps=caps, n_jobs=2) <= 3 * 8 * n


@pytest.mark.slow
@pytest.mark.parametrize(("in_order", "n_jobs"), [(False, 1), (False, 2), (True, 1)])
@pytest.mark.parametrize("caps", [(0.2, 0.9), (0.3, 1.5), (0.5, 3.0), (2.0, 4.0), (20.0, 30.0)])
@pytest.mark.parametrize("items", [1.0, 1.2, 1.5, 2.0, 4.0])
def test_memory_stays_below_three_arrays_where_groups_have_one_to_four_items(items, caps, in_order, n_jobs):
    """There every array by group counts. The four megabytes that a thread keeps to work in are made before."""
    n, dtype = 1_000_000, np.float32 if in_order else np.float64
    n_groups, generator = int(n / items), np.random.default_rng(8)
    groups, rates = generator.integers(-1, n_groups, n), np.exp(generator.standard_normal(n)).astype(dtype)
    if in_order:
        groups.sort()
    limits = 0.3 * np.bincount(groups + 1, minlength=n_groups + 1)[1:] * generator.uniform(*caps, n_groups) + 1e-9
    capacity, criterion = min(0.25 * n, 0.98 * limits.sum()), criteria.Freshness(rates)
    options = {"groups": groups, "group_caps": limits, "n_jobs": n_jobs}
    warm_up()
    assert peak_of(criterion, capacity, **options) <= 3 * 8 * n


@pytest.mark.parametrize("kind", [criteria.PoissonFreshness, criteria.Harmonic, criteria.Exponential])
@pytest.mark.parametrize("caps", [(0.2, 0.9), (0.3, 1.5)])
def test_memory_stays_below_three_arrays_with_small_groups_of_other_shapes(kind, caps):
    n, generator = 1_000_000, np.random.default_rng(8)
    groups, (rates, weights) = generator.integers(-1, n // 2, n), np.exp(generator.standard_normal((2, n)))
    free = solve_nefk(kind(rates), 0.3 * n, weights=weights).amounts
    limits = np.bincount(groups + 1, free, n // 2 + 1)[1:] * generator.uniform(*caps, n // 2) + 1e-9
    del free
    options = {"weights": weights, "groups": groups, "group_caps": limits, "n_jobs": 1, "equality": False}
    warm_up()
    assert peak_of(kind(rates), 0.3 * n, **options) <= 3 * 8 * n


def test_what_the_caller_gives_for_the_answer_is_beyond_three_arrays():
    """Then items are copied with two to a group, too."""
    n, generator = 1_000_000, np.random.default_rng(8)
    groups, (rates, weights) = generator.integers(-1, n // 2, n), np.exp(generator.standard_normal((2, n)))
    free = solve_nefk(criteria.Freshness(rates), 0.3 * n, weights=weights).amounts
    caps = np.bincount(groups + 1, free, n // 2 + 1)[1:] * generator.uniform(0.3, 0.9, n // 2) + 1e-9
    del free
    options = {"weights": weights, "groups": groups, "group_caps": caps, "n_jobs": 1, "out": np.empty(n)}
    warm_up()
    assert peak_of(criteria.Freshness(rates), 0.3 * n, **options) <= 3 * 8 * n


TYPES = [(np.float64, np.float64), (np.float32, np.float64), (np.float64, np.float32)]  # of columns and amounts


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [np.ones(200_000), np.ones(100_000), [0.74, 0.2, 0.06], [0.6, 0.4], [0.3] * 3])
@pytest.mark.parametrize(("column", "amount"), TYPES)
@pytest.mark.parametrize("share", [(0.3, 0.9), (0.3, 30.0)])
def test_memory_stays_below_three_arrays_with_weights_and_large_groups(sizes, column, amount, share):
    n, generator = 1_000_000, np.random.default_rng(9)
    groups = generator.choice(len(sizes), n, p=np.array(sizes) / np.sum(sizes))
    rates, weights = np.exp(generator.standard_normal((2, n))).astype(column)
    out, base = np.empty(n, amount), solve_nefk(criteria.Freshness(rates), 0.3 * n, weights=weights).amounts
    caps = np.bincount(groups, base, len(sizes)) * generator.choice(share, len(sizes)) + 1e-9
    options = {"weights": weights, "groups": groups, "group_caps": caps, "equality": False, "n_jobs": 1, "out": out}
    warm_up()
    del base
    assert peak_of(criteria.Freshness(rates), 0.3 * n, **options) <= 3 * 8 * n


@pytest.mark.slow
@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Power, criteria.Quadratic])
@pytest.mark.parametrize("large", [100_000, 250_000, 330_000])
@pytest.mark.parametrize("bounds", [False, True])
def test_memory_stays_below_three_arrays_with_one_large_group_among_single_items(kind, large, bounds):
    n, generator = 1_000_000, np.random.default_rng(1)
    groups = generator.permutation(np.append(np.zeros(large, dtype=int), np.arange(1, n - large + 1)))
    parameter, weights = np.exp(generator.standard_normal((2, n)))
    parameter = np.clip(parameter / (1.0 + parameter), 0.05, 0.9) if kind is criteria.Power else parameter
    free = solve_nefk(kind(parameter), 0.3 * n, weights=weights).amounts
    caps = np.bincount(groups, free) * generator.uniform(0.3, 3.0, n - large + 1) + 1e-9
    caps[0] = 0.4 * free[groups == 0].sum()
    options = {"weights": weights, "groups": groups, "group_caps": caps, "n_jobs": 1}
    if bounds:
        options["lower"] = 1e-9 * generator.random(n)
        caps += 1e-9 * np.bincount(groups)
    warm_up()
    assert peak_of(kind(parameter), min(0.3 * n, 0.95 * caps.sum()), **options) <= 3 * 8 * n


@pytest.mark.parametrize("n_groups", [999_999, 3_000])
@pytest.mark.parametrize("spread", [0.0, 1e-4])
def test_memory_stays_below_three_arrays_where_all_items_start_together(n_groups, spread):
    """Then all items are rough and all groups near their caps, in any bracket: no model of them is made."""
    n, generator = 1_000_000, np.random.default_rng(0)
    groups, rates = generator.integers(0, n_groups, n), 1.0 + spread * generator.standard_normal(n)
    caps = 1e-3 * np.bincount(groups, minlength=n_groups) * generator.uniform(0.3, 1.5, n_groups) + 1e-12
    options = {"weights": rates, "groups": groups, "group_caps": caps, "n_jobs": 1}
    warm_up()
    assert peak_of(criteria.Freshness(rates), 0.3 * caps.sum(), **options) <= 3 * 8 * n


@pytest.mark.slow
@pytest.mark.parametrize("size", [2.0, 2.8, 3.0, 3.3, 5.0])
@pytest.mark.parametrize("load", [0.8, 0.95, 0.999])
def test_memory_stays_below_three_arrays_where_small_groups_are_near_their_caps(size, load):
    """With three items a group, copies and tables by group just fit."""
    n, generator = 1_000_000, np.random.default_rng(3)
    n_groups = int(n / size)
    rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    groups, free = generator.integers(0, n_groups, n), solve_nefk(criteria.Freshness(rates), 0.3 * n, weights=weights)
    caps = np.bincount(groups, free.amounts, n_groups) * generator.uniform(0.3, 0.95, n_groups) + 1e-9
    del free
    options = {"weights": weights, "groups": groups, "group_caps": caps, "n_jobs": 1}
    warm_up()
    assert peak_of(criteria.Freshness(rates), load * caps.sum(), **options) <= 3 * 8 * n


@pytest.mark.slow
@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("gives_out", [False, True])
@pytest.mark.parametrize(("size", "over"), [(1.3, 0.8), (1.5, 1.02), (2.0, 1.02), (2.0, 0.8), (5.0, 1.02)])
def test_memory_stays_below_three_arrays_where_hosts_by_rank_are_filled(size, over, gives_out, in_order, filled):
    """Most groups have an item or two, most items are in groups of which guesses of own prices are made."""
    n = 1_000_000
    criterion, given = hosts_by_rank(n, int(n / size), over)
    if in_order:
        given["groups"].sort()
    warm_up()
    peak = peak_of(criterion, **given, out=np.empty(n) if gives_out else None)
    assert filled == [True] * (gives_out or size > 2.0)  # else there is no room
    assert peak <= 3 * 8 * n


@pytest.mark.parametrize("gives_out", [False, True])
@pytest.mark.parametrize(("size", "share"), [(1.3, 0.12), (1.5, 0.12), (2.0, 0.0)])
def test_memory_stays_below_three_arrays_where_much_is_left_beside_filled_groups(size, share, gives_out):
    """Two hosts have many items each, but for the last row."""
    n, generator = 1_000_000, np.random.default_rng(1)
    n_groups = int(n / size)
    rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    groups = generator.integers(0, n_groups, n)
    for k in range(2):
        groups[generator.random(n) < share] = k * n_groups // 2
    caps = 1.02 * 0.3 * np.bincount(groups, minlength=n_groups)
    options = {"weights": weights, "groups": groups, "group_caps": caps, "n_jobs": 1}
    warm_up()
    out = np.empty(n) if gives_out else None
    assert peak_of(criteria.Freshness(rates), 0.3 * n, **options, out=out) <= 3 * 8 * n


@pytest.mark.parametrize("upper", [None, 50.0, "float32"])
@pytest.mark.parametrize("size", [2.0, 2.8, 3.0])
def test_memory_stays_below_three_arrays_where_models_of_large_and_small_groups_list_many_items(size, upper):
    """Also where slopes are kept, as with an upper bound, and where that is a column in single precision."""
    n, n_groups, generator = 1_000_000, int(1_000_000 / size), np.random.default_rng(1)
    rates, weights = np.exp(generator.standard_normal((2, n)))
    groups = np.where(generator.random(n) < 0.05, -1, generator.integers(0, n_groups, n))
    free = solve_nefk(criteria.Freshness(rates), 0.3 * n, weights=weights).amounts
    caps = np.bincount(groups + 1, free, n_groups + 1)[1:] * generator.uniform(0.3, 0.95, n_groups) + 1e-9
    capacity = 0.9 * (caps.sum() + free[groups < 0].sum())
    del free
    if upper == "float32":
        upper = generator.uniform(20.0, 50.0, n).astype(np.float32)
    options = {"weights": weights, "upper": upper, "groups": groups, "group_caps": caps, "n_jobs": 1}
    warm_up()
    assert peak_of(criteria.Freshness(rates), capacity, **options) <= 3 * 8 * n


@pytest.mark.parametrize("size", [2.0, 2.5])
@pytest.mark.parametrize("upper", [None, 50.0])
def test_memory_stays_below_three_arrays_where_items_start_together(size, upper):
    """Exact totals are taken of all groups there, with slopes where there is a bound."""
    n, n_groups, generator = 1_000_000, int(1_000_000 / size), np.random.default_rng(0)
    groups, rates = generator.integers(0, n_groups, n), 1.0 + 1e-4 * generator.standard_normal(n)
    caps = 1e-3 * np.bincount(groups, minlength=n_groups) * generator.uniform(0.3, 1.5, n_groups) + 1e-12
    options = {"weights": rates.copy(), "upper": upper, "groups": groups, "group_caps": caps, "n_jobs": 1}
    warm_up()
    assert peak_of(criteria.Freshness(rates), 0.3 * caps.sum(), **options) <= 3 * 8 * n


@pytest.mark.parametrize("size", [3.4, 5.0])
def test_memory_stays_below_three_arrays_where_a_large_group_is_near_its_cap(size):
    """Its model listed a quarter of its items."""
    n, n_groups, generator = 1_000_000, int(1_000_000 / size), np.random.default_rng(1)
    rates, weights = np.exp(0.1 * generator.standard_normal(n)), np.exp(0.02 * generator.standard_normal(n))
    groups = np.where(generator.random(n) < 0.1, 0, generator.integers(0, n_groups, n))
    free = solve_nefk(criteria.Freshness(rates), 0.3 * n, weights=weights)
    caps = np.bincount(groups, free.amounts, n_groups) * generator.uniform(0.9, 1.0, n_groups) + 1e-9
    del free
    options = {"weights": weights, "groups": groups, "group_caps": caps, "n_jobs": 1}
    warm_up()
    assert peak_of(criteria.Freshness(rates), 0.9 * caps.sum(), **options) <= 3 * 8 * n


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("items", [1.05, 1.2, 2.0])
def test_memory_stays_below_three_arrays_where_few_items_are_set_aside(items, again, monkeypatch):
    """Also if they turn out to take too much, and are listed after all."""
    n, generator = 1_000_000, np.random.default_rng(8)
    n_groups, rates = int(n / items), np.exp(generator.standard_normal(n))
    groups, weights = generator.integers(-1, n_groups, n), generator.lognormal(0, 1, n)
    free = solve_nefk(criteria.Freshness(rates), 0.3 * n, weights=weights, n_jobs=2).amounts
    share = np.where(generator.random(n_groups) < 0.03, 0.5, 5.0)
    caps = share * np.bincount(groups + 1, free, n_groups + 1)[1:] + 1e-3
    exact = []
    settle = all_but_module.PassesAllBut.settle

    def spy(passes, *given):
        settled = settle(passes, *given)
        exact.append(passes.is_exact)
        return settled

    monkeypatch.setattr(all_but_module.PassesAllBut, "settle", spy)
    monkeypatch.setattr(all_but_module, "MOST_AT_END", 1e-9 if again else 100.0)
    warm_up()
    assert peak_of(criteria.Freshness(rates), 0.3 * n, weights=weights, groups=groups, group_caps=caps) <= 3 * 8 * n
    assert exact[-1] != again


@pytest.mark.parametrize("size", [None, 2, 5])
@pytest.mark.parametrize("left", [0.02, 0.1, 0.2])
def test_memory_stays_below_three_arrays_where_bounds_hold_most(size, left):
    n, generator = 400_000, np.random.default_rng(0)
    rates, weights, upper = np.exp(generator.standard_normal((3, n)))
    bounds, most = {"lower": 0.1 * generator.random(n) * upper, "upper": upper}, upper.sum()
    if size:
        hosts = n // size
        groups = generator.integers(0, hosts, n)
        sums = np.bincount(groups, upper, hosts)
        caps = sums * np.where(generator.random(hosts) < 0.1, 0.7, 1.0) + 1e-9
        bounds |= {"groups": groups, "group_caps": caps}
        most = np.minimum(sums, caps).sum()
    warm_up()
    assert peak_of(criteria.Freshness(rates), (1.0 - left) * most, weights=weights, **bounds) <= 3 * 8 * n
