"""The definitions in RabbitMQ's tables on a stopped node, read so that the first node to start has
them all.

After a power cut the lists of nodes that ran are equal where the data are not: each node wrote its
log up to two seconds late.  The node that starts first decides which definitions are kept, and the
others take it.  So a node that would be first asks all nodes that went down with it for their
definitions: it starts only if it has all of them.  Where no node has all, a person chooses
(`chosen`).

    one has all that is defined on any        it goes first, and the others wait for it
    each lacks something                       no node goes
    one has not said it, or cannot read it     no node goes

Messages are not looked at.  A node with Khepri has no such tables, and is not asked: there a
majority has the latest by itself.

Source: recovery, "Foreign formats"; RabbitMQ 3.10.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path

from joinproto.apps.clusterer.service import NotFirst
from joinproto.net.refused import one_line
from joinproto.pick.definitions import Definitions
from joinproto.recovery.foreign.mnesia import definitions_of
from joinproto.recovery.foreign.ra.folders import FLAGS
from joinproto.recovery.found import Format
from joinproto.recovery.gather import gather

TABLES = "tables"
READ, NONE, DAMAGED = "read", "none", "damaged"
KEY_BYTES, VALUE_BYTES = 8, 4
ENTRIES_MAX = 40_000
"""More are not told, as a frame has an end; a person chooses then."""


def held(data: Path) -> Mapping[str, str]:
    """Return the contents of the tables in a data directory, for other nodes; {}: Khepri."""
    raw = gather(data, host="", kind=Format.RABBITMQ, logs=False)
    if raw.problem:
        return {TABLES: DAMAGED, "why": raw.problem} if data.exists() else {TABLES: NONE}
    # A list of feature flags lies next to a blank directory, and next to one with Khepri, too.
    if all(file.is_absent for file in raw.files if file.name != FLAGS):
        return {} if (data / "coordination").exists() else {TABLES: NONE}
    found, why = definitions_of(raw.files)
    if found is None:
        return {TABLES: DAMAGED, "why": why} if why else {TABLES: NONE}
    return _put(found)


def chosen(data: Path) -> Path:
    """Return the file by which a person says that this node starts first, whatever others hold."""
    return data.parent / f"{data.name}-first"


def look(me: str, data: Path, others: Mapping[str, Mapping[str, str] | None]) -> None:
    """Return where this node may start first; raises `NotFirst`.

    `others`: the definitions of the nodes that went down with it; None if it did not say.
    """
    mine = held(data)
    if not mine or chosen(data).exists():
        return
    found: dict[str, Definitions] = {}
    for name, said in sorted({**others, me: mine}.items()):
        if said is None or not said:
            raise NotFirst(f"{name} has not said what its tables hold", next="it asks again")
        if said.get(TABLES) == NONE:
            continue
        theirs = _taken(said)
        if theirs is None:
            why = one_line(said.get("why", "more is defined than can be told"))
            raise _none_first(data, f"what {name} holds is not known: {why}")
        found[name] = theirs
    full = [name for name in found if not _beyond(found, name)]
    if me in full or not found:
        return
    if full:
        count = found[full[0]].beyond(found[me]) if me in found else len(found[full[0]].values)
        raise NotFirst(
            f"{full[0]} has {count} defined that are not here, and all that is here: it starts"
            " first",
            next="wait for it",
        )
    counts = [f"{name} lacks {_beyond(found, name)}" for name in found]
    raise _none_first(data, f"of what the others have defined, {', '.join(counts)}")


def _beyond(found: Mapping[str, Definitions], name: str) -> int:
    """Return how much the others have that a node lacks; the same at two of them counts twice."""
    return sum(other.beyond(found[name]) for other in found.values())


def _none_first(data: Path, why: str) -> NotFirst:
    return NotFirst(
        f"no node can start first without a loss: {why}; compare the data directories (`joinproto"
        f" recover pick`), and on the node whose data are to be kept: touch {chosen(data)}",
        next="choose the node that starts first",
    )


def _put(found: Definitions) -> Mapping[str, str]:
    values = sorted(found.values.items())
    gone = sorted(found.deleted - found.values.keys())
    if len(values) + len(gone) > ENTRIES_MAX:
        return {TABLES: READ}
    entries = b"".join(key[:KEY_BYTES] + value[:VALUE_BYTES] for key, value in values)
    deleted = b"".join(key[:KEY_BYTES] for key in gone)
    return {TABLES: READ, "entries": _text(entries), "deleted": _text(deleted)}


def _taken(said: Mapping[str, str]) -> Definitions | None:
    """Return a node's definitions, None if they are missing or in another form than ours."""
    if said.get(TABLES) != READ or "entries" not in said:
        return None
    size = KEY_BYTES + VALUE_BYTES
    try:
        entries = base64.b64decode(said["entries"], validate=True)
        deleted = base64.b64decode(said.get("deleted", ""), validate=True)
    except binascii.Error:
        return None
    if len(entries) % size or len(deleted) % KEY_BYTES:
        return None
    return Definitions(
        values={
            entries[at : at + KEY_BYTES]: entries[at + KEY_BYTES : at + size]
            for at in range(0, len(entries), size)
        },
        deleted=frozenset(deleted[at : at + KEY_BYTES] for at in range(0, len(deleted), KEY_BYTES)),
    )


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
