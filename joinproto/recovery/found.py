"""The contents of a store's directory, of any format: first its bytes, then their meaning.

    Raw     the bytes of the few files that matter, and any errors in reading them
    Found   the meaning of those bytes: member, cluster, state, and the end of the data

There are two steps, because `collect` carries a `Raw` to another machine, which interprets it
again: no text that another program wrote about a store is believed.

Each format has one module with the name of its value (`joinproto/recovery/foreign/qpid.py`; ours
are `own.py` and `brokers.py`), and with these names:

    NAMES = ("cluster/store.status",)         # files it reads, relative to the data directory
    def more(entries) -> tuple[str, ...]: ... # optional: names of further files in a directory
    def read(raw: Raw) -> Found: ...          # pure; never raises; raw.problem is ""

`gather.py` opens the files (read only, links refused, at most `FILE_BYTES_MAX` bytes each) and
fills a `Raw`.  `--format auto` takes the format that has one of its names in the directory; if
there are several such formats, the operator must choose.

A reader takes `raw.file(name)`.  The file's `data` is None if it is missing or cannot be read.  If
it cannot be read, `problem` says why.  `raw.recovered` is the operator's `--position DIR=...`: a
number, or the text of a log.

A reader fills in:

    path host format     copied from `raw` (use `Found.of(raw, ...)`)
    state                see `State`; a store with a missing or half-readable file is UNREADABLE or
                         CORRUPT, never CLEAN and never EMPTY
    member               the name that *other* stores of the cluster use for this one in their
                         last view (Galera: my_uuid; RabbitMQ: node name); "" if not known
    cluster              initial signature: equal for stores of one cluster; "" if not known
    cluster_name         for people; "" if the format has none
    seq                  count of frames, comparable in one cluster; None if not known
    final                final signature of a CLEAN store: equal signatures mean equal data; "" if
                         the format has none
    last_view            `LastView(members, number, id)`: the members that ran when this member
                         stopped; None if not known.  `number` only if it orders the views of one
                         cluster
    stopped_last         the store says that no other member ran any more (for example, it lists
                         only itself, or has safe_to_bootstrap: 1 with a seqno)
    may_be_last          the store does not rule out that no other member ran any more
    lost_view            the member was killed, and its last view is lost, so it may have been on
                         another side than the other stores
    history              from the number of a frame to the hash of its data; None if not known
    problems             one sentence each, the worst first
    facts                for people: `Fact("seqno", "-1")`, in the file's order
    node                 a `NodeList`, if the broker keeps a list of the nodes that it waits for at
                         its start, under names that never change (RabbitMQ); else None
    raft                 the logs of its Raft groups, if each group has a verdict of its own
    raft_log             facts of its Raft log, if the store is a member of one group
                         (etcd, KRaft); judged in `rafts.py`
    record               only for stores of joinproto; else None

`joinproto/pick/` compares several stores by `Found.candidate`, and finds the latest store and the
missing stores.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from enum import Enum
from hashlib import sha256
from typing import Annotated, Any

from attrs import field, frozen

from joinproto.codec.json_form import Written, filled
from joinproto.join.store import StoreRecord
from joinproto.pick.candidate import Candidate, LastView, State
from joinproto.pick.wait_graph import NodeList
from joinproto.recovery.foreign.ra.log import RaSystem
from joinproto.recovery.frames import Journal
from joinproto.recovery.raft_facts import RaftFacts
from joinproto.recovery.words import shown

__all__ = ["Fact", "Format", "Found", "LastView", "Raw", "RawFile", "State"]

FILE_BYTES_MAX = 64 << 20
"""A larger file is not read, because no file that a reader needs is so large."""

EMPTY = "the directory is empty: it was never written to, was wiped, or its disk is not mounted"


class Format(Enum):
    """The program that wrote a directory."""

    JOINPROTO = "joinproto"
    STANDBY = "standby"  # joinproto's hot standby
    QPID = "qpid"
    GALERA = "galera"
    RABBITMQ = "rabbitmq"
    ETCD = "etcd"
    POSTGRESQL = "postgresql"
    KRAFT = "kraft"


def _packed(data: bytes | None) -> str | None:
    # The views of a store are similar, so even the fastest level makes it ten times smaller.
    return None if data is None else base64.b64encode(zlib.compress(data, level=1)).decode()


def _unpacked(text: str | None) -> bytes | None:
    if text is None:
        return None
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(base64.b64decode(text, validate=True), FILE_BYTES_MAX)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not stream.eof:
        raise ValueError(f"a file of more than {FILE_BYTES_MAX} bytes, or cut off")
    return data


_DEFLATED = Written(str | None, _packed, _unpacked)
_BASE64 = Written(
    str,
    lambda data: base64.b64encode(data).decode(),
    lambda text: base64.b64decode(text, validate=True),
)


@frozen
class RawFile:
    """One file as it was read.

    `modified`: seconds since 1970, shown and never compared.  `errno`: the system's error when the
    file was read, if any; known on this machine only.
    """

    name: Annotated[str, "the file's path below the directory"]
    data: Annotated[bytes | None, _DEFLATED, "the file's bytes"] = field(default=None, repr=False)
    problem: Annotated[str, "why it could not be read"] = ""
    modified: Annotated[float | None, "when it was written"] = None
    errno: int | None = field(default=None, eq=False, repr=False)

    @property
    def is_absent(self) -> bool:
        return self.data is None and self.problem == ""


@frozen(kw_only=True)
class Raw:
    """A directory as it was read on `host`, at the time `read_at` (seconds since 1970).

    `format`: None if it is unknown; then `files` has names without bytes, to recognize a program
    whose stores cannot be read.  `in_use`: "" if no process has the store open.  `called`: set if
    it differs from the last part of `path`, because a link led there.  `errnos`: errors of the
    system that belong to no file, known on this machine only.
    """

    path: Annotated[str, "the directory"]
    host: Annotated[str, "where it was read"]
    format: Annotated[Format | None, "the program that wrote it"]
    in_use: Annotated[str, "the process that has it open"] = ""
    lock_problem: Annotated[str, "why it is unknown whether a process has it open"] = ""
    problem: Annotated[str, "why it could not be read"] = ""
    called: Annotated[str, "the last part of its path as it was typed"] = ""
    leftovers: Annotated[tuple[str, ...], "files that were being written"] = ()
    journal: Annotated[Journal | None, "joinproto's own log"] = None
    recovered: Annotated[bytes, _BASE64, "the position that the operator gave"] = b""
    read_at: Annotated[float, "when it was read"] = 0.0
    files: Annotated[tuple[RawFile, ...], "the files that matter"] = ()
    errnos: frozenset[int | None] = field(default=frozenset(), eq=False, repr=False)

    @property
    def errors(self) -> frozenset[int]:
        """Return the number of each error of the system in reading the directory."""
        return frozenset(number for number, _ in self.refusals)

    @property
    def refusals(self) -> list[tuple[int, str]]:
        """Return each error of the system in reading the directory, with a text."""
        found = [(file.errno, f"{file.name}: {file.problem}") for file in self.files]
        if self.journal is not None:
            found.append((self.journal.errno, f"frames.log: {self.journal.problem}"))
        said = self.lock_problem or self.problem.rpartition(": ")[2]
        found += [(number, said) for number in self.errnos]
        return [(number, text) for number, text in found if number is not None]

    def file(self, name: str) -> RawFile:
        """Return the file with this name, or an absent file if it was not there."""
        return next((file for file in self.files if file.name == name), RawFile(name))

    @property
    def digest(self) -> str:
        """Return a hash of the files, the journal, the given position, and all problems.

        It does not cover the process that has the store open, which is determined each time.
        """
        parts = [self.format.value if self.format else "", self.problem, self.lock_problem]
        for file in sorted(self.files, key=lambda one: one.name):
            said = "-" if file.data is None else sha256(file.data).hexdigest()
            parts += [file.name, said, file.problem]
        parts += ["no journal"] if self.journal is None else self.journal.parts
        parts.append(sha256(self.recovered).hexdigest())
        text = json.dumps(["joinproto found 2", *parts])
        return sha256(text.encode()).hexdigest()


@frozen
class Fact:
    """One value in a store, for people."""

    name: str
    value: str


@frozen(kw_only=True)
class Found:
    """The meaning of one directory's bytes; the module's docstring explains the fields.

    `label`: a name for a store whose `host` and `path` another store has as well.
    """

    path: str
    host: str
    format: Format | None
    state: State
    raw: Raw = field(repr=False)
    member: str = ""
    cluster: str = ""
    cluster_name: str = ""
    record: StoreRecord | None = field(default=None, repr=False)
    seq: int | None = None
    final: str = ""
    last_view: LastView | None = None
    stopped_last: bool = False
    may_be_last: bool = False
    lost_view: bool = False
    history: Mapping[int, bytes] | None = field(default=None, repr=False)
    node: NodeList | None = field(default=None, repr=False)
    raft: tuple[RaSystem, ...] = field(default=(), repr=False)
    raft_log: RaftFacts | None = field(default=None, repr=False)
    problems: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    label: str = ""

    @classmethod
    def of(cls, raw: Raw, state: State, *problems: str, **more: Any) -> Found:
        """Return the meaning of `raw`; its state is `IN_USE` if a process has it open.

        Empty texts in `problems` are left out.
        """
        return cls(
            path=raw.path,
            host=raw.host,
            format=raw.format,
            state=State.IN_USE if raw.in_use else state,
            raw=raw,
            problems=tuple(filter(None, problems)),
            **more,
        )

    @property
    def name(self) -> str:
        """Return the label, or else host and path, because several hosts may have one path."""
        return self.label or f"{self.host}:{shown(self.path)}"

    def fact(self, name: str) -> str:
        """Return the value of the fact with this name, "" if there is none."""
        return next((fact.value for fact in self.facts if fact.name == name), "")

    @property
    def candidate(self) -> Candidate:
        """Return the facts by which `pick` compares this store."""
        cluster, final = self.cluster or None, self.final or None
        return filled(Candidate, self, cluster=cluster, final=final)
