"""What is kept durably, each kind as the product opens and writes it, on a disk of the tests.

A kind's value is what its file says.  A step says what the value is when it has returned, and
what it may be if the process or the power ends before.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from random import Random
from typing import Protocol
from zlib import crc32

from attrs import evolve, frozen, mutable

from joinproto.apps.clusterer.keeping.members import Members, MembersFile
from joinproto.apps.clusterer.keeping.stored import StoredConfig
from joinproto.apps.reconcile.journal import Journal as Changes
from joinproto.apps.standby.keeping.disk import Disk as BrokerDisk
from joinproto.apps.standby.keeping.disk import open_disk as open_broker
from joinproto.apps.standby.keeping.form import Deed, Put, Taken
from joinproto.clusterer.config import Config, Held, Notes
from joinproto.durable.filesystem import let_go, make_directories, put, read_all, reason, remove
from joinproto.durable.journal.journal import Frame, Journal, Run
from joinproto.durable.journal.records import base_head, base_line
from joinproto.errors import StoreMissing, StoreUnreadable
from joinproto.join.store import Ballot, StoreRecord
from joinproto.log.disk import Disk as MemberDisk
from joinproto.log.disk import open_disk as open_member
from joinproto.log.dropping import dropping
from joinproto.log.keeper import LEFTOVERS
from joinproto.log.rebasing import BasePieces
from joinproto.log.snapshot import FILE as SNAPSHOT
from joinproto.log.snapshot import load, making
from joinproto.reconcile.keeper import Intent
from joinproto.reconcile.queue import Kind as Replicas
from joinproto.reconcile.reading import Key
from joinproto.reconcile.tables import Action
from joinproto.standby.messages import View
from joinproto.store.handle import Store, create_store, open_store
from tests.durable.disk import Disk
from tests.standby.test_kept import QUEUE, ids

Value = Hashable
PLACE = Path("/disk")
APPLICATION = "texts"
SIZES = (0, 8, 8, 8, 40)
"""Frames of one length fit into each other's places, as what a torn write leaves must not."""


@frozen
class Step:
    """`after`: the value when `do` has returned; `meanwhile`: others that it may be before."""

    do: Callable[[], object]
    after: Value
    meanwhile: tuple[Value, ...] = ()


class Opened(Protocol):
    """A record, a journal, a directory: open."""

    @property
    def value(self) -> Value: ...

    def step(self, chance: Random, number: int) -> Step:
        """Return something to do; `number`: is another one each time."""

    def close(self) -> None: ...


@frozen
class Kind:
    """`is_final`: after a fault in a write, what is open writes no more.

    `bare`: a file of an earlier version, and its value.  `is_record`: there is a record in it;
    `is_checked`: damage is noticed.
    """

    name: str
    open: Callable[[Disk], Opened]
    is_final: bool = True
    bare: tuple[str, bytes, Value] | None = None
    is_record: bool = True
    is_checked: bool = True


# -- records ---------------------------------------------------------------------------------------


@mutable
class StoreOpen:
    store: Store

    @property
    def value(self) -> Value:
        record = self.store.record
        return record.store_id, record.promised and record.promised.round

    def step(self, chance: Random, number: int) -> Step:
        record = evolve(self.store.record, promised=Ballot(number, "a"))
        return Step(lambda: self.store.write(record), (record.store_id, number))

    def close(self) -> None:
        self.store.close()


def open_metadata(disk: Disk) -> StoreOpen:
    try:
        return StoreOpen(open_store(PLACE, files=disk))
    except StoreMissing:
        record = StoreRecord(store_id=f"{disk.chance.getrandbits(64):x}")
        return StoreOpen(create_store(PLACE, record, member="a", files=disk))


@mutable
class ConfigOpen:
    stored: StoredConfig
    value: Value = None

    def step(self, chance: Random, number: int) -> Step:
        config = Config(number, frozenset("ab"), gospel="a", shutdown_timeout=30)
        held = Held(config, Notes.of({"a": "a#1", "b": "b#1"}), Notes.of({"a": 1, "b": 1}))

        def keep() -> None:
            self.stored.keep(held, "a#1")
            self.value = number

        return Step(keep, number)

    def close(self) -> None:
        """Nothing is open between two writes."""


def open_config(disk: Disk) -> ConfigOpen:
    path = PLACE / "below" / "this" / "data"
    try:
        make_directories(disk, path.parent, above=True)
    except OSError as error:
        raise StoreUnreadable(f"{path}: {reason(error)}", next="look at the disk") from error
    stored = StoredConfig(path, files=disk)
    found = stored.load()
    return ConfigOpen(stored, found and found.held.config.version)


