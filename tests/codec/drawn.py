"""Messages and records of each kind, of all packages, with their encoders and decoders."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from joinproto.apps.clusterer import wire as clusterer
from joinproto.apps.standby.keeping import form, views
from joinproto.clusterer.config import Config, Held, Notes
from joinproto.clusterer.messages import (
    AskAwaited,
    AskLock,
    AskService,
    AskStatus,
    Awaited,
    Locked,
    Members,
    NewConfig,
    ServiceTold,
    Told,
    Unlock,
)
from joinproto.clusterer.reading import Release
from joinproto.clusterer.status import Status
from joinproto.codec.json_form import printed, read
from joinproto.join import choice_messages as choice
from joinproto.join import messages as join
from joinproto.join import wire
from joinproto.join.answers import Answer
from joinproto.join.store import Accepted, Ballot, StoreRecord
from joinproto.join.view import Position, Seat
from joinproto.log import messages as log
from joinproto.machine.vocabulary import Reason
from joinproto.standby import messages as standby
from joinproto.standby.catch_up import Message
from joinproto.standby.messages import from_tree, to_tree
from joinproto.standby.replicates import Default, Level
from joinproto.store import codec as store
from joinproto.store.contents import Contents
from tests.join import pictures
from tests.log.test_messages import MESSAGES

GOLDEN = Path(__file__).parent / "golden"


@frozen
class Sample:
    """A value, its encoder, and its decoder.  `lacks_fields`: the bytes lack some of its fields."""

    value: Any
    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]
    lacks_fields: bool = False

    @property
    def name(self) -> str:
        return type(self.value).__name__

    @property
    def data(self) -> bytes:
        return self.write(self.value)


CHAIN = "F C1:ab@F.5 X@C1.6 R:abc@C1.6 C3"
VIEWS = pictures.views(CHAIN)
FIRST, SECOND = VIEWS["F"], VIEWS["C1"]
SEAT, BALLOT = Seat("a", "a'"), Ballot(7, "b' é")
ANSWER = Answer(
    seat=SEAT,
    held=FIRST.id,
    position=Position(FIRST.id, 5),
    update_unfinished=True,
    ran_on=True,
    options="o",
)
PROMISE = choice.Promise(FIRST.id, BALLOT, SEAT, Accepted(BALLOT, SECOND), ANSWER)
JOIN = (
    choice.Prepare(None, BALLOT),
    PROMISE,
    evolve(PROMISE, accepted=None, answer=None, misses=frozenset({"ü", "b"})),
    choice.Accept(FIRST.id, BALLOT, SECOND),
    choice.Voted(FIRST.id, BALLOT, SEAT),
    choice.Nack(FIRST.id, BALLOT, Ballot(8, "c'")),
    choice.Chosen(None, tuple(VIEWS.values())),
    choice.Chosen(FIRST.id, (SECOND,), FIRST.id),
    join.Hello(ANSWER, FIRST.id, 1, FIRST.id, "cluster", frozenset({"c", "b"})),
    join.Hello(Answer(seat=SEAT, options="o", transient=True), None, 0, None, "c"),
    join.Welcome(FIRST.id),
    join.Refused(Reason.OPTIONS_DIFFER, "", "x" * 1_200),
    join.Ready(SECOND.id, SEAT),
    join.WantUpdate(SECOND.id),
    join.Heartbeat(SECOND.id, 2, SEAT, is_frozen=True),
    choice.Chosen(FIRST.id, (SECOND,), has_frames=True),
)
SINCE_4 = (
    join.Hello(ANSWER, FIRST.id, 1, FIRST.id, "cluster", meeting="seed.2"),
    join.Refused(Reason.OPTIONS_DIFFER, "x", "y", "seed.2"),
    join.Confirm(SECOND.id, 3),
    join.Confirmed(SECOND.id, 3, SEAT),
)
THING = standby.WiringItem(kind=standby.Kind.QUEUE, name="q", id="q1", says=Level.ALL, durable=True)
VIEW = standby.View(generation=2, number=3, primary="a", members=("a", "b"))
MESSAGE = Message(id="m", sequence=4, durable=True)
STANDBY = (
    standby.Join(name="b", view=VIEW, default=Default.ALL),
    standby.Subscribe(queue="q", id="q1", has=("m", "n"), last=None),
    standby.Has(3),
    standby.Refuse(rule="H2", why="é", view=VIEW),
    standby.Wired(view=VIEW, things=(THING, evolve(THING, says=None)), events=0),
    standby.Declared(event=1, thing=THING),
    standby.Deleted(event=2, thing=THING),
    standby.Surplus(queue="q", drops=("m",), next=0),
    standby.Copy(queue="q", messages=(MESSAGE,)),
    standby.CaughtUp(queue="q"),
    standby.Changed(changes=(standby.Change(queue="q", puts=(MESSAGE,), takes=(MESSAGE,)),)),
    standby.Viewed(VIEW),
)
CONFIG = Config(3, frozenset({"b", "a"}), frozenset({"c"}), "a", 30)
HELD = Held(CONFIG, Notes.of({"b": "y", "a": "x"}), Notes.of({"a": 1}))
CLUSTERER = (
    AskStatus("x", 7),
    Told(7, HELD, Status.READY),
    Told(7, Held(evolve(CONFIG, gospel=None, shutdown_timeout="infinity")), Status.PENDING),
    Told(7, None, Status.PREBOOT),
    AskAwaited(1),
    Awaited(1, frozenset({"b", "a é"})),
    Awaited(1, None),
    NewConfig(HELD, achieved=True),
    AskLock(1),
    Locked(1, granted=False),
    Unlock(1),
    AskService(4),
    ServiceTold(4, True, 3, Notes.of({"label": "x"})),
)
EMPTY = Contents(member="a", record=StoreRecord(store_id="a'"))
FULL = Contents(
    member="a",
    record=StoreRecord(
        store_id="a'",
        lineage=pictures.lineage("F C1:ab@F.5"),
        held=FIRST.id,
        position=Position(SECOND.id, 6),
        update_unfinished=True,
        promised=BALLOT,
        accepted=Accepted(BALLOT, VIEWS["X"]),
        mark=SECOND.id,
    ),
    cluster_name="cluster",
    history=({"who": "Ada é", "why": [1, None, {"n": 2.5}]},),
)
STORE = (EMPTY, FULL, evolve(FULL, frames="frames.log", frames_dropped=True))
KEPT = form.BrokerRecord(
    broker="a",
    cluster="k",
    clean=False,
    view=VIEW,
    brokers=("a", "b"),
    history=(form.Marked(when="now", what="mark", who="Ada", host="h", why="é"),),
    name="n",
    frames=5,
)
ACTIONS = (
    form.Declared(THING),
    form.Deleted("q", "q1"),
    form.Put("q", "m", 4, b"body\n\xff"),
    form.Taken("q", "m"),
    form.Together(2),
)


def _lacks_fields(message: Any, version: int) -> bool:
    is_cut = isinstance(message, join.Refused) and len(message.expected) > wire.TEXT_MAX
    if isinstance(message, choice.Chosen):
        return version < wire.CONFIRMS and message.has_frames
    return is_cut or (version < wire.MISSES and bool(getattr(message, "misses", ())))


def _samples(
    values: Any, write: Callable[[Any], bytes], take: Callable[[bytes], Any]
) -> Iterator[Sample]:
    for value in values:
        yield Sample(value, write, take)


def _line(tree: Any) -> bytes:
    return json.dumps(tree, separators=(",", ":")).encode()


def samples() -> dict[str, list[Sample]]:
    """Return all samples, by the name of the file with their bytes."""
    found: dict[str, list[Sample]] = {}
    for version in (1, 2, 3, 4):
        found[f"join-{version}"] = [
            Sample(
                one, partial(wire.encode, speaks=version), wire.decode, _lacks_fields(one, version)
            )
            for one in (*JOIN, *(SINCE_4 if version >= wire.CONFIRMS else ()))
        ]
    found["log"] = list(_samples(MESSAGES, log.write, log.read))
    found["standby"] = list(
        _samples(STANDBY, lambda one: _line(to_tree(one)), lambda data: from_tree(json.loads(data)))
    )
    seed = Release.SEED
    found["clusterer"] = [
        *_samples(CLUSTERER, clusterer.put, lambda data: clusterer.taken(data, seed)),
        *_samples(
            (
                clusterer.Hello(node="a", release=seed, run="r", listen="127.0.0.1:7501"),
                clusterer.Hello(node=None, release=seed),
            ),
            clusterer.hello,
            lambda data: clusterer.hello_of(data, seed),
        ),
    ]
    found["store"] = list(_samples(STORE, store.encode, store.decode))
    found["kept"] = [
        *_samples((form.BrokerRecord(broker="a"), KEPT), form.packed, form.unpacked),
        *_samples(ACTIONS, form.as_bytes, form.action_of),
        *_samples((standby.View(), VIEW), views.packed, views.unpacked),
        *_samples(
            (Members(), Members(members=("a", "b"), ran=("a",), given_up=True)),
            lambda one: printed(one).encode(),
            lambda data: read(Members, json.loads(data)),
        ),
    ]
    return found


def golden(rows: list[Sample]) -> str:
    """Return the contents of a file: for each value a line of JSON with its name and its bytes."""
    return "".join(f"{one.name} {json.dumps(one.data.decode('latin-1'))}\n" for one in rows)
