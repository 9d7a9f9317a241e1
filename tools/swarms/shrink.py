"""Shrinking: make a list shorter with which a run still fails in the same way."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TypeVar

Item = TypeVar("Item")


def fewer(
    items: tuple[Item, ...], fails: Callable[[tuple[Item, ...]], bool], *, seconds: float = 60.0
) -> tuple[Item, ...]:
    """Return a shorter part of `items`, in the same order, that still fails; try for `seconds`.

    First halves are left out, then smaller pieces (delta debugging).
    """
    until = monotonic() + seconds
    size = max(1, len(items) // 2)
    while size:
        at = 0
        while at < len(items) and monotonic() < until:
            left = items[:at] + items[at + size :]
            if fails(left):
                items = left
            else:
                at += size
        size //= 2
    return items
