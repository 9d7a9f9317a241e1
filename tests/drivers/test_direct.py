"""Listening without a task for each connection."""

from __future__ import annotations

import asyncio
import socket

import anyio
from anyio.abc import SocketAttribute

from joinproto.drivers.direct import listening


def test_who_is_cancelled_while_it_begins_to_listen_does_not_go_on() -> None:
    """A node that founds at once with those it found starts anew on the same addresses."""

    async def cancelled() -> int:
        async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
            port: int = listener.extra(SocketAttribute.local_port)
            with anyio.CancelScope() as scope:
                scope.cancel()
                async with listening(listener, asyncio.Protocol):
                    await anyio.sleep_forever()
        return port

    port = anyio.run(cancelled)

    with socket.create_server(("127.0.0.1", port)):
        pass
