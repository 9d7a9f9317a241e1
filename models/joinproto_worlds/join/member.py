"""A member of the join worlds: the shipped member as a value, and its store.

This module makes no decisions.  The host performs a step's actions like the shipped hosts.  The
store keeps frames, and the position is written together with them.  There is no clock: a deadline
may come at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import lru_cache
from typing import Any, ClassVar

from attrs import define, evolve, frozen

from joinproto.check.events import NOT_ENABLED, Broadcast, Maybe, Persist, Record
from joinproto.check.events import Message as Arrived
from joinproto.check.events import Rule as Took
from joinproto.join import inputs, steps
from joinproto.join.admission import admission
from joinproto.join.choice import Choice
from joinproto.join.fixpoint import facts
from joinproto.join.frames import FrameVerdict, may_append
from joinproto.join.greeting import row_of
from joinproto.join.heartbeats import heartbeat
from joinproto.join.ids import Name, ViewId
from joinproto.join.inputs import Input
from joinproto.join.messages import Batch, Hello
from joinproto.join.outbox import combined
from joinproto.join.perform import performing
from joinproto.join.phases import RUNNING, Facts, Phase, standing
from joinproto.join.state import Known, MemberState, as_state, values_of
from joinproto.join.step_context import StepContext, step
from joinproto.join.store import StoreRecord
from joinproto.join.timers import Timers
from joinproto.join.view import Position, Seat, names_of
from joinproto_worlds.join import words
from joinproto_worlds.join.alone import broken_claim
from joinproto_worlds.join.expiry import name_of
from joinproto_worlds.join.host import Host, row
from joinproto_worlds.join.plan import HostLapse, Plan
from joinproto_worlds.join.words import MemberChoice
from joinproto_worlds.mutations.mutation import inside
from joinproto_worlds.mutations.named import mutation

mutated = inside(lambda node: mutation(node.plan.mutation))

ADMISSION = admission()
STANDING = standing()


@frozen
class Shown:
    """The observation of a member.  `frames`: its data while it is ready in its tip, else None.

    `is_tired`: it has begun all the ballots that the bounds allow.  `wrong`: the error that its own
    state and disk show, or "".
    """

    seat: Seat
    phase: Phase
    is_frozen: bool
    tip: Name | None
    frames: tuple[Position, ...] | None
    options: str
    is_tired: bool
    wrong: str


NEVER = 10**9
"""A time that no deadline reaches."""

UNHURRIED = Timers()
"""The timers of every member: time is no part of a searched state."""


@define
class Node:
    """A member and its disk.  `kept`, `frames`: the record and the frames on the disk.  `state`:
    the member, None before its start.  `lives`: how often a transient member was started; it gets a
    new store id each time.
    """

    persistent: ClassVar[tuple[str, ...]] = ("kept", "frames", "lives")

    plan: Plan
    kept: StoreRecord
    frames: tuple[Position, ...] = ()
    lives: int = 0
    state: MemberState | None = None

    # -- the interface of a world's member -------------------------------------------------

    @mutated
    def start(self) -> Iterator[Any]:
        self.state = None
        plan = self.plan
        # Whether the member had answered a ballot before it was stopped.
        has_answered = self.kept.promised is not None
        if plan.record.transient:
            self.lives += 1
            name = plan.config.member
            life = 1 if HostLapse.TRANSIENT_ID in plan.lapses else self.lives
            self.kept = evolve(plan.record, store_id=f"{name}{life}")
            self.frames = ()
            yield Persist()
        member, batch = steps.start(0, plan.setup, self.kept, in_reach=plan.peers)
        if (self.kept.lineage.views or self.lives > 1) and not has_answered:
            tip = self.kept.tip
            yield Record(words.Returned(self._former_seat(), None if tip is None else tip.id))
        if self.kept.accepted is not None:
            # A crash may have come after the write and before the ledger heard of the vote.
            yield Record(words.Vote(member.seat, self.kept.accepted))
        if plan.greets:
            for peer in sorted(plan.peers):
                # No question is asked over these connections; `join-apart` searches such questions.
                member, more = step(member, steps.happen, 0, inputs.PeerUp(peer, False))
                batch = combined(batch, more)
        yield from self._perform(member, batch)

    @mutated
    def choices(self) -> Iterator[Any]:
        plan, member = self.plan, self._running()
        tip = member.view
        number = 0 if tip is None else tip.number
        if member.phase is Phase.STOPPED:
            if tip is not None and number < plan.views:
                yield MemberChoice.START_AGAIN
            return
        proposes = plan.proposes and not self._is_tired(member)
        may = proposes and number < plan.views and member.choice.may_begin
        # A patient member waits for all answers, except where a member may be gone for good.
        hurries = member.choice.is_free and (not plan.is_patient or number in plan.hurries)
        if member.patience_until is not None and (hurries or (may and not member.choice.is_free)):
            yield MemberChoice.DEADLINE
        if plan.beats and (member.choice.is_frozen or not plan.hears):
            yield MemberChoice.BEAT
        if plan.hears:
            yield from plan.links(member.observations.in_reach, member.reads.last)
        runs = tip is not None and tip.is_open and member.seat in tip.members
        if plan.suspects and runs and may and not member.choice.is_frozen:
            yield Maybe(MemberChoice.SUSPECT)
        if member.is_serving:
            if plan.reads and not member.reads.called:
                yield Maybe(MemberChoice.READ)
            stays = may and not member.closes and not member.leaves
            if plan.closes and stays:
                yield Maybe(MemberChoice.SHUT_DOWN)
            if plan.leaves and stays:
                yield Maybe(MemberChoice.LEAVE)
            last = self.kept.position
            if member.is_sequencer and (0 if last is None else last.seq) < plan.frames:
                yield Maybe(MemberChoice.WRITE)

    @mutated
    def receive(self, event: Any) -> Any:
        if event is MemberChoice.START_AGAIN:
            return self.start()
        member = self._running()
        if member.phase in (Phase.STOPPED, Phase.ABORTED):
            return NOT_ENABLED
        match event:
            case MemberChoice.DEADLINE:
                return self._step(member, inputs.Tick())
            case MemberChoice.SUSPECT:
                return self._step(member, inputs.Tick(), _suspect)
            case MemberChoice.BEAT:
                return [Broadcast(heartbeat(member))]
            case words.Lost(peer):
                return self._step(member, inputs.PeerDown(peer))
            case words.Found(peer):
                return _recorded(_reached(member), self._step(member, inputs.PeerUp(peer)))
            case MemberChoice.SHUT_DOWN:
                return self._step(member, inputs.ShutdownCluster(), _at_once)
            case MemberChoice.LEAVE:
                return self._step(member, inputs.Leave(), _at_once)
            case MemberChoice.WRITE:
                return self._write(member)
            case MemberChoice.READ:
                # The frames at the start of the read count; the member may have more at its end.
                began = words.ReadBegan(member.seat, self.frames)
                return _recorded(began, self._step(member, inputs.Read()))
            case Arrived(sender, words.FrameMessage(view, seq)):
                if may_append(member, view, seq) is not FrameVerdict.TAKE:
                    return None
                return self._append(member, view, seq)
            case Arrived(sender, words.Data() as data):
                return self._take_data(member, sender, data)
            case Arrived(_, words.Says(view)):
                return self._step(member, inputs.RegisterSays(view))
            case Arrived(_, words.Free(parent)):
                stands = words.Stands(member.seat, parent)
                return _recorded(stands, self._step(member, inputs.RegisterFree(parent, 0)))
            case Arrived(sender, Hello() as hello):
                return self._meet(member, sender, hello)
            case Arrived(sender, message):
                return self._step(member, inputs.Receive(sender, message))
        raise AssertionError(event)

    def _meet(self, member: MemberState, sender: str, hello: Hello) -> Iterator[Any]:
        # A member reports only refusals; the coverage counts every case of the table.
        case = ADMISSION.choose((row_of(member, hello),), 0)
        yield Took(row(ADMISSION.name, case.label, case.name))
        yield from self._step(member, inputs.Receive(sender, hello))

    def offline(self, event: Any) -> Any:
        """Change the disk of a stopped member: lose it, put an old record back, or mark it."""
        tip = self.kept.tip
        match event:
            case "wipe" if self.kept.store_id == self.plan.record.store_id and tip is not None:
                self.kept = StoreRecord(store_id=f"{self.plan.config.member}2")
                self.frames = ()
            case "restore" if self.kept.promised is not None:
                self.kept = evolve(self.kept, promised=None, accepted=None)
            case "mark" if tip is not None and tip.is_open and not self.kept.is_marked:
                self.kept = evolve(self.kept, mark=tip.id)
            case _:
                return NOT_ENABLED
        return None

    @mutated
    def shows(self) -> Shown:
        member = self._running()
        tip = member.view
        is_ready = tip is not None and member.ready_in == tip.id
        return Shown(
            member.seat,
            member.phase,
            member.choice.is_frozen,
            None if tip is None else name_of(tip.id),
            self.frames if is_ready else None,
            member.config.digest,
            self.plan.proposes and self._is_tired(member),
            broken_claim(member, self.kept, self.frames),
        )

    def horizon(self) -> int:
        """Return how far the store has come: two for each view, and one more once it is frozen."""
        if self.plan.forgets:
            return 0
        return 2 * self.kept.lineage.length + (self.kept.promised is not None)

    # -- the host --------------------------------------------------------------------------

    def _step(
        self,
        member: MemberState,
        handled: Input,
        happen: Callable[[StepContext, float, Input], None] = steps.happen,
    ) -> Generator[Any, None, MemberState]:
        """Yield all effects of this input, and return the member's next state."""
        before, (member, batch) = member, step(member, happen, 0, handled)
        yield from self._perform(member, batch, before, handled)
        return member

    def _perform(
        self, member: MemberState, batch: Batch, before: Any = None, handled: Input | None = None
    ) -> Iterator[Any]:
        """Perform the batch, and keep the member's next state."""
        ready_in = None if self.state is None else self.state.ready_in
        host = Host(self, member, member.ready_in not in (None, ready_in), before, handled)
        if HostLapse.PERSIST_FIRST in self.plan.lapses:
            yield from host.tell(batch.sends)
            batch = evolve(batch, sends=())
        yield from performing(batch, host)
        if member.phase in RUNNING:
            yield _standing_case(facts(member))
        self._remember(member)

    def _write(self, member: MemberState) -> Iterator[Any]:
        tip = member.view
        assert tip is not None
        last = member.record.position
        seq = 1 if last is None else last.seq + 1
        yield from self._append(member, tip.id, seq)
        yield Broadcast(words.FrameMessage(tip.id, seq))

    def _append(self, member: MemberState, view: ViewId, seq: int) -> Iterator[Any]:
        frame = Position(view, seq)
        self.frames = (*self.frames, frame)
        member, _ = step(member, steps.happen, 0, inputs.Appended(view, seq))
        if self.kept.lineage.number_of(view) is not None:
            self.kept = evolve(self.kept, position=frame)
        self._remember(member)
        if HostLapse.FRAME_DURABLE in self.plan.lapses:
            yield Record(words.Kept(member.seat, frame))
            yield Persist()
            return
        yield Persist()
        yield Record(words.Kept(member.seat, frame))

    def _take_data(self, member: MemberState, sender: str, data: words.Data) -> Any:
        tip = member.view
        waits = member.source == sender and not member.is_frozen
        if not waits or tip is None or tip.id != data.view:
            return NOT_ENABLED
        if member.phase is Phase.UPDATING and data.position != tip.position:
            return NOT_ENABLED
        return self._switch(member, data)

    def _switch(self, member: MemberState, data: words.Data) -> Iterator[Any]:
        # The data is written before the record that ends the update.  A crash in between leaves an
        # update that the record marks as unfinished.
        is_late = HostLapse.UPDATE_DURABLE in self.plan.lapses
        if self.plan.steps and not is_late:
            member = yield from self._follow(member, data)
        else:
            member = yield from self._step(member, inputs.UpdateOverwrites())
            if not is_late:
                self.frames = data.frames
                yield Persist()
        yield from self._step(member, inputs.UpdateDone(data.position))
        if is_late:
            # The record already says that the update is done; only now the data is written.
            self.frames = data.frames
            yield Persist()

    def _follow(self, member: MemberState, data: words.Data) -> Generator[Any, None, MemberState]:
        """Cut off the frames that the source lacks, and append the source's frame by frame."""
        shared = [one for one, other in zip(self.frames, data.frames, strict=False) if one == other]
        for end in range(len(shared), len(data.frames) + 1):
            self.frames = data.frames[:end]
            # A host that starts after a crash finds the position by reading the frames on its disk.
            self.kept = evolve(self.kept, position=data.frames[end - 1] if end else None)
            yield Persist()
            member = yield from self._step(member, inputs.UpdateProgress(self.kept.position))
        return member

    # -- small parts -----------------------------------------------------------------------

    def _running(self) -> MemberState:
        assert self.state is not None
        return self.state

    def _remember(self, member: MemberState) -> None:
        if member.phase in (Phase.STOPPED, Phase.ABORTED):
            # The process has ended, so its memory is gone.
            ended, _ = steps.start(0, self.plan.setup, self.kept)
            member = evolve(ended, phase=member.phase, verdict=member.verdict)
        self.state = _without_time(member, NEVER if self.plan.lasts else 0)

    def _former_seat(self) -> Seat:
        name = self.plan.config.member
        return Seat(name, f"{name}{self.lives - 1}" if self.lives else self.kept.store_id)

    def _is_tired(self, member: MemberState) -> bool:
        choice = member.choice
        return isinstance(choice, Choice) and choice.next_ballot.round > self.plan.rounds

    def story(self) -> dict[str, Any]:
        member = self._running()
        record = member.record
        tip = member.view
        lines: dict[str, Any] = {
            "phase": member.phase.value,
            "tip": "-" if tip is None else str(tip.id),
            "at": words.position_text(record.position)
            + (", unfinished" if record.update_unfinished else ""),
            "held": "-" if record.held is None else str(record.held),
        }
        if member.choice.is_frozen:
            lines["frozen"] = "yes"
        if member.observations.answers:
            lines["answers"] = "; ".join(sorted(str(item) for item in member.observations.answers))
        if member.observations.ready:
            lines["ready"] = " ".join(sorted(names_of(member.observations.ready)))
        return lines


