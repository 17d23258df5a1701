"""Censored rates solve their equation in any unit of time, or say that they cannot."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from knapsolve import OptimalPolicy
from knapsolve.rates import censored, censored_rates

MATERIALS, CHANGED = np.array([0, 1, 0]), [1, 0, 0]


def amounts(elapsed):
    return OptimalPolicy().fit(np.column_stack([MATERIALS, np.full(3, elapsed)]), CHANGED).allocate()


def test_rates_solve_the_equation_of_the_docstring():
    generator = np.random.default_rng(0)
    who, gaps = generator.integers(0, 5, 300), generator.exponential(2.0, 300)
    changed = (generator.random(300) < 1 - np.exp(-gaps * (who + 1) / 5)).astype(np.int8)

    def residual(rate, own, prior_time):
        hit, a = own & (changed == 1), censored.PRIOR_CHANGES
        quiet = gaps[own & (changed == 0)].sum()
        return (gaps[hit] / np.expm1(rate * gaps[hit])).sum() + a / rate - quiet - prior_time

    everything = np.ones(300, dtype=bool)
    low, high = 1e-6, 1e3
    for _ in range(200):
        pooled = np.sqrt(low * high)
        above = residual(pooled, everything, censored.PRIOR_CHANGES * gaps.mean()) < 0
        low, high = (low, pooled) if above else (pooled, high)
    for k, rate in enumerate(censored_rates(who, gaps, changed, 5)):
        assert residual(rate, who == k, censored.PRIOR_CHANGES / pooled) == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("elapsed", [1e-300, 1e-9, 1e300, 1e308])
def test_amounts_do_not_depend_on_the_unit_of_time(elapsed):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(amounts(elapsed), amounts(1.0), rtol=1e-12)


def test_rates_beyond_all_floats_are_refused():
    with pytest.raises(ValueError, match="elapsed makes change rates that no float can hold"):
        amounts(1e-310)


def test_steps_that_run_out_are_a_warning(monkeypatch):
    monkeypatch.setattr(censored, "MAX_STEPS", 2)
    with pytest.warns(ConvergenceWarning, match="not converged after 2 steps"):
        amounts(1.0)
