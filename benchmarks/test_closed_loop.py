"""pytest-benchmark over the closed loop: one poll of each learner, order and size."""

import pytest
from closed_loop import TARGETS, closed_loop


@pytest.mark.parametrize(("name", "n", "order"), TARGETS, ids=lambda value: str(value))
def test_poll(benchmark, name, n, order):
    polls = closed_loop(name, n, order)
    benchmark.extra_info["polls"] = 20_000
    benchmark.pedantic(polls, rounds=100, iterations=1)
