"""DNS: the addresses of one name, and the name of each address.

Real: a look-up that fails is skipped, so a server that is down is an empty list.  Ours: it is an
error; only a server that answers says that there is no node, and of several names of one address
the least is taken, not the first.

Source: DNS of the peer discovery; discovery, D1.
"""

from __future__ import annotations

from collections.abc import Generator
from enum import Enum
from typing import Annotated

from attrs import frozen

from joinproto.discovery.answers import Answer, Failed, Listed
from joinproto.discovery.contract import Variant
from joinproto.discovery.names import node_of, prefix_of


class Kind(Enum):
    """The kind of record to look up."""

    A = "A"
    AAAA = "AAAA"
    PTR = "PTR"


@frozen
class Lookup:
    """One look-up.  `name`: of a PTR the address itself."""

    kind: Annotated[Kind, "A, AAAA, or PTR for the name of an address"]
    name: Annotated[str, "the name; of PTR: the address"]


@frozen
class LookedUp:
    """The result of a look-up.  `error`: the reason of a failure; None if `values` is complete."""

    values: Annotated[tuple[str, ...], "in the order of the answer"] = ()
    error: Annotated[str | None, "why nothing is known; null: these are all"] = None
    no_such_name: Annotated[bool, "the server knows no such name, of any kind"] = False


DnsFlow = Generator[Lookup, LookedUp, Answer]


@frozen(kw_only=True)
class Dns:
    """The settings, and the node's own facts."""

    variant: Annotated[Variant, "whose rules"] = Variant.OURS
    hostname: Annotated[str | None, "the name that has all addresses; null: none is set"] = None
    node: Annotated[str, "this node, as rabbit@host"] = "rabbit@localhost"
    long_names: Annotated[bool, "whether names keep their dots"] = False


def list_nodes(about: Dns) -> DnsFlow:
    """Return the flow of look-ups: A, AAAA, then each address in the order of the answers."""
    real = about.variant is Variant.REAL
    if about.hostname is None:
        return Listed(()) if real else Failed("no hostname is set: no name can be asked for")
    addresses: list[str] = []
    is_known = False
    for kind in (Kind.A, Kind.AAAA):
        looked = yield Lookup(kind, about.hostname)
        if looked.error is not None and not real:
            return Failed(f"{kind.value} of {about.hostname}: {looked.error}")
        addresses += () if looked.error is not None else looked.values
        is_known = is_known or not looked.no_such_name
    # A name that was never made, or is not yet, says nothing of a node that is there.
    if not is_known and not real:
        return Failed(f"there is no such name as {about.hostname}")
    nodes: dict[str, None] = {}
    for address in dict.fromkeys(addresses):
        looked = yield Lookup(Kind.PTR, address)
        if looked.error is not None or not looked.values:
            if real:
                continue
            return Failed(f"the name of {address}: {looked.error or 'it has none'}")
        # Servers turn several names of one address round: ours takes one that stays.
        host = (looked.values[0] if real else min(looked.values)).removesuffix(".")
        nodes[node_of(prefix_of(about.node), host, long_names=about.long_names)] = None
    return Listed(tuple(nodes))
