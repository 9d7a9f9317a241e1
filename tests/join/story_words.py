"""The words of a story's lines, in which views are named by their kind and number."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import define, field, fields

from joinproto.join.choice_messages import Accept, Chosen, said
from joinproto.join.ids import ViewId, short
from joinproto.join.messages import (
    Abort,
    Action,
    Closing,
    CompareAndSet,
    Event,
    Forbids,
    Learned,
    OpenForClients,
    PhaseChanged,
    Proposes,
    ReadRegister,
    ReadsConfirmed,
    Refusal,
    ServeUpdate,
    StartUpdate,
    Stop,
    Waiting,
)
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position, View
from joinproto.join.wire import decode
from tests.join.bus import Bus, Data, Envelope, FrameKept, FrameSent


@define
class Words:
    """The names of the views that have appeared so far, and phrases that use these names."""

    _names: dict[ViewId, str] = field(factory=dict)

    def changes(self, old: StoreRecord, new: StoreRecord) -> str:
        changed = {one.name for one in fields(StoreRecord) if _differs(one.name, old, new)}
        words = {
            "lineage": f"tip {self.view(new.tip)}",
            "held": f"ready in {self.id(new.held)}",
            "position": f"data up to {self.frame(new.position)}",
            "update_unfinished": f"update {'begun' if new.update_unfinished else 'ended'}",
            "promised": "no promise" if new.promised is None else f"promise {said(new.promised)}",
            "accepted": "no vote"
            if new.accepted is None
            else f"vote for {self.view(new.accepted.view)} in {said(new.accepted.ballot)}",
            "mark": f"mark {self.id(new.mark)}",
        }
        if "lineage" in changed:  # these are about the former tip, so they no longer hold
            changed -= {"promised", "accepted", "mark"}
        return "; ".join(text for name, text in words.items() if name in changed)

    def store(self, record: StoreRecord, frames: tuple[Position, ...]) -> str:
        data = ", ".join(f"{one.seq} of {self.id(one.view)}" for one in frames)
        mark = ", marked" if record.is_marked else ""
        unfinished = ", update unfinished" if record.update_unfinished else ""
        tip = f"tip {self.view(record.tip)}{unfinished}{mark}"
        return f"{record.state.value}, {tip}; frames: {data or 'none'}"

    def text(self, envelope: Envelope) -> str:
        match content(envelope):
            case FrameSent(view, seq):
                return f"write {self.frame(Position(view, seq))}"
            case FrameKept(view, seq):
                return f"{self.frame(Position(view, seq))} is written"
            case Data(_, _, frames):
                return f"all data, up to {self.frame(frames[-1:])}"
            case message:
                return self.named(str(message))

    def action(self, action: Action | Closing) -> str:
        match action:
            case OpenForClients(view, orders):
                order = ", and orders their frames" if orders else ""
                return f"opens for clients in {self.id(view.id)}{order}"
            case Closing():
                return f"closes for clients: {action.value}"
            case ReadsConfirmed(upto):
                return f"answers reads up to {upto}"
            case StartUpdate(source, view, _, beside):
                where = "beside" if beside else "in"
                return f"is updated from {source} {where} {self.id(view.id)}"
            case ServeUpdate(to):
                return f"feeds {to}"
            case Stop(is_clean):
                return f"stops, store {'clean' if is_clean else 'not clean'}"
            case Abort(reason, found, expected):
                return f"aborts, {reason.value}: found {found}, expected {expected}"
            case CompareAndSet(parent, view):
                return f"asks the register to put {self.view(view)} behind {self.id(parent)}"
            case ReadRegister(parent):
                return f"asks the register what is behind {self.id(parent)}"

    def event(self, event: Event) -> str:
        match event:
            case PhaseChanged(before, after, label, case):
                return f"{before.value} -> {after.value} ({label} {case})"
            case Learned(view):
                return f"learns {self.view(view)}"
            case Waiting(label, case, _, detail):
                return f"waits ({label} {case}){': ' if detail else ''}{detail}"
            case Proposes(label, case, view):
                return f"proposes {self.view(view)} ({label} {case})"
            case Forbids(label, case, reason):
                return f"forbids the start, {reason.value} ({label} {case})"
            case Refusal(peer, what):
                return f"refuses {peer}: {what}"

    def meet(self, bus: Bus, envelopes: list[Envelope]) -> None:
        """Name each new view; a second view of the same kind and number gets a prime."""
        for view in views_in(bus, envelopes):
            if view.id not in self._names:
                name = f"{view.kind.name} {view.number}"
                while name in self._names.values():
                    name += "'"
                self._names[view.id] = name

    def id(self, view_id: ViewId | None) -> str:
        return "nothing" if view_id is None else self._names.get(view_id, short(view_id))

    def view(self, view: View | None) -> str:
        if view is None:
            return "none"
        members = " ".join(sorted(seat.member for seat in view.members))
        return f"{self.id(view.id)} of {members}"

    def frame(self, at: Position | tuple[Position, ...] | None) -> str:
        """Return a frame in words; `at` may be a tuple of at most one frame."""
        last = (at[0] if at else None) if isinstance(at, tuple) else at
        return "no frame" if last is None else f"frame {last.seq} of {self.id(last.view)}"

    def named(self, text: str) -> str:
        for view_id, name in self._names.items():
            text = text.replace(str(view_id), name).replace(short(view_id), name)
        return text


def views_in(bus: Bus, envelopes: list[Envelope]) -> Iterator[View]:
    for disk in bus.disks.values():
        yield from disk.record.lineage.views
        if disk.record.accepted is not None:
            yield disk.record.accepted.view
    for message in map(content, envelopes):
        if isinstance(message, Accept):
            yield message.view
        elif isinstance(message, Chosen):
            yield from message.views
    for host in bus.hosts.values():
        yield from (one.view for one in host.seen if isinstance(one, Learned | Proposes))


def content(envelope: Envelope) -> object:
    return decode(envelope.content) if isinstance(envelope.content, bytes) else envelope.content


def _differs(name: str, old: StoreRecord, new: StoreRecord) -> bool:
    return bool(getattr(old, name) != getattr(new, name))
