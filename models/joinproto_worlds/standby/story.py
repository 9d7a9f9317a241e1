"""The plot of a world of hot standby: its brokers, the clients' actions, a manager and the faults.

Source: hot standby, H2 to H11.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from attrs import frozen

from joinproto.standby.broker import Variant
from joinproto.standby.catch_up import Message, Order
from joinproto.standby.events import Draft, New
from joinproto.standby.messages import Kind, View, WiringItem
from joinproto.standby.primary_state import Keeper
from joinproto.standby.replica_state import ReplicaState
from joinproto.standby.replicates import Level

if TYPE_CHECKING:
    from joinproto_worlds.standby.played import Played

QUEUE = WiringItem(kind=Kind.QUEUE, name="q", id="q1")
OTHER = WiringItem(kind=Kind.QUEUE, name="r", id="r1")
AGAIN = WiringItem(kind=Kind.QUEUE, name="r", id="r2")
SCRATCH = WiringItem(kind=Kind.QUEUE, name="s", id="s1", says=Level.NONE)
EXCHANGE = WiringItem(kind=Kind.EXCHANGE, name="e", id="e1")
BINDING = WiringItem(kind=Kind.BINDING, name="e to q", id="b1")


class Manager(Enum):
    """The manager that promotes.  A manager that fences promotes only while no primary runs."""

    BUILT_IN = "built in"  # promotes members of the last view, whether the primary runs or not
    CAREFUL = (
        "careful"  # fences, and promotes a broker that has no view only if no broker has a view
    )
    CARELESS = "careless"  # fences, and promotes a broker that accepts
    UNFENCED = "unfenced"  # promotes a broker that accepts, at any moment
    KNOWING = "knowing"  # fences, and promotes only members of the youngest view of all brokers
    LAST = "last"  # fences, and promotes only once all have failed

    @property
    def keeper(self) -> Keeper:
        return Keeper.BUILT_IN if self is Manager.BUILT_IN else Keeper.OUTSIDE


@frozen
class Op:
    """A client's action: messages put and taken in one transaction, a queue declared or deleted.

    `passes`: how many messages come and go before the action; only their numbers stay used.
    """

    puts: tuple[tuple[str, str], ...] = ()  # pairs of a queue and a message's identity
    takes: tuple[tuple[str, str], ...] = ()
    declares: WiringItem | None = None
    deletes: WiringItem | None = None
    passes: int = 0

    @property
    def is_transaction(self) -> bool:
        return len(self.puts) + len(self.takes) > 1

    def __str__(self) -> str:
        words = [f"puts {one}" for _, one in self.puts] + [f"takes {one}" for _, one in self.takes]
        if self.declares is not None:
            words.append(f"declares {self.declares.name}")
        if self.deletes is not None:
            words.append(f"deletes {self.deletes.name}")
        if self.passes:
            words.append(f"{self.passes} messages come and go")
        return ", ".join(words)


def draft_of(replica: ReplicaState, op: Op, queue: str) -> Draft:
    """Return the changes of an action to one queue."""
    line: tuple[Message, ...] = (
        tuple(replica.queues[queue].messages) if queue in replica.queues else ()
    )
    taken = {one for of, one in op.takes if of == queue}
    return Draft(
        queue=queue,
        puts=tuple(New(id=one, durable=True) for of, one in op.puts if of == queue),
        takes=tuple(one for one in line if one.id in taken),
    )


def put(*ids: str) -> Op:
    return Op(puts=tuple(("q", one) for one in ids))


def take(*ids: str) -> Op:
    return Op(takes=tuple(("q", one) for one in ids))


@frozen(kw_only=True)
class Story:
    """The plot.  `warm`: how many brokers are ready at first: a primary, and backups up to date.

    `before`: actions that all ready brokers have at first.  `ops`: the clients' later actions, in
    this order.  `deaths`, `stops` (in order), `starts`, `cuts`, `promotions`: how often
    each may happen; a cut separates one broker from the others, for good or (`heals`) for a time.

    `marks`: which dirty stores an operator may mark clean after a total failure: "best" only the
    store that is proven to be the last, "any" every store, "left" the best store also while brokers
    that its primary has left still run.  `apart`: answers to a backup's query travel apart from
    current changes (LC6).  `patient`: a new primary waits without end for the brokers that it
    expects.  `succeeded`: at first the network is whole again after a cut, in which the
    second broker was promoted and the third followed it; the first still serves.

    `late`: a broker learns of its promotion only after the built-in manager has it in its chain.
    `continues`: the built-in manager continues after a total failure once it has seen all stores.
    `stops_late`: no broker stops in order before all have failed.  `able`: only these brokers are
    promoted; empty means all.  `least`: no broker is promoted while fewer than these run.
    `at_once`: messages under way arrive before any other event.

    `halfway`: a broker may die before any effect of a step, and its messages arrive or not; a
    primary's writes reach its disk some time after its backups were told, or never.  `power`: as
    `halfway`, and any broker's writes reach its disk later, all at once, or never; its later
    messages wait for them, and the power may go in the middle of a write.  `half_open`: a
    connection ends at one end first, or by a cut at neither end; messages from that end may still
    arrive until the other end notices.  `wipes`: how often a stopped broker's disk may become
    blank; `backups`: how often an older copy of it, made at any moment, may be put back.
    """

    names: str | tuple[str, ...] = "ab"
    warm: int = 1
    before: tuple[Op, ...] = ()
    ops: tuple[Op, ...] = ()
    manager: Manager = Manager.CAREFUL
    variant: Variant = Variant.OURS
    order: Order = Order.LIFO
    deaths: int = 0
    stops: int = 0
    stops_late: bool = False
    continues: bool = False
    starts: int = 0
    cuts: int = 0
    heals: bool = True
    promotions: int = 0
    marks: str = ""
    apart: bool = False
    patient: bool = False
    succeeded: bool = False
    late: bool = False
    able: tuple[str, ...] = ()
    least: int = 0
    at_once: bool = False
    halfway: bool = False
    power: bool = False
    half_open: bool = False
    wipes: int = 0
    backups: int = 0


def as_traced(it: Played) -> dict[str, Any]:
    """Return the part of each state that a trace shows."""
    words: dict[str, Any] = {}
    for name, broker in it.brokers.items():
        disk = it.disk[name]
        has = f": {_contents(broker.view, broker.replica)}" if it.runs(name) else ""
        words[name] = broker.role.value + has
        words[f"disk of {name}"] = f"{disk.mark.value}: {_contents(disk.view, disk.replica)}"
        words[f"{name} has yet to write"] = len(it.writes.get(name, ()))
    for (sender, to), content in sorted(it.links.items()):
        kinds = [type(one).__name__ for one in content]
        words[f"{sender} to {to}"] = ", ".join(kinds) or "nothing"
    words["chain"] = _view_text(it.chain)
    done = sorted(it.confirmed)
    words["confirmed"] = "; ".join(str(it.plot.ops[at]) for at in done if at >= 0)
    words["cut off"] = it.cut_off
    return {name: one for name, one in words.items() if one}


def _contents(view: View, replica: ReplicaState) -> str:
    """Return a broker's view and wiring, each queue with its messages, for a trace."""
    lines = {name: " ".join(("", *queue.messages.ids)) for name, queue in replica.queues.items()}
    wiring = (f"{one.name}{lines.get(one.name, '')}" for one in replica.things.values())
    return "; ".join([_view_text(view) or "no view", *wiring])


def _view_text(view: View) -> str:
    names = " ".join(view.members)
    return f"view {view.generation}.{view.number} of {names}, by {view.primary}" if names else ""
