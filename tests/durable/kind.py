"""The kinds of durable state for the schedules: how each is opened, and its possible contents
then.
"""

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
    """`after`: the value when `do` has returned; `meanwhile`: others that it may be before."""

    do: Callable[[], object]
    after: Value
    meanwhile: tuple[Value, ...] = ()


class Opened(Protocol):
    """A record, a journal, a directory: open."""

    @property
    def value(self) -> Value: ...

    def step(self, chance: Random, number: int) -> Step:
        """Return something to do; `number`: is another one each time."""

    def close(self) -> None: ...


@frozen
class Kind:
    """`is_final`: after a fault in a write, an open one no longer writes.

    `bare`: a file of an earlier version, and its value.  `is_record`: there is a record in it;
    `is_checked`: damage is noticed.
    """

    name: str
    open: Callable[[Disk], Opened]
    is_final: bool = True
    bare: tuple[str, bytes, Value] | None = None
    is_record: bool = True
    is_checked: bool = True
