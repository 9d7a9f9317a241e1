"""Listening without a task for each connection."""

from __future__ import annotations

import asyncio
import socket

import anyio

from joinproto.net.direct import listening
from tools.faults.ports import free_ports


def test_a_member_that_is_cancelled_while_it_begins_to_listen_does_not_go_on() -> None:
    """A node that founds at once with those it found starts again on the same addresses."""

    async def cancelled() -> int:
        (port,) = free_ports(1)  # no other process takes it meanwhile
        async with await anyio.create_tcp_listener(
            local_host="127.0.0.1", local_port=port
        ) as listener:
            with anyio.CancelScope() as scope:
                scope.cancel()
                async with listening(listener, asyncio.Protocol):
                    await anyio.sleep_forever()
        return port

    port = anyio.run(cancelled)

    with socket.create_server(("127.0.0.1", port)):
        pass
