"""The kinds of durable state for the schedules: how each is opened, and its possible values."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from random import Random
from typing import Protocol

from attrs import frozen

from joinproto.swarm.disk import Disk

Value = Hashable
PLACE = Path("/disk")
APPLICATION = "texts"
SIZES = (0, 8, 8, 8, 40)
"""Frames of one length fit into each other's places, but the remains of a torn write must not."""


@frozen
class Step:
    """A write.  `after`: the value when `do` has returned; `meanwhile`: possible values before."""

    do: Callable[[], object]
    after: Value
    meanwhile: tuple[Value, ...] = ()


class Opened(Protocol):
    """An open record, journal or directory."""

    @property
    def value(self) -> Value: ...

    def step(self, chance: Random, number: int) -> Step:
        """Return the next write; `number`: different for each write."""

    def close(self) -> None: ...


@frozen
class Kind:
    """A kind of durable state.  `is_final`: after a fault in a write, it is written no more.

    `bare`: name, bytes and value of a file of an earlier version.  `is_record`: the state is in a
    record; `is_checked`: damage is noticed.
    """

    name: str
    open: Callable[[Disk], Opened]
    is_final: bool = True
    bare: tuple[str, bytes, Value] | None = None
    is_record: bool = True
    is_checked: bool = True
