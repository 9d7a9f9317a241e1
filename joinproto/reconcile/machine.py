"""One round of `reconcile run` as a machine: follow begun changes, then look at the queue whose
turn it is.

A round begins when the broker was read (`Read`).  The leaders of queues are asked one after the
other, and changes are begun one after the other: after `Ask` and `Begin` the machine waits for the
outcome.  No action rests on unknown facts: a broker that cannot be read leaves everything as it is,
and a change is begun only on the queue's leader's own answer just before.

Source: reconciliation, Q2, Q4 and Q5; `joinproto/machine/step.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, assert_never

from attrs import define, field, frozen

from joinproto.errors import UsageProblem
from joinproto.machine.step import Step
from joinproto.machine.values import evolve
from joinproto.reconcile.keeper import Ended, Intent, Keeper, Verdict
from joinproto.reconcile.queue import Kind
from joinproto.reconcile.reading import Facts, Key, Replica
from joinproto.reconcile.tables import Action

# -- events: `now` is in seconds of one clock ------------------------------------------------------


@frozen
class Start:
    """The process starts; this was begun before, and has not ended."""

    intents: Mapping[Key, Intent]


@frozen
class Read:
    """The broker was read whole."""

    facts: Facts
    now: float


@frozen
class Unread:
    """It could not be read."""

    why: str


@frozen
class LeaderReply:
    """The reply of the leader; None if it does not answer, with the reason in `why`."""

    replicas: tuple[Replica, ...] | None
    now: float
    why: str = ""


@frozen
class Changed:
    """The tool has ended.  `why`: it failed, and may have changed something all the same."""

    now: float
    why: str = ""


Event: TypeAlias = Start | Read | Unread | LeaderReply | Changed

# -- effects ---------------------------------------------------------------------------------------


@frozen
class Ask:
    """Asks this node for the replicas of a queue; then comes `LeaderReply`."""

    key: Key
    kind: Kind
    node: str


@frozen
class Keep:
    """Stores the begun change; it is durable before the next effect."""

    intents: Mapping[Key, Intent]


@frozen
class Begin:
    """Has a tool begin this change; then comes `Changed`, when it has ended."""

    intent: Intent


@frozen
class TellRead:
    """Tells that the broker was read whole."""

    keeper: Keeper
    now: float


@frozen
class TellVerdict:
    """Tells one evaluation.  `applies`: whether its changes are made."""

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
    """`applies`: changes are begun; else they are only told.

    Of a round: `follows` and `looks` are left to do (None if not known: which are due is not known
    yet); `changed`: queues that were looked at, and whether they are looked at again soon; `asked`:
    whose leader is asked; `at`: when it last heard something.
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
    return draft.gone_on()


@define
class _RoundInMaking:
    """A round, as far as it comes without an answer; `changed` is put into the state at its end."""

    state: State
    changed: dict[Key, bool] = field(factory=dict)
    effects: list[Effect] = field(factory=list)

    @classmethod
    def of(cls, state: State, now: float) -> _RoundInMaking:
        """Return the round after an answer came."""
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

    def gone_on(self) -> Step[State, Effect]:
        """Return the state in which an answer is awaited, or the round is over."""
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
        """Note the time; the leader reports the effect in a later round."""
        self.keeper = self.keeper.begun(evolve(intent, ended=self.at))
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
            # A list that lacks it may be a broker that starts; after a while it was deleted.
            self._followed(intent, Ended.LOST, None)

    def _followed(self, intent: Intent, ended: Ended, replicas: tuple[Replica, ...] | None) -> None:
        if ended is Ended.NOT_YET:
            return
        left = self.keeper.ended(intent, ended)
        verdict = left.after(intent, ended, self.at, replicas)
        if verdict is not None and verdict.is_change and verdict.intent is None:
            return  # its nodes are busy: kept until they are not, as nothing else remembers it
        self.keeper = left
        self.effects.append(TellChange(intent, ended.value))
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
            # The list of queues is a few seconds old, so its leader has the last word.
            self._ask(key, key)
        else:
            self._judged(key, verdict)

    def _judged(self, key: Key, verdict: Verdict) -> None:
        self.effects.append(TellVerdict(key, verdict, self.state.applies))
        self.changed[key] = verdict.is_change or verdict.decision.action is Action.WAIT
        if verdict.intent is not None and self.state.applies:
            self._begin(verdict.intent)

    def _not_placed(self, key: Key, error: UsageProblem, *, looked: bool) -> None:
        """A placement function that fails stops no other queue."""
        self.effects.append(TellProblem("placement", error.message, key))
        if looked:
            self.changed[key] = True

    def _begin(self, intent: Intent) -> None:
        self.state = evolve(self.state, keeper=self.keeper.begun(intent), asked=intent)
        # Kept before it is begun: a keeper that starts again asks the leader about its outcome.
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
