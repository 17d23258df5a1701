"""The compiled search keeps its bracket, ends, and ends where Brent's method on a numpy twin ends."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nefk_oracle import FAMILIES, random_parameters, solve
from scipy import optimize

import knapsolve._core.nefk as core
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.narrow import widest_half
from knapsolve.nefk.problem import check_problem
from knapsolve.nefk.search import Secant, find_prices, guess_price, new_searches, step
from knapsolve.nefk.series_model import BENT, MANY_ROUGH, SeriesModel


def problem_of(family, n, seed, share=0.3):
    generator = np.random.default_rng([seed, n])
    p, w = random_parameters(family, n, generator), np.exp(generator.standard_normal(n))
    return check_problem(FAMILIES[family](p), share * n, w, 0.0, None, None, None, True), w


def run(problem, guess=None, most=400):
    """A search from a guess to its end; (search, totals taken)."""
    shape = problem.criterion._shape
    passes = problem.passes()
    top, first = guess_price(problem)
    search = new_searches(shape, np.array([problem.capacity]), top, first if guess is None else guess)[0]
    return search, core.search(passes.items, problem.n, search, most)


@pytest.mark.parametrize("guess", [None, 1e-200, 1e-5, 1e200])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_search_ends_where_brent_ends_from_any_guess(family, guess):
    problem, w = problem_of(family, 40, 1)
    search, count = run(problem, guess)
    assert search[core.STATE] != core.RUNNING
    assert count < 200
    price = search[core.PRICE]

    def excess(log_price):
        return FAMILIES[family](problem.criterion._parameter).inverse(np.exp(log_price) / w).sum() - problem.capacity

    assert price > 0
    root = np.exp(optimize.brentq(excess, np.log(price) - 1, np.log(price) + 1, xtol=1e-14))
    assert price == pytest.approx(root, rel=1e-12)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(list(FAMILIES)), st.integers(1, 9), st.integers(0, 10**6), st.floats(1e-9, 1e3))
def test_the_bracket_encloses_the_target_at_every_step(family, n, seed, share):
    problem, _ = problem_of(family, n, seed, share)
    shape = problem.criterion._shape
    passes = problem.passes()
    search = new_searches(shape, np.array([problem.capacity]), 1.0, 1.0)[0]
    for _ in range(300):
        if search[core.STATE] != core.RUNNING:
            break
        assert search[core.LOW] < search[core.PRICE] < search[core.HIGH]
        core.search(passes.items, problem.n, search, 1)
        if search[core.LOW] > -1.0:
            assert passes.respond(search[core.LOW])[0] >= problem.capacity
        if search[core.HIGH] < 1e300:
            assert passes.respond(search[core.HIGH])[0] <= problem.capacity
    assert search[core.STATE] != core.RUNNING
    if search[core.STATE] == core.ENCLOSED:
        assert np.nextafter(search[core.LOW], np.inf) == search[core.HIGH]


def test_a_jump_ends_between_neighbouring_doubles():
    items = check_problem(criteria.Quadratic(0.0), 1.5, np.array([1.0, 3.0, 2.0]), 0.0, 1.0, None, None, True)
    passes = items.passes()
    search = new_searches(core.QUADRATIC, np.array([1.5]), 1.0, 0.3)[0]
    core.search(passes.items, 3, search, 300)
    assert search[core.STATE] == core.ENCLOSED
    assert search[core.PRICE] == 2.0 == np.nextafter(search[core.LOW], 3.0)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("with_bounds", [False, True])
def test_narrowing_many_items_gives_the_answer_of_plain_passes(family, with_bounds, monkeypatch):
    generator = np.random.default_rng(7)
    n = 70_000
    p, w = random_parameters(family, n, generator), np.exp(generator.standard_normal(n))
    bounds = {"lower": generator.uniform(0, 0.1, n), "upper": generator.uniform(0.3, 2.0, n)} if with_bounds else {}
    narrowed = solve(family, p, 0.3 * n, weights=w, **bounds)
    monkeypatch.setattr("knapsolve.nefk.single.narrows", lambda *arguments: False)
    plain = solve(family, p, 0.3 * n, weights=w, **bounds)
    assert narrowed.residual <= 1e-12
    assert plain.residual <= 1e-12
    assert narrowed.price == pytest.approx(plain.price, rel=1e-12)
    np.testing.assert_allclose(narrowed.amounts, plain.amounts, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
def test_many_items_with_the_price_on_a_vertical_piece_take_few_passes(share):
    """One heavy item activates where the others leave it a little: its amount climbs while the price stands still."""
    generator = np.random.default_rng(8)
    n = 100_000
    rate, w = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    rate[0], w[0] = 5000.0, 0.7 * 5000.0
    others = criteria.Freshness(rate[1:]).inverse(0.7 / w[1:]).sum()
    result = solve_nefk(criteria.Freshness(rate), others + share * 5000.0 / 60, weights=w)
    assert result.price == pytest.approx(0.7, rel=1e-14)
    assert result.amounts[0] == pytest.approx(share * 5000.0 / 60, rel=1e-6)
    assert result.residual <= 1e-12
    assert result.n_passes <= 25


@pytest.mark.parametrize("family", FAMILIES)
def test_many_items_with_nothing_left_to_buy_stop_at_price_zero(family):
    p = random_parameters(family, 70_000, np.random.default_rng(9))
    result = solve(family, p, 1e6, upper=0.01, equality=False)
    assert result.price == 0.0
    most = np.minimum(0.01, 1 / p) if family == "quadratic" else np.full(70_000, 0.01)
    np.testing.assert_allclose(result.amounts, most, rtol=1e-15)
    worthless = solve(family, p, 1e6, weights=np.r_[np.ones(69_999), 0.0], upper=np.r_[np.full(69_999, 0.01), np.inf])
    assert worthless.amounts[-1] == pytest.approx(1e6 - most[:-1].sum(), rel=1e-12)
    assert worthless.residual <= 1e-12


@pytest.mark.parametrize("half", [1e-5, 1e-3, 3e-3])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_model_of_the_total_is_exact_within_its_bracket(family, half):
    problem, _ = problem_of(family, 20_000, 3)
    price = solve_nefk(problem.criterion, problem.capacity, weights=problem.weights).price
    passes = problem.passes()
    size = price if family == "quadratic" else 1.0
    rough, terms = passes.expand(price, half * size, BENT)
    assert rough is not None
    model = SeriesModel(problem, rough, price, half * size, terms, 1)
    low, high = model.ends
    for share in (0.0, 0.2, 0.5, 0.7, 1.0):
        inside = low + share * (high - low)
        exact, modelled = passes.respond(inside), model.respond(inside)
        off = 1e-10 if family == "power" else 4e-12  # of the fifth term at the ends
        assert modelled[0] == pytest.approx(exact[0], rel=2e-14 + off * abs(2 * share - 1) ** 5)
        assert modelled[1] == pytest.approx(exact[1], rel=1e-7)


@pytest.mark.parametrize("family", ["freshness", "detection"])
def test_many_rough_items_are_hardly_read_again_as_the_price_is_found(family):
    problem, _ = problem_of(family, 400_000, 3)
    guess = solve_nefk(problem.criterion, problem.capacity, weights=problem.weights).price * 1.0011
    passes = problem.passes()
    rough, terms = passes.expand(guess, 3e-3, BENT)
    assert len(rough) >= MANY_ROUGH
    model = SeriesModel(problem, rough, guess, 3e-3, terms, 1)
    search = new_searches(passes.shape, np.array([problem.capacity]), 1.0, guess)[0]
    search[core.LOW], search[core.HIGH] = model.ends
    found = find_prices(model, search)
    assert model.rough.count <= 3
    assert model.respond(found.low)[0] == pytest.approx(passes.respond(found.low)[0], rel=1e-13)
    assert passes.respond(found.low)[0] == pytest.approx(problem.capacity, rel=1e-12)
    for end in model.ends:  # and back again
        assert model.respond(end)[0] == pytest.approx(passes.respond(end)[0], rel=1e-11)


@pytest.mark.parametrize("family", FAMILIES)
def test_items_that_are_not_rough_follow_their_series_alone(family):
    """One item at a time, over bounds on either side: beside, straddled, far."""
    half, price = 1e-3, 0.3
    size = price if family == "quadratic" else 1.0
    generator = np.random.default_rng(4)
    p, w = random_parameters(family, 300, generator), np.exp(generator.standard_normal(300))
    inner = FAMILIES[family](p).inverse(price / w)
    low, high = (inner * np.exp(s) for s in generator.choice([-3.0, -1e-3, 1e-4, 1.0], (2, 300)))
    low, high = np.minimum(low, high), np.maximum(low, high)
    n_rough = 0
    for i in range(300):
        part = check_problem(FAMILIES[family](p[i : i + 1]), 1.0, w[i], low[i], high[i], None, None, True)
        passes = part.passes()
        rough, terms = passes.expand(price, half * size, BENT)
        n_rough += len(rough)
        if len(rough):
            assert not any(terms)
            continue
        model = SeriesModel(part, rough, price, half * size, terms, 1)
        for at in (*model.ends, price):
            assert model.respond(at)[0] == pytest.approx(passes.respond(at)[0], rel=1e-9, abs=1e-300)
    assert 0 < n_rough < 300


def test_more_sampled_items_are_asked_for_where_amounts_differ_more():
    generator = np.random.default_rng(5)
    even, uneven = (
        check_problem(
            criteria.Harmonic(np.exp(s * generator.standard_normal(10_000))), 3e3, 1.0, 0.0, None, None, None, True
        )
        for s in (0.1, 2.0)
    )
    (half, few), (other, many) = widest_half(even, 1.0), widest_half(uneven, 1.0)
    assert half == other
    assert 0 < few < many


@pytest.mark.parametrize("weights", [None, 2.5])
def test_detection_with_equal_weights_shares_in_proportion_to_the_rates(weights):
    rate = np.exp(np.random.default_rng(6).standard_normal(70_000))
    result = solve_nefk(criteria.Detection(rate), 2e4, weights=weights)
    np.testing.assert_allclose(result.amounts, 2e4 * rate / rate.sum(), rtol=1e-12)
    one = solve_nefk(criteria.Detection(rate.sum()), 2e4, weights=weights)
    assert result.price == pytest.approx(one.price, rel=1e-13)
    assert result.residual <= 1e-12
    assert result.n_passes <= 2
    bounded = solve_nefk(criteria.Detection(rate), 2e4, weights=weights, upper=0.5)
    assert bounded.residual <= 1e-12
    assert (bounded.amounts <= 0.5).all()
    with_infinite = solve_nefk(criteria.Detection(np.r_[rate, np.inf]), 2e4, weights=weights)
    assert with_infinite.residual <= 1e-12


def test_amounts_written_past_the_caches_are_the_same():
    n = 2**21 + 13
    rate = np.exp(np.random.default_rng(7).standard_normal(n))
    out = np.empty(n + 1)[1:]  # not at a multiple of 16 bytes
    result = solve_nefk(criteria.Freshness(rate), 0.3 * n, out=out, n_jobs=2)
    np.testing.assert_array_equal(out, np.where(result.at_lower, 0.0, criteria.Freshness(rate).inverse(result.price)))
    assert result.residual <= 1e-12


def test_a_sample_replaces_the_first_pass_where_amounts_differ_little():
    rate = np.exp(0.1 * np.random.default_rng(8).standard_normal(200_000))
    result = solve_nefk(criteria.Harmonic(rate), 6e4)
    assert result.n_passes == 2  # the series and the settling pass
    assert result.residual <= 1e-12


@pytest.mark.parametrize("kind", ["freshness", "detection"])
def test_a_price_at_which_an_item_starts_is_found_in_few_steps(kind):
    """Newton's method only creeps towards a jump of the total: without trying starts it takes 40 steps and more."""
    problem, _ = problem_of(kind, 3000, 4)
    passes = problem.passes()
    for start in np.sort(problem.starts())[500:2500:250]:
        price, half = start * 1.002, 4e-3
        rough, terms = passes.expand(price, half, BENT)
        model, prices = SeriesModel(problem, rough, price, half, terms, 1), []
        below, above = (model.respond(start * (1 + beside))[0] for beside in (-4e-16, 4e-16))
        target = 0.5 * (below + above)
        respond = model.respond
        model.respond = lambda x, own=respond, seen=prices: seen.append(x) or own(x)
        search = new_searches(passes.shape, np.array([target]), 1.0, price)[0]
        search[core.LOW], search[core.HIGH] = model.ends
        found = find_prices(model, search)
        assert found.low <= start * (1 + 4e-16)
        assert found.high >= start * (1 - 4e-16)
        assert found.high - found.low <= 3e-16 * start
        assert len(prices) <= 14
        totals = [respond(x)[0] for x in (found.high, found.low)]
        assert totals[0] + found.share * (totals[1] - totals[0]) == pytest.approx(target, rel=1e-12)


