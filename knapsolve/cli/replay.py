"""`knapsolve replay`: policies compared on a recorded change log."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from knapsolve.cli.inputs import Log, read_log
from knapsolve.cli.output import print_json, print_table, progress_bar
from knapsolve.cli.units import (
    SECONDS,
    check_plot_path,
    parse_capacity,
    parse_split,
    parse_time,
    parse_unit,
    time_in_words,
)
from knapsolve.replay import POLICIES, PolicyReplay, ReplayResult, TraceReplay
from knapsolve.replay.comparison import default_policies
from knapsolve.replay.result import METRICS, format_estimate

HEADINGS = ["policy", "polls", "changes detected", "detected share", "freshness"]


def command(
    trace: Annotated[
        str, typer.Argument(help="A .csv or .parquet file of changes, - for standard input, or debian.")
    ],
    capacity: Annotated[str, typer.Option(help="Polls per unit of time: 20/day, 5000/hour, 3/week, 0.5/s.")],
    policy: Annotated[
        list[str] | None,
        typer.Option(help=f"Which policies, all by default: {', '.join(POLICIES)}. Repeatable."),
    ] = None,
    item_column: Annotated[str, typer.Option(help="Column that says which item changed.")] = "item",
    time_column: Annotated[
        str, typer.Option(help="Column that says when: numbers or ISO dates.")
    ] = "timestamp",
    time_unit: Annotated[
        str, typer.Option(help="Unit of numeric times: ns, us, ms, s, min, h, day, ..., year.")
    ] = "second",
    start: Annotated[
        str | None, typer.Option(help="Replay from here: a date or number. Default: first change.")
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(help="Train up to here, count from here: a date, number, share (50%) or none."),
    ] = None,
    stop: Annotated[
        str | None, typer.Option(help="Replay up to here: a date or number. Default: last change.")
    ] = None,
    scheduler: Annotated[str, typer.Option(help="edf (earliest deadline first) or random.")] = "edf",
    sort: Annotated[bool, typer.Option("--sort", help="Sort the log by time first.")] = False,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each policy, which are averaged.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Save a picture here (.png, .svg, .pdf).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Replay a change log to several policies at the same number of polls.

    Each policy decides online which item to look at next. The table says how many changes it found, and for
    what share of the time its copies were current, each with a 95% interval from resampling the items.
    """
    polls, per = parse_capacity(capacity)
    unit = parse_unit(time_unit)
    check_plot_path(plot)
    log = read_log(trace, item_column, time_column, unit, sort)
    begin, middle, end = _stretches(log, trace, start, split, stop)
    rate = polls * SECONDS[log.unit] / SECONDS[per]
    since = begin if middle is None else middle
    for first, last in ((begin, since), (since, end)):
        if first < last and (last - first) * rate * (1 + 1e-12) < 1:
            bounds = f"{time_in_words(first, log.unit)} and {time_in_words(last, log.unit)}"
            raise ValueError(f"--capacity {capacity} makes no poll between {bounds}")
    replayer = TraceReplay(
        (log.items, log.times),
        rate,
        start=begin,
        stop=end,
        split=middle,
        scheduler=scheduler,
        random_state=seed,
    )
    names = _names(policy, replayer)
    result, finished = _run(replayer, names, runs)
    facts = {
        "trace": trace,
        "capacity": f"{polls:g}/{per}",
        "runs": runs,
        "seed": seed,
        "scheduler": scheduler,
    }
    if as_json:
        print_json(facts | _window(result, replayer, log.unit) | {"policies": result.table()})
    elif result.runs:
        _print(result, replayer, log.unit, facts)
    if plot is not None and result.runs:
        result.plot().figure_.savefig(plot, dpi=150)
        print(f"picture saved as {plot}", file=sys.stderr if as_json else sys.stdout)
    if not finished:
        raise KeyboardInterrupt


