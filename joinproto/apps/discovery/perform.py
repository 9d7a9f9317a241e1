"""Performs a flow: sends what it yields, waits when it says so, returns what it returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio

from joinproto.discovery.exchange import Broken, Flow, Refused, Request, Response, Wait

R = TypeVar("R")
Exchange = Callable[[Request], Awaitable[Response | Broken]]
"""Sends one request; comes back within its seconds, whatever the server does."""
LAST_SECONDS, LAST_REQUESTS = 3.0, 2
"""For what a flow that is given up still takes back."""


async def perform(flow: Flow[R], exchange: Exchange) -> R:
    """Return the result of a flow.

    Where it is cancelled the flow may take back what it began, as a session for a lock that is
    waited for no more; a server that does not answer delays that for `LAST_SECONDS` at most.
    """
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
    except anyio.get_cancelled_exc_class():
        with anyio.move_on_after(LAST_SECONDS, shield=True):
            await _taken_back(flow, exchange)
        raise
    finally:
        flow.close()


async def _taken_back(flow: Flow[Any], exchange: Exchange) -> None:
    try:
        step = flow.throw(Refused("it was given up"))
        for _ in range(LAST_REQUESTS):
            step = flow.send(None if isinstance(step, Wait) else await exchange(step))
    except (StopIteration, Refused):
        pass
