"""Small random worlds: members that follow a random table, and claims about them.

A plan is plain data, so that hypothesis can make it smaller; `build` makes a world of it.  Plans
use most features of worlds: each network, each fault, durable attributes, effects between which a
crash can fall, choices that need not be taken, joint steps, a monitor, partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import Any

from attrs import evolve, field, frozen
from hypothesis import strategies as st

from joinproto.check import (
    NOT_ENABLED,
    Broadcast,
    Faults,
    FifoLinks,
    Maybe,
    Message,
    MessageBag,
    MessageSet,
    Offline,
    Persist,
    Property,
    Record,
    Rule,
    Send,
    Together,
    View,
    World,
    always,
    always_each,
    always_pair,
    always_possible,
    eventually,
    no_deadlock,
    sometimes,
    sometimes_one,
)
from joinproto.check.network import Network

SETS: dict[str, Network] = {
    "set": MessageSet(),
    "set of sends": MessageSet(broadcasts="each"),
    "set of contents": MessageSet(with_sender=False),
}
NETWORKS: dict[str, Network] = {**SETS, "bag": MessageBag(), "fifo": FifoLinks()}
TARGETS = ("all", "next", "self", "reply", "peer")


@frozen
class Act:
    """One part of a step: an effect, or an attribute that changes between two effects."""

    kind: str
    value: int = 0
    to: str = "all"


@frozen
class Cell:
    """A member's step for one event in one phase: its acts, and the `phase` after them."""

    phase: int
    acts: tuple[Act, ...] = ()


@frozen
class Joint:
    """A joint step of `count` members, if at least `least` running members are in `phase`."""

    first: int
    count: int
    least: int
    phase: int
    fair: bool = True
    fault: bool = False
    offline: bool = False


@frozen
class Plan:
    """A world as data.  `tables`: one for each member, or one for all if they are alike.

    A table has, for each phase and each event (see `event_count`), a cell, or None if the event
    is not enabled.  `offers`: for each phase, a member's choices, and whether each is a `Maybe`.
    `fuel`: how many sends a member may make into a network of queues.
    """

    members: int
    network: str
    tables: tuple[tuple[tuple[Cell | None, ...], ...], ...]
    offers: tuple[tuple[tuple[int, bool], ...], ...]
    messages: int
    faults: Faults = Faults()
    start: str = "up"
    durable: bool = True
    fuel: int = 2
    monitor: bool = False
    joints: tuple[Joint, ...] = ()
    claims: tuple[tuple[str, int, int], ...] = field(default=(("always", 0, 9),))
    shows: str = "all"
    alike: bool = False


def event_count(messages: int) -> int:
    """Return how many events a table has: start, two choices, messages, a joint step."""
    return 3 + messages + 1


def member_class(plan: Plan, table: tuple[tuple[Cell | None, ...], ...]) -> type:
    """Return a member's class; the table is in the closure, so it is not part of a state."""

    class Actor:
        persistent = ("kept",) if plan.durable else ()

        def __init__(self, name: str, others: tuple[str, ...]) -> None:
            self.name = name
            self.others = others
            self.phase = 0
            self.kept = 0
            self.peer: str | None = None
            # A set holds finitely many messages.  Queues hold few because few are sent.
            self.fuel = plan.fuel if plan.network not in SETS else -1

        def start(self) -> Any:
            cell = table[0][0]
            return () if cell is None else self.act(cell, None)

        def choices(self) -> Iterator[Any]:
            for number, whim in plan.offers[self.phase]:
                yield Maybe(f"choice {number}") if whim else f"choice {number}"

        def receive(self, event: Any) -> Any:
            sender = None
            if isinstance(event, Message):
                sender = event.sender
                content: Any = event.content
                key = 3 + int(content[0])
            elif event == "joint":
                key = 3 + plan.messages
            else:
                key = 1 + int(event[-1])
            cell = table[self.phase][key]
            return NOT_ENABLED if cell is None else self.act(cell, sender)

        def horizon(self) -> int:
            # An attribute that survives a crash, or one that a crash resets.
            return self.kept if plan.durable else self.phase

        def offline(self, event: Any) -> Any:
            if self.kept == 2:
                return NOT_ENABLED
            self.kept += 1
            return None

        def act(self, cell: Cell, sender: str | None) -> Iterator[Any]:
            for act in cell.acts:
                yield from self.effects_of(act, sender)
            self.phase = cell.phase

        def effects_of(self, act: Act, sender: str | None) -> Iterator[Any]:
            match act.kind:
                case "send" if self.fuel != 0:
                    to = {
                        "next": self.others[0],
                        "self": self.name,
                        "reply": sender,
                        "peer": self.peer,
                    }.get(act.to)
                    content = (act.value, self.peer) if act.value == 1 else (act.value,)
                    if act.to == "all":
                        yield Broadcast(content)
                        self.fuel -= self.fuel > 0
                    elif to is not None:
                        yield Send(to, content)
                        self.fuel -= self.fuel > 0
                case "keep":
                    self.kept = act.value
                case "persist" if plan.durable:
                    yield Persist()
                case "record" if plan.monitor:
                    yield Record(act.value)
                case "rule":
                    yield Rule(f"rule {act.value}")
                case "peer":
                    self.peer = sender

    if plan.shows == "phase":
        Actor.shows = lambda self: _Phase(self.phase, self.kept)  # type: ignore[attr-defined]
    return Actor


