"""Kafka's controllers (KRaft): the metadata log, its voters, and the node of a directory.

    meta.properties                        cluster, node, and since 3.7 the directory's own id
    __cluster_metadata-0/quorum-state      the last epoch and vote; voters, if they are fixed
    __cluster_metadata-0/OFFSET.log        batches, each with its epoch and a checksum
    __cluster_metadata-0/OFFSET-EPOCH.checkpoint   a snapshot: everything before it is committed

Control records of the log have the voters: since 3.9 with the ids of their directories, or else
those at the election of a leader.  If a node votes with another directory's id, this directory was
formatted again, and does not vote.  A directory with an empty log does not vote either.

An index is an offset plus one, so the log of a new directory ends at index 0.

Source: Kafka 3.3 to 4.1 (`FileQuorumStateStore`, `QuorumStateData.json`, `DefaultRecordBatch`,
`ControlRecordType`, `VotersRecord.json`, `LeaderChangeMessage.json`, `Snapshots`).
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Iterator, Mapping

from attrs import define, evolve, field

from joinproto.codec.json_text import parsed
from joinproto.codec.malformed import Malformed
from joinproto.pick.raft import Configuration
from joinproto.recovery.foreign.crc32c import crc32c
from joinproto.recovery.foreign.protobuf import varint
from joinproto.recovery.foreign.text import TEXT_BYTES_MAX, NotAsWritten, packed
from joinproto.recovery.foreign.tree import Tree, reader
from joinproto.recovery.found import Fact, Found, Raw, State
from joinproto.recovery.raft_facts import RaftFacts

NAMES = ("kraft facts",)
SIGNS = ("__cluster_metadata-0",)
GLOBS = (
    *("meta.properties", "__cluster_metadata-0/quorum-state"),
    *("__cluster_metadata-0/*.log", "__cluster_metadata-0/*.checkpoint"),
)
LOCKED = (".lock",)
META, FOLDER = "meta.properties", "__cluster_metadata-0"
STATE = f"{FOLDER}/quorum-state"
SEGMENT = re.compile(r"([0-9]{20})\.log")
CHECKPOINT = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")
HEAD = struct.Struct(">qiibIhiqqqhii")
CHECKED_AT = 21  # the checksum is over the bytes after it
BATCH_BYTES_MAX = 64 << 20
BATCHES_MAX = 10_000_000
IS_CONTROL, IS_PACKED = 0x20, 0x07
LEADER, VOTERS = 2, 6
NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"


def is_here(tree: Tree) -> bool:
    """Return whether this looks like a directory of a controller."""
    return FOLDER in tree.names("")


def digest(tree: Tree) -> bytes:
    """Return the facts of a directory as bytes, however damaged the directory is."""
    try:
        return packed(facts_of(tree))
    except NotAsWritten as error:
        return packed(RaftFacts(damaged=str(error)))


@define
class Log:
    """The facts of the metadata log, as far as it was read.

    `end`: the offset after the last record.  `voting`: the configurations with directories.
    `fixed`: the voters at the election of the last leader.
    """

    end: int = 0
    epoch: int = 0
    voting: list[Configuration] = field(factory=list)
    fixed: list[Configuration] = field(factory=list)
    batches: int = 0

    def take(self, head: bytes, rest: bytes) -> None:
        """Add the facts of a batch; raises `NotAsWritten`.  `rest`: its bytes after `head`."""
        first, _, epoch, magic, checksum, attributes, delta, *_, count = HEAD.unpack(head)
        if magic != 2 or crc32c(rest, crc32c(head[CHECKED_AT:])) != checksum:
            raise NotAsWritten("a checksum is wrong")
        if first != self.end or delta < 0 or epoch < self.epoch or count < 0:
            raise NotAsWritten(f"a batch at {first} of epoch {epoch} follows {self.end}")
        self.batches += 1
        if self.batches > BATCHES_MAX:
            raise NotAsWritten(f"more than {BATCHES_MAX} batches")
        self.end, self.epoch = first + delta + 1, epoch
        if attributes & IS_CONTROL and not attributes & IS_PACKED:
            for key, value in _records(rest, count):
                kind = int.from_bytes(key[2:4], "big") if len(key) >= 4 else 0
                if kind == VOTERS:
                    self.voting.append(_configuration(_voters(value), first + 1, epoch))
                elif kind == LEADER:
                    self.fixed = [_configuration(_electing(value), first + 1, epoch)]


def facts_of(tree: Tree) -> RaftFacts:
    """Return the facts of a directory; raises `NotAsWritten` if it does not name its node."""
    said = _properties(tree)
    node, own = said.get("node.id", ""), said.get("directory.id", "")
    if not node.isdecimal() or not said.get("cluster.id"):
        raise NotAsWritten(f"{META}: names no node, or no cluster")
    log, why = Log(), ""
    committed = 0
    try:
        committed = _read(tree, log)
    except NotAsWritten as error:
        why = str(error)
    fixed: frozenset[str] = frozenset()
    epoch, vote = log.epoch, ""
    try:
        fixed, epoch, vote = _state(tree)
    except NotAsWritten as error:
        why = why or str(error)
    voting = log.voting or log.fixed or [Configuration(index=0, voters=fixed)]
    has_ids = any("@" in one for one in voting[-1].voters)
    if fixed and fixed != _nodes(voting[-1]):
        why = why or f"{STATE}: names other voters than the log"
    member = f"{node}@{own}" if has_ids else node
    anew = ""
    if not log.end and not committed:
        anew = "was formatted, and its log is empty: its node may have voted with another directory"
    elif has_ids and member not in voting[-1].voters and node in _nodes(voting[-1]):
        anew = f"was formatted again: node {node} votes with another directory than {own}"
    return RaftFacts(
        cluster=said["cluster.id"],
        member=member,
        term=max(epoch, log.epoch),
        vote=vote,
        last_term=log.epoch,
        last_index=log.end,
        commit=committed,
        configurations=tuple(voting),
        names={
            one: one.partition("@")[0] for each in voting for one in (*sorted(each.voters), member)
        },
        damaged=why or anew,
        blank=not why and anew != "",
    )


def _nodes(one: Configuration) -> set[str]:
    return {each.partition("@")[0] for each in one.voters}


def _properties(tree: Tree) -> Mapping[str, str]:
    size = tree.size(META)
    if size is None or size > TEXT_BYTES_MAX:
        raise NotAsWritten(f"{META}: is not there, or has {size} bytes")
    try:
        lines = tree.read(META, 0, size).decode("ascii").splitlines()
    except UnicodeDecodeError:
        raise NotAsWritten(f"{META}: is not text") from None
    pairs = [line.partition("=") for line in lines if line and not line.startswith("#")]
    return {key.strip(): value.strip() for key, _, value in pairs}


def _state(tree: Tree) -> tuple[frozenset[str], int, str]:
    """Return the fixed voters, the last epoch, and the vote in this epoch."""
    size = tree.size(STATE)
    if size is None:
        raise NotAsWritten(f"{STATE}: is not there: the node may have voted, and its vote is lost")
    try:
        told = parsed(tree.read(STATE, 0, min(size, TEXT_BYTES_MAX)))
        voters = told.get("currentVoters") or []
        fixed = frozenset(str(int(one["voterId"])) for one in voters)
        epoch, vote = int(told["leaderEpoch"]), int(told["votedId"])
    except (Malformed, AttributeError, KeyError, TypeError, ValueError):
        raise NotAsWritten(f"{STATE}: is not as Kafka writes it") from None
    if not 0 <= epoch < 1 << 31:
        raise NotAsWritten(f"{STATE}: epoch {epoch}")
    return fixed, epoch, str(vote) if vote >= 0 else ""


def _read(tree: Tree, log: Log) -> int:
    """Read the newest snapshot and the log after it; return the offset of the snapshot."""
    names = tree.names(FOLDER)
    snapshots = [match for name in names if (match := CHECKPOINT.fullmatch(name))]
    committed = 0
    if snapshots:
        match = snapshots[-1]
        committed, epoch = int(match[1]), int(match[2])
        inside = Log()
        _batches(tree, f"{FOLDER}/{match[0]}", inside)
        log.voting = [evolve(one, index=committed, term=epoch) for one in inside.voting]
        log.fixed = inside.fixed
        log.epoch, log.end = epoch, committed
    begins = [int(match[1]) for name in names if (match := SEGMENT.fullmatch(name))]
    since = max((one for one in begins if one <= committed), default=None)
    if since is None and (begins or not committed):
        raise NotAsWritten(f"{FOLDER}: its log begins after its snapshot, or is not there")
    if since is not None:
        later = Log(end=since)
        for begin in begins:
            if begin >= since:
                if begin != later.end:
                    raise NotAsWritten(f"{FOLDER}: no file has offset {later.end}")
                _batches(tree, f"{FOLDER}/{begin:020}.log", later)
        log.voting += [one for one in later.voting if one.index > committed]
        log.fixed = later.fixed or log.fixed
        if later.end >= committed:
            log.end, log.epoch = later.end, max(log.epoch, later.epoch)
    return committed


def _batches(tree: Tree, name: str, log: Log) -> None:
    at, size = 0, tree.size(name) or 0
    while at < size:
        head = tree.read(name, at, HEAD.size)
        try:
            if len(head) < HEAD.size:
                raise NotAsWritten("is cut off")
            length = int.from_bytes(head[8:12], "big")
            if not HEAD.size - 12 <= length <= min(BATCH_BYTES_MAX, size - at - 12):
                raise NotAsWritten("is cut off, or is not a batch")
            log.take(head, tree.read(name, at + HEAD.size, length + 12 - HEAD.size))
        except NotAsWritten as error:
            raise NotAsWritten(f"{name}: the batch at byte {at}: {error}") from None
        at += 12 + length


def _records(data: bytes, count: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield key and value of each record of a batch."""
    at = 0
    for _ in range(count):
        size, at = _number(data, at)
        end = at + size
        if not 0 <= size <= len(data) - at:
            raise NotAsWritten("a record is cut off")
        at += 1
        _, at = _number(data, at)
        _, at = _number(data, at)
        pair = []
        for _ in range(2):
            length, at = _number(data, at)
            if length > end - at:
                raise NotAsWritten("a record is cut off")
            pair.append(data[at : at + max(length, 0)])
            at += max(length, 0)
        yield pair[0], pair[1]
        at = end


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return the signed number at `at`, and the place after it."""
    found, at = varint(data, at)
    return (found >> 1) ^ -(found & 1), at


def _configuration(voters: Iterator[str], index: int, epoch: int) -> Configuration:
    """Return the configuration of a control record."""
    try:
        found = frozenset(voters)
    except (struct.error, IndexError):
        raise NotAsWritten("a control record is cut off") from None
    if not found:
        raise NotAsWritten("a control record names no voters")
    return Configuration(index=index, term=epoch, voters=found)


def _electing(value: bytes) -> Iterator[str]:
    """Yield the voters at the election of a leader; with directories since version 1."""
    (version,) = struct.unpack_from(">h", value)
    count, at = varint(value, 6)
    for _ in range(count - 1):
        (node,) = struct.unpack_from(">i", value, at)
        own = _id(value[at + 4 : at + 20]) if version else NO_ID
        yield str(node) if own == NO_ID else f"{node}@{own}"
        at = _skip_tags(value, at + (20 if version else 4))


def _voters(value: bytes) -> Iterator[str]:
    count, at = varint(value, 2)
    for _ in range(count - 1):
        (node,) = struct.unpack_from(">i", value, at)
        yield f"{node}@{_id(value[at + 4 : at + 20])}"
        ends, at = varint(value, at + 20)
        for _ in range(ends - 1):
            for _ in range(2):  # its name, its host
                length, at = varint(value, at)
                at += length - 1
            at = _skip_tags(value, at + 2)
        at = _skip_tags(value, _skip_tags(value, at + 4))


def _skip_tags(value: bytes, at: int) -> int:
    """Return the place after the tagged fields at `at`, which later versions may have added."""
    count, at = varint(value, at)
    for _ in range(count):
        _, at = varint(value, at)
        size, at = varint(value, at)
        at += size
    return at


def _id(data: bytes) -> str:
    """Return an id in the form in which Kafka shows it."""
    if len(data) < 16:
        raise NotAsWritten("an id is cut off")
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _found_of(raw: Raw, facts: RaftFacts) -> Found:
    state = State.UNFINISHED if facts.blank else State.CORRUPT if facts.damaged else State.DIRTY
    return Found.of(
        raw,
        state,
        facts.damaged,
        member=facts.member.partition("@")[0],
        cluster=facts.cluster,
        raft_log=facts,
        facts=(
            Fact("cluster", facts.cluster),
            Fact("node, directory", facts.member),
            Fact("epoch, vote", f"{facts.term}, {facts.vote or 'none'}"),
            Fact("log ends", f"before offset {facts.last_index}, in epoch {facts.last_term}"),
            Fact("committed", f"before offset {facts.commit}, as far as it knows"),
            Fact("voters", " ".join(sorted(facts.newest.voters)) or "not written"),
        ),
    )


read = reader(RaftFacts, "a controller", NAMES[0], _found_of)
