"""Files of Ra: kept from real nodes, or made byte by byte."""

from __future__ import annotations

import io
import lzma
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from joinproto.recovery import pack
from joinproto.recovery.foreign.ra import dets
from joinproto.recovery.foreign.ra.folders import FLAGS_SUFFIX
from tests.recovery.foreign.directories import DATA

REAL = DATA / "ra" / "three.pack.xz"
"""RabbitMQ 3.10.8.  q1 was reduced to a and b, c came back, q1 was purged, and a and b have a
snapshot; c was killed before the last messages of q2; q3 was declared a moment before a and b were
killed; q4 has only the members b and c."""
MNESIA = DATA / "ra" / "mnesia-4.0.pack.xz"
"""RabbitMQ 4.0.5 with its metadata in Mnesia, copied while it ran; q2 was declared last, and is not
in `names.dets` yet.  Each node has its own log of Khepri, which is not used."""
KHEPRI = DATA / "ra" / "khepri-4.0.pack.xz"
"""The same three nodes after the flag `khepri_db` was enabled, with 100 messages in each queue;
then they were killed.  Before the kill, `rabbitmq-diagnostics metadata_store_status` and
`rabbitmq-queues quorum_status` said that all nodes had applied entry 74 of the metadata and 106 of
q0, in term 1."""
KHEPRI_4_3 = DATA / "ra" / "khepri-4.3.pack.xz"
"""Three nodes of RabbitMQ 4.3.6, made the same way: entry 103 of the metadata, and 106 of q0."""
FORCED = DATA / "ra" / "forced-4.0.pack.xz"
"""The three nodes of 4.0.5 were started and stopped in order.  A copy of c was then made the only
member by `rabbit_khepri:force_shrink_member_to_current_member` and the same for each queue, as the
advice says; it had all 300 messages, and was killed."""
NODES = ("a@localhost", "b@localhost", "c@localhost")


def real_nodes(place: Path, kept: Path = REAL) -> dict[str, Path]:
    """Unpack the real nodes' directories in `place`; return the directories by node."""
    (place / "all").mkdir(parents=True)
    data = lzma.decompress(kept.read_bytes())
    unpacking = pack._Unpacking(io.BytesIO(data), "real", place / "all")
    unpacking.unpack()
    found = {}
    for folder, path, _, _ in unpacking.found:
        found[Path(path).name] = folder.rename(place / Path(path).name)
        flags = folder.with_name(f"{folder.name}{FLAGS_SUFFIX}")
        if flags.exists():
            flags.rename(place / f"{Path(path).name}{FLAGS_SUFFIX}")
    return found


# -- terms in the external format, without their first byte ----------------------------------------


def atom(name: str) -> bytes:
    return b"w" + bytes([len(name)]) + name.encode()


def tuple_of(*parts: bytes) -> bytes:
    return b"h" + bytes([len(parts)]) + b"".join(parts)


def number(value: int) -> bytes:
    return b"b" + value.to_bytes(4, "big")


def binary(data: bytes) -> bytes:
    return b"m" + len(data).to_bytes(4, "big") + data