@frozen
class _Phase:
    phase: int
    kept: int


class SumMonitor:
    """A monitor that adds up records, up to 3; `refuses_two`: at a total of 1, it refuses a 2."""

    def __init__(self, refuses_two: bool) -> None:
        self.total = 0
        self.refuses_two = refuses_two

    def receive(self, event: int) -> Any:
        if self.refuses_two and event == 2 and self.total == 1:
            return NOT_ENABLED
        self.total = min(3, self.total + event)
        return None

    def shows(self) -> int:
        return self.total


def names_of(plan: Plan) -> tuple[str, ...]:
    return tuple("abc"[: plan.members])


def build(plan: Plan) -> World:
    names = names_of(plan)
    classes = [member_class(plan, table) for table in plan.tables]

    def maker(at: int) -> Callable[[], Any]:
        kind = classes[at % len(classes)]
        # Members that are alike may not know an order of the others.
        others = tuple(names[at + 1 :] + names[:at])
        if plan.alike:
            others = ("nobody",)
        return lambda: kind(names[at], others)

    return World(
        name="random",
        members={name: maker(at) for at, name in enumerate(names)},
        network=NETWORKS[plan.network],
        faults=plan.faults if plan.durable else evolve(plan.faults, wipes=0),
        start="up" if plan.start == "up" else "down",
        # Members that are alike have no order, so it must not matter which records first.
        monitor=partial(SumMonitor, not plan.alike) if plan.monitor else None,
        show_disk=_kept if plan.durable else None,
        together=(lambda view: joint_steps(plan, view)) if plan.joints else None,
        interchangeable=names if plan.alike else (),
        labels=[f"rule {number}" for number in range(2)],
        properties=[claim(number, *item) for number, item in enumerate(plan.claims)],
    )


def _kept(disk: Any) -> Any:
    return disk.kept


def joint_steps(plan: Plan, view: View) -> Iterator[Together]:
    names = names_of(plan)
    for number, joint in enumerate(plan.joints):
        if sum(shown.phase == joint.phase for shown in view.up.values()) < joint.least:
            continue
        groups = [tuple(names[(joint.first + i) % len(names)] for i in range(joint.count))]
        if plan.alike:
            # If a step is for one member, there is such a step for every member.
            single = joint.offline or joint.count == 1
            groups = [(name,) for name in names] if single else [names]
        for group in groups:
            event: Hashable = Offline("mark") if joint.offline else "joint"
            chosen = group[:1] if joint.offline else group
            if joint.offline and chosen[0] in view.up:
                continue
            yield Together(
                f"joint {number}",
                dict.fromkeys(chosen, event),
                " ".join(chosen),
                fair=joint.fair,
                fault=joint.fault,
            )


def claim(number: int, kind: str, x: int, y: int) -> Property:
    """Return a claim that does not tell members apart."""
    name = f"{number} {kind}"

    def count(view: View) -> int:
        return sum(shown.phase == x for shown in view.up.values())

    match kind:
        case "always":
            return always(name, lambda view: count(view) < y)
        case "always with premise":
            return always(
                name,
                lambda view: count(view) != y,
                premise=lambda view: len(view.up) < len(view) or count(view) > 1,
            )
        case "always total":
            return always(name, lambda view: (view.monitor or 0) <= x)
        case "always kept":
            return always(name, lambda view: list(view.disk.values()).count(x) <= y)
        case "always together":
            return always(name, lambda view: view.split is None or count(view) < y)
        case "each":
            return always_each(name, lambda shown: (shown.phase, shown.kept) != (x, y))
        case "pair":
            return always_pair(name, lambda one, other: (one.phase, other.phase) != (x, y))
        case "sometimes":
            return sometimes(name, lambda view: count(view) == y)
        case "one":
            return sometimes_one(name, lambda shown: (shown.phase, shown.kept) == (x, y))
        case "eventually":
            return eventually(name, lambda view: count(view) >= max(1, y))
        case "possible":
            return always_possible(name, lambda view: count(view) >= max(1, y))
        case _:
            return no_deadlock(name, lambda view: count(view) >= max(1, y))


