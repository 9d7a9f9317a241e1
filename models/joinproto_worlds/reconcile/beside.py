"""The shipped `reading` and machine of `reconcile run`, with a broker with two registers.

Simulated: the broker.  Its group (`voters`, `learners`) is what counts; its list is what the API
shows, and is written after it, or not at all.  A node is lost for good before it begins.

Source: reconciliation, Q4 to Q6; incidents 13, 15, 16, 29 and 30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from attrs import define, evolve, frozen

from joinproto.check.events import NOT_ENABLED, Persist
from joinproto.check.faults import Faults
from joinproto.check.injected import disk_lost, inject, older_copy
from joinproto.check.properties import always, always_possible, eventually, sometimes
from joinproto.check.view import View
from joinproto.check.world import Together, World
from joinproto.machine.world import MachineWorld
from joinproto.reconcile.keeper import Ended, Intent, Keeper, Rules, Verdict
from joinproto.reconcile.machine import Effect, Event, LeaderReply, Read, Start, State, step
from joinproto.reconcile.perform import perform
from joinproto.reconcile.plan import Limits
from joinproto.reconcile.queue import Kind, Settings
from joinproto.reconcile.reading import Key, Replica, facts_of, replicas_of
from joinproto.reconcile.tables import Action
from joinproto.reconcile.timers import Timers
from joinproto_worlds.mutations.mutation import Mutation, applied
from joinproto_worlds.mutations.named import mutation

KEEPER, BROKER = "keeper", "broker"
TARGET = 3
LOST = "c"
TIMEOUT, SETTLE = 60.0, 60.0
"""Seconds from a change's begin until its tool is ended; from there until it is tried again."""
Names = frozenset[str]


@frozen(cache_hash=True)
class Group:
    """One queue.  `listed`: the list; `unlisted`: what it was not told yet; `asked`: a command."""

    name: str
    kind: str
    voters: Names
    listed: Names
    learners: Names = frozenset()
    unlisted: tuple[tuple[str, str], ...] = ()
    asked: tuple[tuple[str, str], ...] = ()

    @property
    def replicas(self) -> Names:
        return self.voters | self.learners


@frozen(cache_hash=True)
class Did:
    """To the broker: a queue is from here on like this."""

    now: Group
    what: str = ""


@define
class Broker:
    """`misses`: writes of the list that may be lost; `flees`: how often the leaders may be gone.

    `hangs`: tools that may be ended by their time-out; `drains`: nodes that may be drained.
    """

    groups: tuple[Group, ...]
    misses: int
    flees: int
    hangs: int
    drains: int
    leads: bool = True
    drained: Names = frozenset()

    def receive(self, event: Any) -> Any:
        match event:
            case Did(now, what):
                if what == "misses":
                    self.misses -= 1
                self.groups = tuple(now if one.name == now.name else one for one in self.groups)
                return None
            case "flee" if self.flees and self.leads:
                self.flees -= 1
                self.leads = False
                return None
            case "elect" if not self.leads:
                self.leads = True
                return None
            case "hang" if self.hangs:
                self.hangs -= 1
                return None
            case ("drain", name) if self.drains and name not in self.drained:
                self.drains -= 1
                self.drained |= {name}
                return None
        return NOT_ENABLED

    def shows(self) -> Broker:
        return evolve(self)


@frozen(cache_hash=True)
class Begun:
    """To the keeper: it writes the intent down.  `blind`: while no node led."""

    intent: Intent
    blind: bool


