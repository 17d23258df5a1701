"""What benchmarks/ drives by hand still fits the compiled core."""

import importlib.util
from pathlib import Path

import pytest

DRIVER = Path(__file__).parents[1] / "benchmarks" / "_core" / "loops.py"
if not DRIVER.exists():
    pytest.skip("needs the source tree", allow_module_level=True)


@pytest.fixture(scope="module")
def loops():
    specification = importlib.util.spec_from_file_location("loops", DRIVER)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("scheduler", ["edf", "random"])
@pytest.mark.parametrize("learner", ["lakg", "htraa"])
def test_benchmarked_loops_learn(loops, learner, scheduler):
    loop = loops.Loop(learner, scheduler, 64)
    first = loop.poll(2000)
    for _ in range(20):
        last = loop.poll(2000)
    assert 0 < first < last <= 2000
