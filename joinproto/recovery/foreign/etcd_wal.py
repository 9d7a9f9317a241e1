"""etcd's write-ahead log and its snapshots, 3.4 to 3.6: one Raft group, one member.

    member/wal/SEQ-INDEX.wal   records: 8 bytes of length before each, filled up to 8 bytes; each
                               has a checksum over all records up to it; 64 MB are reserved
    member/snap/TERM-INDEX.snap   a checksum, then the snapshot with its voters

The log is read as etcd reads it at its start: from the newest whole snapshot on.  This reader is
stricter than etcd, because no checksum covers the type of a record: a field that etcd never writes,
a term or a commit that goes back, and bytes after the end of the log count as damage.

A power failure leaves a last record that is cut off, and etcd drops it.  A disk that lost synced
data leaves the same, so such a log does not count.  If a log was cut off between two records, its
size shows this; if it was overwritten with zeros from there on, no byte shows it.

Source: etcd 3.4.23 and 3.6 (`server/storage/wal/{decoder,wal,repair}.go`, `walpb`, `raftpb`,
`snapshotter.go`).
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping
from enum import IntEnum

from attrs import define, field, frozen

from joinproto.pick.raft import Configuration
from joinproto.recovery.foreign.crc32c import crc32c
from joinproto.recovery.foreign.protobuf import Message, fields, varint
from joinproto.recovery.foreign.text import NotAsWritten
from joinproto.recovery.foreign.tree import Tree, is_blank
from joinproto.recovery.raft_facts import add_term

WAL, SNAP = "member/wal", "member/snap"
SEGMENT = re.compile(r"([0-9a-f]{16})-([0-9a-f]{16})\.wal")
SNAPSHOT = re.compile(r"([0-9a-f]{16})-([0-9a-f]{16})\.snap")

SEGMENT_BYTES = 64_000_000
RECORD_BYTES_MAX = 64 << 20
SNAPSHOT_BYTES_MAX = 256 << 20
SEGMENTS_MAX = 4_096
SECTOR_BYTES = 512
CHANGES_MAX = 100_000
ADD, REMOVE, UPDATE, LEARN = range(4)


class RecordKind(IntEnum):
    """The kind of a record, with etcd's number."""

    METADATA = 1
    ENTRY = 2
    STATE = 3
    CHECKSUM = 4
    SNAPSHOT = 5


@frozen
class Change:
    """An entry that changes the membership.  `changes`: etcd's number of the kind, and a member."""

    index: int
    term: int
    changes: tuple[tuple[int, str], ...]


