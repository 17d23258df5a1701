"""`traa_stationary_distribution` is the eigenvector of the exact chain, and gives the known mean shares."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from knapsolve import traa_stationary_distribution
from tests.chains import SCHEMES, htraa_chain, stationary

UNCHANGED = (0.9, 0.1)
MEAN_SHARES = {  # resolution -> share of material 1, q = (.9, .1), c = 1
    10: {"reward-inaction": 0.139497, "inaction-penalty": 0.0984541, "reward-penalty": 0.121378},
    100: {"reward-inaction": 0.0365550, "inaction-penalty": 0.0384066, "reward-penalty": 0.0333690},
    1000: {"reward-inaction": 0.0337043, "inaction-penalty": 0.0432931, "reward-penalty": 0.0398524},
}


def detection(q):
    return lambda x: 1 - q ** (1 / x)


def birth_death_matrix(p1, p2, resolution, update):
    """The tridiagonal chain of one automaton, from its rules."""
    on_reward, on_penalty = SCHEMES[update]
    P = np.zeros((resolution, resolution))
    for k in range(resolution):
        q = (k + 1) / (resolution + 1)
        r = 1 - q
        up = q * r * (on_reward * p1[k] + on_penalty * (1 - p2[k]))
        down = q * r * (on_reward * p2[k] + on_penalty * (1 - p1[k]))
        if k + 1 < resolution:
            P[k, k + 1] = up
        if k:
            P[k, k - 1] = down
        P[k, k] = 1 - P[k].sum()
    return P


@pytest.mark.parametrize("update", SCHEMES)
@pytest.mark.parametrize("resolution", [2, 10, 60])
def test_distribution_is_the_eigenvector_of_the_chain(update, resolution):
    chain = htraa_chain(resolution, update, UNCHANGED)
    values, vectors = scipy.linalg.eig(chain.P.T)
    vector = np.real(vectors[:, np.argmin(abs(values - 1))])
    pi = traa_stationary_distribution(detection(0.9), detection(0.1), resolution, update)
    assert pi == pytest.approx(vector / vector.sum(), abs=1e-12)
    assert pi == pytest.approx(chain.pi, rel=1e-9, abs=1e-300)  # to the last small entry


@pytest.mark.slow
@pytest.mark.parametrize("update", SCHEMES)
def test_distribution_solves_the_balance_of_a_thousand_states(update):
    q = np.arange(1, 1001) / 1001
    p1, p2 = detection(0.9)(q), detection(0.1)(1 - q)
    pi = traa_stationary_distribution(p1, p2, 1000, update)
    P = birth_death_matrix(p1, p2, 1000, update)
    assert abs(pi @ P - pi).max() < 1e-15
    assert pi == pytest.approx(stationary(P), abs=1e-12)


@pytest.mark.parametrize("resolution", MEAN_SHARES)
@pytest.mark.parametrize("update", SCHEMES)
def test_mean_shares_are_the_known_ones(resolution, update):
    pi = traa_stationary_distribution(detection(0.9), detection(0.1), resolution, update)
    share = pi @ np.arange(1, resolution + 1) / (resolution + 1)
    assert float(f"{share:.6g}") == MEAN_SHARES[resolution][update]


@settings(deadline=None, max_examples=60)
@given(
    st.integers(2, 12).flatmap(lambda n: st.lists(st.tuples(st.floats(0.01, 0.99), st.floats(0.01, 0.99)),
                                                  min_size=n, max_size=n)),
    st.sampled_from(sorted(SCHEMES)),
)  # fmt: skip
def test_any_reward_probabilities_balance(rewards, update):
    p1, p2 = np.array(rewards).T
    pi = traa_stationary_distribution(p1, p2, len(p1), update)
    assert pi == pytest.approx(stationary(birth_death_matrix(p1, p2, len(p1), update)), abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((0.5, [0.5, 0.5], 2), "p1"),
        (([0.5, np.nan], [0.5, 0.5], 2), "p1"),
        (([0.5, 0.5], [0.5, 1.5], 2), "p2"),
        (([0.5, 0.5], [0.5], 2), "p2"),
        (([0.5], [0.5], 1), "resolution"),
        (([0.5] * 2, [0.5] * 2, 2.0), "resolution"),
        (([0.5] * 2, [0.5] * 2, 2, "penalty"), "update"),
        (([0.0] * 2, [0.0] * 2, 2, "reward-inaction"), "p1 and p2"),
        (("ab", [0.5] * 2, 2), "p1"),
    ],
)
def test_bad_input_is_named(arguments, named):
    with pytest.raises((ValueError, TypeError), match=named):
        traa_stationary_distribution(*arguments)
