"""What a long search says of itself while it runs."""

from __future__ import annotations

from attrs import frozen


@frozen
class Tick:
    """`level`: depth in states now being explored; `frontier`: states waiting."""

    level: int
    distinct: int
    generated: int
    frontier: int
    rss_bytes: int
    seconds: float
