"""Performs a flow: sends its requests, looks names up, waits, and returns the flow's result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
from attrs import frozen

from joinproto.discovery.exchange import (
    Broken,
    Flow,
    LookedUp,
    Lookup,
    Refused,
    Request,
    Response,
)
from joinproto.discovery.perform import perform as performed

R = TypeVar("R")
Exchange = Callable[[Request], Awaitable[Response | Broken]]
"""Sends one request; returns within the request's seconds, even if no answer comes."""
LookUp = Callable[[Lookup], Awaitable[LookedUp]]
"""Makes one look-up in DNS; returns within a limited time."""
LAST_SECONDS, LAST_REQUESTS = 3.0, 2
"""Limits for the cleanup of a flow that was cancelled."""


async def refusing(effect: object) -> Any:
    """Stand in for the function of an effect that a backend never yields."""
    raise TypeError(f"no function performs {effect}")


@frozen
class ClientPorts:
    """The ports of a client.  `waits`: False skips the waits of a flow, in its cleanup."""

    exchange: Exchange
    look_up: LookUp
    waits: bool = True

    async def request(self, request: Request) -> Response | Broken:
        return await self.exchange(request)

    async def wait(self, seconds: float) -> None:
        if self.waits:
            await anyio.sleep(seconds)

    async def look(self, lookup: Lookup) -> LookedUp:
        return await self.look_up(lookup)


async def perform(flow: Flow[R], exchange: Exchange, look_up: LookUp = refusing) -> R:
    """Return the result of a flow.

    A flow that is cancelled may undo its effects: end the session of a lock, for example.  A server
    that does not answer delays this by at most `LAST_SECONDS`.
    """
    try:
        return await _played(flow, ClientPorts(exchange, look_up))
    except anyio.get_cancelled_exc_class():
        with anyio.move_on_after(LAST_SECONDS, shield=True):
            await _undone(flow, ClientPorts(exchange, look_up, waits=False))
        raise
    finally:
        flow.close()


async def _played(flow: Flow[R], ports: ClientPorts) -> R:
    try:
        effect = next(flow)
        while True:
            effect = flow.send(await performed(effect, ports))
    except StopIteration as end:
        result: R = end.value
        return result


async def _undone(flow: Flow[Any], ports: ClientPorts) -> None:
    try:
        effect = flow.throw(Refused("it was given up"))
        for _ in range(LAST_REQUESTS):
            effect = flow.send(await performed(effect, ports))
    except (StopIteration, Refused):
        pass
