"""Map and sum over partitions gives the answer that one machine gives."""

import math

import numpy as np
import pytest
from nefk_oracle import FAMILIES, random_parameters

from knapsolve import InfeasibleError, criteria, solve_nefk
from knapsolve.nefk.distributed import Rounds, allocate, combine, solve_dask, summarise


def solve_in_parts(criterion, p, capacity, n_parts, equality=True, **columns):
    """The driver's loop over partitions that are kept apart; (amounts, rounds)."""
    parts = np.array_split(np.arange(len(p)), n_parts)
    pieces = [(criterion(p[part]), {name: column[part] for name, column in columns.items()}) for part in parts]
    rounds = Rounds(pieces[0][0], capacity, equality)
    while rounds.answer is None:
        summary = None
        for piece, own in pieces:
            mine = summarise(piece, rounds.request, **own)
            summary = mine if summary is None else combine(summary, mine)
        rounds.update(summary)
        assert rounds.n_rounds <= 11  # a last round checks
    return np.concatenate([allocate(piece, rounds.answer, **own) for piece, own in pieces]), rounds


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("family", FAMILIES)
def test_parts_give_the_answer_of_the_whole(family, seed):
    generator = np.random.default_rng([seed, len(family)])
    n, capacity = 3000, 3000 * 10 ** generator.uniform(-4, 1)
    p, w = random_parameters(family, n, generator), np.exp(generator.standard_normal(n))
    amounts, rounds = solve_in_parts(FAMILIES[family], p, capacity, 7, weights=w)
    whole = solve_nefk(FAMILIES[family](p), capacity, weights=w)
    np.testing.assert_allclose(amounts, whole.amounts, rtol=1e-9, atol=1e-12 * capacity)
    assert rounds.answer.price == pytest.approx(whole.price, rel=1e-13)
    assert math.fsum(amounts) == pytest.approx(capacity, rel=1e-13)


@pytest.mark.parametrize("family", ["freshness", "logarithmic", "quadratic"])
def test_bounds_are_respected_in_parts(family):
    generator = np.random.default_rng(1)
    p, w = random_parameters(family, 2000, generator), np.exp(generator.standard_normal(2000))
    low, high = np.sort(generator.exponential(size=(2, 2000)), axis=0)
    capacity = 0.3 * low.sum() + 0.7 * high.sum()
    amounts, _ = solve_in_parts(FAMILIES[family], p, capacity, 3, weights=w, lower=low, upper=high)
    whole = solve_nefk(FAMILIES[family](p), capacity, weights=w, lower=low, upper=high)
    np.testing.assert_allclose(amounts, whole.amounts, rtol=1e-9, atol=1e-12 * capacity)


@pytest.mark.parametrize("share", [1e-3, 0.5, 0.99])
def test_the_vertical_piece_after_an_activation_takes_no_more_than_the_allowed_rounds(share):
    rate = np.concatenate([np.linspace(0.1, 1.0, 500), [2.0]])
    whole = solve_nefk(criteria.Freshness(rate), 400.0)
    edge = rate[np.argmin(whole.amounts > 0)] if (whole.amounts == 0).any() else 2.0
    base = criteria.Freshness(rate).inverse(1 / edge)
    capacity = base.sum() + share * edge / 60
    amounts, _ = solve_in_parts(criteria.Freshness, rate, capacity, 4)
    assert math.fsum(amounts) == pytest.approx(capacity, rel=1e-13)
    np.testing.assert_allclose(amounts, solve_nefk(criteria.Freshness(rate), capacity).amounts, atol=1e-12 * capacity)


def test_ties_across_partitions_share_alike():
    amounts, _ = solve_in_parts(criteria.Freshness, np.ones(12), 0.06, 4)
    np.testing.assert_allclose(amounts, 0.005, rtol=1e-13)


def test_at_most_stops_at_price_zero():
    amounts, rounds = solve_in_parts(criteria.Freshness, np.ones(6), 10.0, 2, equality=False, upper=np.ones(6))
    np.testing.assert_array_equal(amounts, 1.0)
    assert rounds.answer.price == 0.0
    amounts, _ = solve_in_parts(criteria.Quadratic, np.ones(6), 10.0, 2, equality=False)
    np.testing.assert_allclose(amounts, 1.0, rtol=1e-15)


@pytest.mark.parametrize("upper", [np.array([2.0, 0.5, 1.5, 0.25]), np.array([2.0, 0.5, np.inf, np.inf])])
@pytest.mark.parametrize("family", ["freshness", "harmonic", "power"])
def test_what_no_item_with_a_weight_can_use_goes_to_the_others(family, upper):
    p, weights = np.full(4, 0.5), np.array([0.0, 1.0, 0.0, 2.0])
    bounds = np.where(weights > 0, np.minimum(upper, 1.0), upper)
    amounts, rounds = solve_in_parts(FAMILIES[family], p, 3.0, 3, weights=weights, upper=bounds)
    whole = solve_nefk(FAMILIES[family](p), 3.0, weights=weights, upper=bounds)
    np.testing.assert_allclose(amounts, whole.amounts, rtol=1e-12)
    assert math.fsum(amounts) == pytest.approx(3.0, rel=1e-13)
    assert rounds.answer.price == whole.price == 0.0


def test_combining_keeps_the_rounding_error():
    one, small = np.zeros((2, 3)), np.zeros((2, 3))
    one[:, 0], small[:, 0] = 1.0, 1e-20
    total = combine(one, small)
    np.testing.assert_array_equal(total[:, :2], [[1.0, 1e-20]] * 2)
    np.testing.assert_array_equal(combine(small, one), total)


