"""The general solver on the robots' model as matrices, one method beside the other."""

import pytest

from knapsolve.mdp import solve_average_cost
from knapsolve.robots import explicit_model

METHODS = ["policy-iteration", "modified-policy-iteration", "relative-value-iteration"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [(16, 5), (100, 15)], ids=str)
def test_solve(benchmark, size, method):
    robots, buffer = size
    transitions, cost, _ = explicit_model(robots, buffer, 1 / robots, (buffer + 2) / buffer)
    benchmark.pedantic(
        solve_average_cost, (transitions, cost), {"method": method, "tol": 1e-8}, rounds=3, warmup_rounds=1
    )
