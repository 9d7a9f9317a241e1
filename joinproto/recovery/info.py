"""The .info file: directories as they were read, to carry to another machine.

It is JSON with the bytes themselves (deflated, in base64), so that the other machine judges
everything again, and with a hash, so that a truncated or changed file is noticed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from joinproto.codec.json_form import canonical_hash, encoded
from joinproto.codec.json_form import read as read_as
from joinproto.codec.malformed import Malformed
from joinproto.errors import StoreCorrupt, StoreNewer
from joinproto.recovery.found import Raw

MAGIC = "joinproto-info"
VERSION = 1
FILE_BYTES_MAX = 512 << 20
ARCHIVES = (
    ("tar", 257, b"ustar"),
    ("gzip", 0, b"\x1f\x8b"),
    ("zip", 0, b"PK\x03\x04"),
    ("xz", 0, b"\xfd7zXZ\0"),
    ("bzip2", 0, b"BZh"),
    ("zstd", 0, b"\x28\xb5\x2f\xfd"),
)
"""Archive formats: a name, and the place and the bytes by which the format is recognized."""


def write(stores: Sequence[Raw], *, tool: str) -> str:
    """Return the text of an .info file, with a newline at its end."""
    tree: dict[str, Any] = {MAGIC: VERSION, "tool": tool, "stores": encoded(tuple(stores))}
    tree["sha256"] = canonical_hash(tree)
    return json.dumps(tree, indent=1) + "\n"


def read(data: bytes, *, name: str) -> tuple[Raw, ...]:
    """Return the directories in an .info file; raises `StoreError` if it is not whole."""
    again = "collect it again: joinproto recover collect DIR > FILE.info"
    if not data.strip():
        raise StoreCorrupt(f"{name}: is empty: the command that should fill it failed", next=again)
    if kind := _packed(data):
        raise StoreCorrupt(
            f"{name}: is an archive ({kind}), and is not unpacked here",
            next="unpack it, and name the directories or the .info files that are in it",
        )
    try:
        tree = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        tree = None
    if not isinstance(tree, dict) or MAGIC not in tree:
        raise StoreCorrupt(f"{name}: is not an .info file, or was cut off", next=again)
    if tree[MAGIC] != VERSION:
        raise StoreNewer(
            f"{name}: has version {str(tree[MAGIC])[:20]} of this format, expected {VERSION}",
            next="use the version of joinproto that collected it, or a newer one",
        )
    said = tree.pop("sha256", None)
    if said != canonical_hash(tree):
        raise StoreCorrupt(f"{name}: is not as it was collected: its checksum differs", next=again)
    try:
        return tuple(read_as(tuple[Raw, ...], tree.get("stores")))
    except Malformed as error:
        raise StoreCorrupt(
            f"{name}: lacks a field, or has a wrong one: {error}", next=again
        ) from None


def _packed(data: bytes) -> str:
    """Return the format of an archive, "" if `data` is not an archive."""
    return next((kind for kind, at, sign in ARCHIVES if data[at : at + len(sign)] == sign), "")
