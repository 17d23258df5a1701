"""The compiled kernels equal their readable twins, whatever the instruction set and the number of threads."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from nefk_oracle import FAMILIES, exact_amount, random_parameters, slope, solve, value

import knapsolve._core.nefk as core
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.passes import CHUNK, MOST_CHUNKS, stripes_of
from knapsolve.nefk.problem import MANY_TAKEN, check_problem


@pytest.fixture
def _restore_instructions():
    yield
    core.use_level(2)


@pytest.mark.parametrize("family", FAMILIES)
def test_value_and_derivative_equal_the_textbook(family):
    generator = np.random.default_rng(1)
    p = random_parameters(family, 2000, generator)
    x = np.exp(2.5 * generator.standard_normal(2000))
    criterion = FAMILIES[family](p)
    np.testing.assert_allclose(criterion.value(x), value(family, p, x), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(criterion.derivative(x), slope(family, p, x), rtol=2e-12, atol=1e-15)


@pytest.mark.parametrize("family", FAMILIES)
def test_inverse_undoes_the_derivative(family):
    generator = np.random.default_rng(2)
    p, x = random_parameters(family, 2000, generator), np.exp(generator.standard_normal(2000))
    criterion = FAMILIES[family](p)
    price = criterion.derivative(x)
    again = criterion.derivative(criterion.inverse(price))
    positive = price > 0
    np.testing.assert_allclose(
        again[positive], price[positive], rtol=1e-14 if family != "quadratic" else 1e-11, atol=2e-16
    )


@pytest.mark.parametrize("family", ["detection", "freshness"])
def test_inverse_equals_arbitrary_precision_down_to_tiny_prices(family):
    prices = [1e-300, 1e-18, 1e-12, 1e-8, 1e-3, 0.1, 0.29, 0.3, 0.5, 0.9, 0.999, 1 - 1e-9, 1 - 1e-15]
    criterion = FAMILIES[family](1.0)
    for price in prices:
        with mp.workdps(60):
            expected = float(exact_amount(family, 1.0, mp.mpf(price)))
        assert float(criterion.inverse(price)) == pytest.approx(expected, rel=4e-15)


def test_small_z_keeps_its_digits():
    """g(z) = 1 - (1 + z) exp(-z) is z^2 / 2 - z^3 / 3 for small z, where the formula itself loses everything."""
    z = np.array([1e-8, 1e-5, 1e-150])
    np.testing.assert_allclose(criteria.Detection(1.0).derivative(1 / z), z**2 / 2 - z**3 / 3, rtol=1e-9)


@pytest.mark.usefixtures("_restore_instructions")
@pytest.mark.parametrize("family", [*FAMILIES, "log"])
def test_every_instruction_set_gives_the_same_bits(family):
    generator = np.random.default_rng(3)
    n = 1111
    name = "exponential" if family == "log" else family
    p = np.ascontiguousarray(random_parameters(name, n, generator, spread=4.0))
    w, low = np.exp(3 * generator.standard_normal(n)), 0.01 * generator.random(n)
    shape = core.LOG_EXPONENTIAL if family == "log" else FAMILIES[family]._shape
    columns = [core.Column(a) for a in (p, w, low, low + generator.exponential(2.0, n))]
    items = core.Items(shape, *columns, 1e6)
    free = core.Items(shape, *columns[:2], core.Column(0.0), core.Column(math.inf), 1e250)
    answers = []
    for level in (0, 1, 2):
        if core.use_level(level) < level:
            continue
        for price in (-3.0, 1e-9, 0.03, 1.0, 30.0):
            x, side = np.empty(n), np.empty(n, np.int8)
            sums = core.settle(items, price, price, 0.0, 0, n, x, None, side)
            rough = np.zeros((2, n + 1), np.intp)
            both = zip((items, free), rough, strict=True)
            series = [core.expand(some, price, 1e-3, 1e-8, 0, n, listed) for some, listed in both if price > 0]
            answers.append((level, price, x.tobytes(), side.tobytes(), repr(sums), repr(series), rough.tobytes()))
    reference = {a[1]: a[2:] for a in answers if a[0] == 0}
    assert len(answers) >= 5
    assert all(a[2:] == reference[a[1]] for a in answers)


@pytest.mark.parametrize("family", ["freshness", "detection"])
def test_series_without_bounds_are_those_with_bounds_far_away(family):
    generator = np.random.default_rng(12)
    n = 3000
    p, w = random_parameters(family, n, generator, spread=4.0), np.exp(generator.standard_normal(n))
    p[0] = 0.0  # takes nothing
    p[1], w[1] = (math.inf, 9.0) if family == "detection" else (1.0, 1e-9)  # a material without end
    for price in (1e-6, 0.3, 2.0):
        (free, terms), (cut, same) = (
            _series(core.Items(FAMILIES[family]._shape, *map(core.Column, (p, w, 0.0, high)), 1e250), price, n)
            for high in (math.inf, 1e200)
        )
        assert free == sorted({*cut, 1} if family == "detection" else cut)  # it is left to its price
        np.testing.assert_array_equal(terms[2:], same[2:])
        if family == "freshness":
            assert terms == same


def _series(items, price, n):
    rough = np.zeros(n + 1, np.intp)
    count, *terms = core.expand(items, price, 1e-3, 1e-8, 0, n, rough)
    return rough[:count].tolist(), terms


@pytest.mark.parametrize("every", [core.SAMPLE_RUN, core.SAMPLE_RUN + 1, 3 * core.SAMPLE_RUN, 777, 10**6])
@pytest.mark.parametrize("kind", ["columns", "order", "listed", "singles", "scalars"])
def test_a_sample_is_of_all_items_of_its_runs(every, kind):
    generator = np.random.default_rng(13)
    n = 20_011
    p, w, low, high = np.exp(generator.standard_normal((4, n))) * [[1.0], [1.0], [0.01], [3.0]]
    order, columns = None, [core.Column(x) for x in (p, w, low, high)]
    places = generator.permutation(n).astype(np.uint32)
    if kind == "order":
        order = places
    elif kind == "listed":
        columns[2] = core.Column(low, places)
    elif kind == "singles":
        columns[1] = core.Column(w.astype(np.float32))
    elif kind == "scalars":
        columns[2:] = core.Column(0.0), core.Column(math.inf)
    items = core.Items(core.FRESHNESS, *columns, 1e250, order)
    each = np.empty((2, n))
    core.respond_each(items, 0.3, 0, n, False, each)
    for start, stop in ((0, n), (5000, 15_000), (n - 5, n), (1, every)):
        chosen = [i for i in range(start, stop) if i % every < core.SAMPLE_RUN and i - i % every >= start]
        *sums, count = core.respond_sample(items, 0.3, start, stop, every)
        assert count == len(chosen)
        expected = [math.fsum(x[chosen]) for x in each]
        np.testing.assert_allclose([sums[0] + sums[1], sums[2] + sums[3]], expected, rtol=1e-14)


def test_runs_of_a_sample_do_not_overlap():
    column = core.Column(np.ones(5000))
    items = core.Items(core.FRESHNESS, column, column, core.Column(0.0), core.Column(math.inf), 1e250)
    for every in (0, 1, core.SAMPLE_RUN - 1):
        with pytest.raises(ValueError, match="every must be at least"):
            core.respond_sample(items, 0.3, 0, 5000, every)


@pytest.mark.usefixtures("_restore_instructions")
@pytest.mark.parametrize("family", FAMILIES)
def test_rough_amounts_are_as_near_as_they_say_whatever_the_range(family):
    """z from 1e-16 to 70, items at their very start, still ones, those without end, weights that underflow singles."""
    generator = np.random.default_rng(8)
    n, price = 20_000, 0.7
    p = random_parameters(family, n, generator, spread=4.0)
    w = np.exp(12.0 * generator.standard_normal(n))
    if family in ("detection", "freshness"):
        at_start = (price * p if family == "freshness" else np.full(n, price))[:2000]
        w[:2000] = at_start * (1.0 + generator.choice([0.0, -1e-9, 2e-16, 1e-15, 1e-12, 1e-6, 1e-2], 2000))
        w[2000:2600], p[5000:5600] = 1e-300, 1e-300
        p[3000:5000], w[3000:5000] = 1.0, price * np.logspace(0, 31, 2000)  # amounts up to 1e15 and more
        for some in (slice(10_000, 10_100), slice(15_000, 15_100)):  # blocks of them are answered exactly
            w[some], p[some] = 0.0, np.inf
        p[7000:7500] = 0.0
    columns = [core.Column(np.ascontiguousarray(x)) for x in (p, w)]
    bounds = core.Column(0.0), core.Column(math.inf), 1e250
    items = core.Items(FAMILIES[family]._shape, *columns, *bounds)
    exact, first = np.empty((2, n)), None
    core.respond_each(items, price, 0, n, False, exact)
    for level in (0, 1, 2):
        rough = np.full((2, n), np.nan)
        core.use_level(level)
        core.respond_each(items, price, 0, n, True, rough)
        first = rough if first is None else first
        np.testing.assert_array_equal(rough, first)
    np.testing.assert_array_equal(rough[0] > 0.0, exact[0] > 0.0)
    np.testing.assert_allclose(rough, exact, rtol=core.ROUGH)
    assert (rough[0] == exact[0]).all() == (family not in ("detection", "freshness"))
    order = generator.permutation(n).astype(np.uint32)
    columns = [core.Column(np.ascontiguousarray(x[order])) for x in (p, w)]
    core.respond_each(core.Items(FAMILIES[family]._shape, *columns, *bounds), price, 0, n, True, exact)
    np.testing.assert_array_equal(rough[:, order], exact)  # whatever an item's neighbours are


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("family", ["freshness", "harmonic", "power"])
def test_the_number_of_threads_never_changes_a_bit(family, grouped):
    generator = np.random.default_rng(4)
    n = 300_000
    p, w = random_parameters(family, n, generator), np.exp(generator.standard_normal(n))
    more = {"groups": generator.integers(-1, 50, n), "group_caps": np.linspace(500, 3000, 50)} if grouped else {}
    one, two, three = (solve(family, p, 0.3 * n, weights=w, upper=3.0, n_jobs=j, **more) for j in (1, 2, 3))
    assert one.residual <= 1e-12
    for other in (two, three):
        np.testing.assert_array_equal(one.amounts, other.amounts)
        assert (one.price, one.value, one.residual) == (other.price, other.value, other.residual)


@pytest.mark.parametrize("which", [np.arange(5, 700_000, 7), slice(3, None, 8)])
def test_threads_take_the_items_that_one_does(which):
    rate, weight = np.random.default_rng(6).exponential(size=(2, 700_000))
    problem = check_problem(criteria.Freshness(rate), 1.0, weight, 0.5, rate, None, None, True)
    one, two = (problem.take(which, 1.0, n_jobs) for n_jobs in (1, 2))
    assert two.n == one.n > MANY_TAKEN
    for part in (one, two):
        np.testing.assert_array_equal(part.criterion._parameter, one.upper)
        np.testing.assert_array_equal(part.weights, one.weights)
        np.testing.assert_array_equal(part.upper, one.upper)
        assert part.lower == 0.5


@pytest.mark.parametrize("n", [1, CHUNK, CHUNK + 1, 10**6, 10**7 + 1])
@pytest.mark.parametrize("jobs", [1, 2, 3, 64])
@pytest.mark.parametrize("slowest", [1.0, 0.5])
def test_no_thread_of_half_the_speed_is_waited_for_longer_than_a_chunk_takes_it(n, jobs, slowest):
    parts = list(stripes_of(n, min(jobs, -(-n // CHUNK))))
    assert (parts[0].start, parts[-1].stop) == (0, n)
    assert all(a.stop == b.start and a.stop % CHUNK == 0 for a, b in itertools.pairwise(parts))
    assert max(part.stop - part.start for part in parts) <= MOST_CHUNKS * CHUNK
    speeds = [slowest, *[1.0] * (jobs - 1)]
    ends = [0.0] * jobs  # of what each thread has taken
    for part in parts:
        first = int(np.argmin(ends))
        ends[first] += (part.stop - part.start) / speeds[first]
    assert max(ends) <= n / sum(speeds) + CHUNK / slowest


def test_single_precision_columns_are_computed_in_double():
    generator = np.random.default_rng(5)
    rate, weight = generator.exponential(size=(2, 70_000)).astype(np.float32)
    narrow = solve("freshness", rate, 2e4, weights=weight, upper=np.float32(2))
    wide = solve("freshness", rate.astype(float), 2e4, weights=weight.astype(float), upper=2.0)
    np.testing.assert_array_equal(narrow.amounts, wide.amounts)
    out = np.empty(70_000, dtype=np.float32)
    stored = solve_nefk(criteria.Freshness(rate), 2e4, weights=weight, upper=2.0, out=out)
    assert stored.amounts is out
    np.testing.assert_array_equal(out, wide.amounts.astype(np.float32))
    assert stored.residual == wide.residual <= 1e-12


@pytest.mark.parametrize("family", FAMILIES)
def test_total_value_is_the_sum_of_the_values(family):
    generator = np.random.default_rng(6)
    p, w = random_parameters(family, 999, generator), np.exp(generator.standard_normal(999))
    result = solve(family, p, 400.0, weights=w)
    x = result.amounts
    taken = x > 0
    total = math.fsum(w[taken] * value(family, p[taken], x[taken]))
    assert result.value == pytest.approx(total, rel=1e-12)