def test_infeasible_problems_are_told_in_the_first_round():
    with pytest.raises(InfeasibleError, match=r"3\.0.*less than the capacity 5\.0"):
        solve_in_parts(criteria.Freshness, np.ones(3), 5.0, 2, upper=np.ones(3))


@pytest.mark.parametrize(
    ("criterion", "capacity", "error"),
    [
        (criteria.FromDerivative(np.exp), 1.0, TypeError),
        ("freshness", 1.0, TypeError),
        (criteria.Freshness(1.0), 0.0, ValueError),
        (criteria.Freshness(1.0), np.nan, ValueError),
    ],
)
def test_the_driver_refuses_what_it_cannot_do(criterion, capacity, error):
    with pytest.raises(error):
        Rounds(criterion, capacity)


def test_dask_arrays_are_solved_where_they_lie():
    da = pytest.importorskip("dask.array")
    generator = np.random.default_rng(2)
    rate, weight = np.exp(generator.standard_normal((2, 10_000)))
    result = solve_dask(
        criteria.Freshness,
        da.from_array(rate, chunks=3000),
        3000.0,
        weights=da.from_array(weight, chunks=3000),
        upper=2.0,
    )
    whole = solve_nefk(criteria.Freshness(rate), 3000.0, weights=weight, upper=2.0)
    np.testing.assert_allclose(result.amounts.compute(), whole.amounts, rtol=1e-10, atol=1e-12)
    assert result.value == pytest.approx(whole.value, rel=1e-13)
    assert result.residual <= 1e-12
    assert result.n_rounds <= 12
    with pytest.raises(ValueError, match="chunks"):
        solve_dask(criteria.Freshness, da.ones(10, chunks=5), 1.0, weights=da.ones(10, chunks=2))


def test_columns_of_a_dask_data_frame_are_solved_where_they_lie():
    pandas, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    rate, weight = np.exp(np.random.default_rng(3).standard_normal((2, 5000)))
    frame = dd.from_pandas(pandas.DataFrame({"rate": rate, "weight": weight}), npartitions=4)
    result = solve_dask(criteria.Freshness, frame["rate"], 1500.0, weights=frame["weight"])
    whole = solve_nefk(criteria.Freshness(rate), 1500.0, weights=weight)
    np.testing.assert_allclose(result.amounts.compute(), whole.amounts, rtol=1e-10, atol=1e-12)
    with pytest.raises(TypeError, match="criterion must be a class of"):
        solve_dask(criteria.Freshness(1.0), [1.0], 1.0)
    with pytest.raises(TypeError, match="parameter must be a dask array or series"):
        solve_dask(criteria.Freshness, frame, 1500.0)


def test_partitions_may_be_empty():
    da = pytest.importorskip("dask.array")
    rate = np.array([1.0, 2.0, 5.0, 10.0, 3.0])
    column = da.from_array(rate, chunks=2)
    whole = solve_nefk(criteria.Freshness(rate[rate > 2.5]), 20.0)
    result = solve_dask(criteria.Freshness, column[column > 2.5], 20.0)  # of unknown lengths, the first is 0
    np.testing.assert_allclose(result.amounts.compute(), whole.amounts, rtol=1e-12)
    assert (result.value, result.residual) == pytest.approx((whole.value, 0.0), rel=1e-12, abs=1e-12)
    with pytest.raises(InfeasibleError, match="less than the capacity"):
        solve_dask(criteria.Freshness, column[column > 99], 20.0)


def test_exponential_items_whose_price_underflows_are_refused_in_rounds():
    """They were given wrong amounts, as logarithms of prices are for one machine alone."""
    parts = [criteria.Exponential([1.0, 2.0]), criteria.Exponential([3.0, 4.0])]
    rounds = Rounds(parts[0], 5000.0)

    def go_on():
        while rounds.answer is None:
            rounds.update(combine(*(summarise(part, rounds.request) for part in parts)))

    with pytest.raises(ValueError, match="capacity must leave exponential items a price of 1e-280 or more in rounds"):
        go_on()
    assert solve_nefk(criteria.Exponential([1.0, 2.0, 3.0, 4.0]), 5000.0).residual <= 1e-12


@pytest.mark.slow
def test_sixteen_million_items_in_eight_partitions_of_a_local_cluster():
    da = pytest.importorskip("dask.array")
    distributed = pytest.importorskip("distributed")
    n = 16_000_000
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        state = da.random.default_rng(1)
        rate = da.exp(1.5 * state.standard_normal(n, chunks=n // 8)).persist()
        weight = da.exp(state.standard_normal(n, chunks=n // 8)).persist()
        result = solve_dask(criteria.Freshness, rate, 0.3 * n, weights=weight)
        amounts, rates, weights = (x.compute() for x in (result.amounts, rate, weight))
    assert result.n_rounds <= 12
    assert result.residual <= 1e-12
    whole = solve_nefk(criteria.Freshness(rates), 0.3 * n, weights=weights, n_jobs=2)
    assert result.price == pytest.approx(whole.price, rel=1e-12)
    np.testing.assert_allclose(amounts, whole.amounts, rtol=1e-9, atol=1e-12 * 0.3 * n)
    assert abs(amounts - whole.amounts).max() <= 1e-12 * 0.3 * n
