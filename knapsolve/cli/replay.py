"""`knapsolve replay`: policies compared on a recorded change log."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from knapsolve.cli.inputs import Log, read_log
from knapsolve.cli.output import progress_bar, report
from knapsolve.cli.replay_output import as_document, replay_printer
from knapsolve.cli.repository import read_git
from knapsolve.cli.units import (
    SCHEDULERS,
    check_plot_path,
    check_work,
    choose,
    choose_all,
    parse_split,
    parse_time,
    times_in_words,
)
from knapsolve.cli.values import refuse_unit
from knapsolve.replay import POLICIES, PolicyReplay, ReplayResult, TraceReplay
from knapsolve.replay.comparison import default_policies
from knapsolve.replay.log import HALF
from knapsolve.replay.units import SECONDS, parse_capacity, parse_unit

MANY_POLLS = 2e8  # a minute or so
FEW_RESAMPLES = 100  # of the items, for intervals after Ctrl-C: at once


def command(
    trace: Annotated[
        str | None,
        typer.Argument(help="A .csv or .parquet file of changes, - for standard input, or debian."),
    ] = None,
    git: Annotated[Path | None, typer.Option(help="Replay the changes of a git repository's files instead.")] = None,
    capacity: Annotated[
        str | None, typer.Option(help="Polls per unit of time: 20/day, 5000/hour, 3/week, 0.5/s.")
    ] = None,
    polls_per_change: Annotated[
        float | None, typer.Option(help="The budget as polls per recorded change of the test stretch.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(help=f"Which policies: {', '.join(POLICIES)}. Repeatable. Default: the renewal index and rivals."),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="Show every policy's difference from this one. Default: the first."),
    ] = None,
    item_column: Annotated[str, typer.Option(help="Column that says which item changed.")] = "item",
    time_column: Annotated[
        str | None, typer.Option(help="Column that says when: numbers or ISO dates. Default: timestamp, or time.")
    ] = None,
    time_unit: Annotated[
        str | None, typer.Option(help="Unit of numeric times: ns, us, ms, s, min, h, day, ..., year. Default: s.")
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="Replay from here: a date or number. Default: first change.")
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(help="Train up to here, count from here: a date, number, share (50%) or none."),
    ] = None,
    train_share: Annotated[
        float | None, typer.Option(help="The same as a share of the stretch: 0.5 trains on its first half.")
    ] = None,
    stop: Annotated[str | None, typer.Option(help="Replay up to here: a date or number. Default: last change.")] = None,
    scheduler: Annotated[str, typer.Option(help="edf (earliest deadline first) or random.")] = "edf",
    sort: Annotated[bool, typer.Option("--sort", help="Sort the log by time first.")] = False,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each policy, which are averaged.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Save a picture here (.png, .svg, .pdf).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Replay a change log to several policies at the same number of polls.

    The log has a row a change, such as https://example.org/news,2024-03-01T08:15:00Z below the header item,timestamp.

    Each policy decides online which item to look at next. The table says how many changes it found, and for
    what share of the time its copies were current, each with a 95% interval from resampling the items.
    """
    budget = _budget(capacity, polls_per_change)
    if train_share is not None:
        if split is not None:
            raise ValueError("only one of --split and --train-share can be given")
        split = _as_split(train_share)
    unit = None if time_unit is None else parse_unit(time_unit)
    choose("--scheduler", scheduler, SCHEDULERS)
    check_plot_path(plot)
    if (trace is None) == (git is None):
        raise ValueError("exactly one change log must be given: a file, -, debian, or --git with a repository's folder")
    if git is None:
        log = read_log(str(trace), item_column, time_column, unit, sort)
    else:
        refuse_unit(git, unit)
        trace, log = str(git), read_git(git)
    begin, middle, end = _stretches(log, str(trace), start, split, stop)
    replayer = TraceReplay(
        (log.items, log.times),
        **_capacity(budget, log, begin, middle, end),
        start=begin,
        stop=end,
        split=middle,
        scheduler=scheduler,
        random_state=seed,
    )
    names = _names(policy, replayer)
    base = _baseline(baseline, names)
    total = runs * (replayer.n_training_polls + replayer.n_polls) * len(names)
    check_work("--capacity" if budget.unit else "--polls-per-change", total)
    result, finished = _run(replayer, names, runs)
    facts = {"trace": trace, "capacity": budget.text, "runs": runs, "seed": seed, "scheduler": scheduler}

    def saves() -> Iterator[str]:
        if plot is not None and result.runs:
            display = result.plot()
            if not finished:
                done = f"interrupted: {len(result.runs)} of {len(names)} policies are finished"
                display.figure_.suptitle(f"{display.title}\n{done}")
            display.figure_.savefig(plot, dpi=150)
            yield f"picture saved as {plot}"

    def outcome(result: ReplayResult, finished: bool) -> tuple[dict[str, Any], Callable[[], None]]:
        """The document, or what prints the tables, with all intervals."""
        if as_json:
            return facts | {"finished": finished} | as_document(result, replayer, log.unit, base), lambda: None
        return {}, replay_printer(result, replayer, log.unit, facts, base)

    try:
        saved, (document, show) = list(saves()), outcome(result, finished)
    except KeyboardInterrupt:  # in the intervals or the picture: all rows are there
        if not finished:
            raise
        finished, saved = False, []
        document, show = outcome(replace(result, n_bootstrap=FEW_RESAMPLES), finished)
    report(as_json, lambda: document, show, saved)
    if not finished:
        raise KeyboardInterrupt


