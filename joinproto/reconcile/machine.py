"""One round of `reconcile run` as a machine: follow begun changes, then look at the due queues.

A round begins once the broker was read (`Read`).  Leaders of queues are asked one at a time, and
changes are begun one at a time: after `Ask` and `Begin` the machine waits for the outcome.  No
action rests on unknown facts: no replica changes if the broker cannot be read, and a change begins
only after the queue's leader has answered in this round.

Source: reconciliation, Q2, Q4 and Q5; `joinproto/machine/step.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, assert_never

from attrs import define, field, frozen

from joinproto.errors import UsageProblem
from joinproto.machine.step import Step
from joinproto.machine.values import evolve
from joinproto.reconcile.keeper import ChangeOutcome, Intent, Keeper, Verdict
from joinproto.reconcile.queue import Kind
from joinproto.reconcile.reading import Facts, Key, Replica
from joinproto.reconcile.tables import Action

# -- events: `now` is in seconds of one clock ------------------------------------------------------


@frozen
class Start:
    """The process starts.  `intents`: changes that were begun before and have not ended."""

    intents: Mapping[Key, Intent]


@frozen
class Read:
    """The broker was read completely."""

    facts: Facts
    now: float


@frozen
class Unread:
    """The broker could not be read."""

    why: str


@frozen
class LeaderReply:
    """The leader's reply.  `replicas`: None if it does not answer, with the reason in `why`."""

    replicas: tuple[Replica, ...] | None
    now: float
    why: str = ""


@frozen
class Changed:
    """The tool has ended.

    `why`: how the tool failed, or ""; it may have made its change even if it failed.
    """

    now: float
    why: str = ""


Event: TypeAlias = Start | Read | Unread | LeaderReply | Changed

# -- effects ---------------------------------------------------------------------------------------


@frozen
class Ask:
    """Asks this node for the replicas of a queue; `LeaderReply` follows."""

    key: Key
    kind: Kind
    node: str


@frozen
class Keep:
    """Stores the begun changes, which are durable before the next effect."""

    intents: Mapping[Key, Intent]


@frozen
class Begin:
    """Starts a tool that makes this change; `Changed` follows when the tool has ended."""

    intent: Intent


@frozen
class TellRead:
    """Reports that the broker was read completely."""

    keeper: Keeper
    now: float


@frozen
class TellVerdict:
    """Reports one evaluation.  `applies`: whether its change is made."""

    key: Key
    verdict: Verdict
    applies: bool


@frozen
class TellChange:
    """Reports the end of a change."""

    intent: Intent
    ended: str


@frozen
class TellProblem:
    """Reports an error."""

    what: str
    why: str
    key: Key | None = None


Effect: TypeAlias = Ask | Keep | Begin | TellRead | TellVerdict | TellChange | TellProblem


@frozen
class State:
    """The keeper and the round that is under way.

    `applies`: changes are made, not only reported.  `follows`: the changes that must still be
    followed in this round.  `looks`: the queues that must still be looked at, None while it is not
    known which are due.  `changed`: for each queue that was looked at, whether it is looked at
    again soon.  `asked`: the change or queue whose leader or tool is awaited.  `at`: the time of
    the last event.
    """

    keeper: Keeper
    applies: bool = False
    follows: tuple[Intent, ...] = ()
    looks: tuple[Key, ...] | None = None
    changed: Mapping[Key, bool] = field(factory=dict)
    asked: Intent | Key | None = None
    at: float = 0.0


def step(state: State, event: Event) -> Step[State, Effect]:
    """Return the next state and effects for an event."""
    match event:
        case Start(intents):
            return Step(evolve(state, keeper=evolve(state.keeper, intents=intents)))
        case Unread(why):
            return Step(state, (TellProblem("api", why),))
        case Read(facts, now):
            keeper = state.keeper.observe(facts, now)
            begun = tuple(keeper.intents.values())
            draft = _RoundInMaking(State(keeper, state.applies, begun, at=now))
            draft.effects.append(TellRead(keeper, now))
            draft.effects += [TellProblem("queue", why, key) for key, why in facts.problems.items()]
        case LeaderReply(replicas, now, why):
            draft = _RoundInMaking.of(state, now)
            if state.asked is not None:
                draft.answered(state.asked, replicas, why)
        case Changed(now, why):
            draft = _RoundInMaking.of(state, now)
            if isinstance(state.asked, Intent):
                draft.tool_ended(state.asked, why)
        case never:
            assert_never(never)
    return draft.go_on()


