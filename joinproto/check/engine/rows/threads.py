"""Threads that work on one search at the same time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

LINE = 8
"""The 64-bit numbers in a cache line: two workers' counters are at least this far apart."""

SECONDS_HELD = 0.00002
"""Seconds that one thread holds the interpreter while others wait for it."""


def cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """`count` threads, the caller's own among them."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(max_workers=max(1, count - 1), thread_name_prefix="search")

    def each(self, call: Callable[[int], T]) -> list[T]:
        """Return the results of `call(k)` for every worker k; all calls run at the same time."""
        others = [self._pool.submit(call, k) for k in range(1, self.count)]
        try:
            first = call(0)
        finally:
            done = [other.exception() for other in others]
        for problem in done:
            if problem is not None:
                raise problem
        return [first, *(other.result() for other in others)]

    def over(self, begin: int, end: int, call: Callable[[int, int], T]) -> list[T]:
        """Return the results of `call(from, to)`, one for each worker's piece of begin to end."""
        bounds = [begin + (end - begin) * k // self.count for k in range(self.count + 1)]
        return self.each(lambda k: call(bounds[k], bounds[k + 1]))

    def close(self) -> None:
        self._pool.shutdown()


@contextmanager
def short_switch_interval() -> Iterator[None]:
    """Make a thread that runs Python give way soon to threads that return from compiled loops.

    The waiting threads return to their loops at once.  With Python's default of five milliseconds,
    they would wait about as long as they work.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(SECONDS_HELD)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
