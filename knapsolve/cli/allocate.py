"""`knapsolve allocate`: how often to poll each item, from a log of polls."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from knapsolve.cli.allocate_output import facts_of, print_intervals
from knapsolve.cli.allocation import Allocation, allocate
from knapsolve.cli.bounds import Limits, caps_of_hosts, check_room, parse_host_caps
from knapsolve.cli.output import counted, report, working
from knapsolve.cli.polls import PollLog, hosts_of_urls, read_polls
from knapsolve.cli.source import name_of
from knapsolve.cli.table_files import write_intervals, write_schedule
from knapsolve.cli.time_doubts import warn_of_unit
from knapsolve.cli.units import (
    check_distinct,
    check_output_path,
    choose,
    duration_in_words,
    parse_duration,
    parse_time,
)
from knapsolve.rates.problem import BALANCE
from knapsolve.replay.units import SECONDS, parse_capacity, parse_unit
from knapsolve.schedulers import timetable

CRITERIA = ("renewal", "detection", "freshness", "harmonic")
RATES = ("mle", "bayes", "recursive", "renewal")
MOST_SCHEDULED = 1e8  # polls in a timetable
NO_BACKLOG = 0.05  # of a timetable's polls, that may be of items overdue at its start and nobody would notice


def command(
    polls: Annotated[str, typer.Argument(help="A .csv or .parquet file of polls, or - for standard input.")],
    capacity: Annotated[str, typer.Option(help="Polls per unit of time: 5000/day, 3/week, 0.5/s.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Save interval, rate and freshness of all items here (.csv; - prints)."),
    ] = None,
    criterion: Annotated[
        str,
        typer.Option(
            help="What is wanted: detection (changes found), freshness (current copies), renewal (a balance of both) "
            "or harmonic (no item is left behind)."
        ),
    ] = "renewal",
    balance: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Of renewal: 0 finds most changes, 1 keeps copies most current. Default: 0.8."),
    ] = None,
    rates: Annotated[
        str,
        typer.Option(
            help="How rates are learnt: by ChangeRateEstimator over all polls (mle, bayes, recursive), or as the "
            "renewal index does (renewal), for which the latest polls count most."
        ),
    ] = "mle",
    min_interval: Annotated[str | None, typer.Option(help="Poll no item more often than this: 10min.")] = None,
    max_interval: Annotated[str | None, typer.Option(help="Poll every item at least this often: 30days.")] = None,
    host_cap: Annotated[
        list[str] | None,
        typer.Option(help="Most polls of any one host: 60/hour; of one: example.org=10/hour. Repeatable."),
    ] = None,
    schedule: Annotated[Path | None, typer.Option(help="Save a timetable of the next polls here (.csv).")] = None,
    horizon: Annotated[
        str | None, typer.Option(help="Length of the timetable. Default: the capacity's unit (a day for 5000/day).")
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="Start of the timetable: a date or number. Default: the last poll.")
    ] = None,
    item_column: Annotated[str, typer.Option(help="Column that says which item was polled.")] = "item",
    time_column: Annotated[
        str | None, typer.Option(help="Column that says when: numbers or ISO dates. Default: time, or timestamp.")
    ] = None,
    changed_column: Annotated[
        str, typer.Option(help="Column that says whether it had changed since its last poll: 0 or 1.")
    ] = "changed",
    n_changes_column: Annotated[
        str | None, typer.Option(help="Column of how many changes a poll found. Default: n_changes, if there is one.")
    ] = None,
    age_column: Annotated[
        str | None, typer.Option(help="Column of how long ago the last change was. Default: age, if there is one.")
    ] = None,
    weight_column: Annotated[
        str | None, typer.Option(help="Column of items' weights. Default: weight, if there is one.")
    ] = None,
    host_column: Annotated[
        str | None, typer.Option(help="Column of items' hosts. Default: host, if there is one, or from URLs.")
    ] = None,
    time_unit: Annotated[
        str | None, typer.Option(help="Unit of numeric times: ns, us, ms, s, min, h, day. Default: s.")
    ] = None,
    sort: Annotated[bool, typer.Option("--sort", help="Sort the log by time first.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the timetable's jitter.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Say how often to poll each item, from a log of what was polled when and what had changed.

    The log has a row a poll, such as https://example.org/news,2024-03-01T08:15:00Z,1 below the header
    item,time,changed; changed is 1 where the item had changed since its previous poll.

    Rates of change are learnt from the log; the capacity is shared out so that what is wanted is best served at these
    rates. The default strikes the balance of the renewal index between changes found and current copies. Where a log
    tells how many changes a poll found, or how long ago the last one was, --rates mle, bayes and recursive use that.
    """
    budget, per = parse_capacity(capacity)
    choose("--criterion", criterion, CRITERIA)
    choose("--rates", rates, RATES)
    if balance is not None and criterion != "renewal":
        raise ValueError(f"--balance is of --criterion renewal: {criterion} has none, got {balance:g}")
    shortest = 0.0 if min_interval is None else parse_duration("--min-interval", min_interval)
    longest = np.inf if max_interval is None else parse_duration("--max-interval", max_interval)
    if shortest > longest:
        raise ValueError(f"--min-interval must be at most --max-interval, got {min_interval} and {max_interval}")
    if schedule is None and (horizon is not None or start is not None):
        raise ValueError("--horizon and --start are of a timetable: say where to save it by --schedule")
    length = SECONDS[per] if horizon is None else parse_duration("--horizon", horizon)
    if schedule is not None and length / SECONDS[per] * budget > MOST_SCHEDULED:
        over = f"{length / SECONDS[per] * budget:.3g} polls, at most {MOST_SCHEDULED:.3g} are allowed"
        raise ValueError(f"--schedule would hold {over}: give a shorter --horizon")
    caps = parse_host_caps(host_cap or [])
    printed = str(output) == "-"
    if printed and as_json:
        raise ValueError("--output - and --json must not be given together: both are for standard output")
    check_output_path(None if printed else output)
    check_output_path(schedule, "--schedule")
    check_distinct({"the poll log": polls, "--output": output, "--schedule": schedule})
    columns: dict[str, str | None] = {"item": item_column, "time": time_column, "changed": changed_column}
    more = {"n_changes": n_changes_column, "age": age_column, "weight": weight_column, "host": host_column}
    unit = None if time_unit is None else parse_unit(time_unit)
    with working(f"reading {name_of(polls)}"):
        log = read_polls(polls, columns | more, unit, sort)
    if caps and log.hosts is None:
        log.hosts, log.host_names = hosts_of_urls(log.names)
    second = 1 / SECONDS[log.unit]  # in the log's unit
    rate = budget / (SECONDS[per] * second)
    latest = float(log.last.max())
    begin = latest if start is None else parse_time("--start", start, log.unit)
    if begin < latest:
        raise ValueError(f"--start must not be before the last poll of the log, got {start}")
    if schedule is not None and begin + length * second == begin:
        given = f"the log's last poll, {begin:g}" if start is None else start
        raise ValueError(f"--start must be a time to which a --horizon of {length:g} seconds can be added, got {given}")
    limits = Limits(shortest * second, longest * second, caps_of_hosts(caps, log) / second if caps else None)
    scale = SECONDS[log.unit] / SECONDS[per]  # from the log's unit to the capacity's
    if not log.dates:
        warn_of_unit(name_of(polls), latest - log.span, latest, log.unit, log.pace / rate)
    check_room(log, rate, limits, scale, per)
    found = allocate(log, rate, criterion, BALANCE if balance is None else balance, rates, limits)
    facts = facts_of(polls, log, found, f"{budget:.15g}/{per}", per, scale, criterion)

    target = sys.stdout.buffer if printed else output

    def saves() -> Iterator[str]:
        if target is not None:
            with working("saving the intervals"):
                write_intervals(target, log, found, scale)
            yield f"intervals in {per}s {'printed' if printed else f'saved as {output}'}"
        if schedule is not None:
            with working("making the timetable"):
                saved = _save_schedule(schedule, log, found, limits, begin, length * second, seed)
            yield saved

    with redirect_stdout(sys.stderr) if printed else nullcontext():
        report(
            as_json,
            lambda: facts | {"intervals": found.rows(log, scale)},
            lambda: print_intervals(facts, log, found, limits, scale),
            saves(),
        )


