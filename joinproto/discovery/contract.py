"""The operations of every backend, as flows.

A backend that lacks an operation returns `Done` without a request; without a lock, `lock` returns
`Failed`.

Source: the backend contract; discovery, D1 and D2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from enum import Enum
from typing import Annotated

from attrs import frozen

from joinproto.discovery.answers import Answer, Failed
from joinproto.discovery.exchange import Flow, Request, asked


class Variant(Enum):
    """The variant of the rules: the shipped broker's, with its defects, or ours."""

    REAL = "real"
    OURS = "ours"


@frozen(kw_only=True)
class BackendSettings:
    """The settings that most backends have."""

    variant: Annotated[Variant, "the rules: the shipped broker's, or ours"] = Variant.OURS
    node: Annotated[str, "this node, such as rabbit@host"] = "rabbit@localhost"

    @property
    def is_real(self) -> bool:
        """Return whether the rules are the shipped broker's."""
        return self.variant is Variant.REAL


@frozen
class Done:
    """The operation was done.  `again`: the record was lost, and was written again."""

    again: bool = False


@frozen(kw_only=True)
class Held:
    """A held lock, with the data that unlock it.

    `key`: its name on the server; `session`: the session of Consul, or the lease of etcd; `value`:
    its content.  `renew_every`: the seconds between two renewals, None if the lock is not renewed.
    """

    key: str
    session: str = ""
    value: str = ""
    renew_every: float | None = None


def nothing() -> Flow[Done]:
    """Return the flow that does nothing."""
    yield from ()
    return Done()


def done(request: Request, *, ok: Iterable[int] = (200,)) -> Flow[Done]:
    """Yield one request; raises `Refused` unless the status of its answer is `ok`."""
    yield from asked(request, ok=ok)
    return Done()


class Backend(ABC):
    """One backend with its settings."""

    registers = False
    locks = False

    @property
    def keep_alive_every(self) -> float | None:
        """Return the seconds between two keep-alives; None means never."""
        return None

    @abstractmethod
    def list_nodes(self) -> Flow[Answer]:
        """Return the nodes that the backend knows."""

    def register(self) -> Flow[Done | Failed]:
        """Write this node's record."""
        return nothing()

    def keep_alive(self) -> Flow[Done | Failed]:
        """Tell the service that this node is alive."""
        return nothing()

    def unregister(self) -> Flow[Done | Failed]:
        """Remove this node's record."""
        return nothing()

    def lock(self) -> Flow[Held | Failed]:
        """Wait until no other node holds the lock, take it and return it."""
        yield from ()
        return Failed("this backend has no lock")

    def hold(self, held: Held) -> Flow[Done | Failed]:
        """Renew a held lock."""
        del held
        return nothing()

    def unlock(self, held: Held) -> Flow[Done | Failed]:
        """Give a lock back."""
        del held
        return nothing()


class KeepingBackend(Backend):
    """A backend whose service keeps a record of each node, and a lock."""

    registers = True
    locks = True