@define
class Daemon:
    """What `reconcile run` remembers: intents on disk; whom it asked since it was started, not.

    `cut`: of these, whose tool was ended by its time-out less than `SETTLE` ago.
    """

    persistent = ("intents",)

    intents: tuple[Intent, ...] = ()
    asked: Names = frozenset()
    cut: Names = frozenset()
    resumed: Names = frozenset()
    blind: bool = False

    def start(self) -> None:
        # What is on disk may have been asked for, or not: the leaders are asked what became of it.
        self.resumed = frozenset(one.key.name for one in self.intents)

    def receive(self, event: Any) -> Any:
        match event:
            case Begun(intent, blind):
                rest = [one for one in self.intents if one.key != intent.key]
                self.intents = tuple(sorted((*rest, intent), key=lambda one: one.key))
                self.asked -= {intent.key.name}
                self.cut -= {intent.key.name}
                self.resumed -= {intent.key.name}
                self.blind |= blind
                return [Persist()]
            case ("asked", name):
                self.asked |= {name}
                return None
            case ("cut", name):
                self.cut |= {name}
                return None
            case ("settled", name):
                self.cut -= {name}
                return None
            case ("ended", name):
                self.intents = tuple(one for one in self.intents if one.key.name != name)
                self.asked -= {name}
                self.cut -= {name}
                self.resumed -= {name}
                return [Persist()]
        return NOT_ENABLED

    def shows(self) -> Daemon:
        return evolve(self)


def build(
    members: int = 5,
    mutant: str | None = None,
    *,
    kinds: str = "q",
    crashes: int = 0,
    misses: int = 0,
    flees: int = 0,
    hangs: int = 0,
    drains: int = 0,
    learners: bool = False,
    copies: int = 2,
    state: str = "",
) -> World:
    """`kinds`: a queue each, `q` or `s` (a stream); `members`: nodes, of which c has left.

    `learners`: a new replica has no vote at first.  `misses`: writes of the list that are lost.
    `hangs`, `drains`: as of `Broker`.  `state`: what becomes of the daemon's file while it is
    stopped: `lost`, or `older`, an earlier copy of it is put back.
    """
    nodes = tuple(name for name in "abcdef"[:members] if name != LOST)
    first = frozenset("abc")
    groups = tuple(
        Group(f"{kind}{at}", "quorum" if kind == "q" else "stream", first, first)
        for at, kind in enumerate(kinds)
    )
    rules = Rules(
        pace=Timers(interval=0),
        settings=Settings(failure_interval=0),
        limits=Limits(copies_at_once=copies),
        settle=SETTLE,
    )
    world = _Steps(nodes, rules, learners)
    found = World(
        name="reconcile-beside",
        members={KEEPER: Daemon, BROKER: partial(Broker, groups, misses, flees, hangs, drains)},
        beside=(BROKER,),
        faults=Faults(crashes=crashes, spared=frozenset({BROKER})),
        together=partial(_mutated, mutation(mutant), world),
        properties=[
            always("never below the minimum", lambda view: all(map(_enough, _groups(view)))),
            always("nothing is done twice", lambda view: all(map(_once, _groups(view)))),
            always("nothing is begun while no node leads", lambda view: not _daemon(view, "blind")),
            always("no node copies more than it may", partial(_copies, copies)),
            sometimes("all have what they want", _mended),
            always_possible("each that can be repaired is", _mended),
            *([] if crashes else [eventually("in the end all have what they want", _mended)]),
        ],
        about="the daemon with a broker whose list says what its group does not",
    )
    faults = {"lost": disk_lost, "older": older_copy}
    return inject(found, faults[state](of=(KEEPER,))) if state else found


def _mutated(left_out: Mutation | None, steps: _Steps, view: View) -> list[Together]:
    with applied(left_out):
        return list(steps(view))


