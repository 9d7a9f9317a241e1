"""Three members in one process: founded, closed in order, started again, closed again.

A program gives a `Member` a directory for its store, a way for its messages (here a list), and
the time (here a number).  `docs/embedding.md` explains each line; a real broker adds frames and
updates.
"""

# ruff: noqa: T201 - a program of its own may print
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory, mkdtemp

from joinproto import (
    Config,
    JoinMessage,
    Member,
    Sent,
    StoreHandle,
    StoreRecord,
    create_store,
    open_store,
    perform,
)

INBOXES: dict[str, list[tuple[str, JoinMessage]]] = {"a": [], "b": [], "c": []}
NAMES = frozenset(INBOXES)


@dataclass(frozen=True)
class Host:
    now: float
    name: str
    store: StoreHandle

    def close(self, why: object) -> None:
        print(f"{self.now} s, {self.name}: closes for clients")  # `why`: a `Closing`

    def persist(self, record: StoreRecord) -> None:
        self.store.write(record)  # durable when this returns; messages are sent only then

    def send_all(self, sends: tuple[Sent, ...]) -> None:
        for sent in sends:
            INBOXES[sent.to].append((self.name, sent.message))

    def see(self, event: object) -> None:
        """A real broker logs and counts these events."""

    def act(self, action: object) -> None:
        # An `Action`.  OpenForClients: serve from here on.  Stop: the process may end.
        print(f"{self.now} s, {self.name}: {type(action).__name__}")


def start(name: str, store: StoreHandle) -> Member:
    config = Config(member=name, electors=NAMES, wait_for=3)
    return Member.start(0, config, store.record, seed=token_hex(8), in_reach=NAMES - {name})


def step(now: float, name: str, member: Member, store: StoreHandle) -> None:
    member.tick(now)
    while INBOXES[name]:
        member.receive(now, *INBOXES[name].pop(0))
    while batch := member.poll():
        perform(batch, Host(now, name, store))
        member.advance(batch)


def run(title: str, stores: dict[str, StoreHandle]) -> None:
    print(title)
    members = {name: start(name, store) for name, store in stores.items()}
    for now in (tenth / 10 for tenth in range(200)):
        for name, member in members.items():
            step(now, name, member, stores[name])
        if all(member.is_serving for member in members.values()):
            members["a"].shutdown_cluster(now)
    for name, store in stores.items():
        data, phase = store.record, members[name].phase.value
        print(f"{name} is {phase}, its store is {data.state.value}: {data.lineage.length} views")
        store.close()


with TemporaryDirectory() as top:
    paths = {name: Path(mkdtemp(dir=top)) for name in INBOXES}
    new = {n: create_store(paths[n], StoreRecord(store_id=token_hex(8)), member=n) for n in paths}
    run("first start, with empty stores", new)
    run("second start, with the stores of the first", {n: open_store(paths[n]) for n in paths})
