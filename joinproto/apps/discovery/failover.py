"""Several addresses of one service: if one does not answer, the next one is tried.

An answer counts, even an error; only 503, which says that this one cannot
serve, is as good as no answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, evolve, frozen

from joinproto.apps.discovery.perform import Exchange
from joinproto.discovery.exchange import Broken, Request, Response


@frozen
class Address:
    """Where one of them is."""

    host: str
    port: int


@define(eq=False)
class Failover:
    """A client over several addresses.  The one that answered last comes first."""

    exchange: Exchange
    addresses: list[Address]

    async def __call__(self, request: Request) -> Response | Broken:
        got: Response | Broken = Broken(why="no address is set")
        for address in tuple(self.addresses):
            got = await self.exchange(evolve(request, host=address.host, port=address.port))
            if isinstance(got, Response) and got.status != 503:
                self.addresses.remove(address)
                self.addresses.insert(0, address)
                return got
        return got


def addressed(exchange: Exchange, addresses: Sequence[Address]) -> Exchange:
    """Return what asks these addresses in turn; the request's own where there is only one."""
    return Failover(exchange, list(addresses)) if len(addresses) > 1 else exchange
