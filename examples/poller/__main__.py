"""An asyncio poller of web pages that change as Debian packages did, only a million times faster.

    python examples/poller --seconds 20 --state output/poller.db --picture output/poller.png

Kill it (kill -9) and run it again with the same --state: it goes on as if nothing had been. `serve` and `poll` run
the two halves in processes of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

import numpy as np
from crawler import Crawler
from report import draw, lateness_lines, measure, table
from server import ReplayServer
from store import Store

from knapsolve.datasets import load_debian_uploads

BEGIN, END = (float(np.datetime64(day, "s").astype(float)) for day in ("2021-07-01", "2023-01-01"))
PAGES_OF_A_HOST = 8


def world(n_pages: int) -> tuple[list[tuple[str, str]], list[list[float]]]:
    """Pages (host, path) and their recorded changes: packages in sorted order, eight to a host."""
    items, times = load_debian_uploads()
    inside = (times > BEGIN) & (times <= END)
    names = np.unique(items)[:n_pages].tolist()
    pages = [(f"host{k // PAGES_OF_A_HOST}.test", f"/{name}") for k, name in enumerate(names)]
    return pages, [times[inside & (items == name)].tolist() for name in names]


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("poller", description="Poll pages that change as recorded.")
    parser.add_argument("part", nargs="?", choices=["demo", "serve", "poll"], default="demo")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long the eighteen months take")
    parser.add_argument("--rate", type=float, default=200.0, help="polls a second")
    parser.add_argument("--pages", type=int, default=120, help="how many of the packages")
    parser.add_argument("--host-gap", type=float, default=0.02, help="least time between polls of a host, seconds")
    parser.add_argument(
        "--state", type=Path, default=Path("output/poller.db"), help="where the poller keeps what it knows"
    )
    parser.add_argument("--picture", type=Path, default=None, help="where to save a picture")
    parser.add_argument("--port", type=int, default=0, help="of the server")
    return parser.parse_args(given)


async def serve(given: argparse.Namespace) -> None:
    """The server alone, until standard input ends; then its requests, a line each."""
    server = ReplayServer(*world(given.pages), BEGIN, (END - BEGIN) / given.seconds)
    print(await server.start(given.port), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await server.stop()
    for now, host, path, conditional, status in server.requests:
        print(now, host, path, int(conditional), status)


async def poll(given: argparse.Namespace) -> None:
    """The poller alone; a line for each batch that is safe."""
    pages, _ = world(given.pages)
    store = Store(given.state, pages)
    crawler = Crawler(store, pages, given.port, given.rate, given.host_gap)
    await crawler.run(given.seconds, lambda number, learnt: print(number, learnt, flush=True))
    store.close()


async def demo(given: argparse.Namespace) -> None:
    """Both in one process, and what came of it."""
    pages, changes = world(given.pages)
    server = ReplayServer(pages, changes, BEGIN, (END - BEGIN) / given.seconds)
    port = await server.start()
    store = Store(given.state, pages)
    before = len(store.polled(told=True))
    crawler = Crawler(store, pages, port, given.rate, given.host_gap)
    print(f"{len(pages)} pages on {crawler.host.max() + 1} hosts, {given.rate:g} polls a second; {before} polls so far")
    await crawler.run(given.seconds)
    await server.stop()
    show(given, server, crawler, store, before)
    store.close()


def show(given: argparse.Namespace, server: ReplayServer, crawler: Crawler, store: Store, before: int) -> None:
    """Print the numbers and draw the picture."""
    lateness = np.array(crawler.lateness)
    print("\n".join(lateness_lines(lateness)))
    statuses = [status for *_, status in server.requests]
    print(f"answers: {statuses.count(200)} x 200, {statuses.count(304)} x 304", end="; ")
    print(f"beats without a poll: {crawler.idle_beats}")
    polled, sent = (np.array(column) for column in zip(*store.polled(told=True)[before:]))
    gaps = [np.diff(np.sort(sent[crawler.host[polled] == host])) for host in range(crawler.host.max() + 1)]
    least = min((gap.min(initial=np.inf) for gap in gaps), default=np.inf)
    print(f"least time between two polls of one host: {1000 * least:.2f} ms (allowed: {1000 * given.host_gap:g} ms)")
    # every page is in the log, also those that never change: an event before the start makes it known
    rows = [(-1.0, k) for k in range(len(server.pages))]
    rows += [((when - BEGIN) / server.speed, k) for k, times in enumerate(server.changes) for when in times]
    times, items = (np.array(column) for column in zip(*sorted(rows)))
    runs = measure((items, times), polled, sent - server.started, 0.0, given.seconds)
    n_changes = np.bincount(items[times > 0], minlength=len(server.pages))
    print("\n".join(table(runs, int(n_changes.sum()))))
    if given.picture is not None:
        draw(given.picture, runs, n_changes, lateness, np.concatenate(gaps), given.host_gap)
        print(f"picture saved as {given.picture}")


if __name__ == "__main__":
    asked = arguments()
    asked.state.parent.mkdir(parents=True, exist_ok=True)
    asyncio.run({"demo": demo, "serve": serve, "poll": poll}[asked.part](asked))
