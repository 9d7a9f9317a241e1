"""DNS: the addresses of one name, and the name of each address.

Real: a look-up that fails is skipped, so the list is empty while the server is down.  Ours: a
look-up that fails is an error, and so is a name that does not exist; of several names of one
address, the least is taken, not the first.

Source: DNS of the peer discovery; discovery, D1.
"""

from __future__ import annotations

from typing import Annotated

from attrs import frozen

from joinproto.discovery.answers import Answer, Failed, Listed
from joinproto.discovery.contract import Backend, BackendSettings
from joinproto.discovery.exchange import Flow, Kind, Lookup, looked_up
from joinproto.discovery.names import node_of, prefix_of


@frozen(kw_only=True)
class Dns(BackendSettings):
    """The settings of the DNS backend."""

    hostname: Annotated[str | None, "the name that has all addresses; null: none is set"] = None
    long_names: Annotated[bool, "whether names keep their dots"] = False


@frozen
class DnsBackend(Backend):
    """The backend of DNS."""

    about: Dns

    def list_nodes(self) -> Flow[Answer]:
        """Look up A and AAAA of the name, then PTR of each address in the order of the answers."""
        about, real = self.about, self.about.is_real
        if about.hostname is None:
            return Listed(()) if real else Failed("no hostname is set, so no name can be looked up")
        addresses: list[str] = []
        is_known = False
        for kind in (Kind.A, Kind.AAAA):
            looked = yield from looked_up(Lookup(kind, about.hostname))
            if looked.error is not None and not real:
                return Failed(f"{kind.value} of {about.hostname}: {looked.error}")
            addresses += () if looked.error is not None else looked.values
            is_known = is_known or not looked.no_such_name
        # Nodes may run even if the name does not exist, or does not exist yet.
        if not is_known and not real:
            return Failed(f"the name {about.hostname} does not exist in DNS")
        nodes: dict[str, None] = {}
        for address in dict.fromkeys(addresses):
            looked = yield from looked_up(Lookup(Kind.PTR, address))
            if looked.error is not None or not looked.values:
                if real:
                    continue
                why = looked.error or "the address has no name"
                return Failed(f"the name of {address}: {why}")
            # Servers rotate several names of one address: ours takes the same one each time.
            host = (looked.values[0] if real else min(looked.values)).removesuffix(".")
            nodes[node_of(prefix_of(about.node), host, long_names=about.long_names)] = None
        return Listed(tuple(nodes))
