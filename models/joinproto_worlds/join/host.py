"""The host of a member in the join worlds: the actions by which it performs one batch.

The loop over the batch is that of the shipped hosts (`joinproto.join.perform`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from joinproto.check.events import Broadcast, Persist, Record, Send
from joinproto.check.events import Rule as Took
from joinproto.join import messages
from joinproto.join.balloting import IMPOSSIBLE
from joinproto.join.choice_messages import Chosen
from joinproto.join.inputs import Input
from joinproto.join.phases import Phase
from joinproto.join.proposing import BETTER, SILENT
from joinproto.join.state import MemberState
from joinproto.join.store import StoreRecord
from joinproto.join.view import Seat, View
from joinproto_worlds.join import words
from joinproto_worlds.join.outcomes import outcomes
from joinproto_worlds.join.plan import HostLapse

if TYPE_CHECKING:
    from joinproto_worlds.join.member import Node


def row(table: str, label: str, case: str) -> str:
    """Return the name of a table's case in the coverage of a report."""
    return f"{table} {label}: {case}"


def _without_meeting(message: messages.JoinMessage) -> messages.JoinMessage:
    """Return the message without its meeting, as earlier versions send it.

    With meetings, each process and each connection would send different messages.
    """
    return (
        evolve(message, meeting="")
        if isinstance(message, messages.Hello | messages.Refused)
        else message
    )


class ProtocolBug(Exception):
    """A member met a state that no correct run leads to; the search ends here."""


@frozen
class Host:
    """The ports of the host of `node` while it performs one batch of its `member`.

    `is_ready_now`: the member gets ready in this step.  `before`: the member before the step;
    `handled`: the input of the step; both are None when the member starts.
    """

    node: Node
    member: MemberState
    is_ready_now: bool
    before: MemberState | None = None
    handled: Input | None = None

    def close(self, why: messages.Closing) -> None:
        """Do nothing: the member's phase already says whether it serves clients."""

    def persist(self, record: StoreRecord) -> Iterator[Any]:
        before, self.node.kept = self.node.kept, record
        yield Persist()
        accepted = record.accepted
        if accepted is not None and accepted != before.accepted:
            yield Record(words.Vote(self.member.seat, accepted))
        tip = record.tip
        if tip is not None and tip != before.tip and self._votes_alone(before, tip):
            yield Record(words.ChosenView(tip.id))

    def send_all(self, sends: tuple[messages.Sent, ...]) -> Iterator[Any]:
        if self.is_ready_now and self.member.ready_in is not None:
            yield Record(words.ReadyIn(self.member.seat, self.member.ready_in))
        yield from self.tell(sends)

    def tell(self, sends: tuple[messages.Sent, ...]) -> Iterator[Any]:
        """Send the messages; a message to all others is one broadcast, which may reach only some.

        The network forgets no message that is of use, so a member says that it is ready only in the
        step in which it gets ready.
        """
        if not sends:
            return
        plan = self.node.plan
        sends = tuple(messages.Sent(sent.to, _without_meeting(sent.message)) for sent in sends)
        names = {
            sent.message: {other.to for other in sends if other.message == sent.message}
            for sent in sends
        }
        for message, receivers in names.items():
            if isinstance(message, messages.Ready) and not self.is_ready_now:
                continue
            if isinstance(message, messages.Hello) and self.member.phase is Phase.UPDATING:
                continue  # it asks which members are ready, and each ready member has told all
            # A chosen view is sent to all members, in one message instead of several.
            # But a message that says that the view has frames is only for members of the view.
            is_for_all = isinstance(message, Chosen) and not message.has_frames
            to = plan.peers if is_for_all else receivers
            if to >= plan.peers and not plan.is_cut:
                yield Broadcast(message)
                continue
            for name in sorted(to & plan.peers):
                yield Send(name, message)

    def see(self, event: messages.Event) -> Iterator[Any]:
        plan = self.node.plan
        match event:
            case messages.Waiting(case=case, detail=detail) if case == IMPOSSIBLE:
                if plan.mutation is None and not plan.lapses:
                    raise ProtocolBug(detail)
            case messages.PhaseChanged():
                yield Took(row("chain-standing", event.label, event.case))
            case messages.Waiting(case=case) if case in (SILENT, BETTER):
                pass  # cases of no table
            case messages.Waiting() | messages.Proposes() | messages.Forbids():
                yield Took(row(event.table, event.label, event.case))
                if isinstance(event, messages.Proposes) and self.before is not None:
                    yield from map(Took, outcomes(self.before, self.handled))

    def act(self, action: messages.Action) -> Iterator[Any]:
        node = self.node
        match action:
            case messages.CompareAndSet(_, view):
                yield Record(words.Proposed(view.id))
                yield Send(words.REGISTER, words.Cas(view))
            case messages.ReadRegister(parent):
                yield Send(words.REGISTER, words.Ask(parent))
            case messages.ServeUpdate(to, view) if to in node.plan.peers:
                is_late = HostLapse.SAME_MOMENT in node.plan.lapses
                position = view.position if is_late else node.kept.position
                yield Send(to, words.Data(view.id, position, node.frames))
            case messages.StartUpdate() if node.plan.mutation == "update-in-place":
                # The update is in place: the old data is gone before the new data has come.
                node.frames = ()
                yield Persist()
            case messages.OpenForClients(view):
                yield Record(words.Opened(view.id))
                if node.plan.hears:
                    yield Record(words.Reopened(self.member.seat, view.id))
            case messages.ReadsConfirmed():
                yield Record(words.ReadEnded(self.member.seat))

    def _votes_alone(self, before: StoreRecord, tip: View) -> bool:
        """Return whether this store, as the only elector, chose `tip` by a vote not on its disk."""
        electors = tip.electors if before.tip is None else before.tip.electors
        config = self.node.plan.config
        return not config.outside and electors == {Seat(config.member, before.store_id)}
