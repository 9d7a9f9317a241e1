"""A member made of tables only: the machine decides, and `_perform` performs its actions.

Such a member needs a group layer that gives all members the same agreed set, with the last status
of each, and the same order of frames.  Time, disk and network are outside.  All state is in
attributes that are plain values.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from attrs import frozen

from joinproto.errors import MisuseError
from joinproto.machine.compiled import members_of
from joinproto.machine.machine import StateMachine, TakenCase
from joinproto.machine.vocabulary import Options, Phase, Reason, Signature, Status, Store
from joinproto.reference import effects, events
from joinproto.reference.effects import Action, DiskRecord, Effect
from joinproto.reference.events import TRIGGERS, Agreed, Event, Start


@frozen
class Identity:
    """The part of a member that never changes while it runs."""

    id: str
    options: Options = ()
    wait_for: int = 1


class TabledMember(ABC):
    """A member with the phase and reason of its last decision, and its durable state."""

    persistent: ClassVar[tuple[str, ...]] = ("store", "initial", "final", "data")
    """The attributes that the last performed `Persist` has made durable."""

    def __init__(self, me: Identity, kept: DiskRecord) -> None:
        self.me = me
        self.phase = Phase.STOPPED
        self.reason: Reason | None = None
        self.store = kept.store
        self.initial = kept.initial
        self.final = kept.final
        self.data = kept.data

    # -- for observers -----------------------------------------------------------------

    @property
    @abstractmethod
    def machine(self) -> StateMachine[Phase]:
        """The machine that decides for this member."""

    @property
    def status(self) -> Status:
        """Return the status that this member tells the others now."""
        return Status(
            self.me.id,
            self.store,
            initial=self.initial,
            final=self.final,
            active=self.phase is Phase.ACTIVE,
            ready=self.phase in (Phase.READY, Phase.ACTIVE),
            options=self.me.options,
            wait_for=self.me.wait_for,
        )

    @property
    def kept(self) -> DiskRecord:
        """Return the record that `Persist` makes durable now."""
        return DiskRecord(self.store, self.initial, self.final, self.data)

    def can(self, event: Event) -> bool:
        """Return whether `receive` has an answer for `event` in this phase."""
        return self.machine.can(self.phase, TRIGGERS[type(event)])

    def receive(self, event: Event) -> list[Effect]:
        """Decide about `event`, change, and return the effects to perform, in order.

        Raises `MisuseError`, and changes nothing, if `can(event)` is False, or if the agreed set
        does not have this member once.  After a crash, make a new member with the record of the
        last performed `Persist`.
        """
        return list(self.react(event))

    def react(self, event: Event) -> Iterator[Effect]:
        """Yield the effects of `receive`, one by one.

        At each effect this member has changed up to that point only: at a `Persist`, it keeps the
        attributes named in `persistent`.  Take all effects, or discard the member.
        """
        members, me = self._members_and_place(event)
        step = self.machine.step(self, TRIGGERS[type(event)], members, me)
        self.reason = step.case.reason
        yield effects.CaseTaken(step.table.name, step.case.label, step.case.name)
        for action in step.case.effects:
            yield from self._perform(Action(action), event, step, members, me)

    # -- implementation --------------------------------------------------------------------

    def _members_and_place(self, event: Event) -> tuple[Sequence[Status], int]:
        if not isinstance(event, Agreed):
            return (self.status,), 0
        ids = [status.id for status in event.members]
        if ids.count(self.me.id) != 1:
            raise MisuseError(
                f"member {self.me.id} must be once in the set that it agreed on, {ids}",
                next="deliver a set only to its members",
            )
        return event.members, ids.index(self.me.id)

    def _perform(
        self,
        action: Action,
        event: Event,
        step: TakenCase[Phase],
        members: Sequence[Status],
        me: int,
    ) -> list[Effect]:
        """Perform one action and return its effects; a change of durable state comes first."""
        before = self.kept
        found: list[Effect] = []
        match action, event:
            case Action.ANNOUNCE, _:
                found = [effects.Announce(self.status)]
            case Action.SERVE, _:
                found = [effects.Serve()]
            case Action.EXIT, _:
                found = [effects.Exit()]
            case Action.ABORT, _:
                found = [effects.Abort(step.case.label, step.case.reason)]
            case Action.LOG_RECOVERY, _:
                found = [effects.Log("need manual recovery")]
            case Action.ASK_FOR_UPDATE, Agreed() if step.case.updates_from is not None:
                sources = members_of(step.case.updates_from, members, me)
                found = [effects.AskForUpdate(tuple(members[at].id for at in sources if at != me))]
            case Action.DROP_DATA, _:
                self.data = ()
            case Action.TAKE_DATA, events.UpdateDone():
                self.data = event.data
                self.final = self.final if event.final is None else event.final
            case Action.TAKE_INITIAL, events.UpdateDone():
                self.initial = event.initial
            case Action.SET_INITIAL, Start() | Agreed():
                self.initial = self._initial_signature(event)
            case ((Action.WRITE_FRAME | Action.WRITE_COUNTED_FRAME), events.ClientWrite()):
                self.data = (*self.data, event.frame)
                if action is Action.WRITE_COUNTED_FRAME:
                    self.final = self.final + 1 if isinstance(self.final, int) else 1
            case Action.ACKNOWLEDGE, events.ClientWrite():
                found = [effects.Acknowledge(event.frame)]
            case Action.MARK_CLEAN, events.OrderlyShutdown() | events.MarkClean():
                own = 0 if self.final is None else self.final
                self.final = own if event.final is None else event.final
            case ((Action.MARK_DIRTY | Action.JUDGE_STORE), _):
                pass  # only the store changes, below
            case _:
                raise MisuseError(
                    f"{action.name} cannot be done on {type(event).__name__}",
                    next=f"correct table {step.table.name}, case {step.case.name!r}",
                )
        self._settle_store(action, event)
        # A member without a store has no durable record.
        if self.kept != before and self.store is not Store.NONE:
            found.insert(0, effects.Persist(self.kept))
        return found

    @abstractmethod
    def _initial_signature(self, event: Start | Agreed) -> Signature | None:
        """Return the initial signature that this member sets now."""

    @abstractmethod
    def _settle_store(self, action: Action, event: Event) -> None:
        """Change `store`, and the attributes that depend on it, as `action` asks."""
