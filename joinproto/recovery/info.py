"""The .info file: a directory as it was read, to carry to another machine.

JSON with the bytes themselves (deflated, in base64), so that everything is judged again where
it arrives, and a hash, so that what was cut off or changed on the way shows.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from typing import Any

from joinproto.errors import StoreCorrupt, StoreNewer
from joinproto.json_form import canonical_hash
from joinproto.recovery import found
from joinproto.recovery.found import Format, Raw, RawFile
from joinproto.recovery.frames import Journal, Run

MAGIC = "joinproto-info"
VERSION = 1
FILE_BYTES_MAX = 512 << 20
DATA_BYTES_MAX = found.FILE_BYTES_MAX
"""Of one file in a directory; a larger one is not collected."""


def write(stores: Sequence[Raw], *, tool: str) -> str:
    """Return the text of an .info file, with a newline at its end."""
    tree: dict[str, Any] = {MAGIC: VERSION, "tool": tool, "stores": [_tree(raw) for raw in stores]}
    tree["sha256"] = canonical_hash(tree)
    return json.dumps(tree, indent=1) + "\n"


def read(data: bytes, *, name: str) -> tuple[Raw, ...]:
    """Return the directories in an .info file; raises `StoreError` if it is not whole."""
    again = "collect it again: joinproto recover collect DIR > FILE.info"
    try:
        tree = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        tree = None
    if not isinstance(tree, dict) or MAGIC not in tree:
        raise StoreCorrupt(f"{name}: is not an .info file, or was cut off", next=again)
    if tree[MAGIC] != VERSION:
        raise StoreNewer(
            f"{name}: was collected by a newer version ({MAGIC} {tree[MAGIC]})",
            next="use the version that collected it, or a newer one",
        )
    said = tree.pop("sha256", None)
    if said != canonical_hash(tree):
        raise StoreCorrupt(f"{name}: is not as it was collected: its checksum differs", next=again)
    try:
        return tuple(_raw(one) for one in tree["stores"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreCorrupt(
            f"{name}: lacks a field, or has a wrong one: {error}", next=again
        ) from None


def _tree(raw: Raw) -> dict[str, Any]:
    return {
        "path": raw.path,
        "host": raw.host,
        "format": None if raw.format is None else raw.format.value,
        "in_use": raw.in_use,
        "lock_problem": raw.lock_problem,
        "problem": raw.problem,
        "called": raw.called,
        "leftovers": list(raw.leftovers),
        "journal": None
        if raw.journal is None
        else {
            "problem": raw.journal.problem,
            "is_unread": raw.journal.is_unread,
            "sha256": raw.journal.sha256,
            "is_torn": raw.journal.is_torn,
            "runs": [[run.view, run.first, run.last] for run in raw.journal.runs],
        },
        "recovered": base64.b64encode(raw.recovered).decode(),
        "read_at": raw.read_at,
        "files": [
            {
                "name": file.name,
                "data": None if file.data is None else _packed(file.data),
                "problem": file.problem,
                "modified": file.modified,
            }
            for file in raw.files
        ],
    }


def _raw(tree: Any) -> Raw:
    return Raw(
        path=_text(tree["path"]),
        host=_text(tree["host"]),
        format=None if tree["format"] is None else Format(tree["format"]),
        in_use=_text(tree["in_use"]),
        lock_problem=_text(tree["lock_problem"]),
        problem=_text(tree["problem"]),
        called=_text(tree["called"]),
        leftovers=tuple(map(_text, tree["leftovers"])),
        journal=None if tree["journal"] is None else _journal(tree["journal"]),
        recovered=base64.b64decode(tree["recovered"], validate=True),
        read_at=float(tree["read_at"]),
        files=tuple(
            RawFile(
                _text(file["name"]),
                None if file["data"] is None else _unpacked(file["data"]),
                _text(file["problem"]),
                None if file["modified"] is None else float(file["modified"]),
            )
            for file in tree["files"]
        ),
    )


def _packed(data: bytes) -> str:
    # A store repeats itself, view after view: it gets ten times smaller even so fast.
    return base64.b64encode(zlib.compress(data, level=1)).decode()


def _unpacked(text: str) -> bytes:
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(base64.b64decode(text, validate=True), DATA_BYTES_MAX)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not stream.eof:
        raise ValueError(f"a file of more than {DATA_BYTES_MAX} bytes, or cut off")
    return data


def _journal(tree: Any) -> Journal:
    runs = tuple(Run(_text(view), int(first), int(last)) for view, first, last in tree["runs"])
    # Earlier versions did not say the last three.
    is_unread, total = tree.get("is_unread") is True, _text(tree.get("sha256", ""))
    is_torn = tree.get("is_torn") is True
    return Journal(runs, _text(tree["problem"]), is_unread, total, is_torn=is_torn)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value
