"""What benchmarks/ drives by hand still fits the compiled core."""

from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
if not BENCHMARKS.exists():
    pytest.skip("needs the source tree", allow_module_level=True)


@pytest.mark.parametrize("order", ["edf", "random"])
@pytest.mark.parametrize("learner", ["LAKG", "HTRAA"])
def test_benchmarked_loops_run(learner, order, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    from closed_loop import closed_loop

    polls = closed_loop(learner, 64, order, warm_up=1000)
    polls(1000)
