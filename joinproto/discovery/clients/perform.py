"""Performs a flow: sends what it yields, waits when it says so, returns what it returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from joinproto.discovery.exchange import Broken, Flow, Request, Response, Wait

R = TypeVar("R")
Exchange = Callable[[Request], Awaitable[Response | Broken]]
"""Sends one request; comes back within its seconds, whatever the server does."""


async def perform(flow: Flow[R], exchange: Exchange) -> R:
    """Return the result of a flow."""
    try:
        step = next(flow)
        while True:
            if isinstance(step, Wait):
                await anyio.sleep(step.seconds)
                step = flow.send(None)
            else:
                step = flow.send(await exchange(step))
    except StopIteration as end:
        result: R = end.value
        return result
    finally:
        flow.close()
