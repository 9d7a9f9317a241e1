"""Look-ups in DNS, each with a time limit.

"There is no such record" is an answer.  If a server is down, refuses, or gives an answer that
cannot be read, the look-up has an error instead.
"""

from __future__ import annotations

import logging

import dns.asyncresolver
import dns.exception
import dns.resolver
import dns.reversename
from attrs import frozen

from joinproto.apps.discovery.http import short
from joinproto.discovery.exchange import Kind, LookedUp, Lookup

log = logging.getLogger(__name__)


@frozen(kw_only=True)
class Resolver:
    """A resolver.  `servers`: addresses; () means the system's servers.

    `seconds`: the time limit of one look-up.
    """

    servers: tuple[str, ...] = ()
    port: int = 53
    seconds: float = 5.0

    async def look(self, lookup: Lookup) -> LookedUp:
        """Return the answer, or why there is none."""
        got = await self._looked(lookup)
        told = got.error or f"{len(got.values)} found"
        log.debug("DNS %s %s: %s", lookup.kind.value, lookup.name, told)
        return got

    async def _looked(self, lookup: Lookup) -> LookedUp:
        try:
            resolver = dns.asyncresolver.Resolver(configure=not self.servers)
            if self.servers:
                resolver.nameservers = list(self.servers)
                resolver.port = self.port
            resolver.cache = None
            # The name is taken as written, without a search list: machines may have different ones.
            name = (
                dns.reversename.from_address(lookup.name)
                if lookup.kind is Kind.PTR
                else dns.name.from_text(lookup.name)
            )
            found = await resolver.resolve(
                name, lookup.kind.value, lifetime=self.seconds, raise_on_no_answer=False
            )
        except dns.resolver.NXDOMAIN:
            return LookedUp(no_such_name=True)
        except dns.exception.Timeout:
            return LookedUp(error=f"no answer within {self.seconds:g} s")
        except (dns.exception.DNSException, UnicodeError, OSError) as error:
            return LookedUp(error=short(error))
        return LookedUp(tuple(str(one) for one in found.rrset or ()))
