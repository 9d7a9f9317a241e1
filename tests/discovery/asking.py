"""Helpers for tests of clients: one client, one question, one answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from attrs import define, evolve

from joinproto.apps.discovery.http import Http
from joinproto.apps.discovery.perform import Exchange
from joinproto.apps.discovery.port import BackendPort, Port
from joinproto.discovery.contract import Backend
from joinproto.discovery.exchange import Broken, Request, Response
from tools.boots.recorded import Recorded, written

R = TypeVar("R")


def hurried(exchange: Exchange, seconds: float) -> Exchange:
    """Return an exchange that takes at most `seconds`, even if a request allows more."""

    async def asked(request: Request) -> Response | Broken:
        return await exchange(evolve(request, seconds=min(request.seconds, seconds)))

    return asked


@define(eq=False)
class PatientHttp(Http):
    """A client that gives each request a minute; a busy machine needs more than Consul's 2.25 s."""

    async def exchange(self, request: Request) -> Response | Broken:
        return await Http.exchange(self, evolve(request, seconds=max(request.seconds, 60.0)))


def directly(state: Recorded, seconds: float = 0.01) -> Exchange:
    """Return an exchange with a server in this process, without sockets, so time may be virtual."""

    async def asked(request: Request) -> Response | Broken:
        headers = {one.name.lower(): one.value for one in request.headers}
        await anyio.sleep(seconds / 2)
        status, tree = state.asked(request.method, request.target, headers, request.body)
        await anyio.sleep(seconds / 2)
        return Response(status=status, body=written(tree), took=seconds)

    return asked


def ask(
    backend: Backend,
    question: Callable[[Port], Awaitable[R]],
    *,
    http: Http | None = None,
    seconds: float | None = None,
) -> R:
    """Ask one question of a backend, with its own client."""

    async def asked() -> R:
        client = http or (PatientHttp() if seconds is None else Http())
        async with client:
            exchange = client.exchange if seconds is None else hurried(client.exchange, seconds)
            return await question(BackendPort(backend, exchange))

    return anyio.run(asked)
