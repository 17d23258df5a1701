import numpy as np
import pytest

from knapsolve import solve_robot_control
from knapsolve.mdp import solve_average_cost
from knapsolve.robots import explicit_model

PROBLEMS = [
    (16, 5, 0.1, 1.0),
    (16, 5, 0.1, 1.4),
    (16, 5, 0.1, 2.0),
    (5, 3, 0.3, 2.0, 0.6),
    (1, 2, 0.5, 0.4),
    (60, 12, 0.02, 1.2),
]


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
@pytest.mark.parametrize(
    "method", ["policy-iteration", "modified-policy-iteration", "relative-value-iteration"]
)
def test_the_papers_model_as_matrices_has_the_same_gain_and_policy(problem, method):
    transitions, cost, states = explicit_model(*problem)
    general = solve_average_cost(transitions, cost, method=method, tol=1e-10)
    special = solve_robot_control(*problem, tol=1e-10)
    assert general.gain == pytest.approx(special.gain, abs=1e-9)
    queue, active, event = states.T
    decides = event < 2
    assert (special.policy[event[decides], queue[decides], active[decides]] == general.policy[decides]).all()


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_transitions_are_those_of_the_corrected_equations(problem):
    robots, buffer, lam, weight, mu = (*problem, 1.0)[:5]
    transitions, cost, states = explicit_model(*problem)
    rate = lam * robots + mu
    number = {tuple(state): i for i, state in enumerate(states.tolist())}
    for (q, r, s), i in number.items():
        allowed = [a for a in (0, 1) if np.isfinite(cost[i, a])]
        assert allowed == ([0] if s == 2 else [1] if (q, r, s) == (1, 0, 0) else [0, 1])
        for a in allowed:
            x, b = [(q - 1, min(r + a, robots)), (min(q + 1, buffer), r + a - 1), (q, r)][s]
            row = transitions[a][i].toarray().ravel()
            expected = np.zeros(len(states))
            for event, chance in enumerate([mu * (x > 0), lam * b, rate - mu * (x > 0) - lam * b]):
                if chance > 1e-12:
                    expected[number[x, b, event]] = chance / rate
            np.testing.assert_allclose(row, expected, atol=1e-15)
            assert cost[i, a] == weight * (q == 0) + rate * (q == buffer and s == 1)


def test_bad_parameters_are_named():
    with pytest.raises(ValueError, match="buffer"):
        explicit_model(16, 1, 0.1, 1.0)
