"""The backend contract as a port: the methods that a node calls and a user's backend implements.

No method raises for a server's error: an error is `Failed`, never an empty list.  Each call returns
within a limited time.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from attrs import define

from joinproto.apps.discovery.perform import Exchange, LookUp, perform, refusing
from joinproto.discovery.answers import Answer, Failed
from joinproto.discovery.contract import Backend, Done, Held
from joinproto.discovery.exchange import Flow

R = TypeVar("R")


class Port(Protocol):
    """A backend as a port.  `keep_alive_every`: seconds between two keep-alives; None: never."""

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
class BackendPort:
    """A port that performs the flows of a backend."""

    backend: Backend
    exchange: Exchange = refusing
    look_up: LookUp = refusing

    async def _perform(self, flow: Flow[R]) -> R:
        return await perform(flow, self.exchange, self.look_up)

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
        return await self._perform(self.backend.list_nodes())

    async def register(self) -> Done | Failed:
        return await self._perform(self.backend.register())

    async def keep_alive(self) -> Done | Failed:
        return await self._perform(self.backend.keep_alive())

    async def unregister(self) -> Done | Failed:
        return await self._perform(self.backend.unregister())

    async def lock(self) -> Held | Failed:
        return await self._perform(self.backend.lock())

    async def hold(self, held: Held) -> Done | Failed:
        return await self._perform(self.backend.hold(held))

    async def unlock(self, held: Held) -> Done | Failed:
        return await self._perform(self.backend.unlock(held))
