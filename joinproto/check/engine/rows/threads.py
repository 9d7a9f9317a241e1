"""Threads that search together: one call for each, all at work at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

LINE = 8
"""The numbers in a cache line: two workers' counters are that far apart."""

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
        """Return `call(k)` of every worker k, all at work at once."""
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
        """Return `call(from, to)` of each worker's piece of begin to end, in their order."""
        bounds = [begin + (end - begin) * k // self.count for k in range(self.count + 1)]
        return self.each(lambda k: call(bounds[k], bounds[k + 1]))

    def close(self) -> None:
        self._pool.shutdown()


@contextmanager
def given_way() -> Iterator[None]:
    """Make a thread that runs Python give way soon to those that return from compiled loops.

    They are back in their loops at once; in Python's own time, five milliseconds, they would wait
    as long as they work.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(SECONDS_HELD)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