@define
class Log:
    """The facts of the log, as far as it was read.

    `start`: the newest whole snapshot; its index is 0 if there is none.  `mark`: the last snapshot
    that the log names.  `terms`: first entry and number of each term.
    """

    start: Configuration
    member: str = ""
    cluster: str = ""
    term: int = 0
    vote: str = ""
    commit: int = 0
    last_term: int = 0
    last_index: int = 0
    mark: int = 0
    changes: list[Change] = field(factory=list)
    terms: list[tuple[int, int]] = field(factory=list)
    names: dict[str, str] = field(factory=dict)
    crc: int = 0
    _before: list[tuple[int, int]] = field(factory=list)
    _seen: int = 0

    def take(self, kind: int, crc: int, data: bytes) -> None:
        """Add the facts of a record; raises `NotAsWritten`."""
        if kind == RecordKind.CHECKSUM:
            if data or (self.crc and self.crc != crc):
                raise NotAsWritten("the checksum of the file before this one differs")
            self.crc = crc
            return
        self.crc = crc32c(data, self.crc)
        if self.crc != crc:
            raise NotAsWritten("a checksum is wrong")
        match kind:
            case RecordKind.METADATA:
                said = Message.read(data, "1 2")
                ids = f"{said.number(1):x}", f"{said.number(2):x}"
                if self.member and ids != (self.member, self.cluster):
                    raise NotAsWritten("the log is of two members")
                self.member, self.cluster = ids
            case RecordKind.ENTRY:
                self._entry(data)
            case RecordKind.STATE:
                said = Message.read(data, "1 2 3")
                if said.number(1) < self.term or said.number(3) < self.commit:
                    raise NotAsWritten("a term or a commit goes back")
                self.term, self.commit = said.number(1), said.number(3)
                self.vote = f"{said.number(2):x}" if said.number(2) else ""
            case RecordKind.SNAPSHOT:
                self.mark = max(self.mark, Message.read(data, "1 2", "3").number(1))
            case _:
                raise NotAsWritten(f"a record of kind {kind}")

    def _entry(self, data: bytes) -> None:
        said = Message.read(data, "1 2 3", "4")
        kind, term, index = said.number(1), said.number(2), said.number(3)
        if kind > 2 or not term:
            raise NotAsWritten(f"an entry of kind {kind} and term {term}")
        if index <= self.start.index:
            self._entry_before_snapshot(index, term)
            return
        self.last_index = max(self.last_index, self.start.index)
        if index > self.last_index + 1:
            raise NotAsWritten(f"entry {index} follows {self.last_index}")
        if index <= self.commit and (index, term) != (self.last_index, self.last_term):
            raise NotAsWritten(f"entry {index} was committed, and is written again")
        if index == self.last_index + 1 and term < self.last_term:
            raise NotAsWritten(f"entry {index} is of an earlier term than the one before")
        self.last_index, self.last_term = index, term
        while self.changes and self.changes[-1].index >= index:
            self.changes.pop()
        add_term(self.terms, index, term)
        if kind:
            self.changes.append(Change(index, term, self._changes(kind, said.text(4))))
            if len(self.changes) > CHANGES_MAX:
                raise NotAsWritten(f"more than {CHANGES_MAX} changes of members")

    def _entry_before_snapshot(self, index: int, term: int) -> None:
        """Add an entry up to the snapshot: only its term is used."""
        if index > self._seen + 1:
            self._before.clear()
        add_term(self._before, index, term)
        self._seen = index

    @property
    def all_terms(self) -> list[tuple[int, int]]:
        """Return the first entry and the number of each term, from the first entry in the log on.

        Entries up to the snapshot count only if the last of them is the snapshot's entry, because a
        member that was sent the snapshot may have had other entries.
        """
        first = self.terms[:1]
        if not self.start.index or not first or first[0] != (self.start.index, self.start.term):
            return self.terms
        leads = self._seen == self.start.index and self._before[-1][1] == self.start.term
        return [*self._before, *self.terms[1:]] if leads else self.terms

    def _changes(self, kind: int, data: bytes) -> tuple[tuple[int, str], ...]:
        if kind == 2:
            several = [value for at, value in fields(data) if at == 2 and isinstance(value, bytes)]
            each = [Message.read(one, "1 2") for one in several]
            return tuple((one.number(1), f"{one.number(2):x}") for one in each)
        said = Message.read(data, "1 2 3", "4")
        who = f"{said.number(3):x}"
        if said.number(2) > LEARN or not said.number(3):
            raise NotAsWritten("a change of members that etcd does not write")
        try:
            told = json.loads(said.text(4) or b"{}")
            name = told.get("name") or (told.get("peerURLs") or [""])[0]
        except (ValueError, RecursionError, AttributeError, TypeError, IndexError, KeyError):
            name = ""
        if isinstance(name, str) and name:
            self.names[who] = name
        return ((said.number(2), who),)

    @property
    def is_founding(self) -> bool:
        """Return whether the log has only the founders' entries, of term 1, without an election."""
        return (
            not self.start.index
            and 0 < self.last_index == len(self.changes)
            and (self.last_term == 1)
        )

    @property
    def configurations(self) -> Iterator[Configuration]:
        """Yield the configurations, from the snapshot or the founding on."""
        voters, learners = self.start.voters, self.start.learners
        if self.start.index:
            yield self.start
        founding = None
        for at, change in enumerate(self.changes, start=1):
            before = voters
            for kind, who in change.changes:
                if kind == ADD:
                    voters, learners = voters | {who}, learners - {who}
                elif kind == REMOVE:
                    voters, learners = voters - {who}, learners - {who}
                elif kind == LEARN:
                    voters, learners = voters - {who}, learners | {who}
            one = Configuration(
                index=change.index, term=change.term, voters=voters, learners=learners
            )
            # At the founding there is an entry for each founder, and all are committed at once.
            if not self.start.index and change.index == at and change.term == 1:
                founding = one
                continue
            if founding is not None:
                yield founding
                founding = None
            if len(change.changes) > 1:  # joint: a majority of both
                yield Configuration(index=change.index, term=change.term, voters=before)
            yield one
        if founding is not None:
            yield founding


def read_log(tree: Tree) -> tuple[Log, str]:
    """Return the facts of the log, and why they cannot be believed, "" if they can."""
    start, why = Configuration(index=0), ""
    try:
        start = _snapshot(tree)
    except NotAsWritten as error:
        why = str(error)
    log = Log(start, last_term=start.term, last_index=start.index)
    if start.index:
        log.terms.append((start.index, start.term))
    try:
        names = _segments(tree, start.index)
        for name in names:
            _segment(tree, name, log, is_last=name == names[-1])
        if not log.member:
            raise NotAsWritten(f"{WAL}: names no member")
        if log.mark > log.last_index:
            raise NotAsWritten(f"{WAL}: knows of a snapshot at {log.mark}, which is not here")
        if log.last_term > log.term or log.commit > log.last_index:
            raise NotAsWritten(f"{WAL}: its last records are not there")
        if log.commit < start.index:
            raise NotAsWritten(f"{WAL}: ends before the snapshot at {start.index}")
    except NotAsWritten as error:
        why = why or str(error)
    return log, why


def has_no_log(tree: Tree) -> bool:
    """Return whether the directory has no file of a log."""
    return not any(map(SEGMENT.fullmatch, tree.names(WAL)))


