import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gammaln

from knapsolve import mm1k_cost, optimal_robots
from knapsolve.robots import mg1k_cost, mg1k_optimal_robots
from knapsolve.robots.service import check_service


def erlang_queue_cost(rate, buffer, weight, stages, mean):
    """The queue with Erlang service as a Markov chain of (pages, stages left), solved as it stands."""
    n = 1 + buffer * stages
    number = {(0, 0): 0} | {
        (q, s): 1 + (q - 1) * stages + s - 1 for q in range(1, buffer + 1) for s in range(1, stages + 1)
    }
    generator = np.zeros((n, n))
    for (q, s), i in number.items():
        if q < buffer:
            generator[i, number[q + 1, s if q else stages]] += rate
        if q > 0:
            to = (q, s - 1) if s > 1 else (q - 1, stages) if q > 1 else (0, 0)
            generator[i, number[to]] += stages / mean
    generator -= np.diag(generator.sum(axis=1))
    p = np.linalg.lstsq(np.vstack([generator.T, np.ones(n)]), np.r_[np.zeros(n), 1.0], rcond=None)[0]
    full = sum(p[i] for (q, _), i in number.items() if q == buffer)
    return weight * p[0] + rate * full


def embedded_chain_cost(rate, buffer, weight, mean, arrivals):
    """The chain of pages left behind by departures as a full matrix; arrivals[k] = P(k during a service)."""
    chain = np.zeros((buffer, buffer))
    for i in range(buffer):
        start = max(i, 1)
        for k in range(buffer - start):
            chain[i, start - 1 + k] = arrivals[k]
        chain[i, buffer - 1] += 1 - chain[i].sum()
    p = np.linalg.lstsq(
        np.vstack([chain.T - np.eye(buffer), np.ones(buffer)]), np.r_[np.zeros(buffer), 1.0], rcond=None
    )[0]
    scale = p[0] + rate * mean
    return weight * p[0] / scale + rate * (1 - 1 / scale)


@given(st.floats(0.05, 20.0), st.integers(2, 60), st.floats(0.05, 20.0), st.floats(0.1, 5.0))
def test_exponential_service_is_the_closed_form(rate, buffer, weight, mu):
    exact = mm1k_cost(rate / mu, buffer, weight, mu)
    assert mg1k_cost(rate, buffer, weight, (1 / mu, 1.0)) == pytest.approx(exact, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("load", [0.1, 0.9, 1.0, 2.5])
def test_a_frozen_exponential_is_the_closed_form(load):
    for buffer in (2, 7, 40):
        ours = mg1k_cost(load * 0.7, buffer, 1.3, stats.expon(scale=1 / 0.7))
        assert ours == pytest.approx(mm1k_cost(load, buffer, 1.3, 0.7), rel=1e-10)


@pytest.mark.parametrize("stages", [2, 5])
def test_erlang_service_agrees_with_its_markov_chain(stages):
    for rate, buffer in ((0.3, 2), (0.9, 5), (2.0, 8)):
        chain = erlang_queue_cost(rate, buffer, 1.4, stages, 1.1)
        assert mg1k_cost(rate, buffer, 1.4, (1.1, 1 / stages)) == pytest.approx(chain, rel=1e-10)
        assert mg1k_cost(rate, buffer, 1.4, stats.gamma(stages, scale=1.1 / stages)) == pytest.approx(
            chain, rel=1e-9
        )


def test_constant_service_agrees_with_the_full_embedded_chain():
    k = np.arange(40)
    for rate, buffer in ((0.4, 2), (0.9, 10), (1.5, 30)):
        arrivals = np.exp(k * np.log(rate) - rate - gammaln(k + 1))
        exact = embedded_chain_cost(rate, buffer, 0.8, 1.0, arrivals)
        assert mg1k_cost(rate, buffer, 0.8, (1.0, 0.0)) == pytest.approx(exact, rel=1e-9)


def test_a_discrete_service_time_is_taken_value_by_value():
    service = stats.randint(1, 4)  # 1, 2 or 3
    k = np.arange(20)
    arrivals = np.mean([np.exp(k * np.log(0.3 * t) - 0.3 * t - gammaln(k + 1)) for t in (1, 2, 3)], axis=0)
    exact = embedded_chain_cost(0.3, 10, 0.8, 2.0, arrivals)
    assert mg1k_cost(0.3, 10, 0.8, service) == pytest.approx(exact, rel=1e-9)


@settings(max_examples=20)
@given(st.floats(0.0, 8.0), st.floats(0.1, 5.0), st.integers(2, 30))
def test_two_moments_are_matched_and_the_cost_is_between_its_extremes(squared_variation, rate, buffer):
    cost = mg1k_cost(rate, buffer, 1.2, (1.0, squared_variation))
    assert max(rate - 1, 0) - 1e-12 <= cost <= 1.2 + rate


def test_a_density_may_be_infinite_at_the_ends_of_its_support():
    angle = (np.arange(10_000) + 0.5) * np.pi / 20_000  # sin^2 of a uniform angle is arcsine distributed
    no_arrival = np.exp(-0.7 * np.sin(angle) ** 2).mean()
    service = check_service(stats.beta(0.5, 0.5))
    assert 1.0 - service.overflow(0.7, 1)[0] == pytest.approx(no_arrival, abs=1e-8)


def test_a_full_server_loses_what_it_cannot_take():
    assert mg1k_cost(5000.0, 10, 1.0, (1.0, 0.0)) == pytest.approx(4999.0)


def test_optimal_number_agrees_with_the_closed_form_and_with_brute_force():
    for lam, buffer, weight in ((0.05, 10, 1.2), (0.1, 5, 2.4), (0.01, 5, 0.4)):
        n, cost = mg1k_optimal_robots(lam, buffer, weight, (1.0, 1.0))
        assert (n, pytest.approx(cost)) == optimal_robots(lam, buffer, weight)
    for lam, weight in ((0.1, 1e12), (1e-7, 1e-8)):  # optimal loads of 1e4 and 6e-5
        n, cost = mg1k_optimal_robots(lam, 2, weight, (1.0, 1.0))
        assert (pytest.approx(n, abs=2), pytest.approx(cost)) == optimal_robots(lam, 2, weight)
    n, cost = mg1k_optimal_robots(0.07, 6, 2.0, (1.0, 3.0))
    assert cost == pytest.approx(min(mg1k_cost(0.07 * m, 6, 2.0, (1.0, 3.0)) for m in range(1, 60)))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((0.0, 5, 1.0, (1.0, 1.0)), "arrival_rate"),
        ((1.0, 1, 1.0, (1.0, 1.0)), "buffer"),
        ((1.0, 10**9, 1.0, (1.0, 1.0)), "buffer"),
        ((1e13, 5, 1.0, (1.0, 1.0)), "arrival_rate"),
        ((1.0, 5, 0.0, (1.0, 1.0)), "starvation_weight"),
        ((1.0, 5, 1e13, (1.0, 1.0)), "starvation_weight"),
        ((1.0, 5, 1.0, (0.0, 1.0)), "service"),
        ((1.0, 5, 1.0, (1.0, -1.0)), "service"),
        ((1.0, 5, 1.0, 3.0), "service"),
        ((1.0, 5, 1.0, stats.norm()), "service"),
        ((1.0, 5, 1.0, stats.pareto(0.5)), "service"),
    ],
)
def test_bad_parameters_are_named(arguments, name):
    with pytest.raises((ValueError, TypeError), match=name):
        mg1k_cost(*arguments)
    with pytest.raises((ValueError, TypeError), match=name):
        mg1k_optimal_robots(*arguments)