def _save_schedule(
    path: Path, log: PollLog, found: Allocation, limits: Limits, begin: float, length: float, seed: int
) -> str:
    """Save the polls due in a stretch of the log's time, and say how many they are."""
    gaps = None if limits.host_caps is None else 1 / limits.host_caps
    table = timetable(
        found.amounts, log.last, begin, begin + length,
        hosts=None if gaps is None else log.hosts, host_gaps=gaps, random_state=seed,
    )  # fmt: skip
    write_schedule(path, log, table)
    slots = float(found.amounts.sum()) * length
    missing = int(slots) - table.items.size
    short = f" ({missing:,} fewer than its slots: hosts' caps push them past its end)" if missing > 0 else ""
    if slots < 1:
        short = f" (only {slots:.2g} polls are due within it: give a longer --horizon)"
    first = _backlog(log, found, begin, length, gaps is not None)
    return f"{counted(table.items.size, 'poll')} saved as {path}{short}{first}"


def _backlog(log: PollLog, found: Allocation, begin: float, length: float, capped: bool) -> str:
    """What to say of a timetable that begins with items long due: until these are done intervals are not as saved.

    The item due first goes first, so that those overdue at the start have the first slots, one each.
    """
    overdue = int((log.last + found.intervals(1.0) < begin).sum())  # NaN, never, is not
    slots = float(found.amounts.sum()) * length
    if overdue <= NO_BACKLOG * slots or slots < 1:
        return ""
    stretch = duration_in_words(overdue / float(found.amounts.sum()) * SECONDS[log.unit])
    least = "at least " if capped else ""  # hosts' caps make some of them wait
    which = f"{least}the first {stretch}" if overdue < slots else "all"
    return f"; {which} go to the {counted(overdue, 'item')} overdue at its start"
