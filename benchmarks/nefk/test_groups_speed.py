"""Groups with caps beside the same problem without: freshness, and what makes that harder.

Run with `pytest benchmarks/nefk/test_groups_speed.py -s --benchmark-disable`; every figure is the least of several in
one run, by the processor time of one thread, which a busy machine hardly changes, or with more by the time that passes.
"""

import time
from functools import partial

import numpy as np
import pytest
from nefk_timing import MOST_REPEATS, best_of_each, freshness, print_beside_none, print_each_beside_none, problem

from knapsolve import criteria, solve_nefk

DRAWS = {10**4: 16, 10**5: 16, 10**6: 4, 10**7: 2}  # how many passes a solve takes depends on them, also without groups


@pytest.mark.parametrize(
    ("n", "gives_out", "n_jobs"),
    [
        (10**4, True, 1),
        (10**5, True, 1),
        (10**6, True, 1),
        (10**6, False, 1),
        (10**6, True, 2),
        (10**6, False, 2),
        (10**7, False, 1),
        (10**7, False, 2),
    ],
)
def test_groups_beside_none(n, gives_out, n_jobs):
    """Room for the answer that is given is room for copies. Time that passes counts with several threads, else time
    that the processor takes.
    """
    out = np.empty(n) if gives_out else None
    solves = [freshness(n, seed, n_jobs=n_jobs, out=out) for seed in range(DRAWS[n])]
    amounts = [solve().amounts.astype(np.float32) for solve in solves]
    clock = time.process_time if n_jobs == 1 else time.perf_counter
    print("\n" + ("out is given" if gives_out else "out is not given") + f", {n_jobs} threads")
    for n_groups in sorted({10, n // 1000, n // 100, n // 5, n // 3, n // 2}):
        draws = {"slack": [], "half": [], "binding": []}
        for seed, (plain, free) in enumerate(zip(solves, amounts), 2):
            generator = np.random.default_rng(seed)
            groups = np.where(generator.random(n) < 0.02, -1, generator.integers(0, n_groups, n))
            taken = np.bincount(groups + 1, free, n_groups + 1)[1:] + 1e-9
            few = generator.uniform(0.3, 0.9, n_groups)
            draws["slack"].append((plain, groups, (1 + few) * taken))
            draws["half"].append((plain, groups, np.where(generator.random(n_groups) < 0.5, few, 50.0) * taken))
            draws["binding"].append((plain, groups, few * taken))
        for name, some in draws.items():
            print_each_beside_none(f"n = {n:.0e}, {n_groups:6d} groups, {name}", some, clock)


@pytest.mark.parametrize("n_groups", [1000, 100_000, 500_000])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_groups_and_none_each_by_itself(n_jobs, n_groups):
    """Over and over, a million items without groups stay in a large cache. Half of the caps are tight."""
    alone = freshness(n := 10**6, 0, n_jobs=n_jobs, out=np.empty(n))
    generator = np.random.default_rng(2)
    groups = np.where(generator.random(n) < 0.02, -1, generator.integers(0, n_groups, n))
    few = np.where(generator.random(n_groups) < 0.5, generator.uniform(0.3, 0.9, n_groups), 50.0)
    caps = few * (np.bincount(groups + 1, alone().amounts, n_groups + 1)[1:] + 1e-9)
    solves = [alone, partial(alone, groups=groups, group_caps=caps)]
    base, seconds = (best_of_each([solve], MOST_REPEATS, time.perf_counter)[0] for solve in solves)
    times = f"{base * 1e3:.2f} and {seconds * 1e3:.2f} ms, {seconds / base:.2f} of none"
    print(f"\n{n_groups} groups, {n_jobs} threads: {times}")


@pytest.mark.parametrize("n_groups", [1000, 100_000, 200_000, 500_000])
def test_groups_of_which_some_have_no_end_beside_none(n_groups):
    """One cap in twenty is infinite, all others are tight."""
    n, draws = 10**6, []
    for seed in range(DRAWS[n]):
        plain, generator = freshness(n, seed, n_jobs=1), np.random.default_rng(seed)
        free = plain().amounts
        groups = np.where(generator.random(n) < 0.02, -1, generator.integers(0, n_groups, n))
        caps = generator.uniform(0.3, 0.9, n_groups) * (np.bincount(groups + 1, free, n_groups + 1)[1:] + 1e-9)
        draws.append((plain, groups, np.where(generator.random(n_groups) < 0.05, np.inf, caps)))
    print_each_beside_none(f"\n{n_groups} groups, one in twenty without an end", draws)


@pytest.mark.parametrize("n_groups", [1000, 100_000, 500_000])
def test_groups_of_which_half_are_nearly_tight_beside_none(n_groups):
    """Half of the caps bind, the others are twice what is taken without caps: some are 0, as items that take nothing
    have groups by themselves. All items have groups, and weights fall from the most common ones on.
    """
    n, draws, alone = 10**6, [], partial(solve_nefk, capacity=0.3 * 10**6, n_jobs=1)
    generator = np.random.default_rng(0)
    for _ in range(DRAWS[n]):
        rates, groups = generator.lognormal(0, 1.5, n), generator.integers(0, n_groups, n)
        plain = partial(alone, criteria.Freshness(rates), weights=generator.exponential(1, n))
        free = plain().amounts
        few = np.where(generator.random(n_groups) < 0.5, generator.uniform(0.3, 0.9, n_groups), 2.0)
        draws.append((plain, groups, few * np.bincount(groups, free, n_groups)))
    print_each_beside_none(f"\n{n_groups} groups, half tight, others nearly", draws)


@pytest.mark.parametrize("exponent", [1.7, 2.0, 2.5])
def test_groups_of_very_different_sizes_beside_none(exponent):
    """Sizes fall by a power law, as those of hosts: many single items, and some groups of thousands."""
    n, generator = 10**6, np.random.default_rng(2)
    rate, weight, capacity = problem(n)
    sizes = np.minimum(generator.zipf(exponent, n), n // 10)
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), n)]
    n_groups = len(sizes)
    groups = np.append(np.repeat(np.arange(n_groups), sizes), np.full(n - sizes.sum(), -1))
    groups = generator.permutation(n_groups)[generator.permutation(groups)]
    plain = partial(solve_nefk, criteria.Freshness(rate), weights=weight, n_jobs=1, out=np.empty(n))
    taken = np.bincount(groups, plain(capacity).amounts, n_groups) + 1e-9
    few = generator.uniform(0.3, 0.9, n_groups)
    shares = {"slack": 1 + few, "half": np.where(generator.random(n_groups) < 0.5, few, 50.0), "most": few}
    print()
    for name, share in shares.items():
        alone = partial(plain, min(capacity, 0.95 * (share * taken).sum()))
        print_beside_none(f"{n_groups:6d} groups, exponent {exponent}, {name}", alone, groups, share * taken)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2, 0.5])
