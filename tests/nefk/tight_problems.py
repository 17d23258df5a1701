"""Problems in groups nearly all of whose caps bind."""

import numpy as np
import pytest

from knapsolve import criteria, solve_nefk
from knapsolve.nefk.first_prices import price_beside_caps


def tight(n, size, kind, seed=0, share=(0.3, 0.9)):
    """A problem nearly all of whose caps bind; two items in a hundred have no group."""
    generator = np.random.default_rng(seed)
    rate, weight = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    n_groups = n // size
    groups = np.where(generator.random(n) < 0.02, -1, generator.integers(0, n_groups, n))
    given = {"capacity": 0.3 * n, "weights": weight, "n_jobs": 1}
    free = solve_nefk(kind(rate), **given).amounts
    taken = np.bincount(groups + 1, free, n_groups + 1)[1:] + 1e-9
    return kind(rate), given | {"groups": groups, "group_caps": generator.uniform(*share, n_groups) * taken}


def hosts_by_rank(n, n_groups, over, seed=0):
    """The k-th host has a share of 1 / k of the items, many have none, and caps go by sizes: together they are so many
    times the capacity, which must all be given out if that is more than once.
    """
    generator = np.random.default_rng(seed)
    rate, weight = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    shares = 1.0 / np.arange(1.0, n_groups + 1.0)
    groups = generator.choice(n_groups, n, p=shares / shares.sum())
    caps = 0.3 * over * np.bincount(groups, minlength=n_groups)
    given = {"capacity": 0.3 * n, "weights": weight, "groups": groups, "group_caps": caps}
    return criteria.Freshness(rate), given | {"equality": over > 1.0, "n_jobs": 1}


def assert_same(result, other, capacity):
    """Two answers are the same, but for rounding that steep amounts multiply."""
    assert max(result.residual, other.residual) <= 3e-13
    assert result.price == pytest.approx(other.price, rel=1e-11)
    assert result.value == pytest.approx(other.value, rel=1e-13)
    np.testing.assert_allclose(result.amounts, other.amounts, rtol=1e-9, atol=1e-12 * capacity)
    np.testing.assert_allclose(result.group_prices, other.group_prices, rtol=1e-9, atol=1e-10 * other.price)
    np.testing.assert_array_equal(result.side, other.side)


def told_by_caps(problem):
    return price_beside_caps(problem, problem.caps.sum(), lambda: np.flatnonzero(problem.groups < 0))
