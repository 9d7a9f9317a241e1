"""The interface between a client's connection and the broker, for any protocol.

The broker implements `Service`, and `joinproto/apps/standby/amqp.py` implements `Port`.  Only
the files that speak AMQP import Proton, so the rest runs and is tested without it.

Source: hot standby, H4, H11, LM3.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from attrs import frozen

from joinproto.apps.standby.queues import Held, LiveQueue
from joinproto.net.addresses import Address


@frozen
class Refusal:
    """Why ordinary clients are not served.  `primary`: where they are; None if not known."""

    why: str
    primary: Address | None = None


class Commits(Protocol):
    """The interface behind transactions."""

    def commit_whole(
        self,
        puts: list[tuple[str, bytes, bool]],
        takes: list[tuple[str, Held]],
        done: Callable[[str], None],
    ) -> None:
        """Do all of it in one commit; `done`: it is confirmed, or why nothing of it was done."""


class Service(Commits, Protocol):
    """The interface behind a port."""

    @property
    def message_bytes_max(self) -> int:
        """The longest message that is accepted."""

    def makes_room(self) -> bool:
        """Return whether there is room for one more connection."""

    def refusal(self, *, is_admin: bool = False) -> Refusal | None:
        """Return why a client may not enter now; None if it may (H11)."""

    def queue(self, name: str, done: Callable[[LiveQueue | str], None]) -> None:
        """Give this queue, declared if it may be, once all that count know it; or why there is
        none.
        """

    def publish(self, queue: str, body: bytes, durable: bool, done: Callable[[str], None]) -> None:
        """Take a message; `done` is called when it is confirmed, or with why it is not taken."""

    def take(self, queue: str, held: Held, done: Callable[[], None]) -> None:
        """Remove a message; `done` is called when that is confirmed."""

    def touched(self) -> None:
        """Note that there may be something to write at the end of this turn of the loop."""


class Port(Protocol):
    """One connection of a client."""

    is_admin: bool
    is_opened: bool
    began: float

    def refuse(self, refusal: Refusal) -> None:
        """End the connection of an ordinary client, with the primary's address if it is known
        (H11)."""

    def drop(self) -> None:
        """End it at once."""


class MakesPort(Protocol):
    """Makes the port of a connection that a client opened; it is in `ports` while it lasts."""

    def __call__(self, broker: str, /, *, service: Service, ports: set[Port]) -> asyncio.Protocol:
        """Return it."""