SAFETY = (
    "always",
    "always with premise",
    "always total",
    "always kept",
    "always together",
    "each",
    "pair",
    "sometimes",
    "one",
)
LIVENESS = ("eventually", "possible", "deadlock")


def acts(messages: int, *, alike: bool) -> st.SearchStrategy[Act]:
    targets = [to for to in TARGETS if to != "next"] if alike else list(TARGETS)
    send = st.builds(Act, st.just("send"), st.integers(0, messages - 1), st.sampled_from(targets))
    # Sends are drawn more often, because without them few events occur.
    return st.one_of(
        st.builds(Act, st.sampled_from(["keep", "record"]), st.integers(0, 2)),
        st.builds(Act, st.just("rule"), st.integers(0, 1)),
        st.sampled_from([Act("persist"), Act("peer")]),
        send,
        send,
        send,
    )


@st.composite
def plans(
    draw: st.DrawFn,
    *,
    kinds: tuple[str, ...] = SAFETY,
    alike: bool = False,
    networks: tuple[str, ...] = tuple(sorted(NETWORKS)),
) -> Plan:
    """Draw a plan.  `kinds`: the kinds of claims.  `alike`: whether members are interchangeable."""
    # If any member may crash at any time, no step must ever happen.  So claims about runs are
    # judged in worlds with fewer faults, and are about phases in which no member begins.
    calm = kinds == LIVENESS
    members = draw(st.integers(2, 3))
    network = draw(st.sampled_from(networks))
    messages = draw(st.integers(1, 2))
    phases = draw(st.integers(2, 3))
    # The acts are in order, and a crash may fall after any of them.
    cell = st.builds(
        Cell,
        st.integers(0, phases - 1),
        st.lists(acts(messages, alike=alike), min_size=1, max_size=3).map(tuple),
    )
    maybe = st.one_of(st.none(), cell, cell, cell, cell)
    # Fewer phases make a failing plan easier to read.
    table = st.tuples(*[st.tuples(*[maybe] * event_count(messages)) for _ in range(phases)])
    tables = draw(st.tuples(*[table] * (1 if alike else members)))
    offer = st.lists(
        st.tuples(st.integers(0, 1), st.booleans()),
        min_size=1,
        max_size=2,
        unique_by=lambda pair: pair[0],
    )
    offers = draw(st.tuples(*[offer.map(tuple)] * phases))
    # A crash loses the messages under way to the member.  Whether messages of the same joint step
    # are among them depends on the order of its members, and members that are alike have none.
    ordered = alike and network == "fifo"
    joint = st.builds(
        Joint,
        st.integers(0, members - 1),
        st.integers(1, members),
        st.integers(0, members),
        st.integers(0, phases - 1),
        st.booleans(),
        st.booleans(),
        st.booleans(),
    )
    queues = network not in SETS
    # If messages have no senders, no search can tell which messages a split delays.
    splits = network != "set of contents"
    faults = Faults(
        crashes=draw(st.sampled_from([0, 0, 0, 1] if calm else [0, 1, 1, 2])),
        restarts=draw(st.booleans()),
        partitions=draw(st.sampled_from([0, 0, 0, 1] if calm else [0, 0, 1])) if splits else 0,
        losses=draw(st.sampled_from([0, 1])) if queues else 0,
        duplicates=draw(st.sampled_from([0, 1])) if network == "bag" else 0,
        wipes=draw(st.sampled_from([0, 0, 1])),
    )
    durable = draw(st.booleans())
    usable = tuple(kind for kind in kinds if durable or kind != "always kept")
    claims = st.lists(
        st.tuples(
            st.sampled_from(usable), st.integers(int(calm), phases - 1), st.integers(0, members)
        ),
        min_size=1,
        max_size=4,
    )
    return Plan(
        members=members,
        network=network,
        tables=tables,
        offers=offers,
        messages=messages,
        faults=faults,
        start=draw(st.sampled_from(["up", "down"])),
        durable=durable,
        fuel=draw(st.integers(1, 2)),
        monitor=draw(st.booleans()),
        joints=draw(st.lists(joint, max_size=0 if ordered else 2).map(tuple)),
        claims=tuple(draw(claims)),
        shows=draw(st.sampled_from(["all", "phase"])),
        alike=alike,
    )
