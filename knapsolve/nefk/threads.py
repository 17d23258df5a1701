"""Work in parts, shared out to threads that are kept from one solve to the next."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

_POOL: list[ThreadPoolExecutor] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOL.clear)  # threads are not copied


_MOST = os.cpu_count() or 1


def _pool() -> ThreadPoolExecutor:
    if not _POOL:
        _POOL.append(ThreadPoolExecutor(_MOST, "knapsolve"))
    return _POOL[0]


def work_through(work: Callable[[Any], Any], parts: Sequence[Any], n_jobs: int) -> list[Any]:
    """`work(part)` of every part, in order, on at most so many threads.

    The thread that asks works too, and others take parts as soon as they are awake: waking one takes as long as some
    small parts. After an error, no part is begun any more, and it is raised once all threads are done.
    """
    if min(n_jobs, len(parts)) < 2:
        return [work(part) for part in parts]
    results: list[Any] = [None] * len(parts)
    numbers = iter(range(len(parts)))  # whose next is one thread's at a time
    todo = [work]  # in the end none: what is cancelled is kept in the queue until a thread is free

    def take_parts() -> None:
        try:
            for k in numbers:
                results[k] = todo[0](parts[k])
        except BaseException:
            list(numbers)
            raise

    helpers: list[Future[None]] = []
    try:
        with contextlib.suppress(RuntimeError):  # no more threads, or the interpreter ends
            for _ in range(min(n_jobs, len(parts), _MOST + 1) - 1):
                helpers.append(_pool().submit(take_parts))
        take_parts()
    finally:
        list(numbers)
        at_work = [helper for helper in helpers if not helper.cancel()]
        try:
            wait(at_work)
        except BaseException:  # an interrupt: what they write to is the caller's again once this ends
            wait(at_work)
            raise
        finally:
            todo.clear()
    for error in filter(None, (helper.exception() for helper in at_work)):
        raise error
    return results
