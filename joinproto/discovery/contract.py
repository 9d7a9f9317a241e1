"""The operations of every backend, as flows; an operation that a backend lacks is `Done` without a
request.

Source: the backend contract; discovery, D1 and D2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum

from attrs import frozen

from joinproto.discovery.answers import Answer, Failed
from joinproto.discovery.exchange import Flow


class Variant(Enum):
    """Whose rules: those of the broker that ships, defects included, or ours."""

    REAL = "real"
    OURS = "ours"


@frozen
class Done:
    """It is as it was asked for; `again`: the record was gone, and is written again."""

    again: bool = False


@frozen(kw_only=True)
class Held:
    """A held lock: the data to unlock it.

    `key`: its name on the server; `session`: of Consul, or the lease of etcd; `value`: its content.
    `renew_every`: seconds; None if it is not kept alive.
    """

    key: str
    session: str = ""
    value: str = ""
    renew_every: float | None = None


def nothing() -> Flow[Done]:
    """Return the flow that does nothing."""
    yield from ()
    return Done()


class Backend(ABC):
    """One backend with its settings.  `keep_alive_every`: seconds; None means never."""

    registers = False
    locks = False
    keep_alive_every: float | None = None

    @abstractmethod
    def list_nodes(self) -> Flow[Answer]:
        """Return the nodes that are there."""

    def register(self) -> Flow[Done | Failed]:
        """Write this node's record."""
        return nothing()

    def keep_alive(self) -> Flow[Done | Failed]:
        """Say that this node lives."""
        return nothing()

    def unregister(self) -> Flow[Done | Failed]:
        """Remove this node's record."""
        return nothing()

    def lock(self) -> Flow[Held | Failed]:
        """Return the lock, once no other node holds it."""
        yield from ()
        return Failed("this backend has no lock")

    def hold(self, held: Held) -> Flow[Done | Failed]:
        """Keep a lock."""
        del held
        return nothing()

    def unlock(self, held: Held) -> Flow[Done | Failed]:
        """Give a lock back."""
        del held
        return nothing()