@dataclass(frozen=True)
class Budget:
    """Polls per unit of time, or per change where `unit` is None, and both as they are to be printed."""

    polls: float
    unit: str | None
    text: str


def _budget(capacity: str | None, polls_per_change: float | None) -> Budget:
    if capacity is not None and polls_per_change is not None:
        both = f"{capacity} and {polls_per_change:g}"
        raise ValueError(f"only one of --capacity and --polls-per-change can be given, got both: {both}")
    if capacity is None and polls_per_change is None:
        raise ValueError("one of --capacity (such as 20/day) and --polls-per-change must be given")
    if capacity is not None:
        polls, per = parse_capacity(capacity)
        return Budget(polls, per, f"{polls:g}/{per}")
    assert polls_per_change is not None
    if not 0 < polls_per_change < math.inf:
        raise ValueError(f"--polls-per-change must be a positive number, got {polls_per_change:g}")
    return Budget(polls_per_change, None, f"{polls_per_change:g} polls per change")


def _as_split(share: float) -> str:
    if not 0 < share < 1:
        raise ValueError(f"--train-share must lie between 0 and 1, got {share:g}")
    return f"{100 * share:.15f}%"


def _capacity(budget: Budget, log: Log, begin: float, middle: float | None, end: float) -> dict[str, float]:
    """What to tell the replay, in the log's unit of time."""
    if budget.unit is None:
        return {"polls_per_change": budget.polls}
    rate = budget.polls * SECONDS[log.unit] / SECONDS[budget.unit]
    since = begin if middle is None else middle
    for first, last in ((begin, since), (since, end)):
        if first < last and (last - first) * rate * (1 + 1e-12) < 1:
            bounds = " and ".join(times_in_words(log.unit, first, last))
            coarser = "" if log.dates else f" (as {log.unit}s: if times are coarser, say so by --time-unit)"
            raise ValueError(f"--capacity {budget.text} makes no poll between {bounds}{coarser}")
    return {"capacity": rate}


def _baseline(asked: str | None, names: list[str]) -> str:
    if asked is None:
        return names[0]
    return choose("--baseline", asked, names)


def _stretches(
    log: Log, trace: str, start: str | None, split: str | None, stop: str | None
) -> tuple[float, float | None, float]:
    """Start, split and stop as asked for, or the log's own, in its unit."""
    begin = log.start if start is None else parse_time("--start", start, log.unit)
    end = log.stop if stop is None else parse_time("--stop", stop, log.unit)
    if not begin < end:
        if start is None and stop is None:
            raise ValueError(f"{trace}: all changes have the same time: there is nothing to replay")
        first, last = times_in_words(log.unit, begin, end)
        if stop is None:
            what = "last change" if end == log.times.max() else "end of the data"
            raise ValueError(f"--start must be before the {what} at {last}, got {first}")
        if start is None:
            what = "first change" if begin == log.times.min() else "start of the data"
            raise ValueError(f"--stop must be after the {what} at {first}, got {last}")
        raise ValueError(f"--stop must be after --start, got {last} after {first}")
    middle = parse_split(split or log.split, begin, end, log.unit)
    if split is None and middle is not None and not begin < middle < end:
        middle = parse_split(HALF, begin, end, log.unit)
    if middle is not None and not begin < middle < end:
        bounds = " and ".join(times_in_words(log.unit, begin, end))
        raise ValueError(f"--split must lie between {bounds}, or be none, got {split}")
    since = begin if middle is None else middle
    if not ((log.times > since) & (log.times <= end)).any():
        bounds = " and up to ".join(times_in_words(log.unit, since, end))
        raise ValueError(f"{trace} holds no changes after {bounds}: change --start, --split or --stop")
    return begin, middle, end


def _names(asked: list[str] | None, replayer: TraceReplay) -> list[str]:
    """The policies to replay, checked."""
    names = choose_all("--policy", asked, POLICIES) if asked else default_policies(replayer.split is not None)
    for name in names:
        replayer.learner(name)
    return names


def _run(replayer: TraceReplay, names: list[str], n_runs: int) -> tuple[ReplayResult, bool]:
    """Replay to all policies; those finished and False if Ctrl-C came between."""
    runs: list[PolicyReplay] = []
    each = n_runs * (replayer.n_training_polls + replayer.n_polls)
    finished = True
    if each * len(names) > MANY_POLLS and n_runs > 1:
        polls = f"{each * len(names):,} polls in all"
        print(f"{polls}: --runs 1 would do with one in {n_runs}, Ctrl-C shows what is done", file=sys.stderr)
    try:
        with progress_bar(each * len(names)) as stage:
            for name in names:
                runs.append(replayer.run(name, n_runs=n_runs, progress=stage(name, each * len(runs))))
            stage("replayed", each * len(names))(0, 0)
    except KeyboardInterrupt:
        finished = False
    return replayer.compare(runs), finished
