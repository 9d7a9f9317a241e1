"""Mnesia's tables on a node's disk: which definitions the node has.

    TABLE.DCD       a table as it was when it was last written whole
    TABLE.DCL       the changes since: {{Table, Key}, Record, Op}
    PREVIOUS.LOG,   transactions that are in no table's file yet: `commit` with its changes, and
    LATEST.LOG      `decision` for transactions that asked other nodes first

Each file is a log of Erlang's `disk_log`: four bytes of magic, four that say whether it was closed,
then for each term its size, four bytes of magic and the term in the external format.  Bytes after
the last whole term belong to an unfinished write.  Mnesia drops them silently.  Here the file
counts as damaged, because a bad disk leaves the same, and may have lost much.

A record is never decoded: only the places of its parts in the bytes are found.  Tables are treated
as sets.

Source: OTP 25 (`disk_log_1.erl`, `mnesia_log.erl`, `erl_ext_dist`), RabbitMQ 3.10 on Debian 12.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from joinproto.pick.definitions import Definitions
from joinproto.recovery.foreign import external
from joinproto.recovery.foreign.text import NotAsWritten

if TYPE_CHECKING:
    from joinproto.recovery.found import RawFile

LATEST, PREVIOUS = "LATEST.LOG", "PREVIOUS.LOG"
WHOLE, CHANGES = ".DCD", ".DCL"
USUAL_TABLES = tuple(
    f"rabbit_{table}{WHOLE}"
    for table in (
        "durable_exchange",
        "durable_queue",
        "durable_route",
        "runtime_parameters",
        "user",
        "user_permission",
        "vhost",
    )
)
"""Tables that every release with Mnesia has, from a node's first start on."""
NODE_TABLES = {"rabbit_node_maintenance_states"}
"""Tables that a node writes for itself, without a client's request."""

MAGIC, ITEM_MAGIC = bytes((1, 2, 3, 4)), bytes((98, 87, 76, 65))
OPENED, CLOSED = bytes((6, 7, 8, 9)), bytes((99, 88, 77, 11))
QUEUE_FIELDS = 6
"""The first fields of `amqqueue`, which count: tag, name, durable, auto_delete, exclusive_owner,
arguments."""
HASHED_FROM = 65_528
"""A term of this many bytes or more has an MD5 before it."""


def names_in(entries: Collection[str]) -> tuple[str, ...]:
    """Return the names of Mnesia's files in a directory."""
    tables = (
        name
        for name in entries
        if name.startswith("rabbit_")
        and name.endswith((WHOLE, CHANGES))
        and name.rpartition(".")[0] not in NODE_TABLES
    )
    return (*(name for name in (PREVIOUS, LATEST) if name in entries), *sorted(tables))


def definitions_in(files: Mapping[str, bytes]) -> Definitions:
    """Return the definitions in these files (names to contents); raises `NotAsWritten`."""
    # A start renames the log before it writes a new one, and a kill may happen in between.
    if not files.get(LATEST) and not files.get(PREVIOUS):
        raise NotAsWritten(f"{LATEST}: is {'empty' if LATEST in files else 'not there'}")
    tables = _Tables()
    for name, data in files.items():
        if name.endswith(WHOLE):
            table = name.removesuffix(WHOLE).encode()
            for term in _terms(name, data):
                record = external.parts_of(term, 2)
                if external.atom(record[0]) != b"log_header":
                    tables.write(table, record[1], term)
    for name, data in files.items():
        if name.endswith(CHANGES):
            for term in _terms(name, data):
                parts = external.parts_of(term)
                if len(parts) == 3:
                    tables.change(parts)
    logs = [
        term for name in (PREVIOUS, LATEST) if name in files for term in _terms(name, files[name])
    ]
    tables.transact(logs)
    return Definitions(
        values=tables.values,
        own=len(tables.own & tables.values.keys()),
        deleted=frozenset(tables.deleted),
        is_closed=files.get(LATEST, b"")[4:8] == CLOSED,
        in_doubt=tables.in_doubt,
    )


def definitions_of(files: Sequence[RawFile]) -> tuple[Definitions | None, str]:
    """Return the definitions in the tables, or None and the reason, "" if no table exists."""
    here = {file.name: file for file in files if file.name.endswith((WHOLE, CHANGES, ".LOG"))}
    refused = [f"{name}: {file.problem}" for name, file in here.items() if file.problem]
    refused += [f"{name}: is not there" for name in USUAL_TABLES if name not in here]
    if refused or not here:
        return None, f"the tables cannot be read: {refused[0]}" if here else ""
    try:
        return definitions_in({name: file.data or b"" for name, file in here.items()}), ""
    except NotAsWritten as error:
        return None, f"the tables cannot be read: {error}"


