"""Messages in an event log: many identities, written as a few spans of numbers.  No I/O.

An identity is GENERATION.BROKER.NUMBER, and messages published together have consecutive numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

SPAN_MAX = 10_000_000
"""The most numbers in a span; no broker writes a longer span."""


def spans(ids: Iterable[str]) -> dict[str, list[list[int]]]:
    """Return the spans of identities: GENERATION.BROKER to the first and last number of each."""
    numbers: dict[str, list[int]] = {}
    for name in ids:
        origin, _, last = name.rpartition(".")
        numbers.setdefault(origin, []).append(int(last))
    found: dict[str, list[list[int]]] = {}
    for origin, taken in numbers.items():
        merged: list[list[int]] = []
        found[origin] = merged
        for number in sorted(taken):
            if merged and merged[-1][1] == number - 1:
                merged[-1][1] = number
            else:
                merged.append([number, number])
    return found


def ids_in(queues: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield queue and identity of each message in the spans of some queues.

    Raises `ValueError` for a span of more than `SPAN_MAX` messages.
    """
    for queue, found in queues.items():
        for origin, pairs in found.items():
            for first, last in pairs:
                if last - first >= SPAN_MAX:
                    raise ValueError(
                        f"a span of {last - first + 1:,} messages, at most {SPAN_MAX:,} fit"
                    )
                for number in range(first, last + 1):
                    yield queue, f"{origin}.{number}"
