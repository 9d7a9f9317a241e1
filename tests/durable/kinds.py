"""Durable state, each kind as the product opens and writes it, on a disk of the tests.

A kind's value is the content of its file.  A step names the value after its return, and the
possible values if the process or the power ends before.
"""

from __future__ import annotations

from random import Random

from attrs import evolve, mutable

from joinproto.apps.clusterer.keeping.electors import ElectorsFile
from joinproto.apps.clusterer.keeping.members import MembersFile
from joinproto.apps.clusterer.keeping.stored import StoredConfig
from joinproto.apps.reconcile.journal import Journal as Changes
from joinproto.clusterer.config import Config, Held, Notes
from joinproto.clusterer.messages import Members
from joinproto.durable.filesystem import (
    let_go,
    make_directories,
    put,
    put_new,
    read_all,
    reason,
)
from joinproto.errors import JoinprotoError, StoreMissing, StoreUnreadable, StoreWriteFailed
from joinproto.join.store import Ballot, StoreRecord
from joinproto.log.disk import Disk as MemberDisk
from joinproto.log.disk import open_disk as open_member
from joinproto.reconcile.keeper import Intent
from joinproto.reconcile.queue import Kind as Replicas
from joinproto.reconcile.reading import Key
from joinproto.reconcile.tables import Action
from joinproto.recovery.plan import Plan, dump
from joinproto.recovery.plan import Step as PlanStep
from joinproto.recovery.plan import load as load_plan
from joinproto.store.handle import Store, create_store, open_store
from joinproto.swarm.disk import Disk, Folder, Node
from tests.durable.kind import PLACE, Kind, Step, Value
from tests.durable.logs import open_broker_disk, open_log

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
        """Do nothing: no file is open between two writes."""


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
        """Do nothing: no file is open between two writes."""


def open_members(disk: Disk) -> MembersOpen:
    file = MembersFile(PLACE / "data", disk)
    return MembersOpen(file, file.load())


@mutable
class ElectorsOpen:
    file: ElectorsFile
    value: tuple[str, ...]

    def step(self, chance: Random, number: int) -> Step:
        electors = ("a", f"n{number}") if chance.random() < 0.7 else ()

        def change() -> None:
            if electors:
                self.file.keep(electors)
            else:
                self.file.remove()
            self.value = electors

        return Step(change, electors)

    def close(self) -> None:
        """Do nothing: no file is open between two writes."""


def open_electors(disk: Disk) -> ElectorsOpen:
    file = ElectorsFile(PLACE / "data", disk)
    return ElectorsOpen(file, file.load())


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
        """Do nothing: no file is open between two writes."""


def open_file(disk: Disk) -> FileOpen:
    # The next process writes the file again before any program reads it: no recovery is needed.
    disk.before, before = lambda _: None, disk.before
    fails_in, disk.fails_in = disk.fails_in, None
    folder = disk.open_directory(PLACE)
    text = None
    if "node.toml" in disk.names(folder):
        file = disk.open_to_read(folder, "node.toml")
        text = read_all(disk, file, bytes_max=1 << 20)
        disk.sync(file)
        let_go(disk, file)
    disk.sync_directory(folder)
    let_go(disk, folder)
    disk.before, disk.fails_in = before, fails_in
    return FileOpen(disk, text)


@mutable
class PlansOpen:
    """Plans of recovery, each in a new file; the value: the hashes of the whole plans."""

    disk: Disk
    value: frozenset[str]
    ended: bool = False

    def step(self, chance: Random, number: int) -> Step:
        plan = evolve(PLAN, evidence=(f"number {number}",) * chance.randint(1, 20))

        def write() -> None:
            if self.ended:
                raise StoreWriteFailed("the command has ended", next="start it again")
            self.ended = True
            try:
                put_new(self.disk, PLACE / f"{plan.hash}.json", dump(plan).encode())
            except OSError as error:
                raise StoreWriteFailed(reason(error), next="look at the disk") from error
            self.ended = False
            self.value |= {plan.hash}

        return Step(write, self.value | {plan.hash})

    def close(self) -> None:
        """Do nothing: no file is open between two writes."""


def open_plans(disk: Disk) -> PlansOpen:
    found = frozenset(filter(None, (_hash_of_whole_plan(node) for _, node in disk.files())))
    # A plan is for the next command: the file is read again by the command that applies it.
    for folder in (disk.root, *disk.root.shown.values()):
        if isinstance(folder, Folder):
            folder.kept, folder.waiting = dict(folder.shown), []
    for _, node in disk.files():
        node.kept, node.waiting = bytearray(node.shown), []
    return PlansOpen(disk, found)


def _hash_of_whole_plan(node: Node) -> str:
    try:
        return load_plan(bytes(node.shown), name="a plan").hash
    except JoinprotoError:
        return ""


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


PLAN = Plan(
    cluster="c" * 64,
    cluster_name="c",
    verdict="latest",
    is_proven=True,
    loses_nothing=True,
    step=PlanStep(host="h", path="/a", member="a", store_id="a1", before="b" * 64, tip="t" * 64),
    inputs=(),
)
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
        Kind(
            "electors",
            open_electors,
            is_final=False,
            bare=("data-electors.json", b'["a", "b"]', ("a", "b")),
        ),
        Kind("plan", open_plans, is_record=False, is_checked=False),
        Kind("file", open_file, is_final=False, is_record=False, is_checked=False),
        Kind("log", open_log, is_record=False),
        Kind("broker", open_broker_disk),
    )
}
