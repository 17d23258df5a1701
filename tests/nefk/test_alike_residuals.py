"""What groups of alike items take is known without a sum of their amounts: the residuals told hold its errors."""

import math
import warnings

import numpy as np
import pytest
from test_alike_groups import KINDS, N, items_of, problem_of

from knapsolve import solve_nefk


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("odd", [0.0, 0.01])
def test_the_budget_s_residual_holds_the_errors_of_groups(kind, odd):
    """They are not measured, but known not to be larger."""
    parameters, capacity, options = problem_of(kind, 50, 0.3, 0.8, same_rate=False)
    options["weights"][np.random.default_rng(1).random(N) < odd] *= 2.0
    result = solve_nefk(kind(parameters), capacity, **options)
    caps, order = options["group_caps"], np.argsort(options["groups"], kind="stable")
    totals = [math.fsum(some) for some in result.amounts[order].reshape(-1, 50).tolist()]
    off = np.abs(np.array(totals) - caps) / caps
    assert 0.0 < off.max() <= result.budget_residual <= 1e-12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("scale", "cap"), [(2.0, 1e-320), (1e-35, 1e-320), (1e130, 1e-184)])
def test_caps_so_small_that_shares_lose_digits_are_told(kind, scale, cap):
    """Their totals are measured, and warned of where they are off: shares of them were taken to be exact."""
    n = 80_000
    groups, starts = np.arange(n) % 1000, np.exp(np.random.default_rng(0).standard_normal(1000))
    parameters, weights = items_of(kind, np.full(n, scale), starts[groups])
    caps = np.full(1000, 10.0 * scale)
    caps[7] = cap
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        result = solve_nefk(kind(parameters), 7500.0 * scale, weights=weights, groups=groups, group_caps=caps)
    off = abs(math.fsum(result.amounts[groups == 7]) - cap) / cap
    assert off <= 1.01 * result.residual + 1e-12
    assert result.residual <= 1e-9 or warned