@define
class _RoundInMaking:
    """A round during one step.  `go_on` puts `changed` into the state."""

    state: State
    changed: dict[Key, bool] = field(factory=dict)
    effects: list[Effect] = field(factory=list)

    @classmethod
    def of(cls, state: State, now: float) -> _RoundInMaking:
        """Return the round that goes on after an answer."""
        return cls(evolve(state, asked=None, at=now), dict(state.changed))

    @property
    def keeper(self) -> Keeper:
        return self.state.keeper

    @keeper.setter
    def keeper(self, keeper: Keeper) -> None:
        self.state = evolve(self.state, keeper=keeper)

    @property
    def at(self) -> float:
        return self.state.at

    def go_on(self) -> Step[State, Effect]:
        """Go on until an answer is awaited or the round is over, and return the step."""
        while self.state.asked is None:
            follows, looks = self.state.follows, self.state.looks
            if follows:
                self.state = evolve(self.state, follows=follows[1:])
                self._follow(follows[0])
            elif looks is None:
                self.state = evolve(self.state, looks=tuple(self.keeper.due(self.at)))
            elif looks:
                self.state = evolve(self.state, looks=looks[1:])
                self._look(looks[0])
            else:
                self.keeper = self.keeper.looked(self.changed, self.at)
                self.changed = {}
                break
        return Step(evolve(self.state, changed=self.changed), tuple(self.effects))

    def tool_ended(self, intent: Intent, why: str) -> None:
        """Note when the tool ended; the leader reports its result in a later round."""
        self.keeper = self.keeper.begun(evolve(intent, ended_at=self.at))
        if why:
            self.effects.append(TellProblem("command", why, intent.key))

    def answered(
        self, one: Intent | Key, replicas: tuple[Replica, ...] | None, why: str = ""
    ) -> None:
        """Go on with the queue whose leader was asked."""
        key = one.key if isinstance(one, Intent) else one
        if why:
            self.effects.append(TellProblem("status", why, key))
        try:
            if isinstance(one, Intent):
                ended = self.keeper.follow(one, self.at, replicas)
                self._followed(one, ended, replicas)
            elif replicas is None:
                self.changed[key] = True
            else:
                self._judged(key, self.keeper.judge(key, self.at, replicas))
        except UsageProblem as error:
            self._not_placed(key, error, looked=not isinstance(one, Intent))

    def _follow(self, intent: Intent) -> None:
        if intent.key in self.keeper.queues:
            self._ask(intent, intent.key)
        elif self.keeper.has_settled(intent, self.at):
            # If the list lacks a queue, the broker may be starting.  If it still lacks the queue
            # after a while, the queue was deleted.
            self._followed(intent, ChangeOutcome.LOST, None)

    def _followed(
        self, intent: Intent, outcome: ChangeOutcome, replicas: tuple[Replica, ...] | None
    ) -> None:
        if outcome is ChangeOutcome.NOT_YET:
            return
        left = self.keeper.without_change(intent, outcome)
        verdict = left.decision_after_change(intent, outcome, self.at, replicas)
        if verdict is not None and verdict.is_change and verdict.intent is None:
            return  # the nodes are busy: keep the intent, the only record of this change
        self.keeper = left
        self.effects.append(TellChange(intent, outcome.value))
        if verdict is not None and verdict.intent is not None:
            self._begin(verdict.intent)
        else:
            self.effects.append(Keep(left.intents))

    def _look(self, key: Key) -> None:
        try:
            verdict = self.keeper.judge(key, self.at)
        except UsageProblem as error:
            self._not_placed(key, error, looked=True)
            return
        is_doubted = key in self.keeper.doubted
        if self.state.applies and (verdict.intent is not None or is_doubted):
            # The list of queues is a few seconds old, so the queue's leader decides.
            self._ask(key, key)
        else:
            self._judged(key, verdict)

    def _judged(self, key: Key, verdict: Verdict) -> None:
        self.effects.append(TellVerdict(key, verdict, self.state.applies))
        self.changed[key] = verdict.is_change or verdict.decision.action is Action.WAIT
        if verdict.intent is not None and self.state.applies:
            self._begin(verdict.intent)

    def _not_placed(self, key: Key, error: UsageProblem, *, looked: bool) -> None:
        """Report a placement function that fails; other queues go on."""
        self.effects.append(TellProblem("placement", error.message, key))
        if looked:
            self.changed[key] = True

    def _begin(self, intent: Intent) -> None:
        self.state = evolve(self.state, keeper=self.keeper.begun(intent), asked=intent)
        # The change is stored before it begins, so a process that starts again asks the leader for
        # its outcome.
        self.effects += [Keep(self.keeper.intents), TellChange(intent, "begun"), Begin(intent)]

    def _ask(self, one: Intent | Key, key: Key) -> None:
        queue = self.keeper.queues[key]
        running = [node.name for node in self.keeper.nodes if node.running]
        node = queue.leader if queue.leader in running else next(iter(running), None)
        if node is None:
            self.answered(one, None)
            return
        self.state = evolve(self.state, asked=one)
        self.effects.append(Ask(key, queue.kind, node))
