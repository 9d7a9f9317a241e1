"""A world of the shipped daemon of `reconcile run` and a simulated broker.

The broker keeps two records of a queue's replicas.  The group (`voters`, `learners`) is the true
record.  The API shows the list, which is written later than the group, or not at all.  A node is
lost for good before the run begins.

There are only two times: a tool ended just now (`NOW`), or more than `SETTLE` seconds before
(`LONG_AGO`).  Each round reads all queues.

Source: reconciliation, Q4 to Q6; incidents 13, 15, 16, 29 and 30.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Literal

from attrs import define, evolve, frozen

from joinproto.check.events import NOT_ENABLED
from joinproto.check.properties import always, always_possible, eventually, sometimes
from joinproto.check.view import View
from joinproto.check.world import Together, World
from joinproto.machine.world import DAMAGED, Death, MachineWorld, copied
from joinproto.reconcile.keeper import Intent, Keeper, Rules
from joinproto.reconcile.machine import (
    Changed,
    Effect,
    Event,
    Keep,
    LeaderReply,
    Read,
    Start,
    State,
    step,
)
from joinproto.reconcile.perform import perform
from joinproto.reconcile.plan import Limits
from joinproto.reconcile.queue import Kind, Settings
from joinproto.reconcile.reading import Key, facts_of
from joinproto.reconcile.tables import Action
from joinproto.reconcile.timers import Timers
from joinproto_worlds.mutations.named import mutated
from joinproto_worlds.reconcile.broker import Group, Names

KEEPER = "keeper"
TARGET = 3
LOST = "c"
SETTLE = 60.0
NOW = 120.0
LONG_AGO = 0.0
"""More than `SETTLE` seconds before `NOW`."""


@frozen(cache_hash=True)
class Act:
    """One step.  `about`: the node or queue, or the queue and the command, such as "q0: add d".

    `now`: the queue after the step, if the step changes the broker's records.
    """

    action: str
    about: str = ""
    now: Group | None = None

    def __str__(self) -> str:
        return f"{self.action}: {self.about}" if self.about else self.action


@define(kw_only=True)
class DaemonWithBroker(MachineWorld[Event, Effect]):
    """A daemon and its broker.  `state`: None while the daemon does not run; `waits`: whether it
    waits for an answer about a queue's leader, for a tool, or for neither ("").

    `budgets`: how often each fault may still happen.  These are `crashes`; `misses`, changes that
    only the list or only the group records; `flees`, losses of all leaders; `hangs`, tools that
    their time-out ends; `drains`; `losses` of the daemon's file, `backups` of it that are put back
    (`copy`), and `tears`, crashes by a power cut.  `blind`: a change was begun while no node led.
    """

    write_effects: ClassVar = (Keep,)

    mutant: str | None
    nodes: tuple[str, ...]
    rules: Rules
    learners: bool
    groups: tuple[Group, ...]
    budgets: dict[str, int]
    state: State | None = None
    waits: Literal["", "leader", "tool"] = ""
    copy: dict[Key, Intent] | None = None
    leads: bool = True
    drained: Names = frozenset()
    blind: bool = False

    def start(self) -> None:
        self.happen(Act("starts"))

    # -- possible steps ----------------------------------------------------------------------

    @mutated
    def steps(self) -> Iterator[Together]:
        """Yield the joint steps; a fault is possible while its budget lasts, and is never fair."""
        left = self.budgets
        for act in self._faults():
            if left[SPENDS[act.action]]:
                yield Together(act.action, {KEEPER: act}, act.about, fair=False, fault=True)
        for act in (*self._acts_of_broker(), *self._acts_of_daemon()):
            yield Together(act.action, {KEEPER: act}, act.about)
            if act.now is None and left["crashes"]:
                for death in self.deaths(act, (False,), tears=left["tears"] > 0):
                    yield Together(str(death), {KEEPER: death}, fair=False, fault=True)

    def _acts_of_daemon(self) -> Iterator[Act]:
        if self.state is None:
            yield Act("starts")
            return
        for key, intent in self.state.keeper.intents.items():
            # `SETTLE` is longer than a command takes, also after its tool was ended.
            if intent.ended_at == NOW and not self._group(key.name).asked:
                yield Act("settles", key.name)
        asked: Any = self.state.asked
        if not self.waits:
            yield Act("reads")
        elif self.waits == "leader":
            yield Act("answers", asked.key.name if isinstance(asked, Intent) else asked.name)
        elif not self._is_asked(asked):
            yield Act("the tool ends", asked.key.name)

    def _acts_of_broker(self) -> Iterator[Act]:
        if not self.leads:
            yield Act("leaders are elected")
        for group in self.groups:
            for left, verb, node in group.commands() if self.leads else ():
                now = left.changed(verb, node, learns=self.learners)
                yield Act("carries out", f"{group.name}: {verb} {node}", now)
            for node in sorted(group.learners) if self.leads else ():
                now = evolve(group, voters=group.voters | {node}, learners=group.learners - {node})
                yield Act("promotes", f"{group.name}: {node}", now)
            for verb, node in group.unlisted[:1]:
                now = evolve(group, unlisted=group.unlisted[1:]).with_list_changed(verb, node)
                yield Act("lists", f"{group.name}: {verb} {node}", now)

    def _faults(self) -> Iterator[Act]:
        for group in self.groups:
            for left, verb, node in () if self.leads else group.commands():
                # Incident 30: the command ends and the list is changed, but the group is not.
                now = left.with_list_changed(verb, node)
                yield Act("changes only the list", f"{group.name}: {verb} {node}", now)
            for verb, node in group.unlisted[:1]:
                now = evolve(group, unlisted=group.unlisted[1:])
                yield Act("does not list", f"{group.name}: {verb} {node}", now)
        if self.leads:
            yield Act("leaders flee")
        yield from (Act("is drained", name) for name in self.nodes if name not in self.drained)
        if self.copy is None:
            yield Act("a copy of its file is made")
        if self.state is None:
            if self.disk[KEEPER]:
                yield Act("its file is lost")
            if self.copy not in (None, self.disk[KEEPER]):
                yield Act("an older copy of its file is put back")
            return
        yield Act("crashes")
        if KEEPER in self.unsynced and self.budgets["crashes"]:
            yield Act("loses power")
        begun: Any = self.state.asked
        if self.waits == "tool" and self._is_asked(begun):
            yield Act("time-out", begun.key.name)

    # -- effects of a step ----------------------------------------------------------------------

    @mutated
    def receive(self, event: Act | Death[Act]) -> Any:
        return None if self.enact(event) else NOT_ENABLED

    def happen(self, act: Act) -> bool:
        if act.action in SPENDS and act.action not in FREE:
            self.budgets[SPENDS[act.action]] -= 1
        if act.now is not None:
            self.groups = tuple(act.now if one.name == act.now.name else one for one in self.groups)
            return True
        match act.action:
            case "leaders flee" | "leaders are elected":
                self.leads = not self.leads
            case "is drained":
                self.drained |= {act.about}
            case "its file is lost":
                self.disk[KEEPER] = OrderedDict()
            case "a copy of its file is made":
                self.copy = self.disk[KEEPER]
            case "an older copy of its file is put back":
                self.disk[KEEPER] = self.copy
            case "crashes":
                self.dies(KEEPER)
            case "loses power":
                self.tears = True
                self.lose_power(KEEPER)
                self.dies(KEEPER)
            case "starts":
                # An operator removes a damaged file, as the error message says.
                intents = self.disk[KEEPER]
                self.state = State(Keeper(self.rules), applies=True)
                self.tell(KEEPER, Start({} if intents is DAMAGED else intents))
            case "reads":
                nodes = [
                    {"name": name, "running": True, "being_drained": name in self.drained}
                    for name in self.nodes
                ]
                queues = [one.row(self.nodes) for one in self.groups]
                facts = facts_of(nodes, queues, TARGET, {})
                self.tell(KEEPER, Read(facts, NOW))
            case "answers":
                self.waits = ""
                replicas = self._group(act.about).status(self.nodes, leads=self.leads)
                self.tell(KEEPER, LeaderReply(replicas, NOW))
            case "the tool ends" | "time-out":
                self.waits = ""
                self.tell(KEEPER, Changed(NOW, "" if act.action != "time-out" else "no end"))
        self._forget(settled=act.about if act.action == "settles" else "")
        return True

    def _forget(self, settled: str = "") -> None:
        """Forget times, and between two rounds also the facts that the next reading repeats.

        `settled`: the queue whose tool ended long ago, or "".
        """

        def aged(one: Any) -> Any:
            if not isinstance(one, Intent):
                return one
            is_old = one.key.name == settled
            return evolve(one, since=LONG_AGO, ended_at=LONG_AGO if is_old else one.ended_at)

        if self.state is None:
            return
        keeper, follows = self.state.keeper, tuple(map(aged, self.state.follows))
        # The daemon follows tools in the order in which they began: here the order of the queues.
        intents = OrderedDict((key, aged(one)) for key, one in sorted(keeper.intents.items()))
        keeper = evolve(keeper, intents=intents, changed_at=LONG_AGO)
        if self.waits:
            asked = aged(self.state.asked)
            self.state = evolve(self.state, keeper=keeper, follows=follows, asked=asked)
        else:
            keeper = evolve(keeper, queues={}, clocks={}, doubted=frozenset())
            self.state = State(keeper, applies=True)

    # -- the daemon: its step, its end and its ports -------------------------------------------

    def runs(self, name: str) -> bool:
        return self.state is not None

    def step(self, name: str, event: Event) -> tuple[Effect, ...]:
        assert self.state is not None
        taken = step(self.state, event)
        self.state = taken.state
        return taken.effects

    def perform(self, name: str, effect: Effect) -> None:
        perform(effect, self)

    def dies(self, name: str) -> None:
        self.budgets["crashes"] -= 1
        self.budgets["tears"] -= self.tears
        self.state, self.waits = None, ""

    def ask(self, key: Key, kind: Kind, node: str) -> None:
        self.waits = "leader"

    def keep(self, intents: Mapping[Key, Intent]) -> None:
        # The time at which a tool ended is not written.
        kept = (evolve(one, since=LONG_AGO, ended_at=None) for _, one in sorted(intents.items()))
        self.write(KEEPER, OrderedDict((one.key, one) for one in kept))

    def begin(self, intent: Intent) -> None:
        self.waits = "tool"
        self.blind |= not self.leads
        group = self._group(intent.key.name)
        now = evolve(group, asked=(*group.asked, (intent.action.value, intent.node)))
        self.groups = tuple(now if one is group else one for one in self.groups)

    def _ignore(self, *_: object, **__: object) -> None:
        """Do nothing: no person reads the daemon's messages here."""

    tell_read = tell_verdict = tell_change = tell_problem = _ignore

    # -- the broker, and observations ------------------------------------------------------------

    def _group(self, name: str) -> Group:
        return next(one for one in self.groups if one.name == name)

    def _is_asked(self, intent: Intent) -> bool:
        return (intent.action.value, intent.node) in self._group(intent.key.name).asked

    def shows(self) -> DaemonWithBroker:
        return copied(self)

    def story(self) -> dict[str, Any]:
        """Return the part of each state that a run shows."""
        state, file = self.state, self.disk[KEEPER]
        lines: dict[str, Any] = {"leaders": "there" if self.leads else "gone"}
        for one in self.groups:
            lines[one.name] = evolve(one, unlisted=())
        lines["file"] = file.value if file is DAMAGED else _intents_text(file)
        lines["daemon"] = "off" if state is None else _intents_text(state.keeper.intents)
        lines["waits for"] = self.waits
        return lines


