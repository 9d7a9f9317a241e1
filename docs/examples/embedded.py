"""Three members in one process: founded, closed in order, started again, closed again.

All that a program does around a `Member`: a directory for the store, a way for the messages
(here a list each), and the time (here a number).  `docs/embedding.md` says what each line is
for, and what a real broker adds: frames and updates.
"""

# ruff: noqa: T201 - a program of its own may print
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory, mkdtemp

from joinproto import Config, Member, Message, Store, StoreRecord, create_store, open_store

INBOXES: dict[str, list[tuple[str, Message]]] = {"a": [], "b": [], "c": []}
NAMES = frozenset(INBOXES)


def start(name: str, store: Store) -> Member:
    config = Config(member=name, electors=NAMES, wait_for=3)
    return Member.start(0, config, store.record, seed=token_hex(8), in_reach=NAMES - {name})


def step(now: float, name: str, member: Member, store: Store) -> None:
    member.tick(now)
    while INBOXES[name]:
        member.receive(now, *INBOXES[name].pop(0))
    while batch := member.poll():
        if batch.persist is not None:
            store.write(batch.persist)  # durable when this returns; only then anything is sent
        for sent in batch.sends:
            INBOXES[sent.to].append((name, sent.message))
        for action in batch.actions:
            print(f"{now} s, {name}: {type(action).__name__}")
        member.advance(batch)


def run(stores: dict[str, Store]) -> None:
    members = {name: start(name, store) for name, store in stores.items()}
    for now in (tenth / 10 for tenth in range(200)):
        for name, member in members.items():
            step(now, name, member, stores[name])
        if all(member.is_serving for member in members.values()):
            members["a"].shutdown_cluster(now)
    for name, store in stores.items():
        print(f"{name} is {members[name].phase.value}, its store is {store.record.state.value}")
        store.close()


with TemporaryDirectory() as top:
    paths = {name: Path(mkdtemp(dir=top)) for name in INBOXES}
    run({n: create_store(paths[n], StoreRecord(store_id=token_hex(8)), member=n) for n in paths})
    run({n: open_store(paths[n]) for n in paths})
