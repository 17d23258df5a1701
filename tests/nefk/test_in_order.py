"""Items that are in order by group stay where they are: the answer is that of the same items in any order."""

import numpy as np
import pytest
from peak_memory import peak_of, warm_up

import knapsolve.nefk.reduced as reduced
from knapsolve import criteria, solve_nefk

N = 120_000
KINDS = ("Freshness", "Detection", "PoissonFreshness", "Harmonic", "Logarithmic", "Exponential", "Power", "Quadratic")


@pytest.fixture
def left(monkeypatch):
    """Whether items were left in place, every time that this was tried."""
    seen, leave = [], reduced.leave_in_order

    def spy(*args):
        found = leave(*args)
        seen.append(found is not None)
        return found

    monkeypatch.setattr(reduced, "leave_in_order", spy)
    return seen


def in_order(kind, size, over, bounded, seed=0, n=N):
    """The columns of a problem whose items are in order by group, some of them of none; caps by size."""
    generator = np.random.default_rng(seed)
    rate, weight = np.exp(generator.standard_normal((2, n)))
    groups = np.sort(np.where(generator.random(n) < 0.02, -1, generator.integers(0, n // size, n)))
    caps = 0.3 * over * np.bincount(groups + 1, minlength=n // size + 1)[1:]
    parameter = generator.uniform(0.3, 0.7, n) if kind == "Power" else rate
    columns = {"weights": weight, "groups": groups}
    if bounded:
        columns |= {"lower": 0.01 * generator.random(n), "upper": 0.5 + generator.random(n)}
    return parameter, columns, {"group_caps": caps, "capacity": 0.295 * n, "equality": over > 1.0, "n_jobs": 1}


def solve_shuffled(kind, parameter, columns, given):
    order = np.random.default_rng(9).permutation(len(parameter))
    shuffled = {name: column[order] for name, column in columns.items()}
    result = solve_nefk(getattr(criteria, kind)(parameter[order]), **shuffled, **given)
    amounts = np.empty(len(parameter))
    amounts[order] = result.amounts
    return result, amounts


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize(("size", "over"), [(2, 0.8), (5, 1.02), (5, 1.5), (300, 0.8), (300, 1.1), (30_000, 0.8)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_items_does_not_matter(kind, size, over, bounded):
    parameter, columns, given = in_order(kind, size, over, bounded)
    before = {name: column.copy() for name, column in columns.items()}
    result = solve_nefk(getattr(criteria, kind)(parameter), **columns, **given)
    other, amounts = solve_shuffled(kind, parameter, columns, given)
    assert max(result.residual, other.residual) <= 1e-12
    assert result.price == pytest.approx(other.price, rel=1e-9)
    assert result.value == pytest.approx(other.value, rel=1e-11)
    np.testing.assert_allclose(result.amounts, amounts, rtol=1e-8, atol=1e-9)
    for name, column in columns.items():
        np.testing.assert_array_equal(column, before[name])


@pytest.mark.parametrize(("size", "over"), [(2, 0.8), (5, 1.02), (5, 1.05), (300, 0.7)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_items_in_order_are_left_in_place(size, over, dtype, left):
    """Amounts may be of any type: they are not written over a column. Threads change no bit."""
    parameter, columns, given = in_order("Freshness", size, over, False)
    criterion, exact = criteria.Freshness(parameter), solve_shuffled("Freshness", parameter, columns, given)[1]
    left.clear()
    one, two = (
        solve_nefk(criterion, **columns, **given | {"n_jobs": jobs}, out=np.empty(N, dtype)) for jobs in (1, 2)
    )
    assert left == [True, True]
    np.testing.assert_array_equal(one.amounts, two.amounts)
    np.testing.assert_array_equal(one.group_prices, two.group_prices)
    np.testing.assert_array_equal(one.side, -(one.amounts <= 0.0).astype(np.int8))
    assert (one.price, one.value, one.residual) == (two.price, two.value, two.residual)
    np.testing.assert_allclose(one.amounts, exact, rtol=1e-9 if dtype == np.float64 else 2e-7, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.uint64])
def test_groups_may_be_numbers_of_any_type(dtype, left):
    """Also with more caps than such numbers: the last groups have no items."""
    generator = np.random.default_rng(0)
    rates, groups = np.exp(generator.standard_normal(N)), np.sort(generator.integers(0, 120, N))
    caps = np.append(0.24 * np.bincount(groups, minlength=120), np.ones(70_000))
    given = {"capacity": 0.3 * N, "group_caps": caps, "equality": False}
    expected = solve_nefk(criteria.Freshness(rates), groups=groups, **given)
    result = solve_nefk(criteria.Freshness(rates), groups=groups.astype(dtype), **given)
    assert left == [True, True]
    np.testing.assert_array_equal(result.amounts, expected.amounts)
    np.testing.assert_array_equal(result.group_prices, expected.group_prices)


def test_items_that_are_out_of_order_are_not_left_in_place(left):
    parameter, columns, given = in_order("Freshness", 5, 0.8, False)
    columns["groups"][[N - 2, N - 1]] = columns["groups"][[N - 1, N // 2]]  # the last one is wrong
    assert solve_nefk(criteria.Freshness(parameter), **columns, **given).residual <= 1e-12
    assert left == [False]


def test_items_left_in_place_take_less_memory(left):
    """Amounts, sides, own prices, and groups' numbers within their runs."""
    n = 1_000_000
    parameter, columns, given = in_order("Freshness", 5, 0.8, False, n=n)
    warm_up()
    peak = peak_of(criteria.Freshness(parameter), **columns, **given)
    assert left == [True]
    assert peak <= 17 * n