SPENDS = {
    "crashes": "crashes",
    "loses power": "tears",
    "a copy of its file is made": "backups",
    "leaders flee": "flees",
    "is drained": "drains",
    "its file is lost": "losses",
    "an older copy of its file is put back": "backups",
    "time-out": "hangs",
    "changes only the list": "misses",
    "does not list": "misses",
}
"""The budget that each fault takes from."""
FREE = ("crashes", "loses power", "a copy of its file is made")
"""Faults that `happen` does not charge.

`dies` charges a crash.  A copy is charged when it is put back, not when it is made.
"""


def _intents_text(intents: Mapping[Key, Intent]) -> str:
    ended = {None: "", NOW: ", just ended", LONG_AGO: ", settled"}
    return "; ".join(f"{one.key.name} {one.text}{ended[one.ended_at]}" for one in intents.values())


def build(
    members: int = 5,
    mutant: str | None = None,
    *,
    kinds: str = "q",
    learners: bool = False,
    copies: int = 2,
    crashes: int = 0,
    **budgets: int,
) -> World:
    """Return the world of a daemon and a broker of `members` nodes, of which c is lost.

    `kinds`: a letter for each: `q` for a quorum queue, `s` for a stream.  `learners`: a new replica
    has no vote at first.
    `copies`: how many replicas a node may copy at once.  `crashes`, `budgets`: as in
    `DaemonWithBroker`.
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
    none = dict.fromkeys(("misses", "flees", "hangs", "drains", "losses", "backups", "tears"), 0)
    daemon = partial(
        DaemonWithBroker,
        mutant=mutant,
        nodes=nodes,
        rules=rules,
        learners=learners,
        groups=groups,
        budgets={**none, **budgets, "crashes": crashes},
        disk={KEEPER: OrderedDict()},
    )
    return World(
        name="reconcile-beside",
        members={KEEPER: lambda: copied(daemon())},
        together=lambda view: view[KEEPER].steps(),
        properties=[
            always("never below the minimum", _each(lambda one: len(one.voters) >= TARGET)),
            # At most one replica more than wanted, because each command is given once.
            always("nothing is done twice", _each(lambda one: len(one.replicas) <= TARGET + 1)),
            always("nothing is begun while no node leads", lambda view: not view[KEEPER].blind),
            always("no node copies more than it may", partial(_within_limit, copies)),
            sometimes("all have what they want", _each(_is_mended)),
            always_possible("each that can be repaired is", _each(_is_mended)),
            *(
                []
                if crashes
                else [eventually("in the end all have what they want", _each(_is_mended))]
            ),
        ],
        about="the daemon with a broker whose list differs from its group",
    )


# -- claims ------------------------------------------------------------------------------------


def _each(holds: Callable[[Group], bool]) -> Callable[[View], bool]:
    return lambda view: all(map(holds, view[KEEPER].groups))


def _is_mended(group: Group) -> bool:
    return len(group.voters - {LOST}) >= TARGET and LOST not in group.voters


def _within_limit(copies_max: int, view: View) -> bool:
    state = view[KEEPER].state
    intents = () if state is None else state.keeper.intents.values()
    added = [one for one in intents if one.action is Action.ADD]
    nodes = {node for one in added for node in (one.node, one.leader)}
    return all(sum(n in (one.node, one.leader) for one in added) <= copies_max for n in nodes)
