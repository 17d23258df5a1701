"""An asyncio poller of web pages that change as Debian packages did, only a million times faster.

    python examples/poller --seconds 20 --state output/poller.db --picture output/poller.png

Kill it (kill -9) and run it again with the same --state: it goes on as if nothing had been. `serve` and `poll` run
the two halves in processes of their own. Ctrl-C ends it with what it has so far, and exit status 130.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import numpy as np
from crawler import Crawler
from report import draw, lateness_lines, measure, table
from server import ReplayServer
from store import StateError, Store

from knapsolve.datasets import load_debian_uploads

BEGIN, END = (float(np.datetime64(day, "s").astype(float)) for day in ("2021-07-01", "2023-01-01"))
PAGES_OF_A_HOST = 8
OUTPUT = Path("output")  # made where it is missing; all other folders must exist
INTERRUPTED = 130


def world(n_pages: int) -> tuple[list[tuple[str, str]], list[list[float]]]:
    """Pages (host, path) and their recorded changes: packages in sorted order, eight to a host."""
    items, times = load_debian_uploads()
    inside = (times > BEGIN) & (times <= END)
    names = np.unique(items)[:n_pages].tolist()
    pages = [(f"host{k // PAGES_OF_A_HOST}.test", f"/{name}") for k, name in enumerate(names)]
    return pages, [times[inside & (items == name)].tolist() for name in names]


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """The command line, checked before anything is done."""
    most = np.unique(load_debian_uploads()[0]).size
    parser = argparse.ArgumentParser(
        "poller",
        description="Poll pages that change as recorded.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument(
        "part", nargs="?", choices=["demo", "serve", "poll"], default="demo",
        help="demo: server and poller in one process, and what came of it; serve: the server alone, which prints its "
        "port, runs until standard input ends, and prints its requests; poll: the poller alone, a line for each batch "
        "of polls that is safe: the number of its last poll, and a digest of what the policy has learnt",
    )  # fmt: skip
    parser.add_argument("--seconds", type=float, default=20.0, help="how long the eighteen months take")
    parser.add_argument("--rate", type=float, default=200.0, help="polls a second")
    parser.add_argument("--pages", type=int, default=120, help=f"how many of the {most} packages")
    parser.add_argument("--host-gap", type=float, default=0.02, help="least time between polls of a host, seconds")
    parser.add_argument("--state", type=Path, default=OUTPUT / "poller.db", help="where the poller keeps what it knows")
    parser.add_argument("--picture", type=Path, default=argparse.SUPPRESS, help="where demo saves a picture, if asked")
    parser.add_argument("--port", type=int, default=0, help="of the server; serve takes any free one for 0")
    asked = parser.parse_args(given, argparse.Namespace(picture=None))
    for complaint in complaints(asked, most):
        parser.error(complaint)
    return asked


def complaints(asked: argparse.Namespace, most: int) -> list[str]:
    """What is wrong with the values given, a line each: the option, what is allowed, and the value."""
    rules = [
        ("--seconds", asked.seconds, 0 < asked.seconds <= END - BEGIN, f"above 0 and at most {END - BEGIN:.0f}"),
        ("--rate", asked.rate, 0 < asked.rate <= 1e5, "above 0 and at most 100000"),
        ("--pages", asked.pages, 2 <= asked.pages <= most, f"from 2 to {most}"),
        ("--host-gap", asked.host_gap, 0 <= asked.host_gap < math.inf, "0 or more, and finite"),
        ("--port", asked.port, (asked.part == "poll") <= asked.port <= 65535,
         "from 1 to 65535, as printed by serve" if asked.part == "poll" else "from 0 to 65535"),
    ]  # fmt: skip
    found = [f"{option} must be {allowed}, got {value}" for option, value, right, allowed in rules if not right]
    if not found and asked.seconds * asked.rate < 1:
        found.append(f"--seconds times --rate must be at least 1 (a poll), got {asked.seconds:g} and {asked.rate:g}")
    for option, path in (("--state", asked.state), ("--picture", asked.picture)):
        if path is None or (option == "--state" and asked.part == "serve"):
            continue
        if path.is_dir():
            found.append(f"{option} must be a file, got the folder {path}")
        elif not path.parent.is_dir() and path.parent != OUTPUT:
            found.append(f"{option} must lie in a folder that exists, got {path}")
    return found + ([] if asked.picture is None else picture_complaints(asked.picture))


def picture_complaints(path: Path) -> list[str]:
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ModuleNotFoundError:
        return [f"--picture needs matplotlib (pip install 'knapsolve[plot]'), got {path}"]
    kinds = sorted(FigureCanvasBase.get_supported_filetypes())
    return [] if path.suffix[1:].lower() in kinds else [f"--picture must end in .{', .'.join(kinds)}, got {path}"]


async def interrupted(work: Coroutine[Any, Any, Any]) -> bool:
    """Wait for some work; whether Ctrl-C came first. The next Ctrl-C ends all."""
    try:
        await work
    except asyncio.CancelledError:
        task = asyncio.current_task()
        assert task is not None
        task.uncancel()
        return True
    return False


async def serve(given: argparse.Namespace) -> int:
    """The server alone, until standard input ends; then its requests, a line each."""
    server = ReplayServer(*world(given.pages), BEGIN, (END - BEGIN) / given.seconds)
    print(await server.start(given.port), flush=True)
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def read() -> None:
        while os.read(0, 65536):
            pass
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=read, daemon=True).start()  # a thread that Ctrl-C need not wait for
    pressed = await interrupted(ended.wait())
    await server.stop()
    for now, host, path, conditional, status in server.requests:
        print(now, host, path, int(conditional), status)
    return INTERRUPTED if pressed else 0


async def poll(given: argparse.Namespace) -> int:
    """The poller alone; a line for each batch that is safe."""
    pages, _ = world(given.pages)
    store = Store(given.state, pages)
    crawler = Crawler(store, pages, given.port, given.rate, given.host_gap)
    work = crawler.run(given.seconds, lambda number, learnt: print(number, learnt, flush=True))
    pressed = await interrupted(work)
    store.close()
    counts = f"{crawler.statuses.total()} polls, {answers(crawler)}"
    if pressed:
        complain(f"interrupted after {counts}; state kept in {given.state}")
        return INTERRUPTED
    if not crawler.statuses[200] + crawler.statuses[304]:
        complain(f"no poll was answered by a page: {counts}; does `poller serve` run at --port {given.port}?")
        return 1
    return 0


def answers(crawler: Crawler) -> str:
    names = {0: "unanswered"}
    return ", ".join(f"{n} x {names.get(status, status)}" for status, n in sorted(crawler.statuses.items())) or "none"


def complain(message: str) -> None:
    print(f"poller: {message}", file=sys.stderr)


async def demo(given: argparse.Namespace) -> int:
    """Both in one process, and what came of it."""
    pages, changes = world(given.pages)
    store = Store(given.state, pages)
    before = len(store.polled(told=True))
    server = ReplayServer(pages, changes, BEGIN, (END - BEGIN) / given.seconds)
    port = await server.start()
    crawler = Crawler(store, pages, port, given.rate, given.host_gap)
    hosts = f"{len(pages)} pages on {crawler.host.max() + 1} hosts"
    print(f"{hosts}, {given.rate:g} polls a second; {before} polls so far", flush=True)
    pressed = await interrupted(crawler.run(given.seconds))
    passed = min(given.seconds, time.time() - server.started)
    await server.stop()
    if pressed:
        print(f"\ninterrupted after {passed:.1f} of {given.seconds:g} seconds; state kept in {given.state}")
    show(given, server, crawler, store, before, passed if pressed else given.seconds)
    store.close()
    return INTERRUPTED if pressed else 0


def show(
    given: argparse.Namespace, server: ReplayServer, crawler: Crawler, store: Store, before: int, seconds: float
) -> None:
    """Print the numbers of so many seconds and draw the picture."""
    told = store.polled(told=True)[before:]
    if not told:
        idle = f"beats without a poll: {crawler.idle_beats} (--host-gap {given.host_gap:g})"
        print(f"no poll told anything; answers: {answers(crawler)}; {idle}")
        return
    lateness = np.array(crawler.lateness)
    print("\n".join(lateness_lines(lateness)))
    statuses = [status for *_, status in server.requests]
    print(f"answers: {statuses.count(200)} x 200, {statuses.count(304)} x 304", end="; ")
    print(f"beats without a poll: {crawler.idle_beats}")
    polled, sent = (np.array(column) for column in zip(*told))
    gaps = [np.diff(np.sort(sent[crawler.host[polled] == host])) for host in range(crawler.host.max() + 1)]
    least = min((gap.min(initial=np.inf) for gap in gaps), default=np.inf)
    print(f"least time between two polls of one host: {1000 * least:.2f} ms (allowed: {1000 * given.host_gap:g} ms)")
    # every page is in the log, also those that never change: an event before the start makes it known
    rows = [(-1.0, k) for k in range(len(server.pages))]
    rows += [((when - BEGIN) / server.speed, k) for k, times in enumerate(server.changes) for when in times]
    times, items = (np.array(column) for column in zip(*sorted(row for row in rows if row[0] <= seconds)))
    runs = measure((items, times), polled, sent - server.started, 0.0, seconds)
    n_changes = np.bincount(items[times > 0], minlength=len(server.pages))
    print("\n".join(table(runs, int(n_changes.sum()))))
    if given.picture is not None:
        draw(given.picture, runs, n_changes, lateness, np.concatenate(gaps), given.host_gap)
        print(f"picture saved as {given.picture}")


def main(asked: argparse.Namespace) -> int:
    """Do what is asked; the exit status."""
    if OUTPUT in (asked.state.parent, asked.picture and asked.picture.parent):
        OUTPUT.mkdir(exist_ok=True)
    try:
        return asyncio.run({"demo": demo, "serve": serve, "poll": poll}[asked.part](asked))
    except KeyboardInterrupt:
        complain("interrupted" + ("" if asked.part == "serve" else f"; state kept in {asked.state}"))
        return INTERRUPTED
    except sqlite3.Error as error:
        complain(f"{asked.state}: {error}")
    except (StateError, OSError) as error:
        complain(str(error))
    return 2
