"""The poller: a beat, a policy that says what is worth a look now, and a file that remembers."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from server import fetch
from store import Poll, Store

from knapsolve import RenewalIndexPolicy

MOST_IN_FLIGHT = 100
PATIENCE = 1.0  # seconds for the polls in flight when it is stopped
LEAST_ELAPSED = 1e-6  # clocks may be set back between two runs


def new_policy(n_pages: int, rate: float) -> RenewalIndexPolicy:
    return RenewalIndexPolicy(n_materials=n_pages, capacity=rate)


def learn(policy: Any, rows: list[tuple[int, float, int]]) -> None:
    """Tell the policy of polls, in order: many at once or one by one comes to the same, bit for bit."""
    if rows:
        columns = np.array(rows, dtype=float)
        policy.partial_fit(columns[:, :2], columns[:, 2].astype(int))


def digest(policy: Any) -> str:
    """What the policy has learnt, in few letters."""
    if not hasattr(policy, "materials_"):
        return "nothing"
    return hashlib.sha256(policy.items_.tobytes() + policy.numbers_.tobytes()).hexdigest()[:16]


class Crawler:
    """Polls pages at an even beat of `rate` a second, and each host at most once in `host_gap` seconds."""

    def __init__(self, store: Store, pages: list[tuple[str, str]], port: int, rate: float, host_gap: float):
        self.store, self.pages, self.port, self.rate, self.host_gap = store, pages, port, rate, host_gap
        n = len(pages)
        self.policy = new_policy(n, rate)
        learn(self.policy, store.log())
        self.sent, self.tried = np.full((2, n), np.nan)  # last poll that told something, and last of all
        for times, told in (self.sent, True), (self.tried, False):
            for page, sent in store.polled(told=told):
                times[page] = sent
        self.validators = store.validators()
        hosts = {host: k for k, host in enumerate(dict.fromkeys(host for host, _ in pages))}
        self.host = np.array([hosts[host] for host, _ in pages])
        self.host_ready = np.zeros(len(hosts))
        np.maximum.at(self.host_ready, self.host, np.nan_to_num(self.tried) + host_gap)
        self.in_flight: set[int] = set()
        self.lateness: list[float] = []
        self.idle_beats = 0
        self.statuses: Counter[int] = Counter()  # of polls recorded; 0: no answer
        self.results: asyncio.Queue[Poll | None] = asyncio.Queue()

    async def run(self, seconds: float, acknowledge: Any = None) -> None:
        """Poll for so long; `acknowledge(number of the last poll, digest)` is called once polls are safe."""
        # every time is this clock's, which starts at the wall's and is not set back while it runs
        self.offset = time.time() - time.perf_counter()
        recorder = asyncio.create_task(self._record(acknowledge))
        begin, tasks = self._now(), set()
        try:
            for beat in range(int(seconds * self.rate)):
                due = begin + beat / self.rate
                await self._sleep_until(due)
                page = self._choose()
                if page is None or len(tasks) >= MOST_IN_FLIGHT:
                    self.idle_beats += 1
                    continue
                task = asyncio.create_task(self._poll(page, due, self._mark(page, due)))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            await asyncio.gather(*tasks)
        finally:  # after Ctrl-C, too: polls in flight have a moment, and all that was answered is written
            if tasks:
                await asyncio.wait(tasks, timeout=PATIENCE)
            for task in tasks:
                task.cancel()
            await self.results.put(None)
            await recorder

    def _now(self) -> float:
        return time.perf_counter() + self.offset

    async def _sleep_until(self, due: float) -> None:
        while (left := due - self._now()) > 0:
            # the loop wakes up to a millisecond late: the last one is spent looking at the clock
            await asyncio.sleep(left - 0.001 if left > 0.0015 else 0)

    def _choose(self) -> int | None:
        """The most worthwhile page whose host may be asked now; a page without a copy before all others."""
        now = self._now()
        allowed = now >= self.host_ready[self.host]
        allowed[list(self.in_flight)] = False
        unknown = np.flatnonzero(allowed & np.isnan(self.tried))
        if unknown.size:
            return int(unknown[0])
        if not allowed.any():
            return None
        ages = np.maximum(now - self.tried, 0.0)
        if not hasattr(self.policy, "materials_"):
            return int(np.argmax(np.where(allowed, ages, -1.0)))
        wanted = 8
        while True:
            best = self.policy.suggest(min(wanted, len(self.pages)), ages=np.nan_to_num(ages))
            good = best[allowed[best]]
            if good.size:
                return int(good[0])
            wanted *= 4

    def _mark(self, page: int, due: float) -> float:
        """Note that the page is being polled; the time."""
        now = self._now()
        self.lateness.append(now - due)
        self.in_flight.add(page)
        self.tried[page] = now
        self.host_ready[self.host[page]] = now + self.host_gap
        return now

    async def _poll(self, page: int, due: float, sent: float) -> None:
        etag, last_modified = self.validators[page]
        try:
            status, headers, body = await fetch(self.port, *self.pages[page], etag, last_modified)
        except (OSError, TimeoutError, ValueError, IndexError):
            status, headers, body = 0, {}, b""
        elapsed = changed = None
        if status in (200, 304):
            if not np.isnan(self.sent[page]):
                elapsed, changed = max(sent - self.sent[page], LEAST_ELAPSED), status == 200
            self.sent[page] = sent
        if status == 200:
            self.validators[page] = headers.get("etag"), headers.get("last-modified")
        self.in_flight.discard(page)
        self.results.put_nowait(Poll(page, due, sent, elapsed, status, changed, *self.validators[page], body))

    async def _record(self, acknowledge: Any) -> None:
        """Write first, then learn: the policy never knows what a restart would not know."""
        loop, last = asyncio.get_running_loop(), False
        with ThreadPoolExecutor(1) as writer:  # the beat does not wait for the disk
            while not last:
                batch = [await self.results.get()]
                while not self.results.empty():
                    batch.append(self.results.get_nowait())
                last = batch[-1] is None
                polls = [poll for poll in batch if poll is not None]
                if polls:
                    number = await loop.run_in_executor(writer, self.store.record, polls)
                    self.statuses.update(poll.status for poll in polls)
                    rows = [(p.page, p.elapsed, int(p.changed)) for p in polls if p.elapsed is not None]
                    learn(self.policy, rows)  # type: ignore[arg-type]
                    if acknowledge is not None:
                        acknowledge(number, digest(self.policy))
