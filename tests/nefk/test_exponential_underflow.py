"""Exponential items in groups whose caps leave capacity over: own prices underflow, and are found in logarithms."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import knapsolve.nefk.solver as solver
from knapsolve import criteria, solve_nefk


def filled(rates, weights, groups, caps):
    """What items take as their groups' caps are filled: as straight lines in the logarithm of the price, of those that
    start above it. Worthless items take nothing.
    """
    with np.errstate(divide="ignore"):
        starts = np.log(weights * rates)
    amounts = np.zeros(rates.size)
    order = np.lexsort((-starts, groups))
    begins = np.searchsorted(groups[order], np.arange(len(caps) + 1))
    for cap, begin, end in zip(caps, begins, begins[1:]):
        which = order[begin:end]
        which = which[weights[which] > 0.0]
        if not which.size:
            continue
        steep = np.cumsum(1.0 / rates[which])
        prices = (np.cumsum(starts[which] / rates[which]) - cap) / steep
        last = np.flatnonzero(starts[which] > prices)[-1]
        amounts[which] = np.maximum(starts[which] - prices[last], 0.0) / rates[which]
    return amounts


def draw(n, n_groups, worthless, seed):
    generator = np.random.default_rng(seed)
    rates, weights = np.exp(generator.normal(0.0, 1.0, n)), np.exp(generator.normal(0.0, 2.0, n))
    weights[generator.random(n) < worthless] = 0.0
    groups = generator.permutation(np.arange(n) % n_groups)
    caps = np.exp(generator.normal(np.log(3000.0 * n / n_groups), 2.0, n_groups))
    weights[np.flatnonzero(groups == 0)[0]] = 1.0
    first = (groups == 0) & (weights > 0.0)
    caps[0] = np.sum((700.0 + np.log(weights[first] * rates[first])) / rates[first])  # filled at exp(-700)
    return rates, weights, groups, caps


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("n", "n_groups"),
    [(1, 1), (12, 12), (12, 5), (2000, 1000), (2000, 2), (60_000, 2), (100_000, 30_000), (100_000, 80)],
)
def test_caps_are_filled_in_few_passes(n, n_groups, dtype, jobs):
    rates, weights, groups, caps = draw(n, n_groups, 0.0, n)
    out = np.empty(n, dtype)
    options = {"groups": groups, "group_caps": caps, "equality": False, "n_jobs": jobs, "out": out}
    result = solve_nefk(criteria.Exponential(rates), 1.3 * caps.sum(), weights=weights, **options)
    assert result.price == 0.0 and result.group_prices[0] == pytest.approx(np.exp(-700.0), rel=1e-9)
    assert result.residual <= (1e-12 if dtype == np.float64 else 1e-6)
    assert result.n_passes <= 5
    expected = filled(rates, weights, groups, caps)
    np.testing.assert_allclose(out, expected, rtol=1e-9 if dtype == np.float64 else 1e-5, atol=1e-10 * caps.max())


@pytest.mark.parametrize(("n", "n_groups"), [(120, 60), (140, 70), (195, 195), (3000, 300)])
def test_worthless_items_among_them_take_nothing(n, n_groups):
    rates, weights, groups, caps = draw(n, n_groups, 0.3, n)
    options = {"groups": groups, "group_caps": caps, "equality": False}
    result = solve_nefk(criteria.Exponential(rates), 1.3 * caps.sum(), weights=weights, **options)
    assert result.residual <= 1e-12 and result.n_passes <= 5
    np.testing.assert_allclose(result.amounts, filled(rates, weights, groups, caps), rtol=1e-9, atol=1e-10 * caps.max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "n_groups"), [(120, 60), (140, 70), (195, 195), (3000, 1000)])
def test_worthless_items_take_what_is_just_used_up(n, n_groups, dtype):
    """Of groups without other items, or whose others are at their bounds; some capacity was left over."""
    rates, weights, groups, caps = draw(n, n_groups, 0.3, n)
    generator = np.random.default_rng(n)
    upper = np.where(generator.random(n) < 0.2, generator.uniform(0.0, 9.0, n), np.inf)
    has_none = np.bincount(groups, weights, n_groups) == 0.0
    upper[has_none[groups]] = np.inf
    upper[groups == 0] = np.inf
    groups[-1], weights[-1], upper[-1] = -1, 0.0, 12.0
    allowed = np.minimum(np.bincount(groups + 1, upper, n_groups + 1)[1:], caps)
    options = {"groups": groups, "group_caps": caps, "upper": upper, "out": np.empty(n, dtype)}
    result = solve_nefk(criteria.Exponential(rates), allowed.sum() + 12.0, weights=weights, **options)
    assert result.residual <= (1e-12 if dtype == np.float64 else 1e-6) and result.n_passes <= 40
    off = 1e-12 if dtype == np.float64 else 1e-6
    np.testing.assert_allclose(np.bincount(groups + 1, result.amounts, n_groups + 1)[1:], allowed, rtol=off)
    assert result.amounts[-1] == 12.0 and result.at_upper[-1] and not result.at_lower[-1]
    is_free = np.bincount(groups + 1, np.isfinite(upper), n_groups + 1)[1:] == 0.0  # of groups without bounds
    free = is_free[groups] & (weights > 0.0)
    expected = filled(rates, weights, groups, caps)
    np.testing.assert_allclose(result.amounts[free], expected[free], rtol=1e4 * off, atol=1e2 * off * caps.max())


def test_bounds_and_items_of_no_group_hold_the_rest():
    upper = [np.inf, 2.0, np.inf, 7000.0]
    options = {"groups": [0, 1, 1, -1], "group_caps": [3000.0, 4000.0], "upper": upper, "equality": False}
    result = solve_nefk(criteria.Exponential([1.0, 2.0, 1.0, 5.0]), 1e5, **options)
    np.testing.assert_allclose(result.amounts, [3000.0, 2.0, 3998.0, 7000.0], rtol=1e-12)
    assert result.price == 0.0
    np.testing.assert_array_equal(result.at_upper, [False, True, False, True])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_worthless_item_of_no_group_takes_the_rest(dtype):
    options = {"groups": [0, 1, -1], "group_caps": [10.0, 700.0], "out": np.empty(3, dtype)}
    result = solve_nefk(criteria.Exponential([1.0, 1.0, 1.0]), 1e4, weights=[0.0, 1.0, 0.0], **options)
    np.testing.assert_allclose(result.amounts, [0.0, 700.0, 9300.0], rtol=1e-6, atol=1e-9)
    assert result.residual <= 1e-12


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("is_first", [True, False])
def test_what_does_not_add_up_is_told(is_first, dtype, monkeypatch):
    """Whatever the reason: what worthless items took is lost, or own prices that are logarithms are not found."""
    solve, depth, found = solver._solve, [0], []

    def spoil(*given):
        depth[0] += 1
        result = solve(*given)
        depth[0] -= 1
        if depth[0]:  # within another one
            return result
        found.append(result)
        if is_first and len(found) == 1:
            result.amounts[2] = 0.0
        return result if is_first or len(found) == 1 else replace(result, budget_residual=0.5)

    monkeypatch.setattr(solver, "_solve", spoil)
    options = {"groups": [0, 0, 1], "group_caps": [1050.0, 50.0], "out": np.empty(3, dtype)}
    with pytest.warns(ConvergenceWarning):
        result = solve_nefk(criteria.Exponential([1.0, 2.0, 1.0]), 1100.0, weights=[1.0, 1.0, 0.0], **options)
    assert result.residual == pytest.approx(50.0 / 1100.0 if is_first else 0.5, rel=1e-6)
