"""The outcomes of a start of hot-standby brokers from given stores, with one promotion.

The brokers are the machine that ships (`joinproto_worlds/standby/played.py`).  All or some of them
start, in every order; links come up in every order; one broker is promoted, and a client declares
a queue.  Brokers whose store was not given do not start.  No broker dies, and no second broker is
promoted: worlds that ship cover both.

All that was confirmed in a generation, as far as the stores know, is one message here.  The members
of the generation's last view, which were up to date, have the message.  Later primaries pass it on,
or it is given up (H9).

Source: hot standby, H2 to H4, H8 to H10.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from attrs import define, evolve, field, frozen

from joinproto.apps.standby.keeping.form import BrokerRecord
from joinproto.check.check import check
from joinproto.check.properties import always
from joinproto.check.report import Report
from joinproto.check.world import World
from joinproto.standby.broker import Mark
from joinproto.standby.catch_up import Message
from joinproto.standby.chain import may_promote
from joinproto.standby.machine import Broker
from joinproto.standby.messages import View
from joinproto.standby.primary_state import PrimaryState, Who
from joinproto.standby.queue import MessageQueue
from joinproto.standby.replica_state import Queue, ReplicaState, declared
from joinproto.standby.tables import Verdict
from joinproto_worlds.standby.played import BUDGETS, Played
from joinproto_worlds.standby.ports import Disk
from joinproto_worlds.standby.story import OTHER, QUEUE, Manager, Op, Story, put

CLIENT_OP = Op(declares=OTHER)


@frozen(order=True)
class Refusal:
    """A promotion that is refused."""

    name: str
    rule: str
    why: str


@frozen
class ConfirmedMessage:
    """The message that stands for all that a generation confirmed.

    `holders`: the brokers that have it, whether their stores were given or not.
    """

    generation: int
    primary: str
    holders: frozenset[str]

    @property
    def id(self) -> str:
        return f"{self.generation} of {self.primary}"


@frozen(kw_only=True)
class StandbyScenario:
    """The stores to start from.

    `chain`: the last view of the built-in manager; without members, the manager is outside.
    """

    stores: Mapping[str, BrokerRecord]
    chain: View
    confirmed: tuple[ConfirmedMessage, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self.stores))

    @property
    def dirty(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if self.stores[name].mark is Mark.DIRTY)

    @property
    def is_built_in(self) -> bool:
        return bool(self.chain.members)

    @property
    def brokers(self) -> frozenset[str]:
        """Return every broker of the cluster, as far as the stores know."""
        stores = self.stores.values()
        return frozenset(name for one in stores for name in (*one.brokers, *one.view.members))

    @property
    def barred(self) -> tuple[Refusal, ...]:
        """Return a refusal for each broker that the built-in manager never promotes."""
        if not self.is_built_in:
            return ()
        first, found = self.chain.primary, []
        for name in self.names:
            if not may_promote(self.chain, name):
                why = f"{name} is not in the last view of {first}: it lacks messages"
                found.append(Refusal(name, "H4", why))
            elif not self.stores[name].view.generation:
                why = f"{name} has an empty store, and {first} was primary before"
                found.append(Refusal(name, "H4", why))
        return tuple(found)

    @property
    def brokers_min(self) -> int:
        """Return how many brokers must run before a broker is promoted."""
        return len(self.brokers) // 2 + 1 if self.is_built_in else 1


def scene_of(stores: Sequence[BrokerRecord], chain: View) -> StandbyScenario:
    """Return the scenario of these stores, which belong to different brokers of one cluster."""
    return StandbyScenario(
        stores={one.broker: one for one in stores},
        chain=chain,
        confirmed=_confirmed({one.broker: one.view for one in stores}, chain),
    )


def _confirmed(views: Mapping[str, View], chain: View) -> tuple[ConfirmedMessage, ...]:
    last: dict[tuple[int, str], View] = {}
    for one in sorted((*views.values(), chain), key=lambda one: one.age):
        if one.members:
            last[one.generation, one.primary] = one
    found: list[ConfirmedMessage] = []
    for (generation, primary), one in sorted(last.items()):
        members = frozenset(one.members)
        # A broker that is only expected did not follow this primary, so its data are unchanged.
        followers = {
            name for name in members if name in views and views[name].age >= (generation, 0)
        }
        for at, old in enumerate(found):
            if old.generation < generation:
                is_kept = primary in old.holders
                holders = old.holders | members if is_kept else old.holders - followers
                found[at] = evolve(old, holders=holders)
        found.append(ConfirmedMessage(generation, primary, members))
    return tuple(found)


# -- the choices -------------------------------------------------------------------------------


@frozen
class Choice:
    """The actions that the operator chooses.

    `marks`: the brokers whose stores are marked clean.  `candidates`: the brokers that may be
    promoted.
    """

    name: str
    marks: tuple[str, ...]
    candidates: tuple[str, ...]


def choices(scene: StandbyScenario) -> tuple[Choice, ...]:
    """Return the operator's choices; a built-in manager promotes by itself."""
    if scene.is_built_in:
        barred = {one.name for one in scene.barred}
        candidates = tuple(name for name in scene.names if name not in barred)
        found = [Choice("no mark", (), candidates)]
        found += [Choice(f"mark {name}", (name,), candidates) for name in scene.dirty]
        if len(scene.dirty) > 1:
            found.append(Choice("mark all", scene.dirty, candidates))
        return tuple(found)
    made = []
    for name in scene.names:
        made.append(Choice(f"promote {name}", (), (name,)))
        if name in scene.dirty:
            made.append(Choice(f"mark {name}, promote {name}", (name,), (name,)))
    return tuple(made)


