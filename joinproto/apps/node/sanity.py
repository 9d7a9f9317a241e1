"""What a configuration may not say although each field of it is well formed, and what is risky."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from joinproto.errors import UsageProblem
from joinproto.net.addresses import Address

if TYPE_CHECKING:
    from joinproto.apps.node.settings import Security, Timing


def require_times(timing: Timing) -> None:
    if timing.silence < 2 * timing.heartbeat:
        raise UsageProblem(
            f"timing.silence is {timing.silence} s, timing.heartbeat {timing.heartbeat} s: one"
            " lost heartbeat would end a connection",
            next="set silence to several heartbeats",
        )


def require_apart(
    listen: Address,
    clients: Address,
    http: Address | None,
    members: Mapping[str, Address],
    member: str,
) -> None:
    """Refuse two listeners on one port, and one address for two members."""
    ours = {"listen": listen, "clients": clients} | ({} if http is None else {"http": http})
    for (one, here), (other, there) in combinations(ours.items(), 2):
        if here.clashes(there):
            raise UsageProblem(
                f"{one} {here} and {other} {there} are one port", next="give each its own port"
            )
    others = [(name, where) for name, where in members.items() if name != member]
    known = [*others, (member, members.get(member, listen))]
    for (one, here), (other, there) in combinations(known, 2):
        if here == there:
            raise UsageProblem(
                f"members.{one} and {other} have one address, {here}",
                next="give each member its own HOST:PORT",
            )


def require_protected(security: Security, clients: Address, http: Address | None) -> None:
    """Refuse ports that others reach and nothing protects, unless that is said."""
    unknown = sorted(set(security.insecure) - {"listen", "clients", "http"})
    if unknown:
        raise UsageProblem(
            f"security.insecure names {', '.join(unknown)}", next="name listen, clients or http"
        )
    for name, where in (("clients", clients), ("http", http)):
        if where is not None and not where.is_loopback and name not in security.insecure:
            raise UsageProblem(
                f"{name} {where} can be reached from other machines, and nothing protects it",
                next=f'listen on 127.0.0.1, or say that it is meant so: `insecure = ["{name}"]`'
                " under [security]",
            )


def warnings_of(security: Security, top: Path) -> Iterator[str]:
    yield from security.warnings(top)
    if security.insecure:
        ports = ", ".join(security.insecure)
        yield f"security.insecure: {ports}: open to any machine that reaches it"
