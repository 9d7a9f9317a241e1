"""Settings of a transport: where members listen, and how they prove their identity."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from joinproto.errors import UsageProblem
from joinproto.net.addresses import Address
from joinproto.net.session import VERSIONS
from joinproto.net.tls import TlsFiles


@frozen(kw_only=True)
class Network:
    """The settings of a member's connections to others.

    `addresses`: the addresses of members that it may have to call; `only_these`: no other member
    may call.  `silence`: seconds after which a silent peer is given up.  `secret`, `tls`: how
    members prove their identities; without both `listen` must be on loopback, unless `is_insecure`
    says that any caller may be a member.  `backoff`: seconds between two calls of one member, at
    first and at most.  `earlier`: the answer to a caller that greets in another form, such as an
    earlier version.  `both_call`: either of two members may call the other.  `aliases`: names that
    are no member's; the `guest` of `TcpTransport` speaks with their callers.
    """

    member: str
    cluster_name: str
    electors: frozenset[str]
    listen: Address
    addresses: Mapping[str, Address]
    silence: float = 2.0
    queue_bytes: int = 64 * 2**20
    secret: bytes = field(default=b"", repr=False)
    tls: TlsFiles | None = None
    is_insecure: bool = False
    versions: tuple[int, int] = VERSIONS
    only_these: bool = False
    backoff: tuple[float, float] = (0.05, 0.5)
    earlier: str = ""
    both_call: bool = False
    aliases: frozenset[str] = frozenset()

    def __attrs_post_init__(self) -> None:
        if not (self.secret or self.tls or self.listen.is_loopback or self.is_insecure):
            raise UsageProblem(
                f"{self.listen} can be reached from other machines, and neither a secret nor TLS"
                " is set up: anybody could speak for a member, and stop the cluster",
                next="set up a secret or TLS, or listen on 127.0.0.1",
            )
        if not self.silence > 0:
            raise UsageProblem(f"silence is {self.silence} s", next="give more than 0 s")
