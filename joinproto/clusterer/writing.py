"""A config as text: Erlang terms, and JSON values.

The text reads back as the same value (`reading.py`).
"""

from __future__ import annotations

from typing import Any

from joinproto.clusterer.config import Config, Held
from joinproto.codec.erlang_terms import Atom, Binary


def as_erlang(held: Held, own: str | None = None) -> str:
    """Return the config as a file that the real Clusterer reads.

    `own`: the identity of the node that stores the config, or None.
    """
    config = held.config
    nodes = [str(Atom(name)) for name in sorted(config.disc)]
    nodes += [f"{{{Atom(name)}, ram}}" for name in sorted(config.ram)]
    gospel = "reset" if config.gospel is None else f"{{node, {Atom(config.gospel)}}}"
    rows = [
        f"{{version, {config.version}}}",
        f"{{nodes, [{', '.join(nodes)}]}}",
        f"{{gospel, {gospel}}}",
    ]
    if config.shutdown_timeout is not None:
        rows.append(f"{{shutdown_timeout, {config.shutdown_timeout}}}")
    if held.ids.pairs:
        known = ", ".join(f"{{{Atom(name)}, {Binary(text)}}}" for name, text in held.ids.pairs)
        rows.append(f"{{node_ids, [{known}]}}")
    if held.since.pairs:
        since = ", ".join(f"{{{Atom(name)}, {version}}}" for name, version in held.since.pairs)
        rows.append(f"{{since, [{since}]}}")
    if own is not None:
        rows.append(f"{{node_id, {Binary(own)}}}")
    return "[" + ",\n ".join(rows) + "].\n"


def as_json(config: Config) -> dict[str, Any]:
    """Return the config as JSON values, in the form that stories use."""
    return {
        "version": config.version,
        "nodes": kinds(config),
        "gospel": "reset" if config.gospel is None else {"node": config.gospel},
    } | ({} if config.shutdown_timeout is None else {"shutdown_timeout": config.shutdown_timeout})


def kinds(config: Config) -> dict[str, str]:
    """Return "disc" or "ram" for each node, in the order of names."""
    return {name: "disc" if name in config.disc else "ram" for name in sorted(config.nodes)}
