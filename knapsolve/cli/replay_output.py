"""What a replay shows on a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from knapsolve.cli.output import counted, print_table
from knapsolve.cli.source import name_of
from knapsolve.cli.units import times_in_words
from knapsolve.replay import POLICIES, Estimate, ReplayResult, TraceReplay
from knapsolve.replay.digits import format_estimates
from knapsolve.replay.result import METRICS
from knapsolve.replay.units import SECONDS

MUCH_CARRIED = 0.1
UNITS_OF_AGE = ("day", "hour", "minute", "second", "millisecond")  # the longest that is not too long


def as_document(result: ReplayResult, replayer: TraceReplay, unit: str, baseline: str) -> dict[str, Any]:
    """Everything that is printed, for machines; mean ages in the log's unit of time."""
    known = baseline in result.runs  # not if Ctrl-C came before it
    return {
        "start": result.start,
        "split": result.split,
        "stop": result.stop,
        "time_unit": unit,
        "n_items": result.items.size,
        "n_changes": int(result.n_changes.sum()),
        "n_training_polls": replayer.n_training_polls,
        "n_polls": replayer.n_polls,
        "interval": f"95%, percentile bootstrap over items{few_resamples(result)}",
        "policies": result.table(),
        "baseline": baseline if known else None,
        "differences": result.differences(baseline) if known else [],
    }


def replay_printer(
    result: ReplayResult, replayer: TraceReplay, unit: str, facts: dict[str, Any], baseline: str
) -> Callable[[], None]:
    """What prints the comparison as a user reads it, all of it computed; nothing if there is none yet."""
    if not result.runs:
        return lambda: None
    age_unit = _unit_of_age(result, unit)
    scale = SECONDS[unit] / SECONDS[age_unit]
    heads = [metric.replace("_", " ") for metric in METRICS]
    heads[-1] += f" ({age_unit}s)"

    def column(estimates: list[Estimate], metric: str, signed: bool = False) -> list[str]:
        if metric == "mean_age":
            estimates = [Estimate(*(scale * each for each in estimate)) for estimate in estimates]
        return format_estimates(estimates, metric, signed=signed)

    columns = [column([result.estimate(name, metric) for name in result.runs], metric) for metric in METRICS]
    tables = [(["policy", *heads], [list(row) for row in zip(result.runs, *columns)])]
    others = [name for name in result.runs if name != baseline]
    if baseline in result.runs and others:
        columns = [
            column([result.difference(name, baseline, metric) for name in others], metric, True)
            for metric in METRICS[1:]
        ]
        tables.append(([f"minus {baseline}", *heads[1:]], [list(row) for row in zip(others, *columns)]))

    def show() -> None:
        _print_facts(result, replayer, unit, facts)
        for table in tables:
            print_table(*table)
        _print_notes(result, facts)

    return show


def few_resamples(result: ReplayResult) -> str:
    """What to add where intervals are of fewer resamples than they would be."""
    fewer = result.n_bootstrap < ReplayResult.n_bootstrap
    return f" ({result.n_bootstrap} resamples only: interrupted)" if fewer else ""


def _print_notes(result: ReplayResult, facts: dict[str, Any]) -> None:
    averaged = "" if facts["runs"] == 1 else f"Means of {facts['runs']} runs. "
    few = few_resamples(result)
    print(f"{averaged}In brackets: 95% bootstrap interval over items{few}, paired for differences.")
    carried = max(run.item_carried.sum() / max(1, run.item_detections.sum()) for run in result.runs.values())
    if carried > MUCH_CARRIED:
        print(
            f"Note: up to {carried:.0%} of the changes found had come before the split: the test stretch is short "
            "for so few polls of an item."
        )
    for name in result.runs:
        print(f"  {name + ':':{max(map(len, result.runs)) + 1}} {POLICIES[name].note}")


def _print_facts(result: ReplayResult, replayer: TraceReplay, unit: str, facts: dict[str, Any]) -> None:
    split = result.start if result.split is None else result.split
    start, since, until = times_in_words(unit, result.start, split, result.stop)
    changes = f"{counted(result.n_changes.sum(), 'change')} from {since} to {until}"
    polls = f"{facts['capacity']} makes {counted(replayer.n_polls, 'poll')} ({facts['scheduler']})"
    print(f"\n{name_of(facts['trace'])}: {counted(result.items.size, 'item')}, {changes}; {polls}.")
    if result.split is not None:
        training = f"from {start} ({counted(replayer.n_training_polls, 'poll')})"
        print(f"Learners are trained {training}, and go on polling and learning without a break.")
    if replayer.n_polls < result.items.size:
        few = f"{counted(replayer.n_polls, 'poll')} for {counted(result.items.size, 'item')}"
        print(f"Note: {few}: most are never looked at.")


def _unit_of_age(result: ReplayResult, unit: str) -> str:
    """A unit in which the largest mean age is at least a tenth; where all are 0, the log's if it is one of them."""
    most = max(result.estimate(name, "mean_age").value for name in result.runs) * SECONDS[unit]
    if not most > 0:
        return unit if unit in UNITS_OF_AGE else UNITS_OF_AGE[0]
    return next((each for each in UNITS_OF_AGE if most >= 0.1 * SECONDS[each]), UNITS_OF_AGE[-1])
