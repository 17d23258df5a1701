"""Problems in groups of many sizes, listed and copied tile by tile."""

import numpy as np

from knapsolve import criteria
from knapsolve.nefk.group_order import sort_by_group
from knapsolve.nefk.group_passes import GroupPasses
from knapsolve.nefk.layouts import Listed, Tiled, lay_out
from knapsolve.nefk.problem import check_problem
from knapsolve.nefk.runs import Runs

N = 90_000
KINDS = {"small": 20_000, "many": 300, "large": 3, "empty": 14_000}


def grouped(kind, seed=1, dtype=np.float64, weighted=True):
    """Parameters, weights and groups of a problem whose last groups are small and whose first may be large."""
    generator, n_groups = np.random.default_rng(seed), KINDS[kind]
    rates, weights = np.exp(generator.standard_normal((2, N))).astype(dtype)
    groups = generator.integers(-1, n_groups, N)
    if kind == "empty":
        groups //= 7
    if kind == "many":
        groups[generator.random(N) < 0.3] = 5
    caps = np.bincount(groups + 1, minlength=n_groups + 1)[1:] * generator.uniform(0.05, 0.6, n_groups) + 1e-9
    return rates, weights if weighted else None, groups, caps


def both_layouts(kind, place, **options):
    rates, weights, groups, caps = grouped(kind, **options)
    problem = check_problem(criteria.Freshness(rates), 0.2 * N, weights, 0.0, None, groups, caps, True)
    starts = np.zeros(len(caps) + 3, dtype=np.uint32)
    starts[2:] = np.bincount(groups + 1, minlength=len(caps) + 1).cumsum()
    tiled = lay_out(problem, [(None, starts)], place)
    assert isinstance(tiled, Tiled)
    order, offset = sort_by_group(groups, len(caps))
    return GroupPasses(problem, 1, Listed(problem, order, Runs(offset))), GroupPasses(problem, 1, tiled)