# -- outcomes -----------------------------------------------------------------------------------


@frozen(kw_only=True)
class Start:
    """A promotion.

    `members`: the members of the first view; they were up to date, or the primary waits for them.
    `is_served`: whether a client can be served.  `lost`: the messages that can be lost.
    """

    primary: str
    members: tuple[str, ...]
    is_served: bool
    lost: tuple[ConfirmedMessage, ...]


@frozen(kw_only=True)
class Outcome:
    """The outcome of one choice.  `run`: the shortest run that loses a message, in words."""

    choice: Choice
    starts: tuple[Start, ...]
    refused: tuple[Refusal, ...]
    waits: tuple[str, ...]
    run: str
    is_whole: bool
    states: int

    @property
    def loses(self) -> bool:
        return any(start.lost for start in self.starts)


def rehearse(scene: StandbyScenario, choice: Choice, *, states_max: int) -> Outcome:
    """Return the outcome of this choice, from at most `states_max` states."""
    recorder = _Recorder()
    found = check(_world(scene, choice, recorder), states_max=states_max)
    # A broken claim ends a search, so the losing run is looked for in a second search.
    run = ""
    if any(recorder.lost.values()):
        run = _run_text(check(_world(scene, choice, _loses_nothing), states_max=states_max))
    lost = {one.id: one for one in scene.confirmed}
    starts = [
        Start(
            primary=primary,
            members=members,
            is_served=primary in recorder.served,
            lost=tuple(lost[each] for each in sorted(recorder.lost.get(primary, ()))),
        )
        for primary, members in sorted(recorder.starts)
    ]
    return Outcome(
        choice=choice,
        starts=tuple(starts),
        refused=_longest_refusals({*recorder.refused, *scene.barred}),
        waits=tuple(sorted(recorder.waits)) + _wait_for_majority(scene),
        run=run,
        is_whole=not found.stopped_by,
        states=found.distinct,
    )


def _wait_for_majority(scene: StandbyScenario) -> tuple[str, ...]:
    if len(scene.stores) >= scene.brokers_min:
        return ()
    return (f"{scene.brokers_min} of {len(scene.brokers)} brokers for the chain of views",)


def _longest_refusals(refused: Collection[Refusal]) -> tuple[Refusal, ...]:
    """Return one refusal for each broker and rule: the longest, which names the most brokers."""
    last = {(one.name, one.rule): one for one in sorted(refused, key=lambda one: len(one.why))}
    return tuple(sorted(last.values()))


def _loses_nothing(shown: StateFacts) -> bool:
    return not shown.lost


def _run_text(found: Report) -> str:
    traces = [one.trace for one in found.properties if one.trace is not None]
    return "; ".join(one.label for one in traces[0].steps) if traces else ""


