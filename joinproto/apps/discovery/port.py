"""The backend contract as a port: the methods that a node calls and a user's backend implements.

No method raises for a server's error: an error is `Failed`, never an empty list.  Each call comes
back in time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

from attrs import define, frozen

from joinproto.apps.discovery.perform import Acting, Exchange, perform, played
from joinproto.apps.discovery.resolver import Resolver
from joinproto.discovery import dns
from joinproto.discovery.answers import Answer, Failed, Listed
from joinproto.discovery.contract import Backend, Done, Held
from joinproto.errors import UsageProblem


class Port(Protocol):
    """A backend as a port.  `keep_alive_every`: seconds; None means never."""

    @property
    def registers(self) -> bool: ...
    @property
    def locks(self) -> bool: ...
    @property
    def keep_alive_every(self) -> float | None: ...
    async def list_nodes(self) -> Answer: ...
    async def register(self) -> Done | Failed: ...
    async def keep_alive(self) -> Done | Failed: ...
    async def unregister(self) -> Done | Failed: ...
    async def lock(self) -> Held | Failed: ...
    async def hold(self, held: Held) -> Done | Failed: ...
    async def unlock(self, held: Held) -> Done | Failed: ...


@define(eq=False)
class Served:
    """A backend whose flows are performed."""

    backend: Backend
    exchange: Exchange

    @property
    def registers(self) -> bool:
        return self.backend.registers

    @property
    def locks(self) -> bool:
        return self.backend.locks

    @property
    def keep_alive_every(self) -> float | None:
        return self.backend.keep_alive_every

    async def list_nodes(self) -> Answer:
        return await perform(self.backend.list_nodes(), self.exchange)

    async def register(self) -> Done | Failed:
        return await perform(self.backend.register(), self.exchange)

    async def keep_alive(self) -> Done | Failed:
        return await perform(self.backend.keep_alive(), self.exchange)

    async def unregister(self) -> Done | Failed:
        return await perform(self.backend.unregister(), self.exchange)

    async def lock(self) -> Held | Failed:
        return await perform(self.backend.lock(), self.exchange)

    async def hold(self, held: Held) -> Done | Failed:
        return await perform(self.backend.hold(held), self.exchange)

    async def unlock(self, held: Held) -> Done | Failed:
        return await perform(self.backend.unlock(held), self.exchange)


@define(eq=False)
class Plain(ABC):
    """A backend that only lists: neither a record nor a lock."""

    registers = False
    locks = False
    keep_alive_every = None

    @abstractmethod
    async def list_nodes(self) -> Answer:
        """Return the nodes that are there."""

    async def register(self) -> Done | Failed:
        return Done()

    async def keep_alive(self) -> Done | Failed:
        return Done()

    async def unregister(self) -> Done | Failed:
        return Done()

    async def lock(self) -> Held | Failed:
        return Failed("this backend has no lock")

    async def hold(self, held: Held) -> Done | Failed:
        return Failed(f"{held.key} is not held: this backend has no lock")

    async def unlock(self, held: Held) -> Done | Failed:
        return Failed(f"{held.key} is not held: this backend has no lock")


@frozen(eq=False)
class Remade(Plain):
    """A backend that only lists, made again for each list: its keys are looked for again."""

    make: Callable[[], Backend]
    exchange: Exchange

    async def list_nodes(self) -> Answer:
        try:
            backend = self.make()
        except UsageProblem as problem:
            return Failed(problem.message)
        return await perform(backend.list_nodes(), self.exchange)


@frozen(eq=False)
class Configured(Plain):
    """The list that is written in the file."""

    nodes: tuple[str, ...]

    async def list_nodes(self) -> Answer:
        return Listed(self.nodes)


@frozen(eq=False)
class Dns(Plain):
    """The names of a name's addresses."""

    about: dns.Dns
    resolver: Resolver

    async def list_nodes(self) -> Answer:
        return await played(dns.list_nodes(self.about), Acting(look_up=self.resolver.look))
