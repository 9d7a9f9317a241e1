"""Whether a request goes through a proxy, and through which.

Real: only a proxy key in the file configures a proxy, the environment alone does not.  Ours: a
setting counts wherever it is set; an exclusion may be a network, and requests to the addresses of a
metadata service, from which an instance gets its keys, never go through a proxy.

Source: the settings of the common plugin; discovery, D1.
"""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Annotated

from attrs import frozen

from joinproto.discovery.contract import Variant
from joinproto.discovery.exchange import Refused, netloc
from joinproto.discovery.names import port_of

METADATA_IPV6 = ip_address("fd00:ec2::254")
"""The IPv6 address of the metadata service of AWS; its IPv4 address is link-local."""
PORT = 80
"""The default port of both proxies."""


@frozen(kw_only=True)
class Proxies:
    """The settings of the proxies, which both speak HTTP."""

    variant: Annotated[Variant, "the rules: the shipped broker's, or ours"] = Variant.OURS
    http_proxy: Annotated[
        str | None, "the proxy for http; the scheme may be left out; the default port is 80"
    ] = None
    https_proxy: Annotated[str | None, "the proxy for https, in the same form"] = None
    exclusions: Annotated[
        tuple[str, ...], "the hosts to which requests go directly, such as *.local"
    ] = ()
    in_file: Annotated[bool, "whether a proxy key is in the file"] = True


@frozen
class Route:
    """The route to a host, with the reason.

    `proxy`: the address of the proxy, None for a direct connection.
    """

    proxy: str | None
    why: str


def route_of(about: Proxies, scheme: str, host: str) -> Route:
    """Return the route of a request of this scheme to this host.

    Raises `Refused` if the proxy's address is malformed.
    """
    text = about.https_proxy if scheme == "https" else about.http_proxy
    if not text:
        return Route(None, f"no proxy is set for {scheme}")
    if about.variant is Variant.REAL and not about.in_file:
        return Route(None, "no proxy key is in the file, and the environment alone sets no proxy")
    if about.variant is Variant.OURS and _is_always_direct(host):
        return Route(None, "a metadata or link-local address never goes through a proxy")
    for one in about.exclusions:
        if excludes(one, host, about.variant):
            return Route(None, f"{one} is excluded")
    return Route(address(text), f"the proxy for {scheme}")


def excludes(pattern: str, host: str, variant: Variant) -> bool:
    """Return whether an exclusion matches this host.

    `*` matches all hosts, and `*.local` all hosts below a domain.  In ours, a network matches its
    addresses.
    """
    pattern, host = pattern.strip().lower(), host.lower()
    if pattern in ("*", host):
        return True
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    if variant is Variant.REAL:
        return False
    try:
        return ip_address(host) in ip_network(pattern, strict=False)
    except ValueError:
        return False


def _is_always_direct(host: str) -> bool:
    """Return whether a host is a link-local address or the metadata service's, in any form."""
    try:
        found = ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    found = getattr(found, "ipv4_mapped", None) or found
    return found.is_link_local or found == METADATA_IPV6


def address(text: str) -> str:
    """Return the proxy as `http://[user@]host:port`; raises `Refused` for a malformed address."""
    rest = text.strip()
    user = ""
    for scheme in ("http://", "https://"):
        rest = rest.removeprefix(scheme)
    rest = rest.removesuffix("/")
    if "@" in rest:
        user, _, rest = rest.rpartition("@")
    host, said = _parts(rest)
    port = port_of(said)
    if not host or port is None:
        # The text may contain a password, so the message does not repeat it.
        raise Refused("the proxy cannot be read: write HOST, HOST:PORT or http://HOST:PORT")
    return f"http://{f'{user}@' if user else ''}{netloc(host, port)}"


def _parts(text: str) -> tuple[str, str]:
    if text.startswith("["):
        host, _, port = text[1:].partition("]")
        return host, port.removeprefix(":") or str(PORT)
    if text.count(":") > 1:
        return text, str(PORT)  # an IPv6 address without brackets
    host, _, port = text.partition(":")
    return ("" if "/" in host or " " in host else host), port or str(PORT)
