"""The story of a world of hot standby: brokers, clients' actions, a manager, and how much fails.

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
    """The manager that promotes.  Of those outside only some fence: they promote while no primary
    runs.
    """

    BUILT_IN = "built in"  # promotes members of the last view, whether the primary runs or not
    CAREFUL = (
        "careful"  # fences, and promotes no broker that has only just started, but the first one
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
    """A client's action, as a whole: messages put and taken, a queue declared or deleted.

    `passes`: the count of messages that come and go meanwhile; only their numbers are left.
    """

    puts: tuple[tuple[str, str], ...] = ()  # queue, identity
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
    """Return an operation's changes to one queue."""
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
    """`warm`: of the names, the first is primary already, and this many others are up to date.

    `before`: done before it begins, and everywhere.  `ops`: the clients' later actions, in this
    order. `deaths`, `stops` (in order), `starts`, `cuts`, `promotions`: how many there may be; a
    cut parts one broker from the others, for good or (`heals`) until it heals.  `marks`: an
    operator marks dirty stores clean after a total failure: `best` only the one that is proven to
    be the last, `any` whichever; `left`: the best one, while brokers that its primary left still
    run. `apart`: answers to a backup's query travel alongside current changes (LC6).  `patient`: a
    new primary waits for those that it expects without end.  `succeeded`: the first was cut off,
    the second was promoted and the third follows it; the network is whole again, and the first
    serves. `late`: a broker learns of its promotion after the chain of the built-in manager has
    it. `continues`: after a total failure the built-in manager continues where all stores were
    seen. `stops_late`: no broker stops in order before all have failed. `able`: only these are
    promoted; empty: those that the manager would.  `least`: no broker is, while fewer run.
    `at_once`: messages under way arrive before any other event. `halfway`: a broker may die before
    any effect of a step; its messages arrive, or do not; and a primary's writes are on its disk
    some time after its backups were told, or never. `power`: halfway, and any broker's writes are
    on its disk some time later, all at once, or never; its later messages wait for them.  Its power
    may go in the middle of a write. `half_open`: a connection ends at one end first, or, when it is
    cut, at none: that end's messages may still arrive, until the other one notices. `wipes`: how
    often the disk of a broker that is stopped is blank again; `backups`: how often an older copy of
    it is put back, which was made at any moment.
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


def told(it: Played) -> dict[str, Any]:
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
    words["chain"] = _shown(it.chain)
    done = sorted(it.confirmed)
    words["confirmed"] = "; ".join(str(it.plot.ops[at]) for at in done if at >= 0)
    words["cut off"] = it.cut_off
    return {name: one for name, one in words.items() if one}


def _contents(view: View, replica: ReplicaState) -> str:
    """Return a broker's view and wiring, each queue with its messages, for a trace."""
    lines = {name: " ".join(("", *queue.messages.ids)) for name, queue in replica.queues.items()}
    wiring = (f"{one.name}{lines.get(one.name, '')}" for one in replica.things.values())
    return "; ".join([_shown(view) or "no view", *wiring])


def _shown(view: View) -> str:
    there = " ".join(view.members)
    return f"view {view.generation}.{view.number} of {there}, by {view.primary}" if there else ""
