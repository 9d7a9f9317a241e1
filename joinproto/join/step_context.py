"""A step: from a state and an event to the next state and the actions.

The event is a function (`steps.py`) that works on a draft of the next state.  Only the step sees
the draft, so a step's result depends only on its arguments, and a step that raises has changed
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVarTuple

from attrs import define, evolve, field

from joinproto.join.messages import (
    Action,
    Batch,
    Closing,
    Event,
    JoinMessage,
    OpenForClients,
    Sent,
    Waiting,
)
from joinproto.join.state import Known, MemberState, frozen_copy, values_of
from joinproto.join.store import StoreRecord
from joinproto.join.view import Seat
from joinproto.machine.vocabulary import Reason

Happened = TypeVarTuple("Happened")


@define
class StepContext(Known):
    """The next state under construction, and the actions: see `Batch`."""

    closing: Closing | None = None
    persist: StoreRecord | None = None
    sends: list[Sent] = field(factory=list)
    actions: list[Action] = field(factory=list)
    events: list[Event] = field(factory=list)

    def wait_until(self, at: float | None) -> None:
        """Let the wait end at `at`, unless it ends earlier; None: change nothing."""
        if at is not None and (self.patience_until is None or at < self.patience_until):
            self.patience_until = at

    # -- actions -------------------------------------------------------------------------

    def send(self, to: str, message: JoinMessage) -> None:
        self.sends.append(Sent(to, message))

    def act(self, action: Action) -> None:
        self.actions.append(action)

    def say(self, *events: Event) -> None:
        self.events += events

    def waits(
        self, label: str, case: str, reason: Reason | None, detail: str = "", table: str = ""
    ) -> None:
        """Report why this member waits, and whose stores are older copies, which do not count."""
        if self.observations.went_back:
            names = ", ".join(sorted(self.observations.went_back))
            lack = f"older copies of what they were: the stores of {names}"
            detail = f"{detail}; {lack}" if detail else lack
            reason = Reason.STORE_WENT_BACK if reason is Reason.TOO_FEW_MEMBERS else reason
        self.say(Waiting(label, case, reason, detail, table))

    @property
    def batch(self) -> Batch:
        return Batch(
            self.closing,
            self.persist,
            tuple(self.sends),
            tuple(self.actions),
            tuple(self.events),
        )

    def close(self, why: Closing) -> None:
        """Close for clients, before all other actions."""
        # A pending opening must not follow the closing.
        self.actions = [item for item in self.actions if not isinstance(item, OpenForClients)]
        self.closing = why

    # -- small changes that several topics make --------------------------------------------

    def write(self, record: StoreRecord) -> None:
        if record != self.record:
            self.choice = self.choice.with_record(record)
            self.persist = record

    def notice(self, seat: Seat) -> None:
        """Note that a member is here with this store."""
        self.observations = self.observations.with_store_of(seat, self.view)

    def see_it_run(self) -> None:
        """Note that another member was ready in the tip, if this process was in no view yet."""
        self.saw_it_run = self.ready_in is None

    def unfinished_update(self) -> None:
        """Record that the data is at no position until an update ends."""
        self.write(evolve(self.record, update_unfinished=True))


def step(
    state: MemberState, event: Callable[[StepContext, *Happened], None], *happened: *Happened
) -> tuple[MemberState, Batch]:
    """Return the state after `event`, and the actions for it."""
    draft = StepContext(*values_of(state))
    event(draft, *happened)
    return frozen_copy(draft), draft.batch