class _Tables:
    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.deleted: set[bytes] = set()
        self.of_table: dict[bytes, set[bytes]] = {}
        self.own: set[bytes] = set()
        self.in_doubt = 0

    def write(self, table: bytes, key: bytes, record: bytes) -> None:
        hashed = _hash(table + b"\0" + key)
        self.values[hashed] = _hash(_lasting_parts(table, record))
        self.of_table.setdefault(table, set()).add(hashed)
        self.deleted.discard(hashed)
        if not _is_of_a_new_node(table, key):
            self.own.add(hashed)

    def change(self, parts: list[bytes]) -> None:
        """Apply a change: the parts of `{{Table, Key}, Record, Op}`."""
        table, key, *_ = external.parts_of(parts[0], 2)
        name, op = external.atom(table), external.atom(parts[2])
        if not name.startswith(b"rabbit_") or name.decode("utf-8", "replace") in NODE_TABLES:
            return
        if op == b"write":
            self.write(name, key, parts[1])
        elif op in (b"delete", b"delete_object"):
            hashed = _hash(name + b"\0" + key)
            self.values.pop(hashed, None)
            self.deleted.add(hashed)
        elif op == b"clear_table":
            for hashed in self.of_table.get(name, ()):
                self.values.pop(hashed, None)
                self.deleted.add(hashed)
        else:
            raise NotAsWritten(f"an unknown kind of change of Mnesia: {op!r}")

    def transact(self, terms: list[bytes]) -> None:
        """Apply the decided transactions of the logs, and count the others as in doubt."""
        committed = set()
        entries = [external.parts_of(term) for term in terms]
        counted = [
            parts for parts in entries if external.atom(parts[0]) in (b"decision", b"commit")
        ]
        if any(len(parts) < 3 for parts in counted):
            raise NotAsWritten("a transaction of Mnesia lacks its changes")
        for parts in counted:
            if external.atom(parts[0]) == b"decision" and external.atom(parts[2]) == b"committed":
                committed.add(parts[1])
        for parts in counted:
            if external.atom(parts[0]) != b"commit":
                continue
            # After the node and the decision there are changes of tables in memory, then in memory
            # and on disc, then on disc only.
            changes = [change for part in parts[4:6] for change in external.items_of(part)]
            if external.is_tuple(parts[2]):
                asked = external.parts_of(parts[2], 2)
                if asked[1] not in committed:
                    self.in_doubt += bool(changes)
                    continue
            for change in changes:
                self.change(external.parts_of(change, 3))


def _lasting_parts(table: bytes, record: bytes) -> bytes:
    """Return the parts of a record that no node changes by itself.

    For a queue these are its name, the declared properties and its arguments.  The rest says which
    nodes lead it and have copies; it is written again when a node comes or goes.
    """
    return (
        b"".join(external.parts_of(record)[:QUEUE_FIELDS])
        if table == b"rabbit_durable_queue"
        else record
    )


def _is_of_a_new_node(table: bytes, key: bytes) -> bool:
    """Return whether RabbitMQ itself makes this definition on a new node."""
    match table:
        case b"rabbit_durable_exchange":
            return b"amq." in key or key.endswith(bytes(4))
        case b"rabbit_user" | b"rabbit_user_permission":
            return b"guest" in key
        case b"rabbit_vhost":
            return key.endswith(b"\x01/")
        case b"rabbit_runtime_parameters":
            return not external.is_tuple(key)
    return False


def keys_of_queue(vhost: str, queue: str) -> frozenset[bytes]:
    """Return the keys that a queue may have in the definitions: atoms have two forms."""
    texts = vhost.encode(), queue.encode()
    names = [b"m" + len(one).to_bytes(4, "big") + one for one in texts]
    found = set()
    for tag, size in ((b"d", 2), (b"w", 1)):
        atoms = [tag + len(one).to_bytes(size, "big") + one for one in (b"resource", b"queue")]
        key = b"h\x04" + atoms[0] + names[0] + atoms[1] + names[1]
        found.add(_hash(b"rabbit_durable_queue" + b"\0" + key))
    return frozenset(found)


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=12).digest()


# -- logs ------------------------------------------------------------------------------------------


def _terms(name: str, data: bytes) -> Iterator[bytes]:
    """Yield the terms of a log, without their first byte (131); raises `NotAsWritten`."""
    if not data and name == LATEST:
        return  # the node was killed right after it created the file
    if data[:4] != MAGIC or data[4:8] not in (OPENED, CLOSED):
        raise NotAsWritten(f"{name}: is not a log of Erlang")
    at = 8
    while at + 8 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        if data[at + 4 : at + 8] != ITEM_MAGIC:
            break
        begin = at + 8 + (16 if size >= HASHED_FROM else 0)
        end = begin + size
        if size == 0 or end > len(data):
            break
        if data[begin] != 131:
            raise NotAsWritten(f"{name}: no term begins at byte {begin}")
        yield data[begin + 1 : end]
        at = end
    if at != len(data):
        raise NotAsWritten(
            f"{name}: {len(data) - at} bytes from byte {at} on are not a whole term: the data there"
            " are lost"
        )