@lru_cache(maxsize=1 << 13)
def _standing_case(known: Facts) -> Took:
    case = STANDING.choose((known,), 0)
    return Took(row("chain-standing", case.label, case.name))


def _recorded(
    event: words.Reached | words.ReadBegan | words.Stands | None, rest: Iterator[Any]
) -> Iterator[Any]:
    if event is not None:
        yield Record(event)
    yield from rest


def _reached(member: MemberState) -> words.Reached | None:
    """Return the ledger's event of a new connection, or None if the member has others."""
    tip = member.view
    return (
        None if tip is None or member.observations.in_reach else words.Reached(member.seat, tip.id)
    )


def _without_time(member: MemberState, until: int) -> MemberState:
    """Return the member without times; deadlines come at any moment, so it matters only whether a
    deadline is set.
    """
    m = Known(*values_of(member))
    m.patience_until = None if m.patience_until is None else 0
    # The time to close the cluster is over at once or never (`Plan.lasts`).  After it, a view that
    # leaves the member out ends its wish; it still closes a view that keeps it.
    m.closes_until = None if m.closes_until is None else until
    m.tries = 0
    m.says_at = None
    m.timers = UNHURRIED
    m.connections = frozenset()
    return as_state(m)


def _at_once(m: StepContext, now: float, request: Input) -> None:
    """Handle an operator's request, and begin its ballot in the same step."""
    steps.happen(m, now, request)
    steps.happen(m, now, inputs.Tick())


def _suspect(m: StepContext, now: float, handled: Input) -> None:
    """Handle an input as if the deadline had come and the first peer in reach were not heard of."""
    before = m.observations.in_reach
    m.observations = evolve(m.observations, in_reach=before - {min(before, default="")})
    m.patience_until = now
    steps.happen(m, now, handled)
    m.observations = evolve(m.observations, in_reach=before)