def map_of(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    listed = list(pairs)
    return b"t" + len(listed).to_bytes(4, "big") + b"".join(key + value for key, value in listed)


def members(group: str, nodes: Sequence[str], learners: Sequence[str] = ()) -> bytes:
    """Return the map of a change of members."""
    voter, learner = (
        map_of([(atom("voter_status"), map_of([(atom("membership"), atom(what))]))])
        for what in ("voter", "promotable")
    )
    servers = [(tuple_of(atom(group), atom(node)), voter) for node in nodes]
    servers += [(tuple_of(atom(group), atom(node)), learner) for node in learners]
    return map_of(servers)


def command(group: str, nodes: Sequence[str], learners: Sequence[str] = ()) -> bytes:
    """Return the data of an entry that changes members."""
    change = members(group, nodes, learners)
    return b"\x83" + tuple_of(atom("$ra_cluster_change"), map_of([]), change, atom("none"))


# -- files -----------------------------------------------------------------------------------------

Record = tuple[bytes, int, int, bytes]
"""Uid, index, term and data of an entry."""


def wal(records: Iterable[Record], *, checksums: bool = True) -> bytes:
    found, numbers = [b"RAWA\x01"], dict[bytes, int]()
    for uid, index, term, data in records:
        rest = index.to_bytes(8, "big") + term.to_bytes(8, "big") + data
        if uid in numbers:
            head = (1 << 22 | numbers[uid]).to_bytes(3, "big")
        else:
            numbers[uid] = len(numbers)
            head = numbers[uid].to_bytes(3, "big") + len(uid).to_bytes(2, "big") + uid
        said = zlib.adler32(rest) if checksums else 0
        found += [head, said.to_bytes(4, "big"), len(data).to_bytes(4, "big"), rest]
    return b"".join(found)


def segment(entries: Sequence[tuple[int, int, bytes]], *, room: int = 8) -> bytes:
    at, index, written = 8 + 32 * room, b"", b""
    for number_, term, data in entries:
        index += number_.to_bytes(8, "big") + term.to_bytes(8, "big") + at.to_bytes(8, "big")
        index += len(data).to_bytes(4, "big") + zlib.crc32(data).to_bytes(4, "big")
        written, at = written + data, at + len(data)
    head = b"RASG" + (2).to_bytes(2, "big") + room.to_bytes(2, "big")
    return head + index.ljust(32 * room, b"\0") + written if entries else head


def snapshot(index: int, term: int, cluster: bytes, state: bytes = b"state") -> bytes:
    said = [
        (atom("index"), number(index)),
        (atom("term"), number(term)),
        (atom("cluster"), cluster),
    ]
    meta = b"\x83" + map_of(said)
    rest = len(meta).to_bytes(4, "big") + meta + state
    return b"RASN\x01" + zlib.crc32(rest).to_bytes(4, "big") + rest


def table(objects: Iterable[bytes]) -> bytes:
    """Return a table of DETS that was not closed."""
    found = bytearray(dets.BASE)
    found[4:8], found[16:20] = dets.COOKIE.to_bytes(4, "big"), dets.VERSION.to_bytes(4, "big")
    for term in objects:
        found += (len(term) + 13).to_bytes(4, "big") + dets.ACTIVE
        found += (len(term) + 5).to_bytes(4, "big") + b"\x83" + term
        found += bytes(-(len(found) - dets.BASE) % dets.STEP)
    return bytes(found)


def config(
    group: str, node: str, nodes: Sequence[str], uid: str, friendly: str = "", made: int = 0
) -> bytes:
    listed = ",".join(f"{{{group},{one}}}" for one in nodes)
    return (
        f'#{{cluster_name => {group},friendly_name => "{friendly}",\n  id => {{{group},{node}}},'
        f"\n  initial_members => [{listed}],"
        f"\n  machine => {{module,rabbit_fifo,#{{created => {made}}}}},"
        f'\n  uid => <<"{uid}">>}}.'
    ).encode()


def node(
    place: Path,
    name: str,
    *,
    entries: Sequence[tuple[int, int, bytes]],
    nodes: Sequence[str] = NODES,
    group: str = "rabbitmq_metadata",
    system: str = "coordination",
    term: int = 1,
    applied: int = 0,
    is_named: bool = True,
    made: int = 0,
    before: bytes = b"",
) -> Path:
    """Write the directory of a node with one group; its entries are in a write-ahead log.

    `made`: when its queue was created.  `before`: a snapshot of the entries before `entries`.
    """
    folder, uid = place / name / system / name, f"UID{group[-3:]}"
    (folder / uid / "snapshots").mkdir(parents=True)
    queue = f"queue '{group}' in vhost '/'" if made else ""
    (folder / uid / "config").write_bytes(config(group, name, nodes, uid, queue, made))
    if before:
        (folder / uid / "snapshots" / "1_1").mkdir()
        (folder / uid / "snapshots" / "1_1" / "snapshot.dat").write_bytes(before)
    (folder / "00000001.wal").write_bytes(wal((uid.encode(), *entry) for entry in entries))
    row = tuple_of(binary(uid.encode()), number(term), atom("undefined"), number(applied))
    (folder / "meta.dets").write_bytes(table([row]))
    names = [tuple_of(atom(group), binary(uid.encode()))] if is_named else []
    (folder / "names.dets").write_bytes(table(names))
    return place / name