@pytest.mark.parametrize("bend", [0.1, 1.0, 2.0])
def test_straight_lines_between_both_sides_do_not_creep_along_one(bend):
    """Newton's slope is half the true one, as of totals of which parts start: it only brings about both sides."""
    search = new_searches(core.FRESHNESS, np.array([1.0]), 10.0, 0.12)[0]
    between = Secant(core.FRESHNESS)
    for _ in range(9):
        price = float(search[core.PRICE])
        x = np.log(price / 0.2)
        total = 1.0 - 0.02 * np.expm1(bend * x) / bend
        step(search, core.FRESHNESS, total, 0.01 * np.exp(bend * x))
        if search[core.STATE] == core.RUNNING:
            off = between.narrow(search, price, total)
    assert abs(total - 1.0) < 2e-6  # 1e-5 to 4e-4 where the gap of a side that stays is not halved
    assert off >= abs(np.log(search[core.PRICE] / 0.2)) or np.isnan(off)


def test_many_rough_items_may_lie_side_by_side():
    """As in items in order of their starts: halved chunks list as many as whole ones."""
    n, generator = 70_000, np.random.default_rng(1)
    starts = np.append(np.exp(1e-3 * generator.standard_normal(6000)), generator.uniform(2.0, 9.0, n - 6000))
    passes = check_problem(criteria.Freshness(np.ones(n)), 1.0, starts, 0.0, None, None, None, True).passes()
    rough, _ = passes.expand(1.0, 5e-3, BENT)
    assert rough is not None and 6000 <= len(rough) < 6100


@pytest.mark.parametrize("n", [10_000, 60_000])
@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
def test_answers_next_to_where_an_item_starts_take_few_passes(n, kind):
    """There totals fall without end: where no starts are looked at, some of these problems take 43 to 53."""
    passes = []
    for seed in range(30):
        generator = np.random.default_rng(seed)
        rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
        result = solve_nefk(kind(rates), 0.3 * n, weights=weights, n_jobs=1)
        assert result.residual <= 3e-13
        passes.append(result.n_passes)
    assert max(passes) <= 30