def _stretches(
    log: Log, trace: str, start: str | None, split: str | None, stop: str | None
) -> tuple[float, float | None, float]:
    """Start, split and stop as asked for, or the log's own, in its unit."""
    begin = log.start if start is None else parse_time("--start", start, log.unit)
    end = log.stop if stop is None else parse_time("--stop", stop, log.unit)
    if not begin < end:
        if start is None and stop is None:
            raise ValueError(f"{trace}: all changes have the same time: there is nothing to replay")
        bounds = f"{time_in_words(end, log.unit)} after {time_in_words(begin, log.unit)}"
        raise ValueError(f"--stop must be after --start, got {bounds}")
    middle = parse_split(split or log.split, begin, end, log.unit)
    if split is None and middle is not None and not begin < middle < end:
        middle = parse_split("50%", begin, end, log.unit)
    if middle is not None and not begin < middle < end:
        bounds = f"{time_in_words(begin, log.unit)} and {time_in_words(end, log.unit)}"
        raise ValueError(f"--split must lie between {bounds}, or be none, got {split}")
    return begin, middle, end


def _names(asked: list[str] | None, replayer: TraceReplay) -> list[str]:
    """The policies to replay, checked."""
    names = [name.strip() for text in asked or [] for name in text.split(",")]
    names = list(dict.fromkeys(names)) or default_policies(replayer.split is not None)
    for name in names:
        if name not in POLICIES:
            raise ValueError(f"unknown policy {name!r}: use {', '.join(POLICIES)}")
        replayer.learner(name)
    return names


def _run(replayer: TraceReplay, names: list[str], n_runs: int) -> tuple[ReplayResult, bool]:
    """Replay to all policies; those finished and False if Ctrl-C came between."""
    runs: list[PolicyReplay] = []
    each = n_runs * (replayer.n_training_polls + replayer.n_polls)
    finished = True
    with progress_bar(each * len(names)) as stage:
        try:
            for name in names:
                runs.append(replayer.run(name, n_runs=n_runs, progress=stage(name, each * len(runs))))
            stage("replayed", each * len(names))(0, 0)
        except KeyboardInterrupt:
            finished = False
    return replayer.compare(runs), finished


def _window(result: ReplayResult, replayer: TraceReplay, unit: str) -> dict[str, Any]:
    return {
        "start": result.start,
        "split": result.split,
        "stop": result.stop,
        "time_unit": unit,
        "n_items": result.items.size,
        "n_changes": int(result.n_changes.sum()),
        "n_training_polls": replayer.n_training_polls,
        "n_polls": replayer.n_polls,
        "interval": "95%, percentile bootstrap over items",
    }


def _print(result: ReplayResult, replayer: TraceReplay, unit: str, facts: dict[str, Any]) -> None:
    since = time_in_words(result.start if result.split is None else result.split, unit)
    changes = f"{result.n_changes.sum():,} changes from {since} to {time_in_words(result.stop, unit)}"
    polls = f"{facts['capacity']} makes {replayer.n_polls:,} polls ({facts['scheduler']})"
    print(f"\n{facts['trace']}: {result.items.size:,} items, {changes}; {polls}.")
    if result.split is not None:
        training = f"from {time_in_words(result.start, unit)} ({replayer.n_training_polls:,} polls)"
        print(
            f"Learners are trained {training} and go on learning; copies are current when a stretch starts."
        )
    if replayer.n_polls < result.items.size:
        print(f"Note: {replayer.n_polls:,} polls for {result.items.size:,} items: most are never looked at.")
    rows = [
        [name, *(format_estimate(result.estimate(name, metric), metric) for metric in METRICS)]
        for name in result.runs
    ]
    print_table(HEADINGS, rows)
    averaged = "" if facts["runs"] == 1 else f"Means of {facts['runs']} runs. "
    print(f"{averaged}In brackets: 95% bootstrap interval over items.")
    for name in result.runs:
        print(f"  {name + ':':17}{POLICIES[name].note}")