@define(kw_only=True)
class _Round(MachineWorld[Event, Effect]):
    """A daemon in one round, and its ports: what is kept is Begun, and a crash may come behind it.

    Only this queue's leader answers; what is changed is asked for in a step of its own.
    """

    state: State
    key: Key
    replicas: tuple[Replica, ...]
    now: float
    ended: Ended | None = None
    begins: Intent | None = None

    def runs(self, name: str) -> bool:
        return self.begins is None

    def step(self, name: str, event: Event) -> tuple[Effect, ...]:
        taken = step(self.state, event)
        self.state = taken.state
        return taken.effects

    def perform(self, name: str, effect: Effect) -> None:
        perform(effect, self)

    def ask(self, key: Key, kind: Kind, node: str) -> None:
        self.tell(KEEPER, LeaderReply(self.replicas if key == self.key else None, self.now))

    def keep(self, intents: Mapping[Key, Intent]) -> None: ...

    def begin(self, intent: Intent) -> None:
        self.begins = evolve(intent, since=0.0)

    def tell_read(self, keeper: Keeper, now: float) -> None: ...

    def tell_verdict(self, key: Key, verdict: Verdict, *, applies: bool) -> None: ...

    def tell_change(self, intent: Intent, ended: str) -> None:
        if ended != "begun":
            self.ended = Ended(ended)

    def tell_problem(self, what: str, why: str, key: Key | None) -> None: ...