def _segments(tree: Tree, index: int) -> list[str]:
    """Return the files that etcd reads, from the file with the snapshot's next entry on."""
    found = [match for name in tree.names(WAL) if (match := SEGMENT.fullmatch(name))]
    if not 0 < len(found) <= SEGMENTS_MAX:
        raise NotAsWritten(f"{WAL}: has {len(found)} files")
    numbers = [int(match[1], 16) for match in found]
    at = max((at for at, one in enumerate(found) if int(one[2], 16) <= index), default=None)
    if at is None:
        raise NotAsWritten(f"{WAL}: begins after the snapshot at {index}")
    if numbers[at:] != list(range(numbers[at], numbers[at] + len(found) - at)):
        raise NotAsWritten(f"{WAL}: a file between two others is missing")
    return [match[0] for match in found[at:]]


def _segment(tree: Tree, name: str, log: Log, *, is_last: bool) -> None:
    path = f"{WAL}/{name}"
    size, at, first = tree.size(path) or 0, 0, True
    while at + 8 <= size:
        (length,) = struct.unpack("<Q", tree.read(path, at, 8))
        if not length:
            break
        count, filled = length & ((1 << 56) - 1), (length >> 56) & 7
        if filled != -count % 8 or (length >> 56) & 0x78 or bool(length >> 63) != bool(filled):
            raise NotAsWritten(f"{path}: the length of the record at {at} is wrong")
        if count > RECORD_BYTES_MAX:
            raise NotAsWritten(f"{path}: the record at {at} has {count} bytes")
        data = tree.read(path, at + 8, count + filled)
        try:
            if len(data) < count + filled:
                raise NotAsWritten("the last record is cut off")
            kind, crc, inside = _record(data[:count])
            if any(data[count:]) or (first and kind != RecordKind.CHECKSUM):
                raise NotAsWritten("a record is not as etcd writes it")
            log.take(kind, crc, inside)
        except NotAsWritten as error:
            torn = (
                is_last and is_torn(data, at + 8) and is_blank(tree, path, at + 8 + len(data), size)
            )
            why = f"the last record is cut off, and etcd drops it ({error})" if torn else error
            raise NotAsWritten(f"{path}: at {at}: {why}") from None
        at, first = at + 8 + len(data), False
    if not is_blank(tree, path, at, size):
        raise NotAsWritten(f"{path}: there are bytes after the end of the log, at {at}")
    if is_last and size < SEGMENT_BYTES and f"{name}.broken" not in tree.names(WAL):
        raise NotAsWritten(f"{path}: is cut off: it has {size} bytes of {SEGMENT_BYTES}")


def _record(data: bytes) -> tuple[int, int, bytes]:
    said = Message.read(data, "1 2", "3")
    kind, at = varint(data, 1) if data[:1] == b"\x08" else (0, 0)
    if kind != said.number(1) or data[at : at + 1] != b"\x10":
        raise NotAsWritten("a record is not as etcd writes it")
    return kind, said.number(2), said.text(3)


def is_torn(data: bytes, at: int) -> bool:
    """Return whether a part of a record in one sector has only zeros; etcd calls it torn then.

    `at`: the place of `data` in the file.
    """
    begins = [0, *range(-at % SECTOR_BYTES or SECTOR_BYTES, len(data), SECTOR_BYTES)]
    return any(not any(data[one:end]) for one, end in zip(begins, [*begins[1:], None], strict=True))


def _snapshot(tree: Tree) -> Configuration:
    """Return the newest whole snapshot, which etcd would choose; raises `NotAsWritten`."""
    found = [match for name in tree.names(SNAP) if (match := SNAPSHOT.fullmatch(name))]
    why = ""
    for match in sorted(found, key=lambda one: one[0], reverse=True):
        path = f"{SNAP}/{match[0]}"
        try:
            one = _snapshot_in(tree, path)
            if (one.term, one.index) == (int(match[1], 16), int(match[2], 16)):
                return one
            why = why or f"{path}: is not the snapshot of its name"
        except NotAsWritten as error:
            why = why or f"{path}: {error}"
    if why:
        raise NotAsWritten(why)
    return Configuration(index=0)


def _snapshot_in(tree: Tree, path: str) -> Configuration:
    size = tree.size(path) or 0
    if size > SNAPSHOT_BYTES_MAX:
        raise NotAsWritten(f"has {size} bytes")
    around = Message.read(tree.read(path, 0, size), "1", "2")
    if crc32c(around.text(2)) != around.number(1):
        raise NotAsWritten("its checksum is wrong")
    about = Message.read(Message.read(around.text(2), "", "1 2").text(2), "2 3", "1")
    who: Mapping[int, set[str]] = {1: set(), 2: set()}  # voters, learners
    for at, value in fields(about.text(1)):
        if at in who and isinstance(value, int):
            who[at].add(f"{value:x}")
        elif value:
            raise NotAsWritten("was taken in the middle of a change of members")
    index, term = about.number(2), about.number(3)
    voters, learners = frozenset(who[1]), frozenset(who[2])
    return Configuration(index=index, term=term, voters=voters, learners=learners)
