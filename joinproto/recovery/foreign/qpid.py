"""Qpid C++: the store status, in the two layouts that were released.

    0.8 to 0.18    cluster/store.status: cluster-id and shutdown-id, one line each
    0.6            cluster/cluster.uuid and cluster/shutdown.uuid, without a newline;
                   some builds of early 2010 add cluster/config.seq, a decimal number

A store with a null shutdown-id (all zeros) is dirty, any other is clean.  The ids are random, so
they only show whether two stores are equal.  No file shows which of several dirty stores is the
latest, and two clean stores with different ids have different data.  `config.seq` counts the
changes of membership.  It orders stores, but equal numbers do not mean equal data, and no file
names the other members.

Source: recovery, "Foreign formats"; `joinproto/reference/qpid/store_status.py` for how Qpid uses
the status.
"""

from __future__ import annotations

import re

from joinproto.recovery.foreign.text import NULL_UUID, UUID, NotAsWritten, matched, text_of
from joinproto.recovery.found import Fact, Found, Raw, RawFile, State

STATUS = "cluster/store.status"
CLUSTER_ID = "cluster/cluster.uuid"
SHUTDOWN_ID = "cluster/shutdown.uuid"
CONFIG_SEQ = "cluster/config.seq"
OLD = (CLUSTER_ID, SHUTDOWN_ID, CONFIG_SEQ)
NAMES = (STATUS, *OLD)

NO_ORDER = (
    "Qpid's ids are random, so they show only whether two stores are equal. No file shows which of"
    " several dirty stores is the latest"
)
NO_STORE = (
    f"no {STATUS}: a broker would treat this as an empty store, even if it holds data from a time"
    " when the broker ran alone"
)
SEQUENCE = re.compile(r"[0-9]{1,19}")


def read(raw: Raw) -> Found:
    """Return the contents of the status files; never raises, whatever the bytes are."""
    # If there is a `store.status`, the older files do not count.
    is_new = not raw.file(STATUS).is_absent
    files = [raw.file(name) for name in ((STATUS,) if is_new else OLD)]
    if said := tuple(f"{file.name}: {file.problem}" for file in files if file.problem):
        return Found.of(raw, State.UNREADABLE, *said)
    try:
        if is_new:
            return _from_status(raw)
        if any(not raw.file(name).is_absent for name in OLD):
            return _from_uuid_files(raw)
    except NotAsWritten as error:
        return Found.of(raw, State.CORRUPT, str(error))
    return Found.of(raw, State.NONE, NO_STORE)


def _from_status(raw: Raw) -> Found:
    file = raw.file(STATUS)
    lines = text_of(file).split("\n")
    # A file without its last newline was perhaps cut off, which is harmless only after a whole id.
    if lines[-1] == "":
        lines.pop()
    if len(lines) < 2:
        raise NotAsWritten(
            f"{file.name}: has {len(lines)} of 2 lines: it is rewritten in place, and was cut off"
        )
    if len(lines) > 2:
        raise NotAsWritten(f"{file.name}: has {len(lines)} lines, expected 2")
    cluster, shutdown = (_uuid(file, line) for line in lines)
    older = [name for name in OLD if not raw.file(name).is_absent]
    return _found_of(
        raw,
        cluster,
        shutdown,
        layout="0.8 to 0.18",
        more=(Fact("of version 0.6, ignored", ", ".join(older)),) if older else (),
    )


def _from_uuid_files(raw: Raw) -> Found:
    cluster_file, shutdown_file = raw.file(CLUSTER_ID), raw.file(SHUTDOWN_ID)
    if cluster_file.is_absent:
        there = ", ".join(name for name in OLD if not raw.file(name).is_absent)
        raise NotAsWritten(f"{CLUSTER_ID}: not there, next to {there}")
    cluster = _uuid(cluster_file, text_of(cluster_file))
    shutdown = NULL_UUID
    if not shutdown_file.is_absent:
        shutdown = _uuid(shutdown_file, text_of(shutdown_file))
    number: int | None = None
    more: tuple[Fact, ...] = ()
    if not raw.file(CONFIG_SEQ).is_absent:
        file = raw.file(CONFIG_SEQ)
        number = int(matched(SEQUENCE, file, text_of(file).removesuffix("\n"), "a count"))
        more = (Fact("config.seq", str(number)),)
    return _found_of(raw, cluster, shutdown, layout="0.6", seq=number, more=more)


def _found_of(
    raw: Raw,
    cluster: str,
    shutdown: str,
    *,
    layout: str,
    seq: int | None = None,
    more: tuple[Fact, ...] = (),
) -> Found:
    if cluster == NULL_UUID:
        raise NotAsWritten("the cluster-id is null: no broker writes that, and none starts with it")
    is_clean = shutdown != NULL_UUID
    return Found.of(
        raw,
        State.CLEAN if is_clean else State.DIRTY,
        "" if is_clean or seq is not None else NO_ORDER,
        cluster=cluster,
        final=shutdown if is_clean else "",
        seq=seq,
        facts=(
            Fact("layout", layout),
            Fact("cluster-id", cluster),
            Fact("shutdown-id", shutdown if is_clean else "null"),
            *more,
        ),
    )


def _uuid(file: RawFile, text: str) -> str:
    return matched(UUID, file, text, "a UUID as Qpid writes it")
