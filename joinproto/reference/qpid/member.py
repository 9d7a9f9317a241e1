"""Qpid's member, which uses the tables of this folder."""

from attrs import evolve

from joinproto.errors import MisuseError
from joinproto.machine.machine import StateMachine
from joinproto.machine.vocabulary import Phase, Signature, Status, Store
from joinproto.reference.effects import Action, DiskRecord
from joinproto.reference.events import Agreed, Event, Start
from joinproto.reference.qpid.machine import qpid_machine
from joinproto.reference.qpid.rules import agreed_cluster_id
from joinproto.reference.qpid.store_status import STORE_STATUS
from joinproto.reference.tabled import TabledMember


class QpidMember(TabledMember):
    """One broker under Qpid's rules.

    The record on the disk, `kept`, may differ from the attributes: a store that is empty in memory
    has a status file that reads as dirty.
    """

    @property
    def machine(self) -> StateMachine[Phase]:
        return qpid_machine()

    @property
    def status(self) -> Status:
        # Every member that is past the exchange of statuses counts as active.
        active = self.phase in (Phase.JOINING, Phase.ACTIVE)
        return evolve(super().status, active=active, ready=self.phase is Phase.ACTIVE)

    @property
    def kept(self) -> DiskRecord:
        """Return the record of the status file: an empty store with a cluster-id is dirty."""
        if self.store is Store.EMPTY and self.initial is not None:
            return DiskRecord(Store.DIRTY, self.initial, None, self.data)
        return super().kept

    def _initial_signature(self, event: Start | Agreed) -> Signature | None:
        return agreed_cluster_id(event.members) if isinstance(event, Agreed) else event.stamp

    def _settle_store(self, action: Action, event: Event) -> None:
        if self.store is Store.NONE:
            return
        if action is Action.MARK_DIRTY:
            self.store, self.final = Store.DIRTY, None
        elif action is Action.MARK_CLEAN:
            self.store = Store.CLEAN
        elif action is Action.JUDGE_STORE:
            self._judge_store(event)

    def _judge_store(self, event: Event) -> None:
        if not isinstance(event, Agreed):
            raise MisuseError(
                f"JUDGE_STORE on {type(event).__name__}, expected an agreed set of members",
                next="correct the table",
            )
        ids = [status.id for status in event.members]
        me = ids.index(self.me.id)
        members = [*event.members[:me], self.status, *event.members[me + 1 :]]
        judged = STORE_STATUS.choose(members, me).outcome
        if judged is Store.DIRTY:
            self.final = None
        elif self.store is not Store.CLEAN:
            self.final = event.stamp
        self.store = judged