@mutable
class MembersOpen:
    file: MembersFile
    value: Value

    def step(self, chance: Random, number: int) -> Step:
        members = Members(members=("a", "b"), ran=(f"n{number}",))

        def keep() -> None:
            self.file.keep(members)
            self.value = members

        return Step(keep, members)

    def close(self) -> None:
        """Nothing is open between two writes."""


def open_members(disk: Disk) -> MembersOpen:
    file = MembersFile(PLACE / "data", disk)
    return MembersOpen(file, file.load())


@mutable
class ChangesOpen:
    journal: Changes
    value: Value

    def step(self, chance: Random, number: int) -> Step:
        intents = tuple(
            Intent(Key("/", f"q{at}"), Replicas.QUORUM, Action.ADD, "a", "b", float(number))
            for at in range(chance.randint(0, 2))
        )

        def write() -> None:
            self.journal.write({one.key: one for one in intents})
            self.value = intents

        return Step(write, intents)

    def close(self) -> None:
        self.journal.close()


def open_changes(disk: Disk) -> ChangesOpen:
    journal = Changes.open(PLACE / "state.json", disk)
    try:
        return ChangesOpen(journal, tuple(journal.read().values()))
    except BaseException:
        journal.close()
        raise


@mutable
class FileOpen:
    """A plain file that other programs read, and the product writes whole."""

    disk: Disk
    value: Value

    def step(self, chance: Random, number: int) -> Step:
        text = b"%d " % number * chance.randint(1, 40)

        def write() -> None:
            put(self.disk, PLACE / "node.toml", text)
            self.value = text

        return Step(write, text)

    def close(self) -> None:
        """Nothing is open between two writes."""


def open_file(disk: Disk) -> FileOpen:
    # The next process writes the file anew before anything reads it: nothing is to be recovered.
    disk.before, before = lambda _: None, disk.before
    fails_in, disk.fails_in = disk.fails_in, None
    room = disk.open_directory(PLACE)
    text = None
    if "node.toml" in disk.names(room):
        file = disk.open_to_read(room, "node.toml")
        text = read_all(disk, file, bytes_max=1 << 20)
        disk.sync(file)
        let_go(disk, file)
    disk.sync_directory(room)
    let_go(disk, room)
    disk.before, disk.fails_in = before, fails_in
    return FileOpen(disk, text)


@mutable
class MemberOpen:
    disk: MemberDisk

    @property
    def value(self) -> Value:
        contents = self.disk.store.contents
        promised = contents.record.promised
        return contents.record.store_id, promised and promised.round, contents.frames_dropped

    def step(self, chance: Random, number: int) -> Step:
        record, drops = self.disk.store.record, self.disk.store.contents.frames_dropped
        if chance.random() < 0.3:
            promised = record.promised and record.promised.round
            return Step(self.disk.before_dropping, (record.store_id, promised, True))
        record = evolve(record, promised=Ballot(number, "a"))
        return Step(lambda: self.disk.store.write(record), (record.store_id, number, drops))

    def close(self) -> None:
        self.disk.close()


def open_directory(disk: Disk) -> MemberOpen:
    path = PLACE / "a"
    return MemberOpen(open_member(path, "a", "cluster", files=disk, frames_on=disk))


# -- journals --------------------------------------------------------------------------------------


@mutable
class LogOpen:
    """A journal, and what stands for dropped frames; its value: all texts, dropped ones, too."""

    journal: Journal
    texts: tuple[bytes, ...]

    @property
    def value(self) -> Value:
        return self.texts

    def step(self, chance: Random, number: int) -> Step:
        base = self.journal.first_seq - 1
        what = chance.random()
        if what < 0.15 and len(self.texts) > base:
            return self._cut(chance.randint(base, len(self.texts) - 1))
        if what < 0.4 and self.texts:
            return Step(lambda: self._shorten(drops=chance.random() < 0.7), self.texts)
        if what < 0.5:
            return self._take_base(number, chance.randint(1, 3))
        texts = [chance.randbytes(chance.choice(SIZES)) for _ in range(chance.randint(1, 3))]
        return self.append(number, texts)

    def append(self, number: int, data: list[bytes]) -> Step:
        first = len(self.texts) + 1
        texts = (*self.texts, *data)
        frames = [Frame(f"{number:064x}", seq, one) for seq, one in enumerate(data, start=first)]

        def append() -> None:
            self.journal.append(frames)
            self.texts = texts

        return Step(append, texts, tuple(texts[:end] for end in range(first, len(texts))))

    def _cut(self, last: int) -> Step:
        def cut() -> None:
            self.journal.cut(last)
            self.texts = self.texts[:last]

        return Step(cut, self.texts[:last])

    def _shorten(self, *, drops: bool) -> None:
        if self.keep_floor(drops=drops) and drops:
            for work in dropping(self.journal, lambda: None):
                work()

    def keep_floor(self, *, drops: bool = True) -> bool:
        """Make a snapshot, `drops`: and the floor; return whether it was made."""
        made: list[bool] = []
        state = iter([b"".join(map(_framed, self.texts))])
        runs = self.journal.runs
        for work in making(
            self.journal, runs, APPLICATION, state, is_floor=drops, made=lambda: made.append(True)
        ):
            work()
        return bool(made)

    def _take_base(self, number: int, count: int) -> Step:
        texts = tuple(f"{number}.{at}".encode() for at in range(count))
        runs = (Run(f"{number:064x}", 1, count),)
        body = base_line(runs, APPLICATION) + b"".join(map(_framed, texts))

        def take() -> None:
            pieces = BasePieces(self.journal, 0, runs, APPLICATION)
            data = base_head(len(body), crc32(body)) + body
            for at in range(0, len(data), 100):
                pieces.take(data[at : at + 100])
            pieces.finish(lambda: None)
            assert not pieces.problem
            self.texts = texts

        return Step(take, texts)

    def close(self) -> None:
        self.journal.close()