@pytest.mark.parametrize("size", [5, 1000])
def test_few_items_in_groups_beside_none(size, share):
    """All caps bind, but most items have no group."""
    n, generator = 10**6, np.random.default_rng(3)
    n_groups = int(share * n) // size
    groups = np.where(generator.random(n) < share, generator.integers(0, n_groups, n), -1)
    plain = freshness(n, 0, n_jobs=1)
    taken = np.bincount(groups + 1, plain().amounts, n_groups + 1)[1:] + 1e-9
    caps = generator.uniform(0.3, 0.9, n_groups) * taken
    print_beside_none(f"\n{share:.0%} of items in groups of {size}", plain, groups, caps)


@pytest.mark.parametrize("n", [10**5, 10**6])
@pytest.mark.parametrize("caps", ["one for all", "by size", "by size, hosts by rank"])
@pytest.mark.parametrize("over", [0.8, 1.02, 1.1, 1.5, 2.0])
def test_caps_that_are_alike_beside_none(n, caps, over):
    """Every host has the same cap, or one by how many items it has: so many times its share of the capacity, or of what
    the caps of hosts that have items allow. The k-th host of some has a share of 1 / k of the items.
    """
    options = {"equality": over >= 1.0, "n_jobs": 1, "out": np.empty(n)}
    solves = [freshness(n, seed, **options) for seed in range(DRAWS[n])]
    print()
    for n_groups in (n // 1000, n // 50, n // 10, n // 5, n // 2):
        shares = 1.0 / np.arange(1.0, n_groups + 1.0) if "rank" in caps else np.ones(n_groups)
        draws = []
        for seed, plain in enumerate(solves):
            groups = np.random.default_rng(seed).choice(n_groups, n, p=shares / shares.sum())
            sizes = np.bincount(groups, minlength=n_groups)
            cap = np.where(sizes > 0, 1.0, 0.0) if caps == "one for all" else sizes.astype(np.float64)
            draws.append((plain, groups, over * 0.3 * n * cap / cap.sum()))
        print_each_beside_none(f"n = {n:.0e}, {n_groups:6d} caps {caps}, {over} times", draws)


@pytest.mark.parametrize("n", [10**5, 10**6])
@pytest.mark.parametrize("law", ["1 / k", "Pareto 1.1"])
@pytest.mark.parametrize("size", [3, 50])
def test_one_cap_for_very_different_hosts_beside_none(n, law, size):
    """Politeness: the same cap for hosts of very different sizes, together so many times the capacity."""
    n_groups, out = n // size, np.empty(n)
    print()
    for over in (0.8, 1.02, 2.0):
        draws = []
        for seed in range(DRAWS[n]):
            plain = freshness(n, seed, equality=over >= 1.0, n_jobs=1, out=out)
            generator = np.random.default_rng(seed)
            shares = 1.0 / np.arange(1.0, n_groups + 1) if law == "1 / k" else 1.0 + generator.pareto(1.1, n_groups)
            groups = generator.choice(n_groups, n, p=shares / shares.sum())
            cap = np.where(np.bincount(groups, minlength=n_groups) > 0, 1.0, 0.0)
            draws.append((plain, groups, over * 0.3 * n * cap / cap.sum()))
        print_each_beside_none(f"n = {n:.0e}, {size} items a host by {law}, {over} times", draws)


@pytest.mark.parametrize("n", [10**5, 10**6])
@pytest.mark.parametrize("size", [2, 10, 100, 1000, 10_000])
@pytest.mark.parametrize("spread", [0.0, 0.1, 0.5])
def test_hosts_of_alike_items_beside_none(n, size, spread):
    """Hosts with a rate and a weight each, which its items have but for so much of the rate's logarithm. The same cap
    for all, of hosts that are even, or of sizes by 1 / k.
    """
    generator, n_groups = np.random.default_rng(1), n // size
    print()
    for shares in np.ones(n_groups), 1.0 / np.arange(1.0, n_groups + 1):
        what = "by 1 / k" if shares[-1] < 1.0 else "even"
        for over in (0.8, 1.02, 2.0):
            groups = generator.choice(n_groups, n, p=shares / shares.sum())
            rate, weight = np.exp(generator.normal(0, 1.5, n_groups)), np.exp(generator.standard_normal(n_groups))
            rates = rate[groups] * np.exp(spread * generator.standard_normal(n))
            cap = np.where(np.bincount(groups, minlength=n_groups) > 0, 1.0, 0.0)
            options = {"weights": weight[groups].copy(), "n_jobs": 1, "out": np.empty(n), "equality": over >= 1.0}
            alone = partial(solve_nefk, criteria.Freshness(rates), 0.3 * n, **options)
            print_beside_none(
                f"n = {n:.0e}, {size} items a host, {what}, spread {spread}, {over} times",
                alone,
                groups,
                over * 0.3 * n * cap / cap.sum(),
            )


@pytest.mark.parametrize("what", ["a host", "a host, but for one item in a hundred", "an item"])
@pytest.mark.parametrize("size", [2, 5, 100])
@pytest.mark.parametrize("share", [1e-4, 0.01, 0.1])
def test_small_capacity_beside_none(what, size, share):
    """So small a share of all rates, of which there are three, one a host or an item; even hosts, one cap."""
    n, generator = 10**6, np.random.default_rng(1)
    print()
    for over in (0.8, 1.02, 2.0, 10.0):
        groups = generator.permutation(np.arange(n) % (n // size))
        by = np.arange(n) if what == "an item" else groups
        rates, weights = (generator.choice(some, by.max() + 1)[by] for some in ([1.0, 2.0, 5.0], [1.0, 3.0]))
        if "but for" in what:
            odd = generator.random(n) < 0.01
            rates[odd] *= np.exp(generator.standard_normal(odd.sum()))
        capacity = share * float(rates.sum())
        options = {"weights": weights, "n_jobs": 1, "out": np.empty(n), "equality": over >= 1.0}
        alone = partial(solve_nefk, criteria.Freshness(rates), capacity, **options)
        caps = np.full(n // size, over * capacity / (n // size))
        print_beside_none(f"{size} items a host, one rate {what}, {share} of them, {over} times", alone, groups, caps)


@pytest.mark.parametrize("n", [10**5, 10**6])
@pytest.mark.parametrize("size", [2, 5, 50, 1000])
def test_items_in_order_by_group_beside_none(n, size):
    """Tables are often sorted by host: beside the same items in any order."""
    plain = freshness(n, 0, n_jobs=1, out=np.empty(n))
    groups = np.random.default_rng(1).integers(0, n // size, n)
    print()
    for over in (0.8, 1.02, 1.5):
        caps = over * 0.3 * np.bincount(groups, minlength=n // size)
        alone = partial(plain, equality=over >= 1.0)
        for what, some in ("in any order", groups), ("in order by group", np.sort(groups)):
            print_beside_none(f"n = {n:.0e}, {size} items a group, {over} times, {what}", alone, some, caps)


@pytest.mark.parametrize("without", [0, 1, 100])
@pytest.mark.parametrize("n_groups", [1000, 10_000, 100_000, 333_333])
def test_groups_whose_caps_leave_capacity_over_beside_none(n_groups, without):
    """The same cap for every host, together less than the capacity: all bind, and the budget's price is 0, or far below
    that of any host where a few items have none and take what is over.
    """
    n = 10**6
    groups = np.random.default_rng(7).integers(0, n_groups, n)
    groups[:without] = -1
    plain = freshness(n, 0, n_jobs=1, equality=False)
    what = f"\n{n_groups} caps that leave three tenths over, {without} items without"
    print_beside_none(what, plain, groups, np.full(n_groups, 0.7 * 0.3 * n / n_groups))


@pytest.mark.parametrize("load", [0.8, 0.95, 0.999, 1 - 1e-6])
@pytest.mark.parametrize("size", [2, 3, 5, 50, 1000, 50_000])
def test_groups_whose_caps_are_little_more_than_the_capacity_beside_none(size, load):
    """Most groups are near their caps, on one side or the other."""
    n = 10**6
    rate, weight, capacity = problem(n)
    generator = np.random.default_rng(6)
    plain = partial(solve_nefk, criteria.Freshness(rate), weights=weight, n_jobs=1, out=np.empty(n))
    free, groups = plain(capacity).amounts.copy(), generator.integers(0, n // size, n)
    caps = np.bincount(groups, free, n // size) * generator.uniform(0.3, 0.95, n // size) + 1e-9
    alone = partial(plain, load * caps.sum())
    print_beside_none(f"\n{size} items a group, capacity {load:.7g} of caps", alone, groups, caps)


@pytest.mark.parametrize("n_groups", [1000, 100_000, 500_000])
@pytest.mark.parametrize(
    ("kind", "equality"),
    [*((kind, True) for kind in ("Detection", "Harmonic", "PoissonFreshness", "Power", "Quadratic", "Linear"))]
    + [("Quadratic", False), ("Linear", False)],
)
def test_groups_of_other_criteria_beside_none(kind, equality, n_groups):
    """Exponents of powers up to .9 make amounts so uneven that samples tell nothing of them; linear items have upper
    bounds that differ.
    """
    rate, weight, capacity = problem(10**6)
    generator = np.random.default_rng(0)
    parameter = generator.uniform(0.1, 0.9, rate.size) if kind == "Power" else rate
    criterion = criteria.Linear() if kind == "Linear" else getattr(criteria, kind)(parameter)
    upper = generator.uniform(0.5, 1.5, rate.size) if kind == "Linear" else None
    plain = partial(solve_nefk, criterion, capacity, weights=weight, upper=upper, n_jobs=1, equality=equality)
    use = "all" if equality else "at most"
    print_half_tight(f"{kind}, {use} the capacity, {n_groups} groups", plain, n_groups, 0.0)


@pytest.mark.parametrize("n_groups", [1000, 100_000, 500_000])
@pytest.mark.parametrize("kind", ["one upper bound for all", "upper bounds", "both bounds"])
def test_groups_with_bounds_beside_none(kind, n_groups):
    """Beside the same bounds without groups. Room for the answer that is given is room for a copy of one of them."""
    n = 10**6
    rate, weight, capacity = problem(n)
    generator = np.random.default_rng(7)
    upper = 2.0 if kind.startswith("one") else generator.uniform(1.0, 3.0, n)
    lower = generator.uniform(0.0, 0.05, n) if kind.startswith("both") else 0.0
    for out in (None, np.empty(n)):
        plain = partial(
            solve_nefk, criteria.Freshness(rate), capacity, weights=weight, lower=lower, upper=upper, n_jobs=1, out=out
        )
        given = "is not" if out is None else "is"
        print_half_tight(f"{kind}, {n_groups} groups, out {given} given", plain, n_groups, lower)


def print_half_tight(what, plain, n_groups, lower):
    """With groups, half of whose caps bind and leave more than lower bounds, beside none."""
    generator = np.random.default_rng(7)
    free = plain().amounts
    groups = generator.integers(0, n_groups, free.size)
    share = np.where(generator.random(n_groups) < 0.5, generator.uniform(0.3, 0.9, n_groups), 50.0)
    taken, least = (np.bincount(groups, np.broadcast_to(x, free.size), n_groups) for x in (free, lower))
    print_beside_none(f"\n{what}", plain, groups, np.maximum(share * taken, 1.05 * least) + 1e-9)


@pytest.mark.parametrize("seed", [6, 10])
def test_mostly_empty_hosts_beside_none(seed):
    """Two hosts in three have no items, one cap is every other one's: numbers with gaps, and those that occur alone."""
    n, hosts, generator = 10**6, 333_000, np.random.default_rng(seed)
    sizes = generator.pareto(1.1, hosts)
    groups = generator.choice(hosts, n, p=sizes / sizes.sum())
    rates, weights = generator.gamma(0.5, 2.0, n) + 1e-6, generator.uniform(0.1, 10.0, n)
    capacity, used = 1e-4 * float(rates.sum()), np.unique(groups, return_inverse=True)[1]
    print()
    for what, numbers in ("with gaps", groups), ("without", used):
        caps = np.full(numbers.max() + 1, 1.02 * capacity / (used.max() + 1))
        for out in (np.empty(n), None):
            alone = partial(solve_nefk, criteria.Freshness(rates), capacity, weights=weights, n_jobs=1, out=out)
            given = "is not" if out is None else "is"
            print_beside_none(f"mostly empty hosts, {what}, out {given} given", alone, numbers, caps)
