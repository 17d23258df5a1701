"""Searches between two prices whose totals are known: straight lines lead, and starts where they don't."""

import numpy as np
import pytest
from scipy import optimize
from tight_problems import hosts_by_rank

import knapsolve._core.nefk as core
import knapsolve.nefk.group_steps as group_steps
import knapsolve.nefk.groups as groups
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.search import LINEAR, find_between, new_searches


class Bends:
    """What items of many groups take that fall as one over the price, each group up to its cap; some more below one
    price, a jump, or none.
    """

    def __init__(self, shape, seed, jump=0.0):
        generator = np.random.default_rng(seed)
        self.shape, self.seen, self.jump = shape, [], jump
        self.scale, self.caps = np.exp(generator.standard_normal((2, 3000)))
        self.at = float(np.exp(0.02 * generator.standard_normal()))

    def respond(self, price):
        self.seen.append(price)
        taken = self.scale / price
        total = float(np.minimum(taken, self.caps).sum()) + (self.jump if price < self.at else 0.0)
        slope = float(taken[taken < self.caps].sum())
        return total, slope / price if self.shape in LINEAR else slope

    def search(self, search):
        """Nothing is compiled."""

    def starts(self, search):
        others = np.random.default_rng(1).uniform(0.9, 1.1, 20)
        return np.append(others, self.at)

    def find(self, target):
        """Prices, and how many totals were taken beside those at the ends, which are about .9 and 1.1."""
        ends = [(price, *self.respond(price)) for price in (0.9, 1.1)]
        self.seen.clear()
        search = new_searches(self.shape, np.array([target]), 1e3, 1.0)[0]
        return find_between(self, search, ends), len(self.seen)


def test_few_totals_are_taken_of_groups_that_leave_their_caps(monkeypatch):
    """From where more caps bind Newton's method steps over the other end: 10.7 in the mean, with those at the ends."""
    seen, respond = [], groups.GroupModel.respond
    monkeypatch.setattr(groups.GroupModel, "respond", lambda self, price: seen.append(price) or respond(self, price))
    for seed in range(10):
        criterion, given = hosts_by_rank(100_000, 50_000, 1.1, seed)
        assert solve_nefk(criterion, **given).residual <= 1e-12
    assert 50 <= len(seen) <= 90


def test_a_model_where_caps_hold_nearly_all_is_wide_enough():
    """A curve of few groups that are loose leads three tenths too far, or too short: narrower ones missed."""
    passes = []
    for seed in range(12):
        generator, n = np.random.default_rng(seed), 200_000
        rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
        hosts = generator.integers(0, n // 5, n)
        given = {"weights": weights, "groups": hosts, "group_caps": 0.306 * np.bincount(hosts, minlength=n // 5)}
        passes.append(solve_nefk(criteria.Freshness(rates), 0.3 * n, **given).n_passes)
    assert sum(passes) <= 48  # 54 of those


def test_between_both_sides_no_groups_are_asked_where_caps_hold_nearly_all(monkeypatch):
    """Of large hosts with alike items, of which few leave their caps: what those take falls at once, not as a power."""
    both, lead, n, n_groups = [], group_steps.GroupSteps._lead, 70_000, 700

    def spy(steps, search, mu, taken, sums, half):
        both.append((not np.isnan([steps.between.less[0], steps.between.more[0]]).any(), sums[2] / sums[0]))
        return lead(steps, search, mu, taken, sums, half)

    monkeypatch.setattr(group_steps.GroupSteps, "_lead", spy)
    for seed in range(8):
        generator = np.random.default_rng(seed)
        rates, weights = np.exp([[1.5], [1.0]] * generator.standard_normal((2, n_groups)))
        hosts = generator.integers(0, n_groups, n)
        caps = 1.1 * 0.3 * n / n_groups * np.ones(n_groups)
        given = {"weights": weights[hosts], "groups": hosts, "group_caps": caps, "n_jobs": 1}
        criterion = criteria.Freshness(rates[hosts] * np.exp(0.1 * generator.standard_normal(n)))
        assert solve_nefk(criterion, 0.3 * n, **given).residual <= 1e-12
    between = [held for is_between, held in both if is_between]
    assert both and all(held < 0.9 for held in between)


@pytest.mark.parametrize("seed", range(40))
def test_totals_with_thousands_of_bends_are_met(seed):
    some = Bends(core.FRESHNESS, seed)
    target = some.respond(some.at)[0]
    prices, steps = some.find(target)
    assert prices.low == pytest.approx(optimize.brentq(lambda x: some.respond(x)[0] - target, 0.9, 1.1, xtol=1e-15))
    assert steps <= 5


@pytest.mark.parametrize("seed", range(20))
def test_a_jump_is_found_as_soon_as_lines_lead_nowhere(seed):
    some = Bends(core.DETECTION, seed, 100.0)
    less = some.respond(some.at)[0]
    prices, steps = some.find(less + 30.0)
    assert some.at * (1 - 4e-16) <= prices.high <= some.at * (1 + 4e-16)
    assert prices.low < some.at <= prices.high
    assert prices.share == pytest.approx(0.3, abs=1e-9)
    assert steps <= 16


@pytest.mark.parametrize("shape", LINEAR)
def test_totals_that_are_straight_in_the_price_are_met_too(shape):
    some = Bends(shape, 3)
    target = some.respond(1.01)[0]
    prices, steps = some.find(target)
    assert prices.low == pytest.approx(1.01, rel=1e-13)
    assert steps <= 4
