"""The problem whose solves are timed, and how: the least of several times, in turns; with groups beside none."""

import time
from functools import partial

import numpy as np

from knapsolve import criteria, solve_nefk

LEAST_REPEATS, MOST_REPEATS, SLOW = 7, 40, 200_000  # solves of fewer items are repeated the more, as they take less


def problem(n, seed=0):
    generator = np.random.default_rng(seed)
    return np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n)), 0.3 * n


def freshness(n, seed, **options):
    """Solves the problem of a draw of items."""
    rate, weight, capacity = problem(n, seed)
    return partial(solve_nefk, criteria.Freshness(rate), capacity, weights=weight, **options)


def best(work, repeats=5, clock=time.perf_counter):
    times = []
    for _ in range(repeats):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def best_of_each(works, repeats=7, clock=time.perf_counter):
    """Least seconds of each work, taken in turns so that a busy machine is so for all of them."""
    times = np.array([[best(work, 1, clock) for work in works] for _ in range(repeats)])
    return times.min(axis=0)


def beside_none(alone, groups, caps, clock):
    """Seconds, how many times as long as without groups that is, and the result."""
    capped = partial(alone, groups=groups, group_caps=caps)
    repeats = max(LEAST_REPEATS, min(MOST_REPEATS, LEAST_REPEATS * SLOW // groups.size))
    base, seconds = best_of_each([alone, capped], repeats, clock)
    return seconds, seconds / base, capped()


def print_beside_none(what, alone, groups, caps, clock=time.process_time):
    print_each_beside_none(what, [(alone, groups, caps)], clock)


def print_each_beside_none(what, draws, clock=time.process_time):
    """Means of several draws of problems without groups, of groups and of caps, with a standard error, and the largest
    ratio.
    """
    seconds, ratios, results = zip(*(beside_none(*draw, clock) for draw in draws))
    n, passes = len(draws), np.mean([result.n_passes for result in results])
    spread = f" +- {np.std(ratios, ddof=1) / n**0.5:.2f}, at most {max(ratios):.2f}" if n > 1 else ""
    bind = np.mean([np.mean(result.group_prices > 0) for result in results])
    print(
        f"{what}: {np.mean(seconds) * 1e3:.2f} ms, {np.mean(ratios):.2f}{spread} of none; {passes:.3g} passes, "
        f"{bind:.0%} of caps bind, residual {max(result.residual for result in results):.0e}"
    )
