"""Names of nodes: a prefix and a host, `rabbit@host`; and the port behind a host.

Source: discovery, D1.
"""

from __future__ import annotations

import re

_LABEL = re.compile(r"[^\s\x00-\x1f\x7f]{1,63}")
_NAME_MAX = 253
_IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")


def prefix_of(node: str) -> str:
    """Return the part before the @ of a node's name."""
    return node.partition("@")[0]


def host_of(node: str) -> str:
    """Return the part after the @ of a node's name."""
    return node.partition("@")[2]


def is_name_in_dns(text: str) -> bool:
    """Return whether DNS can be asked for a name.

    It has at most 253 characters, in labels of 1 to 63 characters.
    """
    text = text.removesuffix(".")
    labels = text.split(".")
    return len(text) <= _NAME_MAX and all(_LABEL.fullmatch(label) for label in labels)


def port_of(text: str) -> int | None:
    """Return the port, or None if the text is not a number from 1 to 65535."""
    is_number = len(text) < 6 and text.isascii() and text.isdigit()
    return int(text) if is_number and 0 < int(text) < 65_536 else None


def node_of(prefix: str, host: str, *, long_names: bool) -> str:
    """Return the node on this host; without long names a host ends at its first dot.

    An IPv4 address stays whole.
    """
    if not long_names and not _IPV4.fullmatch(host):
        host = host.partition(".")[0]
    return f"{prefix}@{host}"
