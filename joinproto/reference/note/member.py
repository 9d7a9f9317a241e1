"""The note's member, which uses the tables of this folder."""

from joinproto.machine.machine import StateMachine
from joinproto.machine.vocabulary import Phase, Signature
from joinproto.reference.effects import Action, DiskRecord
from joinproto.reference.events import Agreed, Event, Start
from joinproto.reference.note.machine import note_machine
from joinproto.reference.note.readings import AS_WRITTEN, Readings
from joinproto.reference.note.shutdown import store_after
from joinproto.reference.tabled import Identity, TabledMember


class NoteMember(TabledMember):
    """One member under one reading of the note's rules."""

    def __init__(self, me: Identity, kept: DiskRecord, readings: Readings = AS_WRITTEN) -> None:
        super().__init__(me, kept)
        self.readings = readings

    @property
    def machine(self) -> StateMachine[Phase]:
        return note_machine(self.readings)

    def _initial_signature(self, event: Start | Agreed) -> Signature | None:
        # The note does not say which member chooses it; all founders heard the same agreed set.
        return event.stamp

    def _settle_store(self, action: Action, event: Event) -> None:
        self.store = store_after(action, self.store)
