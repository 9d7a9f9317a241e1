"""etcd 3.4 to 3.6: the log, the newest snapshot, and a little of the database.

    member/wal, member/snap/*.snap   see `etcd_wal.py`
    member/snap/db                   the database of keys: the last entry in it, the last revision,
                                     the members' names, the release

Directories written by the real 3.4 and 3.5 were read.  By its source, 3.6 writes the same files,
with more fields in the database.

Source: etcd 3.4.23, 3.5.16, 3.5.30; `server/mvcc/buckets`, `server/etcdserver/bootstrap.go` of 3.6.
"""

from __future__ import annotations

import json

from attrs import evolve

from joinproto.codec.json_form import filled
from joinproto.recovery.foreign import etcd_wal
from joinproto.recovery.foreign.bbolt import Database
from joinproto.recovery.foreign.text import NotAsWritten, packed
from joinproto.recovery.foreign.tree import Tree, reader
from joinproto.recovery.found import Fact, Found, Raw, State
from joinproto.recovery.raft_facts import RaftFacts, Term

NAMES = ("etcd facts",)
"""The file with the facts, which a `Raw` has in place of the large files."""

SIGNS = ("member",)
GLOBS = ("member/wal/*.wal", "member/snap/*.snap", "member/snap/db")
MARKS = ("member/wal/*.broken", "member/snap/*.snap.db")
DATABASE = f"{etcd_wal.SNAP}/db"
LOCKED = (DATABASE,)
REVISION_BYTES = 17
FIRST_REVISION = 1
"""The revision of a database without keys."""
COMPACTED = (b"scheduledCompactRev", b"finishedCompactRev")
FOUNDED = (
    "has only the entries that each founder writes by itself: it never heard of another member, or"
    " was wiped and founded again under its old name"
)
NEWEST = (3, 6)
TERMS_MAX = 256
"""The most of the newest terms that are kept, to compare logs."""


def is_here(tree: Tree) -> bool:
    """Return whether this looks like a data directory of etcd."""
    return "member" in tree.names("")


def digest(tree: Tree) -> bytes:
    """Return the facts of a directory as bytes, however damaged the directory is."""
    return packed(facts_of(tree))


def facts_of(tree: Tree) -> RaftFacts:
    """Return the facts of a data directory; `damaged` says why they do not count."""
    log, why = etcd_wal.read_log(tree)
    facts = filled(
        RaftFacts,
        log,
        configurations=tuple(log.configurations),
        terms=tuple(Term(index=index, term=term) for index, term in log.all_terms[-TERMS_MAX:]),
        blank=not log.member and etcd_wal.has_no_log(tree),
    )
    try:
        facts = _with_database(tree, facts)
    except NotAsWritten as error:
        why = why or str(error)
    if not why and log.is_founding:
        return evolve(facts, damaged=FOUNDED, blank=True)
    return evolve(facts, damaged=why or _contradiction(tree, log.start.index, facts))


def _contradiction(tree: Tree, snapshot: int, facts: RaftFacts) -> str:
    """Return why the database cannot belong to this log and its snapshot, "" if it can."""
    if facts.applied is None:
        return f"{DATABASE}: is not there, or names no entry" if snapshot else ""
    if facts.applied < snapshot and f"{snapshot:016x}.snap.db" not in tree.names(etcd_wal.SNAP):
        return f"{DATABASE}: is older than the snapshot at {snapshot}"
    if facts.applied > facts.last_index:
        said = f"{DATABASE} has entry {facts.applied}, and the log ends at {facts.last_index}"
        return f"{said}: one of the two was put back"
    return ""


def _with_database(tree: Tree, facts: RaftFacts) -> RaftFacts:
    if tree.size(DATABASE) is None:
        return facts
    base = Database.open(tree, DATABASE)
    meta = dict(base.items(b"meta"))
    applied = meta.get(b"consistent_index", b"")
    # A compaction removes deleted keys, perhaps also the last key.  So its revision counts, too.
    counted = [meta.get(name, b"") for name in COMPACTED] + [base.last(b"key") or b""]
    revisions = [int.from_bytes(one[:8], "big") for one in counted if len(one) >= REVISION_BYTES]
    release = dict(base.items(b"cluster")).get(b"clusterVersion", b"")
    return evolve(
        facts,
        applied=int.from_bytes(applied, "big") if len(applied) == 8 else None,
        revision=max([FIRST_REVISION, *revisions]) if meta else None,
        release=release.decode("ascii", "replace")[:20],
        names={**facts.names, **dict(map(_id_and_name, base.items(b"members")))},
    )


def _id_and_name(member: tuple[bytes, bytes]) -> tuple[str, str]:
    key, value = member
    try:
        who, told = f"{int(key, 16):x}", json.loads(value)
        name = told.get("name") or told["peerURLs"][0]
    except (ValueError, RecursionError, AttributeError, TypeError, IndexError, KeyError):
        raise NotAsWritten(f"{DATABASE}: a member is not as etcd writes it") from None
    return who, str(name)


def release_numbers(text: str) -> tuple[int, ...]:
    """Return the first two numbers of a release, (0,) if it is not known."""
    parts = text.split(".")[:2]
    return tuple(int(one) for one in parts if one.isascii() and one.isdigit()) or (0,)


def _found_of(raw: Raw, facts: RaftFacts) -> Found:
    state, problem = State.CORRUPT if facts.damaged else State.DIRTY, facts.damaged
    if facts.damaged and release_numbers(facts.release) > NEWEST:
        state = State.NEWER
        problem = f"of etcd {facts.release}, newer than the known releases 3.4 to 3.6: {problem}"
    return Found.of(
        raw,
        State.NONE if facts.blank else state,
        problem,
        member=facts.names.get(facts.member, facts.member),
        cluster=facts.cluster,
        raft_log=facts,
        facts=(
            Fact("cluster", facts.cluster),
            Fact("member", facts.member),
            Fact("term, vote", f"{facts.term}, {facts.vote or 'none'}"),
            Fact("last entry", f"{facts.last_index} of term {facts.last_term}"),
            Fact("committed", f"up to {facts.commit}, as far as it knows"),
            Fact("in the database", f"up to {facts.applied}, revision {facts.revision}"),
            Fact("voters", facts.named(facts.newest.voters)),
            Fact("learners", facts.named(facts.newest.learners) or "none"),
            Fact("release", facts.release or "not written"),
        ),
    )


read = reader(RaftFacts, "etcd", NAMES[0], _found_of)
