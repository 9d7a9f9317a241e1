"""The definitions in a stopped node's RabbitMQ tables; the first node to start must have them all.

After a power cut the nodes' lists of running nodes may be equal although their data differ: each
node wrote its log up to two seconds late.  The node that starts first decides which definitions are
kept, and the others take over its tables.  So a node that would start first asks all nodes that
went down with it for their definitions, and starts only if it has all of them.  If no node has all,
an operator chooses (`choice_file`).

    one node has all definitions of all nodes       it starts first, and the others wait for it
    each node lacks a definition                    no node starts
    one node has not reported, or cannot report     no node starts

Messages are not compared.  A node with Khepri has no such tables and is not asked: with Khepri a
majority of the nodes has the latest definitions.

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
"""The most entries that are sent, as frames are bounded.  With more, an operator must choose."""


def tables_of(data: Path) -> Mapping[str, str]:
    """Return the entries of the tables in a data directory, for other nodes; {} with Khepri."""
    raw = gather(data, host="", kind=Format.RABBITMQ, logs=False)
    if raw.problem:
        return {TABLES: DAMAGED, "why": raw.problem} if data.exists() else {TABLES: NONE}
    # The file of feature flags exists also for a blank directory, and with Khepri.
    if all(file.is_absent for file in raw.files if file.name != FLAGS):
        return {} if (data / "coordination").exists() else {TABLES: NONE}
    found, why = definitions_of(raw.files)
    if found is None:
        return {TABLES: DAMAGED, "why": why} if why else {TABLES: NONE}
    return _put(found)


def choice_file(data: Path) -> Path:
    """Return the path of a file that an operator makes so that this node starts first."""
    return data.parent / f"{data.name}-first"


def require_first(me: str, data: Path, others: Mapping[str, Mapping[str, str] | None]) -> None:
    """Return if this node may start first; raise `NotFirst` if it may not.

    `others`: the definitions of each node that went down with this node; None without an answer.
    """
    mine = tables_of(data)
    if not mine or choice_file(data).exists():
        return
    found: dict[str, Definitions] = {}
    for name, said in sorted({**others, me: mine}.items()):
        if said is None or not said:
            raise NotFirst(
                f"{name} has not reported the contents of its tables",
                next="wait: this node asks again",
            )
        if said.get(TABLES) == NONE:
            continue
        theirs = _taken(said)
        if theirs is None:
            why = one_line(said.get("why", "it has more definitions than can be sent"))
            raise _none_first(data, f"the definitions of {name} are not known: {why}")
        found[name] = theirs
    full = [name for name in found if not _beyond(found, name)]
    if me in full or not found:
        return
    if full:
        count = (
            found[full[0]].changes_missing_in(found[me])
            if me in found
            else len(found[full[0]].values)
        )
        raise NotFirst(
            f"{full[0]} has {count} definitions that this node lacks, and all that this node has:"
            " it starts first",
            next="wait for it",
        )
    counts = [f"{name} lacks {_beyond(found, name)}" for name in found]
    raise _none_first(data, f"of the other nodes' definitions, {', '.join(counts)}")


def _beyond(found: Mapping[str, Definitions], name: str) -> int:
    """Return how many entries of other nodes `name` lacks.

    An entry that two other nodes have counts twice.
    """
    return sum(other.changes_missing_in(found[name]) for other in found.values())


def _none_first(data: Path, why: str) -> NotFirst:
    return NotFirst(
        f"no node can start first without a loss: {why}; compare the data directories (`joinproto"
        f" recover pick`), and on the node whose data you keep: touch {choice_file(data)}",
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
    """Return the definitions in a node's answer; None if they are missing or malformed."""
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