@frozen
class _Steps:
    """What the daemon and the broker may do next."""

    nodes: tuple[str, ...]
    rules: Rules
    learners: bool

    def __call__(self, view: View) -> Iterator[Together]:
        broker = view[BROKER]
        for group in broker.groups:
            yield from self._of_group(broker, group)
        if broker.leads:
            yield Together("leaders flee", {BROKER: "flee"}, fair=False, fault=True)
        else:
            yield Together("leaders are elected", {BROKER: "elect"})
        for name in self.nodes if broker.drains else ():
            said = f"{name} is drained"
            yield Together(said, {BROKER: ("drain", name)}, fair=False, fault=True)
        if KEEPER in view.up:
            yield from self._of_daemon(broker, view[KEEPER])

    def _of_daemon(self, broker: Broker, daemon: Daemon) -> Iterator[Together]:
        """What a round may come to while only one queue's leader answers, for each queue."""
        facts = facts_of(self._api_nodes(broker), self._api_queues(broker), TARGET, {})
        intents = {one.key: evolve(one, ended=TIMEOUT) for one in daemon.intents}
        for key in facts.queues:
            group = next(one for one in broker.groups if one.name == key.name)
            intent = intents.get(key)
            if intent is not None and key.name not in daemon.asked | daemon.resumed:
                asked = evolve(group, asked=(*group.asked, (intent.action.value, intent.node)))
                events = {KEEPER: ("asked", key.name), BROKER: Did(asked)}
                yield Together("asks", events, f"{key.name}: {intent.said}")
                continue
            is_cut = key.name in daemon.cut
            if intent is not None and not is_cut and group.asked and broker.hangs:
                events = {KEEPER: ("cut", key.name), BROKER: "hang"}
                yield Together("time-out", events, f"{key.name}: {intent.said}", fair=False)
            found = _Round(
                state=State(Keeper(self.rules), applies=True),
                key=key,
                replicas=self._status(broker, group),
                now=TIMEOUT if is_cut else TIMEOUT + SETTLE,
            )
            found.tell(KEEPER, Start(intents))
            found.tell(KEEPER, Read(facts, found.now))
            still_runs = found.ended is Ended.UNDONE or key.name not in daemon.resumed
            if is_cut and not group.asked:
                yield Together("settles", {KEEPER: ("settled", key.name)}, key.name)
            if intent is not None and group.asked and still_runs and not is_cut:
                continue  # the daemon waits for its call; `settle` is longer than one takes
            begun = found.begins and Begun(found.begins, not broker.leads)
            if intent is not None and found.ended is not None:
                said = f"{key.name}: {intent.said}: {found.ended.value}"
                said += f", and so {found.begins.said}" if found.begins else ""
                yield Together("follows", {KEEPER: begun or ("ended", key.name)}, said)
            elif found.begins is not None:
                yield Together("begins", {KEEPER: begun}, f"{key.name}: {found.begins.said}")

    def _of_group(self, broker: Broker, group: Group) -> Iterator[Together]:
        for at, (verb, node) in enumerate(group.asked):
            left = evolve(group, asked=group.asked[:at] + group.asked[at + 1 :])
            said = f"{group.name}: {verb} {node}"
            if broker.leads:
                yield Together("takes", {BROKER: Did(self._changed(left, verb, node))}, said)
            elif broker.misses:
                # Incident 30: the call ends, the list is written, and the group is not.
                listed = left.listed | {node} if verb == "add" else left.listed - {node}
                did = Did(evolve(left, listed=listed), "misses")
                yield Together("takes by halves", {BROKER: did}, said, fair=False, fault=True)
        for node in sorted(group.learners):
            if broker.leads:
                now = evolve(group, voters=group.voters | {node}, learners=group.learners - {node})
                yield Together("promotes", {BROKER: Did(now)}, f"{group.name}: {node}")
        if group.unlisted:
            (verb, node), *rest = group.unlisted
            told = evolve(group, unlisted=tuple(rest))
            listed = told.listed | {node} if verb == "add" else told.listed - {node}
            said = f"{group.name}: {verb} {node}"
            yield Together("lists", {BROKER: Did(evolve(told, listed=listed))}, said)
            if broker.misses:
                did = Did(told, "misses")
                yield Together("does not list", {BROKER: did}, said, fair=False, fault=True)

    def _changed(self, group: Group, verb: str, node: str) -> Group:
        """Return the group after a command: one that changes nothing succeeds, too."""
        if (node in group.replicas) is (verb == "add"):
            return group
        told = evolve(group, unlisted=(*group.unlisted, (verb, node)))
        if verb != "add":
            return evolve(told, voters=group.voters - {node}, learners=group.learners - {node})
        if self.learners:
            return evolve(told, learners=group.learners | {node})
        return evolve(told, voters=group.voters | {node})

    # -- as the API and the tools say it -------------------------------------------------------

    def _api_nodes(self, broker: Broker) -> list[dict[str, object]]:
        return [
            {"name": name, "running": True, "being_drained": name in broker.drained}
            for name in self.nodes
        ]

    def _api_queues(self, broker: Broker) -> list[dict[str, object]]:
        return [
            {
                "name": one.name,
                "vhost": "/",
                "type": one.kind,
                "leader": "a",  # as of some seconds ago
                "members": sorted(one.listed),
                "online": sorted(one.listed & set(self.nodes)),
                "arguments": {},
            }
            for one in broker.groups
        ]

    def _status(self, broker: Broker, group: Group) -> tuple[Replica, ...]:
        rows: list[dict[str, object]] = []
        for name in sorted(group.replicas):
            answers, leads = name in self.nodes, broker.leads and name == "a"
            if group.kind == "stream":
                if answers:
                    role = "writer" if leads else "replica"
                    rows.append({"node": name, "role": role, "offset": 9, "committed_offset": 9})
                continue
            rows.append(
                {
                    "Node Name": name,
                    "Raft State": "leader" if leads else "follower" if answers else "noproc",
                    "Membership": "promotable" if name in group.learners else "voter",
                    "Last Log Index": 9 if answers else "",
                    "Commit Index": 9 if answers else "",
                }
            )
        return replicas_of(Kind(group.kind), rows)


# -- claims ------------------------------------------------------------------------------------


def _groups(view: View) -> tuple[Group, ...]:
    return tuple(view[BROKER].groups)


def _daemon(view: View, name: str) -> Any:
    return getattr(view[KEEPER], name) if KEEPER in view.up else ()


def _enough(group: Group) -> bool:
    return len(group.voters) >= TARGET


def _once(group: Group) -> bool:
    """One replica more than was lost, at most, and each command once."""
    return len(group.replicas) <= TARGET + 1


def _copies(most: int, view: View) -> bool:
    added = [one for one in _daemon(view, "intents") if one.action is Action.ADD]
    nodes = {node for one in added for node in (one.node, one.leader)}
    return all(sum(n in (one.node, one.leader) for one in added) <= most for n in nodes)


def _mended(view: View) -> bool:
    return all(
        len(one.voters - {LOST}) >= TARGET and LOST not in one.voters for one in _groups(view)
    )
