"""Messages in an event log: many identities, written as a few spans of numbers.  No I/O.

An identity is GENERATION.BROKER.NUMBER, and messages published together have consecutive numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

STRETCH_MOST = 10_000_000
"""The most numbers in a span; no broker writes a longer span."""


def spans(ids: Iterable[str]) -> dict[str, list[list[int]]]:
    """Return the spans of identities: GENERATION.BROKER to the first and last number of each."""
    numbers: dict[str, list[int]] = {}
    for name in ids:
        origin, _, last = name.rpartition(".")
        numbers.setdefault(origin, []).append(int(last))
    found: dict[str, list[list[int]]] = {}
    for origin, those in numbers.items():
        stretches: list[list[int]] = []
        found[origin] = stretches
        for number in sorted(those):
            if stretches and stretches[-1][1] == number - 1:
                stretches[-1][1] = number
            else:
                stretches.append([number, number])
    return found


def ids_in(queues: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield queue and identity of each message in the spans of some queues.

    Raises `ValueError` for a span of more than `STRETCH_MOST` messages.
    """
    for queue, found in queues.items():
        for origin, stretches in found.items():
            for first, last in stretches:
                if last - first >= STRETCH_MOST:
                    raise ValueError(
                        f"a span of {last - first + 1:,} messages, at most {STRETCH_MOST:,} fit"
                    )
                for number in range(first, last + 1):
                    yield queue, f"{origin}.{number}"
