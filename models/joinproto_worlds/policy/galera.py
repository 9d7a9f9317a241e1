"""Galera: `grastate.dat` and `gvwstate.dat` of a node, as the node left them, and its position.

Seen on real nodes (`tests/recovery/foreign/data/galera-*`): a node that runs has the position -1
in `grastate.dat`, and the mark `safe_to_bootstrap` only while it serves alone.  A stop in order
writes the position and removes `gvwstate.dat`; a node that is killed keeps its last view there.
Its position is then recovered from its data (`mariadbd --wsrep-recover`), as operators' tools do.
"""

from __future__ import annotations

import zlib
from hashlib import blake2b

from joinproto.check import World
from joinproto.recovery.foreign import galera, gcache
from joinproto.recovery.found import Format, Found, Raw, RawFile
from joinproto.recovery.policy.asked import Questioner
from joinproto_worlds.policy.life import world_of
from joinproto_worlds.policy.nodes import Left, Node, System, name_of

CLUSTER = "6a1f3c9e-0000-11ee-8d7e-1f2e3d4c5b6a"
PATH = "/var/lib/mysql"


def world(asker: Questioner, left: Left) -> World:
    return world_of(SYSTEM, asker, left=left)


def found(node: Node) -> Found:
    """Return the shipped reader's findings in a node's directory."""
    files = () if node.looks_blank else _files(node)
    return galera.read(
        Raw(
            path=PATH,
            host=node.name,
            format=Format.GALERA,
            in_use="mariadbd" if node.runs else "",
            recovered=b"" if node.looks_blank else f"{CLUSTER}:{len(node.data)}".encode(),
            files=files,
        )
    )


def _files(node: Node) -> tuple[RawFile, ...]:
    is_alone = node.view == (_entry(node),)
    seqno = len(node.data) if node.is_clean else -1
    state = (
        "# GALERA saved state\nversion: 2.1\n"
        f"uuid:    {CLUSTER}\nseqno:   {seqno}\nsafe_to_bootstrap: {int(is_alone)}\n"
    )
    cache = b"".join(
        gcache.ENTRY.pack(number, blake2b(str(write).encode(), digest_size=8).digest())
        for number, write in enumerate(node.data, start=1)
    )
    files = [RawFile(galera.STATE, state.encode()), RawFile(gcache.DIGEST, cache)]
    if not node.is_clean:
        members = "".join(f"member: {_uuid(entry)} 0\n" for entry in node.view)
        is_forced = node.founded_by != ""
        view = (
            f"my_uuid: {_uuid(_entry(node))}\n#vwbeg\n"
            f"view_id: 3 {_uuid(node.view[0])} {node.number}\nbootstrap: {int(is_forced)}\n"
            f"{members}#vwend\n"
        )
        files.append(RawFile(galera.VIEW, view.encode()))
    return tuple(files)


def _entry(node: Node) -> str:
    """Return the node's entry in its last view, which may be older than its last start."""
    return next((entry for entry in node.view if name_of(entry) == node.name), node.entry)


def _uuid(entry: str) -> str:
    return f"{zlib.crc32(entry.encode()):08x}-0000-11ee-8000-000000000001"


SYSTEM = System(name="galera", found=found, needs_majority=True, goes_alone=lambda node: False)
