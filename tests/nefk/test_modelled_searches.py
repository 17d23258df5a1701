"""A search of thousands of items, in one compiled call, ends by a model of the total about its next price."""

import numpy as np
import pytest

import knapsolve._core.nefk as core
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.problem import check_problem
from knapsolve.nefk.search import guess_price, new_searches


def draw(n, seed, over=None, share=0.3):
    """Rates, weights and capacity, and upper bounds that together are so many times that."""
    generator = np.random.default_rng([seed, n])
    rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    upper = np.exp(generator.standard_normal(n))
    return rates, weights, share * n, None if over is None else upper * (over * share * n / upper.sum())


@pytest.mark.parametrize(
    ("kind", "over", "most", "mean"),
    [
        (criteria.Freshness, None, 7, 6.95), (criteria.Freshness, 2.0, 10, 7.3), (criteria.Freshness, 5.0, 8, 7.0),
        (criteria.Detection, None, 10, 7.9), (criteria.Detection, 2.0, 12, 8.6), (criteria.Detection, 5.0, 12, 8.2),
    ],
)  # fmt: skip
def test_few_passes_end_a_search(kind, over, most, mean):
    """Steps alone take up to 21, and 8 to 12 in the mean."""
    counts = []
    for n in (2_100, 5_000, 16_000):
        for seed in range(8):
            rates, weights, capacity, upper = draw(n, seed, over)
            result = solve_nefk(kind(rates), capacity, weights=weights, upper=upper, n_jobs=1)
            assert result.residual <= 1e-13
            counts.append(result.n_passes)
    assert max(counts) <= most
    assert np.mean(counts) <= mean


@pytest.mark.parametrize(("n", "seed", "over", "most"), [(7_500, 23, 2.0, 13), (3_600, 31, None, 12)])
def test_an_answer_that_is_off_by_rounding_is_followed_by_short_steps(n, seed, over, most):
    """Lines lead on from there to starts that lie far off, in 22 and 14 passes."""
    rates, weights, capacity, upper = draw(n, seed, over)
    result = solve_nefk(criteria.Detection(rates), capacity, weights=weights, upper=upper, n_jobs=1)
    assert result.residual <= 1e-13
    assert result.n_passes <= most


@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
def test_singles_between_bounds_are_modelled_too(kind):
    for seed in range(5):
        rates, weights, capacity, upper = (np.float32(each) for each in draw(9_000, seed, 3.0))
        lower = (0.2 * upper).astype(np.float32)
        result = solve_nefk(kind(rates), float(capacity), weights=weights, lower=lower, upper=upper, n_jobs=1)
        assert result.residual <= 1e-12
        assert result.n_passes <= 11
        assert (result.amounts >= lower).all() and (result.amounts <= upper).all()
        assert result.amounts.sum(dtype=np.float64) == pytest.approx(float(capacity), rel=1e-12)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("ties", [1, 30])
def test_a_price_on_a_vertical_piece_is_found_between_neighbours(ties, share):
    """Heavy items start where the others leave them a little: what they take climbs while the price stands still."""
    n, heavy = 8_000, 5000.0
    rates, weights, *_ = draw(n, 8)
    rates[:ties], weights[:ties] = heavy, 0.7 * heavy
    taken = share * heavy / 60
    capacity = criteria.Freshness(rates[ties:]).inverse(0.7 / weights[ties:]).sum() + ties * taken
    result = solve_nefk(criteria.Freshness(rates), capacity, weights=weights, n_jobs=1)
    assert result.price == pytest.approx(0.7, rel=1e-14)
    np.testing.assert_allclose(result.amounts[:ties], taken, rtol=1e-5)
    assert result.residual <= 1e-12
    assert result.n_passes <= 20


@pytest.mark.parametrize("most", range(1, 12))
def test_a_search_may_stop_after_any_pass_and_go_on(most):
    for seed in range(6):
        rates, weights, capacity, upper = draw(6_000, seed, 5.0)
        problem = check_problem(criteria.Freshness(rates), capacity, weights, 0.0, upper, None, None, True)
        passes = problem.passes()
        top, guess = guess_price(problem)
        whole, parts = (new_searches(core.FRESHNESS, np.array([capacity]), top, guess)[0] for _ in range(2))
        core.search(passes.items, problem.n, whole, 100)
        for _ in range(100):
            if parts[core.STATE] != core.RUNNING:
                break
            before = parts[[core.LOW, core.HIGH]]
            assert 1 <= core.search(passes.items, problem.n, parts, most) <= most  # a model is a pass
            assert before[0] <= parts[core.LOW] <= parts[core.HIGH] <= before[1]
        assert parts[core.STATE] != core.RUNNING
        assert parts[core.PRICE] == pytest.approx(whole[core.PRICE], rel=1e-14)