def _framed(text: bytes) -> bytes:
    return len(text).to_bytes(4, "big") + text


def _texts(state: bytes) -> tuple[bytes, ...]:
    found, at = [], 0
    while at < len(state):
        end = at + 4 + int.from_bytes(state[at : at + 4], "big")
        found.append(state[at + 4 : end])
        at = end
    return tuple(found)


def open_log(disk: Disk) -> LogOpen:
    journal = Journal.open(PLACE, files=disk)
    texts = _texts(journal.state())
    seq = journal.first_seq
    while frames := journal.read(seq):
        texts += tuple(frame.data for frame in frames)
        seq = frames[-1].seq + 1
    snapshot = load(journal, SNAPSHOT, APPLICATION)
    if snapshot is not None:
        assert texts[: snapshot.position.seq] == _texts(snapshot.state), "a snapshot of another log"
    remove(disk, journal.room, *LEFTOVERS)
    return LogOpen(journal, texts)


@mutable
class BrokerOpen:
    disk: BrokerDisk

    @property
    def value(self) -> tuple[int, tuple[str, ...] | None]:
        queues = self.disk.queues
        return self.disk.kept.view.generation, tuple(ids(self.disk)) if queues else None

    def step(self, chance: Random, number: int) -> Step:
        generation, there = self.value
        if chance.random() < 0.3:
            view = View(generation=number, number=1, primary="a", members=("a",))
            kept = evolve(self.disk.kept, cluster="c", clean=False, view=view)
            return Step(lambda: self.disk.write(kept), (number, there))
        deeds: list[Deed] = [] if there is not None else [QUEUE]
        left = list(there or ())
        for at in range(chance.randint(1, 3)):
            deeds.append(Put("q", f"{number}.{at}", number * 10 + at, b"x" * 20))
            left.append(f"{number}.{at}")
        while len(left) > 6:
            deeds.append(Taken("q", left.pop(0)))
        return Step(lambda: self.disk.append(deeds), (generation, tuple(left)))

    def close(self) -> None:
        self.disk.close()


def open_broker_disk(disk: Disk) -> BrokerOpen:
    path = PLACE / "b"
    opened = open_broker(path, "a", files=disk, frames_on=disk)
    return BrokerOpen(opened)


MEMBERS_BEFORE = b'{"members": ["a", "b"], "ran": ["b"], "given_up": false}'
CHANGES_BEFORE = b"""{"intents": [{"vhost": "/", "queue": "q", "kind": "quorum", "action": "add",
"node": "c", "leader": "a", "since": 12.5}]}"""

KINDS = {
    kind.name: kind
    for kind in (
        Kind("store", open_metadata),
        Kind("member", open_directory),
        Kind("config", open_config, is_final=False),
        Kind(
            "members",
            open_members,
            is_final=False,
            bare=("data-cluster.members", MEMBERS_BEFORE, Members(members=("a", "b"), ran=("b",))),
        ),
        Kind(
            "changes",
            open_changes,
            bare=(
                "state.json",
                CHANGES_BEFORE,
                (Intent(Key("/", "q"), Replicas.QUORUM, Action.ADD, "c", "a", 12.5),),
            ),
        ),
        Kind("file", open_file, is_final=False, is_record=False, is_checked=False),
        Kind("log", open_log, is_record=False),
        Kind("broker", open_broker_disk),
    )
}