def _world(scene: StandbyScenario, choice: Choice, claim: Callable[[StateFacts], bool]) -> World:
    return World(
        name="rehearsal",
        members={"story": partial(_member, scene, choice)},
        properties=[always("heard", lambda shown: claim(shown["story"]))],
        show=partial(_facts, scene),
        about="brokers start from given stores, and one of them is promoted",
    )


def _member(scene: StandbyScenario, choice: Choice) -> Played:
    manager = Manager.BUILT_IN if scene.is_built_in else Manager.CARELESS
    story = Story(
        names=scene.names,
        ops=(*(put(one.id) for one in scene.confirmed), CLIENT_OP),
        manager=manager,
        starts=len(scene.names),
        promotions=1 if choice.candidates else 0,
        able=choice.candidates,
        least=scene.brokers_min,
        at_once=True,
    )
    disk = {}
    for name, kept in scene.stores.items():
        mark = Mark.CLEAN if name in choice.marks else kept.mark
        disk[name] = Disk(view=kept.view, replica=_replica(scene, name), mark=mark)
    done = range(len(scene.confirmed))
    return Played(
        plot=story,
        mutant=None,
        brokers={name: Broker(who=Who(me=name, keeper=manager.keeper)) for name in scene.names},
        disk=disk,
        links={},
        chain=scene.chain,
        writing={},
        op=len(done),
        confirmed=frozenset(done),
        left={name: getattr(story, name) for name in BUDGETS},
        failed=True,
    )


def _replica(scene: StandbyScenario, name: str) -> ReplicaState:
    if scene.stores[name].mark is Mark.EMPTY:
        return ReplicaState()
    has = [
        Message(id=one.id, sequence=at)
        for at, one in enumerate(scene.confirmed)
        if name in one.holders
    ]
    queue = Queue(
        id=QUEUE.id, messages=MessageQueue.of(has), next=has[-1].sequence + 1 if has else 0
    )
    return evolve(declared(ReplicaState(), QUEUE), queues={QUEUE.name: queue})


# -- recording ---------------------------------------------------------------------------------


@frozen(kw_only=True)
class StateFacts:
    """The primary of a state ("": none), and the brokers that would refuse a promotion now.

    `members`: the members of the primary's view.  `is_first`: this view is the primary's first.
    `awaited`: the brokers that the primary waits for.  `lost`: the messages that it does not have.
    """

    primary: str = ""
    members: tuple[str, ...] = ()
    is_first: bool = False
    awaited: tuple[str, ...] = ()
    is_served: bool = False
    lost: frozenset[str] = frozenset()
    refused: frozenset[Refusal] = frozenset()


def _facts(scene: StandbyScenario, played: Played) -> StateFacts:
    for name, broker in played.brokers.items():
        if isinstance(broker.side, PrimaryState):
            queue = broker.replica.queues.get(QUEUE.name, Queue(id=""))
            return StateFacts(
                primary=name,
                members=broker.view.members,
                is_first=broker.view.number == 1,
                awaited=tuple(sorted(broker.side.awaited)),
                is_served=len(played.plot.ops) - 1 in played.confirmed,
                lost=frozenset(one.id for one in scene.confirmed) - {*queue.messages.ids},
            )
    return StateFacts(refused=frozenset(_refused(played)))


def _refused(played: Played) -> list[Refusal]:
    found = []
    for name in played.brokers:
        event = played.promotion(name) if played.runs(name) else None
        if event is None:
            continue
        answer = played.answer(name, event)
        if answer.verdict is Verdict.REFUSED:
            found.append(Refusal(name, answer.rule, answer.why))
    return found


@define(eq=False)
class _Recorder:
    """A claim that always holds, and records the states that it judges."""

    starts: set[tuple[str, tuple[str, ...]]] = field(factory=set)
    served: set[str] = field(factory=set)
    lost: dict[str, frozenset[str]] = field(factory=dict)
    waits: set[str] = field(factory=set)
    refused: set[Refusal] = field(factory=set)

    def __call__(self, shown: StateFacts) -> bool:
        self.refused |= shown.refused
        if shown.is_first:
            self.starts.add((shown.primary, shown.members))
        if shown.awaited:
            self.waits.add(f"H8: {shown.primary} waits for {', '.join(shown.awaited)}")
        if shown.is_served:
            self.served.add(shown.primary)
        if shown.primary:
            self.lost[shown.primary] = self.lost.get(shown.primary, frozenset()) | shown.lost
        return True
