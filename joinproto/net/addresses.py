"""Addresses as text, and which of two members calls the other."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection

from attrs import frozen

from joinproto.errors import UsageProblem

EVERYWHERE = frozenset({"0.0.0.0", "::"})


@frozen
class Address:
    """A TCP address.  `port`: 0 to 65535; 0 to listen means any free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Return the address written as HOST:PORT, with an IPv6 host in brackets.

        Raises `UsageProblem` for any other text.
        """
        host, colon, port = text.rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            colon = ""  # in an IPv6 address without brackets, the port's colon is not known
        # The length is checked first, because `int` refuses texts of more than 4,300 digits.
        is_port = len(port) < 6 and port.isascii() and port.isdigit() and int(port) <= 65_535
        if not (colon and host and is_port):
            raise UsageProblem(
                f"{text!r} is not an address", next="write HOST:PORT, or [IPV6]:PORT"
            )
        return cls(host, int(port))

    @classmethod
    def parse_local(cls, text: str) -> Address:
        """Return the address written as HOST:PORT, or as PORT, which means 127.0.0.1."""
        return cls.parse(f"127.0.0.1:{text}" if text.isdigit() else text)

    def clashes(self, other: Address) -> bool:
        """Return whether this address and the other cannot both be listened on."""
        hosts = {_host(self.host), _host(other.host)}
        return self.port == other.port != 0 and (len(hosts) == 1 or bool(hosts & EVERYWHERE))

    @property
    def is_loopback(self) -> bool:
        """Return whether only this machine reaches the address.

        False for every host name except localhost, because names may be resolved elsewhere.
        """
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _host(host: str) -> str:
    return "127.0.0.1" if host == "localhost" else host


def dials(me: str, peer: str, electors: Collection[str]) -> bool:
    """Return whether `me` calls `peer`: exactly one of two members calls the other.

    A newcomer calls an elector, which need not know the newcomer.  Of two electors, or of two
    newcomers, the member with the lesser name calls.
    """
    if (me in electors) != (peer in electors):
        return peer in electors
    return me < peer
