"""The history in a store: operators' actions, each entry bound to the entry before.

An entry's `hash` covers all its other fields, and among them the hash of the entry before.  So a
changed or removed entry is noticed.  This protects against accidents, and helps with questions
asked later.  It does not protect against a person who writes the whole chain again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from joinproto.codec.json_form import canonical_hash

Entry = Mapping[str, Any]


def chained(history: Sequence[Entry], fields: Mapping[str, str]) -> tuple[Any, ...]:
    """Return the history with a new entry of these `fields` at its end."""
    last = history[-1].get("hash") if history else None
    entry = {**fields, "previous": last if isinstance(last, str) else None}
    return (*history, {**entry, "hash": canonical_hash(entry)})


def broken_link(history: Sequence[Entry]) -> str:
    """Return a text about the first entry that is not as it was written, "" if all are."""
    last: object = None
    for number, entry in enumerate(history, start=1):
        rest = {key: value for key, value in entry.items() if key != "hash"}
        if "hash" not in entry:
            return f"entry {number} of the history has no hash"
        if entry["hash"] != canonical_hash(rest):
            return f"entry {number} of the history is not as it was written"
        if entry.get("previous") != last:
            return f"the entry before entry {number} of the history was changed or removed"
        last = entry["hash"]
    return ""
