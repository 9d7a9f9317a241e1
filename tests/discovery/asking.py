"""Short words for tests with real sockets: one client, one question, one answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from attrs import evolve

from joinproto.discovery.clients.http import Http
from joinproto.discovery.clients.perform import Exchange
from joinproto.discovery.clients.port import Port, Served
from joinproto.discovery.contract import Backend
from joinproto.discovery.exchange import Broken, Request, Response

R = TypeVar("R")


def hurried(exchange: Exchange, seconds: float) -> Exchange:
    """Return an exchange that takes no longer than this, whatever a request grants."""

    async def asked(request: Request) -> Response | Broken:
        return await exchange(evolve(request, seconds=min(request.seconds, seconds)))

    return asked


def ask(
    backend: Backend,
    question: Callable[[Port], Awaitable[R]],
    *,
    http: Http | None = None,
    seconds: float = 30.0,
) -> R:
    """Ask one question of a backend, by a client of its own."""

    async def asked() -> R:
        async with http or Http() as client:
            return await question(Served(backend, hurried(client.exchange, seconds)))

    return anyio.run(asked)
