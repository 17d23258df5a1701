"""What benchmarks/ drives by hand still fits the compiled core."""

from pathlib import Path

import numpy as np
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


def test_polls_needed_are_those_until_the_first_record_that_reaches_a_level(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS / "gpoks")
    from polls_needed import EVERY, crossings

    values = np.array([[0.1, 0.6, 0.4], [0.5, 0.2, 0.1], [0.1, 0.2, 0.3]])
    assert crossings(values, 0.5).tolist() == [2 * EVERY, EVERY, np.inf]


def test_targets_are_said_to_be_reached_or_missed(monkeypatch, capsys):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import closed_loop

    monkeypatch.setattr(closed_loop, "TARGETS", {("LAKG", 64, "edf"): 10, ("HTRAA", 64, "edf"): 9})
    monkeypatch.setattr(closed_loop, "best_of", lambda *_: 10.0)
    monkeypatch.setattr(closed_loop, "random_number_cost", lambda: closed_loop.REFERENCE)
    for name in ("side_by_side", "edf_cost", "heapq_cost", "closed_loop"):
        monkeypatch.setattr(closed_loop, name, lambda *_: 10.0)
    closed_loop.main()
    rows = [line for line in capsys.readouterr().out.splitlines() if "n=64" in line]
    assert ["pass" in row for row in rows] == [True, False]
    assert ["MISS" in row for row in rows] == [False, True]


def test_the_cost_of_a_row_is_told_of_every_learner(monkeypatch, capsys):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import one_row

    monkeypatch.setattr(one_row, "SIZES", (40,))
    one_row.main(seconds=0.0)
    names = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()[1:]]
    assert names == list(one_row.LEARNERS)
