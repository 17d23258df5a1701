"""What `knapsolve allocate` says of a log and of the amounts found."""

from __future__ import annotations

from typing import Any

import numpy as np

from knapsolve.cli.allocation import Allocation
from knapsolve.cli.bounds import Limits, a, what_binds
from knapsolve.cli.output import counted, print_table, rounded
from knapsolve.cli.polls import PollLog
from knapsolve.cli.source import name_of
from knapsolve.cli.units import duration_in_words
from knapsolve.replay.digits import like_digits
from knapsolve.replay.units import SECONDS

MOST_ROWS = 10


def facts_of(
    source: str, log: PollLog, found: Allocation, capacity: str, per: str, scale: float, criterion: str
) -> dict[str, Any]:
    """What there is to say of all items together, times in the capacity's unit, of which the log's has `scale`."""
    total = float(found.amounts.sum())
    weights = np.ones(log.names.size) if log.weights is None else log.weights
    shares = weights / weights.sum() if weights.sum() > 0 else np.full(weights.size, 1 / weights.size)
    return {
        "polls": source,
        "n_items": int(log.names.size),
        "n_polls": int(log.polls.sum()),
        "n_changed": int(log.changed.sum()),
        "span": log.span * scale,
        "capacity": capacity,
        "used": total / scale,
        "time_unit": per,
        "criterion": criterion,
        "expected_freshness": float(shares @ found.freshness),
        "expected_changes_found": float((found.amounts * found.found_by_a_poll).sum() / scale),
    }


def print_intervals(facts: dict[str, Any], log: PollLog, found: Allocation, limits: Limits, scale: float) -> None:
    """Print it, with what is worth a note, and the items polled most often."""
    per = facts["time_unit"]
    each = a(per)
    follow = "follows" if log.items.size == 1 else "follow"
    polls, items = counted(facts["n_polls"], "poll"), counted(facts["n_items"], "item")
    span = duration_in_words(log.span * SECONDS[log.unit])
    print(f"\n{name_of(facts['polls'])}: {polls} of {items} over {span}", end="; ")
    print(f"{facts['n_changed']:,} of the {log.items.size:,} that {follow} another found a change.")
    once = int((log.polls == 1).sum())
    if once:
        items = "1 item was polled only once: it is" if once == 1 else f"{once:,} items were polled only once: they are"
        print(f"{items} taken to change as others do, or oftener.")
    budget = f"{rounded(found.capacity / scale, 10)}/{per}"
    if facts["used"] < 0.999 * found.capacity / scale:
        used = rounded(facts["used"], 6)
        budget = f"{used}/{per}"
        binding = what_binds(log, found.amounts, limits)
        print(f"Note: within {binding} there is room for {used} polls {each} only.")
    never = int((found.amounts == 0).sum())
    if never:
        items = "1 item is" if never == 1 else f"{never:,} items are"
        print(f"Note: {items} never polled, since others gain more; --max-interval changes that.")
    number = rounded(facts["expected_changes_found"], 4)
    found_a_change = f"1 poll {each} finds" if number == "1" else f"{number} polls {each} find"
    print(
        f"At {budget} copies should be current for {facts['expected_freshness']:.1%} of the time, "
        f"and {found_a_change} a change."
    )
    if facts["n_changed"] in (0, log.items.size):
        some, how = ("no poll", "seldom") if facts["n_changed"] == 0 else ("every poll", "often")
        print(f"Note: {some} found a change, which does not tell how {how} there are changes: take this for a guess.")
    rows = found.rows(log, scale, np.argsort(-found.amounts, kind="stable")[:MOST_ROWS])
    columns = ["item", f"interval ({per}s)", f"rate ({each})", "95% interval", "freshness", "polls so far"]
    interval = like_digits(row["interval"] for row in rows if row["interval"] is not None)
    rate = like_digits(row["rate"] for row in rows)
    cells = [
        [
            str(row["item"]),
            "never" if row["interval"] is None else interval(row["interval"]),
            rate(row["rate"]),
            f"[{rate(row['rate_low'])}, {rate(row['rate_high'])}]",
            f"{row['freshness']:.3f}",
            f"{row['polls']:,}",
        ]
        for row in rows
    ]
    print_table(columns, cells)
    if found.amounts.size > MOST_ROWS:
        print(f"The {MOST_ROWS} polled most often; --output saves all.")
