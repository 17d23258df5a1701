"""The Whittle index: against the dynamic program, against 60 digits, and its inverse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knapsolve import whittle_index
from knapsolve.restless import inverse_whittle_index
from tests.restless.whittle_twins import dynamic_program_index, exact_index, exact_state_index, index_from_age

rates = st.floats(1e-3, 1e6)
decays = st.floats(-9.0, np.log10(50.0)).map(lambda power: 10.0**power)
limits = st.one_of(st.just(np.inf), st.integers(1, 10**6).map(float))


def random_site(random, low=-4.0):
    decay = 10.0 ** random.uniform(low, np.log10(50.0))
    limit = np.inf if random.random() < 0.5 else float(random.integers(1, 60))
    return {"arrival_rate": 10.0 ** random.uniform(-2, 4), "decay_rate": decay, "max_age": limit}


@pytest.mark.parametrize(
    ("state", "decay", "expected"),
    [(100, 0.7, 50.3414696209), (300, 0.35, 114.8949144874), (1500, 0.21, 1500.0)],
)
def test_known_values_of_the_example(state, decay, expected):
    assert whittle_index(state, arrival_rate=250, decay_rate=decay) == pytest.approx(expected, abs=1e-10)


def test_index_equals_bisection_on_the_dynamic_program_for_1000_arms_and_states():
    random = np.random.default_rng(1)
    for trial in range(1000):
        site = random_site(random)
        age = int(random.integers(1, 60))
        if trial % 2:
            found = whittle_index(age=age, **site)
            most = min(age, site["max_age"])
            rate, decay = np.longdouble(site["arrival_rate"]), np.longdouble(site["decay_rate"])
            state = rate / decay * -np.expm1(-decay * np.longdouble(most))
        else:
            ceiling = site["arrival_rate"] / site["decay_rate"]
            state = (
                ceiling
                * -np.expm1(-site["decay_rate"] * random.uniform(0.01, 60.0))
                * random.choice([1.0, 1.0, 1.3])
            )
            found = whittle_index(float(state), **site)
        oracle = dynamic_program_index(state, site["arrival_rate"], site["decay_rate"], site["max_age"])
        assert found == pytest.approx(oracle, rel=1e-12), (trial, site, age, state)


@settings(max_examples=400, deadline=None)
@given(rates, decays, limits, st.integers(1, 10**9))
def test_age_form_has_14_digits_at_any_decay(rate, decay, limit, age):
    exact = exact_index(age, rate, decay, limit)
    found = whittle_index(age=age, arrival_rate=rate, decay_rate=decay, max_age=limit)
    assert abs(found - float(exact)) <= 1e-14 * float(exact)


@settings(max_examples=400, deadline=None)
@given(rates, decays, limits, st.one_of(st.just(0.0), st.floats(1e-12, 1.2)))
def test_state_form_has_12_digits_at_any_decay(rate, decay, limit, share):
    state = rate / decay * share
    exact = float(exact_state_index(state, rate, decay, limit))
    found = whittle_index(state, arrival_rate=rate, decay_rate=decay, max_age=limit)
    assert abs(found - exact) <= 1e-12 * exact


@settings(max_examples=300, deadline=None)
@given(rates, decays, limits, st.integers(0, 10**9))
def test_forms_agree_where_the_state_is_on_the_lattice(rate, decay, limit, age):
    state = rate / decay * -np.expm1(-decay * min(age, limit))
    site = {"arrival_rate": rate, "decay_rate": decay, "max_age": limit}
    # a state that is rounded moves the index by its slope, age steps at most
    slack = 1e-15 * state * min(age + 1.0, 1.0 + 1.0 / -np.expm1(-decay) + 60.0 / decay) + 1e-12 * state
    assert abs(whittle_index(state, **site) - whittle_index(age=age, **site)) <= slack


@settings(max_examples=300, deadline=None)
@given(rates, decays, limits, st.integers(0, 10**8))
def test_index_rises_with_age_and_stays_below_the_content(rate, decay, limit, age):
    site = {"arrival_rate": rate, "decay_rate": decay, "max_age": limit}
    now, later = whittle_index(age=[age, age + 1], **site)
    content = rate / decay * -np.expm1(-decay * min(age, limit))
    assert later >= now * (1 - 1e-14)
    assert 0 <= now <= content * (1 + 1e-14)


def test_corners():
    site = {"arrival_rate": 250.0, "decay_rate": 0.7}
    assert whittle_index(age=0, **site) == 0.0
    assert whittle_index(0.0, **site) == 0.0
    ceiling = 250.0 / 0.7
    assert whittle_index([ceiling, 2 * ceiling], **site).tolist() == [ceiling, 2 * ceiling]
    assert whittle_index(age=2.0**53, **site) == ceiling
    assert whittle_index(age=[1, 5], arrival_rate=0.0, decay_rate=1.0).tolist() == [0.0, 0.0]
    assert whittle_index(age=1, max_age=1, **site) == pytest.approx(-ceiling * np.expm1(-0.7), rel=1e-15)


def test_cost_divides_the_index():
    site = {"arrival_rate": [3.0, 5.0], "decay_rate": 0.3}
    assert np.array_equal(
        whittle_index(age=4, cost=[2.0, 4.0], **site), whittle_index(age=4, **site) / [2.0, 4.0]
    )
    assert np.array_equal(
        whittle_index(2.0, cost=[2.0, 4.0], **site), whittle_index(2.0, **site) / [2.0, 4.0]
    )


def test_arrays_broadcast_and_scalars_give_scalars():
    table = whittle_index(age=np.arange(3)[:, None], arrival_rate=[1.0, 2.0], decay_rate=0.5)
    assert table.shape == (3, 2)
    assert np.ndim(whittle_index(age=3, arrival_rate=1.0, decay_rate=0.5)) == 0
    assert whittle_index(age=[], arrival_rate=1.0, decay_rate=0.5).shape == (0,)


def test_long_arrays_give_the_bits_of_single_sites_whatever_the_vector_width():
    random = np.random.default_rng(3)
    n = 2003  # blocks, full vectors and remainders
    rate, decay = random.lognormal(0, 2, n), 10 ** random.uniform(-9, 1.6, n)
    age, limit = random.integers(0, 1000, n), random.integers(1, 2000, n).astype(float)
    together = whittle_index(age=age, arrival_rate=rate, decay_rate=decay, max_age=limit)
    for i in range(0, n, 37):
        assert together[i] == whittle_index(
            age=age[i], arrival_rate=rate[i], decay_rate=decay[i], max_age=limit[i]
        )
    large = decay * age > 1e-3
    assert np.allclose(together[large], index_from_age(age, rate, decay, limit)[large], rtol=1e-10)


@settings(max_examples=300, deadline=None)
@given(rates, decays, limits, st.floats(1e-6, 1.0))
def test_inverse_age_is_the_first_age_that_reaches_the_index(rate, decay, limit, share):
    site = {"arrival_rate": rate, "decay_rate": decay, "max_age": limit}
    price = share * rate / decay
    age = inverse_whittle_index(price, **site)
    if np.isinf(age):
        assert whittle_index(age=min(limit, 2.0**53), **site) < price or price >= rate / decay
    else:
        assert whittle_index(age=age, **site) >= price
        assert age == 0 or whittle_index(age=age - 1, **site) < price


@settings(max_examples=300, deadline=None)
@given(rates, decays, limits, st.floats(1e-6, 1.5))
def test_inverse_state_has_the_index(rate, decay, limit, share):
    site = {"arrival_rate": rate, "decay_rate": decay, "max_age": limit}
    price = share * rate / decay
    state = inverse_whittle_index(price, of="state", **site)
    # the index is as steep as the age is large: rounding of the state is multiplied by it
    slope = (
        1.0 + min(60.0, (60.0 / decay) * -np.expm1(-decay))
        if np.isinf(limit)
        else 1.0 + min(limit, 60.0 / decay)
    )
    assert abs(whittle_index(state, **site) - price) <= 1e-12 * price + 4e-16 * slope * state


def test_inverse_corners():
    site = {"arrival_rate": 250.0, "decay_rate": 0.7}
    assert inverse_whittle_index([-1.0, 0.0, 1e9], **site).tolist() == [0.0, 0.0, np.inf]
    assert inverse_whittle_index([-1.0, 0.0, 1e9], of="state", **site).tolist() == [0.0, 0.0, 1e9]
    assert inverse_whittle_index(100.0, cost=2.0, **site) == inverse_whittle_index(200.0, **site)


GOOD = {"age": 1, "arrival_rate": 1.0, "decay_rate": 0.5}


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"arrival_rate": -1.0}, ValueError, "arrival_rate must be finite and non-negative, got .*-1"),
        ({"arrival_rate": np.nan}, ValueError, "arrival_rate .*nan"),
        ({"decay_rate": 0.0}, ValueError, "decay_rate must be finite and positive"),
        ({"decay_rate": -0.5}, ValueError, "decay_rate"),
        ({"decay_rate": np.inf}, ValueError, "decay_rate"),
        ({"age": 1.5}, ValueError, "age must be whole, got .*1.5"),
        ({"age": -1}, ValueError, "age"),
        ({"age": np.nan}, ValueError, "age"),
        ({"age": 1e16}, ValueError, "age"),
        ({"max_age": 0}, ValueError, "max_age"),
        ({"max_age": 2.5}, ValueError, "max_age must be whole"),
        ({"max_age": np.nan}, ValueError, "max_age"),
        ({"cost": 0.0}, ValueError, "cost"),
        ({"cost": [1.0, -1.0]}, ValueError, "cost .*position 1"),
        ({"arrival_rate": "many"}, TypeError, "arrival_rate must be a real number"),
        ({"arrival_rate": 1j}, TypeError, "arrival_rate"),
        ({"arrival_rate": [1.0, 2.0], "decay_rate": [1.0, 2.0, 3.0]}, ValueError, "broadcast"),
        ({"arrival_rate": 1e308, "decay_rate": 1e-9}, ValueError, "floating-point range"),
        ({"arrival_rate": 1e308, "cost": 1e-9}, ValueError, "floating-point range"),
        ({"state": 1.0}, ValueError, "exactly one of state and age"),
        ({"age": None}, ValueError, "exactly one of state and age"),
    ],
)
def test_bad_input_is_named(change, error, says):
    with pytest.raises(error, match=says):
        whittle_index(**{**GOOD, **change})


@pytest.mark.parametrize("state", [-1.0, np.nan, np.inf])
def test_bad_states_are_named(state):
    with pytest.raises(ValueError, match="state"):
        whittle_index(state, arrival_rate=1.0, decay_rate=0.5)


def test_a_content_beyond_the_floating_point_range_is_refused():
    rates = {"arrival_rate": 1.0, "decay_rate": 1.0, "cost": 1e10}
    with pytest.raises(ValueError, match="floating-point range"):
        inverse_whittle_index([1.0, 1e308], **rates, of="state")
    assert inverse_whittle_index(-1e308, **rates, of="state") == 0.0
    assert inverse_whittle_index(1e308, **rates) == np.inf  # no age gets there


def test_bad_inverse_input_is_named():
    with pytest.raises(ValueError, match="of must be one of"):
        inverse_whittle_index(1.0, arrival_rate=1.0, decay_rate=0.5, of="content")
    with pytest.raises(ValueError, match="index"):
        inverse_whittle_index(np.nan, arrival_rate=1.0, decay_rate=0.5)
