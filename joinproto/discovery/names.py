"""Names of nodes: a prefix and a host, `rabbit@host`.

Source: discovery, D1.
"""

from __future__ import annotations

import re

_IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")


def prefix_of(node: str) -> str:
    """Return what stands before the @ of a node's name."""
    return node.partition("@")[0]


def host_of(node: str) -> str:
    """Return what stands behind the @ of a node's name."""
    return node.partition("@")[2]


def node_of(prefix: str, host: str, *, long_names: bool) -> str:
    """Return the node on this host; without long names a host ends at its first dot.

    An IPv4 address stays whole.
    """
    if not long_names and not _IPV4.fullmatch(host):
        host = host.partition(".")[0]
    return f"{prefix}@{host}"
